"""Tables inside Markdown pages: a price list between two paragraphs is as good a table as a CSV file.

What is a table, a header or a cell is for ``markdown-it`` to say (CommonMark and GitHub's tables).
"""

import csv
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pointwork.errors import ToolError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

SUFFIXES = frozenset({".md", ".markdown"})
MAX_BYTES = 2_000_000
"""Larger pages are not looked through."""

_SHORT = 200_000  # characters of a page whose tables are kept
_LEAST = 2  # rows, and columns: what is smaller is a note in a frame
_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*\|[ \t|:-]*$", re.MULTILINE)
_NUMBER = re.compile(r"(?P<sign>[-+−]?)\s?[£$€]?\s?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?%?")
_NOTHING = frozenset(["", "-", "–", "—", "n/a"])


@dataclass(frozen=True)
class MarkdownTable:
    """One table of a page.

    Attributes:
        name: the heading that it stands under, numbered from the second under that heading on; empty without one.
        header: names of the columns, each once.
        rows: cells as they are written; numbers bare, where a column has nothing else; empty: nothing.
    """

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@functools.cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def markdown_tables(text: str) -> list[MarkdownTable]:
    """The tables of a page, in order, that have a header with different names, two columns and two rows."""
    if _RULE.search(text) is None:  # most pages: nothing is parsed
        return []
    # a page is parsed to know its tables, and then for each of them
    return list(_kept(text) if len(text) <= _SHORT else _tables(text))


@functools.lru_cache(maxsize=64)
def _kept(text: str) -> list[MarkdownTable]:
    return _tables(text)


def _tables(text: str) -> list[MarkdownTable]:
    found: list[MarkdownTable] = []
    names: dict[str, int] = {}
    for heading, (first, *rest) in _grids(_parser().parse(text)):
        header = [_column(cell) or (f"column {place}" if place else "name") for place, cell in enumerate(first)]
        if min(len(header), len(rest)) < _LEAST or len({name.lower() for name in header}) < len(header):
            continue
        names[heading] = names.get(heading, 0) + 1
        name = heading if names[heading] == 1 else f"{heading} {names[heading]}".strip()
        columns = [_bare([row[place] for row in rest]) for place in range(len(header))]
        found.append(MarkdownTable(name, tuple(header), tuple(zip(*columns, strict=True))))
    return found


def markdown_reader(path: str, inner: str, copy: Path) -> Path:
    """Write a page's table as CSV beside the copy of the page.

    Raises:
        ToolError: the page has no such table any more.
    """
    text = copy.read_bytes().decode("utf-8-sig", errors="replace")
    table = next((table for table in markdown_tables(text) if table.name == inner), None)
    if table is None:
        raise ToolError(f"{path!r} has no table {inner!r} any more")
    target = copy.with_name("page.csv")
    with target.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([table.header, *table.rows])
    return target


def _grids(tokens: "Sequence[Token]") -> Iterator[tuple[str, list[list[str]]]]:
    """Each table's cells, the header first, with the heading that it stands under."""
    heading, grid = "", list[list[str]]()
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "tr_open":
            grid.append([])
        elif token.type == "table_open":
            grid = []
        elif token.type == "table_close":
            yield heading, grid
        elif token.type == "inline" and before is not None:
            if before.type == "heading_open":
                heading = _text(token)
            elif before.type in ("th_open", "td_open"):
                grid[-1].append(_text(token))


def _text(token: "Token") -> str:
    """What stands in a heading or a cell, without its markup."""
    parts = (" " if child.type in ("softbreak", "hardbreak") else child.content for child in token.children or ())
    return " ".join("".join(parts).split())


def _column(cell: str) -> str:
    """A header cell as the name of a column: ``Hourly rate (£)`` is ``hourly_rate_£``."""
    return re.sub(r"[^\w£$€%]+", "_", cell).strip("_").lower()


def _bare(cells: Sequence[str]) -> list[str]:
    """The cells of a column, numbers bare where there is nothing else: ``£1,200`` is 1200."""
    told = ["" if cell.lower() in _NOTHING else cell for cell in cells]
    numbers = [_NUMBER.fullmatch(cell) for cell in told]
    if not any(told) or not all(number or not cell for number, cell in zip(numbers, told, strict=True)):
        return told
    return [
        f"{match['sign'].replace('−', '-')}{match['number'].replace(',', '')}" if match is not None else ""
        for match in numbers
    ]
