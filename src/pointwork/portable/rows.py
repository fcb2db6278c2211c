"""Rows of the store as JSON objects and back: which columns, of what types."""

import math
from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import JSON, Column, Insert, Integer, Table, TypeDecorator, insert

from pointwork.store import tables

Row = dict[str, Any]

# A JSON column in which the readers of the store expect one kind of value (or nothing).
_SHAPES: dict[tuple[str, str], type] = {
    ("runs", "budget"): dict,
    ("runs", "result"): dict,
    ("steps", "input"): dict,
    ("steps", "output"): dict,
    ("steps", "token_ids"): list,
    ("steps", "logprobs"): list,
    ("decisions", "context"): dict,
    ("decisions", "candidates"): list,
    ("decisions", "propensities"): dict,
    ("decisions", "scores"): dict,
    ("tool_calls", "result"): dict,
    ("memory_usage", "tiers"): dict,
    ("memory_usage", "items"): list,
}
_WORDS: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
}
_MOST = 2**63 - 1


class Wrong(ValueError):
    """A value can not be what is expected here.

    Attributes:
        field: where, as a path: ``steps[2].started``.
        why: what is wrong with it.
    """

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field} {why}" if field else why)
        self.field, self.why = field, why


def named(value: Any) -> str:
    """What kind of JSON value this is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return next((word for kind, word in _WORDS.items() if isinstance(value, kind)), "something else")


def expect(value: Any, kind: type, field: str) -> Any:
    """The value if it is an object (dict), a list, a text … as expected.

    Raises:
        Wrong: it is something else.
    """
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Wrong(field, f"must be {_WORDS[kind]}, not {named(value)}")
    return value


def is_serial(column: Column[Any]) -> bool:
    """Whether the database numbers this column itself: such ids are given anew in each store."""
    return column.primary_key and isinstance(column.type, Integer)


def written_columns(table: Table, leave: tuple[str, ...] = ()) -> tuple[Column[Any], ...]:
    """The columns of a table that travel: not the serial ids, not those that the line says elsewhere."""
    return tuple(column for column in table.columns if not is_serial(column) and column.name not in leave)


def checked(table: Table, value: Any, field: str, leave: tuple[str, ...] = ()) -> Row:
    """A row from its JSON object.

    Args:
        table: whose row.
        value: what the line holds.
        field: where in the line, for messages.
        leave: columns that are not in the object.

    Raises:
        Wrong: a column is missing, unknown, or of another type.
    """
    given = cast(Mapping[str, Any], expect(value, dict, field))
    columns = written_columns(table, leave)
    unknown = given.keys() - {column.name for column in columns}
    if unknown:
        raise Wrong(f"{field}.{min(unknown)}", "is not a field of this version of pointwork")
    return {column.name: _checked_value(column, given, field) for column in columns}


def _checked_value(column: Column[Any], given: Mapping[str, Any], field: str) -> Any:
    path = f"{field}.{column.name}"
    value = given.get(column.name)
    if value is None:
        if column.nullable:
            return None
        default: Any = getattr(column.default, "arg", None)
        if column.name in given or default is None:
            raise Wrong(path, "must not be null" if column.name in given else "is missing")
        return default
    kind = _kind_of(column)
    if isinstance(column.type, JSON):
        shape = _SHAPES.get((str(column.table.name), column.name))
        return value if shape is None else expect(value, shape, path)
    if kind is float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Wrong(path, f"must be a number, not {named(value)}")
        return _float(value, path)
    if kind is int and not -_MOST <= expect(value, int, path) <= _MOST:
        raise Wrong(path, "is too large for a whole number of 64 bits")
    length = getattr(column.type, "length", None)
    if kind is str and length is not None and len(expect(value, str, path)) > length:
        raise Wrong(path, f"has {len(value)} characters, and at most {length} can be stored")
    return expect(value, kind, path)


def _kind_of(column: Column[Any]) -> type:
    type_ = column.type
    return (type_.impl_instance if isinstance(type_, TypeDecorator) else type_).python_type


def _float(value: float, path: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        raise Wrong(path, "is too large") from None
    if math.isnan(number):
        raise Wrong(path, "must be a number, not NaN")
    return number


INSERTS: dict[str, Insert] = {table.name: insert(table) for table in tables.metadata.sorted_tables}
