"""Worked examples for a model role, in the words that the runtime asks with, and the training on them."""

import hashlib
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pointwork.agents.builtin import builtin_agents
from pointwork.agents.prompts import (
    UNANSWERED,
    call_text,
    decomposer_prompt,
    plan_prompt,
    plan_text,
    prompt,
    querier_prompt,
    reader_prompt,
)
from pointwork.agents.services import ANYTHING
from pointwork.errors import ToolError
from pointwork.models import Message
from pointwork.tools import expressions
from pointwork.training.recipes import decomposing, gsm8k, pages, querying, varying
from pointwork.training.samples import Example

Role = Literal["planner", "worker-small", "reader", "querier", "decomposer", "reckoner"]

# Problems of GSM8K with at most so many calculations; a small model learns nothing from longer ones.
OPERATIONS = 3

# What every team of ours can do.
CORE = ("math", "table", "lookup")


@dataclass(frozen=True)
class Task:
    """An example that an answer can be checked by.

    Attributes:
        example: what should be written.
        right: whether an answer is right.
        page: what else it stands beside: neighbours of one page are trained together.
    """

    example: Example
    right: Callable[[str], bool]
    page: str = ""


def tasks(
    role: Role, data: Path | None = None, *, seed: int = 0, most: int = 1500, limit: int | None = None
) -> tuple[list[Task], list[Task]]:
    """Examples to train on, and examples that are never trained on.

    Args:
        role: ``planner`` writes plans, ``worker-small`` turns word problems into a call of the calculator,
            ``reader`` answers questions with words of a page, ``querier`` writes a query that answers a question to
            tables, ``decomposer`` the steps that lead to an answer, ``reckoner`` with answers too.
        data: folder with ``gsm8k/train.jsonl``, for ``worker-small``; None: our own problems only.
        seed: of their order.
        most: problems of GSM8K, the shortest.
        limit: only so many of each.

    Raises:
        UsageError: GSM8K is not in ``data``.
    """
    if role == "reader":
        read, unread = pages.folders([row for name in pages.TEXTS for row in _rows(name)])
        return _reads(read, seed, limit), _reads(unread, seed, limit)
    if role == "querier":
        worlds = querying.parted(_rows(querying.WORLDS))
        return _queries(worlds[0], seed, limit, querying.VARIANTS), _queries(worlds[1], seed, limit, 1)
    if role == "decomposer":
        around, plain = _rows(decomposing.AROUND), _rows(decomposing.TASKS)
        taught = [row for row in around if not _tenth(row["task"])]
        rows = decomposing.beside([row for row in plain if not _tenth(row["task"])], taught)
        read = [_steps(row) for row in [*rows, *taught * decomposing.TIMES]]
        random.Random(seed).shuffle(read)
        kept = [_steps(row) for row in [*plain, *around] if _tenth(row["task"])]
        return read[:limit], kept[:limit]
    if role == "reckoner":
        facts, plain = _rows(decomposing.FACTS), _rows(decomposing.TASKS)[:: decomposing.EVERY]
        rows = [row for row in [*facts, *plain] if not _tenth(row["task"])]
        random.Random(seed).shuffle(rows)
        kept = [row for row in facts if _tenth(row["task"])]
        return _tellings(rows[:limit], seed)[:limit], [_figures(row) for row in kept[:limit]]
    own = [(row["task"], _plan(row) if role == "planner" else _problem(row["task"], row["expression"], seed))
           for row in _rows("plans.jsonl" if role == "planner" else "word_problems.jsonl")]  # fmt: skip
    held_out = [task for text, task in own if _tenth(text)]
    taught = [task for text, task in own if not _tenth(text)]
    if role == "worker-small" and data is not None:
        found = sorted(
            gsm8k.problems(data / "gsm8k" / "train.jsonl", operations=OPERATIONS), key=lambda p: len(p[0])
        )
        taught += taught + [_problem(text, expression, seed) for text, expression in found[:most]]
    random.Random(seed).shuffle(taught)
    return taught[:limit], held_out[:limit]


def _reads(folders: Sequence[Sequence[dict[str, Any]]], seed: int, limit: int | None) -> list[Task]:
    """What is asked of passages, questions to the same one beside each other."""
    found: list[Task] = []
    for number, folder in enumerate(folders):
        if limit is not None and len(found) >= limit:
            break
        for bundle in pages.bundles(folder, seed * 1000 + number):
            found += [_read(asked) for asked in bundle]
    return found[:limit]


def _read(asked: pages.Asked) -> Task:
    messages = [*reader_prompt(asked.question, asked.text), Message(role="assistant", content=asked.said)]
    gold = pages.bare(asked.said)
    return Task(
        Example(tuple(dict(m) for m in messages), "reader"), lambda answer: pages.bare(answer) == gold, asked.text
    )


def _queries(worlds: Sequence[dict[str, Any]], seed: int, limit: int | None, variants: int) -> list[Task]:
    """What is asked of tables, questions to the same view of them beside each other."""
    found: list[Task] = []
    for row in worlds:
        if limit is not None and len(found) >= limit:
            break
        world = querying.World(row["tables"])
        found += [_query(world, asked) for bundle in querying.bundles(row, seed, variants) for asked in bundle]
    return found[:limit]


def _query(world: querying.World, asked: querying.Asked) -> Task:
    messages = querier_prompt(asked.question, asked.tables, asked.named)
    messages.append(Message(role="assistant", content=asked.said))

    def right(answer: str) -> bool:
        if asked.said == UNANSWERED or answer.strip() == UNANSWERED:
            return answer.strip() == asked.said
        return world.answer(answer) == world.answer(asked.said)

    return Task(Example(tuple(dict(m) for m in messages), "querier"), right, asked.tables)


def _steps(row: dict[str, Any]) -> Task:
    """A task with its steps; right is what has their shape."""
    example, gold = _stepped(row, "decomposer"), decomposing.shape("\n".join(row["steps"]))
    return Task(example, lambda answer: decomposing.shape(answer) == gold)


def _tellings(rows: Sequence[dict[str, Any]], seed: int) -> list[Task]:
    """Each task as it is, and told anew."""
    found: list[Task] = []
    names = varying.names_of(rows)
    for row in rows:
        again = (varying.varied(row, names, seed * 1000 + n) for n in range(1, decomposing.TELLINGS))
        found += [_figures(row), *(_figures(other, row) for other in again)]
    return found


def _figures(row: dict[str, Any], first: dict[str, Any] | None = None) -> Task:
    """A task with its steps and their answers; right is what comes to the task's."""
    return Task(_stepped(row, "reckoner"), decomposing.right("\n".join(row["steps"]), row, first))


def _stepped(row: dict[str, Any], role: Role) -> Example:
    said = Message(role="assistant", content="\n".join(row["steps"]))
    return Example(tuple(dict(m) for m in [*decomposer_prompt(row["task"], row.get("around", "")), said]), role)


def accuracy(held_out: Sequence[Task], answer: Callable[[Sequence[Sequence[Message]]], Sequence[str]]) -> float:
    """Share of held-out examples that are answered right.

    Args:
        held_out: of ``tasks``.
        answer: the model's answers to prompts.
    """
    said = answer([[_message(m) for m in task.example.messages[:-1]] for task in held_out])
    return sum(task.right(text) for task, text in zip(held_out, said, strict=True)) / max(len(held_out), 1)


def _rows(name: str) -> list[dict[str, Any]]:
    text = resources.files("pointwork.training.recipes").joinpath(name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _tenth(text: str) -> bool:
    return hashlib.sha256(text.encode()).digest()[0] < 26


def _message(row: Any) -> Message:
    return Message(role=row["role"], content=row["content"])


def _plan(row: dict[str, Any]) -> Task:
    needed = {step["capability"] for step in row["plan"]}
    chance = random.Random(row["task"])  # teams differ in what they can do: not every line is always there
    capabilities = {
        name: text
        for agent in builtin_agents()
        for name, text in agent.described_capabilities().items()
        if name != ANYTHING and (name in needed or name in CORE or chance.random() < 0.7)
    }
    messages = [*plan_prompt(capabilities, row["task"]), Message(role="assistant", content=plan_text(row["plan"]))]
    steps = [step["capability"] for step in row["plan"]]

    def right(text: str) -> bool:
        """The same capabilities in the same order: a coarse measure, but one that wording does not move."""
        try:
            return [step["capability"] for step in json.loads(text)["subtasks"]] == steps
        except (ValueError, KeyError, TypeError):
            return False

    return Task(Example(tuple(dict(m) for m in messages), "planner"), right)


def _problem(text: str, expression: str, seed: int) -> Task:
    calculator = next(agent for agent in builtin_agents() if agent.name == "calculator")
    # the day is said to the calculator: any day will do, and it must not learn one
    day = date(2025, 1, 1) + timedelta(days=random.Random(f"{seed}{text}").randrange(1500))
    instructions = calculator.instructions.replace(f"{date.today():%A, %d %B %Y}", f"{day:%A, %d %B %Y}")
    said = call_text("calculate", {"expression": expression})
    messages = [*prompt(instructions, text), Message(role="assistant", content=said)]
    wanted = _value(expression)

    def right(answer: str) -> bool:
        try:
            value = _value(json.loads(answer)["arguments"]["expression"])
        except (ValueError, KeyError, TypeError):
            return False
        return value is not None and wanted is not None and abs(value - wanted) <= 0.005 * max(1.0, abs(wanted))

    return Task(Example(tuple(dict(m) for m in messages), "worker-small"), right)


def _value(expression: object) -> float | None:
    try:
        return float(str(expressions.evaluate(str(expression)).text.split(" ")[0]))
    except (ToolError, ValueError):
        return None
