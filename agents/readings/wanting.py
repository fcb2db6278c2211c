"""The kind of answer that a question's form asks for."""

import re
from dataclasses import dataclass

from pointwork.agents.readings import conversions, lexicon, moments
from pointwork.text import STOP_WORDS, sentences

MONEY = r"(?:crowns?|euros?|dollars?|pounds?|francs?|EUR|USD|GBP|CHF|cents?|pence|kronor?|kroner)"
"""Currencies in words."""


COUNTED = frozenset(["number", "quantity", "duration", "age", "money", "percent"])
"""Kinds of answers that are given in figures, however they are written."""

# A question for which a number that nobody wrote down can follow from what was read.
QUANTITY = re.compile(
    r"\b(?:how\s+(?:much|many)|percent\w*|bill|total|cost|costs|altogether|all\s+together|in\s+all|average)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Wanted:
    """The kind of answer that a question's form asks for.

    Attributes:
        kind: person, place, weekday, date, year, time, quantity, duration, age, money, percent, number, id, yes-no,
            phrase.
        unit: of a quantity; None otherwise.
        noun: stems of the words that say what is asked for (which *channel*, how many *metres*).
        several: how many answers are asked for.
    """

    kind: str
    unit: object | None = None
    noun: frozenset[str] = frozenset()
    several: int = 1


# Forms of questions and the kind that they ask for, in this order: the first that fits counts.
_FORMS: tuple[tuple[str, str], ...] = (
    (
        "id",
        r"^(?!.*\bhow many\b)(?!\W*number of\b)(?!.*\bwho).*(?:\b(?:number|no\.?|code|extension|"
        r"reference|password|plate|id)"
        r"\s+(?:of|for|do|is|does|can|should|am)\b|\b(?:telephone|phone|policy|account|serial|licen[cs]e|room|extension)\s+"
        r"(?:number|code|no\.?)\b|\b(?:dial|ring up|phone)\b.*\?)",
    ),
    (
        "time",
        r"\b(?:by|at|until|from) what time\b|\b(?:what time|which time|at what hour|what hour|at what o'clock)\b",
    ),
    (
        "person",
        r"(?<!people )(?<!those )(?<!guests )(?<!members )(?<!anyone )(?<!visitors )(?<!pupils )(?<!students )"
        r"\b(?:who|whom|whose)\b|\bwhich (?:of the |of our )?(?:\w+ )?(?:people|persons|members|"
        r"colleagues|teachers)\b|"
        r"\bwhich (?:person|member|colleague|teacher|pupil|employee|guide|artist|composer|architect|doctor)\b|"
        r"\bname (?:of )?(?:the )?(?:person|man|woman)\b",
    ),
    ("year", r"\b(?:what|which) years?\b"),
    ("date", r"\b(?:what|which|exact|on what|until which|by which) (?:date|day)\b|\bdate of\b|\bon which day\b"),
    ("percent", r"\b(?:percentage|percent|per cent|what share|how many %)\b"),
    ("quantity", r"\bhow much (?:does|do|did|will|would)\b[^?]*\bweigh\b"),
    (
        "money",
        r"\b(?:how much (?:does|do|did|is|are|was|were|will|would|must|money)|what (?:does|do|"
        r"did).*cost|price|fee|fare|"
        rf"charged?|bill|cost|rent|fine|pay|paid|cheapest|dearest|most expensive|least expensive|"
        rf"surcharge|deposit|premium|tariff|toll|wages?|salary)\b|\b{MONEY}\b",
    ),
    ("quantity", rf"\bhow (?:{lexicon.SIZES})\b"),
    ("age", r"\bhow old\b"),
    ("duration", r"\bhow long\b"),
    ("number", r"\bhow (?:many|much|often)\b|\bnumber of\b"),
    ("when", r"\bwhen\b"),
    ("place", r"\bwhere\b"),
)
_COMPILED = [(kind, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for kind, pattern in _FORMS]


_FACT = re.compile(
    rf"^\W*(?:(?:{lexicon.GREETING}|{lexicon.POLITE})\W+)*(?:"
    r"(?:(?:in|on|at|by|for|from|to|of|with|until|since|under|during)\s+)?"
    rf"(?:who|whom|whose|when|where|which|how\s+(?:{lexicon.SIZES}|long|old|many|much|often))\b|"
    r"(?:in|on|at|by|for|from|to|of|with|until|since|under|during)\s+what\b"
    r"(?!\s+(?:ways?|sense|respects?|extent|reasons?|purposes?|circumstances|conditions|manner|cases?|situations?)\b)|"
    r"what\b(?!\s+(?:is|are)\s+(?!(?:the|our|my|this|that|these|those|his|her|its|their)\b)[^?’']*\?*$)|"
    r"(?:is|are|was|were|does|do|did|has|have|had|can|may|must|will)\b|"
    # what is ordered to be found, and what is asked without a verb: "area of the plaque?"
    r"(?:(?:i\s+(?:need|want|would\s+like)(?:\s+to\s+know)?|i['’]d\s+like\s+to\s+know|tell\s+(?:me|us)|name|give(?:\s+me)?|find(?:\s+me)?|state|look\s+up|get\s+me|show\s+me|count|list)\s+"
    r"(?:the|our|my|his|her|its|their)\b(?!\s+(?:story|meaning|idea|reasons?|differences?|(?:dis)?advantages|gist|plot|steps)\b)|"
    r"(?:the\s+)?(?:price|cost|fee|fare|rent)\s+(?:of|for)\s+an?\b[^?]*\?|"
    r"(?:the\s+)?[a-z-]+(?:\s+[a-z-]+){0,2}\s+(?:of|for|by|at|in|on)\s+(?:the|our|my|his|her|its|their|(?-i:[A-Z]))[^?]*\?))",
    re.IGNORECASE,
)
# Advice and talk: nothing that could be looked up.
_TALK = re.compile(r"\b(?:you|your|should|could|would|shall)\b", re.IGNORECASE)

_WRITES = re.compile(
    r"^\W*(?:please\s+)?(?:write|draft|compose|rewrite|rephrase|translate|summari[sz]e|explain|describe|"
    r"tell me (?:a|about)|say|suggest|imagine|create|invent|greet)\b",
    re.IGNORECASE,
)
_GREETS = re.compile(rf"^\W*(?:please\s+)?{lexicon.GREETING}", re.IGNORECASE)


# "In euros, please.": how to say it
_HOW_TO_SAY = re.compile(
    r"^\W*(?:(?:in|as|to|with|rounded?|answer|reply|please|thanks?|thank\s+you)\b[^?]{0,40}|(?:one|two|three|\d)\s+decimals?|"
    r"(?:(?:can|could|would|will)\s+you(?:\s+(?:please\s+)?(?:check|(?:find|work)\s+(?:it\s+)?out|tell\s+me|help))?|(?:please\s+)?find\s+out|"
    r"let\s+me\s+know|do\s+you\s+know|any\s+idea)(?:,?\s+please)?)\W*$",
    re.IGNORECASE,
)


def asking(text: str) -> str:
    """The sentence that asks: the last with a question mark, where there is one; else the last."""
    parts = sentences(text)
    while len(parts) > 1 and _HOW_TO_SAY.match(parts[-1]):
        parts.pop()
    return next((part for part in reversed(parts) if part.rstrip().endswith("?")), parts[-1] if parts else "")


def asks_fact(text: str) -> bool:
    """Whether a text asks what somebody could have written down; no explanation, advice or talk."""
    asked = asking(text)
    talk = _TALK.search(re.sub(r"^.*?\b(?:you (?:know|(?:please )?tell me)|I would like)\b", "", asked, flags=re.I))
    return bool(_FACT.match(asked)) and not talk and not _WRITES.match(text)


def asks_words(text: str) -> bool:
    """Whether a text asks for words to be made: to write, explain or translate, or to answer a greeting."""
    return bool(_WRITES.match(text)) or (bool(_GREETS.match(text)) and not asks_fact(text))


def wanted(question: str) -> Wanted:
    """What kind of answer a question asks for."""
    noun = _noun(question)
    open_question = re.search(r"\b(?:how|what|which|who|when|where)\b", question, re.IGNORECASE)
    if lexicon.EXISTS.match(question.strip()) and not open_question:
        return Wanted("yes-no")
    if moments.WEEKDAY.search(question):
        return Wanted("weekday")
    asked = conversions.asked_unit(question)
    if asked is None and _COUNTS.search(question):
        return Wanted("number", None, noun)
    for kind, pattern in _COMPILED:
        if kind in ("money", "quantity") and asked is not None:
            return Wanted("quantity", asked[1], noun)
        if pattern.search(question):
            unit = _dimension(question) if kind == "quantity" else None
            return Wanted(kind, unit, noun, _several(question.lower()))
    return Wanted("phrase", None, noun, _several(question.lower()))


# "In how many instalments will he pay?" asks for no money.
_COUNTS = re.compile(rf"\bhow\s+many\b(?!\s+(?:%|per\s*cents?\b|{MONEY}\b))", re.IGNORECASE)

# The question's word for a size → a unit that the answer is compatible with.
_DIMENSIONS = (
    (re.compile(r"\b(?:how heavy|weigh)\b", re.IGNORECASE), "kg"),
    (re.compile(r"\bhow (?:far|tall|high|deep|wide)\b", re.IGNORECASE), "metre"),
    (re.compile(r"\bhow fast\b", re.IGNORECASE), "km/h"),
)


def _dimension(question: str) -> object | None:
    return next((conversions.unit_of(unit) for words, unit in _DIMENSIONS if words.search(question)), None)


def _several(low: str) -> int:
    """How many are asked for: ``which two people`` 2."""
    match = re.search(r"\b(?:which|what|the|name)\s+(two|three|four|2|3|4)\b", low)
    return {"two": 2, "2": 2, "three": 3, "3": 3, "four": 4, "4": 4}[match[1]] if match else 1


def _noun(question: str) -> frozenset[str]:
    match = re.search(r"\b(?:which|what(?:'s)?|how many|how much|name)\b(?P<rest>[^,.?;:]{0,60})", question, re.I)
    if match is None:
        return frozenset()
    words = [w for w in re.findall(r"[\w’'-]+", match["rest"])]
    kept: list[str] = []
    for word in words:
        if word.lower() in STOP_WORDS and word.lower() not in ("of", "the", "a"):
            if kept or word.lower() not in ("is", "was", "are", "were", "s"):
                break
            continue
        if word.lower() not in STOP_WORDS:
            kept.append(word)
        if len(kept) == 3:
            break
    return lexicon.stems(" ".join(kept)) if kept else frozenset()
