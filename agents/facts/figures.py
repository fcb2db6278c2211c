"""Dates, times and numbers of a text in one form, so that a value can be copied and compared."""

import re

from pointwork.errors import ToolError
from pointwork.numerals import in_figures
from pointwork.tools.dates import parse_moment

_MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December|"
    "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec"
)
_DATE = re.compile(
    rf"\b(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTHS})\.?,? \d{{4}}\b|"
    rf"\b(?:{_MONTHS})\.? \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}\b"
)
_CLOCK = re.compile(r"\b(?P<hour>\d{1,2})(?:[.:](?P<minute>\d\d))?\s*(?P<half>[ap])\.?m\b\.?", re.IGNORECASE)
_SECONDS = re.compile(r"\b(\d\d:\d\d):00\b")
# "no one", "the one by the door": a number only where things are counted or it goes on
_ONE = re.compile(r"\b(?:(?<=no )one|one(?! (?:hundred|thousand|million|dozen|and))(?! \w+s\b))\b", re.IGNORECASE)
_MARK = "\x00"


def in_one_form(text: str) -> str:
    """A text with its dates as ``2026-08-29``, its times as ``17:45`` and its numbers in figures."""
    text = _SECONDS.sub(r"\1", _CLOCK.sub(_clock, _DATE.sub(_date, text)))
    return in_figures(_ONE.sub(_MARK, text)).replace(_MARK, "one")


def _date(match: re.Match[str]) -> str:
    written = re.sub(r"^the |(?<=\d)(?:st|nd|rd|th)|\bof ", "", match[0])
    try:
        return parse_moment(written).at.date().isoformat()
    except ToolError:  # 31 June
        return match[0]


def _clock(match: re.Match[str]) -> str:
    hour = int(match["hour"])
    if hour > 12:
        return match[0]
    return f"{hour % 12 + (12 if match['half'].lower() == 'p' else 0):02d}:{match['minute'] or '00'}"
