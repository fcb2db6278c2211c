"""A question as a calculation with dates, times of day or units: one call of ``date_math`` or ``calculate``."""

import calendar
import re
from dataclasses import dataclass
from datetime import timedelta

from pointwork.agents.readings import Reading, calendars, lexicon, zones
from pointwork.agents.readings.converting import conversion
from pointwork.agents.readings.question import MONTHS_PATTERN, Question
from pointwork.errors import ToolError
from pointwork.tools import dates

_NUMBER = (
    r"(?:half\s+an?|a\s+quarter\s+of\s+an|"
    r"(?:\d[\d,]*(?:\.\d+)?|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|"
    r"forty|fifty|sixty|ninety)(?:\s+and\s+(?:a\s+half|a\s+quarter|three\s+quarters))?)"
)
_PERIOD_UNIT = (
    r"(?:business|working)\s+days?|years?|months?|quarters?|fortnights?|weeks?|days?|hours?|hrs?|h|minutes?|mins?|min|"
    r"seconds?|secs?"
)
_AND_A_HALF = r"\s+and\s+(?:a\s+half|a\s+quarter|three\s+quarters)\b(?!\s+of\b)"
_PERIOD = re.compile(
    rf"\b{_NUMBER}[\s-]*(?:{_PERIOD_UNIT})\b(?:{_AND_A_HALF}(?!\s+an?\b)|"
    rf"(?:\s*(?:,|and)?\s*{_NUMBER}[\s-]*(?:{_PERIOD_UNIT})\b)*)(?!\s+old\b)|\ba\s+fortnight\b",
    re.I,
)
_TODAY = re.compile(r"\b(?:today|tomorrow|yesterday)\b(?!\s+is\b)", re.I)
_MONTH = re.compile(rf"\b(?:{MONTHS_PATTERN})\.?,?\s+(?:of\s+)?(?P<year>\d{{4}})\b|\b\d{{4}}-\d{{2}}\b", re.I)
_TIME = re.compile(
    r"\b\d{1,2}:\d{2}(?::\d{2})?(?:\s*[ap]\.?m\b\.?)?|\b\d{1,2}\s*[ap]\.?m\b\.?|(?<!past\s)(?<!to\s)\b(?:noon|midnight)\b|"
    r"\b(?P<part>(?:a\s+)?quarter|half|ten|twenty|five|twenty-five|\d{1,2})(?:\s+minutes)?\s+(?P<side>past|to)\s+"
    r"(?P<hour>one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|noon|midday|midnight|\d{1,2})\b",
    re.I,
)
# How far two moments are apart, whichever comes first.
_GAP = re.compile(r"^\W*abs\((?P<inside>[^()]+)\)\W*$", re.I)
# 14.30 is a time of day where a length of time is added to it.
_DOTTED = re.compile(r"^(\W*\d{1,2})\.([0-5]\d)(?=\s*[-+]\s*\d+(?:\.\d+)?\s*(?:h|min)[a-z]*\b)", re.I)
_HOURS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_WORDS = {word: number for number, word in enumerate(_HOURS, 1)} | {
    "a": 1, "an": 1, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90,
}  # fmt: skip
_BACK = re.compile(
    r"\b(?:before|earlier|ago|prior|previous|minus|subtract|less|in\s+advance|ahead\s+of|latest\s+(?:time|moment)|"
    r"(?:go(?:ing)?|count\w*)\s+back(?:wards)?|count\w*\s+(?:\w+\s+){1,4}back)\b|\s[-\u2212\u2013]\s+\d+\s+(?:min|hour|day|week|month|year)",
    re.I,
)
WEEKDAY = re.compile(
    rf"\b(?:what|which)\s+(?:week)?day\s+(?!of\s+the\s+(?:month|year))|{lexicon.WEEKDAY.pattern}", re.I
)
_LEAP = re.compile(r"\bleap\s+year\b", re.I)
_NEXT_LEAP = re.compile(
    r"\b(?:next|first|last|previous)\s+leap\s+year\s+(?P<side>after|following|before)\s+(?P<year>\d{4})\b", re.I
)
_LENGTH = re.compile(
    r"\bhow\s+(?:many\s+days\s+(?:does|are|has|in)|long\s+is)\b|\bdays\s+in\b|\bnumber\s+of\s+days\s+in\b", re.I
)
_NTH = re.compile(
    r"\b(?P<nth>first|second|third|fourth|fifth|last)\s+(?P<day>working\s+day|business\s+day|weekday|day|monday|tuesday|"
    r"wednesday|thursday|friday|saturday|sunday)\b",
    re.I,
)
_BETWEEN = re.compile(
    r"\bhow\s+(?:many|much\s+time|long|old)\b|\bbetween\b|\bdifference\b|\buntil\b|\bapart\b|\bfrom\b.*\bto\b|\bsince\b|\bdays?\s+(?:is|are|pass\w*)\b|"
    r"\bnumber\s+of\s+(?:\w+\s+)?(?:days|nights|weeks|months|years|hours|minutes)\b|\b(?:minutes|hours)\s+to\b",
    re.I | re.S,
)
# Of who came, or how many boats were sold, between two dates, these are no more than a condition.
_OF_OTHERS = re.compile(
    r"(?:^|[.!?]\s)\W*(?:(?:who|whom|whose|where)\b|which\s+(?!of\b)[a-z]+|"
    r"how\s+many\s+(?!(?:[\w-]+\s+){0,2}(?:day|night|week|fortnight|month|year|hour|minute|second)s?\b))",
    re.I,
)
BOTH = re.compile(
    r"\b(?:both|inclusive|including|(?<!not )(?<!without )counting\s+the\s+(?:first|last)"
    r"(?!(?:\s+\w+)?,?\s+(?:but|and)\s+not\b)|"
    r"first\s+and\s+(?:the\s+)?last)\b",
    re.I,
)
_ORDINAL = re.compile(r"\b\d+(?:st|nd|rd|th)\b", re.I)
NEITHER = re.compile(
    r"\b(?:count\w*|with|includ\w*)\s+neither\b|\bneither\b[^.?]*\bcount\w*|\bnot\s+counting\s+either\b|\bexcluding\s+both\b",
    re.I,
)
# "valid for 90 days and the first of them is 7 March": it ends a day earlier
_ITS_FIRST = re.compile(
    r"\bfirst\s+(?:of\s+(?:them|these|those|the\s+\w+)|day)\s+(?:is|being|was)\b|"
    r"\b(?:is|as|being|counts?\s+as)\s+(?:itself\s+)?(?:the\s+first\s+(?:of|day)|day\s+(?:1|one))\b",
    re.I,
)
_NEXT_FIRST = re.compile(r"\b(?:next\s+day|day\s+after|later|from\s+now)\b", re.I)
_AGAIN = re.compile(r"\b(?:another|again|further|more|then|plus|twice|each)\b", re.I)
_OLD = re.compile(r"\bhow\s+old\b|\bage\b|\byears\s+old\b|\b(?:which|what)\s+(?:birthday|anniversary)\b", re.I)
_MORNING = re.compile(r"\b(?:morning|a\.?m\.?)\b", re.I)
_AFTERNOON = re.compile(r"\b(?:afternoon|evening|p\.?m\.?|at\s+night)\b", re.I)


@dataclass(frozen=True)
class _Found:
    """Mentions of a question, as ``date_math`` takes them."""

    days: list[str]
    times: list[str]
    periods: list[str]
    rest: str


def readings(text: str) -> list[Reading]:
    """What a question means as one calculation with dates, times or units, best first."""
    text = calendars.plainly(text)
    if (asked := calendars.asked(text)) is not None:
        return [asked]
    if zones.unclear(text):
        return []
    gap = _GAP.match(text)
    found = _found(_DOTTED.sub(r"\1:\2", gap["inside"] if gap else text))
    reading = _dated(text, found) or _of_month(text, found) or conversion(text)
    return [reading] if reading is not None else []


def _found(text: str) -> _Found:
    named = [date for date in Question(text).dates if date.day and date.month]
    years = [date.year for date in named if date.year]
    days = [f"{date.year or years[0]:04}-{date.month:02}-{date.day:02}" for date in named if date.year or years]
    spans = [(date.start, date.end) for date in named if date.year or years]
    if not days and (said := _TODAY.search(text)):
        days, spans = [said[0]], [said.span()]
    rest = text
    for start, end in spans:
        rest = rest[:start] + " " * (end - start) + rest[end:]
    clocks = list(_TIME.finditer(rest))
    times = [_time(match, text) for match in clocks]
    if len(days) == len(times) and all(map(_at_once, spans, clocks)):  # each day with its time
        days, times = [f"{day} {time}" for day, time in zip(days, times, strict=True)], []
    rest = _TIME.sub(" ", rest)
    # "payable within 30 days: which is the date thirty days after?" are 30 days
    lengths = periods(rest)
    if not _AGAIN.search(text):
        lengths = list({length.removesuffix("s"): length for length in lengths}.values())
    if len(days) == len(times) == 1 and lengths and all(_OF_THE_CLOCK.search(length) for length in lengths):
        days, times = [f"{days[0]} {times[0]}"], []  # "On 3 May we meet. It begins at 14:00 and lasts 90 minutes."
    return _Found(days, times, lengths, _PERIOD.sub(" ", rest))


_AT_ONCE = re.compile(
    rf"[\s,]*(?:(?:UTC|GMT|local\s+time)\b)?[\s,]*(?:(?:on|at|of|from|-|–)\s+)?(?:the\s+)?(?:{calendars.DAY},?\s+)?(?:the\s+)?",
    re.I,
)


_OF_THE_CLOCK = re.compile(r"\b(?:h|hours?|hrs?|min|mins?|minutes?)\b", re.I)


def _at_once(day: tuple[int, int], clock: re.Match[str]) -> bool:
    """Whether a time is told of a day: "3 June, 14:00", "at 14:00 UTC on 3 June"."""
    between = clock.string[day[1] : clock.start()] or clock.string[clock.end() : day[0]]
    return _AT_ONCE.fullmatch(between) is not None


def periods(text: str) -> list[str]:
    """The lengths of time that a text names, in digits (``tools.dates.parse_period`` reads them)."""
    return [_period(match[0]) for match in _PERIOD.finditer(text)]


def _time(match: re.Match[str], text: str) -> str:
    if not match["hour"]:
        return {"noon": "12:00", "midnight": "00:00"}.get(match[0].lower(), match[0])
    named = {**_WORDS, "noon": 12, "midday": 12, "midnight": 0}
    hour = named[match["hour"].lower()] if match["hour"].lower() in named else int(match["hour"])
    part = re.sub(r"^a\s+", "", match["part"].lower())
    said = {"quarter": 15, "half": 30, "twenty-five": 25, **_WORDS}
    minutes = said[part] if part in said else int(part)
    behind = re.split(r"[,.;]|\band\b", text[match.end() :])[0]
    half = behind if _AFTERNOON.search(behind) or _MORNING.search(behind) else text  # "ten to two in the afternoon"
    if _AFTERNOON.search(half) and not _MORNING.search(behind) and 0 < hour < 12:
        hour += 12
    total = hour * 60 + (minutes if match["side"].lower() == "past" else -minutes)
    return f"{total // 60 % 24}:{total % 60:02}"


def _period(written: str) -> str:
    """A period in digits: ``two and a half hours`` as ``2.5 hours``, a fortnight as 14 days."""

    def digits(match: re.Match[str]) -> str:
        words = match[0].lower().split()
        if words[0] == "half":
            return "0.5"
        if words[:2] == ["a", "quarter"]:
            return "0.25"
        whole = _WORDS.get(words[0])
        number = float(words[0].replace(",", "")) if whole is None else float(whole)
        part = {"half": 0.5, "quarter": 0.25, "quarters": 0.75}.get(words[-1], 0.0) if len(words) > 1 else 0.0
        return f"{number + part:g}"

    # "an hour and a half" as "an and a half hour"
    written = re.sub(rf"(?<=\w)([\s-]*(?:{_PERIOD_UNIT}))({_AND_A_HALF})$", r"\2\1", written, flags=re.I)
    text = re.sub(rf"\b{_NUMBER}(?=[\s-]*(?:{_PERIOD_UNIT})\b)", digits, written, flags=re.I)
    text = re.sub(r"(?<=\d)-(?=[a-z])", " ", text)
    return re.sub(
        r"(\d+(?:\.\d+)?)\s*fortnights?",
        lambda m: f"{float(m[1]) * 2:g} weeks",
        text,
        flags=re.I,
    ).replace(" and ", " ")


def _call(operation: str, date: str, other: str = "", *, score: float = 1.0) -> Reading:
    return Reading("date_math", {"operation": operation, "date": date, "other": other}, score)


def _dated(text: str, found: _Found) -> Reading | None:
    """Shifts and differences of the dates or times that stand in the text."""
    loose = bool(re.search(r"\d", _ORDINAL.sub(" ", found.rest))) and not _LEAP.search(text)
    score = 0.7 if loose else 1.0
    moments = found.days or found.times
    if len(moments) == 2 and found.days and found.times == [] and _OLD.search(text):
        return _call("age", *_in_order(moments), score=score)
    if len(moments) == 2 and not found.periods and _BETWEEN.search(text) and not _OF_OTHERS.search(text):
        if NEITHER.search(text) and found.days:
            first, second = _in_order(moments)
            return _call("difference", _day_after(first), second, score=score)
        operation = "difference_inclusive" if BOTH.search(text) and found.days else "difference"
        unit = _asked_period(text)
        first, second = _in_order(moments) if found.days else (moments[0], moments[1])
        counts = unit in ("months", "years") if BOTH.search(text) else bool(unit)
        other = f"{second} in {unit}" if counts else second
        return _call(operation, first, other, score=score)
    if len(moments) == 2 and not found.periods and found.rest.strip(" .?") in ("-", "\u2212", "\u2013"):
        backwards = not found.days and not _GAP.match(text)  # at night the later hour can be the smaller one
        first, second = (moments[1], moments[0]) if backwards else _in_order(moments)
        return _call("difference", first, second)
    if len(moments) == 1 and found.periods and (not _TODAY.fullmatch(moments[0]) or _SHIFTS.search(text)):
        return _call(
            "subtract" if _is_back(text) else "add", moments[0], " ".join(_counted(text, found)), score=score
        )
    if len(found.days) == 1 and WEEKDAY.search(text):
        return _call("weekday", found.days[0], score=score)
    if len(found.days) == 2 and not found.periods and (asked := lexicon.WEEKDAY.search(text)):
        behind = _found(text[asked.end() :]).days  # "If 1 May 2024 was a Wednesday, which weekday was 1 May 2023?"
        return _call("weekday", behind[0], score=score) if len(behind) == 1 else None
    return None


def _counted(text: str, found: _Found) -> list[str]:
    """The periods that a moment is shifted by; days of which that day is itself the first are one fewer."""
    days = re.fullmatch(r"(\d+) days", found.periods[0]) if len(found.periods) == 1 and found.days else None
    its = _ITS_FIRST.search(text)
    if days is None or its is None or _NEXT_FIRST.search(text):
        return found.periods
    named = re.search(r"\b(\d{1,2})(?:st|nd|rd|th)\b\s*$", text[: its.start()])
    if named and int(named[1]) != int(found.days[0][8:10]):  # "dated 17 January, the 18th being day 1"
        return found.periods
    return [f"{int(days[1]) - 1} days"]


def _day_after(day: str) -> str:
    return (dates.parse_moment(day).at.date() + timedelta(days=1)).isoformat()


# "She did six hours today. What do we owe her?" asks for no day.
_SHIFTS = re.compile(
    r"\b(?:when|date|day|weekday|time|from|after|before|until|since|ago|later|earlier|plus|minus|in)\b|[-+]", re.I
)


def _in_order(moments: list[str]) -> tuple[str, str]:
    """The two dates, the earlier first."""
    first, second = moments[0], moments[1]
    try:
        if dates.parse_moment(second).at < dates.parse_moment(first).at:
            return second, first
    except ToolError:
        pass
    return first, second


# "We set off at 11:48", "on the stove since 18:30"; not "5 minutes before we set off at 11:48"
_BEGAN = re.compile(
    rf"\b(?:set\s+off|left|leav\w+|start\w*|beg[ai]n\w*|depart\w*|opened|put\s+\w+\s+in|went\s+in|since)\s+(?:at\s+)?(?:{_TIME.pattern})",
    re.I,
)
_WHO = r"(?:i|we|she|he|they|it|you)"
_MUST = re.compile(
    rf"\b(?:(?:must|should|shall)\s+{_WHO}|do(?:es)?\s+{_WHO}\s+(?:have|need)\s+to)\s+"
    r"(?:leave|start|set\s+off|set\s+out|begin|be\s+in\s+bed|go\s+to\s+(?:bed|sleep)|get\s+up)\b|"
    # "when did we leave?", not "when did we arrive if we leave at nine?"
    r"\b(?:when|what\s+time|(?:what|which)\s+(?:date|day))\s+(?:did|was)(?:\s+(?!if\b)\S+){1,4}?\s+"
    r"(?:leave|start|begin|set\s+off|set\s+out)(?=\s*[?.,;]|\s*$|\s+(?:home|from|out|for|work)\b)|"
    r"\bsince\s+(?:what\s+time|when)\b|\b(?:clock|watch)\b.*\bfast\b|\bbefore\s+(?:that|it|then|this)\b",
    re.I | re.S,
)
_BEFORE_IT = re.compile(r"\b(?:before|until|till|by|latest|leave|start|begin)\b[^.?!]*$", re.I)


def _is_back(text: str) -> bool:
    """Whether the period leads back in time; ``the day before`` a date does, ``before it is over`` does not."""
    if _MUST.search(text):
        return True
    began = _BEGAN.search(text)
    if began and not _BEFORE_IT.search(text[: began.start()].rpartition(". ")[2]):
        return False
    return bool(_BACK.search(text)) and not re.search(r"\b(?:later|after|from now)\b", text, re.I)


def _asked_period(text: str) -> str:
    unit = r"(?:(?:whole|full|complete)\s+)?(years|months|weeks|hours|minutes)\b"
    match = re.search(rf"\bhow\s+many\s+{unit}", text, re.I)
    match = match or re.match(rf"\W*(?:the\s+)?{unit}\s+(?:between|from|since)\b", text, re.I)
    match = match or re.search(rf"\bin\s+{unit}", text, re.I)
    return match[1].lower() if match else ""


def _leap_beside(year: int, step: int) -> Reading:
    """The leap year before or after a year."""
    apart = next(apart for apart in range(1, 9) if calendar.isleap(year + step * apart))
    return Reading("calculate", {"expression": f"{year} {'+' if step > 0 else '-'} {apart}"}, 1.0)


def _of_month(text: str, found: _Found) -> Reading | None:
    """What one month or year is asked about: its length, its last Friday, whether it is a leap year."""
    if _LEAP.search(text):
        if (next_to := _NEXT_LEAP.search(text)) is not None:
            return _leap_beside(
                int(next_to["year"]), 1 if next_to["side"].lower() in ("after", "following") else -1
            )
        year = re.search(r"\b\d{4}\b", text)
        return _call("leap_year", year[0]) if year and not found.days else None
    month = _MONTH.search(text)
    if month is None or found.days:
        return None
    nth = _NTH.search(text)
    if nth:
        return _call("in_month", month[0], f"{nth['nth']} {nth['day']}")
    return _call("days_in_month", month[0]) if _LENGTH.search(text) else None
