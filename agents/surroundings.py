"""What stands around a task in the files: names of columns and sentences, of which its steps can be made.

"What does Mabel earn in a full week?" says nothing of hours and pay an hour; who plans it must have seen that the
files do.
"""

import asyncio
import re

from pointwork.agents.gathering import with_texts
from pointwork.agents.linking import linked_values
from pointwork.agents.quoting import sentences_about
from pointwork.agents.readings.sentences import Sentence
from pointwork.agents.tabling import ranked, readable_tables
from pointwork.text import tokenize
from pointwork.tools import ToolContext
from pointwork.tools.catalog import TableInfo

# Tables and columns, cells that a task names, sentences and words of each that are shown.
TABLES, COLUMNS, CELLS, SENTENCES, WORDS = 6, 12, 2, 5, 28

# Sentences that fit worse speak of something else.
FITS = 0.4

_HEADING = re.compile(r"\s*(?:#|\[[^\]]*\]\s*$)")


async def surroundings(task: str, context: ToolContext) -> str:
    """A line for each table, then one for each sentence that fits, best first; empty where nothing is to be read.

    Args:
        task: the user's words.
        context: of the run's tools; its folder is searched.
    """
    root = context.root
    if root is None:
        return ""
    known = await readable_tables(context)
    found = await sentences_about(task, context, 2 * SENTENCES)

    def lines() -> list[str]:
        shown: list[tuple[int, str]] = []
        for _, table in ranked(task, known):
            cells = _cells(with_texts(root, table), task)
            columns = ", ".join(column.name for column in table.columns[:COLUMNS])
            shown.append((-len(cells), f"{table.name}: {columns}{' | ' if cells else ''}{', '.join(cells)}"))
        return [line for _, line in sorted(shown, key=lambda one: one[0])[:TABLES]]

    tables = await asyncio.to_thread(lines)
    prose = [_line(sentence) for sentence in found if sentence.score >= FITS and not _HEADING.match(sentence.text)]
    return "\n".join([*tables, *list(dict.fromkeys(prose))[:SENTENCES]])


_NAME = re.compile(r"\b(?:[A-Z][\w-]+|\w*\d\w*)")


def _cells(table: TableInfo, task: str) -> list[str]:
    """Cells that a task names, with their columns; of a person the first name is enough."""
    named = {name for name in map(str.lower, _NAME.findall(task)) if tokenize(name)}
    parts = [
        (column.name, value)
        for column in table.columns
        if column.kind == "text"
        for value in column.values
        if named & set(re.findall(r"[\w-]+", value.lower()))
    ]
    whole = linked_values(table, task)
    return list(dict.fromkeys(f"{column} {value[:40]}" for column, value in [*whole, *parts]))[:CELLS]


def _line(sentence: Sentence) -> str:
    """A sentence behind its heading, not all of a long one."""
    heading = re.sub(r"^#+\s*", "", sentence.passage.heading.strip())
    words = sentence.told.split()
    text = " ".join(words[:WORDS]) + (" …" if len(words) > WORDS else "")
    return f"{heading[:40]}: {text}" if heading else text
