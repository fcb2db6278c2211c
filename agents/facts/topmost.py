"""The rows with the most or the least of something, where a task speaks of such a one.

A query for it is seldom found in a task that goes on from there ("What does our dearest bike cost with three new
tyres?"); what the row holds is then needed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from pointwork.agents.facts.gathered import SUPERLATIVE, Fact, cut
from pointwork.agents.facts.groups import Group, named_groups
from pointwork.agents.facts.rows import Row, Rows
from pointwork.agents.parsing.telling import spoken
from pointwork.agents.readings import lexicon
from pointwork.text import tokenize
from pointwork.tools.catalog import Column, TableInfo

COLUMNS, GROUPS = 2, 1
"""By which the most is looked for, in the table that the task speaks of most likely; of so many things named."""

# names of columns of numbers that only tell rows apart
_IDENTIFIES = re.compile(r"(?:^|[ _-])(?:id|no|nr|number|code|year)$", re.IGNORECASE)

_ENDS = (("lowest", "highest"), ("earliest", "latest"))
_MOMENT = lexicon.LAST | lexicon.FIRST


Key = TypeVar("Key")
Meant = Mapping[tuple[TableInfo, str], float]
"""How likely a column of a table is spoken of."""


def asked_end(task: str) -> int:
    """1 where a task speaks of what has the most of something, -1 of what has the least, 0 of neither."""
    if not SUPERLATIVE.search(task):
        return 0
    return -1 if set(tokenize(task)) & (lexicon.DOWN | lexicon.FIRST) else 1


def extreme_of(worths: Mapping[Key, float], end: int) -> Key | None:
    """Who has the most, or the least where ``end`` is below 0; None where that are several."""
    best = (max if end > 0 else min)(worths.values(), default=None)
    found = [key for key, worth in worths.items() if worth == best]
    return found[0] if len(found) == 1 and len(worths) > 1 else None


def measures(table: TableInfo) -> list[int]:
    """The columns of numbers that measure something: none that only tells rows apart, as the first often does."""
    return [
        at
        for at, column in enumerate(table.own)
        if column.kind == "number" and not _IDENTIFIES.search(column.name) and (at or column.distinct < table.rows)
    ]


def meant_first(tables: Sequence[TableInfo], meant: Meant) -> list[TableInfo]:
    """Tables, those of whose columns is likeliest spoken first."""
    return sorted(tables, key=lambda table: -sum(meant.get((table, one.name), 0.0) for one in table.own))


def topmost(task: str, every: Rows, likely: Sequence[TableInfo], meant: Meant) -> Iterator[Fact]:
    """Of the likeliest table the rows with the most of what is likeliest spoken of, or the least; none of several.

    Args:
        task: the user's words.
        every: the rows of the folder's tables.
        likely: those that the task may speak of, the likeliest first.
        meant: how likely queries for the task ask for a column.
    """
    end = asked_end(task)
    if likely and end:
        table = meant_first(likely, meant)[0]
        rows = [row for row in every.rows if row.table is table]
        yield from _topmost(rows, "", frozenset(tokenize(task)), end, meant)


def topmost_of(
    task: str, every: Rows, likely: Sequence[TableInfo], meant: Meant, limits: Sequence[Group] = ()
) -> Iterator[Fact]:
    """The same, and the same arguments, of the rows that are about what is named: Corry's heaviest load.

    And of those beyond a limit (``limits``): the oldest host with at least 64 GB.
    """
    end, order = asked_end(task), meant_first(likely, meant)
    for group in limits[:GROUPS] if end else ():
        yield from _topmost(group.rows, f" where {group.which}", frozenset(tokenize(task)), end, meant)
    named = named_groups(task, every, likely) if end else []
    of = [group for group in named if group.rows[0].table in order]
    for group in sorted(of, key=lambda one: (-one.share, order.index(one.rows[0].table)))[:GROUPS]:
        yield from _topmost(group.rows, f" where {group.which}", frozenset(tokenize(task)), end, meant)


def _topmost(rows: Sequence[Row], which: str, stems: frozenset[str], end: int, meant: Meant) -> Iterator[Fact]:
    if not rows:
        return
    table = rows[0].table
    told_of: set[int] = set()
    for at, column in _compared(table, stems, meant)[:COLUMNS]:
        worths = {place: _worth(row.cells[at], column) for place, row in enumerate(rows) if row.cells[at]}
        if (place := extreme_of(worths, end)) is not None and place not in told_of:
            told_of.add(place)
            most = _ENDS[column.kind == "date"][end > 0]
            told = rows[place].told.partition(": ")[2]
            text = f"{table.name} of the {most} {spoken(column.name)}{which}: {told}"
            yield Fact(table.evidence, cut(text), rows[place])


def _compared(table: TableInfo, stems: frozenset[str], meant: Meant) -> list[tuple[int, Column]]:
    """Columns of numbers and days, the likeliest first; days only where the last or first is asked for."""
    measured = measures(table)
    found = [
        (at, column)
        for at, column in enumerate(table.own)
        if at in measured or (column.kind == "date" and stems & _MOMENT)
    ]
    return sorted(
        found,
        key=lambda one: (
            one[1].kind != "date",
            -len(stems & set(tokenize(one[1].name))),
            -meant.get((table, one[1].name), 0.0),
        ),
    )


def _worth(cell: str, column: Column) -> float:
    return float(cell if column.kind == "number" else re.sub(r"\D", "", cell))  # days as 20260829
