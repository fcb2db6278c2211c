"""Rows of tables that a task names, those that they refer to, and those that what was found names."""

import math
import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pointwork.agents.readings.question import Question
from pointwork.text import tokenize
from pointwork.tools.catalog import TableInfo
from pointwork.tools.duck import open_database
from pointwork.tools.table_loading import quote_name
from pointwork.tools.tables import cell_text

MAX_ROWS = 2_000
"""A table with more rows is for queries."""

CELL = 60
"""Characters of a cell that are shown."""

# "order 1012", "slip no. 404", "1014's stay"
_NUMBERED = re.compile(
    r"(?:\b(?P<word>[A-Za-z]+)\s+(?:no\.?\s+|number\s+)?)?(?<![\w.,/:-])#?(?P<number>\d+)(?![\w/-]|[:.,]\d)",
    re.IGNORECASE,
)
_OF_A_DAY = 2  # rows of a table
_LONG = 3  # digits of a number that is no count
_NAME = 5  # characters of a name that is looked for in texts
_KEPT = 4  # folders whose rows stay in memory

# How much a word of a table's name or columns counts, a cell that is named whole, and a row's length against it.
_COLUMN, _WHOLE, _LENGTH = 0.5, 0.7, 0.05
# Rows worth less than this much of the best one are about something else; so many of one table.
_NEAR, _OF_ONE = 0.55, 3
# Of so many rows that a task names it is looked up what they refer to, where so few rows of a table hold it.
_FOLLOWED, _HOLDING = 3, 2


@dataclass(frozen=True)
class Row:
    """A row.

    Attributes:
        table: that it stands in.
        cells: as answers show them, in the order of ``table.own``; empty where the table is.
        words: stems of its texts.
        described: stems of the table's name and columns that are none of its own.
        spoken: of each cell its stems.
    """

    table: TableInfo
    cells: tuple[str, ...]
    words: frozenset[str]
    described: frozenset[str]
    spoken: tuple[frozenset[str], ...]

    @property
    def told(self) -> str:
        """Columns and what stands in them, in a line."""
        pairs = zip(self.table.own, self.cells, strict=True)
        return f"{self.table.name}: " + "; ".join(f"{column.name} {cell}" for column, cell in pairs if cell)

    def days(self) -> list[str]:
        """The cells of columns of dates."""
        return [cell for column, cell in zip(self.table.own, self.cells, strict=True) if column.kind == "date"]

    def texts(self) -> list[str]:
        """The cells of columns of texts."""
        return [cell for column, cell in zip(self.table.own, self.cells, strict=True) if _of_text(column.kind)]


@dataclass(frozen=True)
class Rows:
    """All rows of the smaller tables of a folder.

    Attributes:
        rows: table by table.
        counts: in how many rows a stem stands.
        holding: what a cell says → the rows in which one says it.
    """

    rows: tuple[Row, ...]
    counts: Counter[str]
    holding: dict[str, list[Row]]

    def beside(self, row: Row) -> tuple[Row, ...]:
        """The other rows of a row's table."""
        return tuple(one for one in self.rows if one.table is row.table and one is not row)

    def numbered(self, task: str, most: int, *, spoken: bool = False) -> list[Row]:
        """The rows that a task names by the number that they are told apart by.

        It stands behind a word for it ("ride 4"), or, unless it has to (``spoken``), is too long to be a count.
        """
        said = [(match["word"] or "", match["number"]) for match in _NUMBERED.finditer(task)]
        found: list[Row] = []
        for word, number in said:
            for row in self.holding.get(number, ()):
                table, key = row.table, row.table.own[0]
                if key.kind == "number" and row.cells[0] == number and key.distinct == table.rows > 1:
                    called = set(tokenize(word)) & set(tokenize(f"{key.name} {table.name}"))
                    if called or (not spoken and len(number) >= _LONG):
                        found.append(row)
        return list(dict.fromkeys(found))[:most]

    def dated(self, task: str, most: int) -> list[Row]:
        """The rows of a day that a task names, of tables in which that are few: "the low water on 9 October"."""
        days = [one for one in Question(task).dates if one.month and one.day]
        wanted = dict.fromkeys(f"{one.year or ''}-{one.month:02}-{one.day:02}" for one in days)
        held: dict[tuple[str, int], list[Row]] = {}
        for row in self.rows if wanted else ():
            for day in {day for day in wanted for cell in row.days() if cell[:10].endswith(day)}:
                held.setdefault((day, id(row.table)), []).append(row)
        return [row for rows in held.values() if len(rows) <= _OF_A_DAY for row in rows][:most]

    def named(self, task: str, most: int) -> list[Row]:
        """The rows that share most with a task, rare words more than frequent ones, best first."""
        asked = frozenset(tokenize(task))
        scored = [(self._worth(row, asked), row) for row in self.rows if row.words & asked]
        scored.sort(key=lambda one: -one[0])
        found: list[Row] = []
        for worth, row in scored:
            if len(found) == most or worth < _NEAR * scored[0][0]:
                break
            if sum(one.table is row.table for one in found) < _OF_ONE:
                found.append(row)
        return found

    def _worth(self, row: Row, asked: frozenset[str]) -> float:
        rare = sum(math.log(1 + len(self.rows) / (0.5 + self.counts[word])) for word in row.words & asked)
        whole = sum(bool(words) and words <= asked for words in row.spoken)
        return rare + _COLUMN * len(row.described & asked) + _WHOLE * whole - _LENGTH * math.sqrt(len(row.words))

    def followed(self, rows: Sequence[Row], most: int) -> list[Row]:
        """Rows of other tables in which what stands in the first of some rows stands too, where it is in few."""
        found: list[Row] = []
        for row in rows[:_FOLLOWED]:
            for cell in row.texts():
                there = [one for one in self.holding.get(cell, ()) if len(cell) > 1 and one.table is not row.table]
                of = Counter(id(one.table) for one in there)
                found += [one for one in there if of[id(one.table)] <= _HOLDING and one not in [*rows, *found]]
        return found[:most]

    def told_of(self, text: str, most: int) -> list[Row]:
        """Rows whose name, which no other row of the table has, stands in a text; in the text's order."""
        found: list[tuple[int, Row]] = []
        for row in self.rows:
            for column, cell in zip(row.table.own, row.cells, strict=True):
                unique = column.kind == "text" and column.distinct == row.table.rows > 1
                if unique and len(cell) >= _NAME and cell[0].isupper() and cell in text and _whole(cell, text):
                    found.append((text.index(cell), row))
                    break
        return [row for _, row in sorted(found, key=lambda one: one[0])[:most]]


_known: OrderedDict[tuple[Path, tuple[object, ...]], Rows] = OrderedDict()
_lock = threading.Lock()


def rows_of(root: Path, tables: Sequence[TableInfo]) -> Rows:
    """The rows of tables; those of the last folders are kept until a file changes.

    Raises:
        ToolError: a file is just being written.
    """
    small = [table for table in tables if table.rows <= MAX_ROWS]
    key = (root, tuple(table.source for table in small))
    with _lock:
        if key in _known:
            _known.move_to_end(key)
            return _known[key]
    rows = tuple(row for table in small for row in _read(root, table))
    holding: dict[str, list[Row]] = {}
    for row in rows:
        for cell in dict.fromkeys(row.cells):
            holding.setdefault(cell, []).append(row)
    made = Rows(rows, Counter(word for row in rows for word in row.words), holding)
    with _lock:
        _known[key] = made
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return made


def _read(root: Path, table: TableInfo) -> list[Row]:
    names = [column.name for column in table.own]
    query = f"SELECT {', '.join(map(quote_name, names))} FROM {quote_name(table.name)}"  # noqa: S608
    found = open_database(root, (table.source,)).query(query, MAX_ROWS).rows
    described = frozenset(tokenize(table.name)) | {word for name in names for word in tokenize(name)}
    made: list[Row] = []
    for values in found:
        cells = tuple("" if value is None else cell_text(value)[:CELL] for value in values)
        spoken = tuple(frozenset(tokenize(cell)) for cell in cells)
        pairs = zip(table.own, spoken, strict=True)
        words = frozenset(word for column, said in pairs if _of_text(column.kind) for word in said)
        made.append(Row(table, cells, words, described - words, spoken))
    return made


def _whole(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _of_text(kind: str) -> bool:
    return kind in ("text", "other")
