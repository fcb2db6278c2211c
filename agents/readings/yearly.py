"""Where a day stands: its number in the year, ISO week and quarter, what kind of day it is."""

import calendar
import re
from collections.abc import Sequence
from datetime import date as Date

from pointwork.agents.readings import Reading
from pointwork.agents.readings.question import ORDINALS, DateMention, Question, year_of
from pointwork.text import STOP_WORDS, sentences

WEEKDAYS = [day.lower() for day in calendar.day_name]
"""From Monday on."""

DAY = f"(?:{'|'.join(WEEKDAYS)})"
"""A weekday, as a pattern."""

_OF_YEAR = re.compile(
    r"\bday\s+(?:number\b|no\.)|\bnumber\s+of\s+the\s+day\b|\b(?:which|what)\s+(?:number\s+)?day\s+of\s+the\s+year\b|"
    r"\bday\s+(?:what|which)\s+of\s+the\s+year\b|\bhow\s+many(?:th)?\s+day\s+of\s+the\s+year\b|"
    r"\bdays\s+of\s+(?:the|a)\s+year\b.*\b(?:what|which)\s+number\b",
    re.IGNORECASE,
)
_WEEK = re.compile(
    r"\b(?:(?:which|what)\s+(?:(?:iso|calendar)\s+)?week(?!\s*day)(?:\s+number)?\b|week\s+number|number\s+of\s+the\s+week|"
    r"iso\s+week)\b",
    re.IGNORECASE,
)
_DAY_OF_WEEK = re.compile(
    rf"\bweek\s+(?P<week>\d{{1,2}})\b(?:\s+of|\s+in|,)?\s+(?P<year>\d{{4}})\b.*?\b(?P<day>{DAY})\b|"
    rf"\b(?P<day2>{DAY})\s+(?:of|in)\s+(?:iso\s+|calendar\s+)?week\s+(?P<week2>\d{{1,2}})\b(?:\s+of|\s+in|,)?\s+(?P<year2>\d{{4}})",
    re.IGNORECASE | re.DOTALL,
)
_WEEKS_OF_YEAR = re.compile(
    r"\bhow\s+many\s+(?:iso|calendar)\s+weeks\b.*?\b(?P<year>\d{4})\b", re.IGNORECASE | re.DOTALL
)
_ASKS_QUARTER = re.compile(r"\b(?:which|what)\s+(?:calendar\s+)?quarter\b", re.IGNORECASE)
QUARTER = rf"(?:(?P<nth>{'|'.join(ORDINALS[:4])}|last|[1-4](?:st|nd|rd|th))\s+quarter|Q(?P<q>[1-4]))"
"""Which quarter of a year, as a pattern (``quarter_of`` reads it)."""

_OF_QUARTER = re.compile(
    rf"\b(?P<end>first|last)\s+(?:calendar\s+)?day\s+of\s+(?:the\s+)?"
    rf"{QUARTER}(?:\s+of|\s+in|,)?\s+"
    r"(?:the\s+year\s+)?(?P<year>\d{4})\b",
    re.IGNORECASE,
)
_LEFT = re.compile(
    r"\b(?:left|remain\w*|still\s+to\s+come)\b.*\b(?:in|of)\s+(?:the\s+year\b|(?P<year>\d{4})\b)|"
    r"\buntil\s+the\s+end\s+of\s+the\s+year\b",
    re.IGNORECASE | re.DOTALL,
)
_KIND_OF_DAY = re.compile(
    rf"\b(?:is|was|will|does|did)\b[^.?!]*\b(?:an?|on\s+an?|be\s+an?)\s+(?P<kind>{DAY}|week[\s-]?day|week[\s-]?end(?:\s+day)?|"
    r"(?:working|business)\s+day)\s*(?:,?\s*yes\s+or\s+no\s*)?[?.]?\s*$",
    re.IGNORECASE,
)
_HAS_LEAP_DAY = re.compile(
    r"\bfebruary\s+(?:of\s+|in\s+)?(?P<year>\d{4})\b.*\b(?:29\s+days|29th|29)\b|"
    r"\b29(?:th)?\s+(?:of\s+)?february\b.*\b(?:exist|there)\b.*\b(?P<year2>\d{4})\b|"
    r"\b(?:exist|there)\b.*\b29(?:th)?\s+(?:of\s+)?february\b.*\b(?P<year3>\d{4})\b",
    re.IGNORECASE | re.DOTALL,
)
_YES_NO = re.compile(r"(?:^|[.:;,]\s+)(?:is|was|does|did|will|has|had)\b", re.IGNORECASE)

_ASKS = re.compile(r"\?|\b(?:what|which|how|number)\b|^\W*(?:is|was|does|did|will)\b", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"\([^()]*\)")
_WORDS = frozenset(
    re.findall(
        r"\S+",
        """
        day days week weeks month year first last second third fourth q february have has with exist exists
        quarter number iso calendar date fall falls fell left remain remaining remains end counted counting
        included including s st nd rd th weekend weekday working business monday tuesday wednesday thursday
        friday saturday sunday please give tell yes january december just many lie lies lay belong belongs
        rule rules under only standing
        """,
    )
)


def asked(text: str, dates: Sequence[DateMention]) -> Reading | None:
    """What a question about the place of a day in its year means, as one call; None: it is none."""
    days = [date for date in dates if date.day and date.month]
    full = [date for date in days if date.year]
    of_day = _numbered(text, days) or _week_of(text) or _quarter_day(text) or _kind_of(text, full)
    return of_day if of_day is not None and asks_only(text) else None


def asks_only(text: str, also: frozenset[str] = frozenset()) -> bool:
    """Whether the part that asks is about days and nothing else: not "Is it cheaper on a weekday?".

    Args:
        text: the question, with what it tells.
        also: further words that it may have.
    """
    for date in reversed(Question(text).dates):
        text = text[: date.start] + " " * (date.end - date.start) + text[date.end :]
    asking = [part for part in sentences(text) if _ASKS.search(part)]
    asks = next((part for part in asking if "?" in part), asking[0] if asking else text)
    return set(re.findall(r"[^\W\d_]+", _IN_BRACKETS.sub(" ", asks).lower())) <= STOP_WORDS | _WORDS | also


def _call(operation: str, date: str, other: str = "") -> Reading:
    return Reading("date_math", {"operation": operation, "date": date, "other": other}, 1.0)


def _numbered(text: str, days: Sequence[DateMention]) -> Reading | None:
    """Of one day its number in the year, its week, its quarter, or what is left after it."""
    # "with 1 January as day 1", "31 December counted" are not the day that is asked about
    days = [day for day in days if (day.month, day.day) not in ((1, 1), (12, 31))] if len(days) > 1 else days
    if len(days) != 1:
        return None
    if _ASKS_QUARTER.search(text):
        return Reading("calculate", {"expression": f"ceil({days[0].month} / 3)"}, 1.0)
    year = days[0].year or year_of(days[0], Question(text).dates)
    if not year:
        return None
    day = days[0].value(year)
    if _OF_YEAR.search(text):
        return _call("day_of_year", day)
    left = _LEFT.search(text)
    if left and (left["year"] is None or int(left["year"]) == year) and re.search(r"\bdays\b", text, re.IGNORECASE):
        return _call("difference", day, f"{year}-12-31")
    return _call("iso_week", day) if _WEEK.search(text) else None


def _week_of(text: str) -> Reading | None:
    """The Monday of a week that its number names; how many weeks a year has."""
    if found := _WEEKS_OF_YEAR.search(text):
        return _call("iso_week", f"{found['year']}-12-28")  # always in the last one
    found = _DAY_OF_WEEK.search(text)
    if found is None or not re.search(r"\b(?:dates?|when|day|what|which)\b", text, re.IGNORECASE):
        return None
    year, week = int(found["year"] or found["year2"]), int(found["week"] or found["week2"])
    at = WEEKDAYS.index((found["day"] or found["day2"]).lower())
    try:
        first = Date.fromisocalendar(year, 1, 1 + at)
        Date.fromisocalendar(year, week, 1)
    except ValueError:  # there is no week 53
        return None
    return _call("add", first.isoformat(), f"{week - 1} weeks")


def quarter_of(found: re.Match[str]) -> int:
    """The number of a quarter, from 1, of a match of ``QUARTER``."""
    nth = (found["q"] or found["nth"]).lower()
    return 4 if nth == "last" else int(nth[0]) if nth[0].isdigit() else ORDINALS.index(nth) + 1


def _quarter_day(text: str) -> Reading | None:
    """The first or last day of a quarter."""
    found = _OF_QUARTER.search(text)
    if found is None:
        return None
    quarter, last = quarter_of(found), found["end"].lower() == "last"
    return _call(
        "in_month", f"{found['year']}-{3 * quarter - (0 if last else 2):02}", f"{found['end'].lower()} day"
    )


def _kind_of(text: str, full: Sequence[DateMention]) -> Reading | None:
    """Whether a day is a Friday, or a year has a 29 February."""
    if not _YES_NO.search(text):
        return None
    if len(full) == 1 and (found := _KIND_OF_DAY.search(text)):
        kind = re.sub(r"[\s-]+", " ", found["kind"].lower())
        named = {"weekend": "weekend day", "week end": "weekend day", "week day": "weekday"}.get(kind, kind)
        return _call("is_a", full[0].value(), named.capitalize() if named in WEEKDAYS else named)
    if not full and (found := _HAS_LEAP_DAY.search(text)):
        return _call("leap_year", found["year"] or found["year2"] or found["year3"])
    return None
