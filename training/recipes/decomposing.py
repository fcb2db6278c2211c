"""Tasks of our own with the steps that lead to the answer of each, some with what the files hold around them."""

import hashlib
from collections.abc import Sequence
from typing import Any

from pointwork.agents import decomposer

TASKS = "task_steps.jsonl"
# Tasks over files, with what ``agents.surroundings`` found in these: their words alone do not say the steps.
AROUND = "task_steps_around.jsonl"

# The same with what ``agents.facts`` shows of them: a step whose answer stands there has it behind it.
# ``answer`` is the task's. Beside these, every so manieth of the others.
FACTS, EVERY = "task_steps_facts.jsonl", 8

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


def shape(said: str) -> list[tuple[tuple[str, ...], bool]]:
    """Of what was written, the shape of its steps (``agents.decomposer.shape``)."""
    return decomposer.shape([line.strip() for line in said.strip().splitlines() if line.strip()])
