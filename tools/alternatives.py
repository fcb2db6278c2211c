"""Conditions that no row can meet together: ``month = March`` and ``month = April`` are the rows of either."""

import itertools
from collections.abc import Callable, Sequence
from datetime import date

Condition = tuple[str, str, str]
"""Column, operator, value."""


def alternatives(
    conditions: Sequence[Condition], written: Sequence[str], span: Callable[[str], tuple[date, date]]
) -> list[str]:
    """Conditions as SQL, to be joined by AND; of one column's that exclude each other, one has to hold.

    Two values that a column is to be equal to exclude each other if they differ, two spans of time if they have no
    day in common: of ``2024`` and ``April 2024`` both have to hold.

    Args:
        conditions: in the order of ``written``.
        written: each of them as SQL.
        span: first day of a date as it is given, and the day after its last.

    Raises:
        ToolError: what ``span`` raises of a date that there is not.
    """
    equal: dict[str, list[int]] = {}
    for place, (column, operator, _) in enumerate(conditions):
        if operator == "=" and column.strip():
            equal.setdefault(column.strip().lower(), []).append(place)
    either: dict[int, str] = {}
    for places in equal.values():
        if len(places) > 1 and _exclude([conditions[place][2] for place in places], span):
            either.update(dict.fromkeys(places, ""))
            either[places[0]] = f"({' OR '.join(dict.fromkeys(written[place] for place in places))})"
    return [one for place, text in enumerate(written) if (one := either.get(place, text))]


def _exclude(values: Sequence[str], span: Callable[[str], tuple[date, date]]) -> bool:
    """Whether any two of some values exclude each other."""
    for one, other in itertools.combinations((value.strip().lower() for value in values), 2):
        if one == other:
            continue
        if not (_is_date(one) and _is_date(other)):
            return True
        (first, end), (begins, ends) = span(one), span(other)
        if end <= begins or ends <= first:
            return True
    return False


def _is_date(value: str) -> bool:
    return len(value) >= 4 and value[:4].isdigit() and value[4:5] in ("", "-")
