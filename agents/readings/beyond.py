"""What a task asks beyond the dates and measures that stand in it: a date is no answer to "what does it cost?".

"My ticket runs out on 26 August 2025. Until what day can I renew it?" has a day and asks for one, and needs a rule
that stands elsewhere; a reading of its date alone would be taken outright.
"""

import re

from pointwork.agents.readings import Reading
from pointwork.agents.readings.question import Question
from pointwork.text import STOP_WORDS, sentences

_BARE_DAY = re.compile(
    r"(?:\b(?P<by>from|until|till|by|up to|before|after|since)\s+)?\b(?:what|which)\s+day\b", re.IGNORECASE
)
_ASKS_MOMENT = re.compile(
    r"\b(?:when|what time|(?:what|which) (?:week)?(?:day|date|month|year)|dates?|deadline|o'clock|time of day|"
    r"at what hour|last day|how late|how early)\b",
    re.IGNORECASE,
)
_ASKS_OTHERWISE = re.compile(
    r"\bhow (?:much|many|far|heavy|fast|hot|warm|high|old)\b|\b(?:costs?|prices?|charges?|pay|paid|pays|fees?|"
    r"wages?|bill|owe[sd]?|refund|spend|sum|bring us|make in a|together|extra|per ?cent(?:age)?|share|part of)\b|"
    r"^\W*(?:is|are|was|were|am|do|does|did|can|could|will|would|has|have|may|must)\b",
    re.IGNORECASE,
)
_OF_VALUES = re.compile(
    r"\b(?:mean|average|degrees?|costs?|prices?|charges?|per ?cent(?:age)?|share)\b", re.IGNORECASE
)
# "at today's fee", "did six hours today"
_OF_TODAY = re.compile(
    r"\b(?:today|yesterday|tomorrow)['’]s\b|\b(?:of|at) (?:today|yesterday|tomorrow)\b", re.IGNORECASE
)
_FALLS = frozenset(
    ["day", "date", "fall", "falls", "fell", "land", "lands", "landed", "happen", "happened", "occur"]
)

_IF = re.compile(r"\bif\b", re.IGNORECASE)
_WEEKDAY = re.compile(r"(?<!\ba )\bweekday\b|\bday of the week\b", re.IGNORECASE)

_NUMBER = r"\d[\d,]*(?:\.\d+)?"
# what 60 litres are needed for, what a day is that has 24 hours, so much a week: none of them is to be converted
_NEEDED = re.compile(rf"(?<!\bask )(?<!\basks )(?<!\bcall )(?<!\bcalls )\bfor {_NUMBER}\s?[a-z]", re.IGNORECASE)
_EACH = re.compile(
    rf"\b{_NUMBER} [a-z]+ (?:an?|each|every|per) (?:day|night|week|month|year|hour)\b", re.IGNORECASE
)
# "how many weeks of hay", "how many days before the trip"; not "how many hours is that"
_TIME = re.compile(
    r"\bhow\s+many\s+(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\s+(?!(?:in|and|is|are|was|were|equals?|makes?|to|"
    r"total|altogether|(?:do|does|did|would|will)\s+(?:it|that|this|they|those|an?|the|\d\w*)|have|has)\b)[a-z]",
    re.IGNORECASE,
)


def beyond(text: str, reading: Reading) -> bool:
    """Whether a text asks for something else than what a reading of its dates or measures comes to."""
    if reading.tool == "date_math":
        return _other_than_moments(text, str(reading.arguments["operation"]))
    return _other_than_measure(text, str(reading.arguments["expression"]).rpartition(" to ")[2])


def _asking(text: str) -> str:
    parts = sentences(text)
    return next((part for part in reversed(parts) if part.rstrip().endswith("?")), text)


def _other_than_moments(text: str, operation: str) -> bool:
    asked = _asking(text)
    if operation == "weekday":
        return _other_day(text)
    if operation in ("difference", "days_in_month"):
        return _OF_VALUES.search(asked) is not None
    if operation not in ("add", "subtract"):
        return False
    if _OF_TODAY.search(text):
        return True
    if _ASKS_MOMENT.search(asked):
        return False
    return _ASKS_OTHERWISE.search(asked) is not None


def _other_day(text: str) -> bool:
    """Whether the day that is asked for is another than the one that the text names."""
    if _WEEKDAY.search(text):
        return False
    found = _BARE_DAY.search(text)
    if found is None or found["by"]:  # "is it cheaper on a weekday?"
        return True
    asked = next((part for part in sentences(text) if _BARE_DAY.search(part)), text)
    if any(date.day for date in Question(asked).dates):
        return _IF.search(asked) is not None
    words = re.findall(r"[^\W\d_]+", asked.lower())
    return bool(set(words) - STOP_WORDS - _FALLS)


def _other_than_measure(text: str, unit: str) -> bool:
    defined = re.compile(rf"\b{re.escape(unit)} ?(?:of |\(){_NUMBER}", re.IGNORECASE)  # "in tonnes of 1000 kg"
    return any(one.search(text) for one in (_NEEDED, _EACH, _TIME, defined))
