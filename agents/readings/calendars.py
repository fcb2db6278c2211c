"""What calendars and timetables say: the Mondays of a month, the Thursday after a date, who turns 18 when."""

import re
from collections.abc import Sequence

from pointwork.agents.parsing.amounts import TIMES, minutes_of
from pointwork.agents.readings import Reading, lexicon
from pointwork.agents.readings.question import ORDINALS, DateMention, Question
from pointwork.text import NUMBER_WORDS

_DAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_NUMBER = rf"(?:\d{{1,3}}|{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
_NTH = rf"(?:\d{{1,3}}(?:st|nd|rd|th)|{'|'.join(sorted(ORDINALS, key=len, reverse=True))})"

# "how many Mondays", "number of working days"
_KIND = re.compile(rf"\b(?P<kind>weekend days|(?:working|business)[ -]days|weekdays|{_DAY}s)\b", re.IGNORECASE)
_BESIDE = re.compile(
    rf"\b(?P<day>{_DAY})\s+(?:immediately\s+|right\s+|directly\s+)?(?P<side>after|following|before|preceding)\s+"
    rf"(?:the\s+)?(?:{_DAY},?\s+(?:the\s+)?)?$",
    re.IGNORECASE,
)
_BORN = re.compile(
    r"\b(?:born|birth(?:day|date)?|founded|opened|married|wedding|anniversary|established)\b", re.IGNORECASE
)
_TURNS = re.compile(
    rf"\b(?:turns?|turned|turning|reach(?:es|ed)?|(?:must|have to|has to|to) be|aged?|retire\w* at)\s+"
    rf"(?:the age of\s+)?(?:at least\s+)?(?P<n>{_NUMBER})\b|\b(?P<nth>{_NTH})\s+(?:birthday|anniversary)\b",
    re.IGNORECASE,
)
_SINCE = re.compile(
    rf"\b(?:celebrat\w+|marks?|is|has been|have been)\s+(?P<n>{_NUMBER})\s+years\b.*"
    r"\b(?:start(?:ed)?|join(?:ed)?|founded|begin|began|born|opened?|married|move in)\b",
    re.IGNORECASE | re.DOTALL,
)
_WHEN = re.compile(r"\b(?:when|dates?|(?:which|what|week)\s*day)\b", re.IGNORECASE)

_EVERY = re.compile(rf"\bevery\s+(?P<n>{_NUMBER})\s+min(?:ute)?s?\b", re.IGNORECASE)
_WHICH = re.compile(rf"\bthe\s+(?P<nth>{_NTH})\b", re.IGNORECASE)
_FIRST_AFTER = re.compile(r"\b(?:first|next)\b[^.?]*\bafter\s+(?P<time>\d{1,2}:\d\d)", re.IGNORECASE)
_PAUSE = re.compile(rf"\b(?P<n>{_NUMBER})[\s-]*(?P<unit>min(?:ute)?s?|h(?:ou)?rs?|h)\b", re.IGNORECASE)
_PAUSED = re.compile(r"\b(?:breaks?|lunch|pauses?|unpaid|rests?|not (?:counted|paid))\b", re.IGNORECASE)
_WORKED = re.compile(r"\b(?P<unit>hours|minutes)\b|\bhow long\b", re.IGNORECASE)

_NAMED_DAYS = {
    r"new year['’]s day": "1 January",
    r"new year['’]s eve": "31 December",
    r"christmas eve": "24 December",
    r"christmas day": "25 December",
    r"boxing day": "26 December",
    r"(?:the )?leap day": "29 February",
}
_NAMED_DAY = re.compile(rf"\b(?P<name>{'|'.join(_NAMED_DAYS)})(?:,| in| of)?\s+(?P<year>\d{{4}})\b", re.IGNORECASE)
_MINUTES_LEFT_OUT = re.compile(
    rf"\b(?P<hours>{_NUMBER}|an) hours? (?:and )?(?P<minutes>\d\d|fifteen|twenty|thirty|forty|fifty|[a-z]+ty-five)"
    r"(?=\s*(?:[.,;?!]|$)|\s+(?:late|early|long|later|earlier|after|before)\b)",
    re.IGNORECASE,
)


def plainly(text: str) -> str:
    """A text with the days that have a name as dates, and "one hour fifty" with its unit."""
    named = _NAMED_DAY.sub(
        lambda day: next(
            f"{date} {day['year']}" for name, date in _NAMED_DAYS.items() if re.fullmatch(name, day["name"], re.I)
        ),
        text,
    )
    return _MINUTES_LEFT_OUT.sub(r"\g<hours> hours \g<minutes> minutes", named)


def asked(text: str) -> Reading | None:
    """What a question about a calendar or a timetable means, as one call; None: it is none."""
    dates = Question(text).dates
    full = [date for date in dates if date.day and date.month and date.year]
    return _counted(text, dates, full) or _beside(text, full) or _turning(text, full) or _timed(text, dates)


def _call(operation: str, date: str, other: str) -> Reading:
    return Reading("date_math", {"operation": operation, "date": date, "other": other}, 1.0)


def _counted(text: str, dates: Sequence[DateMention], full: Sequence[DateMention]) -> Reading | None:
    """How many Mondays, working days or weekend days."""
    kinds = list(dict.fromkeys(match["kind"] for match in _KIND.finditer(text)))
    if not kinds or not lexicon.COUNT.search(text):
        return None
    kind = next((one for one in kinds if not re.fullmatch(f"{_DAY}s", one, re.I)), kinds[0])
    months = [date for date in dates if date.month and date.year and not date.day]
    if len(full) == 2 and len(dates) == 2:
        first, last = sorted(date.value() for date in full)
        return _call("count_days", first, f"{kind} until {last}")
    return _call("count_days", months[0].value(), kind) if len(months) == 1 and not full else None


def _beside(text: str, full: Sequence[DateMention]) -> Reading | None:
    """The Thursday after a date, or before it."""
    for date in full:
        if found := _BESIDE.search(text[: date.start]):
            side = "after" if found["side"].lower() in ("after", "following") else "before"
            return _call(f"weekday_{side}", date.value(), found["day"].capitalize())
    return None


def _turning(text: str, full: Sequence[DateMention]) -> Reading | None:
    """When somebody is so old, or when something began that is so old on a day."""
    if len(full) != 1 or not _WHEN.search(text):
        return None
    day = full[0].value()
    if (turns := _TURNS.search(text)) and (turns["nth"] or _BORN.search(text)):
        return _call("add", day, f"{_number(turns['n'] or turns['nth'])} years")
    if (since := _SINCE.search(text)) and not re.search(r"\bborn\b", text[: full[0].end]):
        return _call("subtract", day, f"{_number(since['n'])} years")
    return None


def _timed(text: str, dates: Sequence[DateMention]) -> Reading | None:
    """A departure of a timetable with even intervals, or the time worked without its breaks."""
    if dates:
        return None
    times = [minutes_of(match[0]) for match in TIMES.finditer(text)]
    if departure := _departing(text, times):
        return departure
    pauses = [_minutes(match) for match in _PAUSE.finditer(TIMES.sub(" ", text))]
    worked = _WORKED.search(text)
    if len(times) != 2 or not pauses or not worked or not _PAUSED.search(text):
        return None
    lasted = f"{times[1] % 1440:g} - {times[0]:g}" + (" + 1440" if times[1] < times[0] else "")
    written = " - ".join((lasted, *(f"{pause:g}" for pause in pauses)))
    asks = text[text.rfind(".", 0, len(text.rstrip(" .?!"))) + 1 :]  # the last sentence
    unit = (
        "minutes" if re.search(r"\bminutes\b", asks, re.I) and not re.search(r"\bhours\b", asks, re.I) else "hours"
    )
    return Reading("calculate", {"expression": f"({written}) / 60" if unit == "hours" else written}, 1.0)


def _departing(text: str, times: Sequence[float]) -> Reading | None:
    every, after = _EVERY.search(text), _FIRST_AFTER.search(text)
    apart = float(_number(every["n"])) if every else 0.0
    if (
        not every
        and len(times) > 2
        and len(set(_gaps(times))) == 1
        and re.search(r"\b(?:so on|same)\b", text, re.I)
    ):
        apart = times[1] - times[0]
    if apart <= 0 or not times:
        return None
    start = f"{int(times[0]) // 60:02}:{int(times[0]) % 60:02}"
    if after:
        passed = int((minutes_of(after["time"]) - times[0]) // apart) + 1
        return _call("add", start, f"{passed * apart:g} minutes") if passed > 0 else None
    which = [
        _number(match["nth"]) for match in _WHICH.finditer(text) if match["nth"].lower() not in ("first", "1st")
    ]
    return _call("add", start, f"{(which[0] - 1) * apart:g} minutes") if len(which) == 1 else None


def _gaps(times: Sequence[float]) -> list[float]:
    return [after - before for before, after in zip(times, times[1:], strict=False)]


def _minutes(pause: re.Match[str]) -> float:
    return float(_number(pause["n"])) * (60 if pause["unit"].lower().startswith("h") else 1)


def _number(written: str) -> int:
    low = written.lower()
    if low in ORDINALS:
        return ORDINALS.index(low) + 1
    return int(NUMBER_WORDS[low]) if low in NUMBER_WORDS else int(re.sub(r"\D", "", low))
