"""The tables of a folder as the parser sees them: columns with their kinds, cells, and the keys that join them."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pointwork.text import tokenize
from pointwork.tools.catalog import TableInfo, texts_of, years_of
from pointwork.tools.duck import open_database
from pointwork.tools.table_info import Column, holds_times
from pointwork.tools.table_loading import quote_name

COLUMNS = 16  # of a table
_ROWS = 20_000  # of a table whose cells are compared with those of others
_HELD = 0.7  # of a column's values have to stand in another for it to refer to that
_KEYS = frozenset(["id", "no", "nr", "num", "number", "code", "key", "ref"])
_KEPT = 32  # schemas in memory

_lock = threading.Lock()
_known: "OrderedDict[tuple[object, ...], Schema]" = OrderedDict()


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
    key = (root.resolve(), *(info.source for info in tables))
    with _lock:
        if key in _known:
            _known.move_to_end(key)
            return _known[key]
    fields = tuple(
        _field(root, number, info, column) for number, info in enumerate(tables) for column in info.own[:COLUMNS]
    )
    schema = Schema(tuple(tables), fields, tuple(_edges(root, tables, fields)))
    with _lock:
        _known[key] = schema
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return schema


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
    if info.rows > _ROWS or field.kind not in ("text", "number"):
        return frozenset()
    if field.kind == "text":
        return frozenset(field.cells)
    if not info.column(field.name).type.endswith("INT") and info.column(field.name).type != "INTEGER":
        return frozenset()
    name = quote_name(field.name)
    sql = f"SELECT DISTINCT CAST({name} AS VARCHAR) FROM {quote_name(info.name)} WHERE {name} IS NOT NULL"  # noqa: S608
    return frozenset(str(row[0]) for row in open_database(root, (info.source,)).query(sql, _ROWS).rows)


def _called(field: Field, other: Field, tables: Sequence[TableInfo]) -> bool:
    """Numbers stand in many columns: the name has to say whose key it is."""
    words, key = set(tokenize(field.name, stop=False)), set(tokenize(other.name, stop=False))
    whose = words - _KEYS
    called = set(tokenize(tables[other.table].name, stop=False)) | key - _KEYS
    return bool(whose and whose <= called) or (words == key and bool(words & _KEYS))
