"""English numbers in words as figures: ``forty-five litres`` is ``45 litres``, ``half a dozen`` is ``6``."""

import re
from fractions import Fraction

from pointwork.text import NUMBER_WORDS

_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 1_000_000}
_PARTS = {"half": Fraction(1, 2), "quarter": Fraction(1, 4), "quarters": Fraction(3, 4)}

_SMALL = "|".join(sorted((word for word in NUMBER_WORDS if NUMBER_WORDS[word] < 20), key=len, reverse=True))
_TENS = "|".join(word for word, number in NUMBER_WORDS.items() if number >= 20)
_HUNDRED = rf"(?:(?:{_TENS})(?:[\s-](?:{_SMALL}))?|{_SMALL})"
_SCALED = rf"(?:(?:half\s+an?|an?|{_HUNDRED}|\d+(?:\.\d+)?)\s+)?(?:{'|'.join(_SCALES)})(?:\s+(?:hundred|thousand))?"
_NUMERAL = re.compile(
    rf"(?<![\w-])(?:{_SCALED}(?:\s+(?:and\s+)?{_SCALED})*(?:\s+(?:and\s+)?{_HUNDRED})?|{_HUNDRED})"
    r"(?P<part>\s+and\s+(?:an?\s+half|a\s+quarter|three\s+quarters))?(?![\w-]*\w)",
    re.IGNORECASE,
)


def in_figures(text: str) -> str:
    """A text with its numbers in figures; words that are no whole numeral by themselves stay."""
    return _NUMERAL.sub(lambda match: _shown(_value(match[0])), text)


def _value(numeral: str) -> Fraction:
    words = re.findall(r"[a-z]+|\d+(?:\.\d+)?", numeral.lower())
    total = current = Fraction(0)
    scaled = False
    for place, word in enumerate(words):
        if word in _SCALES:
            current = (current or 1) * _SCALES[word]
            if _SCALES[word] >= 1_000:
                total, current = total + current, Fraction(0)
            scaled = True
        elif word in _PARTS:
            part = _PARTS[word]
            if word == "quarters":
                current -= 3  # "three quarters": the three was counted
            current += part if place or not scaled else 0
            scaled = True
        elif word in NUMBER_WORDS:
            current += NUMBER_WORDS[word]
        elif word[0].isdigit():
            current += Fraction(word)
    return total + current


def _shown(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"
