"""Texts that are an expression already, or nearly: for the calculator, without a model."""

import re

from pointwork.agents.readings import moments
from pointwork.tools.calculator import evaluate_text

_PRICED = re.compile(
    r"^\W*what\s+(?:is|does|would|will)\s+(?P<n>\d[\d,.]*\d|\d)(?:\s+(?!at\b)\w+)?\s+(?:cost\s+|come\s+to\s+)?at\s+[$€£]?"
    r"(?P<price>\d[\d,.]*\d|\d)\s*(?:\w+\s+)?(?:an?|per|each|apiece)\b",
    re.IGNORECASE,
)
_THING = re.compile(
    r"(?<=\d)\s+(?!(?:of|off|to|in|into|as|and|plus|minus|times|divided|by|mod|percent|per)\b)([a-z]+)\b",
    re.IGNORECASE,
)


_ROUNDED = re.compile(r"^(?P<what>.+?),?\s+rounded\s+(?P<way>up|down)\W*$", re.IGNORECASE)


def expression_of(text: str) -> str:
    """The expression that a text is, without words for what is counted (``12 crowns * 3``); empty if it is none."""
    if rounded := _ROUNDED.match(text):
        what = expression_of(rounded["what"])
        return what and f"{'ceil' if rounded['way'].lower() == 'up' else 'floor'}({what})"
    if evaluate_text(text) is not None:
        return text
    priced = _PRICED.match(text)
    if priced:
        return f"{priced['n']} * {priced['price']}"
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    bare = _THING.sub(lambda match: match[0] if moments.unit_of(match[1]) is not None else "", text)
    return bare if evaluate_text(bare) is not None else ""


_MORE_THAN = re.compile(
    r"^\W*(?:is|are|does|do)\s+(?P<a>.+?)\s+(?:(?P<more>more|greater|larger|bigger|higher)|less|smaller|lower|fewer)\s+than\s+"
    r"(?P<b>.+?)\W*$",
    re.IGNORECASE,
)


_BARE = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_MEASURED = re.compile(rf"^({_BARE.pattern})\s*[^\W\d_]+$")


def _side(text: str) -> str:
    return expression_of(text) or (text if re.fullmatch(r"-?\d[\d,]*(?:\.\d+)?(?:\s*[^\W\d_]+)?", text) else "")


def comparison_of(text: str) -> str:
    """``Is 17 times 23 more than 400?`` as a difference that is above 0 if so; empty if it is no such question."""
    match = _MORE_THAN.match(text)
    sides = (_side(match["a"]), _side(match["b"])) if match is not None else ("", "")
    if match is None or not all(sides):
        return ""
    first, second = sides if match["more"] else sides[::-1]
    if bool(_BARE.fullmatch(first)) != bool(_BARE.fullmatch(second)):  # 35 beside 40 hours: hours too
        first, second = _MEASURED.sub(r"\1", first), _MEASURED.sub(r"\1", second)
    return f"({first}) - ({second})"
