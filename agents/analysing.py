"""What the analyst gathers: sentences and tables for a program that does a whole task of several steps.

The model writes the steps, Python computes them (program of thoughts, Chen et al. 2022). What is given stands there
as the beginning of a file of Python, which is what models of code go on with best.
"""

import asyncio
import json
import re
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from pointwork.agents import examples
from pointwork.agents.gathering import with_texts
from pointwork.agents.linking import linked_columns, linked_values
from pointwork.agents.preparing import CLEAR
from pointwork.agents.quoting import sentences_about
from pointwork.agents.readings.sentences import CODE, Sentence
from pointwork.agents.spec import Prepared, Writing
from pointwork.agents.tabling import read_tables, readable_tables
from pointwork.tools import ToolContext
from pointwork.tools.catalog import Column, TableInfo
from pointwork.tools.duck import open_database
from pointwork.tools.sandbox import missing_means
from pointwork.tools.table_loading import quote_name, quote_text

INSTRUCTIONS = """You complete a Python program that prints the answer to a task. Write a few plain lines. \
Every number comes from the notes, the tables or the task; never invent one. Print only what is asked for.
There already: datetime, math, Counter, every table as a list of dicts under its name, and
add(date, years=0, months=0, weeks=0, days=0), weekday(date), convert(value, "from", "to").
Begin with two comments: what is given, in which units, and what is asked."""

# Sentences shown, of those looked at; none that fits this much worse than the best.
NOTES, LOOKED = 6, 14
LEAST, BESIDE = 0.25, 0.45

TABLES = 2
# Values of a text column that are told, and their characters together.
VALUES, VALUES_LENGTH = 8, 90

# (column, value) pairs that a task names.
Linked = list[tuple[str, str]]


def can_run() -> bool:
    """Whether there is a sandbox for programs on this system."""
    return not missing_means()


async def prepare_program(text: str, context: ToolContext) -> Prepared:
    """Notes and tables about a task, and how to ask for a program over them."""
    notes = await _notes(text, context)
    tables = await _tables(text, context)
    lines = [f"# [{name}] {piece}" for name, _, piece in notes]
    given = "\n".join([*lines, *(piece for _, piece in tables)])
    rows = examples.programs()
    above = "# notes:\n" if notes else ""
    asked = f"{above}{given}\n# task: {text}".lstrip("\n")
    return Prepared(
        context=(*((source, piece) for _, source, piece in notes), *tables),
        writing=Writing(INSTRUCTIONS, tuple((row["given"], row["program"]) for row in rows), asked),
    )


async def _notes(text: str, context: ToolContext) -> list[tuple[str, str, str]]:
    """(file's name, source, sentence) of what fits, by file; beside the best its neighbours."""
    found = await sentences_about(text, context, LOOKED)
    fitting = [s for s in found if s.score >= max(LEAST, BESIDE * found[0].score)][:NOTES]
    by_file: dict[str, dict[str, str]] = {}
    for place, sentence in enumerate(fitting):
        of_file = by_file.setdefault(sentence.passage.path, {})
        if sentence.passage.path.lower().endswith(CODE):
            pieces = sentence.passage.text.splitlines() if place < 3 else []
        else:
            around = [sentence.before, sentence.text, sentence.after] if place == 0 else [sentence.text]
            pieces = [piece for piece in around if not piece.startswith("# ")]
        of_file.update((piece, sentence.source) for piece in pieces if piece.strip())
    return [
        (_named(path, fitting), source, piece)
        for path, pieces in by_file.items()
        for piece, source in pieces.items()
    ]


def _named(path: str, found: list[Sentence]) -> str:
    """A file's name, with its heading where that says a date or a number (minutes, reports)."""
    heading = next((s.passage.heading for s in found if s.passage.path == path), "")
    name = PurePosixPath(path)
    short = name.stem if name.suffix == ".md" else name.name
    return f"{short}, {heading}" if re.search(r"\d", heading) else short


async def _tables(text: str, context: ToolContext) -> list[tuple[str, str]]:
    """(source, comment lines) of the tables that the task speaks of: a row, and values of its text columns."""
    root = context.root
    if root is None:
        return []
    read = (await read_tables(text, context))[:1]
    known = await readable_tables(context)

    def describe() -> list[tuple[str, str]]:
        meant = [reading.arguments.get("table") for reading in read if reading.score >= CLEAR]
        scored: list[tuple[float, TableInfo, Linked]] = []
        for table in (with_texts(root, table) for table in known):
            linked = linked_values(table, text)
            scored.append((_fit(table, text, linked) + (2.0 if table.name in meant else 0.0), table, linked))
        best = max((score for score, _, _ in scored), default=0.0)
        fitting = sorted((one for one in scored if one[0] >= max(1.0, best / 2)), key=lambda one: -one[0])
        return [(table.evidence, _told(root, table, linked)) for _, table, linked in fitting[:TABLES]]

    return await asyncio.to_thread(describe)


def _fit(table: TableInfo, text: str, linked: Linked) -> float:
    """How much of a task a table holds: its name, columns and values that the task names."""
    named = len(linked_columns(table, text)) + (re.search(rf"\b{re.escape(table.name)}\b", text) is not None)
    return named + 1.5 * len(linked)


def _told(root: Path, table: TableInfo, linked: Linked) -> str:
    database = open_database(root, (table.source,))
    # a row about what the task names: a model may take what it sees for the row that is asked for
    about = "".join(f" ORDER BY {quote_name(column)} <> {quote_text(value)}" for column, value in linked[:1])
    first = database.query(f"SELECT * FROM {quote_name(table.name)}{about}", 1)  # noqa: S608
    kinds = {column.name: column.kind for column in table.columns}
    cells = ", ".join(
        f"{json.dumps(name, ensure_ascii=False)}: {_cell(cell, kinds.get(name, ''))}"
        for name, cell in zip(first.columns, first.rows[0] if first.rows else [], strict=False)
    )
    lines = [f"# table {table.name}, {table.rows} rows like {{{cells}}}"]
    for column in table.columns:
        if column.kind == "text" and (values := _values(column, linked)):
            told = ", ".join(json.dumps(value, ensure_ascii=False) for value in values)
            lines.append(f"#   {column.name} is {told}")
    return "\n".join(lines)


def _cell(cell: Any, kind: str) -> str:
    """A cell as Python writes it."""
    if kind == "date" and isinstance(cell, str):
        moment = datetime.fromisoformat(cell)
        return (
            repr(moment) if len(cell) > len("2024-05-01") else f"date({moment.year}, {moment.month}, {moment.day})"
        )
    if isinstance(cell, str):
        return json.dumps(cell if len(cell) <= VALUES_LENGTH else f"{cell[:VALUES_LENGTH]}…", ensure_ascii=False)
    return repr(cell)


def _values(column: Column, linked: Linked) -> list[str]:
    """Values of a text column that the task names, and all of it where they are few and short."""
    named = [value for name, value in linked if name == column.name]
    few = len(column.values) <= VALUES and sum(map(len, column.values)) < VALUES_LENGTH
    return list(dict.fromkeys([*named, *(column.values if few else ())]))[:VALUES]
