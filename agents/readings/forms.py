"""Problems of a form that everybody knows: what is left over, shares in a ratio, round things, change from notes.

What pairs of numbers say of them is seldom right: a remainder is no step of two numbers, nor is a root. Each
form is read only where it accounts for all numbers of a text.
"""

import re

from pointwork.agents.readings import Reading
from pointwork.numerals import in_figures
from pointwork.text import NUMBER_WORDS

SURE = 0.9
"""How likely such a reading is right."""

_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_FIGURE = re.compile(rf"(?<![\w.]){_NUMBER}")
_MOMENT = re.compile(r"\d:\d\d\b|\d{4}-\d\d-\d\d|%|\bper\s?cent\b", re.IGNORECASE)
_LENGTH = r"(?:m|cm|mm|km|met(?:re|er)s?|centimet(?:re|er)s?|feet|foot|ft|inch(?:es)?|yards?)"

_HELD = (
    r"(?:bags?|box(?:es)?|packs?|packets?|trays?|rows?|crates?|cartons?|jars?|shel(?:f|ves)|tables?|teams?|groups?|bunche?s?|"
    r"bundles?|boats?|cars?|minibus(?:es)?|bus(?:es)?|coach(?:es)?|vans?|pages?|sets?|pairs?|lots?|piles?|baskets?|cases?|sacks?|tins?)"
)
_CONTAINERS = re.compile(
    rf"\b(?:in|into|up\s+in|make|form|fill|by)\s+(?:full\s+|whole\s+|equal\s+)?{_HELD}\s+of\s+(?P<of>{_NUMBER})\b|"
    rf"\b(?P<to>{_NUMBER})(?:\s+[a-z]+)?\s+(?:to|in|per|fit\s+in|go\s+(?:in|into|on)|on)\s+(?:an?|each|every|one)\s+{_HELD}\b|"
    rf"\b(?:each|every)\s+{_HELD}\s+(?:holds|takes|fits|seats|has\s+room\s+for)\s+(?P<holds>{_NUMBER})\b",
    re.IGNORECASE,
)
_LEFT_OVER = re.compile(
    r"\b(?:left\s*-?\s*over|(?:are|is|will\s+be|stay|have\s+I|do\s+I\s+have)\s+(?:left|over|spare)|"
    r"left\s+(?:without|out)|remain(?:s|ing|der)?|spare)\b",
    re.IGNORECASE,
)
_NOT_LEFT = re.compile(
    r"\b(?:nothing|none|no\s+\w+|without\s+any(?:thing)?)\s+(?:\w+\s+){0,2}(?:left|over|remaining)\b|"
    r"\b(?:sold|sells?|ate|eats?|used|uses?|gave|gives?|gone|broken?|lost|took|takes\s+away|bought|spent)\b",
    re.IGNORECASE,
)

_RATIO = re.compile(
    r"\bratio\s+(?:of\s+)?(?P<parts>\d+(?:(?:\s*:\s*|\s+to\s+)\d+)+)|(?<![\d:])(?P<bare>\d+(?:\s*:\s*\d+)+)(?![\d:])",
    re.IGNORECASE,
)
_SHARED = re.compile(r"\b(?:share|split|divide)\w*\b", re.IGNORECASE)
_NAMES = re.compile(r"\b[A-Z][a-z]+(?:\s*,\s*[A-Z][a-z]+)*\s+and\s+[A-Z][a-z]+\b")
_LARGEST = re.compile(r"\b(?:larger|largest|bigger|biggest|greater|greatest)\b", re.IGNORECASE)
_SMALLEST = re.compile(r"\b(?:smaller|smallest|lesser|least)\b", re.IGNORECASE)

_ROUND = re.compile(r"\b(?:round|circular|circle|wheel|disc|disk)\b", re.IGNORECASE)
_ACROSS = re.compile(
    rf"\b(?P<n>{_NUMBER})[\s-]*{_LENGTH}\s+(?:across|in\s+diameter|wide)\b|\bdiameter\s+(?:of\s+|is\s+)?(?P<d>{_NUMBER})|"
    rf"\bradius\s+(?:of\s+|is\s+)?(?P<r>{_NUMBER})",
    re.IGNORECASE,
)
_AROUND = re.compile(
    r"\b(?:circumference|perimeter|way\s+(?:a)?round|edging|length\s+of\s+the\s+edge)\b", re.IGNORECASE
)
_AREA = re.compile(r"\b(?:area|surface|square\s+\w+)\b", re.IGNORECASE)

_UPRIGHT = re.compile(r"\b(?:ladder|ramp|wire|rope|stay|slide)\b", re.IGNORECASE)
_UP = re.compile(
    rf"\b{_NUMBER}\s*{_LENGTH}\s+(?:up|high|above)\b|\b(?:height|up)\b[^.?!]*?{_NUMBER}", re.IGNORECASE
)
_OUT = re.compile(rf"\b{_NUMBER}\s*{_LENGTH}\s+(?:out|away|from)\b", re.IGNORECASE)
_HOW_LONG = re.compile(r"\bhow\s+long\s+(?:is|must|does|should|a)\b|\blength\s+of\s+the\b", re.IGNORECASE)
_DIAGONAL = re.compile(r"\b(?:diagonal(?:ly)?|corner\s+to\s+(?:the\s+opposite\s+)?corner)\b", re.IGNORECASE)
_BY = re.compile(
    rf"\b{_NUMBER}(?:\s*{_LENGTH})?\s+(?:by|x|×)\s+{_NUMBER}|\b{_NUMBER}\s*{_LENGTH}\s+(?:long|wide)\b[^.?!]*\b{_NUMBER}\s*"
    rf"{_LENGTH}\s+(?:wide|long)\b",
    re.IGNORECASE,
)

_NICKNAMES = {"fiver": "five", "tenner": "ten", "twentie": "twenty", "fiftie": "fifty", "hundred": "100"}
_NOTES = re.compile(
    r"(?P<paid>\b(?:with|gave|give|hand(?:ed)?|paid|pay|tendered|from|out\s+of)\s+(?:(?:him|her|them|over|the\s+\w+)\s+)?)"
    r"(?P<count>an?|one|two|three|four|five|six|[2-6])\s+(?P<note>fiver|tenner|five|ten|twent(?:y|ie)|fift(?:y|ie)|hundred|5|10|20|50|100)"
    r"(?P<many>s?)(?:[\s-]+(?:pound|euro|dollar|crown|franc)s?)?(?P<paper>[\s-]+(?:note|bill)s?)?(?=\s*(?:[;:?!)]|[.,](?!\d)|$|\b(?:and|for|at|what|how)\b))",
    re.IGNORECASE,
)


def in_money(text: str) -> str:
    """A text with notes that something is paid with as their sum: "with two twenties" is "with 40"."""

    def worth(said: re.Match[str]) -> str:
        count, note = said["count"].lower(), said["note"].lower()
        number = 1 if count in ("a", "an") else int(NUMBER_WORDS.get(count, count))
        if number > 1 and not (said["many"] or said["paper"]):
            return said[0]  # "with two ten" is none
        note = _NICKNAMES.get(note, note)
        return f"{said['paid']}{number * int(NUMBER_WORDS.get(note, note))}"

    return _NOTES.sub(worth, text)


def of_form(text: str) -> Reading | None:
    """The expression of a problem of a known form; None: it is of none."""
    said = in_figures(text)
    for form in (_in_ratio, _left_over, _round_thing, _third_side):
        if (expression := form(said)) is not None:
            return Reading("calculate", {"expression": expression}, SURE)
    return None


def _figures(text: str) -> list[str]:
    return [one.replace(",", "") for one in _FIGURE.findall(re.sub(r",(?!\d{3}\b)", " ", text))]


def _left_over(text: str) -> str | None:
    """100 lids in bags of 12: 4 are left over."""
    holds = _CONTAINERS.search(text)
    if holds is None or not _LEFT_OVER.search(text) or _NOT_LEFT.search(text) or _MOMENT.search(text):
        return None
    each = next(one for one in holds.group("of", "to", "holds") if one).replace(",", "")
    figures = _figures(text)
    if len(figures) != 2 or each not in figures or any("." in one for one in figures):
        return None
    every = next((one for one in figures if one != each), each)
    return f"{every} mod {each}" if int(every) > int(each) > 1 else None


def _in_ratio(text: str) -> str | None:
    """70 in the ratio 5:9: 25 and 45."""
    ratio = _RATIO.search(text)
    if ratio is None or not _SHARED.search(text) or (ratio["bare"] and "ratio" not in text.lower()):
        return None
    rest = f"{text[: ratio.start()]} {text[ratio.end() :]}"
    parts, figures = re.findall(r"\d+", ratio["parts"] or ratio["bare"]), _figures(rest)
    place = _share_of(rest, [int(one) for one in parts])
    if len(figures) != 1 or place is None or _MOMENT.search(rest):
        return None
    return f"{figures[0]} * {parts[place]} / ({' + '.join(parts)})"


def _share_of(text: str, parts: list[int]) -> int | None:
    """Which share is asked for: the larger one, or that of somebody whose name stands in its place."""
    asked = re.split(r"(?<=[.!;])\s", text)[-1]
    for pattern, best in ((_LARGEST, max), (_SMALLEST, min)):
        if pattern.search(asked):
            return parts.index(best(parts)) if parts.count(best(parts)) == 1 else None
    said = _NAMES.search(text)
    names = re.findall(r"[A-Z][a-z]+", said[0]) if said else []
    wanted = [place for place, name in enumerate(names) if re.search(rf"\b{name}\b", asked)]
    return wanted[0] if len(names) == len(parts) and len(wanted) == 1 else None


def _round_thing(text: str) -> str | None:
    """π r², or 2 π r, of what is round."""
    across = _ACROSS.search(text)
    if across is None or not _ROUND.search(text) or len(_measures(text)) != 1 or _MOMENT.search(text):
        return None
    radius = across["r"] or f"{across['n'] or across['d']} / 2"
    if _AROUND.search(text):
        return f"2 * pi * ({radius})"
    return f"pi * ({radius}) ^ 2" if _AREA.search(text) else None


def _third_side(text: str) -> str | None:
    """How long what leans, or goes from corner to corner, is."""
    leans = _UPRIGHT.search(text) and _UP.search(text) and _OUT.search(text) and _HOW_LONG.search(text)
    measures = _measures(text)
    if not (leans or (_DIAGONAL.search(text) and _BY.search(text))) or len(measures) != 2 or _MOMENT.search(text):
        return None
    return f"sqrt({measures[0]} ^ 2 + {measures[1]} ^ 2)"


def _measures(text: str) -> list[str]:
    """The numbers of a text but those that say how it is rounded."""
    return _figures(re.sub(r"\bto\s+\d+\s+(?:decimal|place|digit)\w*", " ", text, flags=re.IGNORECASE))
