"""Numbers, dates and times in a task and in lines of what files say: what a calculation can take."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

NUMBER, DATE, TIME, TRUTH = range(4)
"""Kinds of values: a date is its ordinal, a time its minutes since midnight, a truth 1 or 0."""

_TIME = r"\d{1,2}:\d\d(?![:\w])"
_AMOUNT = re.compile(
    rf"(?P<date>\b(?:19|20)\d\d-\d\d-\d\d\b)|(?<![\w.:-])(?P<time>{_TIME})|"
    # no part of a code, a telephone number or a reference; "35g" and "5%" are amounts
    r"(?<![\w./:-])(?P<number>(?:(?<!\S)-)?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?))(?![\w]*[:/]\d|-\d|\.\d)"
    r"(?=(?:[a-zA-Z%€£$°²³]{0,3}(?!\w))|$)"
)
_LONGEST = 9  # of a number before its point; a third is 33.3333333333 per cent (``facts.shares``)
_DIALLED = re.compile(r"(?<![\w.,:/-])\+?0\d{2,}[ /-]$")  # 01632 960690


@dataclass(frozen=True)
class Amount:
    """A value as it stands in a text.

    Attributes:
        value: in the form of its kind (``NUMBER``, ``DATE``, ``TIME``).
        written: as it stands there.
        start, end: its characters.
        line: of what is shown, from 1 on; 0: the task.
    """

    value: float
    kind: int
    written: str
    start: int
    end: int
    line: int = 0


def amounts_of(texts: Sequence[str]) -> list[Amount]:
    """The amounts of a task and of the lines after it, dates and times in one form (``facts.figures``)."""
    return [amount for line, text in enumerate(texts) for amount in _in_line(text, line)]


def minutes_of(clock: str) -> float:
    """``09:30`` as minutes since midnight."""
    hour, _, minute = clock.partition(":")
    return 60.0 * int(hour) + int(minute)


TIMES = re.compile(rf"(?<![\w.:]){_TIME}")
"""Times of day, those of "14:00-17:30" too."""

_RATIO = re.compile(r"\b(?:ratios?|scale|dilut\w+|mix\w*|parts|odds)\b", re.IGNORECASE)  # of 1:20


def in_hours(text: str) -> str:
    """A text with its times of day as hours: 17:30 is 17.5 in a sum, and neither 17 nor 30 of anything."""
    return text if _RATIO.search(text) else TIMES.sub(lambda time: f"{minutes_of(time[0]) / 60:.6g}", text)


def _in_line(text: str, line: int) -> Iterator[Amount]:
    for match in _AMOUNT.finditer(text):
        start, end, written = *match.span(), match[0]
        if match["date"]:
            with suppress(ValueError):  # the 31st of June
                yield Amount(float(date.fromisoformat(written).toordinal()), DATE, written, start, end, line)
        elif match["time"]:
            yield Amount(minutes_of(written), TIME, written, start, end, line)
        elif (
            len(written.partition(".")[0]) <= _LONGEST
            and not re.match(r"0\d", written)
            and not _DIALLED.search(text[:start])
        ):
            yield Amount(float(written.replace(",", "")), NUMBER, written, start, end, line)
