"""How long something lasts from one time of day to another: without its breaks, in two parts; and its middle."""

import re

from pointwork.agents.parsing.amounts import TIMES, minutes_of
from pointwork.agents.readings import Reading
from pointwork.agents.readings.series import NUMBER, minutes_in
from pointwork.agents.readings.yearly import DAY, WEEKDAYS

_PAUSE = re.compile(rf"\b(?P<n>{NUMBER})[\s-]*(?P<unit>min(?:ute)?s?|h(?:ou)?rs?|h)\b", re.IGNORECASE)
_PAUSED = re.compile(r"\b(?:breaks?|lunch|pauses?|unpaid|rests?|not (?:counted|paid))\b", re.IGNORECASE)
_WORKED = re.compile(r"\b(?P<unit>hours|minutes)\b|\bhow long\b", re.IGNORECASE)
_CLOCK = r"\d{1,2}:\d\d"
_RANGE = re.compile(
    rf"(?<![\w.:])(?P<a>{_CLOCK})\s*(?:-|–|to|till|until)\s*(?P<b>{_CLOCK})(?!\w|:\d)", re.IGNORECASE
)
_ASKS_SUM = re.compile(
    r"\bhow\s+(?:many\s+(?P<unit>hours|minutes)|long)\b|\b(?P<unit2>hours|minutes)\b[^.?]*\b(?:total|altogether|together|in\s+all)\b|"
    r"\b(?:total|altogether|together|in\s+all)\b[^.?]*\b(?P<unit3>hours|minutes)\b",
    re.IGNORECASE,
)
_MIDDLE = re.compile(
    r"\b(?:half[\s-]?way|mid-?way|mid-?point|middle)\s+(?:point\s+|time\s+)?(?:of|between|through|time|point)\b",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")


# "from Friday 17:00 until Monday 08:00"
_DAY_AND_TIME = re.compile(rf"\b(?P<day>{DAY}),?\s+(?:at\s+)?(?P<time>{_CLOCK})(?!\w|:\d)", re.IGNORECASE)
_LONG = re.compile(r"(?<![\w.:])(?P<h>\d{1,2}):(?P<m>[0-5]\d):(?P<s>[0-5]\d)(?![\w:])")
_ASKS_UNIT = re.compile(r"\bhow\s+many\s+(?P<unit>hours|minutes|seconds)\b", re.IGNORECASE)
_IN_HOURS = {"hours": " / 60", "minutes": "", "seconds": " * 60"}


def asked(text: str) -> Reading | None:
    """What is asked about a length of time without a date, as one call."""
    return _over_days(text) or _in_one(text) or _middle(text) or _parts(text) or _worked(text)


def _over_days(text: str) -> Reading | None:
    """From a time of one weekday to that of the next other."""
    found, asks = list(_DAY_AND_TIME.finditer(text)), _ASKS_UNIT.search(text)
    if len(found) != 2 or asks is None or _NUMBERS.search(_DAY_AND_TIME.sub(" ", text)):
        return None
    days = [WEEKDAYS.index(one["day"].lower()) for one in found]
    times = [minutes_of(one["time"]) for one in found]
    lasts = ((days[1] - days[0]) * 24 * 60 + times[1] - times[0]) % (7 * 24 * 60)
    return Reading("calculate", {"expression": f"{lasts:g}{_IN_HOURS[asks['unit'].lower()]}"}, 1.0)


def _in_one(text: str) -> Reading | None:
    """1:48:30 in minutes."""
    found, asks = _LONG.search(text), _ASKS_UNIT.search(text)
    if found is None or asks is None or _NUMBERS.search(_LONG.sub(" ", text, count=1)):
        return None
    written = f"({found['h']} * 60 + {found['m']} + {found['s']} / 60){_IN_HOURS[asks['unit'].lower()]}"
    return Reading("calculate", {"expression": written}, 1.0)


def _parts(text: str) -> Reading | None:
    """Open from 9 to 12:30 and from 14 to 18:00: how many hours are that?"""
    ranges, asks = list(_RANGE.finditer(text)), _ASKS_SUM.search(text)
    rest = _RANGE.sub(" ", text)
    if len(ranges) < 2 or asks is None or _NUMBERS.search(rest):
        return None
    spans = [(minutes_of(one["a"]), minutes_of(one["b"])) for one in ranges]
    written = " + ".join(f"{(last - first) % 1440:g}" for first, last in spans)
    unit = (asks["unit"] or asks["unit2"] or asks["unit3"] or "hours").lower()
    return Reading("calculate", {"expression": f"({written}) / 60" if unit == "hours" else written}, 1.0)


def _middle(text: str) -> Reading | None:
    """The time half way between two."""
    times = [minutes_of(match[0]) for match in TIMES.finditer(text)]
    if len(times) != 2 or not _MIDDLE.search(text) or _NUMBERS.search(TIMES.sub(" ", text)):
        return None
    start = f"{int(times[0]) // 60:02}:{int(times[0]) % 60:02}"
    half = (times[1] - times[0]) % 1440 / 2
    return Reading("date_math", {"operation": "add", "date": start, "other": f"{half:g} minutes"}, 1.0)


def _worked(text: str) -> Reading | None:
    """The time worked without its breaks."""
    times = [minutes_of(match[0]) for match in TIMES.finditer(text)]
    pauses = [minutes_in(match) for match in _PAUSE.finditer(TIMES.sub(" ", text))]
    if len(times) != 2 or not pauses or not _WORKED.search(text) or not _PAUSED.search(text):
        return None
    lasted = f"{times[1] % 1440:g} - {times[0]:g}" + (" + 1440" if times[1] < times[0] else "")
    written = " - ".join((lasted, *(f"{pause:g}" for pause in pauses)))
    asks = text[text.rfind(".", 0, len(text.rstrip(" .?!"))) + 1 :]  # the last sentence
    unit = (
        "minutes" if re.search(r"\bminutes\b", asks, re.I) and not re.search(r"\bhours\b", asks, re.I) else "hours"
    )
    return Reading("calculate", {"expression": f"({written}) / 60" if unit == "hours" else written}, 1.0)
