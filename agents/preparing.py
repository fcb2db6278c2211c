"""What the built-in specialists gather before a model is asked, and how well a text fits each of them (0 to 1)."""

import asyncio
import re
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from pointwork.agents import examples
from pointwork.agents.facts.rows import rows_of
from pointwork.agents.linking import linked_schema
from pointwork.agents.querying import TABLES as SHOWN
from pointwork.agents.querying import tables_text, values_named
from pointwork.agents.quoting import besides, sentences_about
from pointwork.agents.readings import Reading
from pointwork.agents.readings.beyond import outright
from pointwork.agents.readings.expressions import expression_of, is_formula
from pointwork.agents.readings.names import names
from pointwork.agents.readings.question import Question
from pointwork.agents.readings.wanting import asking, asks_words, wanted
from pointwork.agents.readings.weighing import comparison_of
from pointwork.agents.reckoning import as_read, computed
from pointwork.agents.spec import WHOLLY, Example, Prepared, Tabled, asked_words
from pointwork.agents.tabling import bridged, ranked, read_tables, readable_tables, share, unit_of
from pointwork.errors import ToolError
from pointwork.tools import ToolContext, builtin_tools
from pointwork.tools.catalog import Column, TableInfo
from pointwork.tools.table_loading import Source

# Tables whose columns are shown; only the best, if it fits this many times better than the next.
TABLES = 3
CLEARLY = 1.5

# Worked examples in a prompt.
EXAMPLES = 4

_TYPES = {"text": "VARCHAR", "number": "DOUBLE", "date": "DATE"}

_COMPUTES = re.compile(
    r"\d\s*[-+*/^%×÷]|[-+*/^×÷]\s*\d|\d+\s*%|"
    r"\b(?:plus|minus|times|divided|multipl\w+|sum|total|difference|average|mean|"
    r"percent\w*|double|twice|half|third|quarter|square|root|how (?:many|much|long|far|old)|left|"
    r"remain\w*|altogether|convert|each|per|cost|price|more than|less than|"
    r"days?|weeks?|months?|years?|hours?|minutes?)\b",
    re.IGNORECASE,
)
_REMEMBERS = re.compile(
    # ("three days before the feast" looks back to nothing)
    r"\b(?:remember|recall|last time|previously|(?:earlier|before|again)(?=\W*$)|"
    r"(?:earlier|previous)\s+(?:answers?|questions?|runs?|tasks?|results?|conversations?|talks?)|"
    r"(?:did|have|had) (?:i|we) (?:say|said|tell|told|ask|asked)|"
    r"(?:i|we) (?:said|told|asked|mentioned)|my (?:name|favou?rite))\b",
    re.IGNORECASE,
)

# A reading that accounts for this share of a question is taken outright; where it is of a table that the question
# names, it fits at least so well.
CLEAR, NAMED = 0.4, 0.8

# A word problem that has its numbers in itself needs no files: of 905 tasks over files 3 are read with CERTAIN. How
# well it fits then.
CERTAIN, SOLVED = 0.6, 0.96

_PLAIN_CONVERSION = re.compile(r"^\W*convert\s+(?P<value>.+?)\s+to\s+(?P<unit>[^?.]+?)[?.\s]*$", re.IGNORECASE)
_SPELLED = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|half|quarter|third|twice|double|dozen)\b",
    re.IGNORECASE,
)


async def fits_calculator(text: str, context: ToolContext) -> float:
    if expression_of(text) or comparison_of(text):
        return 1.0
    if outright(text) is not None:
        return WHOLLY
    question = Question(text)
    numbers = len(re.findall(r"\{s\d+\}", text)) + len(question.numbers) + len(question.comparisons)
    if not numbers:
        undated = text  # no date is a number to compute with, nor is T11
        for date in sorted(question.dates, key=lambda date: -date.start):
            undated = undated[: date.start] + undated[date.end :]
        numbers = len(re.findall(r"(?<![\w-])(?:\d\s?%|\d+\s?\w\b)", undated))
    several = numbers + len(_SPELLED.findall(text))
    signs = len(_COMPUTES.findall(text))
    if not numbers:
        return 0.0
    if several > 1 and not is_formula(text):
        if await _of_rows(text, context):
            return 0.0
        if await asyncio.to_thread(_solved, text):
            return SOLVED
    return min(0.72, 0.24 * min(several, 2) + 0.12 * min(signs, 2))


async def _of_rows(text: str, context: ToolContext) -> bool:
    """Whether it is calculated with what rows are told apart by: "ticket 505 against 502" is no sum of them."""
    if context.root is None:
        return False
    problem = await asyncio.to_thread(_problem, text)
    used = _figures_of(problem) if problem else [number for number, _, _ in Question(text).numbers]
    if not used:
        return False
    tables = await readable_tables(context)
    try:
        every = await asyncio.to_thread(rows_of, context.root.resolve(), tables)
    except ToolError:  # a file is just being written
        return False
    named = {row.cells[0] for row in every.numbered(text, len(used), spoken=True)}
    return bool(named & set(used)) if problem else set(used) <= named


@lru_cache(maxsize=256)
def _problem(text: str) -> Reading | None:
    """What a word problem computes: asked for when it is planned and again when it is done."""
    return computed(text)


def _solved(text: str) -> bool:
    """Whether a text has all that its problem needs: read for certain, or nobody named and no number left out."""
    problem = None if "://" in text else _problem(text)  # an address has numbers that are none
    if problem is None or problem.score >= CERTAIN:
        return problem is not None
    used = _figures_of(problem)
    return not names(text) and all(number in used for number, _, _ in Question(as_read(text)).numbers)


def _figures_of(problem: Reading) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", str(problem.arguments["expression"]))


async def prepare_calculator(text: str, context: ToolContext) -> Prepared:
    expression = expression_of(text)
    if expression:
        return Prepared(call=("calculate", {"expression": expression}))
    if compared := comparison_of(text):
        return Prepared(call=compared)
    plain = _PLAIN_CONVERSION.match(text)
    if plain and re.fullmatch(r"-?[\d.,]+", plain["value"]):  # a bare number has the unit that is asked for
        return Prepared(
            call=("calculate", {"expression": f"{plain['value']} * 1 {plain['unit']} to {plain['unit']}"})
        )
    if (read := outright(text)) is not None:
        return Prepared(call=(read.tool, read.arguments))
    background = partial(_spoken_of, text, context)
    if is_formula(text):  # no word problem: another formula is not its answer
        return Prepared(background=background)
    problem = await asyncio.to_thread(_problem, text)
    if problem is not None:
        return Prepared(call=(problem.tool, problem.arguments), sure=problem.score, background=background)
    return Prepared(background=background)


async def _spoken_of(text: str, context: ToolContext) -> list[tuple[str, str]]:
    """What speaks of the same as a question: a number that it needs may stand there, a price or a rule."""
    return await besides(text, context, await sentences_about(text, context))


async def fits_tables(text: str, context: ToolContext) -> float:
    read = await read_tables(text, context)
    if bridge := await bridged(text, context, read):
        return min(0.95, 0.55 + 0.5 * bridge.reading.score)
    if not read:
        return 0.0
    best = read[0]
    if best.score < CLEAR:
        return 0.6 * best.score
    bound = sum(bool(best.arguments.get(f"{part}_column")) for part in ("where", "and", "also"))
    score = best.score + (0.1 if bound > 1 else 0.0)
    # who names a table wants it read, whatever numbers the question has besides
    named = any(_names(text, table) and _reads(best, table) for table in await readable_tables(context))
    return min(0.97, max(score + 0.3, NAMED) if named else score)


def _names(text: str, table: TableInfo) -> bool:
    """Whether a text names a table's file: as it is called, or as "the weather table" (not a.csv as "a table")."""
    file = Path(table.source.path)
    stem = r"[\s_-]+".join(map(re.escape, re.split(r"[\s_-]+", file.stem)))
    told = rf"\b{re.escape(file.name)}\b"
    if len(file.stem) > 2:
        told += rf"|\b{stem}\s+(?:table|sheet|file|csv)\b|\btable\s+{stem}\b"
    return re.search(told, text, re.IGNORECASE) is not None


def _reads(reading: Reading, table: TableInfo) -> bool:
    arguments = reading.arguments
    return table.name == arguments.get("table") or f'"{table.name}"' in str(arguments.get("query", ""))


def _described(table: TableInfo) -> str:
    """A table in one line: columns with their kinds, and the values of columns that have few."""
    columns = [
        f"{column.name} ({column.kind}{': ' + ', '.join(column.values[:12]) if column.values else ''})"
        for column in table.columns[:30]
    ]
    return f"table {table.name}, {table.rows} rows, columns {'; '.join(columns)}"


async def tabled(text: str, context: ToolContext) -> Tabled | None:
    """The tables of the files as the querier is shown them; None: there are none, or it is no question for it."""
    root, known = context.root, await readable_tables(context)
    if root is None or not known or wanted(asking(text)).kind == "yes-no":
        return None
    shown = [table for _, table in ranked(text, known)[:SHOWN]]

    def show() -> Tabled:
        return Tabled(tables_text(root, shown), tuple(values_named(root, shown, text)))

    return await asyncio.to_thread(show)


async def prepare_tables(text: str, context: ToolContext) -> Prepared:
    read = await read_tables(text, context)
    asked = replace(await _asked_table(text, context), tabled=partial(tabled, text, context))
    bridge = await bridged(text, context, read)
    if bridge is not None:
        asked = replace(asked, told=((bridge.sentence.source, bridge.sentence.told),))
    best = bridge.reading if bridge is not None else read[0] if read else None
    if best is not None and best.score >= CLEAR:
        return replace(
            asked,
            call=(best.tool, best.arguments),
            sure=best.score,
            cell=best.cell,
            yes_no=best.yes_no,
            unit=unit_of(best),
            absent=best.absent,
        )
    return asked


async def _asked_table(text: str, context: ToolContext) -> Prepared:
    """What a model needs to query a table itself."""
    found = ranked(text, await readable_tables(context))
    scores = {table.name: score for score, table in found}
    likely = [table for score, table in found if score > 0][:TABLES]
    if not likely:
        return Prepared()
    if len(likely) > 1 and scores[likely[0].name] >= CLEARLY * scores[likely[1].name]:
        likely = likely[:1]
    query = builtin_tools()["query_table"]
    # one schema per table, each narrowed to what that table has: a small model can not name what is not there
    narrowed = tuple(replace(query, input_schema=linked_schema(table, text)) for table in likely)
    shown = tuple((table.evidence, _described(table)) for table in likely)
    return Prepared(context=shown, tools=narrowed, examples=tuple(_table_examples(text)))


def _table_examples(text: str) -> list[Example]:
    """Like questions to other tables with the calls that answer them, their conditions linked as here."""
    found: list[Example] = []
    for row in examples.bank("tables").nearest(text, EXAMPLES):
        shown = examples.tables()[row["table"]]
        columns = tuple(Column(name, _TYPES[kind], tuple(values)) for name, kind, values in shown["columns"])
        table = TableInfo(
            row["table"], Source(f"{row['table']}.csv", 0, 0, "", row["table"]), columns, shown["rows"]
        )
        properties: dict[str, Any] = linked_schema(table, row["ask"])["properties"]
        arguments = {name: _first(schema) for name, schema in properties.items()} | row["call"]
        arguments = {name: arguments[name] for name in properties}
        found.append(Example(((table.evidence, _described(table)),), row["ask"], "query_table", arguments))
    return found


def _first(schema: dict[str, Any]) -> Any:
    """What an argument is if the example does not say: its only value, or none."""
    return schema["const"] if "const" in schema else schema["enum"][0]


async def _remembered(text: str, context: ToolContext, k: int) -> list[tuple[str, str]]:
    memory = context.memory
    if memory is None:
        return []
    found = await asyncio.to_thread(memory.recall, text, k=k, thread=context.thread)
    return [(f"memory:{item.id}", item.text) for item in found.items]


async def fits_recall(text: str, context: ToolContext) -> float:
    words = asked_words(text)
    best = max((share(words, item) for _, item in await _remembered(text, context, 3)), default=0.0)
    # without a word that points to the past, what was found before comes after what stands in the files
    return min(0.95, 0.4 + 0.55 * best) if _REMEMBERS.search(text) else 0.3 * best


async def prepare_recall(text: str, context: ToolContext) -> Prepared:
    items = await _remembered(text, context, 5)
    words = asked_words(text)
    fit = 1.0 if _REMEMBERS.search(text) else max((share(words, item) for _, item in items), default=1.0)
    return Prepared(context=tuple(items), fit=fit, tools=() if items else None)


async def fits_writer(text: str, _: ToolContext) -> float:
    return 0.85 if asks_words(text) else 0.15


async def fits_nothing(_: str, __: ToolContext) -> float:
    return 0.0
