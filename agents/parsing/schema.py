"""The tables of a folder as the parser sees them: columns with their kinds, cells, and the keys that join them."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pointwork.text import tokenize
from pointwork.tools.catalog import TableInfo, texts_of, years_of
from pointwork.tools.references import KEYS, ROWS, cells_of
from pointwork.tools.table_info import Column, holds_times

COLUMNS = 16  # of a table
_HELD = 0.7  # of a column's values have to stand in another for it to refer to that
_KEPT = 32  # schemas in memory
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")


@dataclass(frozen=True)
class Field:
    """A column.

    Attributes:
        table: index of its table. name: as in the file.
        kind: text, number, date, bool, time or other.
        cells: the distinct texts of a text column.
        years: that stand in a column of dates.
        unique: whether no value stands twice.
    """

    table: int
    name: str
    kind: str
    cells: tuple[str, ...] = ()
    years: tuple[int, ...] = ()
    unique: bool = False


@dataclass(frozen=True)
class Edge:
    """One column whose cells stand in another, each once: ``loans.tool_id`` and ``tools.id``; by their indices."""

    holds: int
    key: int


@dataclass(frozen=True)
class Schema:
    """Tables, all their columns in one row, and what joins them."""

    tables: tuple[TableInfo, ...]
    fields: tuple[Field, ...]
    edges: tuple[Edge, ...]

    def of(self, table: int) -> list[int]:
        """The columns of a table, by their indices."""
        return [place for place, field in enumerate(self.fields) if field.table == table]


def schema_of(root: Path, tables: Sequence[TableInfo]) -> Schema:
    """What is known of some tables; remembered until one of them changes.

    Raises:
        ToolError: a file is broken or gone.
    """
    return _schema(root.resolve(), tuple(tables))


@functools.lru_cache(maxsize=_KEPT)
def _schema(root: Path, tables: tuple[TableInfo, ...]) -> Schema:
    fields = tuple(
        _field(root, number, info, column) for number, info in enumerate(tables) for column in info.own[:COLUMNS]
    )
    return Schema(tables, fields, tuple(_edges(root, tables, fields)))


def _field(root: Path, number: int, info: TableInfo, column: Column) -> Field:
    kind = "time" if holds_times(column) else column.kind
    cells = texts_of(root, info, column) if kind == "text" else ()
    years = years_of(root, info, column) if kind == "date" else ()
    return Field(number, column.name, kind, cells, years, column.distinct == info.rows > 1)


def _edges(root: Path, tables: Sequence[TableInfo], fields: Sequence[Field]) -> list[Edge]:
    cells = {place: _cells(root, tables[f.table], f) for place, f in enumerate(fields)}
    found: list[Edge] = []
    for holds, field in enumerate(fields):
        mine = cells[holds]
        for key, other in enumerate(fields):
            theirs = cells[key]
            if field.table == other.table or field.kind != other.kind or not other.unique or not mine or not theirs:
                continue
            if field.kind == "number" and not _called(field, other, tables):
                continue
            if len(mine & theirs) >= _HELD * len(mine):
                found.append(Edge(holds, key))
    return found


def _cells(root: Path, info: TableInfo, field: Field) -> frozenset[str]:
    if field.kind == "text":
        return frozenset(field.cells) if info.rows <= ROWS else frozenset()
    column = info.column(field.name)
    whole = field.kind == "number" and column.type in _WHOLE and info.rows <= ROWS
    return cells_of(root, info, column) if whole else frozenset()


def _called(field: Field, other: Field, tables: Sequence[TableInfo]) -> bool:
    """Numbers stand in many columns: the name has to say whose key it is."""
    words, key = set(tokenize(field.name, stop=False)), set(tokenize(other.name, stop=False))
    whose = words - KEYS
    called = set(tokenize(tables[other.table].name, stop=False)) | key - KEYS
    return bool(whose and whose <= called) or (words == key and bool(words & KEYS))
