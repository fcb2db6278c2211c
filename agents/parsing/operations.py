"""What two values can come to: numbers, dates, times, and whether one is more than the other."""

import calendar
import math
from datetime import date

from pointwork.agents.parsing.amounts import DATE, NUMBER, TIME, TRUTH

CONSTANTS = (
    1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0, 24.0, 30.0, 52.0, 60.0, 100.0, 365.0, 1000.0, 0.5,
)  # fmt: skip
"""Numbers that no text has to say: days of a week, minutes of an hour, a dozen."""

SUMS = ("+", "-", "r-", "*", "/", "r/", "pct", "pless", "rpless", "pmore", "rpmore", "share", "rshare")
COMPARED = (">", "<", ">=", "<=")
SHIFTS = ("+days", "-days", "+weeks", "-weeks", "+months", "-months", "+years", "-years")
APART = ("days", "weeks", "months", "years")
CLOCK = ("+minutes", "-minutes", "+hours", "-hours")
LASTS = ("minutes", "hours")
COPY = "copy"
OPERATIONS = (*SUMS, *COMPARED, *SHIFTS, *APART, *CLOCK, *LASTS, COPY)
"""What joins two values; ``r`` takes them the other way round, ``pct`` is so many per cent of, ``pless`` and
``pmore`` that much less and more, ``share`` the one as a percentage of the other; ``copy`` takes one as it is."""

WRITTEN = {
    "pct": "{0} / 100 * {1}",
    "pless": "{0} * (100 - {1}) / 100",
    "pmore": "{0} * (100 + {1}) / 100",
    "share": "{0} / {1} * 100",
}
"""How the calculator is told what is no sign of arithmetic."""

_YEAR = 1900
_LARGEST = 1e12


def kind_of(operation: str, first: int, second: int) -> int | None:
    """The kind of what two values come to; None: they can not be joined so."""
    kinds = {first, second}
    if operation in SUMS:
        return NUMBER if kinds == {NUMBER} else None
    if operation in COMPARED:
        return TRUTH if first == second != TRUTH else None
    if operation in APART or operation in LASTS:
        return NUMBER if kinds == {DATE if operation in APART else TIME} else None
    if operation in SHIFTS or operation in CLOCK:
        moment = DATE if operation in SHIFTS else TIME
        return moment if kinds == {moment, NUMBER} else None
    return None


def applied(operation: str, a: float, b: float, first: int = NUMBER) -> float:
    """What two values come to; not finite where they come to nothing.

    Args:
        operation: of ``OPERATIONS``, one that ``kind_of`` allows.
        a, b: in the form of their kinds.
        first: the kind of ``a``.
    """
    try:
        if operation in SHIFTS or operation in CLOCK:
            return _moved(operation, *((b, a) if first == NUMBER else (a, b)))
        if operation[0] == "r":
            a, b, operation = b, a, operation[1:]
        return _joined(operation, a, b)
    except (ZeroDivisionError, ValueError, OverflowError):
        return math.nan


def goes_on(value: float, kind: int) -> bool:
    """Whether a value of this kind is one to calculate on with: finite, no number below zero."""
    return math.isfinite(value) and abs(value) <= _LARGEST and (kind != NUMBER or value >= 0)


def _joined(operation: str, a: float, b: float) -> float:
    made = {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a / b,
        "pct": lambda: a * b / 100,
        "pless": lambda: a * (1 - b / 100),
        "pmore": lambda: a * (1 + b / 100),
        "share": lambda: a / b * 100,
        ">": lambda: float(a > b),
        "<": lambda: float(a < b),
        ">=": lambda: float(a >= b),
        "<=": lambda: float(a <= b),
        "days": lambda: abs(a - b),
        "weeks": lambda: abs(a - b) / 7,
        "months": lambda: float(_full_months(a, b)),
        "years": lambda: float(_full_months(a, b) // 12),
        "minutes": lambda: abs(a - b),
        "hours": lambda: abs(a - b) / 60,
    }
    return made[operation]()


def _moved(operation: str, moment: float, by: float) -> float:
    if by >= _YEAR:
        return math.nan  # 2026 is no number of days
    by, unit = (-by if operation[0] == "-" else by), operation[1:]
    if unit in ("minutes", "hours"):
        return (moment + by * (60 if unit == "hours" else 1)) % 1440
    if by != int(by):
        return math.nan  # half a month
    if unit in ("days", "weeks"):
        return moment + by * (7 if unit == "weeks" else 1)
    day = date.fromordinal(int(moment))
    year, month = divmod(day.year * 12 + day.month - 1 + int(by) * (12 if unit == "years" else 1), 12)
    last = calendar.monthrange(year, month + 1)[1]
    return float(date(year, month + 1, min(day.day, last)).toordinal())


def _full_months(a: float, b: float) -> int:
    first, last = (date.fromordinal(int(one)) for one in sorted((a, b)))
    return (last.year - first.year) * 12 + last.month - first.month - (last.day < first.day)
