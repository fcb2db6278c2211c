"""Tables as a model is shown them that was trained to write queries: columns, first rows, cells that are named."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from pointwork.text import STOP_WORDS, tokenize
from pointwork.tools.catalog import TableInfo, texts_of
from pointwork.tools.duck import open_database
from pointwork.tools.table_info import Column
from pointwork.tools.table_loading import quote_name, quote_text
from pointwork.tools.tables import cell_text

TABLES = 5
"""Tables that are shown at most."""

_LONGEST = 3_000  # characters of all
_ROWS = 2
_COLUMNS = 14
_CELL = 28  # characters of a cell
_FEW = 5  # a text column with no more different values than this shows them
_NAMED = 6  # cells that a question seems to name


def tables_text(root: Path, tables: Sequence[TableInfo]) -> str:
    """Tables in the order given: names of columns, the values of those that have few, two rows.

    From the first that would make it too long on they are left out.

    Raises:
        ToolError: a file is broken or gone.
    """
    shown = [_table(root, info) for info in tables]
    fitting = sum(length <= _LONGEST for length in itertools.accumulate(map(len, shown)))
    return "\n".join(shown[: max(1, fitting)])


def _table(root: Path, info: TableInfo) -> str:
    columns = info.own[:_COLUMNS]
    names = ", ".join(quote_name(column.name) for column in columns)
    database = open_database(root, (info.source,))
    rows = database.query(f"SELECT {names} FROM {quote_name(info.name)}", _ROWS).rows  # noqa: S608
    lines = [f"{info.name}({', '.join(_column(info, column) for column in columns)})"]
    lines += [" | ".join("" if cell is None else _short(cell_text(cell)) for cell in row) for row in rows]
    return "\n".join(lines)


def _column(info: TableInfo, column: Column) -> str:
    repeated = 1 < len(column.values) <= _FEW and 2 * len(column.values) <= info.rows
    few = column.kind == "text" and repeated and not column.coded
    return f"{column.name} [{', '.join(map(_short, column.values))}]" if few else column.name


def _short(cell: str) -> str:
    return cell if len(cell) <= _CELL else f"{cell[: _CELL - 1]}…"


def values_named(root: Path, tables: Sequence[TableInfo], question: str) -> list[str]:
    """Cells whose words stand in a question, those with the most first; of names one word is enough.

    As ``boats.name = 'Otter'``, at most six. A cell within a longer one that was found does not count.
    """
    asked = tokenize(question, stop=False)
    spaced, words = f" {' '.join(asked)} ", set(asked) - STOP_WORDS
    found: list[tuple[float, str, str]] = []
    for info in tables:
        for column in info.own:
            if column.kind != "text":
                continue
            for value in texts_of(root, info, column):
                tokens = tokenize(value, stop=False)
                own = [token for token in tokens if token not in STOP_WORDS and len(token) > 1]
                if not own or len(value) > 60:
                    continue
                same = sum(token in words for token in own)
                if f" {' '.join(tokens)} " in spaced:
                    found.append((10.0 + len(tokens), value, f"{info.name}.{column.name}"))
                elif same and _is_name(value) and 2 * same >= len(own):
                    found.append((same / len(own), value, f"{info.name}.{column.name}"))
    found.sort(key=lambda one: -one[0])
    kept: list[tuple[float, str, str]] = []
    for weight, value, place in found:
        if not any(weight < other and set(tokenize(value)) <= set(tokenize(longer)) for other, longer, _ in kept):
            kept.append((weight, value, place))
    return [f"{place} = {quote_text(value)}" for _, value, place in kept[:_NAMED]]


def _is_name(value: str) -> bool:
    """Whether a cell may be called by a part of it: short, and no lower-case word alone."""
    words = value.split()
    return 1 < len(words) <= 5 and words[0][:1].isupper()
