"""Tasks of our own with the steps that lead to the answer of each."""

import re

from pointwork.agents.plan import REFERENCE

TASKS = "task_steps.jsonl"


def shape(said: str) -> list[tuple[tuple[str, ...], bool]]:
    """Of each step the answers that it takes, and whether it is a calculation: what wording does not move."""
    steps = [line.strip() for line in said.strip().splitlines() if line.strip()]
    return [(tuple(REFERENCE.findall(step)), not re.search(r"[a-z]{3}", REFERENCE.sub("", step))) for step in steps]
