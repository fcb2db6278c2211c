"""What a task asks beyond the dates and measures that stand in it: a date is no answer to "what does it cost?".

"My ticket runs out on 26 August 2025. Until what day can I renew it?" has a day and asks for one, and needs a rule
that stands elsewhere; what its date alone says is no answer.
"""

import re

from pointwork.agents.readings import Reading, lexicon, moments
from pointwork.agents.readings.deciding import asks_yes_no
from pointwork.agents.readings.question import Question
from pointwork.agents.readings.wanting import COUNTED, asking, wanted
from pointwork.agents.readings.yearly import DAY
from pointwork.text import STOP_WORDS, sentences

_DAY = re.compile(
    r"(?:\b(?P<by>from|until|till|by|up to|before|after|since)\s+)?\b(?:what|which)\s+day\b|"
    rf"{lexicon.WEEKDAY.pattern}",
    re.IGNORECASE,
)
_ASKS_WEEKDAY = re.compile(rf"(?<!\ba )(?:{lexicon.WEEKDAY.pattern})", re.IGNORECASE)
_FALLS = frozenset(
    ["day", "date", "weekday", "fall", "falls", "fell", "land", "lands", "landed", "happen", "happened", "occur"]
)
_IF = re.compile(r",|\bif\b", re.IGNORECASE)

_ASKS_MOMENT = re.compile(
    r"\b(?:when|(?:what|which) (?:month|week ?day)|dates?|deadline|last day|how late)\b", re.IGNORECASE
)
_NO_MOMENT = COUNTED | {"person", "place"}
_OWED = re.compile(r"\b(?:owe[sd]?|refund|spend|sum|extra|share|part of|in a year)\b", re.IGNORECASE)
_OF_VALUES = re.compile(r"\b(?:mean|average|degrees)\b", re.IGNORECASE)
# "at today's fee", "the fees of today"; not "today's date", "as of today"
_OF_TODAY = re.compile(
    rf"\b(?:today|yesterday|tomorrow)['’]s (?!(?:date|day|{DAY})\b)|"
    r"(?<!\bas )\b(?:of|at) (?:today|yesterday|tomorrow)\b",
    re.IGNORECASE,
)

_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_TIMES = r"(?:seconds?|minutes?|min|hours?|h|days?|weeks?|months?|years?)"
_SUBSTANCE = (
    r"(?:[mk]?g|grams?|kilo(?:gram)?s?|tonnes?|pounds?|lbs?|ounces?|oz|"
    r"[mcd]?l|lit(?:re|er)s?|gallons?|pints?|cups?)"
)
# what is needed for 60 litres of something; not what a recipe asks for
_NEEDED = re.compile(rf"(?:^|\b(?!(?:ask|call)(?:s|ed|ing)?\b)\w+ )for {_NUMBER} ?{_SUBSTANCE}\b", re.IGNORECASE)
_EACH = re.compile(rf"\b{_NUMBER} {_TIMES} (?:an?|each|every|per) {_TIMES}\b", re.IGNORECASE)  # 9 hours a week
# "how many weeks of hay", "how many days before the trip"; not "how many hours is that"
_OTHER_TIME = re.compile(
    rf"\bhow\s+many\s+{_TIMES}\s+(?!(?:in|and|is|are|was|were|have|has|equals?|makes?|to|total|altogether|long|old|there|per|"
    r"(?:do|does|did|would|will|should|can)\s+(?:it|that|this|they|those|an?|the|\d\w*))\b)[a-z]",
    re.IGNORECASE,
)


def outright(text: str) -> Reading | None:
    """What answers a text as one calculation with its dates, times or units; None: nothing, or it asks for more."""
    read = next(iter(moments.readings(text)), None)
    return read if read is not None and read.score >= 1.0 and not _beyond(text, read) else None


def _beyond(text: str, reading: Reading) -> bool:
    if reading.tool != "date_math":
        _, to, unit = str(reading.arguments["expression"]).rpartition(" to ")
        return bool(to) and _other_measure(text, unit)
    operation, asked = reading.arguments["operation"], asking(text)
    if operation == "weekday":
        return _other_day(text)
    if operation in ("difference", "days_in_month"):
        return wanted(asked).kind in ("money", "percent") or _OF_VALUES.search(asked) is not None
    if operation not in ("add", "subtract"):
        return False
    return _OF_TODAY.search(text) is not None or _no_moment(text, asked)


def _no_moment(text: str, asked: str) -> bool:
    """Whether something else is asked for than when something is."""
    if _ASKS_MOMENT.search(asked):
        return False
    return wanted(asked).kind in _NO_MOMENT or _OWED.search(asked) is not None or asks_yes_no(text)


def _other_day(text: str) -> bool:
    """Whether the day that is asked for is another than the one that the text names."""
    if _ASKS_WEEKDAY.search(text):
        return False
    asked, found = next((part, day) for part in (*sentences(text), text) if (day := _DAY.search(part)))
    if found["by"]:
        return True
    dates = [date for date in Question(asked).dates if date.day]
    bare = found[0].lower() != "weekday"
    if dates and bare and not re.search(r"\bif\b", asked, re.IGNORECASE):
        return False
    for date in reversed(dates):
        asked = asked[: date.start] + " " * (date.end - date.start) + asked[date.end :]
    # of "which day is it ripe, if …" the part that asks
    clause = next(part for part in _IF.split(asked) if _DAY.search(part)) if bare else asked
    return bool(set(re.findall(r"[^\W\d_]+", clause.lower())) - STOP_WORDS - _FALLS)


def _other_measure(text: str, unit: str) -> bool:
    """Whether the measure that stands in the text is none that is to be told in that unit."""
    defined = re.compile(rf"\b{re.escape(unit)} ?(?:of |\(){_NUMBER}", re.IGNORECASE)  # "in tonnes of 1000 kg"
    return any(one.search(text) for one in (_NEEDED, _EACH, _OTHER_TIME, defined))
