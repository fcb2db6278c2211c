"""The tool that computes with dates and times of day, and what it makes of phrases about them."""

import operator
import re
from collections.abc import Callable
from datetime import date as Date
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BeforeValidator

from pointwork.errors import ToolError
from pointwork.tools import arithmetic, dates
from pointwork.tools.dates import Moment
from pointwork.tools.spec import ToolResult, tool

JSON = dict[str, "str | int | float | bool"]

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
    "count_days",
    "weekday_after",
    "weekday_before",
    "leap_year",
    "is_a",
    "earlier",
    "later",
    "is_before",
    "is_after",
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
    """Compute with dates and times: differences, ages, a date or time plus or minus a period, weekdays, whether it
    is a Friday, the Thursday after a date, the nth weekday of a month, how many working days it has, ISO weeks,
    leap years, the earlier of two.

    Args:
        operation: what to compute; in_month is a day of a month such as its last Friday
        date: a date such as 2025-04-03 or 3 April 2025, a time such as 14:50, or both; for in_month a month; for
            count_days a month, a year or the first day
        other: for difference, age and comparisons the second date, with "in weeks" or "in months" behind it if
            wanted; for add and subtract a period such as 3 weeks or 3h 25min; for in_month such as third Monday;
            for weekday_after and weekday_before such as Thursday; for is_a such as Friday or weekend day; for
            count_days such as Mondays, working days or weekend days, with "until" and the last day if wanted

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


def _two(date: str, other: str, *, need_day: bool = True) -> tuple[Moment, Moment]:
    """Two that can be compared: both dates or both times of day, both with a time zone or both without."""
    first, second = (dates.parse_moment(text, need_day=need_day) for text in (date, other))
    if first.has_date != second.has_date:
        raise ToolError("one is a date and the other a time of day only: write the date of both")
    if (first.at.tzinfo is None) != (second.at.tzinfo is None):
        raise ToolError("one has a time zone and the other has none: write it at both or at none")
    return first, second


def _difference(date: str, other: str) -> tuple[JSON, str]:
    unit = _IN_UNIT.search(other)
    if unit:
        return _difference_in(unit[1].lower(), date, other[: unit.start()])
    first, second = _two(date, other)
    notes = [first.note, second.note]
    gap = second.at - first.at
    if not first.has_date and gap < timedelta(0):
        gap += timedelta(days=1)
        notes.append(f"{second.text()} is taken to be on the next day")
    seconds = int(gap.total_seconds())
    lead = f"from {first.text()} to {second.text()}: "
    if not first.has_date:
        return {"seconds": seconds, "text": _clock_span(seconds)}, lead + _clock_span(seconds) + in_brackets(notes)
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
    """From the first day to the last, both counted."""
    if unit := _IN_UNIT.search(other):
        first, last = _day(date), _day(other[: unit.start()])
        behind = _moved_by(last, 1 if last >= first else -1)
        return _difference_in(unit[1].lower(), date, behind.isoformat())
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


def _day(text: str) -> Date:
    moment = dates.parse_moment(text)
    if not moment.has_date:
        raise ToolError(f"{text.strip()!r} is a time of day: write a date")
    return moment.at.date()


def _moved_by(day: Date, days: int) -> Date:
    try:
        return day + timedelta(days=days)
    except OverflowError as error:
        raise ToolError("the result is outside the years 1 to 9999") from error


def _count_days(date: str, other: str) -> tuple[JSON, str]:
    """How many days of a kind a month, a year or the days up to another have."""
    which, _, last = other.partition(" until ")
    if last:
        first, end = _day(date), _day(last)
    elif re.fullmatch(r"\s*\d{1,2}:\d\d\s*", date):
        raise ToolError(f"{date.strip()!r} is a time of day: write a month, a year or a date")
    else:
        first, behind = dates.date_span(date)
        end = _moved_by(behind, -1)
    if end < first:
        raise ToolError(f"{end} is before {first}")
    count = dates.days_of(first, end, which)
    return {"count": count}, f"{which.strip()} from {first} to {end}, both counted: {count}"


def _is_a(date: str, other: str) -> tuple[JSON, str]:
    """Whether a day is of a kind, such as a Friday or a working day."""
    day, kind = _day(date), other.strip()
    so = dates.days_of(day, day, kind) == 1
    return {"is_a": so}, f"{day} is a {day:%A}: {'a' if so else 'no'} {kind}"


def _weekday_beside(step: int) -> Callable[[str, str], tuple[JSON, str]]:
    def find(date: str, other: str) -> tuple[JSON, str]:
        day = _day(date)
        found = _moved_by(day, dates.days_to(day, other, step))
        side = "after" if step > 0 else "before"
        return {"result": found.isoformat()}, f"the {other.strip().capitalize()} {side} {day} is {found}"

    return find


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
    return given, text + in_brackets(notes)


def _clock_span(seconds: int) -> str:
    minutes, rest = divmod(abs(seconds), 60)
    counts = ((minutes // 60, "h"), (minutes % 60, "min"), (rest, "s"))
    parts = [f"{count} {name}" for count, name in counts if count]
    return ("-" if seconds < 0 else "") + (" ".join(parts) or "0 min")


def _moved(sign: int) -> Callable[[str, str], tuple[JSON, str]]:
    def move(date: str, other: str) -> tuple[JSON, str]:
        if not other.strip():
            raise ToolError("other is missing: the period to move by, such as 3 weeks or 3h 25min")
        period = dates.parse_period(other)
        if (weekday := dates.weekday_shifted(date, period if sign > 0 else -period)) is not None:
            return {"result": weekday}, f"{date.strip()} {'+' if sign > 0 else '-'} {other.strip()} is a {weekday}"
        moment = dates.parse_moment(date)
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
        return given, text + in_brackets(notes)

    return move


def _of_date(
    describe: Callable[[Moment], tuple[str, int | str | bool, str]], *, need_day: bool
) -> Callable[[str, str], tuple[JSON, str]]:
    def run(date: str, other: str) -> tuple[JSON, str]:
        moment = dates.parse_moment(date, need_day=need_day)
        if not moment.has_date:
            raise ToolError(f"{date.strip()!r} is a time of day: write a date")
        name, value, text = describe(moment)
        return {name: value}, text + in_brackets([moment.note])

    return run


def _iso_week(date: str, other: str) -> tuple[JSON, str]:
    """The number of the week, and the year that it belongs to."""
    day = _day(date)
    year, week, _ = day.isocalendar()
    return {"week": week, "iso_week": f"{year}-W{week:02}"}, f"{day} is in ISO week {week} of {year}"


def _day_of_year(moment: Moment) -> tuple[str, int, str]:
    number = moment.at.timetuple().tm_yday
    return "day_of_year", number, f"{moment.text()} is day {number} of {moment.at.year}"


def _month_length(moment: Moment) -> tuple[str, int, str]:
    days = dates.days_in_month(moment.at)
    return "days", days, f"{moment.at:%B %Y} has {days} days"


def _leap_year(moment: Moment) -> tuple[str, bool, str]:
    leap = dates.calendar.isleap(moment.at.year)
    return "leap_year", leap, f"{moment.at.year} is {'a' if leap else 'not a'} leap year"


def _chosen(later: bool) -> Callable[[str, str], tuple[JSON, str]]:
    def choose(date: str, other: str) -> tuple[JSON, str]:
        first, second = _two(date, other, need_day=False)
        found = first if (first.at > second.at) == later else second
        text = f"of {first.text()} and {second.text()} the {'later' if later else 'earlier'} is {found.text()}"
        return {"result": found.text()}, text + in_brackets([first.note, second.note])

    return choose


# What each sign asks of two moments: its name in the result, the words for yes and for no.
_ORDERS: dict[str, tuple[str, str, str, Callable[[datetime, datetime], bool]]] = {
    "<": ("before", "before", "not before", operator.lt),
    "<=": ("at_latest", "no later than", "later than", operator.le),
    ">": ("after", "after", "not after", operator.gt),
    ">=": ("at_earliest", "no earlier than", "earlier than", operator.ge),
}


def _ordered(sign: str) -> Callable[[str, str], tuple[JSON, str]]:
    name, yes, no, holds = _ORDERS[sign]

    def compare(date: str, other: str) -> tuple[JSON, str]:
        first, second = _two(date, other, need_day=False)
        so = holds(first.at, second.at)
        text = f"{first.text()} is {yes if so else no} {second.text()}"
        return {name: so}, text + in_brackets([first.note, second.note])

    return compare


_DATE_OPERATIONS: dict[Operation, Callable[[str, str], tuple[JSON, str]]] = {
    "difference": _difference,
    "difference_inclusive": _inclusive,
    "age": _age,
    "in_month": _in_month,
    "count_days": _count_days,
    "weekday_after": _weekday_beside(1),
    "weekday_before": _weekday_beside(-1),
    "add": _moved(1),
    "subtract": _moved(-1),
    "weekday": _of_date(lambda m: ("weekday", f"{m.at:%A}", f"{m.text()} is a {m.at:%A}"), need_day=True),
    "iso_week": _iso_week,
    "day_of_year": _of_date(_day_of_year, need_day=True),
    "days_in_month": _of_date(_month_length, need_day=False),
    "leap_year": _of_date(_leap_year, need_day=False),
    "is_a": _is_a,
    "earlier": _chosen(False),
    "later": _chosen(True),
    "is_before": _ordered("<"),
    "is_after": _ordered(">"),
}

_BETWEEN = (
    r"(?:how\s+many\s+\w+\s+(?:are\s+(?:there\s+)?)?)?(?:\w+\s+)?(?:between|from)\s+(.+?)\s+(?:and|to|until)\s+(.+)"
)
_PHRASES: list[tuple[str, Operation, str, str]] = [
    (r"(?:the\s+)?(?:earlier|smaller|minimum|min)\s+of\s+(.+?)\s+and\s+(.+)", "earlier", r"\1", r"\2"),
    (r"(?:the\s+)?(?:later|larger|maximum|max)\s+of\s+(.+?)\s+and\s+(.+)", "later", r"\1", r"\2"),
    (_BETWEEN, "difference", r"\1", r"\2"),
    (r"(.+?)\s+(?:after|from)\s+(.+)", "add", r"\2", r"\1"),
    (r"(.+?)\s+before\s+(.+)", "subtract", r"\2", r"\1"),
    (r"(.+?)\s*(?:\+|\bplus\b)\s*(.+)", "add", r"\1", r"\2"),
    (r"(.+?)\s+(?:-|minus)\s+(.+)", "subtract", r"\1", r"\2"),
    (r"(.+?)\s+(?:-|minus)\s+(.+)", "difference", r"\2", r"\1"),
]


COMPARED = re.compile(r"(?P<a>[^<>=]+)(?P<sign><=|>=|<|>)(?P<b>[^<>=]+)")
"""Two with a sign between them that says which is to be more."""


def date_phrase(text: str) -> ToolResult | None:
    """What ``calculate`` was given in words about dates: ``3h 25min after 14:50``."""
    if len(text) > 200:
        return None
    if compared := COMPARED.fullmatch(text):
        try:
            return _dated(*_ordered(compared["sign"])(compared["a"], compared["b"]))
        except ToolError:
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


def in_brackets(notes: list[str]) -> str:
    """Notes behind a result; empty without any."""
    notes = [note for note in notes if note]
    return f" ({'; '.join(notes)})" if notes else ""
