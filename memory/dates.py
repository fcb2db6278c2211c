"""Dates in text by rule: "7 May 2023", "in May", "2023-05-07", "yesterday", "three weeks ago".

No model, no locale: English words and ISO dates, all in UTC. What is not sure is not a date: "may" is a month only
beside a number or after "in", "last", "since" and the like.
"""

import functools
import re
from datetime import UTC, date, datetime, timedelta

from dateutil import parser
from dateutil.relativedelta import relativedelta

from pointwork.errors import UsageError

Period = tuple[float, float]  # seconds since the epoch: from, up to but without

DAY = 86_400.0
_YEARS_BACK = 10  # "in May" without a year means the May of any of so many years

_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTS = ("a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_MONTHS = {name: i for i, name in enumerate(_NAMES, 1)} | {name[:3]: i for i, name in enumerate(_NAMES, 1)}
_MONTHS["sept"] = 9
_WEEKDAYS = {name: i for i, name in enumerate(_DAYS)}
_NUMBERS = {word: i for i, word in enumerate(_COUNTS, 1)} | {"an": 1, "one": 1, "eleven": 11, "twelve": 12}

_M = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_D = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_Y = r"(?P<year>(?:19|20)\d\d)"
_RULES = [
    re.compile(rule, re.IGNORECASE)
    for rule in (
        r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)",
        r"\b(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\d-])",
        rf"\b{_D}\s+(?:of\s+)?{_M}(?:,?\s+{_Y})?\b",
        rf"\b{_M}\s+{_D}(?:,?\s+{_Y})?\b(?!\d)",
        rf"\b{_M},?\s+(?:of\s+)?{_Y}\b",
        rf"\b(?:in|during|since|until|before|after|last|this|early|late|mid|by)[\s-]+{_M}\b",
        rf"\b{_Y}\b",
    )
]
_AGO = re.compile(r"\b(\d+|" + "|".join(_NUMBERS) + r")\s+(day|week|month|year)s?\s+ago\b", re.IGNORECASE)
_NAMED = re.compile(
    r"\b(?:(day before yesterday|yesterday|last night|today|tonight|this morning|day after tomorrow|tomorrow)"
    r"|(last|this|next|past)\s+(week|month|year|weekend|" + "|".join(_WEEKDAYS) + r"))\b",
    re.IGNORECASE,
)
_BACK = {"day before yesterday": 2, "yesterday": 1, "last night": 1, "tomorrow": -1, "day after tomorrow": -2}
_TIME_RULE = (
    r"\b(?:yesterday|today|tonight|tomorrow|ago|(?:last|next|this|past)\s+\w+|(?:19|20)\d\d|since|recently|"
    + "|".join([*_WEEKDAYS, *(name for name in _NAMES if name not in ("may", "march"))])
    + r")\b"
)
_TIME_WORDS, _LOWER_TIME_WORDS = re.compile(_TIME_RULE, re.IGNORECASE), re.compile(_TIME_RULE)


def to_epoch(time: float | str | datetime | None) -> float | None:
    """A point in time as seconds since the epoch; a date without a zone is UTC.

    Args:
        time: seconds since the epoch, a datetime, or a string: ISO 8601, or another form with day, month and year.

    Raises:
        UsageError: it can not be read as one.
    """
    if time is None:
        return None
    try:
        if isinstance(time, str):
            time = _parse(time)
        if isinstance(time, datetime):
            time = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
        datetime.fromtimestamp(time, UTC)
    except (ValueError, OverflowError, OSError, TypeError, AttributeError) as error:
        raise UsageError(
            f"time={time!r} is no point in time; give seconds since the epoch, a datetime, or ISO 8601 such as "
            "2023-05-08T13:56:00+00:00"
        ) from error
    return float(time)


def _parse(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        # two defaults: what the text does not say differs between them
        first, second = (parser.parse(text, fuzzy=True, default=datetime(year, 1, 1)) for year in (1904, 1908))
        if first.year != second.year:
            raise ValueError("no year in it") from None
        return first


def periods(text: str, now: float) -> list[Period]:
    """The days, months and years that a text speaks of, relative ones as seen from ``now`` (epoch seconds)."""
    today = datetime.fromtimestamp(now, UTC).date()
    found: list[Period] = []
    for rule in _RULES:
        for match in rule.finditer(text):
            found.extend(_absolute(match.groupdict(), today))
        text = rule.sub(" ", text)
    for match in _AGO.finditer(text):
        found.extend(_ago(match[1].lower(), match[2].lower(), today))
    for match in _NAMED.finditer(text):
        try:
            found.append(_named((match[1] or match[2]).lower(), (match[3] or "").lower(), today))
        except (ValueError, OverflowError):  # tomorrow, as seen from the last day of the year 9999
            continue
    return found


@functools.lru_cache(maxsize=16_384)
def mentions_time(text: str) -> bool:
    """Whether a text says when something was, in words or with a year."""
    if text.isascii():  # the same, three times as quick
        return _LOWER_TIME_WORDS.search(text.lower()) is not None
    return _TIME_WORDS.search(text) is not None


def closeness(time: float, wanted: list[Period]) -> float:
    """How near a time is to one of the periods: 1 within, 1/2 as far off as the period is long (at least a day)."""
    best = 0.0
    for start, end in wanted:
        distance = max(start - time, time - end, 0.0)
        best = max(best, 1 / (1 + distance / max(end - start, DAY)))
    return best


def day_words(time: float) -> list[str]:
    """Day, month and year of a time as lower-case words, for the index."""
    when = datetime.fromtimestamp(time, UTC)
    return [str(when.day), _NAMES[when.month - 1], str(when.year)]


def period_of(start: date, end: date) -> Period:
    """From the beginning of a day to the beginning of another, UTC."""
    zero = date(1970, 1, 1)
    return ((start - zero).days * DAY, (end - zero).days * DAY)


def _absolute(parts: dict[str, str | None], today: date) -> list[Period]:
    month, day, year = parts.get("month"), parts.get("day"), parts.get("year")
    years = [int(year)] if year else [today.year - back for back in range(_YEARS_BACK + 1)]
    found: list[Period] = []
    for number in years:
        try:
            if month is None:
                found.append(period_of(date(number, 1, 1), date(number + 1, 1, 1)))
                continue
            start = date(number, int(month) if month.isdigit() else _MONTHS[month.lower()], int(day or 1))
            step = relativedelta(days=1) if day else relativedelta(months=1)
            found.append(period_of(start, start + step))
        except (ValueError, OverflowError):  # 30 February; what ends after the last day of the year 9999
            continue
    return found


def _ago(count: str, unit: str, today: date) -> list[Period]:
    try:
        number = int(count) if count.isdigit() else _NUMBERS[count]  # Python refuses to read thousands of digits
        if unit == "day":
            return [period_of(start := today - timedelta(days=number), start + timedelta(days=1))]
        if unit == "week":
            return [period_of(start := today - timedelta(weeks=number, days=3), start + timedelta(days=7))]
        if unit == "month":
            return [
                period_of(start := today - relativedelta(months=number, days=15), start + relativedelta(months=1))
            ]
        return [period_of(date(today.year - number, 1, 1), date(today.year - number + 1, 1, 1))]
    except (ValueError, OverflowError):  # before the calendar begins
        return []


def _named(word: str, unit: str, today: date) -> Period:
    day = timedelta(days=1)
    if not unit:
        back = _BACK.get(word, 0)
        return period_of(today - back * day, today - (back - 1) * day)
    shift = {"last": -1, "past": -1, "this": 0, "next": 1}[word]
    if unit in _WEEKDAYS:
        if not shift:  # of this week, like "this weekend": it may be to come
            return period_of(start := today + day * (_WEEKDAYS[unit] - today.weekday()), start + day)
        gap = (today.weekday() - _WEEKDAYS[unit]) % 7
        start = today - day * (gap or (7 if shift < 0 else 0)) + day * 7 * max(shift, 0)
        return period_of(start, start + day)
    if unit == "month":
        start = today.replace(day=1) + relativedelta(months=shift)
        return period_of(start, start + relativedelta(months=1))
    if unit == "year":
        return period_of(date(today.year + shift, 1, 1), date(today.year + shift + 1, 1, 1))
    start = today - day * today.weekday() + 7 * shift * day
    return period_of(start + 5 * day if unit == "weekend" else start, start + 7 * day)
