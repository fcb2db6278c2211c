"""Rows that are about a thing or a month that a task names, or about two or three of them at once."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pointwork.agents.facts.rows import Row, Rows
from pointwork.agents.parsing.telling import spoken
from pointwork.agents.readings.question import Question
from pointwork.text import tokenize
from pointwork.tools.catalog import TableInfo

_MEETS = 8  # groups that are tried with each other
_HALF = 0.5  # of a name's words, from which on a task names it


@dataclass(frozen=True)
class Group:
    """Rows of a table that have something in common, how it is said, and how much of it the task names."""

    rows: Sequence[Row]
    which: str
    share: float


def named_groups(task: str, every: Rows, likely: Sequence[TableInfo]) -> list[Group]:
    """Groups of rows, those of which the task names most first.

    Args:
        task: the user's words.
        every: the rows of the folder's tables.
        likely: the tables that the task may speak of, the likeliest first.
    """
    found = [*_named(frozenset(tokenize(task)), every), *_months(task, every, likely)]
    return once(_ranked(group for group in found if len(group.rows) < group.rows[0].table.rows))


def once(groups: Iterable[Group]) -> list[Group]:
    """Of groups of the same rows the first."""
    kept: dict[tuple[int, ...], Group] = {}
    for group in groups:
        kept.setdefault(tuple(map(id, group.rows)), group)
    return list(kept.values())


def meeting(groups: Sequence[Group]) -> list[Group]:
    """Rows of two or three of these groups at once: gravel that went to Ketteridge, in May.

    Those of two of them are left out then: of 27 tasks with both lines 22 needed that of three and 3 that of two.
    """
    kept: list[Group] = []
    held: list[frozenset[int]] = []
    for group in once(_ranked(_met(groups))):
        rows = frozenset(map(id, group.rows))
        if not any(other < rows for other in held):
            kept.append(group)
            held.append(rows)
    return kept


def _ranked(groups: Iterable[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: (-group.share, len(group.rows)))


def _met(groups: Sequence[Group]) -> Iterator[Group]:
    some = [(group, frozenset(map(id, group.rows))) for group in groups[:_MEETS]]
    for count in (2, 3):
        for of in itertools.combinations(some, count):
            both = frozenset[int].intersection(*(rows for _, rows in of))
            if 1 < len(both) < min(len(rows) for _, rows in of):
                held = [row for row in of[0][0].rows if id(row) in both]
                which = " and ".join(group.which for group, _ in of)
                yield Group(held, which, sum(group.share for group, _ in of))


def _named(asked: frozenset[str], every: Rows) -> Iterator[Group]:
    """Rows with a text that is named, and those that refer to the one row with a text that is named."""
    rows: dict[tuple[str, str, str], list[Row]] = {}
    shares: dict[tuple[str, str, str], float] = {}
    for row in (row for row in every.rows if row.words & asked):
        for column, cell, words in zip(row.table.own, row.cells, row.spoken, strict=True):
            name = {word for word in words if not word.isdigit()} or words  # the gravel of "gravel 8/16"
            share = len(name & asked) / len(name) if name and column.kind in ("text", "other") else 0.0
            if share >= _HALF:
                key = (row.table.name, column.name, cell)
                rows.setdefault(key, []).append(row)
                shares[key] = share
    for (_, column, cell), held in rows.items():
        share = shares[_, column, cell]
        if len(held) > 1:
            yield Group(held, f"{spoken(column)} is {cell}", share)
        else:
            yield from _referring(held[0], cell, share, every)


def _referring(row: Row, named: str, share: float, every: Rows) -> Iterator[Group]:
    """Rows of other tables that hold what only this row of its table is called by."""
    for column, cell in zip(row.table.own, row.cells, strict=True):
        if column.kind != "text" or column.distinct != row.table.rows or cell == named or len(cell) < 2:
            continue
        there = [one for one in every.holding.get(cell, ()) if one.table is not row.table]
        for table in dict.fromkeys(one.table.name for one in there):
            held = [one for one in there if one.table.name == table]
            key = held[0].table.own[held[0].cells.index(cell)].name
            if len(held) > 1:
                yield Group(held, f"{spoken(key)} is {cell} ({named})", share)


def _months(task: str, every: Rows, likely: Sequence[TableInfo]) -> Iterator[Group]:
    """Rows of the likeliest table of a month that is named."""
    months = [(one.year, one.month) for one in Question(task).dates if one.month and not one.day]
    for table in likely[:1]:
        at = next((i for i, column in enumerate(table.own) if column.kind == "date"), None)
        rows = [row for row in every.rows if row.table is table and at is not None and row.cells[at]]
        for year, month in dict.fromkeys(months):
            said = f"{year or ''}-{month:02}-"
            held = [row for row in rows if at is not None and said in row.cells[at][:8]]
            if len(held) > 1 and at is not None:
                yield Group(held, f"{spoken(table.own[at].name)} is in {held[0].cells[at][:7]}", 1.0)
