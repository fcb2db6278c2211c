"""What the built-in specialists gather before a model is asked, and how well a text fits each of them (0 to 1)."""

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pointwork.agents import examples
from pointwork.agents.gathering import rows_about
from pointwork.agents.linking import linked_schema
from pointwork.agents.readings import Reading, moments, sentences, spans, tables
from pointwork.agents.readings.expressions import comparison_of, expression_of
from pointwork.agents.readings.question import Question
from pointwork.agents.readings.wanting import Wanted, asks_words, wanted
from pointwork.agents.spec import FITTING, Example, Prepared, asked_words
from pointwork.errors import ToolError
from pointwork.text import tokenize
from pointwork.tools import ToolContext, builtin_tools, passages
from pointwork.tools.catalog import Column, TableInfo, catalog, texts_of, years_of
from pointwork.tools.table_loading import Source

# Passages and items that go into a prompt.
PASSAGES = 3

# Sentences in which an answer is looked for, and pieces of them that a model chooses from.
SENTENCES, CHOICES = 6, 5

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

# A reading that accounts for this share of a question is taken outright.
CLEAR = 0.4

# A sentence that fits a question this well speaks of the same, whether or not it holds the answer.
SPEAKS = 0.5

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
        return 0.98
    question = Question(text)
    numbers = len(re.findall(r"\{s\d+\}", text)) + len(question.numbers) + len(question.comparisons)
    numbers += len(re.findall(r"\d\s?%|\d+\s?\w\b", text)) if not numbers else 0
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
    return Prepared(background=partial(_spoken_of, text, context))


async def _spoken_of(text: str, context: ToolContext) -> list[tuple[str, str]]:
    """What speaks of the same as a question: a number that it needs may stand there, a price or a rule."""
    return await _besides(text, context, await sentences_about(text, context))


async def _besides(
    text: str, context: ToolContext, found: Sequence[sentences.Sentence], but: Collection[str] = ()
) -> list[tuple[str, str]]:
    """Of the sentences found those that fit and are not shown yet, and rows about what the question names."""
    fitting = [s for s in found if s.score >= SPEAKS and s.text not in but]
    return [*((s.source, s.text) for s in fitting[:PASSAGES]), *await rows_about(text, context)]


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

    def read() -> list[Reading]:
        return tables.readings(
            text,
            known,
            lambda info, column: texts_of(root, info, column),
            lambda info, column: years_of(root, info, column),
        )

    asked = moments.asked_unit(text)
    return sorted((_in_unit(reading, asked) for reading in await asyncio.to_thread(read)), key=lambda r: -r.score)


def _in_unit(reading: Reading, asked: tuple[str, object] | None) -> Reading:
    """A reading with its score lowered where its column is measured in something else than is asked for."""
    unit = moments.unit_of(_unit_of(reading)) if asked is not None else None
    if asked is None or unit is None:
        return reading
    return reading if moments.compatible(unit, asked[1]) else replace(reading, score=0.3 * reading.score)


async def fits_tables(text: str, context: ToolContext) -> float:
    read = await read_tables(text, context)
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


async def prepare_tables(text: str, context: ToolContext) -> Prepared:
    read = await read_tables(text, context)
    asked = await _asked_table(text, context)
    if read and read[0].score >= CLEAR:
        best = read[0]
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


# How the end of a column's name says a unit that the calculator spells otherwise.
_SPELLED_UNITS = {"kmh": "km/h", "ms": "m/s", "c": "degC", "f": "degF", "l": "litres", "celsius": "degC"}
_NAMED_UNITS = frozenset(
    [
        "mm",
        "cm",
        "km",
        "kg",
        "g",
        "mg",
        "t",
        "knots",
        "kwh",
        "kw",
        "w",
        "litres",
        "liters",
        "ml",
        "metres",
        "meters",
        "m",
        "miles",
        "hpa",
        "bar",
        "lb",
        "oz",
        "minutes",
        "hours",
        "seconds",
        "feet",
    ]
)


def _unit_of(reading: Reading) -> str:
    """The unit that the end of a number column's name says; none of a count."""
    if reading.arguments.get("aggregate", "none") in ("count", "distinct") or reading.yes_no:
        return ""
    last = re.split(r"[_\W]+", str(reading.arguments.get("column", "")).lower())[-1]
    return _SPELLED_UNITS.get(last, last if last in _NAMED_UNITS else "")


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


# Rows of data are for the agent of tables.
_DATA = (".csv", ".tsv", ".jsonl", ".ndjson")
_LOOK_UP = re.compile(
    r"\b(?:look(?:ing)?\s+up|see|notes?|minutes\s+of|page|handbook|manual|program(?:me)?|code|script|according\s+to|read(?:ing)?)\b",
    re.IGNORECASE,
)


async def sentences_about(text: str, context: ToolContext, most: int = SENTENCES) -> list[sentences.Sentence]:
    """The sentences of the files that fit a question, best first."""
    root = context.root
    if root is None:
        return []

    def find() -> list[sentences.Sentence]:
        resolved = root.resolve()
        found = [passage for passage, _ in passages.search(resolved, text, 15)] + passages.alike(resolved, text, 10)
        prose = [passage for passage in dict.fromkeys(found) if not passage.path.lower().endswith(_DATA)]
        return sentences.ranked(text, prose, lambda token: passages.idf(resolved, token))

    try:
        return (await asyncio.to_thread(find))[:most]
    except ToolError:
        return []


async def fits_files(text: str, context: ToolContext) -> float:
    found = await sentences_about(text, context)
    return min(0.9, 0.42 * found[0].score + (0.15 if _LOOK_UP.search(text) else 0.0)) if found else 0.0


async def prepare_files(text: str, context: ToolContext) -> Prepared:
    found = await sentences_about(text, context)
    if not found:
        return Prepared(fit=0.0)
    want = wanted(text)
    pieces = spans.candidates(text, want, found)
    shown: dict[str, str] = {}
    for piece in pieces[:1]:
        if piece.text not in piece.sentence.text:  # it is whom the sentence before speaks of
            named = piece.sentence.subject or piece.sentence.before
            shown[f"{named} {piece.sentence.text}"] = piece.sentence.source
    for sentence in (
        sorted({p.sentence.text: p.sentence for p in pieces[:3]}.values(), key=lambda s: -s.score) + found[:3]
    ):
        shown.setdefault(sentence.text, sentence.source)
    context_shown = tuple((source, piece) for piece, source in list(shown.items())[:PASSAGES])
    answer = outright(want, pieces, found)
    choices = tuple(piece.text for piece in pieces[:CHOICES]) if want.kind != "yes-no" else ()
    # with passages at hand an instant answer reads them; the tools are for what they do not hold
    return Prepared(
        context=context_shown,
        fit=found[0].score,
        background=partial(_besides, text, context, found, [piece for _, piece in context_shown]),
        tools=(),
        answer=answer,
        choices=choices,
    )


_DENIES = re.compile(
    r"\b(?:no|not|never|nobody|nothing|none|neither|nor|nowhere|except|without|forbidden|prohibited|closed)\b|n['’]t\b",
    re.IGNORECASE,
)


def outright(want: Wanted, pieces: Sequence[spans.Span], found: Sequence[sentences.Sentence]) -> str:
    """The answer, where a sentence fits and holds pieces of the asked kind: the best of them."""
    if found[0].score < FITTING:
        return ""
    if want.kind == "yes-no":
        return "no" if _DENIES.search(found[0].text) else "yes"
    if not pieces:
        return ""
    if want.several > 1:
        same = [piece for piece in pieces if piece.sentence.text == pieces[0].sentence.text][: want.several]
        return ", ".join(piece.text for piece in same) if len(same) == want.several else ""
    return pieces[0].text


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
