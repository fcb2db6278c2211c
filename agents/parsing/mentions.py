"""The numbers, dates and times of day that a question names, with the places where they stand."""

import re
from dataclasses import dataclass, replace

from pointwork.agents.readings.question import Question
from pointwork.text import NUMBER_WORDS

_NUMBER = re.compile(r"(?<![\w.])[$€£]?(?P<n>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<k>k\b)?", re.I)
_SPELT = {word: number for word, number in NUMBER_WORDS.items() if number} | {"dozen": 12, "hundred": 100}
_WORD = re.compile(rf"\b(?:{'|'.join(sorted(_SPELT, key=len, reverse=True))})\b", re.I)
_HOURS = {word: number for word, number in NUMBER_WORDS.items() if 1 <= number <= 12}
_CLOCK = re.compile(
    r"\b(?P<hour>noon|midday|midnight|(?:[01]?\d|2[0-3])[:.](?P<minute>[0-5]\d)|"
    rf"(?P<full>\d{{1,2}}|{'|'.join(_HOURS)}))\b"
    r"(?:\s*(?P<half>[ap]\.?m\b|o['’]clock|in\s+the\s+(?:morning|afternoon|evening)|at\s+night))?",
    re.I,
)
_NAMED = {"noon": 12, "midday": 12, "midnight": 0}
_LATE = re.compile(r"p|in\s+the\s+(?:afternoon|evening)|at\s+night", re.I)


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
    dates = question.dates
    found = [
        Mention("date", d.value() or f"--{d.month:02}{f'-{d.day:02}' if d.day else ''}", d.start, d.end)
        for d in dates
        if d.year or d.month
    ]
    free = text
    for date in dates:
        if date.month:  # a year alone may be a number
            free = free[: date.start] + " " * (date.end - date.start) + free[date.end :]
    for match in _CLOCK.finditer(free):
        if match["half"] or match["minute"] or not match["full"]:
            found.append(Mention("time", _time(match), match.start(), match.end()))
    found += [
        Mention("number", _plain(float(m["n"].replace(",", "")) * (1000 if m["k"] else 1)), m.start(), m.end())
        for m in _NUMBER.finditer(free)
    ]
    found += [Mention("number", str(_SPELT[m[0].lower()]), m.start(), m.end()) for m in _WORD.finditer(free)]
    hours = {m.start for m in found if m.kind == "time"}
    for one in [m for m in found if m.kind == "number" and m.start not in hours]:
        if one.value.isdigit() and 1 <= int(one.value) <= 23:  # "before ten"
            found.append(Mention("time", f"{int(one.value):02}:00", one.start, one.end))
    told = [replace(one, operator=_operator(one, question)) for one in found]
    return sorted(told, key=lambda one: (one.start, one.kind))


def _operator(one: Mention, question: Question) -> str:
    if one.kind == "date":
        date = next(date for date in question.dates if date.start == one.start)
        operator = question.date_operator(date)
        return "" if operator == "=" else operator
    return next((c.op for c in question.comparisons if c.start <= one.start < c.end and c.op != "="), "")


def _time(match: re.Match[str]) -> str:
    said = match["hour"].lower()
    if said in _NAMED:
        return f"{_NAMED[said]:02}:00"
    hour = (
        int(re.split(r"[:.]", said)[0]) if match["minute"] else int(_HOURS.get(said, said if said.isdigit() else 0))
    )
    if match["half"] and _LATE.match(match["half"]) and hour < 12:
        hour += 12
    return f"{hour % 24:02}:{match['minute'] or '00'}"


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"
