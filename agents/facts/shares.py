"""Shares and multiples in words as figures: half the fee is 50 per cent of it, twice the rate 2 times that."""

import re

_PARTS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
# what a share is followed by: "a third of it", "a fifth to Ann"; no "a third boat", "a quarter to 6"
_THEN = (
    r"(?=\s*(?:[.,;:!?)]|$)|\s+(?:off?|less|more|goes?|comes?|when|if|is|are|was|now|at|in|on|for|from|and|or|by|as|"
    r"back|again|each|extra|full|to(?! (?:\d|noon|midnight)))\b|"
    # no "a third longer day"
    r"\s+(?:cheaper|dearer|longer|shorter|higher|lower|heavier|lighter|bigger|smaller|faster|slower|older|fewer)"
    r"(?:\s+than\b|\s*(?:[.,;:!?)]|$)))"
)
_PART = re.compile(
    r"(?<![\w.-])(?<!\d )(?P<n>an?|one|\d{1,2})[ -]"
    rf"(?P<part>(?<=1 )half|(?:{'|'.join(list(_PARTS)[1:])})s?)(?:(?P<hour> of an hour\b)|(?<=s)|{_THEN})",
    re.IGNORECASE,
)
# "an hour and a quarter", "60 pounds a quarter", "once a quarter"
_NO_PART = re.compile(
    r"(?:\b(?:hour|day|week|month|year|mile) and|\b(?:pounds|euros|dollars|francs|crowns|once|twice|times)) a$",
    re.IGNORECASE,
)
_BEFORE = 12  # characters of it

_THE = r"(?= (?:the|what|this|that|these|those|it|them|all|my|your|his|her|its|our|their)\b)"
_PAYS = r"(?:pay|cost|get|keep|give|take|ask|owe|charge)s?|paid|is|are|at|by|for|with|only|just"
_HALVES = [
    # no "first half of the year"
    (
        re.compile(
            rf"(?<!first )(?<!second )(?<!other )(?<!same )(?<!last )(?<!the )(?<!this )(?<![\w-]){half}",
            re.IGNORECASE,
        ),
        part,
    )
    for half, part in (
        (r"half of\b", "1 half of"),
        (rf"half{_THE}", "1 half of"),
        (r"half an hour\b", "1 half of an hour"),
        (r"half[ -](price|fare|pay|fee)\b", r"1 half of the \1"),
        (rf"({_PAYS}) half{_THEN}", r"\1 1 half"),
        (rf"(?<=[.,;:] )half{_THEN}", "1 half"),
    )
]
_TIMES = re.compile(
    r"(?<![\w-])(?:twice|double)(?= (?:the|what|that|my|your|his|her|its|our|their|as)\b)", re.IGNORECASE
)
_WAGES = [
    (re.compile(rf"(?<![\w-]){said}(?![\w-])", re.IGNORECASE), times)
    # no "a good time and a half bottle of wine"
    for said, times in (
        (rf"time[ -]and[ -]a[ -]half(?:{_THEN}|(?= (?:after|over|beyond)\b))", "1.5 times"),
        (r"double[ -]time", "2 times"),
    )
]


def in_per_cent(text: str) -> str:
    """A text, its numbers in figures, with shares in per cent, ``2 times`` for twice, parts of hours in minutes."""
    for said, figure in (*_HALVES, *_WAGES):
        text = said.sub(figure, text)
    return _TIMES.sub("2 times", _PART.sub(_part, text))


def _part(match: re.Match[str]) -> str:
    count = int(match["n"]) if match["n"].isdigit() else 1
    parts = _PARTS[match["part"].lower().removesuffix("s")]
    # 4 quarters are a year
    if count >= parts or _NO_PART.search(match.string[max(0, match.start() - _BEFORE) : match.end("n")]):
        return match[0]
    return f"{60 * count / parts:g} minutes" if match["hour"] else f"{100 * count / parts:.12g} per cent"
