"""What a request asks of tools: its parts, when it asks for several things, and what its file names mean."""

import re
from dataclasses import dataclass

from pointwork.text import tokenize

MOST_PARTS = 12

_CUT = re.compile(
    r"(?<=[.!?;])\s+|\n+"
    r"|,?\s+(?:and then|then|and also|also|finally|lastly|additionally|furthermore|moreover)\b,?\s*"
    r"|,\s+and\s+|\s+and\s+(?=[a-z])",
    re.IGNORECASE,
)
# absolute or relative paths with folders, and bare names with an ending that says what they are
_PATH = re.compile(
    r"(?<!\w)(?:~|\.{1,2})?(?:/[\w.\-]+){2,}/?"
    r"|\b[\w\-]+\.(?:xlsx?|csv|tsv|md|pptx?|docx?|pdf|png|jpe?g|svg|gif|txt|json|html?|wav|mp3|mp4|py|zip|xml"
    r"|ya?ml|db|sqlite|log)\b"
)
_KINDS = {
    "xls": "excel sheet workbook",
    "csv": "csv table file",
    "tsv": "csv table file",
    "md": "file text",
    "txt": "file text",
    "log": "log file text",
    "ppt": "presentation slide powerpoint",
    "doc": "word document",
    "pdf": "pdf document",
    "png": "image picture",
    "jpg": "image picture",
    "jpe": "image picture",
    "svg": "image picture",
    "gif": "image picture",
    "wav": "audio sound file",
    "mp3": "audio sound file",
    "mp4": "video file",
    "jso": "json file",
    "htm": "html page file",
    "py": "python code file",
    "zip": "archive file",
    "xml": "xml file",
    "yam": "yaml file",
    "yml": "yaml file",
    "db": "database sqlite",
    "sql": "database sqlite",
}
_SAVES = re.compile(r"\b(?:sav|writ|stor|export|output|creat|generat|record|put|dump|log|mak|draft)\w*\b", re.I)
_LOOK_BACK = 60


@dataclass(frozen=True)
class Request:
    """A request, taken apart.

    Attributes:
        text: all of it, without file names.
        parts: what it asks for one by one; empty if it asks for one thing.
        files: words for what is to be done with the files that it names; empty if it names none.
    """

    text: str
    parts: tuple[str, ...]
    files: str


def read_request(request: str) -> Request:
    """Take a request apart.

    A path says nothing by its folders' names, but its ending and the verb before it do: "save it in /a/b.xlsx"
    needs a tool that writes a workbook.
    """
    files: dict[str, None] = {}

    def means(match: re.Match[str]) -> str:
        base = match[0].rstrip("./").rsplit("/", 1)[-1]
        ending = base.rsplit(".", 1)[-1].lower() if "." in base else ""
        kind = _KINDS.get(ending) or _KINDS.get(ending[:3]) or "file directory"
        before = request[max(0, match.start() - _LOOK_BACK) : match.start()]
        verbs = "write save create" if _SAVES.search(before) else "read open load"
        files[f"{verbs} {kind}"] = None
        return " "

    text = _PATH.sub(means, request)
    pieces = (piece.strip(" ,.;") for piece in _CUT.split(text))
    parts = tuple(piece for piece in pieces if len(tokenize(piece)) >= 2)[:MOST_PARTS]
    return Request(text, parts if len(parts) >= 2 else (), " . ".join(files))
