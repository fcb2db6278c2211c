"""Months, quarters and leap years: how many days they have, how far they are apart, which comes when."""

import calendar
import re
from collections.abc import Sequence

from pointwork.agents.readings import Reading
from pointwork.agents.readings.question import DateMention
from pointwork.agents.readings.yearly import QUARTER, asks_only, quarter_of
from pointwork.numerals import in_figures

_LATER = re.compile(r"\b(?P<n>\d+)\s+months\s+(?P<side>after|before|later|earlier|from|on\s+from)\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"\b(?:how\s+many|number\s+of)\s+(?:\w+\s+)?months\b", re.IGNORECASE)
_LENGTH = re.compile(
    r"\b(?:how\s+many|number\s+of)\s+(?P<unit>days|hours|minutes)\s+(?:in\s+(?:total|all)\s+)?"
    r"(?:are\s+(?:there\s+)?in|in|(?:do|does|did|has|have)\b)",
    re.IGNORECASE,
)
_QUARTER = re.compile(rf"\b{QUARTER}\b", re.IGNORECASE)
_LEAP_YEARS = re.compile(
    r"\bhow\s+many\s+leap\s+(?:years|days)\b.*?\b(?P<first>\d{4})\b.*?\b(?P<last>\d{4})\b",
    re.IGNORECASE | re.DOTALL,
)
_BESIDES = frozenset(
    ["hours", "minutes", "month", "months", "total", "together", "taken", "altogether", "whole", "full", "long"]
)
_SOME_YEAR = 2001  # where the year is not said and makes no difference
_FEBRUARY = 1


def asked(text: str, dates: Sequence[DateMention]) -> Reading | None:
    """What is asked about whole months, as one call; None: nothing, or their year would have to be known."""
    if (leap := _leap_years(text, dates)) is not None:
        return leap
    months = [date for date in dates if date.month and not date.day]
    years = sorted({date.year for date in dates if date.year})
    if any(date.day for date in dates) or len(years) > 2:
        return None
    if not months:
        return _of_quarter(text, years)
    if len(months) < len([date for date in dates if date.month]) or len(dates) > len(months) + 1:
        return None
    places = sorted((date.year or (years or [_SOME_YEAR])[0]) * 12 + date.month - 1 for date in months)
    if later := _LATER.search(in_figures(text)):
        return _shifted(places, later["n"], back=later["side"].lower() in ("before", "earlier"))
    if len(places) == 2 and len(years) == 2 and _HOW_MANY.search(text):
        both = " + 1" if re.search(r"\b(?:both|inclusive|included|including)\b", text, re.IGNORECASE) else ""
        return Reading("calculate", {"expression": f"{places[1]} - {places[0]}{both}"}, 1.0)
    length = _LENGTH.search(text)
    if length is None or any(date.start < length.start() for date in months):
        return None
    return _lengths(text, places, known=bool(years))


def _shifted(places: Sequence[int], count: str, *, back: bool) -> Reading | None:
    if len(places) != 1:
        return None
    first = f"{places[0] // 12:04}-{places[0] % 12 + 1:02}-01"
    return Reading(
        "date_math",
        {"operation": "subtract" if back else "add", "date": first, "other": f"{count} months"},
        1.0,
    )


def _lengths(text: str, places: Sequence[int], *, known: bool) -> Reading | None:
    """How many days, hours or minutes some months have together."""
    length = _LENGTH.search(text)
    if length is None or len(set(places)) != len(places) or not asks_only(text, _BESIDES):
        return None
    if not known and any(place % 12 == _FEBRUARY for place in places):
        return None
    days = [str(calendar.monthrange(place // 12, place % 12 + 1)[1]) for place in places]
    each = {"hours": " * 24", "minutes": " * 24 * 60"}.get(length["unit"].lower(), "")
    if not each and len(places) == 1 and known:
        return None  # its days: ``moments``
    return Reading("calculate", {"expression": f"({' + '.join(days)}){each}" if each else " + ".join(days)}, 1.0)


def _of_quarter(text: str, years: Sequence[int]) -> Reading | None:
    """How many days a quarter has."""
    quarter = _QUARTER.search(text)
    if quarter is None or not _LENGTH.search(text) or len(years) > 1:
        return None
    number = quarter_of(quarter)
    year = years[0] if years else _SOME_YEAR
    return _lengths(text, [year * 12 + 3 * number - 3 + month for month in range(3)], known=bool(years))


def _leap_years(text: str, dates: Sequence[DateMention]) -> Reading | None:
    """How many leap years there are from one to another, both counted (Gregorian)."""
    found = _LEAP_YEARS.search(text)
    if found is None or any(date.month for date in dates):
        return None
    last, before = int(found["last"]), int(found["first"]) - 1
    up_to = "(floor({0} / 4) - floor({0} / 100) + floor({0} / 400))"
    return Reading("calculate", {"expression": f"{up_to.format(last)} - {up_to.format(before)}"}, 1.0)
