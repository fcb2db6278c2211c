"""Questions about dates, times and units, and sums, as the team takes them without a model and without files.

    python benchmarks/date_questions.py                    # three sets that nobody looked at
    python benchmarks/date_questions.py --written          # those on which readings were written

``date_questions*.jsonl``: 140 by each of four authors who saw nothing, in kinds: days between dates (a), shifts
(b), weekdays (c), times of day (d), units (e), ages (f), comparisons (g). ``everyday_dates*.jsonl`` and
``everyday_sums*.jsonl``: 84 by each of four others, and 476 by three more of those that were looked at. One
calculation, or the steps that the calculator's network reads (``agents/calculated.py``). Right is a value within
half a per cent, or a date, time, weekday, yes or no that stands in the answer.
"""

import argparse
import asyncio
import json
import re
from collections import Counter
from pathlib import Path

from rich.progress import track

from pointwork.agents.agreeing import DOUBTED, answer_of
from pointwork.agents.calculated import calculated
from pointwork.agents.preparing import prepare_calculator
from pointwork.errors import ToolError
from pointwork.tools import ToolContext, ToolResult, builtin_tools

RECIPES = Path(__file__).parents[1] / "training/recipes"
NEAR = 0.006


SETS = ("date_questions", "everyday_dates", "everyday_sums")


async def planned(task: str) -> str:
    """What the likeliest steps come to that need no files; empty where they are not likely."""
    best = next(iter(await calculated(task, ())), None)
    return await answer_of(task, best) if best is not None and best.sure >= DOUBTED else ""


def said(task: str) -> str:
    """What is answered; empty where nothing is read."""
    prepared = asyncio.run(prepare_calculator(task, ToolContext()))
    if prepared.call is None:
        return asyncio.run(planned(task))
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
    for name in SETS:
        measure(RECIPES / f"{name}{'' if given.written else '_unseen'}.jsonl")


def measure(path: Path) -> None:
    """Those of one set."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    asked, found = Counter[str](), Counter[str]()
    for row in track(rows, path.name):
        asked[row["kind"]] += 1
        found[row["kind"]] += right(said(row["task"]), str(row["answer"]))
    for kind in sorted(asked) if len(asked) > 1 else ():
        print(f"{kind}: {found[kind]} of {asked[kind]}")
    print(f"{path.name}: {found.total()} of {asked.total()}")


if __name__ == "__main__":
    main()
