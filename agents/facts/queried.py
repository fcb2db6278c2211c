"""What tables say around a task by a query: totals, counts, the row with the most of something.

The parser of table questions reads the whole task, though most tasks ask for more than one query says; so its
likeliest queries are no answer, but one of them often says the first thing that is needed.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pointwork.agents.facts.figures import in_one_form, written
from pointwork.agents.facts.gathered import Fact, cut, further
from pointwork.agents.facts.limits import limited
from pointwork.agents.facts.rows import CELL, Row, Rows, rows_of
from pointwork.agents.facts.summed import summed
from pointwork.agents.facts.topmost import meant_first, topmost, topmost_of
from pointwork.agents.parsing.composing import NoQuery, sql_of
from pointwork.agents.parsing.parser import TABLES, Seen, looked
from pointwork.agents.parsing.query import Query
from pointwork.agents.parsing.schema import Schema
from pointwork.agents.parsing.telling import told, which
from pointwork.agents.tabling import ranked, readable_tables
from pointwork.errors import ToolError
from pointwork.tools import ToolContext
from pointwork.tools.catalog import TableInfo
from pointwork.tools.duck import open_database
from pointwork.tools.tables import cell_text

# Lines of queries, and of rows that what they found leads to; sentences that speak of it.
QUERIES, LED = 6, 3
ALIKE = 2  # that say the same of other rows, and rows

_OF_A_ROW = ("none", "sum", "avg", "min", "max")  # of one row they are what stands in it
_RUN, _LARGE, _FEW = 30, 50_000, 6  # queries that are run at most; over tables of so many rows in all, so many
_FAINT = 0.005  # of how likely the likeliest is; what is less likely is noise
_ANSWERED = 0.05  # a task that tables say less likely something to than this


async def queried_around(task: str, context: ToolContext, known: Sequence[Fact] = ()) -> list[Fact]:
    """What queries that the task may mean say, the likeliest first, then what that leads to.

    Args:
        task: the user's words.
        context: of the run's tools; its folder is searched.
        known: what else the files say around it; a limit may stand there.
    """
    root = context.root
    if root is None:
        return []
    tables = await readable_tables(context)
    likely = [table for _, table in ranked(task, tables)[:TABLES]]
    if not likely:
        return []

    def found() -> tuple[list[Fact], list[Row]]:
        every = rows_of(root.resolve(), tables)
        seen = looked(task, root, likely)
        lines = list(_Lines(task, root.resolve(), seen, every).all())
        rows = [row for fact in lines if (row := fact.row) is not None]
        names = ", ".join(fact.text.rpartition(": ")[2] for fact in lines if fact.row is None)
        meant = _meant(seen)
        prose = [fact.text for fact in known if fact.row is None and fact.source]
        limits = limited(in_one_form(task), prose, every, meant_first(likely, meant))
        most: list[Fact] = []
        # a query that found it says so behind the table's name
        if not any(fact.text.startswith(f"{fact.row.table.name} of the ") for fact in lines if fact.row):
            most = list(topmost(task, every, likely, meant))
        most += topmost_of(task, every, likely, meant, limits)
        lines += (fact for fact in most if fact.row not in rows)
        best = [row for fact in most if (row := fact.row) is not None]
        rows = list(dict.fromkeys([*best, *rows]))
        led = [*_led(best, every), *_led(rows, every), *every.told_of(names, LED)]
        lines += summed(task, every, likely, meant, limits)
        return lines, [row for row in dict.fromkeys(led) if row not in rows][:LED]

    try:
        lines, led = await asyncio.to_thread(found)
    except ToolError:  # a file is just being written
        return []
    lines += [Fact(row.table.evidence, cut(row.told), row) for row in led]
    rows = [fact.row for fact in lines if fact.row is not None]
    lines += await further(task, rows, context)
    return [replace(fact, text=in_one_form(fact.text, task)) for fact in lines]


def _led(rows: Sequence[Row], every: Rows) -> list[Row]:
    """Rows that some refer to, and those in further tables that these do: a load's lorry, the lorry's driver."""
    found = every.followed(rows, LED - 1)
    known = {id(row.table) for row in [*rows, *found]}
    return [*found, *(row for row in every.followed(found, LED) if id(row.table) not in known)]


def _meant(seen: Seen) -> dict[tuple[TableInfo, str], float]:
    """How likely a query asks for each column, or for the most of it."""
    found: dict[tuple[TableInfo, str], float] = {}
    for one in seen.queries:
        query = one.query
        places = (query.shown, query.second, query.extreme.field if query.extreme else None)
        for place in {place for place in places if place is not None}:
            field = seen.schema.fields[place]
            key = seen.schema.tables[field.table], field.name
            found[key] = found.get(key, 0.0) + one.chance
    return found


def _whole(query: Query, schema: Schema) -> Query:
    """Of several rows the total or the number, as no one value of them is meant."""
    if query.aggregate != "none" or query.group is not None or query.extreme is not None or query.shown is None:
        return query
    if schema.fields[query.shown].kind == "number":
        return replace(query, aggregate="sum")
    return replace(query, aggregate="count", shown=None, form="plain", second=None)


@dataclass(frozen=True)
class _Lines:
    task: str
    root: Path
    seen: Seen
    every: Rows

    def all(self) -> Iterator[Fact]:
        if self.seen.answered < _ANSWERED:
            return
        known: set[Row | str] = set()
        kinds = Counter[object]()
        least = _FAINT * max((one.chance for one in self.seen.queries), default=0.0)
        large = sum(table.rows for table in self.seen.schema.tables) > _LARGE
        for one in self.seen.queries[: _FEW if large else _RUN]:
            if len(known) == QUERIES or one.chance < least:
                return
            query = _whole(one.query, self.seen.schema)
            fact = self._told(query)
            if fact is None or (fact.row or fact.text) in known:
                continue
            kind = "row" if fact.row is not None else (query.shown, query.aggregate)
            kinds[kind] += 1
            if kinds[kind] <= ALIKE:
                known.add(fact.row or fact.text)
                yield fact

    def _told(self, query: Query) -> Fact | None:
        schema = self.seen.schema
        table = schema.tables[query.table]
        if query.group is None and query.shown is not None and query.aggregate in _OF_A_ROW:
            one = replace(query, aggregate="none", form="plain", second=None)
            if (row := self._row(one)) is not None:
                rest = row.told.partition(": ")[2]
                return Fact(table.evidence, cut(f"{table.name}{which(one, schema)}: {rest}"), row)
        found = self._cells(query)
        if len(found) != 1 or not found[0]:
            return None
        return Fact(table.evidence, f"{table.name}: {told(query, schema)}: {found[0]}")

    def _row(self, query: Query) -> Row | None:
        """The only row that a query takes, whatever it shows of it."""
        if len(self._cells(query)) != 1:
            return None
        fields = self.seen.schema.of(query.table)
        cells = [self._cells(replace(query, shown=field), cell_text) for field in fields]
        table = self.seen.schema.tables[query.table]
        for row in self.every.rows:
            if row.table.source == table.source and row.table.name == table.name:
                same = zip(cells, row.cells, strict=False)
                if all(found == [cell] for found, cell in same):
                    return row
        return None

    def _cells(self, query: Query, as_text: Callable[[object], str] = written) -> list[str]:
        """What it finds; nothing where it does not run, and two where it is more than one."""
        schema = self.seen.schema
        try:
            sql = sql_of(query, schema)
            database = open_database(self.root, tuple(info.source for info in schema.tables))
            rows = database.query(sql, 2).rows
        except (NoQuery, ToolError):
            return []
        return ["" if row[0] is None else as_text(row[0])[:CELL] for row in rows]
