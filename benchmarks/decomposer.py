"""The package's decomposer on tasks by authors whom it never saw: steps of the right shape, and which are plans.

    python benchmarks/decomposer.py [--around | --facts] [--tasks 200] [--seed 0]

``training/recipes/task_steps_unseen.jsonl`` has 860 tasks with the steps as two authors wrote them, who saw
neither code nor the other tasks; nothing is trained on them. ``--around``: the first of 480 tasks over the files
of eight places, 60 of each, that nothing is trained on either (``task_steps_around_unseen.jsonl``), with what the
files hold around them and, beside it, without. Right is a plan with as many steps, each taking the
same answers and a calculation where theirs is one, whatever its words. Baseline: one step, the task as it is.

``--facts``: the reckoner on the same 480 tasks (``task_steps_facts_unseen.jsonl``), shown what the files say
value by value: for how many all that has to be looked up was read in its likeliest text, and what that comes to is
right; and of how many most of the texts that it draws come to the same, as in use.
"""

import argparse
import asyncio
import json
import random
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from rich.progress import track

from pointwork.agents.agreeing import agreed
from pointwork.agents.decomposer import DECOMPOSER, RECKONER, STEPS_TOKENS, decompose
from pointwork.agents.facts.gathered import Fact
from pointwork.agents.planner import SPLIT
from pointwork.agents.prompts import decomposer_prompt
from pointwork.agents.reading_ahead import comes_to
from pointwork.bench import checkers
from pointwork.bench.report import wilson
from pointwork.models import ChatRequest, Completion
from pointwork.models.adapters import packaged
from pointwork.models.factory import open_client
from pointwork.training.recipes import decomposing

RECIPES = Path(__file__).parents[1] / "training/recipes"
MOST = 8


async def _again(said: Completion, _: ChatRequest) -> Completion:
    """What the model has said, when it is asked the same once more."""
    return said


async def measure(rows: list[dict[str, Any]]) -> None:
    """Ask for the steps of each task, and print what came of it by the number of steps that there should be."""
    client = open_client("local:", adapter=packaged(DECOMPOSER))
    told: Counter[tuple[int, str]] = Counter()
    for row in track(rows, description="tasks", transient=True):
        task, around, size = str(row["task"]), str(row.get("around", "")), len(row["steps"])
        asked = ChatRequest(decomposer_prompt(task, around), max_tokens=STEPS_TOKENS, logprobs=True)
        said = await client.chat(asked)
        plan = await decompose(task, partial(_again, said), MOST, around)
        right = decomposing.shape(said.text) == decomposing.shape("\n".join(row["steps"]))
        sure = plan is not None and plan.sure >= SPLIT
        for name, so in (("all", True), ("right", right), ("sure", sure), ("sure, right", sure and right)):
            told[size, name] += so
            told[0, name] += so
    await client.aclose()
    print(
        "| steps | tasks | right shape | 95 % | taken by the planner | of them right |\n|---|---|---|---|---|---|"
    )
    for size in sorted({size for size, _ in told if size}) + [0]:
        count, right = told[size, "all"], told[size, "right"]
        low, high = wilson(right, count)
        share = f"{right} ({right / count:.0%}) | {low:.0%}-{high:.0%}"
        print(f"| {size or 'all'} | {count} | {share} | {told[size, 'sure']} | {told[size, 'sure, right']} |")


async def measure_reckoner(rows: list[dict[str, Any]]) -> None:
    """Ask for steps with answers, and print whether what they come to is right, by the number of steps."""
    client = open_client("local:", adapter=packaged(RECKONER))
    told: Counter[tuple[int, str]] = Counter()
    for row in track(rows, description="tasks", transient=True):
        written: list[Completion] = []

        async def chat(request: ChatRequest, written: list[Completion] = written) -> Completion:
            written.append(await client.chat(request))
            return written[-1]

        facts = [Fact("file:notes", line) for line in str(row["around"]).splitlines()]
        most_say = await agreed(str(row["task"]), chat, MOST, facts)
        likeliest = await decompose(str(row["task"]), partial(_again, written[0]), MOST, facts=facts)
        size = len(row["steps"])
        counts = {"all": 1, "texts": len(written)}
        for name, plan in (("read", likeliest), ("taken", most_say)):
            answer = await comes_to(plan.steps) if plan is not None and plan.read else None
            counts[name] = answer is not None
            counts[f"{name}, right"] = answer is not None and _checker(row).right(answer)
        for name, so in counts.items():
            told[size, name] += so
            told[0, name] += so
    await client.aclose()
    print("| steps | tasks | likeliest text: read | right | 95 % of all | texts a task | agreed | right |")
    print("|---|---|---|---|---|---|---|---|")
    for size in sorted({size for size, _ in told if size}) + [0]:
        count, right = told[size, "all"], told[size, "read, right"]
        low, high = wilson(right, count)
        taken = f"{told[size, 'texts'] / count:.1f} | {told[size, 'taken']} | {told[size, 'taken, right']}"
        print(f"| {size or 'all'} | {count} | {told[size, 'read']} | {right} | {low:.0%}-{high:.0%} | {taken} |")


def _checker(row: dict[str, Any]) -> checkers.Checker:
    try:
        answer: str | float = float(row["answer"])
    except ValueError:
        answer = str(row["answer"])
    return checkers.from_row({"task": row["task"], "answer": answer})


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=200, help="so many, drawn at random; with --around the first")
    parser.add_argument("--seed", type=int, default=0)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--around", action="store_true", help="tasks over files, with and without what is in these")
    form.add_argument("--facts", action="store_true", help="the reckoner: what its steps come to")
    given = parser.parse_args()
    of = "around_" if given.around else "facts_" if given.facts else ""
    file = RECIPES / f"task_steps_{of}unseen.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    if not given.around:
        random.Random(given.seed).shuffle(rows)
    rows = rows[: given.tasks]
    if given.facts:
        asyncio.run(measure_reckoner(rows))
        return
    asyncio.run(measure(rows))
    if given.around:
        print("\nwithout what the files hold:\n")
        asyncio.run(measure([{**row, "around": ""} for row in rows]))


if __name__ == "__main__":
    main()
