"""Tasks of our own with the steps that lead to the answer of each, some with what the files hold around them."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from pointwork.agents import agreeing, decomposer
from pointwork.agents.facts.gathered import Fact
from pointwork.agents.plan import MAX_SUBTASKS

TASKS = "task_steps.jsonl"
# Tasks over files, with what ``agents.surroundings`` found in these: their words alone do not say the steps.
AROUND = "task_steps_around.jsonl"

# The same with what ``agents.facts`` shows of them: a step whose answer stands there has it behind it.
# ``answer`` is the task's. Beside these, every so manieth of the others.
FACTS, EVERY = "task_steps_facts.jsonl", 8
TELLINGS = 3  # of each in a pass: as it is, then anew

# How often those are shown; and of the others every so manieth beside what has nothing to do with it.
TIMES, BESIDE = 2, 3


def beside(rows: Sequence[dict[str, Any]], around: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, a third of them with what stands around some other task: it is not always of use."""
    found: list[dict[str, Any]] = []
    for row in rows:
        number = int.from_bytes(hashlib.sha256(row["task"].encode()).digest()[:8], "big")
        other = around[number % len(around)]["around"] if around and number // 7 % BESIDE == 0 else ""
        found.append({**row, "around": other} if other else row)
    return found


def read(said: str) -> tuple[list[str], list[str]]:
    """Of what was written, the answers that were read, and the steps that only calculate."""
    lines, answers = decomposer.parted([line.strip() for line in said.strip().splitlines() if line.strip()])
    return list(answers.values()), [line for line in lines if decomposer.calculates(line)]


def comes_to(said: str, row: dict[str, Any]) -> str:
    """What steps with answers come to, as the team would take them; empty: to nothing."""
    facts = [Fact("file:shown", line) for line in str(row["around"]).splitlines()]
    found = decomposer.understood(said, str(row["task"]), MAX_SUBTASKS, facts=facts)
    return "" if found is None else asyncio.run(agreeing.answer_of(str(row["task"]), found))


def right(said: str, row: dict[str, Any], first: dict[str, Any] | None = None) -> Callable[[str], bool]:
    """Whether what is written comes to a task's answer, or reads and calculates as ``said`` if that does not.

    Of a step that only all rows of a table tell, the answer is not written. A task that is told anew (``varying``)
    has its answer from its steps, if those of the ``first`` telling come to theirs.
    """
    told_first, whole = (said, row) if first is None else ("\n".join(first["steps"]), first)
    answer = agreeing.in_one_way(str(whole.get("answer", "")))

    @cache  # of thousands, few are ever asked
    def told() -> str:
        if not answer or comes_to(told_first, whole) != answer:
            return ""
        return answer if first is None else comes_to(said, row)

    return lambda text: comes_to(text, row) == told() if told() else read(text) == read(said)


def shape(said: str) -> list[tuple[tuple[str, ...], bool]]:
    """Of what was written, the shape of its steps (``agents.decomposer.shape``)."""
    return decomposer.shape([line.strip() for line in said.strip().splitlines() if line.strip()])
