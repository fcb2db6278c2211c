"""Whether a calculation can be right by what its amounts are measured in; what is not told, fits.

"1.70 a litre" is never paid for hours, and nautical miles are no kilometres before they are converted. Dimensions
tell wrong expressions where words do not (Roy and Roth, "Unit Dependency Graph and its Application to Arithmetic
Word Problem Solving", AAAI 2017).
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from pointwork.agents.facts.summed import called
from pointwork.agents.parsing.amounts import DATE, NUMBER, TIME, Amount
from pointwork.agents.parsing.calculating import Calculation, Step
from pointwork.agents.parsing.operations import APART, COPY, LASTS
from pointwork.agents.readings.conversions import asked_unit, compatible, unit_of
from pointwork.text import tokenize

_WORD = r"[^\W\d_]+"
_PER = re.compile(rf"(?:\W*{_WORD}){{0,3}}?\s*(?:\b(?:an?|per|each|every)\s+|/\s*)(?P<unit>{_WORD})")
# "for each litre of beer we use 4.6 litres of water", "0.8 kg of ice to a kilo of fish"
_FOR = re.compile(rf"\bfor (?:an?|each|every) (?P<unit>{_WORD})[^.;:]*$", re.IGNORECASE)
_TO = re.compile(rf"[^.;:,]*?\b(?:to|for) (?:an?|each|every) (?P<unit>{_WORD})", re.IGNORECASE)
_CALLED = re.compile(r"(?:^|[;:]\s+)(?P<column>[^;:]*)$")
_SUMMED = frozenset({"total", "average", "highest", "lowest", "first", "last"})
# what a query asks (``parsing.telling``): of a column as it is, or of what is not measured as it is
_QUERIED = re.compile(r"^[\w-]+: (?P<column>[^;:]+?)(?: where [^;]*| of the [^;]*)?: $")
_MADE = re.compile(
    r"\b(?:per cent of|number of|ratio of|days (?:from|between)|minutes from|times|plus|minus|per)\b"
)
_ROW = next(iter(tokenize("rows")))
_FACTORS = frozenset({"*", "/", "r/"})
_TERMS = frozenset({"+", "-", "r-"})
_SHARES = frozenset({"share", "rshare"})
_CONVERTING = _SHARES | {"pct"}  # a hundredth
_DIVIDING = _SHARES | {"/", "r/"}
_APART = _DIVIDING | {"-", "r-", *APART, *LASTS}
_FACTORS_TOLD = frozenset({10.0, 24.0, 60.0, 100.0, 365.0, 1000.0})  # "1000 MB each"
_CURRENCIES = {
    word: name
    for name, words in {
        "euro": "€ eur euros",
        "dollar": "$ usd cad aud nzd dollars",
        "pound": "£ gbp",
        "franc": "chf francs",
        "crown": "kr kc czk sek nok dkk crowns kroner kronor",
    }.items()
    for word in words.split()
}
_PAID = frozenset({"price", "rate", "fee", "wage", "pay", "cost", "gross"})
_JOINED = frozenset({"nautical", "square", "cubic", "kilowatt", "watt", "fluid", "metric"})  # with the word behind
_SPANS = {"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "yearly": "year"}
# more often something else than the unit
_NO_UNIT = frozenset({"pound", "pounds", "unit", "units", "cost", "costs", "points", "quarter", "quarters"})
_NO_SIGN = frozenset({"a", "b", "c", "d", "f", "j", "k", "n", "p", "s", "u", "v", "x", "y"})

_HOW = re.compile(r"\W*how\s+(?:long|many|much|far|old|heavy|tall)\b", re.IGNORECASE)
_LONG = re.compile(r"\W*how\s+long\b", re.IGNORECASE)
_MOMENT = re.compile(r"\b(?:when|dates?|which\s+day|what\s+(?:time|day)|at\s+which)\b", re.IGNORECASE)


class _Measure(NamedTuple):
    """What an amount is measured in, what it is by ("a litre"), the stem of what is counted, and the currency."""

    unit: object | None
    per: object | None
    thing: str
    money: str = ""


def measures_fit(task: str, lines: Sequence[str], found: Calculation) -> bool:
    """Whether nothing that is told of a calculation's amounts speaks against it.

    Args:
        task, lines: as the calculation was read in them.
        found: what may be calculated.
    """
    how = _HOW.match(task) is not None and not _MOMENT.search(task)
    if how and (found.kind == TIME or (found.kind == DATE and not _LONG.match(task))):
        return False  # "how long" is not answered by an hour of the day; "how long does it run" may be by a date
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
    joined = {step.operation for step in found.steps}
    if any(_unpaid(joined, measures)):
        return False
    converted = any(isinstance(side, float) for side in sides) or not _CONVERTING.isdisjoint(joined)
    timed = any(isinstance(side, Amount) and side.kind != NUMBER for side in sides)
    if converted or timed or found.kind != NUMBER or any(amount.value in _FACTORS_TOLD for amount in amounts):
        return True
    return not _in_another(task, list(measures.values()), divided=not _DIVIDING.isdisjoint(joined))


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


def _in_another(task: str, measures: Sequence[_Measure], divided: bool) -> bool:
    """Whether it comes to another unit of the kind than the one that is asked for: litres by litres are cups."""
    asked = asked_unit(task)
    if asked is None or asked[1] == unit_of("pound"):
        return False
    known = [unit for one in measures for unit in (one.unit, one.per) if unit is not None]
    alike = [unit for unit in known if compatible(unit, asked[1])]
    return bool(alike) and asked[1] not in alike and not (divided and len(alike) > 1)


def _unpaid(joined: set[str], measures: dict[Amount, _Measure]) -> Iterator[bool]:
    """Of each rate, whether nothing beside it can be what it is by, or of: km by km an hour are hours.

    What is divided may be of what the rate counts, where that is not told.
    """
    divided = not _DIVIDING.isdisjoint(joined)
    for amount, one in measures.items():
        others = [other for key, other in measures.items() if key != amount]
        fits = (one.per, one.unit, _unit("percent"))
        fit = [
            other.unit is None
            or any(compatible(other.unit, known) for known in fits)
            or (divided and compatible(other.per, one.per))  # miles by miles a gallon are gallons
            for other in others
        ]
        told = one.unit is not None or bool(one.money) or not divided
        yield one.per is not None and told and bool(others) and not any(fit) and not joined <= _TERMS


def _mixed(operation: str, one: _Measure, other: _Measure) -> bool:
    """Whether two that are joined can not be."""
    if operation == "*":
        return _squared(one, other) or _by_itself(one, other)
    if operation in _TERMS:
        return _apart(one, other)
    rows = [measure.thing == _ROW for measure in (one, other)]
    return operation in _SHARES and any(rows) and not all(rows) and bool(one.thing and other.thing)


def _squared(one: _Measure, other: _Measure) -> bool:
    """Whether two counts of the same thing are multiplied, two times, or money; metres by metres are an area."""
    if one.per is not None or other.per is not None or compatible(one.unit, _unit("metre")):
        return False
    if one.money and one.money == other.money:
        return True
    brief = [any(each.unit == _unit(name) for name in ("hour", "minute", "second")) for each in (one, other)]
    return all(brief) or (bool(one.thing) and one.thing == other.thing)  # days by hours: hours a day


def _by_itself(one: _Measure, other: _Measure) -> bool:
    """Whether litres an hour are multiplied by litres."""
    return any(
        a.per is not None and b.per is None and compatible(a.unit, b.unit) and not compatible(a.per, b.unit)
        for a, b in ((one, other), (other, one))
    )


def _apart(one: _Measure, other: _Measure) -> bool:
    """Whether nobody adds them: euros and kilometres, litres and hours."""
    if one.per is not None or other.per is not None:
        return False
    if one.unit is not None and other.unit is not None:
        return not compatible(one.unit, other.unit)
    return any(a.money and b.unit is not None for a, b in ((one, other), (other, one)))


def _measure(text: str, amount: Amount) -> _Measure:
    behind, before = text[amount.end :], text[: amount.start]
    said = re.match(rf"[\s-]*({_WORD})(?:[\s-]({_WORD}))?", behind)
    words = [word for word in said.groups() if word] if said else []
    column = _QUERIED.search(before) or _CALLED.search(before)
    if column is not None and _MADE.search(column["column"]) and column.re is _QUERIED:
        return _Measure(None, None, _ROW if column["column"].startswith("number of rows") else "")
    if not words and column is not None and amount.line:
        return _of_column(column["column"])
    signs = (before[-1:], *(word.lower() for word in words[:1]), behind[:1])
    money = next((_CURRENCIES[sign] for sign in signs if sign in _CURRENCIES), "")
    joined = len(words) == 2 and words[0].lower() in _JOINED
    unit = None if money or not words else _unit(" ".join(words) if joined else words[0])
    match = _PER.match(behind) or _TO.match(behind) or _FOR.search(before)
    thing = next(iter(tokenize(words[0])), "") if words else ""
    return _Measure(unit, _unit(match["unit"]) if match else None, thing, money)


def _of_column(name: str) -> _Measure:
    """What stands in a column; "price_per_hour", "£/month", "spots_a_day", "usd_hour" and "kg_ha" are rates."""
    spoken = re.sub(r"[^\w£€$]+|[\d_]+", " ", name.replace("/", " per ")).lower()
    counted, rate, by = re.sub(r" (?:an?|each) ", " per ", f" {spoken} ").partition(" per ")
    words = [word for word in counted.split() if word not in _SUMMED][::-1]
    money = next((_CURRENCIES[word] for word in words if word in _CURRENCIES), "")
    units = [unit for word in words if (unit := _unit(word)) is not None]
    spans = [unit for word in words if word in _SPANS and (unit := _unit(_SPANS[word])) is not None]
    unit = None if money or not units else units[0]
    if rate:
        return _Measure(unit, _unit((by.split() or [""])[0]), "", money)
    if spans:
        return _Measure(unit, spans[0], "", money)
    if units and (money or not _PAID.isdisjoint(words)):
        return _Measure(None, units[0], "", money)
    if len(units) > 1:
        return _Measure(units[1], units[0], "", money)
    # "dog 0.50" in a list of prices is no dog, "dogs 12" are twelve
    counts = words and (len(spoken.split()) > 1 or words[0].endswith("s"))
    thing = next(iter(tokenize(words[0])), "") if counts else ""
    return _Measure(unit, None, thing, money)


@lru_cache(maxsize=1024)
def _unit(name: str) -> object | None:
    name = name.lower() if len(name) > 3 else name
    if name.lower() in _NO_UNIT or name.lower() in _NO_SIGN:
        return None
    return unit_of("percent" if name == "pct" else name)
