"""The most or least of a list in a sentence: "Three offers were read out: Brough 2,840 crowns, Callow 3,150."."""

import re

from pointwork.agents.readings import lexicon
from pointwork.agents.readings.question import Question
from pointwork.agents.readings.sentences import stems_of
from pointwork.numerals import in_figures
from pointwork.text import NUMBER_WORDS

_APART = re.compile(r"[,;]\s+(?:and\s+)?|(?<=\d)\s+and\s+|(?<=[a-z])\s+and\s+(?=[A-Z])")
_ITEM = re.compile(
    r"(?P<name>[^\W\d_][^\d:;,]*?)\s*(?:[:=(]|\bat|\bfor|\bwith)?\s+"
    r"(?P<amount>[£$€]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[£$€]?\d+(?:\.\d+)?)\s*(?P<unit>[^\W\d_]+(?:\s+[a-z]+)?)?"
)
_AMOUNTS = ("money", "number", "quantity", "duration")
_NAMES = ("person", "phrase", "place")
# Who gives, asks or has it may be said in any words.
_SAID = lexicon.stems("make made give gave ask asked quote quoted send sent come came name figure amount have has")
_COUNTS = lexicon.stems(" ".join(NUMBER_WORDS))
_COUNT = re.compile(r"\bof\s+(?:the|all|our|these|those)\s+(\d+)\b")


def best_listed(question: str, kind: str, sentence: str, heading: str = "") -> str:
    """What a list says to a question for the most or least of its things; empty where it is none of them.

    Args:
        question: as it was asked.
        kind: of the answer (``wanting.Wanted``): an amount with its unit, or the name before it.
        sentence: what its things are, a colon, then each with a name and an amount.
        heading: of its passage.
    """
    head, colon, tail = sentence.rstrip(" .!").rpartition(": ")
    items = [_ITEM.fullmatch(item.strip()) for item in _APART.split(tail)]
    found = [item for item in items if item is not None]
    words = stems_of(question)
    ways = [way for way in (lexicon.DOWN, lexicon.UP) if words & way]
    count = _COUNT.search(in_figures(question))
    if not colon or len(found) < max(2, len(items)) or len(ways) != 1 or (count and int(count[1]) != len(found)):
        return ""
    asked = {word.stem for word in Question(question).content} - ways[0] - _COUNTS
    if not asked & stems_of(head) or asked - _SAID - stems_of(f"{sentence} {heading}"):
        return ""
    if len({item["unit"] for item in found if item["unit"]}) > 1:
        return ""
    sized = [(float(re.sub(r"[^\d.]", "", item["amount"])), item) for item in found]
    size, best = (min if ways[0] is lexicon.DOWN else max)(sized, key=lambda pair: pair[0])
    if [one for one, _ in sized].count(size) > 1 or kind not in (*_AMOUNTS, *_NAMES):
        return ""
    unit = next((item["unit"] for item in found if item["unit"]), "")
    return f"{best['amount']} {unit}".strip() if kind in _AMOUNTS else best["name"].strip()
