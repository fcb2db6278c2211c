"""Texts that are an expression already, or nearly: for the calculator, without a model."""

import re

from pointwork.agents.readings import conversions
from pointwork.tools.calculator import evaluate_text
from pointwork.tools.expressions import MAX_CHARACTERS

_PRICED = re.compile(
    r"^\W*what\s+(?:is|does|would|will)\s+(?P<n>\d[\d,.]*\d|\d)(?:\s+(?!at\b)\w+)?\s+(?:cost\s+|come\s+to\s+)?at\s+[$€£]?"
    r"(?P<price>\d[\d,.]*\d|\d)\s*(?:\w+\s+)?(?:an?|per|each|apiece)\b",
    re.IGNORECASE,
)
_THING = re.compile(
    r"(?<=\d)\s+(?!(?:of|off|to|in|into|as|and|plus|minus|times|divided|by|mod|percent|per)\b)([a-z]+)\b",
    re.IGNORECASE,
)


_YEARS_ON = re.compile(r"^\W*(?P<a>[12]\d{3})\s*(?P<sign>[-+])\s*(?P<b>\d{1,3})\s*years?\W*$", re.IGNORECASE)
_YEARS_APART = re.compile(
    r"^\W*(?:the\s+)?(?:number\s+of\s+)?years\s+(?:from|between)\s+(?P<b>[12]\d{3})\s+(?:to|and|until)\s+(?P<a>[12]\d{3})\W*$",
    re.IGNORECASE,
)
# "40 % / 100", where an answer with its sign was put into a sum
_PERCENT_OF_HUNDRED = re.compile(r"([-+*]\s*\d[\d.,]*)\s*(?:%|per\s?cent)(\s*/\s*100\b)", re.IGNORECASE)
# "45 euros per night * 3": so much each is multiplied by how many; between two quantities the units do it.
_RATE = re.compile(
    r"^(?P<n>[$€£]?\s*\d[\d,.]*(?:\s*[€$£]|\s+(?!per\b|an?\b|each\b)[^\W\d_]+)?)\s*"
    r"(?:(?:\bper\s+|\ban?\s+|/\s*)(?:kg|[^\W\d_]{3,})|\beach|\bapiece)"
    r"(?P<rest>\s*[*/]\s*[\d.,\s*/+()-]+)$",
    re.IGNORECASE,
)
_ROUNDED = re.compile(r"^(?P<what>.+?),?\s+rounded\s+(?P<way>up|down)\W*$", re.IGNORECASE)


# What comes last anyway: "12 % of 480, plus 3". (Of "2 plus 3, times 4" the comma changes the sum.)
_THEN_ADDED = re.compile(r",\s+(?=(?:plus|minus)\b(?!.*\b(?:times|multiplied|divided)\b))", re.IGNORECASE)


def expression_of(text: str) -> str:
    """The expression that a text is, without words for what is counted (``12 crowns * 3``); empty if it is none."""
    if len(text) > MAX_CHARACTERS:
        return ""
    if rounded := _ROUNDED.match(text):
        what = expression_of(rounded["what"])
        return what and f"{'ceil' if rounded['way'].lower() == 'up' else 'floor'}({what})"
    text = _PERCENT_OF_HUNDRED.sub(r"\1\2", text)
    text = _THEN_ADDED.sub(" ", text)
    if rate := _RATE.match(text):
        return expression_of(rate["n"] + rate["rest"])
    if evaluate_text(text) is not None:
        return text
    if year := _YEARS_ON.match(text):
        return f"{year['a']} {year['sign']} {year['b']}"
    if year := _YEARS_APART.match(text):
        return f"{year['a']} - {year['b']}"
    priced = _PRICED.match(text)
    if priced:
        return f"{priced['n']} * {priced['price']}"
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    bare = without_things(text)
    if evaluate_text(bare) is not None:
        return bare
    units = {match[0].strip() for match in _MEASURE.finditer(_EACH.sub("", bare))}
    plain = _without_units(_EACH.sub("", bare))
    # "(22 - 15 km) * 90", "6 * £62 a box": a bare number is meant in km, too, and the answer is one of money
    return plain if len(units) <= 1 and is_formula(plain) and evaluate_text(plain) is not None else ""


_EACH = re.compile(r"(?<=\d)(?:\s*[^\W\d_]+)?\s+(?:per|an?|each|(?:for\s+)?(?:each|every))(?:\s+[^\W\d_]+)?\b")
_MEASURE = re.compile(r"(?<=\d)\s*[^\W\d_]+\b")


def is_formula(text: str) -> bool:
    """Whether a text is nothing but numbers, with or without units, and signs of a calculation."""
    return bool(re.fullmatch(r"[\d\s.,()+*/%^-]*[-+*/][\d\s.,()+*/%^-]*", _without_units(text)))


def _without_units(text: str) -> str:
    return re.sub(r"[$€£]", "", _MEASURE.sub("", text))


def without_things(text: str) -> str:
    """Without words for what is counted; units stay."""
    return _THING.sub(lambda match: match[0] if conversions.unit_of(match[1]) is not None else "", text)
