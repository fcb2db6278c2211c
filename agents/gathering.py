"""What a model that is not small is shown besides: rows of tables about what the question names."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pointwork.agents.linking import linked_values
from pointwork.errors import ToolError
from pointwork.tools import ToolContext, builtin_tools
from pointwork.tools.catalog import TableInfo, catalog, texts_of

# A value that more rows hold is a kind and not a thing: its rows are for a query.
ROWS = 3
PIECES = 3


def with_texts(root: Path, table: TableInfo) -> TableInfo:
    """A table whose text columns list all their texts, not only where they are few."""
    columns = (replace(c, values=texts_of(root, table, c)) if c.kind == "text" else c for c in table.columns)
    return replace(table, columns=tuple(columns))


async def rows_about(text: str, context: ToolContext) -> list[tuple[str, str]]:
    """(source, row) of the rows whose text columns hold a name that the question has, the longest names first."""
    root = context.root
    if root is None:
        return []

    def link() -> list[tuple[int, TableInfo, str, str]]:
        found: list[tuple[int, TableInfo, str, str]] = []
        for table in catalog(root):
            for column, value in linked_values(with_texts(root, table), text):
                found.append((len(value), table, column, value))
        return sorted(found, key=lambda one: -one[0])

    pieces: list[tuple[str, str]] = []
    for _, table, column, value in await asyncio.to_thread(link):
        if len(pieces) == PIECES:
            break
        arguments = {"table": table.name, "where_column": column, "where_op": "=", "where_value": value}
        try:
            result = await builtin_tools()["query_table"].call({**arguments, "limit": ROWS + 1}, context)
        except ToolError:
            continue
        given: Any = result.value
        rows: list[list[Any]] = cast(dict[str, Any], given)["rows"] if isinstance(given, dict) else []
        if 0 < len(rows) <= ROWS:
            names = [name.name for name in table.columns]
            told = "; ".join(", ".join(f"{n}: {v}" for n, v in zip(names, row, strict=False)) for row in rows)
            pieces.append((table.evidence, told))
    return pieces
