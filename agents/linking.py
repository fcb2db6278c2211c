"""Schema linking: which columns and values of a table a question speaks of.

It narrows the arguments of ``query_table`` to what the question can mean, so that a model chooses among few things
and can not name what is not there. It decides nothing where the question leaves a choice.
"""

import re
from typing import Any

from pointwork.text import tokenize
from pointwork.tools.catalog import AGGREGATES, COMPARED, Column, TableInfo

_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])")
_DATE = re.compile(r"\b\d{4}(?:-\d{2}(?:-\d{2})?)?\b")


def linked_values(info: TableInfo, question: str) -> list[tuple[str, str]]:
    """(column, value) pairs of text columns whose value stands in the question, longest value first.

    A value inside a longer one that was found (``Berlin`` in ``East Berlin``) does not count.
    """
    asked = _spaced(question)
    found = [
        (column.name, value)
        for column in info.columns
        for value in column.values
        if tokenize(value, stop=False) and _spaced(value) in asked
    ]
    found.sort(key=lambda pair: -len(pair[1]))
    kept: list[tuple[str, str]] = []
    for column, value in found:
        if not any(_spaced(value) in _spaced(longer) for _, longer in kept):
            kept.append((column, value))
    return kept


def linked_columns(info: TableInfo, question: str) -> list[Column]:
    """Columns whose name shares a word with the question, those with the larger share first."""
    asked = set(tokenize(question))

    def share(column: Column) -> float:
        words = set(tokenize(column.name))
        return len(words & asked) / len(words) if words else 0.0

    return [column for column in sorted(info.columns, key=share, reverse=True) if share(column) > 0]


def linked_schema(info: TableInfo, question: str) -> dict[str, Any]:
    """The JSON schema of ``query_table``'s arguments for this table and this question."""
    values = linked_values(info, question)[:2]
    filtered = {column for column, _ in values}
    mentioned = [column for column in linked_columns(info, question) if column.name not in filtered]
    numbers = [column.name for column in info.columns if column.kind == "number"]
    properties: dict[str, Any] = {"table": {"const": info.name}}
    properties["aggregate"] = {"enum": list(AGGREGATES) if numbers else ["none", "count", "distinct", "min", "max"]}
    columns = [column.name for column in mentioned] or [c.name for c in info.columns if c.name not in filtered]
    properties["column"] = {"enum": [*columns, ""]}
    groups = [column.name for column in mentioned if column.kind != "number"]
    if groups:
        properties["group_by"] = {"enum": ["", *groups]}
        properties["order"] = {"enum": ["none", "desc", "asc"]}
    properties |= _conditions(info, question, values)
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _conditions(info: TableInfo, question: str, values: list[tuple[str, str]]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [
        {"column": {"const": column}, "op": {"enum": ["=", "!="]}, "value": {"const": value}}
        for column, value in values
    ]
    rest = question
    for _, value in values:
        rest = re.sub(re.escape(value), " ", rest, flags=re.IGNORECASE)
    said = [*_DATE.findall(rest), *(number.replace(",", "") for number in _NUMBER.findall(rest))]
    comparable = [column.name for column in info.columns if column.kind in ("number", "date")]
    if said and comparable and len(parts) < 2:
        parts.append(
            {
                "column": {"enum": comparable},
                "op": {"enum": list(COMPARED)},
                "value": {"enum": list(dict.fromkeys(said))},
            }
        )
    unlisted = [column.name for column in info.columns if column.kind == "text" and not column.values]
    if not parts and unlisted:  # a text column with too many values to list: the question may name one of them
        parts.append(
            {
                "column": {"enum": ["", *unlisted]},
                "op": {"enum": ["=", "contains"]},
                "value": {"type": "string", "maxLength": 60},
            }
        )
    found: dict[str, Any] = {}
    for prefix, part in zip(("where", "and"), parts, strict=False):
        found |= {f"{prefix}_{name}": schema for name, schema in part.items()}
    return found


def _spaced(text: str) -> str:
    """Words of a text, stemmed, each between spaces: so that whole words are found in it."""
    return f" {' '.join(tokenize(text, stop=False))} "
