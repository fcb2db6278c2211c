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
from pointwork.agents.facts.gathered import Fact, cut
from pointwork.agents.facts.groups import Group, meeting, named_groups, once
from pointwork.agents.facts.rows import Row, Rows
from pointwork.agents.facts.topmost import Meant, asked_end, extreme_of, meant_first, measures
from pointwork.agents.parsing.telling import spoken
from pointwork.agents.readings import lexicon
from pointwork.text import tokenize
from pointwork.tools.catalog import TableInfo

GROUPS, COLUMNS, MEETING = 2, 2, 2
"""Lines about things and months that are named, beside that of the table as a whole; columns of numbers in each;
lines about rows that are of two or three of them at once."""

_WHOLE = lexicon.stems("total sum")  # no price of one
_SUMS = re.compile(r"\d+ rows; ")
_COLUMN = re.compile(r"(?P<name>[^;]+?) (?=(?:total|first) \S+(?:, |; |$))")


def summed(
    task: str,
    every: Rows,
    likely: Sequence[TableInfo],
    meant: Meant = MappingProxyType({}),
    limits: Sequence[Group] = (),
) -> list[Fact]:
    """What the likeliest table says as a whole, then what those rows say that are about something that is named.

    Args:
        task: the user's words.
        every: the rows of the folder's tables.
        likely: those that the task may speak of, the likeliest first.
        meant: what queries that it may mean ask for; "took in" are the takings.
        limits: rows beyond what it speaks of as a limit.
    """
    asked = _Asked(frozenset(tokenize(task)), meant)
    likely = meant_first(likely, meant)
    found = [
        Fact(table.evidence, f"{table.name} in all: {asked.said(rows)}")
        for table in likely[:1]
        if len(rows := [row for row in every.rows if row.table is table]) > 1
    ]
    groups = named_groups(task, every, likely)
    foremost = list(_foremost(task, asked, every, likely))
    met = meeting([*limits[:1], *foremost, *groups])[:MEETING]
    for group in once([*met, *limits, *groups[:GROUPS], *foremost]):
        table, rows = group.rows[0].table, group.rows
        alone = len(rows) == 1 and group in limits
        said = rows[0].told.partition(": ")[2] if alone else asked.said(rows)
        found.append(Fact(table.evidence, cut(f"{table.name} where {group.which}: {said}")))
    return found


def _foremost(task: str, asked: "_Asked", every: Rows, likely: Sequence[TableInfo]) -> Iterator[Group]:
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
            yield Group(held[key], f"{spoken(table.own[at].name)} is {key} ({', '.join(which)})", 1.0)


def _paid(table: TableInfo) -> tuple[int, int] | None:
    """Of a table of what is paid for by the piece the columns of the price and the quantity, where each is one."""
    named = {at: set(tokenize(table.own[at].name)) for at in measures(table)}
    each = [at for at, stems in named.items() if stems & lexicon.PRICES and not stems & _WHOLE]
    many = [at for at, stems in named.items() if at not in each and stems & lexicon.QUANTITIES]
    return (each[0], many[0]) if len(each) == len(many) == 1 else None


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
        if paid := _paid(table):
            (i, each), (j, many) = ((at, spoken(table.own[at].name)) for at in paid)
            both = [float(row.cells[i]) * float(row.cells[j]) for row in rows if row.cells[i] and row.cells[j]]
            parts.append(f"{each} times {many} total {written(math.fsum(both))}")
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
        return sorted(measures(table), key=lambda i: self.rank(table, table.own[i].name))

    def rank(self, table: TableInfo, column: str) -> tuple[int, float]:
        """The less, the likelier it is spoken of."""
        return -len(self.stems & set(tokenize(column))), -self.meant.get((table, column), 0.0)
