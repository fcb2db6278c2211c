"""Quantities with units. The one place that touches pint; its registry is built on first use (0.2 s)."""

import importlib
import re
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from pointwork.errors import ToolError
from pointwork.tools.arithmetic import Number, check, show

_ALIASES = {
    "c": "degC",
    "cc": "cm^3",
    "celsius": "degC",
    "centigrade": "degC",
    "f": "degF",
    "fahrenheit": "degF",
    "fl_oz": "fluid_ounce",
    "floz": "fluid_ounce",
    "kelvins": "kelvin",
    "kmh": "km/h",
    "kmph": "km/h",
    "light_years": "light_year",
    "lightyears": "light_year",
    "sqft": "ft^2",
    "sqkm": "km^2",
    "sqm": "m^2",
    "sqmi": "mile^2",
    "tonnes": "metric_ton",
    "metric_tons": "metric_ton",
    "μm": "um",
}
_CURRENCY = re.compile(
    r"usd|eur|gbp|jpy|cny|inr|chf|dollars?|euros?|pounds? sterling|yen|yuan|rupees?|francs?", re.I
)
_FACTOR = re.compile(r"\s*([^\W\d]+)\s*(?:(?:\^|\*\*)\s*(-?\d)|([23])(?!\d))?")
_EXAMPLES = {
    "[length]": "m, km, cm, inch, ft, mile",
    "[mass]": "kg, g, lb, oz",
    "[time]": "s, min, hour, day, week",
    "[temperature]": "degC, degF, K",
    "[length] ** 3": "liter, ml, gallon, cup, m^3",
    "[length] ** 2": "m^2, acre, hectare, ft^2",
    "[length] / [time]": "m/s, km/h, mph",
}
_SYMBOLS = {"degree_Celsius": "degC", "degree_Fahrenheit": "degF", "delta_degree_Celsius": "delta_degC"}
_COMMON = """
mm cm m km inch inches ft feet yard mile nautical_mile m^2 hectare acre km^2 ft^2 m^3 mg g kg t tonne lb oz ml cl l
litre liter gallon pint s second min minute h hour day week month year km/h kmh m/s mph knot degC degF celsius
fahrenheit K J kJ Wh kWh kcal W watt kW kilowatt horsepower hPa bar psi A V Hz kHz
"""
_lock = threading.Lock()
_registry: Any = None


def registry() -> Any:
    """pint's registry, exact: its factors are fractions."""
    global _registry
    with _lock:
        if _registry is None:
            _registry = importlib.import_module("pint").UnitRegistry(non_int_type=Fraction)
        return _registry


@dataclass(frozen=True)
class Measure:
    """A number with a unit (pint's object)."""

    magnitude: Number
    unit: Any

    @property
    def quantity(self) -> Any:
        """The same as pint's quantity."""
        return registry().Quantity(self.magnitude, self.unit)


Value = Fraction | float | Measure


def unit_named(name: str) -> Any:
    """pint's unit for one word in singular, plural, short or long form, any case.

    Raises:
        ToolError: there is no such unit.
    """
    if name.lower() in ("dimensionless", "count") or len(name) > 40 or not re.fullmatch(r"[^\W\d]+", name):
        raise ToolError(f"unknown unit or name {name[:40]!r}")
    if name.lower() in ("kilo", "kilos"):  # pint would read kiloseconds
        name = "kg"
    for candidate in (name, _ALIASES.get(name.lower()), name.lower(), name.lower().removesuffix("s")):
        if candidate and (unit := _try_unit(candidate)) is not None:
            return unit
    if _CURRENCY.fullmatch(name):
        raise ToolError(f"{name!r} is a currency: there are no exchange rates here")
    raise ToolError(f"unknown unit or name {name!r}")


def _try_unit(name: str) -> Any:
    try:
        return registry().parse_units(name)
    except Exception:  # pint raises half a dozen kinds for words that are no unit
        return None


def parse_unit(text: str) -> Any:
    """A whole unit such as ``km/h``, ``kg m^2 / s^2``, ``miles per hour``, ``m3``.

    Raises:
        ToolError: it is not a unit.
    """
    text = spell_units(text).strip()
    found: Any = registry().Unit("")
    at, sign = 0, 1
    while at < len(text):
        match = _FACTOR.match(text, at)
        if match is None:
            raise ToolError(f"{text!r} is not a unit")
        found = found * unit_named(match[1]) ** (sign * int(match[2] or match[3] or 1))
        operator = re.compile(r"\s*([*·/]?)\s*").match(text, match.end())
        at, sign = (operator.end(), -1 if operator[1] == "/" else 1) if operator else (match.end(), 1)
        if operator and operator[1] and at == len(text):
            raise ToolError(f"{text!r} is not a unit")
    if not text:
        raise ToolError("a unit is missing")
    return found


# what is larger in Britain; after "fluid ounces" are one word
_OF_A_COUNTRY = r"(?:gallon|quart|pint|cup|gill|fluid_ounce)s?\b"
_SPELLINGS: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in [
        (r"(?:°|\bdeg(?:ree)?s?\b)\s*(?:fahrenheit|f\b)", " degF"),
        (r"(?:°|\bdeg(?:ree)?s?\b)\s*(?:celsius|centigrade|c\b)", " degC"),
        (r"°", " degree "),
        (r"\b(?:sq\.?|square)\s+(?!root)([a-z]+)", r"\1^2"),
        (r"\b(?:cu\.?|cubic)\s+(?!root)([a-z]+)", r"\1^3"),
        (r"\b(?:fl\.?\s*oz\b\.?|fluid\s+ounces?)", "fluid_ounce"),
        (rf"\bU\.?S\.?\s+(?={_OF_A_COUNTRY})", ""),
        (rf"\b(?:imperial|UK|British)\s+(?={_OF_A_COUNTRY})", "imperial_"),
        (r"\b(short|long)\s+(ton|hundredweight)s?\b", r"\1_\2"),
        (r"\bnautical\s+miles?\b", "nautical_mile"),
        (r"\blight[\s-]years?\b", "light_year"),
        (r"\bmetric\s+tons?\b", "metric_ton"),
        (r"\bper\b", "/"),
        (r"²", "^2"),
        (r"³", "^3"),
    ]
]


def spell_units(text: str) -> str:
    """Two-word and symbol units in the one-word form that the grammar takes."""
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    return text


_IMPERIAL = re.compile(r"\b(?:imperial|UK|British)\b", re.IGNORECASE)


def of_the_same_country(name: str, text: str) -> str:
    """A unit as it is meant beside others: the pints of 5 imperial gallons are imperial ones."""
    plain = re.fullmatch(_OF_A_COUNTRY, spell_units(name.strip()), re.IGNORECASE)
    said = re.search(rf"\b(?:U\.?S\.?|American)\s+{re.escape(name.strip())}", text, re.IGNORECASE)
    return f"imperial {name.strip()}" if plain and not said and _IMPERIAL.search(text) else name


def wrap(quantity: Any) -> Value:
    """pint's result as a value: a plain number where the units cancel.

    Raises:
        ToolError: the number can not be shown.
    """
    if quantity.unitless:
        return check(_number(quantity.magnitude))
    return Measure(check(_number(quantity.magnitude)), quantity.units)


def _number(value: Any) -> Number:
    return value if isinstance(value, float) else Fraction(value)


def operate(operator: str, a: Value, b: Value) -> Value:
    """``+ - * /`` between values of which at least one has a unit; a sum has the unit of its first part.

    Raises:
        ToolError: the units do not fit each other.
    """
    left: Any = a.quantity if isinstance(a, Measure) else a
    right: Any = b.quantity if isinstance(b, Measure) else b
    try:
        if operator in "+-":
            if not (isinstance(a, Measure) and isinstance(b, Measure)):
                raise ToolError(f"{describe(a)} and {describe(b)} can not be added: one has no unit")
            return wrap(left + right if operator == "+" else left - right)
        result = left * right if operator == "*" else left / right
        if isinstance(a, Measure) and isinstance(b, Measure):
            result = result.to_base_units() if result.dimensionless else result.to_reduced_units()
        return wrap(result)
    except ZeroDivisionError as error:
        raise ToolError("division by zero: the divisor is 0") from error
    except (TypeError, ValueError, AttributeError) as error:  # pint's errors are these
        raise ToolError(f"{describe(a)} {operator} {describe(b)}: {_reason(error)}") from error


def combined(first: Any, second: Any, power: int) -> Any:
    """The unit of what is measured in one times what is measured in the other to a power.

    Raises:
        ToolError: they can not be joined: degrees of a temperature.
    """
    try:
        return first * second**power
    except (TypeError, ValueError, AttributeError) as error:  # pint's errors are these
        raise ToolError(
            f"{unit_text(first)} and {unit_text(second)} can not be joined: {_reason(error)}"
        ) from error


def raise_to(a: Measure, exponent: int) -> Value:
    """A quantity to a small whole power."""
    if abs(exponent) > 9:
        raise ToolError("the power of a quantity with a unit is at most 9")
    return wrap(a.quantity**exponent)


def convert(a: Value, unit: Any) -> Measure:
    """The same quantity in another unit.

    Raises:
        ToolError: the two measure different things.
    """
    if not isinstance(a, Measure):
        raise ToolError(f"{describe(a)} has no unit: write what it is measured in")
    try:
        return Measure(check(_number(a.quantity.to(unit).magnitude)), unit)
    except (TypeError, ValueError, AttributeError) as error:
        as_degrees = _as_temperature(a, unit)
        if as_degrees is not None:
            return as_degrees
        hint = _EXAMPLES.get(_kind(a.unit))
        hint = f"; units that fit: {hint}" if hint else ""
        raise ToolError(f"{describe(a)} can not become {unit_text(unit)}: {_reason(error)}{hint}") from error


def _kind(unit: Any) -> str:
    """What a unit measures; empty of the root of one, which pint can not write."""
    try:
        return str(unit.dimensionality)
    except TypeError:
        return ""


def _as_temperature(a: Measure, unit: Any) -> Measure | None:
    """``72 F to C``: the letters are farad and coulomb, unless they can only be degrees."""
    # not by str(): pint can not write the fraction of a power
    degrees = {registry().Unit("coulomb"): "degC", registry().Unit("farad"): "degF"}
    source, target = degrees.get(a.unit), degrees.get(unit)
    if not (source or target):
        return None
    try:
        start = registry().Quantity(a.magnitude, source or a.unit)
        end = registry().Unit(target or unit)
        return Measure(check(_number(start.to(end).magnitude)), end)
    except (TypeError, ValueError, AttributeError):
        return None


def split(a: Value, units: list[Any]) -> list[Measure]:
    """The quantity in whole numbers of each unit, largest first, the rest in the last: hours and minutes."""
    parts: list[Measure] = []
    rest = convert(a, units[0])
    for unit in units[:-1]:
        rest = convert(rest, unit)
        whole = Fraction(int(rest.magnitude))
        parts.append(Measure(whole, unit))
        rest = Measure(rest.magnitude - whole, unit)
    return [*parts, convert(rest, units[-1])]


def same_kind(a: Measure, b: Measure) -> bool:
    """Whether the two measure the same thing."""
    return bool(a.unit.dimensionality == b.unit.dimensionality)


def radians(a: Measure) -> Number:
    """An angle, or a ratio, as a plain number.

    Raises:
        ToolError: it is neither.
    """
    return convert(a, registry().Unit("radian")).magnitude


def _reason(error: Exception) -> str:
    kind = type(error).__name__
    if kind == "DimensionalityError":
        return "they measure different things"
    if "Offset" in kind:
        return "temperatures with an offset (°C, °F) can only be converted or subtracted; use K or delta_degC"
    return "the units do not allow it"


def unit_text(unit: Any) -> str:
    """The unit in short form: ``km/h``, ``m^2``."""
    above: list[str] = []
    below: list[str] = []
    for name, exponent in unit._units.items():
        symbol = _SYMBOLS.get(name) or registry().get_symbol(name)
        size = abs(exponent)
        part = symbol if size == 1 else f"{symbol}^{show(_number(size))}"
        (above if exponent > 0 else below).append(part)
    text = "·".join(above) or ("1" if below else "")
    return text + (f"/{'/'.join(below)}" if below else "")


def describe(value: Value) -> str:
    """The value as text, with its unit."""
    if isinstance(value, Measure):
        return f"{show(value.magnitude)} {unit_text(value.unit)}"
    return show(value)


def factors(named: Iterable[str] = ()) -> dict[str, tuple[str, float, float]]:
    """Common units and those ``named``, by name: (dimension, factor to its base unit, what is added on top)."""
    found = dict(_common())
    for name in named:
        with suppress(ToolError):
            found.setdefault(name, _factor(name))
    return found


@cache
def _common() -> dict[str, tuple[str, float, float]]:
    return {name: _factor(name) for name in _COMMON.split()}


def _factor(name: str) -> tuple[str, float, float]:
    unit = parse_unit(name)
    kind = " ".join(f"{part}{float(power):g}" for part, power in sorted(unit.dimensionality.items()))
    zero, one = (float(registry().Quantity(value, unit).to_base_units().magnitude) for value in (0, 1))
    return kind, one - zero, zero


def is_factor(number: str) -> bool:
    """Whether a decimal number is the factor between two common units, as far as its places go (``1.852``)."""
    places = len(number.partition(".")[2])
    return places > 0 and any(round(factor, places) == float(number) for factor in _ratios())


@cache
def _ratios() -> frozenset[float]:
    known = list(_common().values())
    pairs = ((one, other) for one in known for other in known if one[0] == other[0] and one[1] != other[1])
    return frozenset(one[1] / other[1] for one, other in pairs if 0.01 < one[1] / other[1] < 1000)
