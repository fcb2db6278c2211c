"""What a number column is measured in, by its name."""

import re

from pointwork.agents.readings import conversions

# How the end of a column's name says a unit that the calculator spells otherwise.
_SPELLED = {
    "kmh": "km/h",
    "ms": "m/s",
    "c": "degC",
    "f": "degF",
    "l": "litres",
    "celsius": "degC",
    "hrs": "hours",
}
_NAMED = frozenset(
    re.findall(
        r"\w+",
        """
        mm cm km kg g mg t knots kwh kw w litres liters ml metres meters m miles hpa bar lb oz minutes hours seconds
        feet
        """,
    )
)
# "min" after one of these are minutes: min_c and team_min are the least of something.
_LASTS = frozenset(["duration", "time", "length", "flight", "journey", "runtime"])


def unit_named(column: str) -> str:
    """The unit that the end of a name says; empty where it says none."""
    *others, last = re.findall(r"[^_\W]+", column.lower()) or [""]
    if last in ("min", "mins") and _LASTS & set(others):
        return "minutes"
    return _SPELLED.get(last, last if last in _NAMED else "")


_PERCENT = re.compile(r"%|(?:^|_|\W)(?:pct|perc|percent|percentage|per_?cent)(?=$|_|\W)", re.IGNORECASE)


def in_percent(column: str) -> bool:
    """Whether the name of a column says that its numbers are percentages."""
    return _PERCENT.search(column) is not None


def measures(column: str, unit: object) -> bool:
    """Whether a column is measured in this unit, or one of its kind."""
    name = unit_named(column)
    return bool(name) and conversions.compatible(conversions.unit_of(name), unit)
