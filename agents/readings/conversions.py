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
_COUNTRY = r"(?:US|U\.S\.|UK|imperial|British)"
_UNIT = (
    rf"(?:{_COUNTRY}\s+)?(?:square\s+|cubic\s+|nautical\s+|metric\s+|fluid\s+|fl\.?\s+|degrees?\s+)?"
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
        for match in re.finditer(pattern.replace("{u}", _UNIT), text, re.I):
            name = re.sub(r"^(?:US|degrees?)\s+", "", match[1], flags=re.I)
            bare = re.sub(rf"^{_COUNTRY}\s+", "", name)
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
    rf"{_COUNTRY}\s+(?:fluid|fl)\.?\s+[^\W\d_]+|"
    rf"(?:nautical|square|cubic|metric|light|fluid|fl|degrees?|deg|{_COUNTRY}|sq|cu)\.?[\s-]+[^\W\d_]+|"
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
    r"\b(?:1|one|an?)\s+(?P<b2>[^\W\d_]+)\s*(?:=|is|equals|being|as)\s*(?P<n2>\d[\d,]*(?:\.\d+)?)\s*(?P<a2>[^\W\d_]+)",
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
_BELOW = {"third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10, "twelfth": 12, "sixteenth": 16}
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
_PRESSED, _BAR = re.compile(r"\b(?:psi|[kh]?pa|pascals?|mbar|atm)\b", re.I), re.compile(r"\s+bar\b", re.I)


def without_decimals(text: str) -> str:
    """A text without how many decimals are wanted: these are no amount of it."""
    return _DECIMALS.sub("", text)


def measured(text: str) -> str:
    """A text with its measures as units know them: 5 ft 11 inches, 0.75 litre, 1200 pounds."""
    text = _PART_OF.sub(lambda part: f"{OF_ONE[part[1].lower()]} ", _PARTS_OF.sub(_part, text))
    text = _FEET_INCHES.sub(r"\g<feet> inches", _UNSAID.sub(_said, in_figures(text)))
    pressure = _BAR if _PRESSED.search(text) else _PRESSURE
    return without_decimals(pressure.sub(" bars", text))


def _part(match: re.Match[str]) -> str:
    above, below = match["above"].lower(), _BELOW[match["below"].lower()]
    count = int(above) if above.isdigit() else NUMBER_WORDS.get(above, 1)
    return f"{count / below:.12g} "


def _said(match: re.Match[str]) -> str:
    return f"{match['whole']} {match['rest']} {'lb' if match['unit'].lower() == 'stone' else 'inches'}"


def conversion(text: str) -> Reading | None:
    """A quantity of the text in the unit that the question asks for; ``4 lb 6 oz`` is one quantity."""
    text = measured(text)
    if (consumed := _consumption(text)) is not None:
        return consumed
    asked = asked_unit(text) or _needed_unit(text)
    factor = stated_factor(text)
    if factor is not None:
        return by_factor(*factor, asked)
    if asked is None:
        return None
    if (covered := _covered(text, *asked)) is not None:
        return covered
    if (warmed := _by_degrees(text, asked[1])) is not None:
        return warmed
    if (flowed := _over_time(text, *asked)) is not None:
        return flowed
    if _ASIDE.search(text) and (plain := _in_unit(_ASIDE.sub(" ", text), *asked)) is not None:
        return plain
    return _in_unit(text, *asked) if quantities(text) else _of_one(text, *asked)


def _in_unit(text: str, name: str, unit: object) -> Reading | None:
    # "9 knots: how many km/h are nine knots?" is one quantity
    fitting = list({q[2]: q for q in quantities(text) if compatible(q[3], unit)}.values())
    joined = len(fitting) == 2 and text[fitting[0][1] : fitting[1][0]].strip() in ("", "and", ",")
    fitting = fitting if joined else [q for q in fitting if not (q[3] == unit and len(fitting) > 1)]
    if not fitting or len(fitting) > 2:
        return None
    if len(fitting) == 2 and not joined:
        return None
    written = " + ".join(q[2] for q in fitting)
    rest = text
    for start, end, *_ in fitting:
        rest = rest[:start] + " " * (end - start) + rest[end:]
    others = set(re.findall(r"\d+(?:\.\d+)?", rest)) - {q[2].split()[0] for q in fitting} - {"1"}  # "one stick"
    same = all(q[3] == unit for q in fitting)
    if same:
        return None
    return Reading("calculate", {"expression": f"({written}) to {in_parts(text, name)}"}, 0.6 if others else 1.0)


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


# "I need bar.", "My listing needs square metres.", "103.1 °F. Celsius please"
_WANTS = r"(?:needs?|wants?|gives?|tells?|shows?|says?|only\s+(?:takes?|knows?)|works?\s+in|figures?\s+in)\s+(?:me\s+|us\s+|it\s+|that\s+)?(?:in\s+)?"
_NEEDED_UNIT = re.compile(
    rf"(?:\b{_WANTS}|(?:^|[.:;,–-]\s+)(?:and\s+)?(?:in\s+)?)(?:the\s+|plain\s+|decimal\s+|whole\s+)?(?P<unit>{_UNIT})"
    r"(?=\s*,?\s*(?:please|pls|thanks)\b|\s*[,.?!]|\s*$)",
    re.I,
)


def _needed_unit(text: str) -> tuple[str, object] | None:
    """A unit that is named without a number and that the one quantity of a text has not."""
    found = quantities(text)
    if not found or not all(compatible(one[3], found[0][3]) for one in found):
        return None
    for match in _NEEDED_UNIT.finditer(text):
        unit = unit_of(match["unit"])
        if unit is not None and compatible(unit, found[0][3]) and all(unit != one[3] for one in found):
            return match["unit"], unit
    return None


_ONE_OF = re.compile(rf"(?:^\W*|\b(?:an?|one|1|per)\s+)(?P<unit>{_UNIT})\b", re.I)


def _of_one(text: str, name: str, unit: object) -> Reading | None:
    """One of a unit: "How many grams are in an ounce?"."""
    for match in _ONE_OF.finditer(text):
        for written in (match["unit"], match["unit"].split()[0]):
            other = unit_of(written)
            if other is not None and compatible(other, unit) and other != unit:
                return Reading("calculate", {"expression": f"(1 {written}) to {name}"}, 1.0)
    return None


_SIDE = r"(?P<n{0}>\d+(?:\.\d+)?)\s*(?P<u{0}>[^\W\d_]+(?<!by)(?<!x))?"
_SIDES = re.compile(rf"(?<![\d.]){_SIDE.format(1)}\s*(?:by|x|×)\s*{_SIDE.format(2)}", re.I)


def _covered(text: str, name: str, unit: object) -> Reading | None:
    """The area of what is so long and so wide, in a unit of area: "12 ft by 15 ft: how many square yards?"."""
    sides = _SIDES.search(text)
    if sides is None or len(re.findall(r"\d+(?:\.\d+)?", text)) != 2:
        return None
    wide = unit_of(sides["u2"] or sides["u1"] or "")
    long = unit_of(sides["u1"] or sides["u2"] or "")
    if wide is None or long is None or not compatible(units.registry().Unit("metre") ** 2, unit):
        return None
    if not (compatible(wide, long) and compatible(wide, unit_of("metre"))):
        return None
    written = f"{sides['n1']} {sides['u1'] or sides['u2']} * {sides['n2']} {sides['u2'] or sides['u1']}"
    return Reading("calculate", {"expression": f"({written}) to {name}"}, 1.0)


_DEGREES = re.compile(
    r"\b(?:by|rose|risen|rise\w*|f[ae]ll\w*|drop\w*|differ\w*|warmer|colder|hotter|cooler|range|swing)\b", re.I
)


def _by_degrees(text: str, unit: object) -> Reading | None:
    """By how many degrees something has changed, in those of another scale: 9 of Celsius are 16.2 of Fahrenheit."""
    scales = [unit_of("celsius"), unit_of("fahrenheit")]
    found = [one for one in quantities(text) if one[3] in scales]
    if unit not in scales or len(found) != 1 or not _DEGREES.search(text) or found[0][3] == unit:
        return None
    sign = "*" if unit == scales[1] else "/"
    return Reading("calculate", {"expression": f"{found[0][2].split()[0]} {sign} 1.8"}, 1.0)


# "64 GB (10^9 bytes each)", not "(12 ounces)"
_ASIDE = re.compile(r"\s*\([^()]*(?:=|\^|\beach\b)[^()]*\)", re.I)
_LITRES_PER = r"(?:l|lit(?:re|er)s?)\s*(?:/|per)\s*100\s*(?:km|kilomet(?:re|er)s?)\b"
_MILES_PER = rf"(?:mpg\b|(?:miles|mi)\s*(?:per|to the|to a|an?|/)\s*(?P<whose>(?:{_COUNTRY}\s+)?)gallon\b)"
_CONSUMED = re.compile(rf"(?P<n>\d+(?:\.\d+)?)\s*(?:(?P<litres>{_LITRES_PER})|{_MILES_PER})", re.I)
_ASKS_LITRES, _ASKS_MILES = (
    re.compile(rf"(?:\b(?:how many|in(?:to)?|to|as)\s+|[.:;,]\s+){per}", re.I) for per in (_LITRES_PER, _MILES_PER)
)


def _consumption(text: str) -> Reading | None:
    """Miles a gallon in litres per 100 km, or the other way: the one is no multiple of the other."""
    given, litres, miles = _CONSUMED.search(text), _ASKS_LITRES.search(text), _ASKS_MILES.search(text)
    if given is None or (litres is None) == (miles is None) or (given["litres"] is None) != (miles is None):
        return None
    if miles is not None:
        written = f"100 km / ({given['n']} litres) to miles per {miles['whose'].strip()} gallon"
    else:
        whose = (given["whose"] or "").strip()
        written = f"100 km / ({given['n']} miles / 1 {whose} gallon) to litres"
    return Reading("calculate", {"expression": re.sub(r" {2,}", " ", written)}, 1.0)


_TIME_UNIT = r"(?:second|minute|hour|day|week|min|h|hr)"
_RATE = re.compile(rf"\s*(?:an?|each|every|per|/)\s*(?P<per>{_TIME_UNIT})\b", re.I)
_LASTING = re.compile(
    rf"\b(?:in|over|during|for|per|after|within)\s+(?P<n>\d+(?:\.\d+)?|an?|one)\s+(?P<unit>{_TIME_UNIT})s?\b|"
    rf"\b(?:an?|per|each|every)\s+(?P<one>{_TIME_UNIT})\s*\?",
    re.I,
)


def _over_time(text: str, name: str, unit: object) -> Reading | None:
    """What comes together at a rate: "15 ml a minute. How many litres is that in a day?"."""
    if compatible(unit, unit_of("hour")):
        return None
    found = [(one, rate) for one in quantities(text) if (rate := _RATE.match(text, one[1]))]
    if len(found) != 1 or not compatible(found[0][0][3], unit):
        return None
    (_, _, amount, _), rate = found[0]
    lasting = _LASTING.search(text, rate.end())
    if lasting is None or len(re.findall(r"\d+(?:\.\d+)?", text)) > 1 + bool(
        lasting["n"] and lasting["n"][0].isdigit()
    ):
        return None
    count = lasting["n"] if lasting["n"] and lasting["n"][0].isdigit() else "1"
    written = f"{amount} / {rate['per']} * {count} {lasting['unit'] or lasting['one']} to {name}"
    return Reading("calculate", {"expression": written}, 1.0)
