"""What is asked of numbers that a problem lists: "84, 102 and 67 visitors. What was the daily average?"."""

import re

from pointwork.agents.readings import Reading, conversions
from pointwork.text import NUMBER_WORDS

_NUMBER = r"(?<![\w.])[$€£]?\s?\d[\d,]*(?:\.\d+)?(?![\d:/-])"
# "84 kg", "£12 on Monday", "Tuesday 102"
_ENTRY = rf"(?:[A-Za-z]+\s+){{0,2}}{_NUMBER}(?:\s?%)?(?:\s+[A-Za-z]+){{0,3}}?"
_LIST = re.compile(rf"{_NUMBER}(?:\s+[A-Za-z]+){{0,3}}?(?:\s*[,;]\s+{_ENTRY}){{1,30}}\s*,?\s+(?:and|&)\s+{_ENTRY}")
_FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?")
_MEAN = re.compile(r"\b(?:average|mean)\b", re.IGNORECASE)
_SUM = re.compile(r"\b(?:total|altogether|in\s+all|sum|all\s+together|added\s+up)\b", re.IGNORECASE)
# What asks for more than that, or of a part of the list.
_MORE = re.compile(
    r"%|\b(?:per\s?cent\w*|percentage|more|less|fewer|left|remain\w*|without|except|excluding|best|worst|highest|lowest|largest|"
    r"smallest|first|last|each|share\w*|split\w*|double|twice|half|third|quarter|times|above|below|exceed\w*|must|need\w*|"
    r"change|back|median|range|weighted|another|next|would|if)\b",
    re.IGNORECASE,
)
SURE = 0.95
"""How likely such a reading is right."""


def listed(text: str) -> Reading | None:
    """The sum or the average of the three or more numbers that a text lists, where it has no others."""
    found = _LIST.search(text)
    if found is None:
        return None
    numbers = [number.replace(",", "") for number in _FIGURE.findall(re.sub(r",(?!\d{3}\b)", " ", found[0]))]
    rest = f"{text[: found.start()]} {text[found.end() :]}"
    rest = re.sub(
        r"\b(?:last|first|past)\s+([a-z]+|\d+)\b",  # "my last five bills were …"
        lambda some: (
            "" if NUMBER_WORDS.get(some[1].lower(), some[1]) in (len(numbers), str(len(numbers))) else some[0]
        ),
        rest,
        flags=re.IGNORECASE,
    )
    counted = {float(number.replace(",", "")) for number in _FIGURE.findall(rest)}
    counted |= {float(NUMBER_WORDS[word]) for word in re.findall(r"[a-z]+", rest.lower()) if word in NUMBER_WORDS}
    if len(numbers) < 3 or counted - {float(len(numbers)), 1.0} or _MORE.search(rest):
        return None
    added = " + ".join(numbers)
    asked = conversions.asked_unit(rest)
    if asked is not None and asked[0].lower() not in found[0].lower():
        return None  # minutes are listed, and hours asked for
    if _MEAN.search(rest):
        return Reading("calculate", {"expression": f"({added}) / {len(numbers)}"}, SURE)
    return Reading("calculate", {"expression": added}, SURE) if _SUM.search(rest) else None
