"""Tasks over what queries say (``agents/facts/queried``), made of questions to tables; such lines for other tasks.

A question of ``training/recipes/table_questions.jsonl`` with one value as its answer is a task of one step where
that value is in a line; with a second sentence behind it ("How much is 15 per cent of that?") it is one of two.
"""

import asyncio
import random
import tempfile
from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import duckdb

from pointwork.agents.calculated import beside
from pointwork.agents.facts.figures import in_one_form, written
from pointwork.agents.facts.gathered import facts_around
from pointwork.agents.facts.queried import queried_around
from pointwork.agents.parsing.amounts import TIME, amounts_of
from pointwork.agents.parsing.layout import Pieces
from pointwork.agents.parsing.showing import size_of
from pointwork.tools import ToolContext
from pointwork.training.recipes.varying import DAYS, MONTHS

GOES_ON = 0.45  # of the questions with a number or a date
MISLEADING = 0.6  # of the tasks of which no query is known, that are shown some lines like those of queries
MIXED = 0.5  # of the tasks that are told anew, whose lines stand in any order

WORDS = 3  # of an answer that is an amount: "2 zinc tubs"
_PER_CENT = (5, 8, 10, 12, 15, 20, 25, 30, 40, 60)
_NUMBERS = (
    ("How much is {p} per cent of that?", "{{s1}} * {p} / 100"),
    ("Of that {p}% is set aside; how much is it?", "{{s1}} * {p} / 100"),
    ("At {x} each, what does that come to?", "{{s1}} * {x}"),
    ("We pay {x} for every one of them. What is the bill?", "{{s1}} * {x}"),
    ("And if it were {n} times as much?", "{{s1}} * {n}"),
    ("Split evenly over {n} weeks, how much a week?", "{{s1}} / {n}"),
    ("If {n} people share it equally, what does each get?", "{{s1}} / {n}"),
    ("What would it be after a rise of {p}%?", "{{s1}} * (100 + {p}) / 100"),
    ("What is left if {p} per cent goes off?", "{{s1}} * (100 - {p}) / 100"),
    ("How much with a discount of {p} percent?", "{{s1}} * (100 - {p}) / 100"),
    ("Add {n} to that, please.", "{{s1}} + {n}"),
    ("And with {n} more?", "{{s1}} + {n}"),
    ("If {n} of it are taken away, what remains?", "{{s1}} - {n}"),
    ("Is that more than {m}?", "is {{s1}} more than {m}"),
    ("Half of it, please.", "{{s1}} / 2"),
    ("Twice that is what we plan for next year; how much is it?", "{{s1}} * 2"),
)
_DATES = (
    ("What date is {n} days after that?", "{{s1}} + {n} days"),
    ("Which day is {n} weeks later?", "{{s1}} + {n} weeks"),
    ("And {n} days before that?", "{{s1}} - {n} days"),
    ("{n} months later, which date is it?", "{{s1}} + {n} months"),
)


def asked(world: dict[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """The questions of a world of tables that have one value, as tasks with what is shown and steps."""
    draw = random.Random(f"{seed} {world['world']}")
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as database:
        for name, text in world["tables"].items():
            path = Path(folder) / f"{name}.csv"
            path.write_text(text + "\n", encoding="utf-8")
            database.execute(f"CREATE TABLE \"{name}\" AS FROM read_csv('{path}', header = true)")
        context = ToolContext(root=Path(folder))
        for question in world["qa"]:
            if question["sql"] != "NONE" and (value := _value(database, question["sql"])):
                yield _task(question["q"], value, context, draw)


def read(page: dict[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """The questions about a text that one amount answers, as tasks with what is shown of it and steps."""
    draw = random.Random(f"{seed} {page['text']}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "page.md").write_text(page["text"], encoding="utf-8")
        context = ToolContext(root=Path(folder))
        for question in page["qa"]:
            answer = in_one_form(question["a"] or "")
            found = amounts_of([answer])
            if (
                len(found) == 1
                and found[0].kind != TIME
                and len(answer.split()) <= WORDS
                and not (MONTHS | DAYS) & set(answer.split())  # a day without a year
            ):
                yield _task(question["q"], found[0].written.replace(",", ""), context, draw)


def _task(question: str, value: str, context: ToolContext, draw: random.Random) -> dict[str, Any]:
    steps = [f"{question.rstrip('?. ')} = {value}"]
    text = question
    if draw.random() < GOES_ON:
        said, step = draw.choice(_DATES if "-" in value.strip("-") else _NUMBERS)
        given = {"p": draw.choice(_PER_CENT), "n": draw.randint(2, 12), "x": round(draw.uniform(1, 30), 2)}
        given["m"] = round(float(value) * draw.choice((0.6, 0.9, 1.2, 1.5))) if "{m}" in said else 0
        text = (
            f"{question} {said.format(**given)}"
            if question[-1:] in "?.!"
            else f"{question}. {said.format(**given)}"
        )
        steps.append(step.format(**given))
    return {"task": text, "steps": steps, "around": around(text, context, draw)}


def around(task: str, context: ToolContext, draw: random.Random) -> str:
    """What is shown of the files, the queries in any order: how likely each is must not tell which one is meant."""

    async def found() -> list[str]:
        asked = await queried_around(task, context)
        lines = [fact.text for fact in beside(asked, await facts_around(task, context))]
        first = [fact.text for fact in asked]
        draw.shuffle(first)
        return [*first, *lines[len(asked) :]]

    return "\n".join(asyncio.run(found()))


def _value(database: duckdb.DuckDBPyConnection, sql: str) -> str:
    """The only value that a query finds, as lines show it; empty: none, several, or a name."""
    rows = database.execute(sql).fetchmany(2)
    value = rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else None
    match value:
        case None | bool() | str():
            return ""
        case datetime():
            return value.date().isoformat()
        case date():
            return value.isoformat()
        case time():
            return ""
        case _:
            return written(float(value))


def misled(row: dict[str, Any], seed: int) -> dict[str, Any]:
    """A task with lines before its own like those of queries that say nothing to it."""
    draw = random.Random(f"{seed} {row['task']}")
    lines = str(row["around"]).splitlines()
    rows = [line for line in lines if line.count("; ") > 1 and ": " in line]
    if not rows or draw.random() > MISLEADING:
        return row
    made: list[str] = []
    for _ in range(draw.randint(1, 3)):
        table, _, rest = draw.choice(rows).partition(": ")
        cells = [cell.split(" ", 1) for cell in rest.split("; ") if " " in cell]
        if len(cells) > 1:
            made.append(f"{table}: {_false(cells, draw)}")
    place = lines.index(rows[0])
    if draw.random() < 0.5:  # a row that a query finds too stands there once, with what found it
        table, _, rest = lines.pop(place).partition(": ")
        column, _, cell = draw.choice(rest.split("; ")).partition(" ")
        made.append(f"{table} where {column.replace('_', ' ')} is {cell}: {rest}")
    draw.shuffle(made)
    return {**row, "around": "\n".join([*made, *lines])}


def _false(cells: Sequence[list[str]], draw: random.Random) -> str:
    (column, _), (other, cell) = draw.sample(list(cells), 2)
    column, other = column.replace("_", " "), other.replace("_", " ")
    where = f" where {other} is {cell}" if draw.random() < 0.7 else ""
    count, much = draw.randint(1, 40), round(draw.uniform(1, 3000), 2)
    return draw.choice(
        (
            f"number of rows{where}: {count}",
            f"total {column}{where}: {much}",
            f"average {column}{where}: {much}",
            f"highest {column}{where}: {much}",
            f"{other} with the most rows: {cell}",
            f"per cent of the rows{where}: {min(count * 2.5, 100):g}",
        )
    )


def mixed(row: dict[str, Any], seed: int) -> dict[str, Any]:
    """A task whose lines may stand in any order: it is read in several (``agents/parsing/calculating``)."""
    draw, lines = random.Random(f"{seed} {row['task']}"), str(row["around"]).splitlines()
    if draw.random() < MIXED:
        draw.shuffle(lines)
    return {**row, "around": "\n".join(lines)}


def fewer(row: dict[str, Any], needed: Collection[int], pieces: Pieces, most: int, seed: int) -> dict[str, Any]:
    """A task with the lines that are needed, and others as far as there is room in so many word pieces."""
    draw, lines = random.Random(f"{seed} fewer {row['task']}"), str(row["around"]).splitlines()
    sizes = [size_of(line, pieces) for line in lines]
    kept = set(needed)
    room = most - 1 - len(pieces.placed(row["task"])[0]) - sum(sizes[line] for line in kept)
    for line in draw.sample(range(len(lines)), len(lines)):
        if line not in kept and sizes[line] <= room:
            kept.add(line)
            room -= sizes[line]
    return {**row, "around": "\n".join(lines[line] for line in sorted(kept))}
