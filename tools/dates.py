"""Dates, times of day and periods: read as people write them, computed exactly on the calendar.

``dateutil`` reads; what it would guess (a missing year, a two-digit year) is refused instead.
"""

import calendar
import re
import warnings
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction

from dateutil import parser as dateutil_parser
from dateutil.relativedelta import relativedelta

from pointwork.errors import ToolError

_PERIOD = re.compile(
    r"(?P<sign>[-+]?)\s*(?P<n>\d+(?:\.\d+)?|an?|one|two|three|four|five|six|seven|eight|nine|ten)\s*-?\s*"
    r"(?P<unit>business\s+days?|working\s+days?|work\s?days?|weekdays?|years?|yrs?|y|months?|mos?|quarters?|fortnights?"
    r"|weeks?|wks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|min|m|seconds?|secs?|s)(?![^\W\d_])\.?\s*(?:,|\band\b)?\s*",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"\d{1,2}:\d{2}(?::\d{2})?\s*(?:[ap]\.?m\.?)?|\d{1,2}\s*[ap]\.?m\.?|noon|midnight", re.IGNORECASE
)
_NUMERIC = re.compile(r"\s*(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(?!\d)")
_SHORT_YEAR = re.compile(r"\s*\d{1,2}[/.-]\d{1,2}[/.-]\d{1,2}(?!\d)")
_SMALL = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Moment:
    """A date, or a date with a time, or a time of day alone.

    Attributes:
        at: the moment; of a mere time of day the date part is 0001-01-02 and means nothing.
        has_date, has_time: which parts were written.
        note: how an ambiguous form was read.
    """

    at: datetime
    has_date: bool
    has_time: bool
    note: str = ""

    def text(self) -> str:
        """ISO form of what is there."""
        clock = self.at.strftime("%H:%M:%S" if self.at.second else "%H:%M")
        day = self.at.date().isoformat()
        return f"{day} {clock}" if self.has_date and self.has_time else day if self.has_date else clock


@dataclass(frozen=True)
class Period:
    """A length of time: calendar months apart from exact seconds, as a month has no fixed length.

    Attributes:
        months: whole calendar months; a year is 12.
        days: whole days.
        business_days: Monday to Friday.
        seconds: hours, minutes and seconds.
    """

    months: int = 0
    days: int = 0
    business_days: int = 0
    seconds: int = 0

    def __neg__(self) -> "Period":
        return Period(-self.months, -self.days, -self.business_days, -self.seconds)


def parse_moment(text: str, *, need_day: bool = True) -> Moment:
    """Read a date, a date with time, or a time of day, in any common written form, ``today`` and ``now`` included.

    Args:
        text: what was written.
        need_day: refuse ``March 2024``; else it is the first of the month, and a year is its first day.

    Raises:
        ToolError: not a date, no such day, or a part is missing that would have to be guessed.
    """
    written = text.strip().rstrip("?.!,").strip()
    if len(written) > 80:
        raise ToolError(f"{written[:40]!r}... is too long for a date")
    relative = _relative(written.lower())
    if relative is not None:
        return relative
    if _CLOCK.fullmatch(written):
        return Moment(_clock(written), has_date=False, has_time=True)
    if not need_day and re.fullmatch(r"\d{4}", written):
        return Moment(_checked(int(written), 1, 1, written), has_date=True, has_time=False)
    numeric = _NUMERIC.match(written)
    if numeric is None and _SHORT_YEAR.match(written):
        raise ToolError(f"the year of {written!r} is not clear: write it as 2025-04-03")
    day_first, note = _order(numeric, written) if numeric else (False, "")
    at = _read(written, day_first, need_day)
    return Moment(
        at, has_date=True, has_time=bool(re.search(r"\d:\d|\d\s*[ap]\.?m\b|T\d", written, re.I)), note=note
    )


def _relative(word: str) -> Moment | None:
    offsets = {"today": 0, "tomorrow": 1, "yesterday": -1}
    now = datetime.now().replace(microsecond=0)
    if word == "now":
        return Moment(now, has_date=True, has_time=True, note=f"now is {now:%Y-%m-%d %H:%M}")
    if word not in offsets:
        return None
    at = datetime.combine(now.date() + timedelta(days=offsets[word]), time())
    return Moment(at, has_date=True, has_time=False, note=f"{word} is {at:%Y-%m-%d}")


def _clock(written: str) -> datetime:
    word = {"noon": "12:00", "midnight": "00:00"}.get(written.lower(), written)
    match = re.fullmatch(r"(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?\s*([ap])?.*", word, re.IGNORECASE)
    hour, minute, second = (int(part or 0) for part in match.group(1, 2, 3)) if match else (99, 0, 0)
    half = (match[4] or "").lower() if match else ""
    if half and not 1 <= hour <= 12:
        raise ToolError(f"there is no time {written!r}")
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour
    try:
        return datetime(1, 1, 2, hour, minute, second)
    except ValueError as error:
        raise ToolError(f"there is no time {written!r}: hours go to 23, minutes and seconds to 59") from error


def _checked(year: int, month: int, day: int, written: str) -> datetime:
    try:
        return datetime(year, month, day)
    except ValueError as error:
        raise ToolError(f"there is no date {written!r}: {error}") from error


def _order(numeric: re.Match[str], written: str) -> tuple[bool, str]:
    """Day or month first, and a note where both were possible."""
    first, mark, second, year = int(numeric[1]), numeric[2], int(numeric[3]), int(numeric[4])
    day_first = first > 12 if max(first, second) > 12 else mark == "."
    month, day = (second, first) if day_first else (first, second)
    read = _checked(year, month, day, written)
    if max(first, second) > 12 or first == second:
        return day_first, ""
    order = "day.month" if day_first else f"month{mark}day"
    return day_first, f"{numeric[0].strip()} was read as {order}: {read.day} {read:%B %Y} ({read:%Y-%m-%d})"


def _read(written: str, day_first: bool, need_day: bool) -> datetime:
    """dateutil with two different fill-ins: where they show, a part was missing."""
    fillers = (datetime(2000, 1, 1), datetime(2004, 2, 2))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an unknown time zone is only a warning there
            first, second = (dateutil_parser.parse(written, dayfirst=day_first, default=f) for f in fillers)
    except (ValueError, OverflowError, TypeError, Warning) as error:
        raise ToolError(f"{written!r} is not a date I can read: write it as 2025-04-03 or 3 April 2025") from error
    if first.year != second.year:
        raise ToolError(f"the year is missing in {written!r}: write it as 2025-04-03 or 3 April 2025")
    if first.month != second.month or (need_day and first.day != second.day):
        part = "month" if first.month != second.month else "day"
        raise ToolError(f"the {part} is missing in {written!r}: write it as 2025-04-03 or 3 April 2025")
    if not re.search(r"\d{4}", written):
        raise ToolError(f"the year of {written!r} is not clear: write it with four digits, as 2025-04-03")
    return first.replace(microsecond=0)


def parse_period(text: str) -> Period:
    """Read a length of time: ``3 weeks``, ``1 year and 2 months``, ``3h 25min``, ``10 business days``, ``2:30``.

    Raises:
        ToolError: it is not one, or it is a fraction of a month or of a business day.
    """
    written = text.strip().rstrip("?.!").strip().lower()
    clock = re.fullmatch(r"(\d{1,4}):([0-5]\d)(?::([0-5]\d))?(?:\s*h(?:ours?)?)?", written)
    if clock:
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return Period(seconds=hours * 3600 + minutes * 60 + seconds)
    total = Period()
    at = 0
    while at < len(written):
        match = _PERIOD.match(written, at)
        if match is None or len(written) > 120:
            raise ToolError(f"{text.strip()[:60]!r} is not a length of time: write it as '3 weeks' or '3h 25min'")
        total = _plus(total, match, text)
        at = match.end()
    if not written:
        raise ToolError("a length of time is missing: write it as '3 weeks' or '3h 25min'")
    return total


def _plus(total: Period, match: re.Match[str], text: str) -> Period:
    word, unit = match["n"], re.sub(r"\s+", " ", match["unit"])
    amount = Fraction(_SMALL.index(word) + 1 if word in _SMALL else 1 if word in ("a", "an") else word)
    amount *= -1 if match["sign"] == "-" else 1
    if amount.numerator > 10**7:
        raise ToolError(f"{text.strip()!r} is too long a time")
    months, days, business, seconds = 0, Fraction(0), 0, Fraction(0)
    if unit.startswith(("business", "work", "weekday")):
        business = _integer(amount, match[0])
    elif unit.startswith(("y", "mo", "quarter")):
        months = _integer(amount * (12 if unit[0] == "y" else 3 if unit[0] == "q" else 1), match[0])
    elif unit.startswith(("f", "w", "d")):
        days = amount * {"f": 14, "w": 7, "d": 1}[unit[0]]
    else:
        seconds = amount * {"h": 3600, "m": 60, "s": 1}[unit[0]]
    whole = days.numerator // days.denominator
    seconds += (days - whole) * 86_400
    return Period(
        total.months + months,
        total.days + whole,
        total.business_days + business,
        total.seconds + round(seconds),
    )


def _integer(amount: Fraction, written: str) -> int:
    if amount.denominator != 1:
        raise ToolError(f"{written.strip()!r} has no fixed length: write whole numbers")
    return int(amount)


def shift(moment: Moment, period: Period) -> Moment:
    """The moment after (or, negative, before) a period; the day is clamped to the month's last.

    Raises:
        ToolError: the result is outside the years 1 to 9999, or a date period is added to a mere time of day.
    """
    if not moment.has_date and (period.months or period.business_days):
        raise ToolError(f"{moment.text()} has no date: months and business days can not be added")
    try:
        at = moment.at + relativedelta(months=period.months) + timedelta(days=period.days)
        at = _business_shift(at, period.business_days) + timedelta(seconds=period.seconds)
    except (OverflowError, ValueError) as error:
        raise ToolError("the result is outside the years 1 to 9999") from error
    return Moment(at, moment.has_date, moment.has_time or bool(period.seconds), moment.note)


def _business_shift(at: datetime, count: int) -> datetime:
    if not count:
        return at
    step = 1 if count > 0 else -1
    while at.weekday() > 4:  # counting from a weekend is counting from the working day behind it
        at -= timedelta(days=step)
    weeks, rest = divmod(abs(count), 5)
    at += timedelta(weeks=step * weeks)
    while rest:
        at += timedelta(days=step)
        rest -= at.weekday() < 5
    return at


def business_days(first: date, second: date) -> int:
    """Mondays to Fridays from the first date (counted) to the second (not counted); negative if it is earlier."""
    if second < first:
        return -business_days(second, first)
    weeks, rest = divmod((second - first).days, 7)
    return weeks * 5 + sum((first + timedelta(days=i)).weekday() < 5 for i in range(rest))


_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NTH = {
    "first": 1,
    "1st": 1,
    "second": 2,
    "2nd": 2,
    "third": 3,
    "3rd": 3,
    "fourth": 4,
    "4th": 4,
    "fifth": 5,
    "5th": 5,
    "last": -1,
}


def nth_in_month(month: date, which: str) -> date:
    """``third Monday``, ``last working day`` or ``last day`` of a month.

    Raises:
        ToolError: it is not such a day, or the month has none.
    """
    words = which.strip().lower().split()
    kind = " ".join(words[1:])
    if (
        not words
        or words[0] not in _NTH
        or kind not in (*_WEEKDAYS, "day", "working day", "business day", "weekday")
    ):
        raise ToolError(f"{which!r} is no day of a month: write such as 'third Monday' or 'last working day'")
    days = [
        date(month.year, month.month, day)
        for day in range(1, days_in_month(datetime(month.year, month.month, 1)) + 1)
    ]
    if kind in _WEEKDAYS:
        days = [day for day in days if day.weekday() == _WEEKDAYS.index(kind)]
    elif kind != "day":
        days = [day for day in days if day.weekday() < 5]
    nth = _NTH[words[0]]
    if nth > len(days):
        raise ToolError(f"{month:%B %Y} has no {which.strip()}")
    return days[nth - 1 if nth > 0 else -1]


def days_of(first: date, last: date, which: str) -> int:
    """How many ``Mondays``, ``working days`` or ``weekend days`` lie from the first date to the last, both counted.

    Raises:
        ToolError: it is no such kind of day.
    """
    kind = re.sub(r"[\s-]+", " ", which.strip().lower()).removesuffix("s")
    if kind in _WEEKDAYS:
        at = _WEEKDAYS.index(kind)
        return ((last - first).days - (at - first.weekday()) % 7) // 7 + 1
    working = business_days(first, last + timedelta(days=1))
    if kind in ("working day", "business day", "weekday"):
        return working
    if kind == "weekend day":
        return (last - first).days + 1 - working
    raise ToolError(f"{which!r} is no kind of day: write such as 'Mondays', 'working days' or 'weekend days'")


def days_to(day: date, name: str, step: int) -> int:
    """How many days it is from a day to the first Thursday, say, after it (``step`` 1), or the last before it (-1).

    Raises:
        ToolError: there is no such weekday.
    """
    name = name.strip().lower()
    if name not in _WEEKDAYS:
        raise ToolError(f"{name!r} is no weekday: write such as 'Thursday'")
    return step * ((_WEEKDAYS.index(name) - day.weekday()) * step % 7 or 7)


def weekday_shifted(name: str, period: Period) -> str | None:
    """The weekday so many days after one, as no date is known; None: it is no weekday's name.

    Raises:
        ToolError: months or business days can not be counted from a weekday.
    """
    low = name.strip().lower()
    if low not in _WEEKDAYS:
        return None
    if period.months or period.business_days or period.seconds:
        raise ToolError(f"from a {low.capitalize()} only days and weeks can be counted")
    return _WEEKDAYS[(_WEEKDAYS.index(low) + period.days) % 7].capitalize()


def calendar_difference(first: datetime, second: datetime) -> tuple[int, int, int]:
    """Whole years, months and days between two dates, all of one sign."""
    delta = relativedelta(second, first)
    return delta.years, delta.months, delta.days


def days_in_month(at: datetime) -> int:
    """28 to 31."""
    return calendar.monthrange(at.year, at.month)[1]


def date_span(value: str) -> tuple[date, date]:
    """The first day of a year, a month or a day, and the day after its last.

    Raises:
        ToolError: the value is none of these.
    """
    text = value.strip()
    if re.fullmatch(r"[12]\d{3}", text):
        return date(int(text), 1, 1), date(int(text) + 1, 1, 1)
    month = re.fullmatch(r"([12]\d{3})[-/](0?[1-9]|1[0-2])", text)
    named = re.fullmatch(r"([A-Za-z]{3,9})\.?,?\s+([12]\d{3})", text)
    if month:
        return _month(int(month[1]), int(month[2]))
    if named and (number := _month_number(named[1])):
        return _month(int(named[2]), number)
    day = parse_moment(text).at.date()
    return day, day + timedelta(days=1)


def _month_number(name: str) -> int:
    names = [n.lower() for n in calendar.month_name]
    return next((i for i, n in enumerate(names) if i and n.startswith(name.lower())), 0)


def _month(year: int, month: int) -> tuple[date, date]:
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)
