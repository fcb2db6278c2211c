"""Times of day in words as figures: half past eight is 08:30, a quarter to five 16:45."""

import re

from pointwork.agents.parsing.amounts import minutes_of
from pointwork.agents.readings import clocks

_HOUR = rf"(?:(?:1[0-2]|[1-9]|noon|midday|{'|'.join(clocks.HOURS)})\b(?![.:]\d))"
_MINUTES = {"five": 5, "ten": 10, "quarter": 15, "twenty": 20, "half": 30}
_SOME = rf"(?:{'|'.join(_MINUTES)}|5|10|20)"
# no "a quarter to five people"
_END = (
    r"(?=\s*(?:[.,;:!?)]|$)|"
    r"\s+(?:and|or|to|till|until|on|in|at|from|every|each|when|if|but|sharp|the|we|I|she|he|it|they)\b)"
)
# "from ten to four" is none
_SPOKEN = re.compile(
    rf"\b(?:an? )?(?:(?P<after>{_SOME})(?: minutes)? past (?P<hour>{_HOUR})|"
    rf"(?P<before>quarter|{_SOME} minutes)(?: minutes)? to (?P<next>{_HOUR})(?:(?=\s*{clocks.HALF})|{_END})|"
    rf"(?P<full>{_HOUR})(?=\s*o['’]clock))(?:\s*o['’]clock)?(?:\s*(?P<half>{clocks.HALF}))?",
    re.IGNORECASE,
)
# "after four in the afternoon", but not "31 in the evening"
_IN_THE = re.compile(
    rf"\b(?P<led>(?:at|from|by|before|after|since|till|until|to) )(?P<hour>{_HOUR}) "
    r"(?P<half>in\s+the\s+(?:morning|afternoon|evening)|at\s+night)\b",
    re.IGNORECASE,
)
_NOON = re.compile(r"\b((?:at|from|by|before|after|since|till|until|to) )(?:noon|midday)\b", re.IGNORECASE)
_MIDNIGHT = re.compile(r"\b((?:till|until|to) )midnight\b", re.IGNORECASE)

_OPEN = "\x01"  # before a time whose half of the day nothing says
_TIME = rf"(?:{_OPEN}?\b\d\d:\d\d(?![:\w]))"
_SPAN = re.compile(
    rf"(?P<first>{_TIME}|(?<=\bfrom ){_HOUR})(?P<joined> (?:to|till|until) )(?P<last>{_TIME}|{_HOUR}{_END})",
    re.IGNORECASE,
)
_EARLIEST, _HALF_DAY = 360, 720  # minutes


def hours_in_figures(text: str) -> str:
    """A text with its spoken times of day as ``16:30``.

    Where nothing says which half of the day is meant, it is not before six in the morning, and what ends does so
    after it began: "half past eight to five" is 08:30 to 17:00.
    """
    spoken = _IN_THE.sub(lambda match: match["led"] + _of(match["hour"], match["half"]), _SPOKEN.sub(_said, text))
    spoken = _MIDNIGHT.sub(r"\g<1>24:00", _NOON.sub(r"\g<1>12:00", spoken))
    if spoken != text:
        spoken = _SPAN.sub(_span, spoken)
    return re.sub(rf"{_OPEN}(\d\d:\d\d)", lambda match: _clock(_by_day(minutes_of(match[1]))), spoken)


def _said(match: re.Match[str]) -> str:
    apart = (match["after"] or match["before"] or "").lower().removesuffix(" minutes")
    minutes = int(apart) if apart.isdigit() else _MINUTES.get(apart, 0)
    hour = minutes_of(_of(match["hour"] or match["next"] or match["full"], match["half"]))
    known = match["half"] and not re.match(r"o['’]", match["half"])
    return ("" if known else _OPEN) + _clock(hour + (minutes if match["after"] else -minutes))


def _span(match: re.Match[str]) -> str:
    first, last = match["first"], match["last"]
    if ":" not in first + last:
        return match[0]
    began, ended = (minutes_of(one.removeprefix(_OPEN) if ":" in one else _of(one, None)) for one in (first, last))
    began = _by_day(began) if first.startswith(_OPEN) else began
    if ended <= began and (":" not in last or last.startswith(_OPEN)):
        ended += _HALF_DAY
    if ended <= began and first.startswith(_OPEN):
        began -= _HALF_DAY  # half past five to five
    return f"{_clock(began)}{match['joined']}{_clock(ended)}"


def _of(hour: str, half: str | None) -> str:
    return clocks.time_of_day(hour, None, half)


def _by_day(minutes: float) -> float:
    return minutes + _HALF_DAY if minutes < _EARLIEST else minutes


def _clock(minutes: float) -> str:
    hour, minute = divmod(int(minutes), 60)
    return f"{hour % 24 if hour != 24 else 24:02}:{minute:02}"
