"""A word problem with its amounts of one kind in one unit: 180 g a day of a sack of 4.5 kg are 180 g of 4500 g."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from pointwork.agents.readings.conversions import OF_ONE
from pointwork.numerals import in_figures
from pointwork.text import NUMBER_WORDS
from pointwork.tools.arithmetic import show

_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_AGAIN = r"(?:\s*(?:,|and|or|to|by|x|×|-)\s*)"

# By kind: names as a pattern, and how many of the smallest.
_KINDS: dict[str, tuple[tuple[str, int], ...]] = {
    "mass": (
        (r"milligrams?|mg", 1),
        (r"grams?|grammes?|g", 1_000),
        (r"kilograms?|kilogrammes?|kilos?|kg", 1_000_000),
        (r"tonnes?", 1_000_000_000),
    ),
    "volume": (
        (r"millilit(?:re|er)s?|ml", 1),
        (r"centilit(?:re|er)s?|cl", 10),
        (r"decilit(?:re|er)s?|dl", 100),
        (r"lit(?:re|er)s?|l", 1_000),
    ),
    "length": (
        (r"millimet(?:re|er)s?|mm", 1),
        (r"centimet(?:re|er)s?|cm", 10),
        (r"met(?:re|er)s?|m", 1_000),
        (r"kilomet(?:re|er)s?|km", 1_000_000),
    ),
}
_FAR = 10_000  # a map's centimetres and the kilometres that they stand for stay
_UNITS = "|".join(name for names in _KINDS.values() for name, _ in names)
_COUNTED = re.compile(
    rf"\b(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})(?=[\s-]+(?:{_UNITS})\b)", re.IGNORECASE
)
_PARTS = re.compile(rf"\b({'|'.join(OF_ONE)})[\s-]+(?:of\s+)?(?:an?[\s-]+)?(?=(?:{_UNITS})\b)", re.IGNORECASE)
_SQUARED = re.compile(
    r"(?:\b(?:square|cubic|sq\.?)\s+(?P<name>[a-z]+)|\b(?P<short>mm|cm|m|km)(?:²|³|\^?[23]\b))", re.IGNORECASE
)
_SPEED = re.compile(
    r"\b(?P<name>km|kilomet(?:re|er)s|m|met(?:re|er)s)\s*(?:/|\s(?:per|an?)\s)\s*(?:h|s|hour|second)\w*\b", re.I
)


@dataclass(frozen=True)
class _Measured:
    start: int
    end: int
    number: str
    size: int
    name: str


def in_one_unit(text: str) -> str:
    """A text with its masses, volumes and lengths each in one unit, and pence and cents as what they are a part of.

    The unit is the one that is asked for, or what something is told of one of ("12 a kilo"), or the smallest. What
    is measured in squares or by speed keeps the lengths beside it in the same unit.
    """
    made = _PARTS.sub(lambda part: f"{OF_ONE[part[1].lower()]} ", text)
    made = _COUNTED.sub(lambda word: in_figures(word[0]), made)
    given = made
    for kind, names in _KINDS.items():
        found = list(_measured(made, names))
        sizes = {one.size for one in found}
        wanted = _asked(made, names) or (_beside(made, names) if kind == "length" else 0) or _of_one(made, names)
        size = wanted or min(sizes, default=0)
        if found and sizes != {size} and max(*sizes, size) <= _FAR * min(*sizes, size):
            made = _in(made, found, size, names)
    made = _in_whole_coins(made)
    return made if made != given else text


def _measured(text: str, names: Sequence[tuple[str, int]]) -> list[_Measured]:
    found: list[_Measured] = []
    for name, size in names:
        one = rf"(?<![\w.,/])(?P<n>{_NUMBER})(?P<gap>\s?-?)(?P<name>{name})(?![\w/²³^])(?!\s*(?:/|per\s))"
        found += [
            _Measured(match.start(), match.end(), match["n"], size, match["name"])
            for match in re.finditer(one, text, re.IGNORECASE)
        ]
        # "18 by 11.5 m": the first has the unit of the second
        several = (
            rf"(?<![\w.,/])(?P<n>{_NUMBER})(?={_AGAIN}(?:{_NUMBER}{_AGAIN})?{_NUMBER}\s?-?(?:{name})(?![\w/²³^]))"
        )
        found += [
            _Measured(match.start(), match.end(), match["n"], size, "")
            for match in re.finditer(several, text, re.IGNORECASE)
        ]
    return sorted(found, key=lambda one: one.start)


def _asked(text: str, names: Sequence[tuple[str, int]]) -> int:
    """The size of the unit that is asked for; 0: none of this kind."""
    return _said(
        text,
        names,
        r"\bhow\s+many\s+(?:{name})\b(?!\s*(?:/|²|³))",
        r"\b(?:in|as)\s+(?:whole\s+)?(?:{name})(?=\s*(?:[?.,;)]|$))",
        r"(?:^|[?.:,;]\s+)(?:{name})(?=\s*(?:\?|$|,?\s+please))",
    )


def _of_one(text: str, names: Sequence[tuple[str, int]]) -> int:
    """The size of the unit of which one is spoken of: a price a kilo, what a litre covers; 0: none."""
    return _said(text, names, r"\b(?:an?|per|each|every|the)\s+(?:{name})\b", r"/\s?(?:{name})\b")


def _said(text: str, names: Sequence[tuple[str, int]], *patterns: str) -> int:
    for pattern in patterns:
        for name, size in names:
            if re.search(pattern.replace("{name}", name), text, re.IGNORECASE):
                return size
    return 0


def _beside(text: str, names: Sequence[tuple[str, int]]) -> int:
    """The size of the unit that squares and speeds are in; 0: there are none."""
    for match in (_SQUARED.search(text), _SPEED.search(text)):
        said = next((one for one in match.groups() if one), "") if match else ""
        for name, size in names:
            if said and re.fullmatch(name, said, re.IGNORECASE):
                return size
    return 0


def _in(text: str, found: Sequence[_Measured], size: int, names: Sequence[tuple[str, int]]) -> str:
    said = next(name for name, one in names if one == size).split("|")[-1]
    for one in reversed(found):
        if one.size == size:
            continue
        value = show(Fraction(one.number.replace(",", "")) * one.size / size).replace(",", "")
        gap = "" if not one.name else " "
        text = f"{text[: one.start]}{value}{gap}{said if one.name else ''}{text[one.end :]}"
    return text


# "80p a bag" beside pounds, "60 cents" beside euros
_COINS = (
    (r"p|pence", r"£|\bpounds?\b|\bquid\b", "£"),
    (r"c|cents?", r"€|\beuros?\b", "€"),
    (r"c|cents?|¢", r"\$|\bdollars?\b|\bbucks\b", "$"),
)


_ASKS_COINS = re.compile(r"\b(?:how\s+many|in)\s+(?:pence|cents)\b", re.IGNORECASE)


def _in_whole_coins(text: str) -> str:
    for small, whole, sign in _COINS:
        if re.search(whole, text, re.IGNORECASE) and not _ASKS_COINS.search(text):
            text = re.sub(rf"(?<![\w.,£€$])({_NUMBER})\s?(?:{small})(?!\w)", partial(_whole, sign), text)
    return text


def _whole(sign: str, coins: re.Match[str]) -> str:
    return f"{sign}{float(Fraction(coins[1].replace(',', '')) / 100):g}"
