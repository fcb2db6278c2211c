"""From what a person or model writes to the calculator's tokens: operators in words, signs, currencies, numbers."""

import re

from pointwork.errors import ToolError
from pointwork.tools import units

_WORDS: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in [
        (r"\bwhat\s+(?:percent|percentage|%)\s+of\s+(.+?)\s+is\s+(.+)$", r"(\2) / (\1) as %"),
        (r"^(.+?)\s+is\s+what\s+(?:percent|percentage|%)\s+of\s+(.+)$", r"(\1) / (\2) as %"),
        (r"^(.+?)\s+as\s+an?\s+percent(?:age)?\s+of\s+(.+)$", r"(\1) / (\2) as %"),
        (r"\b(?:as|in|to)\s+(?:an?\s+)?(?:percent(?:age)?|%)\s*$", "as %"),
        (r"\bper\s?cent\b", "%"),
        (r"\bplus\b", "+"),
        (r"\bminus\b", "-"),
        (r"\b(?:multiplied\s+by|times)\b", "*"),
        (r"\b(?:divided\s+by|over)\b", "/"),
        (r"\b(?:raised\s+)?to\s+the\s+power\s+(?:of\b)?", "^"),
        (r"\bsquared\b", "^2"),
        (r"\bcubed\b", "^3"),
        (r"\bsquare\s+root\b", "sqrt"),
        (r"\bcube\s+root\b", "cbrt"),
        (r"\b(?:a\s+)?half\s+of\b", "1/2 of"),
        (r"\b(?:a\s+)?quarter\s+of\b", "1/4 of"),
        (r"\b(?:twice|double)\b", "2 *"),
        (r"\bmodulo\b", "mod"),
        (r"√", " sqrt "),
        (r"[×·⋅∙]", "*"),
        (r"[÷∕]", "/"),
        (r"[−–—]", "-"),
        (r"π", " pi "),
        (r"\*\*", "^"),
    ]
]
SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d{1,3}(?:,\d{3}(?!\d))+|\d[\d_]*)(?:\.\d+)?(?:[eE][+-]?\d{1,4}(?![\w.]))?|\.\d+)"
    r"|(?P<word>log10|log2|atan2|[^\W\d]+)|(?P<mark>//|[-+*/^!%(),;]))"
)
_CURRENCY = re.compile(r"[$€£¥₹]")
DATE = re.compile(r"(?<![\d.])\d{4}-\d{1,2}-\d{1,2}(?!\d)|(?<!\d)\d{1,2}[/.]\d{1,2}[/.](?:\d{4}|\d{2})(?!\d)")


def normalise(text: str) -> str:
    currencies = set(_CURRENCY.findall(text))
    if len(currencies) > 1:
        raise ToolError("several currencies in one expression: there are no exchange rates here")
    text = _CURRENCY.sub("", text).strip()
    for pattern, replacement in _WORDS:
        text = pattern.sub(replacement, text)
    return units.spell_units(text).strip()


def has_currency(text: str) -> bool:
    """Whether a currency sign stands in the text."""
    return bool(_CURRENCY.search(text))


def cut_conversion(text: str) -> tuple[str, list[str]]:
    """The expression and the units it is to be shown in. ``in`` may also be an inch: the last that fits counts."""
    for match in reversed(list(re.finditer(r"(?<=\s)(to|into|in|as)(?=\s)", text, re.IGNORECASE))):
        written = re.sub(r"^\s*an?\s+", "", text[match.end() :], flags=re.IGNORECASE)
        names = [name.strip() for name in re.split(r"\s*(?:\band\b|,)\s*", written) if name.strip()]
        try:
            if names != ["%"] and [name.lower() for name in names] not in (["fraction"], ["decimal"]):
                for name in names:
                    units.parse_unit(name)
        except ToolError:
            if match[1].lower() == "in":
                continue
            raise
        if names:
            return text[: match.start()], names
    return text, []


def tokens(text: str) -> list[tuple[str, str]]:
    """(kind, text) pairs; kind is ``number``, ``word`` or ``mark``."""
    found: list[tuple[str, str]] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise ToolError(f"can not read {text[at : at + 20].strip()!r} in the expression")
        kind = str(match.lastgroup)
        if found and kind == found[-1][0] == "number" and text[at : match.end()].startswith("."):
            raise ToolError(f"can not read the number at {text[max(0, at - 10) : match.end()].strip()!r}")
        found.append((kind, match[kind]))
        at = match.end()
    if not found:
        raise ToolError("the expression is empty")
    return found


def split_grouped_numbers(tokens: list[tuple[str, str]], start: int) -> None:
    """Take ``max(2,340)`` for two arguments, in place, from the opening bracket at ``start`` on.

    Raises:
        ToolError: both readings of a comma are mixed in one pair of brackets.
    """
    level, grouped, marks = 0, list[int](), set[str]()
    for place in range(start, len(tokens)):
        kind, text = tokens[place]
        level += {"(": 1, ")": -1}.get(text, 0)
        marks.add(text)
        if kind == "number" and "," in text:
            grouped.append(place)
        if level == 0:
            break
    if ";" in marks:
        return
    if grouped and "," in marks:
        raise ToolError("inside a function's brackets write numbers without thousands separators, or use ';'")
    for place in reversed(grouped):
        pieces = [("number", piece) for piece in tokens[place][1].split(",")]
        tokens[place : place + 1] = [token for piece in pieces for token in (("mark", ","), piece)][1:]
