"""Numbers with a physical unit in a text, the unit that it asks for, and the conversion that it means."""

import re

from pointwork.agents.readings import Reading
from pointwork.errors import ToolError
from pointwork.numerals import in_figures
from pointwork.text import NUMBER_WORDS
from pointwork.tools import units

_QUANTITY = re.compile(
    r"(?P<n>(?<![\d/])\d+/\d+|-?\d[\d,]*(?:\.\d+)?)(?:\s*|-(?=[^\W\d_]))(?P<unit>°\s*[CF]\b|(?:kilomet|met|mile|km)\w*\s+an?\s+(?:hour|second)\b|[^\W\d_]+(?:(?:/|\s+per\s+)[^\W\d_]+)?(?:\^?[23])?)"
)
COUNTRY = r"(?:US|U\.S\.|UK|imperial|British)"
UNIT = (
    rf"(?:{COUNTRY}\s+)?(?:square\s+|cubic\s+|nautical\s+|metric\s+|fluid\s+|fl\.?\s+|degrees?\s+)?"
    r"[^\W\d_]+(?:(?:/|\s+per\s+)[^\W\d_]+)?|°\s*[CF]"
)


_MONEY_TALK = re.compile(
    r"\b(?:cost|costs|pay|pays|paid|price|fee|bill|bring|brings|brought|raise[ds]?|earn\w*|worth|spen[dt]|save[ds]?|charge[ds]?|"
    r"left|money|income|takings|rent|deposit|wage|salary|owe[ds]?|settle[ds]?)\b",
    re.I,
)


def asked_unit(text: str) -> tuple[str, object] | None:
    """The unit that a question wants its answer in: ``how many miles …``, ``… in knots``, ``… to °F``."""
    patterns = (
        r"\bhow\s+many\s+({u})",
        r"\b(?:in(?:to)?|to|as|expressed\s+in|converted\s+to)\s+(?:degrees?\s+)?({u})(?:\s*,[^?.]*)?\s*[?.!]?\s*$",
        r"\b(?:in(?:to)?|to|as)\s+(?:degrees?\s+)?({u})\b",
        r"[.:;,=]\s+({u})\s*\?",
    )
    for pattern in patterns:
        for match in re.finditer(pattern.replace("{u}", UNIT), text, re.I):
            name = re.sub(r"^(?:US|degrees?)\s+", "", match[1], flags=re.I)
            bare = re.sub(rf"^{COUNTRY}\s+", "", name)
            for candidate in (name, bare, bare.split()[0]):
                parsed = unit_of(candidate)
                if candidate.lower() in ("pound", "pounds") and _MONEY_TALK.search(text):
                    continue
                if parsed is not None:
                    return candidate, parsed
    return None


# Words that pint knows as units and people mean otherwise.
_NO_UNITS = frozenset(
    re.findall(
        r"\S+",
        """
        a an at are as am ms is in it to the this that days day h d t m c f s g b l j k u man total point
        points hand case set pair all and of for each per one two three mean bar barn rod hands nit stone
        degree degrees count counts pages page beds pole link chain perch slug turn turns cycle cycles
        person people month year week time times us bag bags barrel barrels cable
        """,
    )
)


_PERIODS = frozenset(["day", "days", "week", "month", "year", "time"])


def unit_of(name: str) -> object | None:
    name = re.sub(r"\s+an?\s+", " per ", name)  # kilometres an hour
    low = name.lower()
    per = re.search(r"(?:\s+per\s+|/)([a-z]{3,})$", low)
    if per and per[1] in _NO_UNITS - _PERIODS:
        return None
    if low in _NO_UNITS and low not in ("h", "m", "g", "l", "k", "c", "f", "stone", "day", "days", "week", "year"):
        return None
    try:
        parsed = units.parse_unit(name)
    except (ToolError, ValueError):
        return None
    return parsed if units.unit_text(parsed) else None


_TWO_WORDS = re.compile(
    rf"{COUNTRY}\s+(?:fluid|fl)\.?\s+[^\W\d_]+|"
    rf"(?:nautical|square|cubic|metric|light|fluid|fl|degrees?|deg|{COUNTRY}|sq|cu)\.?[\s-]+[^\W\d_]+|"
    r"(?:long|short)\s+(?:ton|hundredweight)s?\b",
    re.IGNORECASE,
)


_OF_ONE_THING = re.compile(r"([^\W\d_]+)(?:/|\s+per\s+)[^\W\d_]+")


def quantities(text: str) -> list[tuple[int, int, str, object]]:
    """(start, end, as written, unit) of the numbers with a physical unit in a text."""
    found: list[tuple[int, int, str, object]] = []
    spelled = text
    for match in _QUANTITY.finditer(spelled):
        name, unit = match["unit"], None
        two = _TWO_WORDS.match(spelled[match.start("unit") :])
        if two:
            unit = unit_of(two[0])
            name = two[0] if unit is not None else name
        unit = unit if unit is not None else unit_of(name)
        if unit is None and (of_one := _OF_ONE_THING.fullmatch(name)):  # "50 lb per bag" are 50 lb
            name, unit = of_one[1], unit_of(of_one[1])
        if unit is not None:
            end = match.start("unit") + len(name)
            written = re.sub(r"(?<=[a-z])(?=[23]$)", "^", name)  # 50 m3
            found.append((match.start(), end, f"{match['n']} {written}", unit))
    return found


def compatible(first: object, second: object) -> bool:
    """Whether two units measure the same thing."""
    a: object = getattr(first, "dimensionality", None)
    return a is not None and a == getattr(second, "dimensionality", None)


_FACTOR = re.compile(
    r"(?P<n>\d[\d,]*(?:\.\d+)?)\s*(?P<a>[^\W\d_]+)\s+(?:to|per|for)\s+(?:the|an?|one|each|every)\s+(?P<b>[^\W\d_]+)|"
    r"\b(?:1|one|an?)\s+(?:(?:US|UK|imperial|British)\s+)?(?P<b2>[^\W\d_]+)\s*(?:=|is|equals|being|as)\s*(?P<n2>\d[\d,]*(?:\.\d+)?)\s*(?P<a2>[^\W\d_]+)",
    re.I,
)


def stated_factor(text: str) -> tuple[str, object, object, str] | None:
    """(number, unit, per unit, text without it) of ``3.785 litres to the gallon``."""
    for match in _FACTOR.finditer(text):
        number = (match["n"] or match["n2"]).replace(",", "")
        first, per = unit_of(match["a"] or match["a2"]), unit_of(match["b"] or match["b2"])
        if first is not None and per is not None and first != per and compatible(first, per):
            return number, first, per, text[: match.start()] + text[match.end() :]
    return None


OF_ONE = {"half": "0.5", "a quarter": "0.25", "three quarters": "0.75"}
_PART_OF = re.compile(rf"\b({'|'.join(OF_ONE)})\s+(?:of\s+)?an?\s+(?=[^\W\d_]+)", re.I)
_BELOW = {
    "third": 3,
    "quarter": 4,
    "fifth": 5,
    "sixth": 6,
    "eighth": 8,
    "tenth": 10,
    "twelfth": 12,
    "sixteenth": 16,
}
_PARTS_OF = re.compile(
    rf"\b(?P<above>an?|{'|'.join(NUMBER_WORDS)}|\d{{1,2}})[\s-](?P<below>{'|'.join(_BELOW)})s?\s+of\s+an?\s+(?=[^\W\d_]+)",
    re.I,
)
_FEET_INCHES = re.compile(r"(?P<feet>\d\s*(?:ft|feet|foot)\s*\d+(?:\.\d+)?)\s*in\b", re.I)
# "13 stone 5", "5 foot 11 tall": the smaller unit goes without saying
_UNSAID = re.compile(
    r"(?P<whole>\d\s*(?P<unit>stone|ft|foot|feet))\s+(?P<rest>\d{1,2})(?=\s*(?:[,;?!]|\.(?!\d)|$|\b(?:tall|in|into|to|as)\b))",
    re.I,
)
_DECIMALS = re.compile(
    r"[\s,.;]*\(?\b(?:(?:please\s+)?(?:give|say|tell)\s+(?:it|me\s+the\s+\w+)\s+|round(?:ed)?\s+(?:it\s+)?)?"
    r"(?:to\s+|with\s+)?(?:\d+|one|two|three|four)\s+(?:decimals?(?:\s+places?)?|digits)\b(?!\s+(?:number|code|pin))\)?",
    re.I,
)
# one bar of chocolate is none; "how much is that in bar?", "pressure in bar"
_PRESSURE = re.compile(r"(?<=\d)\s*bar\b(?!\s+of\b)|(?<=\bin)\s+bar\b(?=\s*(?:[,.?]|$))", re.I)
_WATT_HOURS = re.compile(r"\b(kilo)?watt[\s-]hours?\b", re.I)
_PRESSED, _BAR = re.compile(r"\b(?:psi|[kh]?pa|pascals?|mbar|atm)\b", re.I), re.compile(r"\s+bar\b", re.I)


def without_decimals(text: str) -> str:
    """A text without how many decimals are wanted: these are no amount of it."""
    return _DECIMALS.sub("", text)


def measured(text: str) -> str:
    """A text with its measures as units know them: 5 ft 11 inches, 0.75 litre, 1200 pounds."""
    text = _PART_OF.sub(lambda part: f"{OF_ONE[part[1].lower()]} ", _PARTS_OF.sub(_part, text))
    text = _FEET_INCHES.sub(r"\g<feet> inches", _UNSAID.sub(_said, in_figures(text)))
    text = _WATT_HOURS.sub(lambda unit: f"{'k' if unit[1] else ''}Wh", text)
    pressure = _BAR if _PRESSED.search(text) else _PRESSURE
    return without_decimals(pressure.sub(" bars", text))


def _part(match: re.Match[str]) -> str:
    above, below = match["above"].lower(), _BELOW[match["below"].lower()]
    count = int(above) if above.isdigit() else NUMBER_WORDS.get(above, 1)
    return f"{count / below:.12g} "


def _said(match: re.Match[str]) -> str:
    return f"{match['whole']} {match['rest']} {'lb' if match['unit'].lower() == 'stone' else 'inches'}"


def in_parts(text: str, name: str) -> str:
    """The unit that is asked for, with the smaller one behind it: ``hours and minutes``."""
    behind = re.search(rf"\b{re.escape(name)}\s+and\s+(?P<small>[^\W\d_]+)\b", text, re.I)
    small = unit_of(behind["small"]) if behind else None
    return f"{name} and {behind['small']}" if behind and small and compatible(small, unit_of(name)) else name


def by_factor(
    number: str, unit: object, per: object, rest: str, asked: tuple[str, object] | None = None
) -> Reading | None:
    """A quantity converted with the factor that the question itself states, and on to the unit that it asks for."""
    found = [q for q in quantities(rest) if q[3] in (unit, per)]
    if len(found) != 1:
        return None
    amount = found[0][2].split()[0].replace(",", "")
    forwards = found[0][3] == per
    written = f"{amount} {'*' if forwards else '/'} {number}"
    made = unit if forwards else per
    if asked is not None and asked[1] not in (unit, per) and compatible(asked[1], made):
        written = f"{written} * 1 {units.unit_text(made)} to {asked[0]}"
    return Reading("calculate", {"expression": written}, 1.0)
