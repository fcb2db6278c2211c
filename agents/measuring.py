"""Whether a calculation can be right by what its amounts are measured in; what is not told, fits.

"1.70 a litre" is never paid for hours, and nautical miles are no kilometres before they are converted. Dimensions
tell wrong expressions where words do not (Roy and Roth, "Unit Dependency Graph and its Application to Arithmetic
Word Problem Solving", AAAI 2017).
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pointwork.agents.facts.summed import called
from pointwork.agents.parsing.amounts import DATE, NUMBER, TIME, Amount
from pointwork.agents.parsing.calculating import Calculation, Step
from pointwork.agents.parsing.operations import COPY
from pointwork.agents.readings.moments import asked_unit, compatible, unit_of
from pointwork.text import tokenize

_WORD = r"[^\W\d_]+"
_PER = re.compile(rf"(?:\W*{_WORD}){{0,3}}?\s*(?:\b(?:an?|per|each|every)\s+|/\s*)(?P<unit>{_WORD})")
_CALLED = re.compile(r"(?:^|[;:]\s+)(?P<column>[^;:]*)$")
_SUMMED = frozenset({"total", "average", "highest", "lowest", "first", "last"})
# what a query asks (``parsing.telling``): of a column as it is, or of what is not measured as it is
_QUERIED = re.compile(r"^[\w-]+: (?P<column>[^;:]+?)(?: where [^;]*| of the [^;]*)?: $")
_MADE = re.compile(
    r"\b(?:per cent of|number of|ratio of|days (?:from|between)|minutes from|times|plus|minus|per)\b"
)
_ROW = next(iter(tokenize("rows")))
_FACTORS = frozenset({"*", "/", "r/"})
_SHARES = frozenset({"share", "rshare"})
_APART = frozenset(
    {"-", "r-", "/", "r/", "share", "rshare", "days", "weeks", "months", "years", "minutes", "hours"}
)
_MONEY = frozenset({"pound", "pounds"})  # and a weight


_HOW = re.compile(r"\W*how\s+(?:long|many|much|far|old|heavy|tall)\b", re.IGNORECASE)
_MOMENT = re.compile(r"\b(?:when|dates?|which\s+day|what\s+(?:time|day)|at\s+which)\b", re.IGNORECASE)


class _Measure(NamedTuple):
    """What an amount is measured in, what it is by ("a litre"), and the stem of what is counted."""

    unit: object | None
    per: object | None
    thing: str


def measures_fit(task: str, lines: Sequence[str], found: Calculation) -> bool:
    """Whether nothing that is told of a calculation's amounts speaks against it.

    Args:
        task, lines: as the calculation was read in them.
        found: what may be calculated.
    """
    if found.kind in (DATE, TIME) and _HOW.match(task) and not _MOMENT.search(task):
        return False  # "how long" is not answered by an hour of the day
    texts = (task, *lines)
    if any(_said(step, texts) for step in found.steps) or _through_itself(found):
        return False
    sides = [side for step in found.steps for side in (step.first, step.second)]
    amounts = list(dict.fromkeys(side for side in sides if isinstance(side, Amount) and side.kind == NUMBER))
    measures = {amount: _measure(texts[amount.line], amount) for amount in amounts}
    for step in found.steps:
        pair = [
            measures[side] for side in (step.first, step.second) if isinstance(side, Amount) and side in measures
        ]
        if len(pair) == 2 and _mixed(step.operation, *pair):
            return False
    if any(isinstance(side, float) for side in sides) or found.kind != NUMBER:
        return True  # a constant may convert
    return not (_in_another(task, list(measures.values())) or any(_unpaid(measures)))


def _said(step: Step, texts: Sequence[str]) -> bool:
    """Whether nobody asks for it: a number of the task as it is, or how far a sum is from what says the same.

    Two rows may well have the same, and then that is 0; a line of sums repeats what a row or a query says.
    """
    first, second = step.first, step.second
    if not (isinstance(first, Amount) and isinstance(second, Amount)):
        return False
    if step.operation == COPY:
        return not first.line
    same = (first.value, first.kind) == (second.value, second.kind) and bool(first.line and second.line)
    return same and step.operation in _APART and any(called(texts[one.line], one.start) for one in (first, second))


def _through_itself(found: Calculation) -> bool:
    """Whether only factors are joined, and one of them is there twice: 60 / (60 / 25)."""
    sides = [side for step in found.steps for side in (step.first, step.second) if isinstance(side, Amount)]
    factors = {step.operation for step in found.steps} <= _FACTORS
    return factors and len(set(sides)) < len(sides)


def _in_another(task: str, measures: Sequence[_Measure]) -> bool:
    """Whether it comes to another unit of the kind than the one that is asked for."""
    asked = asked_unit(task)
    if asked is None:
        return False
    known = [unit for one in measures for unit in (one.unit, one.per) if unit is not None]
    alike = [unit for unit in known if compatible(unit, asked[1])]
    return bool(alike) and asked[1] not in alike


def _unpaid(measures: dict[Amount, _Measure]) -> Iterator[bool]:
    """Of each rate, whether nothing beside it can be what it is by, or of: km by km an hour are hours."""
    for amount, one in measures.items():
        others = [other.unit for key, other in measures.items() if key != amount]
        fit = (unit is None or compatible(unit, one.per) or compatible(unit, one.unit) for unit in others)
        yield one.per is not None and bool(others) and not any(fit)


def _mixed(operation: str, one: _Measure, other: _Measure) -> bool:
    """Whether two that are joined can not be."""
    if operation == "*":
        return _squared(one, other) or _by_itself(one, other)
    rows = [measure.thing == _ROW for measure in (one, other)]
    return operation in _SHARES and any(rows) and not all(rows) and bool(one.thing and other.thing)


def _squared(one: _Measure, other: _Measure) -> bool:
    """Whether two counts of the same thing are multiplied, or two times; metres by metres are an area."""
    if one.per is not None or other.per is not None or compatible(one.unit, _unit("metre")):
        return False
    times = compatible(one.unit, _unit("hour")) and compatible(other.unit, _unit("hour"))
    return times or (bool(one.thing) and one.thing == other.thing)


def _by_itself(one: _Measure, other: _Measure) -> bool:
    """Whether litres an hour are multiplied by litres."""
    return any(
        a.per is not None and b.per is None and compatible(a.unit, b.unit) and not compatible(a.per, b.unit)
        for a, b in ((one, other), (other, one))
    )


def _measure(text: str, amount: Amount) -> _Measure:
    behind, before = text[amount.end :], text[: amount.start]
    match = _PER.match(behind)
    per = _unit(match["unit"]) if match else None
    said = re.match(rf"[\s-]*({_WORD})(?:[\s-]({_WORD}))?", behind)
    words = [word for word in said.groups() if word] if said else []
    column = _QUERIED.search(before) or _CALLED.search(before)
    if column is not None and _MADE.search(column["column"]) and column.re is _QUERIED:
        return _Measure(None, None, _ROW if column["column"].startswith("number of rows") else "")
    if not words and column is not None and amount.line:
        counted, rate, by = _column(column["column"]).partition(" per ")
        words = [word for word in counted.split() if word not in _SUMMED][::-1]
        if rate:
            return _Measure(None, _unit((by.split() or [""])[0]), "")
        unit = next((unit for word in words if (unit := _unit(word)) is not None), None)
    else:
        unit = (_unit(" ".join(words)) if len(words) == 2 else None) or (_unit(words[0]) if words else None)
    return _Measure(unit, per, next(iter(tokenize(words[0])), "") if words else "")


def _column(name: str) -> str:
    """A column's words; "price_per_hour", "£/month" and "spots_a_day" are rates."""
    spoken = re.sub(r"[\W\d_]+", " ", name.replace("/", " per "))
    return re.sub(r" (?:an?|each|every) ", " per ", f" {spoken} ")


def _unit(name: str) -> object | None:
    return None if name.lower() in _MONEY else unit_of(name)
