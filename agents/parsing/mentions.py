"""The numbers, dates and times of day that a question names, with the places where they stand."""

import re
from dataclasses import dataclass, replace
from datetime import date

from pointwork.agents.readings import clocks
from pointwork.agents.readings.question import DateMention, Question
from pointwork.text import NUMBER_WORDS

_NUMBER = re.compile(r"(?<![\w.])[$€£]?(?P<n>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<k>k\b)?", re.I)
_SPELT = {word: number for word, number in NUMBER_WORDS.items() if number} | {"dozen": 12, "hundred": 100}
_WORD = re.compile(rf"\b(?:{'|'.join(sorted(_SPELT, key=len, reverse=True))})\b", re.I)
_CLOCK = re.compile(
    rf"\b(?:(?P<named>{'|'.join(clocks.NAMED)})|(?P<hour>[01]?\d|2[0-3])[:.](?P<minute>[0-5]\d)|"
    rf"(?P<bare>\d{{1,2}}|{'|'.join(clocks.HOURS)}))\b(?:\s*(?P<half>{clocks.HALF}))?",
    re.I,
)
_DIGITS = 15  # a longer numeral is none that a column holds


@dataclass(frozen=True)
class Mention:
    """A value that a column may be compared with.

    Attributes:
        kind: number, date or time.
        value: a number; a date as far as it is known, ``2024-05``, without a year ``--05-03``; ``14:30``.
        start, end: where it stands.
        operator: how it compares, where words before or behind it say so outright ("over 20", "since 2020").
    """

    kind: str
    value: str
    start: int
    end: int
    operator: str = ""


def mentions(text: str) -> list[Mention]:
    """All of them in order; "ten" may be a number and a time."""
    question = Question(text)
    dates = [said for said in question.dates if _is_date(said)]
    found = [
        Mention("date", d.value() or f"--{d.month:02}{f'-{d.day:02}' if d.day else ''}", d.start, d.end)
        for d in dates
    ]
    free = text
    for d in dates:
        if d.month:  # a year alone may be a number
            free = free[: d.start] + " " * (d.end - d.start) + free[d.end :]
    for match in _CLOCK.finditer(free):
        value = clocks.time_of_day(match["named"] or match["hour"] or match["bare"], match["minute"], match["half"])
        if value and (match["half"] or not match["bare"]):
            found.append(Mention("time", value, match.start(), match.end()))
    found += [
        Mention("number", _plain(float(m["n"].replace(",", "")) * (1000 if m["k"] else 1)), m.start(), m.end())
        for m in _NUMBER.finditer(free)
        if len(m["n"]) <= _DIGITS
    ]
    found += [Mention("number", str(_SPELT[m[0].lower()]), m.start(), m.end()) for m in _WORD.finditer(free)]
    hours = {m.start for m in found if m.kind == "time"}
    for one in [m for m in found if m.kind == "number" and m.start not in hours]:
        if one.value.isdigit() and 1 <= int(one.value) <= 23:  # "before ten"
            found.append(Mention("time", f"{int(one.value):02}:00", one.start, one.end))
    told = [replace(one, operator=_operator(one, question)) for one in found]
    return sorted(told, key=lambda one: (one.start, one.kind))


def _is_date(said: DateMention) -> bool:
    """Whether a calendar has it, in a leap year if it says no year: it has no 31 February."""
    if not said.year and not said.month:
        return False
    try:
        date(said.year or 2024, said.month or 1, said.day or 1)
    except ValueError:
        return False
    return True


def _operator(one: Mention, question: Question) -> str:
    if one.kind == "date":
        operator = question.date_operator(next(d for d in question.dates if d.start == one.start))
        return "" if operator == "=" else operator
    return next((c.op for c in question.comparisons if c.start <= one.start < c.end and c.op != "="), "")


def _plain(value: float) -> str:
    return str(int(value)) if value.is_integer() else f"{value:.15g}"
