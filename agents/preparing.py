"""What the built-in specialists gather before a model is asked, and how well a text fits each of them (0 to 1)."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pointwork.agents import examples
from pointwork.agents.linking import linked_schema
from pointwork.agents.querying import TABLES as SHOWN
from pointwork.agents.querying import tables_text, values_named
from pointwork.agents.quoting import besides, sentences_about
from pointwork.agents.readings import Reading, bridging, measured, moments, problems, tables
from pointwork.agents.readings.expressions import comparison_of, expression_of
from pointwork.agents.readings.question import Question
from pointwork.agents.readings.wanting import asking, asks_words, wanted
from pointwork.agents.spec import WHOLLY, Example, Prepared, Tabled, asked_words
from pointwork.text import tokenize
from pointwork.tools import ToolContext, builtin_tools
from pointwork.tools.catalog import Column, TableInfo, catalog, texts_of, widened, years_of
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
    r"\b(?:remember|recall|earlier|previous(?:ly)?|last time|before|again|"
    r"(?:did|have|had) (?:i|we) (?:say|said|tell|told|ask|asked)|"
    r"(?:i|we) (?:said|told|asked|mentioned)|my (?:name|favou?rite))\b",
    re.IGNORECASE,
)

# Where this stands, "who" and "when" say of what: "how many huts are there whose warden …".
_HOW = re.compile(r"\bhow\b|\b(?:add|sum|total|number|count|average)\b|\bwhose\b(?<!^whose)", re.IGNORECASE)

# A reading that accounts for this share of a question is taken outright.
CLEAR = 0.4

# By so much more of it a sentence and a table have to account for than the table alone.
GAINED = 0.1

_PLAIN_CONVERSION = re.compile(r"^\W*convert\s+(?P<value>.+?)\s+to\s+(?P<unit>[^?.]+?)[?.\s]*$", re.IGNORECASE)
_SPELLED = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|half|quarter|third|twice|double|dozen)\b",
    re.IGNORECASE,
)


async def fits_calculator(text: str, _: ToolContext) -> float:
    if expression_of(text) or comparison_of(text):
        return 1.0
    read = moments.readings(text)
    if read and read[0].score >= 1.0:
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
    return min(0.72, 0.24 * min(several, 2) + 0.12 * min(signs, 2))


async def prepare_calculator(text: str, context: ToolContext) -> Prepared:
    expression = expression_of(text)
    if expression:
        return Prepared(call=("calculate", {"expression": expression}))
    if difference := comparison_of(text):
        return Prepared(call=("calculate", {"expression": difference}), yes_no=True)
    plain = _PLAIN_CONVERSION.match(text)
    if plain and re.fullmatch(r"-?[\d.,]+", plain["value"]):  # a bare number has the unit that is asked for
        return Prepared(
            call=("calculate", {"expression": f"{plain['value']} * 1 {plain['unit']} to {plain['unit']}"})
        )
    read = moments.readings(text)
    if read and read[0].score >= 1.0:
        return Prepared(call=(read[0].tool, read[0].arguments))
    background = partial(_spoken_of, text, context)
    problem = await asyncio.to_thread(problems.solved, text)
    if problem is not None:
        return Prepared(call=(problem.tool, problem.arguments), sure=problem.score, background=background)
    return Prepared(background=background)


async def _spoken_of(text: str, context: ToolContext) -> list[tuple[str, str]]:
    """What speaks of the same as a question: a number that it needs may stand there, a price or a rule."""
    return await besides(text, context, await sentences_about(text, context))


def _share(words: set[str], text: str) -> float:
    """Share of a question's words that a text holds."""
    return len(words & set(tokenize(text))) / len(words) if words else 0.0


def _ranked(text: str, tables: Sequence[TableInfo]) -> list[tuple[float, TableInfo]]:
    """Tables with the share of a question's words that their names, columns and values hold, best first."""
    words = asked_words(text)
    scored: list[tuple[float, TableInfo]] = []
    for table in tables:
        described = [table.name, *(word for column in table.columns for word in (column.name, *column.values))]
        named = 0.5 if re.search(rf"\b{re.escape(Path(table.source.path).name)}\b", text, re.IGNORECASE) else 0.0
        scored.append((min(1.0, named + _share(words, " ".join(described))), table))
    return sorted(scored, key=lambda pair: -pair[0])


async def readable_tables(context: ToolContext) -> Sequence[TableInfo]:
    if context.root is None:
        return []
    return [table for table in await asyncio.to_thread(catalog, context.root) if not table.problem]


async def read_tables(text: str, context: ToolContext) -> list[Reading]:
    """Readings of a question as a query, best first."""
    root = context.root
    if root is None:
        return []
    known = await readable_tables(context)
    found = await asyncio.to_thread(_readings, text, root, known)
    if found and found[0].score >= 1 - GAINED:
        return found
    # what stands in the rows that a table's keys stand for counts too, where without it less is accounted for
    wide = await asyncio.to_thread(lambda: _readings(text, root, widened(root)))
    least = (found[0].score if found else 0.0) + GAINED
    return [*(reading for reading in wide[:1] if reading.score >= least), *found]


def _readings(text: str, root: Path, known: Sequence[TableInfo]) -> list[Reading]:
    found = tables.readings(
        text,
        known,
        lambda info, column: texts_of(root, info, column),
        lambda info, column: years_of(root, info, column),
    )
    asked = moments.asked_unit(text)
    kind = "" if _HOW.search(asking(text)) else wanted(asking(text)).kind
    fitting = (_of_kind(_in_unit(reading, asked), kind, known) for reading in found)
    return sorted(fitting, key=lambda reading: -reading.score)


async def _bridged(text: str, context: ToolContext, direct: Sequence[Reading]) -> bridging.Bridge | None:
    """A reading as a query about what a document tells of, where it accounts for more than one without."""
    least = (direct[0].score if direct else 0.0) + GAINED
    root, known = context.root, await readable_tables(context)
    if root is None or not known or least > 1.0:
        return None
    found = await sentences_about(text, context, bridging.SENTENCES)

    def read() -> bridging.Bridge | None:
        forms = bridging.forms_of(v for info in known for c in info.columns for v in texts_of(root, info, c))
        return bridging.bridged(text, found, forms, known, lambda asked: _readings(asked, root, known))

    bridge = await asyncio.to_thread(read)
    return bridge if bridge is not None and bridge.reading.score >= least else None


def _in_unit(reading: Reading, asked: tuple[str, object] | None) -> Reading:
    """A reading with its score lowered where its column is measured in something else than is asked for."""
    unit = moments.unit_of(_unit_of(reading)) if asked is not None else None
    if asked is None or unit is None:
        return reading
    return reading if moments.compatible(unit, asked[1]) else replace(reading, score=0.3 * reading.score)


def _of_kind(reading: Reading, kind: str, known: Sequence[TableInfo]) -> Reading:
    """A reading with its score lowered where a day or a person is asked for, and it gives a number, and where it
    looks for the best of one row.
    """
    given = reading.arguments
    info = next(info for info in known if info.name == given["table"])
    unique = {column.name for column in info.columns if column.distinct == info.rows > 1}
    one = any(given.get(f"{p}_column") in unique and given.get(f"{p}_op") == "=" for p in ("where", "and", "also"))
    if one and given.get("order_by") and ", " not in str(given.get("where_value")):
        return replace(reading, score=0.3 * reading.score)
    if kind not in ("date", "when", "weekday", "person") or reading.yes_no:
        return reading
    shown = given.get("column") or given.get("group_by")
    column = next((column for column in info.columns if column.name == shown), None)
    counted = column is None or (column.kind == "number" and "year" not in tokenize(column.name))
    return replace(reading, score=0.3 * reading.score) if counted else reading


async def fits_tables(text: str, context: ToolContext) -> float:
    read = await read_tables(text, context)
    if bridge := await _bridged(text, context, read):
        return min(0.95, 0.55 + 0.5 * bridge.reading.score)
    if not read:
        return 0.0
    best = read[0]
    if best.score < CLEAR:
        return 0.6 * best.score
    bound = sum(bool(best.arguments.get(f"{part}_column")) for part in ("where", "and", "also"))
    files = [Path(table.source.path).name for table in await readable_tables(context)]
    named = any(re.search(rf"\b{re.escape(name)}\b", text) for name in files)
    return min(0.97, best.score + (0.1 if bound > 1 else 0.0) + (0.3 if named else 0.0))


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
    shown = [table for _, table in _ranked(text, known)[:SHOWN]]

    def show() -> Tabled:
        return Tabled(tables_text(root, shown), tuple(values_named(root, shown, text)))

    return await asyncio.to_thread(show)


async def prepare_tables(text: str, context: ToolContext) -> Prepared:
    read = await read_tables(text, context)
    asked = replace(await _asked_table(text, context), tabled=partial(tabled, text, context))
    bridge = await _bridged(text, context, read)
    if bridge is not None:
        asked = replace(asked, told=((bridge.sentence.source, bridge.sentence.told),))
    best = bridge.reading if bridge is not None else read[0] if read else None
    if best is not None and best.score >= CLEAR:
        call = (best.tool, best.arguments)
        return replace(asked, call=call, sure=best.score, cell=best.cell, yes_no=best.yes_no, unit=_unit_of(best))
    return asked


async def _asked_table(text: str, context: ToolContext) -> Prepared:
    """What a model needs to query a table itself."""
    found = _ranked(text, await readable_tables(context))
    scores = {table.name: score for score, table in found}
    ranked = [table for score, table in found if score > 0][:TABLES]
    if not ranked:
        return Prepared()
    if len(ranked) > 1 and scores[ranked[0].name] >= CLEARLY * scores[ranked[1].name]:
        ranked = ranked[:1]
    query = builtin_tools()["query_table"]
    # one schema per table, each narrowed to what that table has: a small model can not name what is not there
    narrowed = tuple(replace(query, input_schema=linked_schema(table, text)) for table in ranked)
    shown = tuple((table.evidence, _described(table)) for table in ranked)
    return Prepared(context=shown, tools=narrowed, examples=tuple(_table_examples(text)))


def _unit_of(reading: Reading) -> str:
    """The unit that the end of a number column's name says; none of a count."""
    if reading.arguments.get("aggregate", "none") in ("count", "distinct") or reading.yes_no:
        return ""
    return reading.unit or measured.unit_named(str(reading.arguments.get("column", "")))


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
    best = max((_share(words, item) for _, item in await _remembered(text, context, 3)), default=0.0)
    # without a word that points to the past, what was found before comes after what stands in the files
    return min(0.95, 0.4 + 0.55 * best) if _REMEMBERS.search(text) else 0.3 * best


async def prepare_recall(text: str, context: ToolContext) -> Prepared:
    items = await _remembered(text, context, 5)
    words = asked_words(text)
    fit = 1.0 if _REMEMBERS.search(text) else max((_share(words, item) for _, item in items), default=1.0)
    return Prepared(context=tuple(items), fit=fit, tools=() if items else None)


async def fits_writer(text: str, _: ToolContext) -> float:
    return 0.85 if asks_words(text) else 0.15


async def fits_nothing(_: str, __: ToolContext) -> float:
    return 0.0
