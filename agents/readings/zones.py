"""The time at one of several places, where that at another is told and by how many hours they differ."""

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from pointwork.agents.readings import Reading
from pointwork.agents.readings.question import Question
from pointwork.numerals import in_figures

_PLACE = r"[A-Za-z][\w'’]*(?:\s+[A-Z][\w'’]*)*"
_APART = (
    r"(?P<n>\d+(?:\.\d+)?)\s+hours?\s+(?P<side>ahead|behind|earlier|later)"
    r"(?:(?:\s+(?:of|than)(?:\s+in)?)?\s+(?P<b>{place}))?"
)
_ZONE = re.compile(
    rf"\b(?P<a>{_PLACE})(?:['’](?:s|re)|\s+(?:is|are|runs?|it\s+is))\s+{_APART.format(place=_PLACE)}"
)
# "New York is 5 hours behind London and Tokyo 9 hours ahead of London"
_ALSO = re.compile(rf"(?:\band|,|;)\s+(?P<a>{_PLACE})\s+{_APART.format(place=_PLACE)}")
_HALF = r"\s*[ap]\.?m\b\.?"
_CLOCK = re.compile(
    rf"(?<![\d:.])(?:\d{{1,2}}:\d\d(?![\d:])(?:{_HALF})?|\d{{1,2}}{_HALF})|\b(?:noon|midnight)\b", re.IGNORECASE
)
_ASKS_TIME = re.compile(
    r"\bwhat\s+(?:local\s+)?time\s+(?:(?:is|was|will|would)\s+(?:it|that|this)|do(?:es)?\s+\w+\s+have|there|here|in)\b|"
    r"\bwhat(?:['’]s|\s+(?:is|was|will|would)(?:\s+be)?)\s+the\s+(?:local\s+)?time\b|"
    r"(?:^|[.?!:;,]\s+)(?:and\s+)?(?:the\s+)?(?:local\s+)?(?:time|clock)\s+(?:in|at|there|here|for|back)\b",
    re.IGNORECASE,
)
_HERE = frozenset(["us", "here", "me", "our", "my", "ours", "mine", "home"])
_THERE = frozenset(["there", "them", "their", "they", "he", "she", "her", "him", "his", "theirs"])


@dataclass(frozen=True)
class _Apart:
    """By how many hours the clock of one place is ahead of another's."""

    first: str
    second: str
    hours: float


# "Flight leaves Lisbon at 11:10, lasts 9 hours 25 minutes": when does it land there?
_LANDS = re.compile(
    r"\blocal\s+(?:arrival\s+)?time\b|\btime\s+(?:there|at\s+landing|on\s+arrival)\b|\bwhen\b[^?]*\b(?:land|arrive)\b",
    re.IGNORECASE,
)
_LASTS = re.compile(
    r"(?<![\w.])(?:(?P<h>\d{1,2})\s*(?:hours?|hrs?|h)\b(?:\s*(?:and\s+)?(?P<m>\d{1,2})\s*(?:minutes?|mins?|min|m)\b)?)",
    re.I,
)
_LEAVES = re.compile(rf"\b(?:leaves?|left|from|departs?|out\s+of)\s+(?P<place>{_PLACE})")


def _landing(told: str, apart: list[_Apart], clocks: list[re.Match[str]]) -> Reading | None:
    """The local time at the end of a flight, from when it leaves, how long it takes and the zones."""
    rest = told
    for one in _ZONE.finditer(told):
        rest = rest.replace(one[0], " ")
    lasts = [(int(one["h"]), int(one["m"] or 0)) for one in _LASTS.finditer(rest)]
    if len(apart) != 1 or len(clocks) != 1 or len(lasts) != 1 or not _LANDS.search(told):
        return None
    leaves = _LEAVES.search(told)
    from_first = leaves is not None and _last(leaves["place"]) == _last(apart[0].first)
    ahead = -apart[0].hours if from_first else apart[0].hours
    minutes = lasts[0][0] * 60 + lasts[0][1] + 60 * ahead
    moved = {"operation": "add" if minutes >= 0 else "subtract", "other": f"{abs(minutes):g} minutes"}
    return Reading("date_math", {"date": clocks[0][0], **moved}, 1.0)


def asked(text: str) -> Reading | None:
    """The time that is asked for, as one call; None: no zones are told, or it is not clear whose."""
    told = in_figures(text)
    apart, clocks = _told(told), list(_CLOCK.finditer(told))
    if apart and not Question(text).dates and (landing := _landing(told, apart, clocks)) is not None:
        return landing
    asks = next(reversed(list(_ASKS_TIME.finditer(told))), None)
    if not apart or len(clocks) != 1 or asks is None or Question(text).dates:
        return None
    part = re.split(r"[.?!]", told[asks.start() :].lstrip(".?!:;, "))[0]
    ahead = _between_two(apart[0], part) if len(apart) == 1 else _of_several(apart, clocks[0], told, part)
    if not ahead:
        return None
    return Reading(
        "date_math",
        {
            "operation": "add" if ahead > 0 else "subtract",
            "date": clocks[0][0],
            "other": f"{abs(ahead):g} hour{'' if abs(ahead) == 1 else 's'}",
        },
        1.0,
    )


def unclear(text: str) -> bool:
    """Whether several zones are told, of which ``asked`` makes nothing: no hour may be added to any time then."""
    return len(_told(in_figures(text))) > 1 and _ASKS_TIME.search(text) is not None


def _told(text: str) -> list[_Apart]:
    found = [*_ZONE.finditer(text), *_ALSO.finditer(text)]
    return [
        _Apart(
            one["a"], one["b"] or "us", float(one["n"]) * (1 if one["side"].lower() in ("ahead", "later") else -1)
        )
        for one in sorted(found, key=lambda one: one.start())
    ]


def _between_two(told: _Apart, asks: str) -> float:
    """How far the time that is asked for is ahead of the other; 0: it is not clear whose is asked for."""
    said = _words(asks)
    named = [_last(place) in said for place in (told.first, told.second)]
    if named[0] == named[1]:  # nobody is named: "what time is it for us?"
        named = [bool(said & _THERE), bool(said & _HERE)]
    if named[0] == named[1]:
        return 0.0
    return told.hours if named[0] else -told.hours


def _of_several(told: list[_Apart], clock: re.Match[str], text: str, asks: str) -> float:
    """From the place whose time is told to the one that is asked for, over those between."""
    places = {_last(place): place for one in told for place in (one.first, one.second)}
    begin, end = _named_at(text, clock.start(), places), _named_in(asks, places)
    if len(begin) != 1 or len(end) != 1:
        return 0.0
    ahead, waiting = {begin[0]: 0.0}, deque(begin)
    while waiting:
        place = waiting.popleft()
        for one in told:
            first, second = _last(one.first), _last(one.second)
            for other, hours in ((first, one.hours), (second, -one.hours)):
                if place in (first, second) and other not in ahead:
                    ahead[other] = ahead[place] + hours
                    waiting.append(other)
    return ahead.get(end[0], 0.0)


def _named_at(text: str, at: int, places: Iterable[str]) -> list[str]:
    """The places of the clause around a character, or of the sentence, if that names none."""
    for marks in (r"[.?!;,](?=\s)", r"[.?!;](?=\s)"):
        ends = [match.end() for match in re.finditer(marks, text)]
        parts = zip([0, *ends], [*ends, len(text)], strict=True)
        if named := _named_in(next(text[a:b] for a, b in parts if a <= at < b), places):
            return named
    return []


def _named_in(text: str, places: Iterable[str]) -> list[str]:
    return [place for place in places if place in _words(text)]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _last(place: str) -> str:
    return place.split()[-1].lower()
