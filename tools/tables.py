"""Tools over the tables below the run's root: CSV, TSV, JSON, Parquet and SQLite files, strictly for reading."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from pointwork.errors import ToolError
from pointwork.tools import paths
from pointwork.tools.catalog import Column, TableInfo, arguments_schema, catalog, widened
from pointwork.tools.duck import Database, Rows, open_database, run_foreign
from pointwork.tools.files import clamp
from pointwork.tools.spec import ToolContext, ToolResult, tool
from pointwork.tools.table_loading import Source, quote_name
from pointwork.tools.table_query import Compiled, Query, compile_query, match_name

__all__ = [
    "Column",
    "TableInfo",
    "arguments_schema",
    "catalog",
    "describe_table",
    "list_tables",
    "query_table",
    "sql",
]

MAX_ROWS = 50
MAX_CHOICES = 60
"""A result with more cells is no choice of answers."""

MAX_TEXT = 8_000
NOTHING = "nothing"  # the answer that is an empty cell
_USED = 5  # rows that an aggregate rests on, in its evidence

Aggregate = Literal["none", "count", "distinct", "percent", "sum", "avg", "min", "max", "median"]
Operator = Literal["=", "!=", ">", ">=", "<", "<=", "contains", "empty", "not empty"]
Order = Literal["none", "asc", "desc"]
_SYNONYMS = {
    "": "none",
    "average": "avg",
    "mean": "avg",
    "total": "sum",
    "maximum": "max",
    "highest": "max",
    "largest": "max",
    "minimum": "min",
    "lowest": "min",
    "smallest": "min",
    "number": "count",
    "how_many": "count",
    "count_distinct": "distinct",
    "unique": "distinct",
    "different": "distinct",
    "==": "=",
    "is": "=",
    "eq": "=",
    "equals": "=",
    "equal": "=",
    "<>": "!=",
    "is_not": "!=",
    "ne": "!=",
    "not_equals": "!=",
    "gt": ">",
    "greater_than": ">",
    "more_than": ">",
    "after": ">",
    "above": ">",
    "ge": ">=",
    "gte": ">=",
    "at_least": ">=",
    "≥": ">=",
    "lt": "<",
    "less_than": "<",
    "before": "<",
    "below": "<",
    "le": "<=",
    "lte": "<=",
    "at_most": "<=",
    "≤": "<=",
    "like": "contains",
    "includes": "contains",
    "is_null": "empty",
    "is_empty": "empty",
    "missing": "empty",
    "is_not_null": "not empty",
    "not_empty": "not empty",
    "is_not_empty": "not empty",
    "ascending": "asc",
    "descending": "desc",
}


def _word(value: Any) -> Any:
    """Another word for one of the choices, in any case."""
    if not isinstance(value, str):
        return value
    word = re.sub(r"[\s-]+", "_", value.strip().lower()) if value.strip() != "-" else value
    return _SYNONYMS.get(word, word)


def _operator(value: Any) -> Any:
    word = _word(value)
    return "=" if word == "none" else word


Forgiving = BeforeValidator(_word)
Comparison = Annotated[Operator, BeforeValidator(_operator)]


def _find(root: Path, name: str) -> TableInfo:
    """The table that is meant.

    Raises:
        ToolError: there is none, several, or its file is broken.
    """
    tables = {info.name: info for info in catalog(root)}
    if not tables:
        raise ToolError("there are no tables: no CSV, TSV, JSON, Parquet or SQLite file below the run's folder")
    if not name.strip() and len(tables) == 1:
        return _readable(next(iter(tables.values())))
    text = name.strip().strip("'\"").removeprefix("table:")
    by_path = [info for info in tables.values() if text in (info.source.path, info.evidence.removeprefix("table:"))]
    if len(by_path) == 1:
        return _readable(by_path[0])
    text = re.sub(r"\.(csv|tsv|jsonl?|ndjson|parquet|sqlite3?|db)$", "", text, flags=re.IGNORECASE)
    return _readable(tables[match_name(text, list(tables), "table")])


def _readable(info: TableInfo) -> TableInfo:
    if info.problem:
        raise ToolError(info.problem)
    return info


def _with_columns(root: Path, info: TableInfo, asked: Sequence[str]) -> TableInfo:
    """The table with the columns of the rows that its keys stand for, if one of those is asked for."""
    missing = {name.strip() for name in asked} - {column.name for column in info.columns} - {""}
    if not missing:
        return info
    wide = next((wide for wide in widened(root) if wide.name == info.name), info)
    return wide if missing & {column.name for column in wide.columns} else info


@tool(labels=["reads-private"])
def list_tables(context: ToolContext) -> ToolResult:
    """List the tables with their columns and number of rows.

    Raises:
        ToolError: the run has no folder.
    """
    tables = catalog(paths.root_of(context))
    value = [
        {
            "table": info.name,
            "file": info.source.path,
            "rows": info.rows,
            "columns": [column.name for column in info.columns],
            **({"problem": info.problem} if info.problem else {}),
        }
        for info in tables
    ]
    lines = [
        f"{info.name}: {info.problem}"
        if info.problem
        else f"{info.name} ({info.rows} rows): {', '.join(column.name for column in info.columns)}"
        for info in tables
    ]
    return ToolResult(value, "\n".join(lines)[:MAX_TEXT] or "there are no tables")


@tool(labels=["reads-private"])
def describe_table(context: ToolContext, table: str) -> ToolResult:
    """Describe a table: its columns with types and values, the number of rows, and three of them.

    Args:
        table: its name, as list_tables gives it

    Raises:
        ToolError: no such table, or its file is broken.
    """
    root = paths.root_of(context)
    info = _find(root, table)
    database = open_database(root, (info.source,))
    sample = database.query(f"SELECT * FROM {quote_name(info.name)}", 3)  # noqa: S608
    columns = [{"name": c.name, "type": c.type, "values": list(c.values[:20])} for c in info.columns]
    lines = [f"{info.name}: {info.rows} rows"]
    lines += [f"- {c.name} ({c.kind})" + (f": {_few(c.values)}" if c.values else "") for c in info.columns]
    text = "\n".join(lines) + "\n" + _as_csv(sample)
    value = {"table": info.name, "rows": info.rows, "columns": columns, "sample": sample.rows}
    return ToolResult(value, text[:MAX_TEXT], ((info.evidence, text[:MAX_TEXT]),))


def _few(values: tuple[str, ...]) -> str:
    return ", ".join(values[:10]) + (f", ... ({len(values)})" if len(values) > 10 else "")


@tool(labels=["reads-private"])
def query_table(
    context: ToolContext,
    table: str,
    aggregate: Annotated[Aggregate, Forgiving] = "none",
    column: str = "",
    group_by: str = "",
    where_column: str = "",
    where_op: Comparison = "=",
    where_value: str = "",
    order: Annotated[Order, Forgiving] = "none",
    limit: Annotated[int, clamp(1, MAX_ROWS)] = 20,
    order_by: str = "",
    and_column: str = "",
    and_op: Comparison = "=",
    and_value: str = "",
    also_column: str = "",
    also_op: Comparison = "=",
    also_value: str = "",
) -> ToolResult:
    """Look up rows of a table, or count, add up or compare them.

    Args:
        table: the table's name
        aggregate: none gives rows; the others compute one value, or one per group; distinct counts values,
            percent is how many of a hundred rows that meet the other conditions meet the last
        column: the column to compute or show, price * amount of two, or of dates the days end - start; empty is all
        group_by: one answer per value of this column; year(COLUMN) and month(COLUMN) work for dates
        where_column: only rows where this column...
        where_op: ...compares so... (empty and not empty need no value)
        where_value: ...with this: a text, a number, a date, a month 2024-03, a year 2024, or another number column
        order: by the computed value, or by order_by
        limit: how many rows
        order_by: the column to sort by
        and_column: a second condition, if needed
        and_op: as where_op
        and_value: as where_value
        also_column: a third condition, if needed
        also_op: as where_op
        also_value: as where_value

    Raises:
        ToolError: a name or value that the table does not have, or a column of the wrong type; the message lists
            what there is.
    """
    root = paths.root_of(context)
    info = _with_columns(
        root, _find(root, table), (column, group_by, where_column, order_by, and_column, also_column)
    )
    conditions = [
        (where_column, where_op, where_value),
        (and_column, and_op, and_value),
        (also_column, also_op, also_value),
    ]
    query = Query(aggregate, column, group_by, list(conditions), order_by, order, limit)
    database = open_database(root, (info.source,))
    compiled = compile_query(info, query, database)
    return _answer(info, database, compiled, limit)


def _answer(info: TableInfo, database: Database, compiled: Compiled, limit: int) -> ToolResult:
    found = database.query(compiled.sql, limit)
    counted = database.query(f"SELECT count(*) FROM {quote_name(info.name)}{compiled.condition}", 1)  # noqa: S608
    rows = int(counted.rows[0][0])
    notes = f" ({'; '.join(compiled.notes)})" if compiled.notes else ""
    value: dict[str, Any] = {"sql": compiled.sql, "rows_used": rows}
    shown = Rows(found.columns, [[_short(cell) for cell in row] for row in found.rows], found.more)
    if compiled.scalar:
        cell = shown.rows[0][0]
        value |= {"value": cell}
        text = f"{compiled.label}{compiled.where}: {cell_text(cell)} (from {rows} rows){notes}"
        if compiled.extreme and cell is not None:
            there = _rows_at(info, database, compiled)
            value |= {"columns": there.columns, "rows": there.rows}
            text += f"\nin:\n{_as_csv(there)}"
    else:
        value |= {"columns": shown.columns, "rows": shown.rows}
        text = _as_csv(shown) if shown.rows else f"no rows{compiled.where}"
        if rows > len(shown.rows) and "GROUP BY" not in compiled.sql:
            text += f"\n({len(shown.rows)} of {rows} rows)"
        text += f"\n{notes.strip()}" if notes else ""
    answer = _single(shown) if not compiled.extreme else ""
    extreme = [str(value["value"])] if compiled.extreme and "value" in value else []
    cells = extreme + [cell_text(cell) for row in value.get("rows", []) for cell in row if cell is not None]
    choices = tuple(dict.fromkeys(cells)) if not answer and len(cells) <= MAX_CHOICES else ()
    return ToolResult(value, text[:MAX_TEXT], _evidence(info, database, compiled, text), answer, choices)


def _single(rows: Rows) -> str:
    """The only cell of a result that has one."""
    return cell_text(rows.rows[0][0]) if len(rows.rows) == 1 and len(rows.rows[0]) == 1 else ""


def _rows_at(info: TableInfo, database: Database, compiled: Compiled) -> Rows:
    """The rows that hold a minimum or maximum, at most 3."""
    name = quote_name(compiled.extreme)
    joined = f"{compiled.condition} AND" if compiled.condition else " WHERE"
    return database.query(
        f"SELECT * FROM {quote_name(info.name)}{joined} {name} = ({compiled.sql})",  # noqa: S608
        3,
    )


def _evidence(info: TableInfo, database: Database, compiled: Compiled, text: str) -> tuple[tuple[str, str], ...]:
    """The query and its answer; of an aggregate also some of the rows that it rests on."""
    parts = [compiled.sql, text]
    if compiled.scalar and not compiled.extreme:
        used = database.query(f"SELECT * FROM {quote_name(info.name)}{compiled.condition}", _USED)  # noqa: S608
        parts.append(f"rows used{', among them' if used.more else ''}:\n{_as_csv(used)}")
    return ((info.evidence, "\n".join(parts)[:MAX_TEXT]),)


def _short(cell: Any) -> Any:
    """Without the noise of binary fractions: 15 significant digits."""
    return float(f"{cell:.15g}") if isinstance(cell, float) else cell


def cell_text(cell: Any) -> str:
    """A cell as answers and tables show it."""
    if cell is None:
        return NOTHING
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell)


def _as_csv(rows: Rows) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(rows.columns)
    writer.writerows([["" if cell is None else cell_text(cell) for cell in row] for row in rows.rows])
    return buffer.getvalue().rstrip("\n")


@tool(labels=["reads-private"], timeout=40.0)
def sql(context: ToolContext, query: str) -> ToolResult:
    """Run one SELECT (DuckDB's SQL) over the tables.

    Args:
        query: the SELECT; tables by the names that list_tables gives

    Raises:
        ToolError: anything but one SELECT, an error in it (with DuckDB's message), too slow or too large.
    """
    root = paths.root_of(context)
    if len(query) > 10_000:
        raise ToolError("the query is longer than 10000 characters")
    sources = [info.source for info in catalog(root)]
    words = {word.lower() for word in re.findall(r"\w+", query)}
    named = tuple(source for source in sources if source.name.lower() in words)
    try:
        found = run_foreign(root, named, query, MAX_ROWS)
    except ToolError as error:
        raise ToolError(f"{error}{_hint(str(error), sources)}") from error
    shown = Rows(found.columns, [[_short(cell) for cell in row] for row in found.rows], found.more)
    text = (_as_csv(shown) if shown.rows else "no rows")[:MAX_TEXT]
    if found.more:
        text += f"\n(the first {MAX_ROWS} rows)"
    where = ",".join(dict.fromkeys(source.path for source in named)) or "none"
    value = {"columns": shown.columns, "rows": shown.rows, "more": found.more}
    return ToolResult(value, text, ((f"table:{where}", f"{query.strip()}\n{text}"),), _single(shown))


def _hint(message: str, sources: list[Source]) -> str:
    if "does not exist" in message and "Table" in message:
        return f"; tables: {', '.join(source.name for source in sources[:30]) or 'none'}"
    return ""
