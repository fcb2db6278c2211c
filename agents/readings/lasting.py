"""How long something lasts from one time of day to another: without its breaks, in two parts; and its middle."""

import re

from pointwork.agents.parsing.amounts import TIMES, minutes_of
from pointwork.agents.readings import Reading
from pointwork.agents.readings.series import NUMBER, minutes_in

_PAUSE = re.compile(rf"\b(?P<n>{NUMBER})[\s-]*(?P<unit>min(?:ute)?s?|h(?:ou)?rs?|h)\b", re.IGNORECASE)
_PAUSED = re.compile(r"\b(?:breaks?|lunch|pauses?|unpaid|rests?|not (?:counted|paid))\b", re.IGNORECASE)
_WORKED = re.compile(r"\b(?P<unit>hours|minutes)\b|\bhow long\b", re.IGNORECASE)
_CLOCK = r"\d{1,2}:\d\d"
_RANGE = re.compile(rf"(?<![\w.:])(?P<a>{_CLOCK})\s*(?:-|–|to|till|until)\s*(?P<b>{_CLOCK})(?![\w:])", re.IGNORECASE)
_ASKS_SUM = re.compile(
    r"\bhow\s+(?:many\s+(?P<unit>hours|minutes)|long)\b|\b(?P<unit2>hours|minutes)\b[^.?]*\b(?:total|altogether|together|in\s+all)\b|"
    r"\b(?:total|altogether|together|in\s+all)\b[^.?]*\b(?P<unit3>hours|minutes)\b",
    re.IGNORECASE,
)
_MIDDLE = re.compile(
    r"\b(?:half[\s-]?way|mid-?way|mid-?point|middle)\s+(?:point\s+|time\s+)?(?:of|between|through|time|point)\b", re.IGNORECASE
)
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")


def asked(text: str) -> Reading | None:
    """What is asked about a length of time without a date, as one call."""
    return _middle(text) or _parts(text) or _worked(text)


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
