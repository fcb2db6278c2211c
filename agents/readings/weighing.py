"""Two numbers, quantities, dates or times against each other: the call that says which is more, without a model."""

import re

from pointwork.agents.readings.conversions import measured, quantities
from pointwork.agents.readings.expressions import expression_of, without_things
from pointwork.errors import ToolError
from pointwork.tools import dates
from pointwork.tools.expressions import MAX_CHARACTERS

_MORE = (
    r"more|greater|larger|bigger|higher|longer|later|older|heavier|warmer|hotter|faster|taller|deeper|wider|dearer|"
    r"thicker|stronger|farther|further"
)
_LESS = (
    r"less|smaller|lower|fewer|shorter|earlier|lighter|colder|cooler|slower|younger|cheaper|narrower|thinner|nearer|"
    r"closer|weaker"
)
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
# "..., yes or no?", "(day first)"
_YES_OR_NO = re.compile(
    r"[\s,.;:?!]*\(?(?:please\s+)?(?:answer(?:\s+with)?\s+)?yes\s*(?:or|/)\s*no\b\W*$", re.IGNORECASE
)
_FIRST_ONE = re.compile(
    rf"[:;,.–-]\s*is\s+the\s+(?P<which>first|second)(?:\s+one)?\s+(?:the\s+)?(?:(?P<more>{_MORE})|{_LESS})\W*$",
    re.IGNORECASE,
)
_OR = re.compile(r"\s+(?:or|vs\.?|versus|against|and)\s+", re.IGNORECASE)
_ASIDE = re.compile(r"\s*\([^()=\d]*\)")
_BARE = re.compile(r"(-?\d[\d,]*(?:\.\d+)?)(?:\s*[^\W\d_]+)?")
_SIGNED = re.compile(
    r"^\W*(?:is\s+)?(?P<a>[^<>=]+?)\s*(?P<sign><=|>=|<|>)\s*(?P<b>[^<>=]+?)[?.\s]*$", re.IGNORECASE
)
_SAID = {"<": "less than", ">": "more than", "<=": "at most", ">=": "at least"}
_SIGNS = {"more": ">", "least": ">=", "most": "<=", "less": "<"}


def _side(text: str) -> str:
    if expression := expression_of(text):
        return expression
    bare = without_things(re.sub(r"^[$€£]\s*|\s*[$€£]$", "", text))
    if re.fullmatch(r"-?\d[\d,]*(?:\.\d+)?(?:\s*[^\W\d_]+)?", bare):
        return bare
    said = measured(re.sub(r"^an?\s+(?=[^\W\d_]+$)", "1 ", text))  # "an acre"
    found = quantities(said)  # "a 9 ft plank", "12 oz of butter"
    return found[0][2] if len(found) == 1 and len(re.findall(r"\d[\d,.]*", said)) == 1 else ""


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


def _first_of_two(text: str, asked: re.Match[str]) -> tuple[str, dict[str, str]] | None:
    """Whether the one or the other of two measures is more: "1 lb 12 oz or 800 g: is the first one heavier?"."""
    parts = _OR.split(measured(text))
    sides = [" + ".join(one[2] for one in quantities(part)) for part in parts]
    if len(sides) != 2 or not all(sides):
        return None
    more = (asked["more"] is not None) == (asked["which"].lower() == "first")
    return "calculate", {"expression": f"({sides[0]}) {'>' if more else '<'} ({sides[1]})"}


def comparison_of(text: str) -> tuple[str, dict[str, str]] | None:
    """The call that weighs two numbers, quantities, dates or times against each other; None: nothing is compared.

    ``Is 17 times 23 more than 400?``, ``the larger of 34 and 28``, ``is 2024-05-01 before 3 June 2024``, ``3 < 4``.
    """
    if len(text) > MAX_CHARACTERS:
        return None
    text = _ASIDE.sub("", _YES_OR_NO.sub("", text))
    if (of_two := _FIRST_ONE.search(text)) is not None:
        return _first_of_two(text[: of_two.start()], of_two)
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
