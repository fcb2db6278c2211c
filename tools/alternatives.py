"""Conditions that no row can meet together: ``month = March`` and ``month = April`` are the rows of either."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition as SQL.

    Attributes:
        sql: of the condition.
        column: that has to be equal to one value; empty of every other sort of condition.
        value: that value, written as all values of the column are.
        span: of a date the first day that it means, and the day after the last.
    """

    sql: str
    column: str = ""
    value: str = ""
    span: tuple[date, date] | None = None


def joined(conditions: Iterable[Condition]) -> list[str]:
    """Conditions to be joined by AND; of one column's that exclude each other, one has to hold.

    Two values exclude each other if they differ, two spans of time if they have no day in common: of ``2024`` and
    ``April 2024`` both have to hold.
    """
    groups: dict[tuple[str, int], list[tuple[int, Condition]]] = {}
    for place, one in enumerate(conditions):
        groups.setdefault((one.column, 0 if one.column else place), []).append((place, one))
    found: list[tuple[int, str]] = []
    for group in groups.values():
        if any(_exclude(one, other) for (_, one), (_, other) in itertools.combinations(group, 2)):
            sides = dict.fromkeys(one.sql for _, one in group)
            found.append((group[0][0], f"({' OR '.join(sides)})"))
        else:
            found += [(place, one.sql) for place, one in group]
    return [sql for _, sql in sorted(found)]


def _exclude(one: Condition, other: Condition) -> bool:
    if one.span is None or other.span is None:
        return one.value != other.value
    return one.span[1] <= other.span[0] or other.span[1] <= one.span[0]
