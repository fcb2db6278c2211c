"""What comes again and again: the fourth departure of every 25 minutes, the tenth dose of every 3 days."""

import re
from collections.abc import Sequence

from pointwork.agents.parsing.amounts import TIMES, minutes_of
from pointwork.agents.readings import Reading
from pointwork.agents.readings.question import ORDINALS, DateMention
from pointwork.agents.readings.yearly import DAY
from pointwork.text import NUMBER_WORDS

NUMBER = rf"(?:\d{{1,3}}|{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
"""A number in digits or in a word, as a pattern (``number_of`` reads it)."""

NTH = rf"(?<![\w-])(?:\d{{1,3}}(?:st|nd|rd|th)|{'|'.join(sorted(ORDINALS, key=len, reverse=True))})"
"""Which of several, as a pattern (``number_of`` reads it)."""

_EVERY = re.compile(rf"\bevery\s+(?P<n>{NUMBER})\s+(?P<unit>min(?:ute)?s?|hours?)\b", re.IGNORECASE)
_WITH_GAPS = re.compile(
    rf"\b(?P<n>{NUMBER})\s+min(?:ute)?s?\b[^.]*?\b(?P<gap>{NUMBER})[\s-]min(?:ute)?s?\s+(?:(?:gaps?|breaks?|pauses?|changeovers?)\s+)?"
    r"(?:in\s+)?between\b",
    re.IGNORECASE,
)
# "Six meetings of 25 minutes … the last"
_HOW_MANY = re.compile(rf"\b(?P<n>{NUMBER})\s+[a-z-]+s\s+(?:of|each|at|with)\b", re.IGNORECASE)
_LAST = re.compile(r"\b(?:the|my|our)\s+last\b", re.IGNORECASE)
# "25 minutes each, back to back"
_IN_A_ROW = re.compile(
    rf"\b(?P<n>{NUMBER})[\s-](?P<unit>minutes?|mins?|hours?)\b(?=.*\b(?:back\s+to\s+back|in\s+a\s+row|one\s+after\s+(?:the|an)other|"
    r"without\s+(?:a\s+)?(?:gaps?|breaks?)|straight\s+after\s+(?:each|one\s+an)other)\b)",
    re.IGNORECASE | re.DOTALL,
)
_ENDS = re.compile(r"\b(?:over|ends?|finish\w*|done)\b[^.]*\?", re.IGNORECASE)
_WHICH = re.compile(rf"\b(?:the|my|our|her|his|their)\s+(?P<nth>{NTH})\b", re.IGNORECASE)
_FIRST_AFTER = re.compile(r"\b(?:first|next)\b[^.?]*\bafter\s+(?P<time>\d{1,2}:\d\d)", re.IGNORECASE)
_LEAVES = re.compile(r"\b(?:when|(?:at\s+)?what time|departures?)\b", re.IGNORECASE)

_EVERY_DAYS = re.compile(
    rf"\b(?:every\s+(?:(?P<n>{NUMBER})\s+(?P<unit>days|weeks|months)\b|(?P<other>second|other|third)\s+(?P<unit2>day|week|month|{DAY})\b|"
    rf"(?P<unit3>day|week|month|{DAY})\b)|(?P<often>daily|weekly|fortnightly|monthly)\b)",
    re.IGNORECASE,
)
_OFTEN = {"daily": "1 days", "weekly": "7 days", "fortnightly": "14 days", "monthly": "1 months"}
_ASKS_DATE = re.compile(r"\b(?:when|(?:what|which)\s+(?:date|day)|date)\b", re.IGNORECASE)


def asked(text: str, full: Sequence[DateMention]) -> Reading | None:
    """The departure, slot or date that is asked for, by the first of them and how far they are apart."""
    return _dated(text, full) if full else _departing(text)


def _call(date: str, other: str) -> Reading:
    return Reading("date_math", {"operation": "add", "date": date, "other": other}, 1.0)


def _dated(text: str, full: Sequence[DateMention]) -> Reading | None:
    """The tenth of what is done every three days."""
    every, which = _EVERY_DAYS.search(text), _nth(text, full)
    if every is None or len(full) != 1 or which is None or not _ASKS_DATE.search(text):
        return None
    if every["often"]:
        count, unit = _OFTEN[every["often"].lower()].split()
        apart = int(count)
    elif every["n"]:
        apart, unit = number_of(every["n"]), every["unit"].lower()
    else:
        apart = {"third": 3, "": 1}.get((every["other"] or "").lower(), 2)
        named = (every["unit2"] or every["unit3"]).lower()
        unit = f"{'week' if len(named) > len('month') else named}s"  # of a weekday
    return _call(full[0].value(), f"{(which - 1) * apart} {unit}")


def _nth(text: str, full: Sequence[DateMention] = ()) -> int | None:
    """Which is asked for, besides the first."""
    found = [
        number_of(match["nth"])
        for match in _WHICH.finditer(text)
        if match["nth"].lower() not in ("first", "1st")
        and not any(date.start <= match.start("nth") < date.end for date in full)
    ]
    return found[0] if len(found) == 1 else None


def _departing(text: str) -> Reading | None:
    times = [minutes_of(match[0]) for match in TIMES.finditer(text)]
    every, after, gaps = _EVERY.search(text), _FIRST_AFTER.search(text), _WITH_GAPS.search(text)
    row = None if every or gaps else _IN_A_ROW.search(text)
    apart = minutes_in(every) if every else float(number_of(gaps["n"]) + number_of(gaps["gap"])) if gaps else 0.0
    apart = minutes_in(row) if row else apart
    if not apart and len(set(_gaps(times))) == 1 and re.search(r"\b(?:so on|same)\b", text, re.I):
        apart = times[1] - times[0] if len(times) > 2 else 0.0
    if apart <= 0 or not times or not _LEAVES.search(text):
        return None
    start = f"{int(times[0]) // 60:02}:{int(times[0]) % 60:02}"
    if every and not after and len(times) == 2 and re.search(r"\bnext\b", text, re.I):
        passed = max(0, -int(-(times[1] - times[0]) // apart))
        return _call(start, f"{passed * apart:g} minutes")
    if after:
        passed = int((minutes_of(after["time"]) - times[0]) // apart) + 1
        return _call(start, f"{passed * apart:g} minutes") if passed > 0 else None
    which = _nth(text)
    if which is None and _LAST.search(text) and (of := _HOW_MANY.search(text)):
        which = number_of(of["n"])
    if which is None:
        return None
    lasts = (apart if row else float(number_of(gaps["n"])) if gaps else 0.0) if _ENDS.search(text) else 0.0
    return _call(start, f"{(which - 1) * apart + lasts:g} minutes")


def _gaps(times: Sequence[float]) -> list[float]:
    return [after - before for before, after in zip(times, times[1:], strict=False)]


def minutes_in(length: re.Match[str]) -> float:
    """Minutes of a match with a number ``n`` and its ``unit``, minutes or hours."""
    return float(number_of(length["n"])) * (60 if length["unit"].lower().startswith("h") else 1)


def number_of(written: str) -> int:
    """A number in digits or words, an ordinal too."""
    low = written.lower()
    if low in ORDINALS:
        return ORDINALS.index(low) + 1
    return int(NUMBER_WORDS[low]) if low in NUMBER_WORDS else int(re.sub(r"\D", "", low))
