"""English numbers in words as figures: ``forty-five litres`` is ``45 litres``, ``half a dozen`` is ``6``."""

import re
from fractions import Fraction

from pointwork.text import NUMBER_WORDS

_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 1_000_000}
_PARTS = {"half": Fraction(1, 2), "quarter": Fraction(1, 4), "three_quarters": Fraction(3, 4)}

_SMALL = "|".join(sorted((word for word in NUMBER_WORDS if NUMBER_WORDS[word] < 20), key=len, reverse=True))
_TENS = "|".join(word for word, number in NUMBER_WORDS.items() if number >= 20)
_BELOW_100 = rf"(?:(?:{_TENS})(?:[\s-](?:{_SMALL}))?|{_SMALL})"
_ONE = r"an?|\d+(?:\.\d+)?"
_AND = r"\s+(?:and\s+)?"
_BELOW_1000 = rf"(?:(?:(?:{_ONE}|{_BELOW_100})\s+)?hundred(?:{_AND}{_BELOW_100})?|{_BELOW_100})"
_MANY = rf"(?:{_BELOW_1000}|{_ONE})"
_NUMERAL = re.compile(
    rf"(?<![\w-])(?:(?:(?:half\s+an?|{_ONE}|{_BELOW_100})\s+)?dozen|"
    rf"(?:{_MANY}\s+)?million(?:{_AND}{_MANY}\s+thousand)?(?:{_AND}{_BELOW_1000})?|"
    rf"(?:{_MANY}\s+)?thousand(?:{_AND}{_BELOW_1000})?|{_BELOW_1000})"
    r"(?:\s+and\s+(?:an?\s+half|a\s+quarter|three[\s-]quarters?))?(?![\w-]*\w)",
    re.IGNORECASE,
)
# "an hour and a half", "3 and a half hours", "3½"
_UNIT = "hour|day|week|month|year|litre|liter|kilo|metre|meter|mile|tonne|ton|acre|hectare"
_OF_IT = r"(?! of (?:the|it|them|this|that|what|all|my|our|your)\b)"
_AND_PART = re.compile(
    rf"(?<![\w.-])(?P<count>{_ONE}|{_BELOW_100})(?: (?P<unit>{_UNIT})s? and an? (?P<rest>half|quarter)\b{_OF_IT}|"
    r"(?<=\d) and (?:an? )?(?P<part>half|quarter)\b)",
    re.IGNORECASE,
)
_SIGNS = {"½": Fraction(1, 2), "¼": Fraction(1, 4), "¾": Fraction(3, 4)}
_MIXED = re.compile(r"(?<![\w./,:-])(\d{1,3}) (?:and )?(\d{1,2})/(\d{1,2})(?![\w/]|\.\d)")  # 2 1/4 hours
_SIGN = re.compile(rf"(?<![\w.])(?:(\d+) ?)?([{''.join(_SIGNS)}])(?!\w)")


def in_figures(text: str) -> str:
    """A text with its numbers in figures, 2 1/4 as 2.25; words that are no whole numeral by themselves stay."""
    text = _SIGN.sub(lambda match: _shown(int(match[1] or 0) + _SIGNS[match[2]]), mixed_in_figures(text))
    return _NUMERAL.sub(lambda match: _shown(_value(match[0])), _AND_PART.sub(_with_part, text))


def mixed_in_figures(text: str) -> str:
    """A text with 2 1/4 as 2.25."""
    return _MIXED.sub(_mixed, text)


def _mixed(match: re.Match[str]) -> str:
    whole, above, below = (int(part) for part in match.groups())
    return _shown(whole + Fraction(above, below)) if above < below else match[0]


def _with_part(match: re.Match[str]) -> str:
    count = match["count"].lower()
    value = (Fraction(1) if count in ("a", "an") else _value(count)) + _PARTS[
        (match["rest"] or match["part"]).lower()
    ]
    return _shown(value) + (f" {match['unit']}s" if match["unit"] else "")


def _value(numeral: str) -> Fraction:
    total = current = Fraction(0)
    whole = 1  # "a dozen and a half" is half a dozen more, "a hundred and a half" half of one
    for word in re.findall(
        r"[a-z_]+|\d+(?:\.\d+)?", re.sub(r"three[\s-]quarters?", "three_quarters", numeral.lower())
    ):
        if word in ("thousand", "million"):
            total, current = total + (current or 1) * _SCALES[word], Fraction(0)
        elif word in _SCALES:
            current = (current or 1) * _SCALES[word]
        elif word in _PARTS:
            current += _PARTS[word] * whole
        elif word in NUMBER_WORDS:
            current += NUMBER_WORDS[word]
        elif word[0].isdigit():
            current += Fraction(word)
        whole = _SCALES[word] if word in ("dozen", "million") else whole
    return total + current


def _shown(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"
