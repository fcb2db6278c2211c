"""Statements compiled once, for rows and transactions that are written by the thousand.

SQLAlchemy's own execution costs more than SQLite's here: it looks up the compiled form, builds the parameters and a
result each time. The SQL is still made by SQLAlchemy, for whatever database it is.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Column, Connection, CursorResult, Executable, Table, insert
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import SQLCompiler

from pointwork.store.types import Encoded

Parameters = tuple[Any, ...] | dict[str, Any]


class Prepared:
    """A statement for one kind of database.

    Args:
        statement: with ``bindparam`` for what changes.
        dialect: of the database.
        columns: of an INSERT, the columns that are given.
    """

    def __init__(self, statement: Executable, dialect: Dialect, columns: Sequence[str] | None = None) -> None:
        compiled = cast(Any, statement).compile(dialect=dialect, column_keys=columns)
        self._compiled = cast(SQLCompiler, compiled)
        self.sql = str(compiled)
        self._fixed = {name: value for name, value in self._compiled.params.items() if isinstance(value, str | int)}
        self._order: Sequence[str] | None = self._compiled.positiontup

    def parameters(self, given: Mapping[str, Any]) -> Parameters:
        """In the form that the driver wants."""
        if self._order is None:
            return {**self._fixed, **given}
        if self._fixed:
            given = {**self._fixed, **given}
        return tuple([given[name] for name in self._order])

    def run(self, connection: Connection, given: Mapping[str, Any]) -> CursorResult[Any]:
        """Execute it. The values go to the driver as they are: plain integers, floats and texts."""
        return connection.exec_driver_sql(self.sql, self.parameters(given))


def computed(column: Column[Any]) -> bool:
    """Whether the database computes its value, so that no row brings one."""
    return bool(getattr(column.default, "is_clause_element", False))


class _Field:
    """A column of an INSERT: what it is called, what it needs, how values are turned into what the driver takes."""

    def __init__(self, column: Column[Any], dialect: Dialect) -> None:
        self.name = column.name
        self.needed = not column.nullable
        self.default: Any = getattr(column.default, "arg", None)
        kind = column.type
        self.convert: Callable[[Any], Any] | None = (
            kind.encode if isinstance(kind, Encoded) else kind.dialect_impl(dialect).bind_processor(dialect)
        )


class Inserter:
    """Rows of one table, checked and turned into what the driver takes, then inserted many at a time.

    Args:
        table: where to.
        dialect: of the database.
        numbered: whether the rows bring the number that the database else gives them.
    """

    def __init__(self, table: Table, dialect: Dialect, *, numbered: bool) -> None:
        self.table = table
        given = [
            column
            for column in table.columns
            if (numbered or column is not table.autoincrement_column) and not computed(column)
        ]
        self._columns = [_Field(column, dialect) for column in given]
        self._names = {column.name for column in given}
        self._statement = Prepared(insert(table).inline(), dialect, [column.name for column in given])

    def encode(self, row: Mapping[str, Any]) -> Parameters:
        """A row for ``insert``.

        Raises:
            TypeError, ValueError: a value does not fit its column, is missing, or there is no such column.
        """
        if not row.keys() <= self._names:
            raise ValueError(f"no column {', '.join(sorted(row.keys() - self._names))}")
        values: dict[str, Any] = {}
        for field in self._columns:
            value = row.get(field.name, field.default)
            if value is None:
                if field.needed:
                    raise ValueError(f"{field.name} is missing")
            elif field.convert is not None:
                try:
                    value = field.convert(value)
                except (TypeError, ValueError, OverflowError, RecursionError) as error:
                    raise ValueError(f"{field.name}: {error}") from error
            values[field.name] = value
        return self._statement.parameters(values)

    def check(self, given: Mapping[str, Any]) -> None:
        """Look at some values of a row, before the row is there.

        Raises:
            TypeError, ValueError: one does not fit its column.
        """
        for field in self._columns:
            value = given.get(field.name)
            if value is not None and field.convert is not None:
                try:
                    field.convert(value)
                except (TypeError, ValueError) as error:
                    raise ValueError(f"{field.name}: {error}") from error

    def insert(self, connection: Connection, rows: Iterable[Parameters]) -> None:
        """Insert what ``encode`` gave."""
        given: Any = list(rows)
        connection.exec_driver_sql(self._statement.sql, given if len(given) > 1 else given[0])
