"""What a text that names measures asks for as one calculation: another unit, a rate, an area, a speed."""

import re

from pointwork.agents.readings import Reading
from pointwork.agents.readings.conversions import (
    COUNTRY,
    UNIT,
    asked_unit,
    by_factor,
    compatible,
    in_parts,
    measured,
    quantities,
    stated_factor,
    unit_of,
)
from pointwork.errors import ToolError
from pointwork.tools import units


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
    if (meant := units.of_the_same_country(asked[0], text)) != asked[0]:
        asked = meant, unit_of(meant)
    if (covered := _covered(text, *asked)) is not None:
        return covered
    if (warmed := _by_degrees(text, asked[1])) is not None:
        return warmed
    if (flowed := _over_time(text, *asked)) is not None:
        return flowed
    if (of_two := _of_two(text, *asked)) is not None:
        return of_two
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
    others = set(re.findall(r"\d+(?:\.\d+)?", rest)) - {q[2].split()[0] for q in fitting}
    same = all(q[3] == unit for q in fitting)
    if same:
        return None
    return Reading("calculate", {"expression": f"({written}) to {in_parts(text, name)}"}, 0.6 if others else 1.0)


def _of_two(text: str, name: str, unit: object) -> Reading | None:
    """What two measures come to, multiplied or divided, if only so it is of the kind that is asked for.

    1800 watts for 5 hours in kWh, 4.7 GB at 50 megabits per second in seconds, 10 km in 52 minutes in km/h.
    """
    found = quantities(text)
    if len(found) != 2 or compatible(found[0][3], found[1][3]) or any(_of_none(one[3]) for one in found):
        return None
    rest = text
    for start, end, *_ in found:
        rest = rest[:start] + " " * (end - start) + rest[end:]
    if set(re.findall(r"\d+(?:\.\d+)?", rest)) - {"1"} or any(_RATE.match(text, one[1]) for one in found):
        return None
    (_, _, a, first), (_, _, b, second) = found
    ways = [
        written
        for written, made in (
            (f"({a}) * ({b})", _together(first, second, 1)),
            (f"({a}) / ({b})", _together(first, second, -1)),
            (f"({b}) / ({a})", _together(second, first, -1)),
        )
        if made is not None and compatible(made, unit)
    ]
    return Reading("calculate", {"expression": f"({ways[0]}) to {name}"}, 1.0) if ways else None


def _of_none(unit: object) -> bool:
    """Whether a unit is a mere number: per cent."""
    return bool(getattr(unit, "dimensionless", False))


def _together(first: object, second: object, power: int) -> object | None:
    try:
        return units.combined(first, second, power)
    except ToolError:
        return None


# "I need bar.", "My listing needs square metres.", "103.1 °F. Celsius please"
_WANTS = (
    r"(?:needs?|wants?|gives?|tells?|shows?|says?|only\s+(?:takes?|knows?)|works?\s+in|figures?\s+in)\s+"
    r"(?:(?:me|us|it|that)\s+)?(?:in\s+)?"
)
_NEEDED_UNIT = re.compile(
    rf"(?:\b{_WANTS}|(?:^|[.:;,–-]\s+)(?:and\s+)?(?:in\s+)?)(?:the\s+|plain\s+|decimal\s+|whole\s+)?(?P<unit>{UNIT})"
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


# "How many grams are there in an ounce?", "How many minutes does a full week have?", "What is a mile in km?"
_ONE = rf"(?:an?|one|1)\s+(?:full\s+|whole\s+|single\s+)?(?P<unit>{UNIT})"
_ONE_OF = re.compile(
    r"\bhow\s+many\s+\S+(?:\s+\S+)?\s+"
    rf"(?:(?:are\s+)?(?:there\s+)?in|make(?:s|\s+up)?|equals?|do(?:es)?|has|have|is)\s+{_ONE}"
    r"(?:\s+(?:have|hold|contain|make))?\s*[?.!]*\s*$|"
    rf"^\W*(?:what(?:['’]s|\s+is)|convert)\s+{_ONE.replace('unit', 'unit2')}\s+(?:in|to|into|as)\b",
    re.I,
)


def _of_one(text: str, name: str, unit: object) -> Reading | None:
    """One of a unit in another."""
    match = _ONE_OF.search(text)
    written = (match["unit"] or match["unit2"]) if match else ""
    other = unit_of(written) if written else None
    if other is None or not compatible(other, unit) or other == unit:
        return None
    return Reading("calculate", {"expression": f"(1 {written}) to {name}"}, 1.0)


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
_ASIDE = re.compile(r"\s*\([^()]*(?:=|\^|\beach\b|\bare\s+(?:one|1|an?)\b)[^()]*\)", re.I)
_LITRES_PER = r"(?:l|lit(?:re|er)s?)\s*(?:/|per)\s*100\s*(?:km|kilomet(?:re|er)s?)\b"
_MILES_PER = rf"(?:mpg\b|(?:miles|mi)\s*(?:per|to the|to a|an?|/)\s*(?P<whose>(?:{COUNTRY}\s+)?)gallon\b)"
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
    """What comes together at a rate, "15 ml a minute. How many litres in a day?"; a rate in another unit."""
    if compatible(unit, unit_of("hour")):
        return None
    every = quantities(text)
    found = [(one, rate) for one in every if (rate := _RATE.match(text, one[1]))]
    if len(found) == 1 and compatible(found[0][0][3], unit):
        (_, _, amount, _), rate = found[0]
        written, behind = f"{amount} / {rate['per']}", rate.end()
    elif len(found) == 1 and len(re.findall(r"\d+(?:\.\d+)?", text)) == 1:
        (_, _, amount, measure), rate = found[0]
        made = _together(measure, unit_of(rate["per"]), -1)
        fits = made is not None and compatible(made, unit)
        return Reading("calculate", {"expression": f"({amount} / {rate['per']}) to {name}"}, 1.0) if fits else None
    elif len(every) == 1 and compatible(_together(every[0][3], unit_of("hour"), 1), unit):  # 90 km/h
        written, behind = every[0][2], every[0][1]
    else:
        return None
    lasting = _LASTING.search(text, behind)
    if lasting is None or len(re.findall(r"\d+(?:\.\d+)?", text)) > 1 + bool(
        lasting["n"] and lasting["n"][0].isdigit()
    ):
        return None
    count = lasting["n"] if lasting["n"] and lasting["n"][0].isdigit() else "1"
    return Reading(
        "calculate", {"expression": f"{written} * {count} {lasting['unit'] or lasting['one']} to {name}"}, 1.0
    )
