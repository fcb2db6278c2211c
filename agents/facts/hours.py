"""Spoken times of day as figures (half past eight is 08:30), durations of two units in one (112 minutes)."""

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
    rf"(?P<before>quarter|{_SOME} minutes|(?<=\b(?:at|by) ){_SOME})(?: minutes)? to (?P<next>{_HOUR})"
    rf"(?:(?=\s*{clocks.HALF})|{_END})|(?P<full>{_HOUR})(?=\s*o['’]clock))"
    rf"(?:\s*o['’]clock)?(?:\s*(?P<half>{clocks.HALF}))?",
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

# "opens at nine", "closes on Fridays at eight"
_AT = re.compile(
    r"\b(?P<led>(?:open|clos|shut|start|beg[iau]n|end|finish|leav|depart|arriv|lock)\w*(?: up)?(?: on \w+)? at )"
    rf"(?P<hour>{_HOUR}){_END}",
    re.IGNORECASE,
)
# what is spoken of: in the morning from five on, or after noon
_MORNING = re.compile(r"\b(?:open\w*|breakfast|mornings?|early|dawn)\b", re.IGNORECASE)
_EVENING = re.compile(r"\b(?:clos\w+|shuts?|locks?|locked|supper|dinner|bedtime|evenings?)\b", re.IGNORECASE)

_OPEN = "\x01"  # before a time whose half of the day nothing says
_TIME = rf"(?:{_OPEN}?\b\d\d:\d\d(?![:\w]))"
_SPAN = re.compile(
    rf"(?P<first>{_TIME}|(?<=\bfrom ){_HOUR})(?P<joined> (?:to|till|until) )(?P<last>{_TIME}|{_HOUR}{_END})",
    re.IGNORECASE,
)
_EARLIEST, _FIRST, _HALF_DAY = 360, 300, 720  # minutes
_BEFORE = 50  # characters before a time that say what is spoken of
# but not "2 hours and 10 minutes of rest"
_HOURS, _MINS, _SECS = r"(?:hours?|hrs?|h)\b", r"(?:minutes?|mins?|min)\b", r"(?:seconds?|secs?|sec)\b"
_LONG = re.compile(
    rf"(?<![\w.:/-])(?P<large>\d+|an?(?= h)|one(?= h)) ?(?P<unit>{_HOURS}|{_MINS})(?: and)? "
    rf"(?P<small>[1-5]?\d) ?(?P<part>{_MINS}|{_SECS})(?! (?:of|for each|per|each)\b)",
    re.IGNORECASE,
)


def hours_in_figures(text: str) -> str:
    """A text with its spoken times of day as ``16:30``.

    Where nothing says which half of the day is meant, it is not before six in the morning (five, of what opens),
    what closes does so after noon, and what ends after it began: "half past eight to five" is 08:30 to 17:00.
    """
    spoken = _IN_THE.sub(lambda match: match["led"] + _of(match["hour"], match["half"]), _SPOKEN.sub(_said, text))
    spoken = _MIDNIGHT.sub(r"\g<1>24:00", _NOON.sub(r"\g<1>12:00", spoken))
    spoken = _AT.sub(lambda match: match["led"] + _OPEN + _of(match["hour"], None), spoken)
    return re.sub(rf"{_OPEN}(\d\d:\d\d)", _settled, _SPAN.sub(_span, spoken))


def durations_in_one(text: str) -> str:
    """A text with each duration in one unit: 1 hour 52 minutes is 112 minutes, 7 hours 30 minutes 7.5 hours."""
    return _LONG.sub(_long, text)


def _long(match: re.Match[str]) -> str:
    hours, minutes = (match[name].lower()[0] == letter for name, letter in (("unit", "h"), ("part", "m")))
    if hours != minutes:  # "2 hours 30 seconds"
        return match[0]
    large, small = int(match["large"]) if match["large"].isdigit() else 1, int(match["small"])
    if small % 15 == 0 and small:
        return f"{large + small / 60:g} {'hours' if hours else 'minutes'}"
    return f"{60 * large + small} {'minutes' if hours else 'seconds'}"


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
    began = began + _HALF_DAY if first.startswith(_OPEN) and began < _earliest(match) else began
    if ended <= began and (":" not in last or last.startswith(_OPEN)):
        ended += _HALF_DAY
    if ended <= began and first.startswith(_OPEN):
        began -= _HALF_DAY  # half past five to five
    return f"{_clock(began)}{match['joined']}{_clock(ended)}"


def _of(hour: str, half: str | None) -> str:
    return clocks.time_of_day(hour, None, half)


def _settled(match: re.Match[str]) -> str:
    minutes = minutes_of(match[1])
    return _clock(minutes + _HALF_DAY if minutes < _earliest(match) else minutes)


def _earliest(match: re.Match[str]) -> int:
    """Before which the time of a match is one after noon, by what its clause speaks of."""
    clause = re.split(r"[.;:!?]\s", match.string[max(0, match.start() - _BEFORE) : match.start()])[-1]
    morning, evening = ([found.end() for found in words.finditer(clause)] for words in (_MORNING, _EVENING))
    if max(evening, default=0) > max(morning, default=0):
        return _HALF_DAY
    return _FIRST if morning else _EARLIEST


def _clock(minutes: float) -> str:
    hour, minute = divmod(int(minutes), 60)
    return f"{hour % 24 if hour != 24 else 24:02}:{minute:02}"
