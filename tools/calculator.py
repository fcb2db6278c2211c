"""Tools that compute: arithmetic, units, dates. Exact, bounded, without side effects."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BeforeValidator

from pointwork.errors import ToolError
from pointwork.tools import arithmetic, dates, expressions, units
from pointwork.tools.dates import Moment
from pointwork.tools.spec import ToolResult, tool
from pointwork.tools.units import Measure

JSON = dict[str, "str | int | float | bool"]

_LEAD = re.compile(
    r"^(?:(?:please|can you|could you)\s+)*(?:(?:what(?:'s| is| are)|how much (?:is|are|does)|calculate|compute"
    r"|evaluate|convert|work out|find|solve)\s*:?\s+)?(?:the\s+(?:(?:value|result)\s+of\s+)?)?",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(
    r"^how many\s+(.+?)\s+(?:are\s+(?:there\s+)?in|is|are|make(?: up)?|equals?|in)\s+(.+)$", re.IGNORECASE
)
_DOUBT = re.compile(r"\d!$|^[\d\s-]*\d-\d[\d-]*$")


@dataclass(frozen=True)
class Evaluated:
    """What a text came to.

    Attributes:
        expression: what was computed, as it was read.
        value: the number, in ``unit``.
        unit: as it was asked for; empty for a plain number.
        text: number and unit, for a reader.
    """

    expression: str
    value: int | float
    unit: str
    text: str


def evaluate_text(text: str) -> Evaluated | None:
    """The result, if the whole text is an expression or conversion, apart from a leading question phrase.

    Never guesses: None for anything else, for a mere number, for what has two common readings, and on every error.
    """
    if len(text) > expressions.MAX_CHARACTERS:
        return None
    try:
        body = _expression_in(text)
        if _DOUBT.search(body):
            return None
        result = expressions.evaluate(body)
        if not result.operations or result.doubtful or not re.search(r"\d", body):
            return None
        value = result.value.magnitude if isinstance(result.value, Measure) else result.value
        return Evaluated(body, arithmetic.plain(value), result.unit, result.text)
    except ToolError:
        return None


def _expression_in(text: str) -> str:
    body = text.strip().rstrip("?.=; ").strip()
    conversion = _HOW_MANY.match(body)
    if conversion:
        return f"{conversion[2].strip()} to {conversion[1].strip()}"
    return _LEAD.sub("", body, count=1).strip()


@tool
def calculate(expression: str) -> ToolResult:
    """Compute an arithmetic expression exactly, such as 17% of 2340, sqrt(2)*3 or 3 miles + 400 m in km.

    Args:
        expression: numbers, + - * / ^ % ( ), functions such as sqrt, round, min, max, sum, mean; units; "to UNIT"

    Raises:
        ToolError: not an expression, too large, a division by zero, or units that do not fit.
    """
    if len(expression) > expressions.MAX_CHARACTERS:
        raise ToolError(f"the expression is longer than {expressions.MAX_CHARACTERS} characters")
    body = _expression_in(expression)
    try:
        result = expressions.evaluate(body)
    except ToolError as error:
        dated = _date_phrase(body)
        if dated is not None:
            return dated
        raise ToolError(
            f"{error} (in {body[:80]!r}); write numbers with + - * / ^ or PERCENT% of NUMBER, NUMBER UNIT to UNIT"
        ) from error
    value = result.value.magnitude if isinstance(result.value, Measure) else result.value
    exact = arithmetic.is_short(value)
    text = f"{body} {'=' if exact else '≈'} {result.text}" + _in_brackets(result.notes)
    given: JSON = {"value": arithmetic.plain(value), "unit": result.unit, "text": result.text}
    return ToolResult(given, text, (("tool:calculate", text),), result.text)


def _in_brackets(notes: list[str]) -> str:
    notes = [note for note in notes if note]
    return f" ({'; '.join(notes)})" if notes else ""


def _without_separators(value: object) -> object:
    return re.sub(r",(?=\d{3}(?!\d))|[\s_]", "", value) if isinstance(value, str) else value


@tool
def convert(
    value: Annotated[float, BeforeValidator(_without_separators)], from_unit: str, to_unit: str
) -> ToolResult:
    """Convert a number from one unit to another: length, mass, volume, temperature, time, speed, data and more.

    Args:
        value: the number
        from_unit: such as miles, kg, degF, km/h
        to_unit: such as km, lb, degC, m/s

    Raises:
        ToolError: an unknown unit, a currency, or units of different things.
    """
    exact = Fraction(str(value)) if math.isfinite(value) else None
    if exact is None:
        raise ToolError("the value must be a finite number")
    source, target = (units.parse_unit(name) for name in (from_unit, to_unit))
    result = units.convert(Measure(exact, source), target)
    sign = "=" if arithmetic.is_short(result.magnitude) else "≈"
    shown = f"{arithmetic.show(result.magnitude)} {to_unit.strip()}"
    text = f"{arithmetic.show(exact)} {from_unit.strip()} {sign} {shown}"
    given: JSON = {"value": arithmetic.plain(result.magnitude), "unit": to_unit.strip(), "text": shown}
    return ToolResult(given, text, (("tool:convert", text),), shown)


Operation = Literal[
    "difference",
    "difference_inclusive",
    "age",
    "add",
    "subtract",
    "weekday",
    "in_month",
    "iso_week",
    "day_of_year",
    "days_in_month",
    "leap_year",
]
_SYNONYMS = {
    "between": "difference",
    "diff": "difference",
    "plus": "add",
    "after": "add",
    "minus": "subtract",
    "before": "subtract",
    "day_of_week": "weekday",
    "week": "iso_week",
    "is_leap_year": "leap_year",
}


def _known_operation(value: object) -> object:
    word = re.sub(r"[\s-]+", "_", value.strip().lower()) if isinstance(value, str) else value
    return _SYNONYMS.get(word, word) if isinstance(word, str) else word


@tool
def date_math(
    operation: Annotated[Operation, BeforeValidator(_known_operation)], date: str, other: str = ""
) -> ToolResult:
    """Compute with dates and times: the difference of two dates, an age, a date or time plus or minus a period, the
    weekday, the nth weekday of a month, the ISO week, the day of the year, the days in a month, leap years.

    Args:
        operation: what to compute; in_month is a day of a month such as its last Friday
        date: a date such as 2025-04-03 or 3 April 2025, a time such as 14:50, or both; for in_month a month
        other: for difference and age the second date, with "in weeks" or "in months" behind it if wanted; for add
            and subtract a period such as 3 weeks or 3h 25min; for in_month such as third Monday or last working day

    Raises:
        ToolError: a date or period that can not be read, or a part that is missing.
    """
    return _dated(*_DATE_OPERATIONS[operation](date, other))


def _dated(given: JSON, text: str) -> ToolResult:
    """A result of ``date_math``; its short answer is the first value, in words."""
    name, first = next(iter(given.items()))
    if "text" in given:
        first = given["text"]
    elif name == "days":
        first = f"{first} day{'' if abs(int(first)) == 1 else 's'}"
    answer = {True: "yes", False: "no"}[first] if isinstance(first, bool) else str(first)
    return ToolResult(given, text, (("tool:date_math", text),), answer)


def _difference(date: str, other: str) -> tuple[JSON, str]:
    unit = _IN_UNIT.search(other)
    if unit:
        return _difference_in(unit[1].lower(), date, other[: unit.start()])
    first, second = dates.parse_moment(date), dates.parse_moment(other)
    if first.has_date != second.has_date:
        raise ToolError("one is a date and the other a time of day only: write the date of both")
    if (first.at.tzinfo is None) != (second.at.tzinfo is None):
        raise ToolError("one has a time zone and the other has none: write it at both or at none")
    notes = [first.note, second.note]
    gap = second.at - first.at
    if not first.has_date and gap < timedelta(0):
        gap += timedelta(days=1)
        notes.append(f"{second.text()} is taken to be on the next day")
    seconds = int(gap.total_seconds())
    lead = f"from {first.text()} to {second.text()}: "
    if not first.has_date:
        return {"seconds": seconds, "text": _clock_span(seconds)}, lead + _clock_span(seconds) + _in_brackets(notes)
    return _date_difference(first, second, seconds, lead, notes)


_IN_UNIT = re.compile(r"\s+in\s+(years|months|weeks|days|hours|minutes)\s*$", re.IGNORECASE)


def _difference_in(unit: str, date: str, other: str) -> tuple[JSON, str]:
    """The difference in one unit: whole calendar months and years, else exactly."""
    first, second = dates.parse_moment(date), dates.parse_moment(other)
    given, text = _difference(date, other)
    if unit in ("years", "months"):
        years, months, _ = dates.calendar_difference(first.at, second.at)
        value: int | float = years if unit == "years" else years * 12 + months
    else:
        span = second.at - first.at
        if not first.has_date and span < timedelta(0):
            span += timedelta(days=1)
        exact = Fraction(
            int(span.total_seconds()), {"weeks": 604_800, "days": 86_400, "hours": 3600, "minutes": 60}[unit]
        )
        value = arithmetic.plain(exact)
    shown = f"{arithmetic.show(Fraction(str(value)))} {unit}"
    return {"value": value, "unit": unit, "text": shown, **{k: v for k, v in given.items() if k != "text"}}, text


def _inclusive(date: str, other: str) -> tuple[JSON, str]:
    """Days from the first to the last, both counted."""
    given, text = _difference(date, other)
    days = int(given.get("days", 0))
    days += 1 if days >= 0 else -1
    return {"days": days}, f"{text}; both counted {days} days"


def _age(date: str, other: str) -> tuple[JSON, str]:
    """Whole years between a birth and a day."""
    given, text = _difference_in("years", date, other)
    return {"years": given["value"], "text": str(given["value"])}, text


def _in_month(date: str, other: str) -> tuple[JSON, str]:
    """The nth day of a kind in a month."""
    moment = dates.parse_moment(date, need_day=False)
    found = dates.nth_in_month(moment.at, other)
    return {
        "result": found.isoformat(),
        "weekday": f"{found:%A}",
    }, f"{other} of {moment.at:%B %Y} = {found} ({found:%A})"


def _date_difference(first: Moment, second: Moment, seconds: int, lead: str, notes: list[str]) -> tuple[JSON, str]:
    days, years_months_days = (
        (second.at.date() - first.at.date()).days,
        dates.calendar_difference(first.at, second.at),
    )
    spans = [
        f"{n} {name}{'' if abs(n) == 1 else 's'}"
        for n, name in zip(years_months_days, ("year", "month", "day"), strict=True)
        if n
    ]
    weeks, rest = divmod(abs(days), 7)
    business = dates.business_days(first.at.date(), second.at.date())
    given: JSON = {
        "days": days,
        "weeks": days / 7,
        "business_days": business,
        "years": years_months_days[0],
        "months": years_months_days[1],
        "rest_days": years_months_days[2],
    }
    text = f"{lead}{days} days = {'-' if days < 0 else ''}{weeks} weeks {rest} days"
    text += (
        f" = {' '.join(spans) or '0 days'}; {business} business days (Monday to Friday, the last day not counted)"
    )
    if first.has_time or second.has_time:
        given["seconds"] = seconds
        text += f"; {_clock_span(seconds)}"
    return given, text + _in_brackets(notes)


def _clock_span(seconds: int) -> str:
    minutes, rest = divmod(abs(seconds), 60)
    counts = ((minutes // 60, "h"), (minutes % 60, "min"), (rest, "s"))
    parts = [f"{count} {name}" for count, name in counts if count]
    return ("-" if seconds < 0 else "") + (" ".join(parts) or "0 min")


def _moved(sign: int) -> Callable[[str, str], tuple[JSON, str]]:
    def move(date: str, other: str) -> tuple[JSON, str]:
        if not other.strip():
            raise ToolError("other is missing: the period to move by, such as 3 weeks or 3h 25min")
        moment, period = dates.parse_moment(date), dates.parse_period(other)
        result = dates.shift(moment, period if sign > 0 else -period)
        notes = [moment.note]
        over = (result.at.date() - moment.at.date()).days
        if not moment.has_date and over:
            notes.append(f"{abs(over)} day{'s' if abs(over) > 1 else ''} {'later' if over > 0 else 'earlier'}")
        text = f"{moment.text()} {'+' if sign > 0 else '-'} {other.strip()} = {result.text()}"
        given: JSON = {"result": result.text(), "days_over": over if not moment.has_date else 0}
        if result.has_date:
            given["weekday"] = f"{result.at:%A}"
            text += f" ({result.at:%A})"
        return given, text + _in_brackets(notes)

    return move


def _of_date(
    describe: Callable[[Moment], tuple[str, int | str | bool, str]], *, need_day: bool
) -> Callable[[str, str], tuple[JSON, str]]:
    def run(date: str, other: str) -> tuple[JSON, str]:
        moment = dates.parse_moment(date, need_day=need_day)
        if not moment.has_date:
            raise ToolError(f"{date.strip()!r} is a time of day: write a date")
        name, value, text = describe(moment)
        return {name: value}, text + _in_brackets([moment.note])

    return run


def _week(moment: Moment) -> tuple[str, str, str]:
    year, week, _ = moment.at.isocalendar()
    return "iso_week", f"{year}-W{week:02}", f"{moment.text()} is in ISO week {week} of {year}"


def _day_of_year(moment: Moment) -> tuple[str, int, str]:
    number = moment.at.timetuple().tm_yday
    return "day_of_year", number, f"{moment.text()} is day {number} of {moment.at.year}"


def _month_length(moment: Moment) -> tuple[str, int, str]:
    days = dates.days_in_month(moment.at)
    return "days", days, f"{moment.at:%B %Y} has {days} days"


def _leap_year(moment: Moment) -> tuple[str, bool, str]:
    leap = dates.calendar.isleap(moment.at.year)
    return "leap_year", leap, f"{moment.at.year} is {'a' if leap else 'not a'} leap year"


_DATE_OPERATIONS: dict[Operation, Callable[[str, str], tuple[JSON, str]]] = {
    "difference": _difference,
    "difference_inclusive": _inclusive,
    "age": _age,
    "in_month": _in_month,
    "add": _moved(1),
    "subtract": _moved(-1),
    "weekday": _of_date(lambda m: ("weekday", f"{m.at:%A}", f"{m.text()} is a {m.at:%A}"), need_day=True),
    "iso_week": _of_date(_week, need_day=True),
    "day_of_year": _of_date(_day_of_year, need_day=True),
    "days_in_month": _of_date(_month_length, need_day=False),
    "leap_year": _of_date(_leap_year, need_day=False),
}

_BETWEEN = (
    r"(?:how\s+many\s+\w+\s+(?:are\s+(?:there\s+)?)?)?(?:\w+\s+)?(?:between|from)\s+(.+?)\s+(?:and|to|until)\s+(.+)"
)
_PHRASES: list[tuple[str, Operation, str, str]] = [
    (_BETWEEN, "difference", r"\1", r"\2"),
    (r"(.+?)\s+(?:after|from)\s+(.+)", "add", r"\2", r"\1"),
    (r"(.+?)\s+before\s+(.+)", "subtract", r"\2", r"\1"),
    (r"(.+?)\s*(?:\+|\bplus\b)\s*(.+)", "add", r"\1", r"\2"),
    (r"(.+?)\s+(?:-|minus)\s+(.+)", "subtract", r"\1", r"\2"),
    (r"(.+?)\s+(?:-|minus)\s+(.+)", "difference", r"\2", r"\1"),
]


def _date_phrase(text: str) -> ToolResult | None:
    """What ``calculate`` was given in words about dates: ``3h 25min after 14:50``."""
    if len(text) > 200:
        return None
    for pattern, operation, date, other in _PHRASES:
        match = re.fullmatch(pattern, text, re.IGNORECASE)
        if match is None:
            continue
        try:
            return _dated(*_DATE_OPERATIONS[operation](match.expand(date), match.expand(other)))
        except ToolError:
            continue
    return None
