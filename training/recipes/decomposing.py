"""Tasks of our own with the steps that lead to the answer of each, some with what the files hold around them."""

import hashlib
import random
import re
from collections.abc import Sequence
from typing import Any

from pointwork.agents import decomposer

TASKS = "task_steps.jsonl"
# Tasks over files, with what ``agents.surroundings`` found in these: their words alone do not say the steps.
AROUND = "task_steps_around.jsonl"

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


def turned(row: dict[str, Any], number: int) -> dict[str, Any]:
    """A row whose tables have their columns in another order: a name is to be read, not its place to be learnt.

    Args:
        row: with what stands around it.
        number: another for each order.
    """
    chance = random.Random(f"{number}{row['task']}")
    lines: list[str] = []
    for line in row["around"].splitlines():
        if (match := _TABLE.fullmatch(line)) is None:
            lines.append(line)
            continue
        columns = match["columns"].split(", ")
        chance.shuffle(columns)
        lines.append(f"{match['name']}: {', '.join(columns)}{match['cells'] or ''}")
    return {**row, "around": "\n".join(lines)}


# A line of a table: its columns, then cells that a task names (``agents.surroundings``). Sentences end in a point.
_TABLE = re.compile(r"(?P<name>\w+): (?P<columns>[^|]*[^|.!?… ])(?P<cells> \| .*)?")


def shape(said: str) -> list[tuple[tuple[str, ...], bool]]:
    """Of what was written, the shape of its steps (``agents.decomposer.shape``)."""
    return decomposer.shape([line.strip() for line in said.strip().splitlines() if line.strip()])
