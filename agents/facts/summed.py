"""What a table says as a whole, and of its rows about a thing or month that is named: totals, averages, extremes.

A query (``queried.py``) has to be meant to be found; these few lines say what most queries would, so that what is
needed next stands there, too.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pointwork.agents.facts.figures import written
from pointwork.agents.facts.gathered import Fact
from pointwork.agents.facts.rows import Row, Rows
from pointwork.agents.facts.topmost import IDENTIFIES, Meant, asked_end, extreme_of, meant_first
from pointwork.agents.parsing.telling import spoken
from pointwork.agents.readings.question import Question
from pointwork.text import tokenize
from pointwork.tools.catalog import TableInfo

GROUPS, COLUMNS = 2, 2
"""Lines about things and months that are named, beside that of the table as a whole; columns of numbers in each."""

_HALF = 0.5  # of a name's words, from which on a task names it
_SUMS = re.compile(r"\d+ rows; ")
_COLUMN = re.compile(r"(?P<name>[^;]+?) (?=(?:total|first) \S+, )")


def summed(task: str, every: Rows, likely: Sequence[TableInfo], meant: Meant = MappingProxyType({})) -> list[Fact]:
    """What the likeliest table says as a whole, then what those rows say that are about something that is named.

    Args:
        task: the user's words.
        every: the rows of the folder's tables.
        likely: those that the task may speak of, the likeliest first.
        meant: what queries that it may mean ask for; "took in" are the takings.
    """
    asked = _Asked(frozenset(tokenize(task)), meant)
    likely = meant_first(likely, meant)
    found = [
        Fact(table.evidence, f"{table.name} in all: {asked.said(rows)}")
        for table in likely[:1]
        if len(rows := [row for row in every.rows if row.table is table]) > 1
    ]
    groups = [*_named(asked.stems, every), *_months(task, every, likely)]
    once: dict[tuple[int, ...], _Group] = {}
    for group in sorted(groups, key=lambda group: (-group.share, len(group.rows))):
        once.setdefault(tuple(map(id, group.rows)), group)
    foremost = {tuple(map(id, group.rows)): group for group in _foremost(task, asked, every, likely)}
    for group in (dict(list(once.items())[:GROUPS]) | foremost).values():
        table = group.rows[0].table
        found.append(Fact(table.evidence, f"{table.name} where {group.which}: {asked.said(group.rows)}"))
    return found


@dataclass(frozen=True)
class _Group:
    """Rows of a table that have something in common, how it is said, and how much of it the task names."""

    rows: Sequence[Row]
    which: str
    share: float


def _named(asked: frozenset[str], every: Rows) -> Iterator[_Group]:
    """Rows with a text that is named, and those that refer to the one row with a text that is named."""
    rows: dict[tuple[str, str, str], list[Row]] = {}
    shares: dict[tuple[str, str, str], float] = {}
    for row in (row for row in every.rows if row.words & asked):
        for column, cell, words in zip(row.table.own, row.cells, row.spoken, strict=True):
            share = len(words & asked) / len(words) if words and column.kind in ("text", "other") else 0.0
            if share >= _HALF:
                key = (row.table.name, column.name, cell)
                rows.setdefault(key, []).append(row)
                shares[key] = share
    for (_, column, cell), held in rows.items():
        share = shares[_, column, cell]
        if len(held) > 1:
            yield _Group(held, f"{spoken(column)} is {cell}", share)
        else:
            yield from _referring(held[0], cell, share, every)


def _referring(row: Row, named: str, share: float, every: Rows) -> Iterator[_Group]:
    """Rows of other tables that hold what only this row of its table is called by."""
    for column, cell in zip(row.table.own, row.cells, strict=True):
        if column.kind != "text" or column.distinct != row.table.rows or cell == named or len(cell) < 2:
            continue
        there = [one for one in every.holding.get(cell, ()) if one.table is not row.table]
        for table in dict.fromkeys(one.table.name for one in there):
            held = [one for one in there if one.table.name == table]
            key = held[0].table.own[held[0].cells.index(cell)].name
            if len(held) > 1:
                yield _Group(held, f"{spoken(key)} is {cell} ({named})", share)


def _foremost(task: str, asked: "_Asked", every: Rows, likely: Sequence[TableInfo]) -> Iterator[_Group]:
    """Of the likeliest table the rows about whom there are the most, or whose total is the highest."""
    end = asked_end(task)
    for table in likely[:1] if end else ():
        at, held = _by_repeated(table, asked, [row for row in every.rows if row.table is table])
        once: dict[str, list[str]] = {}
        for number in asked.numbers(table)[:1]:
            totals = {key: math.fsum(float(row.cells[number] or 0) for row in rows) for key, rows in held.items()}
            if key := extreme_of(totals, end):
                once[key] = [f"{'highest' if end > 0 else 'lowest'} total {spoken(table.own[number].name)}"]
        if key := extreme_of({key: len(rows) for key, rows in held.items()}, end):
            once.setdefault(key, []).append(f"{'most' if end > 0 else 'fewest'} rows")
        for key, which in once.items():
            yield _Group(held[key], f"{spoken(table.own[at].name)} is {key} ({', '.join(which)})", 1.0)


def _by_repeated(table: TableInfo, asked: "_Asked", rows: Sequence[Row]) -> tuple[int, dict[str, list[Row]]]:
    """A column of names that repeat, the one that is likeliest spoken of, and rows by what stands there."""
    repeated = [
        (asked.rank(table, column.name), column.distinct, at)
        for at, column in enumerate(table.own)
        if column.kind == "text" and 1 < column.distinct < len(rows)
    ]
    held: dict[str, list[Row]] = {}
    at = min(repeated)[-1] if repeated else 0
    for row in rows if repeated else ():
        if row.cells[at]:
            held.setdefault(row.cells[at], []).append(row)
    return at, held


def _months(task: str, every: Rows, likely: Sequence[TableInfo]) -> Iterator[_Group]:
    """Rows of the likeliest table of a month that is named."""
    months = [(one.year, one.month) for one in Question(task).dates if one.month and not one.day]
    for table in likely[:1]:
        at = next((i for i, column in enumerate(table.own) if column.kind == "date"), None)
        rows = [row for row in every.rows if row.table is table and at is not None and row.cells[at]]
        for year, month in dict.fromkeys(months):
            said = f"{year or ''}-{month:02}-"
            held = [row for row in rows if at is not None and said in row.cells[at][:8]]
            if len(held) > 1 and at is not None:
                yield _Group(held, f"{spoken(table.own[at].name)} is in {held[0].cells[at][:7]}", 1.0)


def called(line: str, start: int) -> str:
    """What an amount at that place of a line is called: "total hours of trips where boat is Heron".

    Empty where the line is none of sums, or where the amount says which rows they are of.
    """
    head, _, rest = line.partition(": ")
    if start < len(line) - len(rest) or not _SUMS.match(rest):
        return ""
    begins = line.rfind("; ", 0, start) + 2 if "; " in line[:start] else len(line) - len(rest)
    column = _COLUMN.match(line, begins)
    what = line[:start].split()[-1]
    return f"{what} {column['name']} of {head}" if column and column.end() <= start else f"number of rows of {head}"


@dataclass(frozen=True)
class _Asked:
    stems: frozenset[str]
    meant: Meant

    def said(self, rows: Sequence[Row]) -> str:
        """How many rows there are, and of the columns that the task speaks of what they come to."""
        table = rows[0].table
        columns = list(enumerate(table.own))
        parts = [f"{len(rows)} rows"]
        for i in self.numbers(table)[:COLUMNS]:
            values = [float(row.cells[i]) for row in rows if row.cells[i]]
            if values:
                said = {"total": math.fsum(values), "average": math.fsum(values) / len(values)}
                said |= {"highest": max(values), "lowest": min(values)}
                told = ", ".join(f"{what} {written(value)}" for what, value in said.items())
                parts.append(f"{spoken(table.own[i].name)} {told}")
        for i in [i for i, column in columns if column.kind == "date"][:1]:
            days = sorted(row.cells[i] for row in rows if row.cells[i])
            if days and days[0] != days[-1]:
                parts.append(f"{spoken(table.own[i].name)} first {days[0]}, last {days[-1]}")
        return "; ".join(parts)

    def numbers(self, table: TableInfo) -> list[int]:
        """The columns of numbers, those that the task speaks of first."""
        found = [
            i
            for i, column in enumerate(table.own)
            if column.kind == "number" and not IDENTIFIES.search(column.name)
        ]
        return sorted(found, key=lambda i: self.rank(table, table.own[i].name))

    def rank(self, table: TableInfo, column: str) -> tuple[int, float]:
        """The less, the likelier it is spoken of."""
        return -len(self.stems & set(tokenize(column))), -self.meant.get((table, column), 0.0)
