"""Dates, times and numbers of a text in one form, so that a value can be copied and compared."""

import re

from pointwork.agents.facts.hours import durations_in_one, hours_in_figures
from pointwork.agents.facts.shares import in_per_cent
from pointwork.agents.readings.question import Question, year_of
from pointwork.numerals import in_figures
from pointwork.tools.tables import cell_text

_CLOCK = re.compile(r"\b(?P<hour>\d{1,2})(?:[.:](?P<minute>\d\d))?\s*(?P<half>[ap])\.?m\b\.?", re.IGNORECASE)
_SECONDS = re.compile(r"\b(\d\d:\d\d):00\b")
# "no one", "the one by the door": a number only where things are counted or it goes on
_ONE = re.compile(r"\b(?:(?<=no )one|one(?! (?:hundred|thousand|million|dozen|and))(?! \w+s\b))\b", re.IGNORECASE)
# "kept at minus 20 degrees", but "the takings minus 7 per cent"
_BELOW = re.compile(
    r"(?:(?<=\bat )|(?<=\bto )|(?<=\bis )|(?<=\bwas )|(?<=\bbelow )|\b(?=minus \d+(?:\.\d+)? ?(?:°|degrees?\b)))"
    r"minus (?=\d)",
    re.IGNORECASE,
)
_MARK = "\x00"


def in_one_form(text: str, asked: str = "") -> str:
    """A text with its dates as ``2026-08-29``, its times as ``17:45``, its numbers and shares in figures.

    A day that is said without a year has that of the other dates: "Minutes, 18 June 2026: We meet on 17 September."
    Else it has that of the question: of the season of 2026, "from 29 March" is 2026-03-29.

    Args:
        text: of a file or a user.
        asked: the question for which it was found.
    """
    found, borne = [date for date in Question(text).dates if date.month and date.day], Question(asked)
    for date in reversed(found):
        if written := date.value(date.year or year_of(date, found) or year_of(date, borne.dates)):
            text = text[: date.start] + written + text[date.end :]
    text = hours_in_figures(_SECONDS.sub(r"\1", _CLOCK.sub(_clock, text)))
    text = _BELOW.sub("-", text)
    return durations_in_one(in_per_cent(in_figures(_ONE.sub(_MARK, text)).replace(_MARK, "one")))


def _clock(match: re.Match[str]) -> str:
    hour = int(match["hour"])
    if hour > 12:
        return match[0]
    return f"{hour % 12 + (12 if match['half'].lower() == 'p' else 0):02d}:{match['minute'] or '00'}"


def written(value: object) -> str:
    """A value of a query, numbers to two decimals, as a person would."""
    if not isinstance(value, float):
        return cell_text(value)
    return f"{value:.2f}".rstrip("0").rstrip(".") if abs(value) >= 1 else f"{value:.4g}"
