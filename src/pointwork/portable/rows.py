"""Rows of the store as JSON objects and back: which columns, of what types."""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, cast

from sqlalchemy import JSON, Column, Insert, Integer, Table, TypeDecorator, insert

from pointwork.store import tables
from pointwork.store.prepared import computed

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
    return computed(column) or (column.primary_key and isinstance(column.type, Integer))


class Field(NamedTuple):
    """A column as a field of a JSON object.

    Attributes:
        name: of both.
        kind: the Python type of its values; ``object`` for any JSON.
        nullable: whether null may stand in it.
        default: what it is if it is missing; None: it must not be.
        most: the longest text.
    """

    name: str
    kind: type
    nullable: bool
    default: Any
    most: int | None


@cache
def fields(table: Table, leave: tuple[str, ...] = ()) -> tuple[Field, ...]:
    """The columns of a table that travel: not the serial ids, not those that the line says elsewhere."""
    travel = (column for column in table.columns if not is_serial(column) and column.name not in leave)
    return tuple(_field(str(table.name), column) for column in travel)


def _field(table: str, column: Column[Any]) -> Field:
    type_ = column.type.impl_instance if isinstance(column.type, TypeDecorator) else column.type
    kind = _SHAPES.get((table, column.name), object) if isinstance(type_, JSON) else type_.python_type
    default: Any = getattr(column.default, "arg", None)
    return Field(column.name, kind, bool(column.nullable), default, getattr(column.type, "length", None))


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
    wanted = fields(table, leave)
    row = {one.name: _checked_value(one, given, field) for one in wanted}
    if not given.keys() <= row.keys():
        raise Wrong(f"{field}.{min(given.keys() - row.keys())}", "is not a field of this version of pointwork")
    return row


def _checked_value(field: Field, given: Mapping[str, Any], where: str) -> Any:
    value = given.get(field.name)
    if value is None:
        if field.nullable:
            return None
        if field.name in given or field.default is None:
            raise Wrong(f"{where}.{field.name}", "must not be null" if field.name in given else "is missing")
        return field.default
    kind = field.kind
    if kind is float:
        if type(value) is float and value == value:
            return value
        return _float(value, f"{where}.{field.name}")
    if kind is not object and type(value) is not kind:
        expect(value, kind, f"{where}.{field.name}")
    if kind is int and not -_MOST <= value <= _MOST:
        raise Wrong(f"{where}.{field.name}", "is too large for a whole number of 64 bits")
    if field.most is not None and len(value) > field.most:
        raise Wrong(f"{where}.{field.name}", f"has {len(value)} characters, and at most {field.most} can be stored")
    return value


def _float(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong(path, f"must be a number, not {named(value)}")
    try:
        number = float(value)
    except OverflowError:
        raise Wrong(path, "is too large") from None
    if math.isnan(number):
        raise Wrong(path, "must be a number, not NaN")
    return number


INSERTS: dict[str, Insert] = {table.name: insert(table) for table in tables.metadata.sorted_tables}
