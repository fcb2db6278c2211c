"""Which column of a table holds the keys of another: ``guide`` with S09, where ``staff`` says whose number that is.

A table is then shown with one column more, ``guide_name``, so that whoever asks for the guide is told a name and no
number, and may ask by name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pointwork.text import tokenize
from pointwork.tools.duck import open_database
from pointwork.tools.table_info import Column, TableInfo, holds_times
from pointwork.tools.table_loading import Reference, Source, quote_name

MOST = 3
"""References of one table that are shown."""

MOST_WIDER = 40
"""Columns of other tables that a table is shown with at most."""

ROWS = 20_000  # of a table that is referred to; of larger ones the keys are not compared
Read = Callable[[str, Column], frozenset[str]]  # the distinct cells of a table's column
KEYS = frozenset(["id", "no", "nr", "num", "number", "code", "key", "ref"])


@dataclass(frozen=True)
class Keys:
    """A table's column of keys.

    Attributes:
        table, column: which. shown: the column that names a row. cells: all keys.
    """

    table: TableInfo
    column: Column
    shown: Column
    cells: frozenset[str]


def referring(root: Path, tables: Sequence[TableInfo]) -> dict[str, tuple[Reference, ...]]:
    """The references of tables to others beside them, by the table's name, at most ``MOST`` of each.

    Each column is read once, and only if another's keys may stand in it: a folder may have a hundred tables.
    """
    keys = [found for table in tables if (found := _keys(root, table)) is not None]
    made: dict[str, list[Reference]] = {}
    for table in tables:
        taken = {column.name.lower() for column in table.columns}
        for column in table.columns:
            others = [one for one in keys if one.column is not column and _may_hold(column, one)]
            reference = _reference(root, table, column, others)
            if reference is not None and reference.name.lower() not in taken:
                made.setdefault(table.name, []).append(reference)
                taken.add(reference.name.lower())
    return {name: tuple(found[:MOST]) for name, found in made.items()}


def wider(root: Path, tables: Mapping[str, TableInfo]) -> list[Source]:
    """Tables with all that stands in the rows of others that their keys, or names, stand for; those that have some.

    Args:
        root: of the tables.
        tables: by name.
    """
    sound = {name: info for name, info in tables.items() if not info.problem}

    @cache
    def read(name: str, column: Column) -> frozenset[str]:
        return _values(root, sound[name], column)

    found = (_wider(info, sound, read) for info in sound.values() if info.rows <= ROWS)
    return [source for source in found if source is not None]


def _wider(info: TableInfo, tables: Mapping[str, TableInfo], read: Read) -> Source | None:
    taken = {column.name.lower() for column in info.columns}
    more: list[Reference] = []
    for reference in (*info.source.references, *_by_name(info, tables, read)):
        other = tables.get(reference.to.name)
        if other is None or other.name == info.name:
            continue
        begin = reference.name.removesuffix(reference.shown)
        for column in other.columns:
            name = f"{begin}{column.name}"
            if column.name not in (reference.key, reference.shown) and name.lower() not in taken:
                more.append(
                    Reference(reference.column, other.source, reference.key, column.name, name, names=False)
                )
                taken.add(name.lower())
    return replace(info.source, references=(*info.source.references, *more[:MOST_WIDER])) if more else None


def _by_name(info: TableInfo, tables: Mapping[str, TableInfo], read: Read) -> list[Reference]:
    """Columns that name rows of another table, in which the column is called the same and names each row once."""
    keyed = {reference.column for reference in info.source.references}
    found: list[Reference] = []
    for column in info.own:
        if column.kind != "text" or column.name in keyed or not column.distinct:
            continue
        for other in tables.values():
            same = next((c for c in other.own if c.name.lower() == column.name.lower()), None)
            named = same is not None and same.kind == "text" and not same.empties and same.distinct == other.rows
            if same is None or not named or other.name == info.name or not 1 < other.rows <= ROWS:
                continue
            if column.distinct <= same.distinct and read(info.name, column) <= read(other.name, same):
                found.append(
                    Reference(column.name, other.source, same.name, same.name, f"{column.name}_{same.name}")
                )
                break
    return found


def _keys(root: Path, table: TableInfo) -> Keys | None:
    if not 1 < table.rows <= ROWS:
        return None
    for column in table.columns:
        # a blank text is one of the distinct ones, but no key
        if column.kind in ("text", "number") and not column.empties and column.distinct == table.rows:
            shown = _named(table, column) if _is_key(table, column) else None
            if shown is not None:
                return Keys(table, column, shown, cells_of(root, table, column))
    return None


def _may_hold(column: Column, keys: Keys) -> bool:
    """Whether a column may hold these keys, by what is known without reading it."""
    if column.kind != keys.column.kind or not 0 < column.distinct <= len(keys.cells):
        return False
    return column.kind == "text" or _called(column, keys)


def _reference(root: Path, table: TableInfo, column: Column, others: Sequence[Keys]) -> Reference | None:
    cells = _values(root, table, column) if others else frozenset[str]()
    for one in others:
        if cells <= one.cells:
            stems = [part for part in column.name.split("_") if part.lower() not in KEYS] or [one.table.name]
            name = "_".join([*stems, one.shown.name])
            return Reference(column.name, one.table.source, one.column.name, one.shown.name, name)
    return None


def _is_key(table: TableInfo, column: Column) -> bool:
    """Whether a column that holds no value twice numbers the rows: by its name, or as codes with digits in them."""
    if KEYS & set(_words(column.name)):
        return True
    return column.coded and not holds_times(column)


def _called(column: Column, keys: Keys) -> bool:
    """Numbers stand in many columns: the name has to say that it is a key, and whose."""
    words = set(_words(column.name))
    whose = words - KEYS
    same = whose <= set(_words(keys.table.name)) or words == set(_words(keys.column.name))
    return bool(words & KEYS and whose) and same


def _named(table: TableInfo, key: Column) -> Column | None:
    """The column that names a row: called so, or the first one of texts in which hardly any stands twice."""
    texts = [c for c in table.columns if c.kind == "text" and c.name != key.name and not _is_key(table, c)]
    unique = [c for c in texts if c.distinct == table.rows]
    called = [c for c in texts if {"name", "titl"} & set(_words(c.name)) and c.distinct >= 0.5 * table.rows]
    return next(iter([*called, *unique]), None)


def _words(name: str) -> list[str]:
    return tokenize(name, stop=False)


def _values(root: Path, table: TableInfo, column: Column) -> frozenset[str]:
    return frozenset(column.values) or cells_of(root, table, column)


def cells_of(root: Path, table: TableInfo, column: Column) -> frozenset[str]:
    name = quote_name(column.name)
    sql = f"SELECT DISTINCT CAST({name} AS VARCHAR) FROM {quote_name(table.name)} WHERE {name} IS NOT NULL"  # noqa: S608
    return frozenset(str(row[0]) for row in open_database(root, (table.source,)).query(sql, ROWS).rows)
