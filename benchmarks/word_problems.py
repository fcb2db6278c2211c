"""Word problems by each of the three readings, and by all together as an agent takes them; no model is asked.

    python benchmarks/word_problems.py [--data BENCH_DATA] [--json FILE]

``training/recipes/unseen_problems.jsonl`` has 160 by an author who saw neither code nor the other problems,
``unseen_problems_more.jsonl`` 200 by another, and nothing is learnt from them; with ``--data`` also 300 of GSM8K's
test half. Right is a value within half a cent or two in a thousand, rounded up or down where the answer is whole.
"""

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

from rich.progress import track
from train_word_problems import gsm8k, right

from pointwork.agents.facts.figures import in_one_form
from pointwork.agents.parsing.problems import deduced
from pointwork.agents.parsing.worded import worked
from pointwork.agents.readings import problems
from pointwork.agents.reckoning import computed, value_of

ROOT = Path(__file__).parents[1]
UNSEEN = ROOT / "training/recipes/unseen_problems.jsonl"
SUITE = ROOT / "src/pointwork/bench/starter/tasks.train.jsonl"


def rows(path: Path, kind: str = "") -> list[tuple[str, float]]:
    """(text, answer) of a file's problems."""
    read = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(row["task"], float(row["answer"])) for row in read if not kind or row["kind"] == kind]


def answers(text: str) -> dict[str, tuple[float, float]]:
    """Of each reading what it comes to and how sure it is."""
    found: dict[str, tuple[float, float]] = {}
    by_pairs = problems.solved(text, least=0.0)
    if by_pairs is not None:
        found["pairs"] = (value_of(by_pairs), by_pairs.score)
    by_steps = deduced(text)
    if by_steps is not None:
        found["steps"] = (by_steps.value, by_steps.chance)
    by_sums = worked(in_one_form(text)).best
    if by_sums is not None:
        found["sums"] = (by_sums.value, by_sums.chance)
    together = computed(text)
    if together is not None:
        found["all"] = (value_of(together), together.score)
    return found


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--json", type=Path, help="write each problem with what was found")
    given = parser.parse_args()
    sets: dict[str, Sequence[tuple[str, float]]] = {
        "unseen": rows(UNSEEN),
        "unseen, more": rows(UNSEEN.with_name("unseen_problems_more.jsonl")),
        "suite, train half": rows(SUITE, "arithmetic"),
    }
    if given.data is not None:
        test = gsm8k(given.data / "gsm8k/test.jsonl")
        random.Random(1).shuffle(test)
        sets["GSM8K test"] = [(text, answer) for text, _, answer in test[:300]]
    written: list[dict[str, object]] = []
    print("| problems | by pairs | by steps | by sums | taken | of them right |\n|---|---|---|---|---|---|")
    for name, some in sets.items():
        counts = {"pairs": 0, "steps": 0, "sums": 0, "all": 0, "taken": 0}
        for text, answer in track(some, description=name, transient=True):
            found = answers(text)
            counts["taken"] += "all" in found
            for reading, (value, _) in found.items():
                counts[reading] += right(value, answer)
            written.append({"set": name, "task": text, "answer": answer} | found)
        told = " | ".join(str(counts[reading]) for reading in ("pairs", "steps", "sums", "taken", "all"))
        print(f"| {name}, {len(some)} | {told} |")
    if given.json:
        given.json.write_text(json.dumps(written, indent=0), encoding="utf-8")


if __name__ == "__main__":
    main()
