"""Texts that are an expression already, or nearly: for the calculator, without a model."""

import re

from pointwork.agents.readings import moments
from pointwork.errors import ToolError
from pointwork.tools import dates
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


def expression_of(text: str) -> str:
    """The expression that a text is, without words for what is counted (``12 crowns * 3``); empty if it is none."""
    if rounded := _ROUNDED.match(text):
        what = expression_of(rounded["what"])
        return what and f"{'ceil' if rounded['way'].lower() == 'up' else 'floor'}({what})"
    text = _PERCENT_OF_HUNDRED.sub(r"\1\2", text)
    if rate := _RATE.match(text):
        return expression_of(rate["n"] + rate["rest"])
    if evaluate_text(text) is not None:
        return text
    if year := _YEARS_ON.match(text) or _YEARS_APART.match(text):
        return f"{year['a']} {year['sign'] if 'sign' in year.groupdict() else '-'} {year['b']}"
    priced = _PRICED.match(text)
    if priced:
        return f"{priced['n']} * {priced['price']}"
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    bare = _without_things(text)
    return bare if evaluate_text(bare) is not None else ""


def _without_things(text: str) -> str:
    """Without words for what is counted; units stay."""
    return _THING.sub(lambda match: match[0] if moments.unit_of(match[1]) is not None else "", text)


_MORE = r"more|greater|larger|bigger|higher|longer|later|older"
_LESS = r"less|smaller|lower|fewer|shorter|earlier"
_TO_BE = r"^\W*(?:is|are|was|were|do(?:es)?)\s+(?P<a>.+?)\s+"
# "over" may be a division too, so what is no such word comes first.
_COMPARED = (
    re.compile(
        rf"{_TO_BE}(?:(?P<more>(?:{_MORE})\s+than|exceed)|(?P<least>at\s+least)|(?P<most>at\s+most)|"
        rf"(?P<less>(?:{_LESS})\s+than))\s+(?P<b>.+?)\W*$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_TO_BE}(?:(?P<more>over|above|after)|(?P<less>under|below|before))\s+(?P<b>.+?)\W*$", re.IGNORECASE
    ),
)
_CHOSEN = re.compile(
    rf"^\W*(?:the\s+)?(?:(?P<more>{_MORE})|{_LESS})\s+(?:number|figure|one|amount|date)?\s*(?:of|from|out\s+of|between)\s+(?P<a>.+?)"
    r"\s+(?:and|or)\s+(?P<b>.+?)\W*$",
    re.IGNORECASE,
)
_BARE = re.compile(r"(-?\d[\d,]*(?:\.\d+)?)(?:\s*[^\W\d_]+)?")
_SIGNED = re.compile(
    r"^\W*(?:is\s+)?(?P<a>[^<>=]+?)\s*(?P<sign><=|>=|<|>)\s*(?P<b>[^<>=]+?)[?.\s]*$", re.IGNORECASE
)
_SAID = {"<": "less than", ">": "more than", "<=": "at most", ">=": "at least"}
_SIGNS = {"more": ">", "least": ">=", "most": "<=", "less": "<"}


def _side(text: str) -> str:
    if expression := expression_of(text):
        return expression
    bare = _without_things(re.sub(r"^[$€£]\s*|\s*[$€£]$", "", text))
    return bare if re.fullmatch(r"-?\d[\d,]*(?:\.\d+)?(?:\s*[^\W\d_]+)?", bare) else ""


def _moment(text: str) -> bool:
    try:
        dates.parse_moment(text)
    except ToolError:
        return False
    return bool(re.search(r"\d", text))


def _weighed(match: re.Match[str]) -> tuple[str, dict[str, str]] | None:
    sign = next(_SIGNS[name] for name, said in match.groupdict().items() if said and name in _SIGNS)
    first, second = match["a"], match["b"]
    if not (_moment(first) and _moment(second)):
        first, second = _side(first), _side(second)
    return ("calculate", {"expression": f"{first} {sign} {second}"}) if first and second else None


def comparison_of(text: str) -> tuple[str, dict[str, str]] | None:
    """The call that weighs two numbers, quantities, dates or times against each other; None: nothing is compared.

    ``Is 17 times 23 more than 400?``, ``the larger of 34 and 28``, ``is 2024-05-01 before 3 June 2024``, ``3 < 4``.
    """
    if signed := _SIGNED.match(text):
        text = f"is {signed['a']} {_SAID[signed['sign']]} {signed['b']}"
    for pattern in _COMPARED:
        if (match := pattern.match(text)) is not None:
            return _weighed(match)
    match = _CHOSEN.match(text)
    if match is None:
        return None
    first, second = match["a"], match["b"]
    if _moment(first) and _moment(second):
        return "calculate", {"expression": f"the {'later' if match['more'] else 'earlier'} of {first} and {second}"}
    sides = [side.replace(",", "") for side in (_side(first), _side(second))]
    if not all(sides):
        return None
    measured = [bool(re.search(r"[^\W\d_]", side)) for side in sides]
    if measured[0] != measured[1]:  # 34 beside 28 kg: kg too
        sides = [_BARE.sub(r"\1", side) for side in sides]
    first, second = sides
    return "calculate", {"expression": f"{'max' if match['more'] else 'min'}({first}, {second})"}
