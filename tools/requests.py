"""What a request asks of tools: its parts, if it asks for several things; what its files mean; what is left by it.

"… and write me a report of it" asks for a tool that writes documents, though it names neither a file nor such a
tool: most requests say what is to be there in the end, not what it is made with.
"""

import re
from dataclasses import dataclass

from pointwork.text import tokenize

MOST_PARTS = 12
MOST_CHARS = 10_000  # at the beginning and at the end, which are read; between them stands what was pasted

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
_URL = re.compile(r"\bhttps?://([^\s/?#\"'<>)\]]+)([^\s\"'<>)\]]*)", re.IGNORECASE)
_LONGEST_ENDING = 6
_FETCHED = "fetch open web page url"
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

# Something is made: then a kind of thing within the same sentence is one to be made, not one to be read.
_MAKES = (
    r"\b(?:writ|mak|creat|produc|prepar|draft|compil|put|sav|stor|export|turn|conver|generat|build|lay|laid|not|record"
    r"|keep|kept|show|giv|output|summar|document|print|collect|sort|organi[sz]|enter|compar|list|fill|add)\w*\b"
    r"[^.!?;]{0,80}?\b"
)
_LEAVES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (rf"{_MAKES}(?:spreadsheets?|workbooks?|excel|xlsx?)\b", "create excel workbook write data sheet"),
        (
            rf"{_MAKES}(?:documents?|reports?|memos?|leaflets?|letters?|booklets?|brochures?|essays?|articles?|word"
            r"|minutes|proposals?|papers?|handouts?|guides?)\b",
            "create word document add paragraph",
        ),
        (
            rf"{_MAKES}(?:presentations?|slides?|slide ?shows?|powerpoints?|decks?|ppts?)\b",
            "create presentation add slide powerpoint",
        ),
        (
            rf"{_MAKES}(?:files?|markdown|csv|txt|json|notes?)\b"
            r"|\b(?:saved?|stored?|keep a copy|(?:write|note) (?:it|them|that|this)(?: all)? down|note it)\b",
            "write create file text",
        ),
        (
            r"\be?-?mail (?:it|them|this|that|to|me|my|the)\b|\bsend\b[^.!?;]{0,50}(?:@|\be?-?mails?\b)",
            "send email",
        ),
        (r"\b(?:search|on) the web\b|\blook(?:ed)? (?:\w+ ){0,3}up\b", "search web"),
    )
)


@dataclass(frozen=True)
class Request:
    """A request, taken apart.

    Attributes:
        text: all of it, without file names.
        parts: what it asks for one by one; empty if it asks for one thing.
        files: words for what is to be done with the files that it names; empty if it names none.
        leaves: for each kind of thing that is to be there in the end (or is read on the way) and has no name, words
            for what makes it.
    """

    text: str
    parts: tuple[str, ...]
    files: str
    leaves: tuple[str, ...] = ()


def read_request(request: str) -> Request:
    """Take a request apart.

    A path says nothing by its folders' names, but its ending and the verb before it do: "save it in /a/b.xlsx"
    needs a tool that writes a workbook. Of an address on the web the host is kept, and
    what its ending says.
    """
    if len(request) > 2 * MOST_CHARS:
        request = f"{request[:MOST_CHARS]} {request[-MOST_CHARS:]}"
    files: dict[str, None] = {}

    def means(match: re.Match[str]) -> str:
        base = match[0].rstrip("./").rsplit("/", 1)[-1]
        ending = base.rsplit(".", 1)[-1].lower() if "." in base else ""
        kind = _KINDS.get(ending) or _KINDS.get(ending[:3]) or "file directory"
        before = match.string[max(0, match.start() - _LOOK_BACK) : match.start()]
        verbs = "write save create" if _SAVES.search(before) else "read open load"
        files[f"{verbs} {kind}"] = None
        return " "

    def address(match: re.Match[str]) -> str:
        ending = match[2].rstrip(".,;:!?").split("?")[0].split("#")[0].rsplit("/", 1)[-1].rpartition(".")[2].lower()
        kind = _KINDS.get(ending) or _KINDS.get(ending[:3])
        if kind and len(ending) < _LONGEST_ENDING:
            files[f"read open load {kind}"] = None
        return f" {match[1]} "  # whose pages they are may say which tool; what is behind it does not

    text = _URL.sub(address, request)
    leaves = [] if text == request else [_FETCHED]
    text = _PATH.sub(means, text)
    pieces = (piece.strip(" ,.;") for piece in _CUT.split(text))
    parts = tuple(piece for piece in pieces if len(tokenize(piece)) >= 2)[:MOST_PARTS]
    leaves += [words for pattern, words in _LEAVES if pattern.search(text)]
    return Request(text, parts if len(parts) >= 2 else (), " . ".join(files), tuple(leaves))
