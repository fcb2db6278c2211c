"""Proper names in texts, and which of them are likely people's."""

import calendar
import re

from pointwork.text import STOP_WORDS

_NAME = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|Captain|Professor)\.?\s+)?\b[A-Z][\w’'-]*[a-z](?:\s+(?:(?:de|van|von|der|la|le|di|da)\s+)?[A-Z][\w’'-]*[a-z])*"
)
_INSTITUTION = re.compile(
    r"\b(?:House|Street|Road|Lane|Hall|Room|Cup|Prize|School|Trust|Hotel|Inn|Museum|Church|Bridge|Square|Ltd|Co|Mutual)$"
)
_CAPITAL_START = re.compile(
    r"^(?:The|A|An|In|On|At|It|Its|He|She|They|We|If|When|Since|Until|For|From|After|Before|There|This|That|Nobody|Who|Every|Each|All|No|Not|And|But|Or|So|As|By|To|With|Of|Our|Their|His|Her|You|Your|Please|Only|Groups?|Residents?)\b"
)
_CALENDAR = (calendar.month_name, calendar.month_abbr, calendar.day_name, calendar.day_abbr)
_NO_NAMES = STOP_WORDS | {name.lower() for names in _CALENDAR for name in names}


def names(text: str) -> list[re.Match[str]]:
    """The proper names in a text; a capital at the beginning of a sentence makes none."""
    found: list[re.Match[str]] = []
    for match in _NAME.finditer(text):
        first = match.start() == 0 or text[: match.start()].rstrip().endswith((".", ":", "!", "?"))
        if first and (" " not in match[0] or _CAPITAL_START.match(match[0])):
            continue
        if match[0].lower() in _NO_NAMES or match[0].split()[-1].lower() in STOP_WORDS:
            continue
        found.append(match)
    return found


def as_person(text: str, match: re.Match[str]) -> float:
    """How likely a name is a person's: two words, no article before it, not called House or Street."""
    fit = 1.0 if " " in match[0] else 0.7
    if _INSTITUTION.search(match[0]) or re.search(r"\b(?:the|in|at|from|to|of the)\s+$", text[: match.start()]):
        fit *= 0.5
    return fit


def is_person(value: str) -> bool:
    """Whether a text is nothing but what is likely the name of a person."""
    match = _NAME.fullmatch(value)
    return match is not None and as_person(value, match) >= 1.0
