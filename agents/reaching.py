"""What the agents of Python and of the web gather, and how well a text fits them.

Both fit next to nothing unless the task clearly asks: for code to be run, or by naming a page.
"""

import math
import re
from collections import Counter
from dataclasses import replace

from pointwork.agents import quoting
from pointwork.agents.readings import extracting, sentences
from pointwork.agents.spec import Prepared
from pointwork.text import tokenize
from pointwork.tools import ToolContext, ToolResult
from pointwork.tools.passages import Passage

_FENCED = re.compile(r"```(?:python|py)?[ \t]*\n(?P<code>.+?)```", re.DOTALL)
_AFTER_COLON = re.compile(
    r"^\W*(?:please\s+)?(?:run|execute|evaluate)\b[^:\n]{0,60}:\s*(?P<code>\S.+)$", re.DOTALL | re.IGNORECASE
)
_STATEMENT = re.compile(r"^\s*(?:print\(|import |from \w+ import |def |for \w+ in |while |\w+ = )", re.MULTILINE)
_RUNS_CODE = re.compile(
    r"\b(?:run|execute|evaluate|compute|calculate|solve|simulate|count|find|generate|print|check)\b[^.?!]*"
    r"\b(?:with|in|using|by|through|via)\s+(?:a\s+|some\s+)?(?:short\s+|small\s+)?python\b|"
    r"\b(?:use|using|run|execute|with)\s+(?:a\s+|some\s+|the\s+)?(?:short\s+|small\s+)?python\b(?!\w)|"
    r"\b(?:write|make)\s+and\s+(?:run|execute)\b|"
    r"\b(?:run|execute)\s+(?:a|an|some|this|the following)\s+(?:short\s+|small\s+|python\s+)*"
    r"(?:program|script|code|snippet)\b|\bby\s+(?:a\s+)?(?:simulation|brute force|program)\b",
    re.IGNORECASE,
)
_CODE_FILE = re.compile(r"\b[\w-]+\.(?:py|js|ts|rs|go|c|cpp|java|toml)\b")
_URL = re.compile(r"https?://[^\s<>\"'`]+", re.IGNORECASE)
# an address with the words that only point to it
_BESIDE = re.compile(
    r"(?:[\s,(]*\b(?:according\s+to|see|read|fetch|open|look\s+at|on|at|from|in|of)\b\s*(?:the\s+page\s+)?)?"
    r"https?://[^\s<>\"'`]+",
    re.IGNORECASE,
)
_END = ".,;:!?)]}"


def code_in(text: str) -> str:
    """The program that a task holds and wants run; empty if it holds none."""
    found = _FENCED.search(text) or _AFTER_COLON.match(text)
    code = found["code"].strip() if found else ""
    return code if _STATEMENT.search(code) else ""


async def fits_python(text: str, _: ToolContext) -> float:
    if code_in(text):
        return 0.99
    if _RUNS_CODE.search(text) and not _CODE_FILE.search(text):
        return 0.9
    return 0.0


async def prepare_python(text: str, _: ToolContext) -> Prepared:
    code = code_in(text)
    return Prepared(call=("python", {"code": code})) if code else Prepared()


def urls_in(text: str) -> list[str]:
    """The addresses of pages that a task names."""
    return list(dict.fromkeys(match[0].rstrip(_END) for match in _URL.finditer(text)))


async def fits_web(text: str, _: ToolContext) -> float:
    return 0.93 if urls_in(text) else 0.0


async def prepare_web(text: str, _: ToolContext) -> Prepared:
    urls = urls_in(text)
    if len(urls) != 1:
        return Prepared()
    about = " ".join(_BESIDE.sub(" ", text).split())[:500]
    call = ("web", {"url": urls[0], "about": about})
    return Prepared(call=call, reads=lambda result: read_out(about, result))


def read_out(question: str, result: ToolResult) -> ToolResult:
    """A text that a tool brought, with the piece of it that answers a question, or the pieces that may."""
    passages = [Passage("page.md", n, n, text) for n, (_, text) in enumerate(result.evidence, 1)]
    counts = Counter(token for passage in passages for token in set(tokenize(passage.text)))

    def idf(token: str) -> float:
        return math.log(1 + (len(passages) + 0.5) / (counts[token] + 0.5))

    found = quoting.nearest(question, sentences.ranked(question, passages, idf))[: extracting.READ]
    if not found:
        return result
    answer, pieces, *_ = quoting.quoted(question, found, idf)
    choices = tuple(piece.text for piece in pieces[: quoting.CHOICES])
    shown = tuple((result.evidence[s.passage.first - 1][0], s.text) for s in found[: quoting.PASSAGES])
    return replace(result, answer=answer, choices=choices, evidence=shown)
