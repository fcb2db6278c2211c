"""What is shown around a task: rows, settings, sentences and columns, each a line with its source."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pointwork.agents.facts.figures import in_one_form
from pointwork.agents.facts.rows import Row, rows_of
from pointwork.agents.facts.settings import SUFFIXES, sections_about
from pointwork.agents.quoting import sentences_about
from pointwork.agents.readings.question import Question
from pointwork.agents.readings.sentences import Sentence
from pointwork.agents.tabling import ranked, readable_tables
from pointwork.errors import ToolError
from pointwork.text import tokenize
from pointwork.tools import ToolContext
from pointwork.tools.catalog import TableInfo
from pointwork.tools.passages import Passage

# Rows that a task names (by their number or day at most so many), rows that those refer to, rows that sentences
# name; sections; sentences that fit the task, and more that fit it together with what the rows name. A decomposer
# is trained on what these make of the files.
ROWS, OUTRIGHT, FOLLOWED, TOLD, SECTIONS, SENTENCES, MORE = 4, 4, 2, 2, 2, 5, 2

# Sentences for a reader of many lines, who finds out for itself which it needs, and how well they fit at least.
MANY, FAINTLY = 15, 0.1

# Characters of a row, words of a sentence, columns of a table.
LENGTH, WORDS, COLUMNS = 240, 28, 12

# Sentences that fit worse speak of something else.
FITS = 0.3

# Names in rows that sentences are looked for with: of so many rows, so many, so long.
_NAMING, _NAMES, _NAME = 3, 6, 30

_HEADING = re.compile(r"\s*(?:#|\[[^\]]*\]\s*$)")
# A sentence in which no number and no name stands holds no value.
_HOLDS = re.compile(
    r"\d|(?<=\w )[A-Z]|"
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|twice|quarter|hundred|third)\b"
)
SUPERLATIVE = re.compile(
    r"\b(?:(?<!at )(?:most|least)|fewest|first|last|best|worst|newest|oldest|"
    r"(?!rest|test|guest|west|nest|request|chest|forest|interest|honest|harvest|contest|protest|invest|priest)"
    r"\w{2,}est)\b",
    re.IGNORECASE,
)
"""What says that the most or the least of something is spoken of."""


@dataclass(frozen=True)
class Fact:
    """A line of what the files say.

    Attributes:
        source: as evidence names it; empty: names of columns, which say nothing yet.
        text: dates, times and numbers in one form.
        row: what it tells, if it is a row of a table.
        others: the other rows of that table.
    """

    source: str
    text: str
    row: Row | None = field(default=None, compare=False)
    others: Sequence[Row] = field(default=(), compare=False)


def shown(facts: Sequence[Fact]) -> str:
    """As a model reads them."""
    return "\n".join(fact.text for fact in facts)


async def facts_around(task: str, context: ToolContext) -> list[Fact]:
    """What the files say around a task; nothing without files.

    Args:
        task: the user's words.
        context: of the run's tools; its folder is searched.
    """
    root = context.root
    if root is None:
        return []
    tables = await readable_tables(context)
    try:
        every = await asyncio.to_thread(rows_of, root.resolve(), tables)
    except ToolError:  # a file is just being written
        return []

    def named() -> list[Row]:
        outright = [*every.numbered(task, OUTRIGHT), *every.dated(task, OUTRIGHT)][:OUTRIGHT]
        found = list(dict.fromkeys([*outright, *every.named(task, ROWS)]))[: max(ROWS, len(outright) + ROWS // 2)]
        return [*found, *every.followed(found, FOLLOWED)]

    rows = await asyncio.to_thread(named)
    sections = await asyncio.to_thread(sections_about, root.resolve(), task, SECTIONS)
    prose = _told(await sentences_about(task, context, 3 * SENTENCES))[:SENTENCES]
    prose += await further(task, rows, context, prose)
    settings = [Fact(section.source, cut(section.told)) for section in sections]
    text = "\n".join([*(fact.text for fact in prose[:SENTENCES]), *(fact.text for fact in settings)])
    rows += [row for row in every.told_of(text, TOLD + len(rows)) if row not in rows][:TOLD]
    lines = [Fact(row.table.evidence, cut(row.told), row, every.beside(row)) for row in rows]
    found = [*dict.fromkeys(lines), *settings, *_whole(prose)]
    return [*(replace(fact, text=in_one_form(fact.text, task)) for fact in found), *_columns(task, tables, rows)]


async def sentences_besides(task: str, context: ToolContext, known: Sequence[Fact]) -> list[Fact]:
    """More sentences that fit a task, none of those known, for who reads many lines."""
    found = _told(await sentences_about(task, context, 3 * MANY), FAINTLY)[:MANY]
    texts = {fact.text for fact in known}
    more = (replace(fact, text=in_one_form(fact.text, task)) for fact in _whole(found))
    return [fact for fact in more if fact.text not in texts]


async def further(task: str, rows: Sequence[Row], context: ToolContext, known: Sequence[Fact] = ()) -> list[Fact]:
    """Sentences, none of those known, that fit a task together with what rows name."""
    names = _names(rows, task)
    if not names:
        return []
    found = _told(await sentences_about(f"{task} {', '.join(names)}", context, SENTENCES))
    return [fact for fact in found if fact not in known][:MORE]


def _told(found: Sequence[Sentence], least: float = FITS) -> list[Fact]:
    """Sentences that may hold a value, each behind its heading; rows and settings are shown as such."""
    kept = [
        sentence
        for sentence in found
        if sentence.score >= least
        and not _HEADING.match(sentence.text)
        and not sentence.told.lstrip().startswith("|")
        and not sentence.passage.path.lower().endswith(SUFFIXES)
        and _HOLDS.search(sentence.told)
    ]
    return list(dict.fromkeys(Fact(sentence.source, _line(sentence)) for sentence in kept))


def _line(sentence: Sentence) -> str:
    heading = _head(sentence.passage)
    own = sentence.text.split()
    # whom it speaks of has the room that it leaves: the values are its own
    text = f"{_first(sentence.subject.split(), WORDS - len(own))} {_first(own, WORDS)}".strip()
    return f"{heading}: {text}" if heading else text


def _head(passage: Passage) -> str:
    """The heading, with the day that the file bears, as a letter does: "14 days from the date of this letter"."""
    heading = re.sub(r"^#+\s*", "", passage.heading.strip())
    said = Question(heading).dates
    if not passage.dated or any(date.day and date.year for date in said):
        return heading[:40]
    if any(date.day for date in said):  # a day of the year that the file is of
        return f"{heading[:40]} {next(date.year for date in Question(passage.dated).dates)}"
    return f"{heading[:40]}, {passage.dated}" if heading else passage.letterhead[:60]


def _first(words: Sequence[str], most: int) -> str:
    most = max(most, 0)
    return " ".join(words[:most]) + (" …" if 0 < most < len(words) else "")


def _names(rows: Sequence[Row], task: str) -> list[str]:
    """Names in rows that the task does not speak of."""
    asked = set(tokenize(task))
    texts = [
        cell
        for row in rows[:_NAMING]
        for column, cell in zip(row.table.own, row.cells, strict=True)
        if column.kind == "text" and 0 < len(cell) < _NAME
    ]
    return [text for text in texts if text.lower() != text and not set(tokenize(text)) <= asked][:_NAMES]


def cut(line: str) -> str:
    """A line as long as one may be."""
    name, _, rest = line.partition(": ")
    return f"{name}: {rest[:LENGTH]}"


def _whole(prose: Sequence[Fact]) -> list[Fact]:
    """Without sentences that stand in another."""
    bare = [fact.text.split(": ", 1)[-1] for fact in prose]
    return [
        fact
        for fact, own in zip(prose, bare, strict=True)
        if not any(own in other.text for other in prose if other is not fact)
    ]


def _columns(task: str, tables: Sequence[TableInfo], rows: Sequence[Row]) -> list[Fact]:
    """The columns of a table or two of which no row is shown: the best of something is found by a query."""
    known = {row.table.name for row in rows}
    most = 2 if not rows or SUPERLATIVE.search(task) else 1
    others = [table for _, table in ranked(task, tables) if table.name not in known][:most]
    return [Fact("", f"{t.name}: {', '.join(column.name for column in t.own[:COLUMNS])}") for t in others]
