"""Questions about dates, times and units, as the calculator's agent takes them without a model.

    python benchmarks/date_questions.py            # two sets that nobody looked at
    python benchmarks/date_questions.py --written  # the two on which readings were written

140 by each of four authors who saw nothing (``training/recipes/date_questions*.jsonl``), in kinds: days between
dates (a), shifts (b), weekdays (c), times of day (d), units (e), ages (f), comparisons (g). Right is a value within
half a per cent, or a date, time, weekday, yes or no that stands in the answer.
"""

import argparse
import asyncio
import json
import re
from collections import Counter
from pathlib import Path

from rich.progress import track

from pointwork.agents.preparing import prepare_calculator
from pointwork.errors import ToolError
from pointwork.tools import ToolContext, ToolResult, builtin_tools

RECIPES = Path(__file__).parents[1] / "training/recipes"
NEAR = 0.006


def said(task: str) -> str:
    """What is answered; empty where nothing is read outright."""
    prepared = asyncio.run(prepare_calculator(task, ToolContext()))
    if prepared.call is None:
        return ""
    tool = builtin_tools()[prepared.call[0]]
    try:
        result = tool.fn(**tool.validate(prepared.call[1]))
    except ToolError:
        return ""
    return result.answer if isinstance(result, ToolResult) else ""


def right(answer: str, wanted: str) -> bool:
    """Whether an answer is the one that is wanted."""
    if re.fullmatch(r"-?\d+(?:\.\d+)?", wanted) is None:
        return bool(answer) and wanted.lower() in answer.lower()
    number = re.search(r"-?\d[\d,]*(?:\.\d+)?", answer)
    value = float(wanted)
    return number is not None and abs(float(number[0].replace(",", "")) - value) <= max(NEAR * abs(value), 0.0051)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--written", action="store_true", help="those that were looked at")
    given = parser.parse_args()
    path = RECIPES / f"date_questions{'' if given.written else '_unseen'}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    asked, found = Counter[str](), Counter[str]()
    for row in track(rows, path.name):
        asked[row["kind"]] += 1
        found[row["kind"]] += right(said(row["task"]), str(row["answer"]))
    for kind in sorted(asked):
        print(f"{kind}: {found[kind]} of {asked[kind]}")
    print(f"all: {found.total()} of {asked.total()}")


if __name__ == "__main__":
    main()
