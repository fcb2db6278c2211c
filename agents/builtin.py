"""The built-in specialists: calculator, tables, files, recall and writer."""

import asyncio
import importlib
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, cast

from pointwork.agents import examples
from pointwork.agents.linking import linked_schema
from pointwork.agents.services import ANYTHING
from pointwork.agents.spec import Agent, Example, Prepared, asked_words
from pointwork.errors import ConfigError, ToolError
from pointwork.settings import Settings
from pointwork.text import tokenize
from pointwork.tools import Tool, ToolContext, builtin_tools
from pointwork.tools.calculator import evaluate_text
from pointwork.tools.catalog import Column, TableInfo, catalog
from pointwork.tools.files import search_passages
from pointwork.tools.table_loading import Source

# Passages and items that go into a prompt.
PASSAGES = 3

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
_WRITES = re.compile(
    r"^\W*(?:please\s+)?(?:write|draft|compose|rewrite|rephrase|translate|summari[sz]e|explain|describe|"
    r"tell me (?:a|about)|hello|hi|hey|thanks?|say|suggest|imagine|create|invent|greet)\b",
    re.IGNORECASE,
)


async def _fits_calculator(text: str, _: ToolContext) -> float:
    if evaluate_text(text) is not None:
        return 1.0
    numbers = len(re.findall(r"\d+|\{s\d+\}", text))
    signs = len(_COMPUTES.findall(text))
    return min(0.9, 0.25 * min(numbers, 2) + 0.2 * min(signs, 2)) if numbers else 0.0


async def _prepare_calculator(text: str, _: ToolContext) -> Prepared:
    if evaluate_text(text) is not None:
        return Prepared(call=("calculate", {"expression": text}))
    return Prepared()


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


async def _tables(context: ToolContext) -> Sequence[TableInfo]:
    if context.root is None:
        return []
    return [table for table in await asyncio.to_thread(catalog, context.root) if not table.problem]


async def _fits_tables(text: str, context: ToolContext) -> float:
    ranked = _ranked(text, await _tables(context))
    return min(0.95, 1.2 * ranked[0][0]) if ranked else 0.0


def _described(table: TableInfo) -> str:
    """A table in one line: columns with their kinds, and the values of columns that have few."""
    columns = [
        f"{column.name} ({column.kind}{': ' + ', '.join(column.values[:12]) if column.values else ''})"
        for column in table.columns[:30]
    ]
    return f"table {table.name}, {table.rows} rows, columns {'; '.join(columns)}"


async def _prepare_tables(text: str, context: ToolContext) -> Prepared:
    found = _ranked(text, await _tables(context))
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


async def _fits_files(text: str, context: ToolContext) -> float:
    passages = await _passages(text, context)
    words = asked_words(text)
    return 0.9 * max((_share(words, passage) for _, passage in passages), default=0.0)


async def _passages(text: str, context: ToolContext) -> list[tuple[str, str]]:
    if context.root is None:
        return []
    try:
        hits = await asyncio.to_thread(search_passages, context.root, text, PASSAGES)
    except ToolError:
        return []
    return [(passage.source, passage.text) for passage, _ in hits]


async def _prepare_files(text: str, context: ToolContext) -> Prepared:
    passages = await _passages(text, context)
    # with passages at hand an instant answer reads them; the tools are for what they do not hold
    return Prepared(context=tuple(passages), tools=() if passages else None)


async def _remembered(text: str, context: ToolContext, k: int) -> list[tuple[str, str]]:
    memory = context.memory
    if memory is None:
        return []
    found = await asyncio.to_thread(memory.recall, text, k=k, thread=context.thread)
    return [(f"memory:{item.id}", item.text) for item in found.items]


async def _fits_recall(text: str, context: ToolContext) -> float:
    words = asked_words(text)
    best = max((_share(words, item) for _, item in await _remembered(text, context, 3)), default=0.0)
    # without a word that points to the past, what was found before comes after what stands in the files
    return min(0.95, 0.4 + 0.55 * best) if _REMEMBERS.search(text) else 0.3 * best


async def _prepare_recall(text: str, context: ToolContext) -> Prepared:
    items = await _remembered(text, context, 5)
    return Prepared(context=tuple(items), tools=() if items else None)


async def _fits_writer(text: str, _: ToolContext) -> float:
    return 0.85 if _WRITES.search(text) else 0.15


async def _fits_nothing(_: str, __: ToolContext) -> float:
    return 0.0


def builtin_agents(settings: Settings | None = None) -> list[Agent]:
    """The built-in specialists, and the agents of the configuration.

    Raises:
        ConfigError: an agent of the configuration names a tool that is not there.
    """
    tools = builtin_tools()

    def some(*names: str) -> tuple[Tool, ...]:
        return tuple(tools[name] for name in names)

    today = f"Today is {date.today():%A, %d %B %Y}."
    agents = [
        Agent(
            "calculator",
            f"You are a helpful assistant that turns a question into a calculation. {today}",
            {"math": "arithmetic, word problems, percentages, units, dates"},
            some("calculate", "convert", "date_math"),
            prepare=_prepare_calculator,
            match=_fits_calculator,
        ),
        Agent(
            "tables",
            "You are a helpful assistant that queries tables.",
            {"table": "count, sum, average, look up or compare rows of CSV, JSON and SQLite tables"},
            some("list_tables", "describe_table", "query_table", "sql"),
            prepare=_prepare_tables,
            match=_fits_tables,
        ),
        Agent(
            "files",
            "You are a helpful assistant. Answer briefly, in the words of the context.",
            {"lookup": "find facts in documents, notes and code files"},
            some("search_files", "grep_files", "read_file", "list_files"),
            prepare=_prepare_files,
            match=_fits_files,
        ),
        Agent(
            "recall",
            "You are a helpful assistant. Answer briefly from what is remembered.",
            {"memory": "what was said or found in earlier conversations"},
            some("recall", "read_memory"),
            prepare=_prepare_recall,
            match=_fits_recall,
        ),
        Agent(
            "writer",
            f"You are a helpful assistant. Answer briefly and to the point. {today}",
            {"write": "write, explain, translate or chat, from general knowledge"},
            match=_fits_writer,
        ),
        # the same models with the main tools in one loop, and no specialist's preparation: an arm for everything
        Agent(
            "generalist",
            f"You are a helpful assistant with tools. Answer briefly. {today}",
            {ANYTHING: "anything"},
            some("calculate", "query_table", "search_files", "recall"),
            modes=("agentic",),
            prepare=_prepare_calculator,
            match=_fits_nothing,
        ),
    ]
    if settings is None:
        return agents
    return [*agents, *(_configured(row, tools) for row in settings.agents), *_imported(settings.agents_from)]


def _imported(where: str | None) -> list[Agent]:
    """Agents written in Python, found from the current folder too."""
    if where is None:
        return []
    module, _, name = where.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = getattr(importlib.import_module(module), name)
        agents: Any = found() if callable(found) else found
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigError(f"agents_from = {where!r}: {error}") from error
    finally:
        sys.path.remove(os.getcwd())
    if not isinstance(agents, Iterable) or not all(isinstance(a, Agent) for a in cast(Iterable[Any], agents)):
        raise ConfigError(
            f"agents_from = {where!r} must be a list of pointwork.Agent, or a function that returns one"
        )
    return list(cast(Iterable[Agent], agents))


def _configured(row: object, tools: dict[str, Tool]) -> Agent:
    from pointwork.settings import AgentSettings

    assert isinstance(row, AgentSettings)
    unknown = [name for name in row.tools if name not in tools]
    if unknown:
        raise ConfigError(f"agent {row.name!r}: unknown tools {', '.join(unknown)}; there are {', '.join(tools)}")
    return Agent(
        row.name, row.instructions, row.capabilities, tuple(tools[name] for name in row.tools), roles=row.roles
    )
