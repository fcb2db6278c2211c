"""What an answer says: its last number, date or time; its words without case, accents and punctuation.

No code of the tools is used here: what they read wrongly must not be checked by themselves.
"""

import calendar
import re
import unicodedata
from datetime import date

from pointwork.text import NUMBER_WORDS

# 1,234.5 and 1 234.5 before 12,5 (a decimal comma) before 1234.5; not the 2 of "m2" or "m^2", nor the 3 of "1.2.3"
_NUMBER = re.compile(
    r"(?<![\w^])(?<!\d[.,])(?P<minus>(?:(?<!\d\s)[-−]|\bminus\s)?)(?:[$€£¥]\s?)?"
    r"(?:(?P<whole>\d+\s)?(?<!/)(?P<over>\d+)/(?P<under>\d+)(?![\d/])"
    r"|(?P<grouped>\d{1,3}(?:[,'’\u00a0\u202f ]\d{3})+(?:\.\d+)?)(?!\d)"
    r"|(?P<comma>\d+,\d{1,2})(?![\d,])"
    r"|(?P<plain>\d+(?:\.\d+)?|\.\d+)(?:[eE](?P<power>[-+]?\d{1,3})(?!\w))?)",
    re.IGNORECASE,
)
_MONTHS = {
    name.lower(): number
    for names in (calendar.month_name, calendar.month_abbr)
    for number, name in enumerate(names)
    if name
} | {"sept": 9}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = re.compile(
    r"(?<!\d)(?P<y1>\d{4})[-/.](?P<m1>\d{1,2})[-/.](?P<d1>\d{1,2})(?!\d)"
    r"|(?<!\d)(?P<a>\d{1,2})[-/.](?P<b>\d{1,2})[-/.](?P<y2>\d{4})(?!\d)"
    rf"|(?<!\d)(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:day\s+)?(?:of\s+)?(?P<m3>{_MONTH})\b\.?,?\s+(?P<y3>\d{{4}})"
    rf"|\b(?P<m4>{_MONTH})\b\.?\s+(?:the\s+)?(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y4>\d{{4}})",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?<![\d:])(?P<hour>\d{1,2})(?:[:.h](?P<minute>\d{2})(?::\d{2})?(?!\d)\s*(?P<half>[ap]\.?m\b)?"
    r"|\s*(?P<alone>[ap]\.?m\b))",
    re.IGNORECASE,
)


def last_number(text: str) -> float | None:
    """The last number of a text; one written out in words only if there are no digits.

    Thousands separators, currency signs and units are left out; a fraction (2 1/2) is its value.
    """
    found: float | None = None
    for match in _NUMBER.finditer(text):
        found = _value(match)
    return _spelled(text) if found is None else found


def _value(match: re.Match[str]) -> float | None:
    if match["under"]:
        if not int(match["under"]):
            return None
        value = int(match["whole"] or 0) + int(match["over"]) / int(match["under"])
    elif match["grouped"]:
        value = float(re.sub(r"[^\d.]", "", match["grouped"]))
    elif match["comma"]:
        value = float(match["comma"].replace(",", "."))
    else:
        value = float(f"{match['plain']}e{match['power'] or 0}")
    return -value if match["minus"].strip() else value


def _spelled(text: str) -> float | None:
    found: float | None = None
    at_hundred = False
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in NUMBER_WORDS:
            joins = found is not None and (at_hundred or (found % 100 >= 20 and found % 10 == 0))
            found = (found or 0) + NUMBER_WORDS[word] if joins else float(NUMBER_WORDS[word])
            at_hundred = False
        elif word in ("hundred", "thousand") and found is not None:
            found, at_hundred = found * (100 if word == "hundred" else 1000), True
        elif word == "dozen":
            found = 12 * (found or 1)
        elif word != "and":
            at_hundred = False
    return found


def last_dates(text: str) -> set[date]:
    """The last date of a text, in each way in which it can be read (3/4/2024 can be in March or in April)."""
    found: set[date] = set()
    for match in _DATE.finditer(text):
        found = {day for day in map(_day, _readings(match)) if day is not None} or found
    return found


def _readings(match: re.Match[str]) -> list[tuple[int, int, int]]:
    if match["a"]:
        first, second, year = int(match["a"]), int(match["b"]), int(match["y2"])
        return [(year, first, second), (year, second, first)]
    for number in "134":
        if match[f"y{number}"]:
            month = match[f"m{number}"]
            return [
                (
                    int(match[f"y{number}"]),
                    int(month) if month.isdigit() else _MONTHS[month.lower()],
                    int(match[f"d{number}"]),
                )
            ]
    return []


def _day(parts: tuple[int, int, int]) -> date | None:
    try:
        return date(*parts)
    except ValueError:
        return None


def last_time(text: str) -> int | None:
    """The last time of day of a text, in minutes from midnight."""
    found: int | None = None
    for match in _TIME.finditer(text):
        hour, minute = int(match["hour"]), int(match["minute"] or 0)
        half = (match["half"] or match["alone"] or "").lower()[:1]
        if half and 1 <= hour <= 12:
            hour = hour % 12 + (12 if half == "p" else 0)
        if hour < 24 and minute < 60:
            found = hour * 60 + minute
    return found


def words(text: str) -> list[str]:
    """The words of a text, without case, accents, punctuation and articles; ``&`` is ``and``."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    found = re.findall(r"[^\W_]+", plain.casefold().replace("&", " and "))
    return [word for word in found if word not in ("the", "a", "an")] or found


def place_of(name: list[str], text: list[str]) -> int | None:
    """Where a name begins in a text, both as ``words``; None if it is not there."""
    size = len(name)
    return next((n for n in range(len(text) - size + 1) if text[n : n + size] == name), None)
