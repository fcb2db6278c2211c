"""What calendars and timetables say: the Mondays of a month, the Thursday after a date, who turns 18 when."""

import re
from collections.abc import Sequence
from datetime import date as Date

from pointwork.agents.readings import Reading, clocks, lasting, lexicon, months, series, yearly, zones
from pointwork.agents.readings.question import ORDINALS, DateMention, Question
from pointwork.agents.readings.series import NTH, NUMBER, number_of
from pointwork.agents.readings.yearly import DAY
from pointwork.numerals import in_figures, mixed_in_figures
from pointwork.text import STOP_WORDS
from pointwork.tools.dates import parse_moment

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
# "How many Mondays does the project have if it goes from …"
_LASTS = re.compile(
    r"\b(?:do(?:es)?|did|will)\s+(?:the|my|our|this|that|a)\s+\w+\s+(?:have|include|contain|cover|last|run|span)\b|"
    r"\bif\s+it\s+(?:goes|runs|lasts|is)\b|\bthrough\b",
    re.IGNORECASE,
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
    rf"(?:the age of\s+)?(?:at least\s+)?(?P<n>{NUMBER})\b|\b(?P<nth>{NTH})\s+(?:birthday|anniversary)\b",
    re.IGNORECASE,
)
_SINCE = re.compile(
    rf"\b(?:celebrat\w+|marks?|is|has been|have been)\s+(?P<n>{NUMBER})\s+years\b.*"
    r"\b(?:start(?:ed)?|join(?:ed)?|founded|begin|began|born|opened?|married|move in)\b",
    re.IGNORECASE | re.DOTALL,
)
_ASKS_BIRTH = re.compile(r"\b(?:when|year|date)\b[^.?]*\b(?:was|were|is)\b[^.?]*\bborn\b", re.IGNORECASE)
_WHEN = re.compile(r"\b(?:when|dates?|(?:which|what|week)\s*day)\b", re.IGNORECASE)

_NTH_DAY = re.compile(
    r"\b(?P<nth>first|second|third|fourth|fifth|last|[1-5](?:st|nd|rd|th))\s+"
    rf"(?P<day>{DAY}|working day|day)\s+(?:of|in)\s+",
    re.IGNORECASE,
)
_OF_YEAR = re.compile(
    rf"\b(?:(?P<nth>{NTH})\s+day|day\s+(?P<n>\d{{1,3}}))\s+of\s+(?:the\s+year\s+)?(?P<year>\d{{4}})\b",
    re.IGNORECASE,
)
_RIGHT = re.compile(
    r"\b(?:date|day)\s+(?:comes?\s+|is\s+)?(?:right|immediately|directly|just)\s+(?P<side>before|after)\b",
    re.IGNORECASE,
)
_THAT = re.compile(rf"\b(?P<day>{DAY})\s+(?P<side>before|after)\s+(?:that|it|then|this)\b", re.IGNORECASE)
_A_DAY = re.compile(rf"\b{DAY}\b", re.IGNORECASE)
_ASKS_DAY = re.compile(r"\b(?:what|which)\s+(?:week\s?day|day(?:\s+of\s+the\s+week)?)\b", re.IGNORECASE)
_LATER = re.compile(
    rf"\b(?:in\s+(?P<ahead>\d+|{NUMBER})\s+(?P<unit2>days|weeks)\b|"
    rf"(?P<n>\d+|{NUMBER})\s+(?P<unit>days|weeks)\s+(?P<side>later|earlier|ago|from|after|before|on)\b)",
    re.IGNORECASE,
)
# "Friday 20:00. What weekday is it 72 hours later?"
_AT_HOUR = re.compile(
    rf"\b{DAY},?\s+(?:at\s+)?(?P<time>\d{{1,2}}:\d\d|noon|midnight|\d{{1,2}}\s*[ap]\.?m\b)", re.IGNORECASE
)
_HOURS = re.compile(r"\b(?P<n>\d{1,3})\s+hours\b", re.IGNORECASE)
_YEAR_ASKED = re.compile(r"\b(?:what|which)\s+year\b", re.IGNORECASE)
_ASKS_BORN = re.compile(r"\b(?:birth\s?da(?:te|y)|date\s+of\s+birth|born)\b[^.?]*\?|\bborn\s*\?", re.IGNORECASE)
_ASKS_WHEN_OLD = re.compile(r"\bold\s+on\s+(?:what|which)\b|\b(?:when|date|day)\b[^.?]*\bold\b", re.IGNORECASE)
_DAYS_OLD = re.compile(r"\b(?P<n>\d[\d,]*)\s+(?P<unit>days|weeks|months)\s+old\b", re.IGNORECASE)

_HALF_WAY = re.compile(r"\b(?:half[\s-]?way|mid-?way|exact(?:ly)?\s+(?:in\s+the\s+)?middle)\b", re.IGNORECASE)

_YEAR_BEGAN = re.compile(
    r"\b(?:the\s+)?year\s+(?P<year>\d{4})\s+(?=(?:began|beg[iu]ns?|start(?:s|ed)?)\b)", re.IGNORECASE
)

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
    rf"\b(?P<hours>{NUMBER}|an) (?:hours?|hrs?|h) (?:and )?"
    r"(?P<minutes>\d\d|fifteen|twenty|thirty|forty|fifty|[a-z]+ty-five)"
    r"(?=\s*(?:[.,;?!]|$)|\s+(?:late|early|long|later|earlier|after|before)\b)",
    re.IGNORECASE,
)
# "0215 hours", "at 1430 hours"; a lamp may last 1200 hours
_FOUR_DIGITS = re.compile(
    r"(?:(?<=\bat )|(?<=\bfrom )|(?<=\buntil )|(?<=\btill )|(?<=\bby )|(?<=\bsince )|(?=0))"
    r"(?<![\w.,:-])(?P<h>[01]\d|2[0-3])(?P<m>[0-5]\d)\s*(?:hours|hrs|h)\b",
    re.IGNORECASE,
)
_WITH_A_POINT = re.compile(
    rf"(?<![\w.,:-])(?P<h>1?\d|2[0-3])\.(?P<m>[0-5]\d)(?=\s*(?:{clocks.HALF}))", re.IGNORECASE
)  # 4.35 in the morning
_IN_THE_EVENING = re.compile(
    r"(?:(?<=\bat\s)|(?<=\bby\s)|(?<=\bfrom\s)|(?<=\buntil\s)|(?<=\btill\s)|(?<=\bafter\s)|(?<=\bsince\s)|(?<=\bbefore\s)|(?=\d+:))"
    r"(?<![\w.,:-])(?P<h>1?\d)(?::(?P<m>[0-5]\d))?\s*(?P<half>in\s+the\s+(?:morning|afternoon|evening)|at\s+night)\b",
    re.IGNORECASE,
)
_LARGE = re.compile(
    r"\b(?:[a-z]+[ -]){0,3}(?:hundred|thousand) (?=(?:days?|weeks?|months?|years?|hours?|minutes?)\b)",
    re.IGNORECASE,
)


def plainly(text: str) -> str:
    """A text with the days that have a name as dates, "one hour fifty" with its unit, 0215 hours as 02:15."""
    named = _NAMED_DAY.sub(
        lambda day: next(
            f"{date} {day['year']}" for name, date in _NAMED_DAYS.items() if re.fullmatch(name, day["name"], re.I)
        ),
        text,
    )
    named = _YEAR_BEGAN.sub(r"1 January \g<year> ", named)
    named = _MINUTES_LEFT_OUT.sub(r"\g<hours> hours \g<minutes> minutes", mixed_in_figures(named))
    named = _WITH_A_POINT.sub(r"\g<h>:\g<m>", _FOUR_DIGITS.sub(r"\g<h>:\g<m>", named))
    named = _IN_THE_EVENING.sub(
        lambda time: clocks.time_of_day(time["h"], time["m"], time["half"]) or time[0], named
    )
    return _LARGE.sub(lambda count: in_figures(count[0]), named)


def asked(text: str) -> Reading | None:
    """What a question about a calendar or a timetable means, as one call; None: it is none."""
    dates = Question(text).dates
    full = [date for date in dates if date.day and date.month and date.year]
    return (
        yearly.asked(text, dates)
        or zones.asked(text)
        or _counted(text, dates, full)
        or _beside(text, full)
        or _in_month(text, dates)
        or _weekday(text, dates)
        or _turning(text, full)
        or (series.asked(text, full) if full or not dates else None)
        or months.asked(text, dates)
        or _half_way(text, full)
        or (None if dates else lasting.asked(text))
    )


def _call(operation: str, date: str, other: str) -> Reading:
    return Reading("date_math", {"operation": operation, "date": date, "other": other}, 1.0)


def _counted(text: str, dates: Sequence[DateMention], full: Sequence[DateMention]) -> Reading | None:
    """How many Mondays, working days or weekend days."""
    kinds = list(dict.fromkeys(match["kind"] for match in _KIND.finditer(text)))
    if not kinds or not _only_counts(text, dates):
        return None
    kind = next((one for one in kinds if not re.fullmatch(f"{DAY}s", one, re.I)), kinds[0])
    of_year = [date for date in dates if date.month and date.year and not date.day]
    if len(full) == 2 and len(dates) == 2:
        first, last = sorted(date.value() for date in full)
        return _call("count_days", first, f"{kind} until {last}")
    return _call("count_days", of_year[0].value(), kind) if len(of_year) == 1 and not full else None


def _only_counts(text: str, dates: Sequence[DateMention]) -> bool:
    """Whether days are counted and nothing about them: not "How many tickets were sold on Mondays in May 2025?"."""
    undated = text
    for date in dates:
        undated = undated[: date.start] + " " * (date.end - date.start) + undated[date.end :]
    plain = _LASTS.sub(" ", _KIND.sub(" ", re.sub(r"\([^)]*\)", " ", undated)))
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
        return _call("add", f"{found['year']}-01-01", f"{number_of(found['nth'] or found['n']) - 1} days")
    found = _NTH_DAY.search(text)
    bare = [date for date in dates if date.month and not date.day]
    years = {date.year for date in dates if date.year}
    if (
        not found
        or not _WHEN.search(text)
        or len(bare) != 1
        or len(years) != 1
        or found.end() != bare[0].start
        or len(dates) > 2
    ):
        return None
    nth = found["nth"] if found["nth"].lower() == "last" else ORDINALS[number_of(found["nth"]) - 1]
    return _call("in_month", f"{min(years):04}-{bare[0].month:02}", f"{nth} {found['day']}")


def _weekday(text: str, dates: Sequence[DateMention]) -> Reading | None:
    """The weekday so many days from one, where no year is known."""
    days = {match[0].lower() for match in _A_DAY.finditer(text)}
    if len(days) != 1 or not _ASKS_DAY.search(text) or any(date.year for date in dates):
        return None
    name = days.pop().capitalize()
    at, hours = _AT_HOUR.search(text), _HOURS.findall(in_figures(text))
    if at and len(hours) == 1 and not dates:
        moment = parse_moment(at["time"]).at
        back = re.search(r"\b(?:ago|earlier|before)\b", text, re.IGNORECASE)
        minutes = moment.hour * 60 + moment.minute + 60 * int(hours[0]) * (-1 if back else 1)
        return _call("subtract" if back else "add", name, f"{abs(minutes // (24 * 60))} days")
    if (later := _LATER.search(text)) and not dates:
        back = (later["side"] or "").lower() in ("earlier", "ago", "before")
        count, unit = later["n"] or later["ahead"], later["unit"] or later["unit2"]
        return _call("subtract" if back else "add", name, f"{number_of(count)} {unit.lower()}")
    of_month = [date.day for date in dates if date.day] or [
        int(match[1]) for match in re.finditer(r"\b(\d{1,2})(?:st|nd|rd|th)\b", text)
    ]
    same = len({date.month for date in dates}) <= 1
    if len(of_month) != 2 or not same:
        return None
    apart = of_month[1] - of_month[0]
    return _call("add" if apart >= 0 else "subtract", name, f"{abs(apart)} days")


def _half_way(text: str, full: Sequence[DateMention]) -> Reading | None:
    """The day half way between two."""
    if len(full) != 2 or not _HALF_WAY.search(text):
        return None
    first, last = sorted(Date.fromisoformat(date.value()) for date in full)
    return _call("add", first.isoformat(), f"{(last - first).days // 2} days")


def _turning(text: str, full: Sequence[DateMention]) -> Reading | None:
    """When somebody is so old, or when something began that is so old on a day."""
    if len(full) != 1 or not (_WHEN.search(text) or _YEAR_ASKED.search(text)):
        return None
    day = full[0].value()
    if (old := _DAYS_OLD.search(in_figures(text))) and (_BORN.search(text) or _ASKS_WHEN_OLD.search(text)):
        born = _ASKS_BORN.search(text) and not re.search(r"\bborn (?:on|in)\b", text[: full[0].start])
        return _call("subtract" if born else "add", day, f"{number_of(old['n'])} {old['unit'].lower()}")
    if (turns := _TURNS.search(text)) and (turns["nth"] or _BORN.search(text)):
        years = number_of(turns["n"] or turns["nth"])
        # who turned forty that day was born on it; but "born on 5 May 2007: when does he turn 18?"
        back = (
            turns["n"] and not re.search(r"\bborn (?:on|in)\b", text[: full[0].start]) and _ASKS_BIRTH.search(text)
        )
        if _YEAR_ASKED.search(text):
            sign = "-" if back else "+"
            return Reading("calculate", {"expression": f"{full[0].year} {sign} {years}"}, 1.0)
        return _call("subtract" if back else "add", day, f"{years} years")
    if (since := _SINCE.search(text)) and not re.search(r"\bborn\b", text[: full[0].end]):
        return _call("subtract", day, f"{number_of(since['n'])} years")
    return None
