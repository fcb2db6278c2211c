"""What calendars and timetables say: the Mondays of a month, the Thursday after a date, who turns 18 when."""

import re
from collections.abc import Sequence

from pointwork.agents.parsing.amounts import TIMES, minutes_of
from pointwork.agents.readings import Reading, lexicon, yearly
from pointwork.agents.readings.question import ORDINALS, DateMention, Question
from pointwork.agents.readings.yearly import DAY
from pointwork.numerals import in_figures
from pointwork.text import NUMBER_WORDS, STOP_WORDS

_NUMBER = rf"(?:\d{{1,3}}|{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
_NTH = rf"(?<![\w-])(?:\d{{1,3}}(?:st|nd|rd|th)|{'|'.join(sorted(ORDINALS, key=len, reverse=True))})"

# "how many Mondays", "number of working days", and words that ask for nothing else than how many there are
_KIND = re.compile(rf"\b(?P<kind>weekend days|(?:working|business)[ -]days|weekdays|{DAY}s)\b", re.IGNORECASE)
_COUNTING = frozenset(
    re.findall(
        r"\S+",
        """
        count counted counting number total tell give know work together both end ends included inclusive first last
        month year calendar mon fri monday friday saturdays sundays have has there many
        fall falls fell time period leaving ignoring public holidays aside
        """,
    )
)
_BESIDE = re.compile(
    rf"\b(?P<day>{DAY})\s+(?:immediately\s+|right\s+|directly\s+)?(?P<side>after|following|before|preceding)\s+"
    rf"(?:the\s+)?(?:{DAY},?\s+(?:the\s+)?)?$",
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
_ASKS_BIRTH = re.compile(r"\b(?:when|year|date)\b[^.?]*\b(?:was|were|is)\b[^.?]*\bborn\b", re.IGNORECASE)
_WHEN = re.compile(r"\b(?:when|dates?|(?:which|what|week)\s*day)\b", re.IGNORECASE)

_NTH_DAY = re.compile(
    rf"\b(?P<nth>first|second|third|fourth|fifth|last)\s+(?P<day>{DAY}|working day|day)\s+(?:of|in)\s+",
    re.IGNORECASE,
)
_OF_YEAR = re.compile(rf"\b(?P<nth>{_NTH})\s+day\s+of\s+(?:the\s+year\s+)?(?P<year>\d{{4}})\b", re.IGNORECASE)
_RIGHT = re.compile(
    r"\b(?:date|day)\s+(?:comes?\s+|is\s+)?(?:right|immediately|directly|just)\s+(?P<side>before|after)\b",
    re.IGNORECASE,
)
_THAT = re.compile(rf"\b(?P<day>{DAY})\s+(?P<side>before|after)\s+(?:that|it|then|this)\b", re.IGNORECASE)
_A_DAY = re.compile(rf"\b{DAY}\b", re.IGNORECASE)
_ASKS_DAY = re.compile(r"\b(?:what|which)\s+(?:week\s?day|day(?:\s+of\s+the\s+week)?)\b", re.IGNORECASE)
_LATER = re.compile(
    rf"\b(?P<n>\d+|{_NUMBER})\s+(?P<unit>days|weeks)\s+(?P<side>later|earlier|ago|from|after|before)\b",
    re.IGNORECASE,
)
_YEAR_ASKED = re.compile(r"\b(?:what|which)\s+year\b", re.IGNORECASE)
_DAYS_OLD = re.compile(r"\b(?P<n>\d[\d,]*)\s+(?P<unit>days|weeks|months)\s+old\b", re.IGNORECASE)

_EVERY = re.compile(rf"\bevery\s+(?P<n>{_NUMBER})\s+(?P<unit>min(?:ute)?s?|hours?)\b", re.IGNORECASE)
_WITH_GAPS = re.compile(
    rf"\b(?P<n>{_NUMBER})\s+minutes\b[^.]*?\b(?P<gap>{_NUMBER})\s+minutes\s+(?:in\s+)?between\b", re.IGNORECASE
)
_WHICH = re.compile(rf"\bthe\s+(?P<nth>{_NTH})\b", re.IGNORECASE)
_FIRST_AFTER = re.compile(r"\b(?:first|next)\b[^.?]*\bafter\s+(?P<time>\d{1,2}:\d\d)", re.IGNORECASE)
_LEAVES = re.compile(r"\b(?:when|what time|departures?)\b", re.IGNORECASE)
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
_LARGE = re.compile(
    r"\b(?:[a-z]+[ -]){0,3}(?:hundred|thousand) (?=(?:days?|weeks?|months?|years?|hours?|minutes?)\b)",
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
    named = _MINUTES_LEFT_OUT.sub(r"\g<hours> hours \g<minutes> minutes", named)
    return _LARGE.sub(lambda count: in_figures(count[0]), named)


def asked(text: str) -> Reading | None:
    """What a question about a calendar or a timetable means, as one call; None: it is none."""
    dates = Question(text).dates
    full = [date for date in dates if date.day and date.month and date.year]
    return (
        yearly.asked(text, dates)
        or _counted(text, dates, full)
        or _beside(text, full)
        or _in_month(text, dates)
        or _weekday(text, dates)
        or _turning(text, full)
        or _timed(text, dates)
    )


def _call(operation: str, date: str, other: str) -> Reading:
    return Reading("date_math", {"operation": operation, "date": date, "other": other}, 1.0)


def _counted(text: str, dates: Sequence[DateMention], full: Sequence[DateMention]) -> Reading | None:
    """How many Mondays, working days or weekend days."""
    kinds = list(dict.fromkeys(match["kind"] for match in _KIND.finditer(text)))
    if not kinds or not _only_counts(text, dates):
        return None
    kind = next((one for one in kinds if not re.fullmatch(f"{DAY}s", one, re.I)), kinds[0])
    months = [date for date in dates if date.month and date.year and not date.day]
    if len(full) == 2 and len(dates) == 2:
        first, last = sorted(date.value() for date in full)
        return _call("count_days", first, f"{kind} until {last}")
    return _call("count_days", months[0].value(), kind) if len(months) == 1 and not full else None


def _only_counts(text: str, dates: Sequence[DateMention]) -> bool:
    """Whether days are counted and nothing about them: not "How many tickets were sold on Mondays in May 2025?"."""
    undated = text
    for date in dates:
        undated = undated[: date.start] + " " * (date.end - date.start) + undated[date.end :]
    plain = _KIND.sub(" ", re.sub(r"\([^)]*\)", " ", undated))
    asks = next((part for part in re.split(r"[.?!]", plain) if lexicon.COUNT.search(part)), None)
    words = re.findall(r"[^\W\d_]+", asks.lower()) if asks else []
    return asks is not None and set(words) <= STOP_WORDS | _COUNTING


def _beside(text: str, full: Sequence[DateMention]) -> Reading | None:
    """The Thursday after a date, or before it, where that day is asked for."""
    if not _WHEN.search(text):
        return None
    for date in full:
        if found := _BESIDE.search(text[: date.start]):
            side = "after" if found["side"].lower() in ("after", "following") else "before"
            return _call(f"weekday_{side}", date.value(), found["day"].capitalize())
    if len(full) == 1 and (found := _THAT.search(text, full[0].end)):
        return _call(f"weekday_{found['side'].lower()}", full[0].value(), found["day"].capitalize())
    if len(full) == 1 and (found := _RIGHT.search(text)):
        return _call("subtract" if found["side"].lower() == "before" else "add", full[0].value(), "1 day")
    return None


def _in_month(text: str, dates: Sequence[DateMention]) -> Reading | None:
    """The second Sunday of a month whose year stands elsewhere, the 60th day of a year."""
    if found := _OF_YEAR.search(text):
        return _call("add", f"{found['year']}-01-01", f"{_number(found['nth']) - 1} days")
    found = _NTH_DAY.search(text)
    months = [date for date in dates if date.month and not date.day]
    years = {date.year for date in dates if date.year}
    if (
        not found
        or not _WHEN.search(text)
        or len(months) != 1
        or len(years) != 1
        or found.end() != months[0].start
        or len(dates) > 2
    ):
        return None
    return _call("in_month", f"{min(years):04}-{months[0].month:02}", f"{found['nth']} {found['day']}")


def _weekday(text: str, dates: Sequence[DateMention]) -> Reading | None:
    """The weekday so many days from one, where no year is known."""
    days = {match[0].lower() for match in _A_DAY.finditer(text)}
    if len(days) != 1 or not _ASKS_DAY.search(text) or any(date.year for date in dates):
        return None
    name = days.pop().capitalize()
    if (later := _LATER.search(text)) and not dates:
        back = later["side"].lower() in ("earlier", "ago", "before")
        return _call("subtract" if back else "add", name, f"{_number(later['n'])} {later['unit'].lower()}")
    of_month = [date.day for date in dates if date.day] or [
        int(match[1]) for match in re.finditer(r"\b(\d{1,2})(?:st|nd|rd|th)\b", text)
    ]
    same = len({date.month for date in dates}) <= 1
    if len(of_month) != 2 or not same:
        return None
    apart = of_month[1] - of_month[0]
    return _call("add" if apart >= 0 else "subtract", name, f"{abs(apart)} days")


def _turning(text: str, full: Sequence[DateMention]) -> Reading | None:
    """When somebody is so old, or when something began that is so old on a day."""
    if len(full) != 1 or not (_WHEN.search(text) or _YEAR_ASKED.search(text)):
        return None
    day = full[0].value()
    if (old := _DAYS_OLD.search(text)) and _BORN.search(text):
        return _call("add", day, f"{_number(old['n'])} {old['unit'].lower()}")
    if (turns := _TURNS.search(text)) and (turns["nth"] or _BORN.search(text)):
        years = _number(turns["n"] or turns["nth"])
        # who turned forty that day was born on it; but "born on 5 May 2007: when does he turn 18?"
        back = (
            turns["n"] and not re.search(r"\bborn (?:on|in)\b", text[: full[0].start]) and _ASKS_BIRTH.search(text)
        )
        if _YEAR_ASKED.search(text):
            sign = "-" if back else "+"
            return Reading("calculate", {"expression": f"{full[0].year} {sign} {years}"}, 1.0)
        return _call("subtract" if back else "add", day, f"{years} years")
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
    every, after, gaps = _EVERY.search(text), _FIRST_AFTER.search(text), _WITH_GAPS.search(text)
    apart = _minutes(every) if every else float(_number(gaps["n"]) + _number(gaps["gap"])) if gaps else 0.0
    if (
        not apart
        and len(times) > 2
        and len(set(_gaps(times))) == 1
        and re.search(r"\b(?:so on|same)\b", text, re.I)
    ):
        apart = times[1] - times[0]
    if apart <= 0 or not times or not _LEAVES.search(text):
        return None
    start = f"{int(times[0]) // 60:02}:{int(times[0]) % 60:02}"
    if every and not after and len(times) == 2 and re.search(r"\bnext\b", text, re.I):
        passed = max(0, -int(-(times[1] - times[0]) // apart))
        return _call("add", start, f"{passed * apart:g} minutes")
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
