"""Remake what ``agents/parsing/calculations.npz`` says of a task without lines: whether it needs no files.

    python benchmarks/train_bare.py --data BENCH_DATA            # prints what it is worth, writes nothing
    python benchmarks/train_bare.py --data BENCH_DATA --write    # eight minutes of one core

A logistic regression over what the network sees of a task as a whole, after ``train_calculations.py``; nothing
else of the network changes. It learns from tasks with steps over files (``task_steps_*.jsonl``), questions to
tables (``table_questions.jsonl``) and to pages (``page_lookups.jsonl``), and from what needs none: problems with
steps, word problems (our own and GSM8K's training half) and ``everyday_dates.jsonl``. Measured on files of the same
names with ``_unseen``, beside what the network says of tasks with lines.
"""

import argparse
import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from parser_training.calculations import Other, calculated
from parser_training.fitting import written
from rich.progress import track
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from train_calculations import OUT, QUERIED, STEPPED, SUMS, UNSEEN, rows_of, sums

from pointwork.agents.facts.figures import in_one_form
from pointwork.agents.parsing import encoder
from pointwork.agents.parsing.encoder import Encoder
from pointwork.agents.parsing.showing import Shown, show
from pointwork.training.recipes.decomposing import FACTS

OVER_FILES = (*QUERIED, FACTS, SUMS)
NEEDS_NONE = ("everyday_dates_unseen.jsonl", "everyday_sums_unseen.jsonl", "unseen_problems_more.jsonl")
MOST, STEPS, PROBLEMS = 2500, 8000, 3000  # tasks of a recipe of each sort
STRENGTH = 3.0  # C of the regression
WORTH = {True: 5.0, False: 1.0}  # who is told that files are lacking where none are needed gets no answer at all
HEAD = "bare"

Array = npt.NDArray[np.float32]
Asked = tuple[Shown, bool]
"""A task, and whether it needs no files."""


def tasks(rows: Sequence[dict[str, Any]], network: Encoder, most: int = MOST) -> list[Asked]:
    """Those with steps, without their lines; a few over files do not need them."""
    found: list[Asked] = []
    for row in random.Random(1).sample(rows, min(most, len(rows))):
        with suppress(Other):
            one = calculated({**row, "around": ""}, network.pieces)
            found.append((one.shown, bool(one.steps)))
    return [one for one in found if one[0].amounts]


def plain(texts: Iterable[str], network: Encoder, needs_none: bool) -> list[Asked]:
    """Texts all of which need files, or none of which does; one without an amount is never calculated."""
    shown = (show(in_one_form(text), [], network.pieces) for text in texts)
    return [(one, needs_none) for one in shown if one.amounts]


def learnt(data: Path, network: Encoder) -> list[Asked]:
    """What is learnt from."""
    rows = [row for name in OVER_FILES for row in tasks(rows_of(name), network)]
    asked = [
        pair["q"]
        for name in ("table_questions", "page_lookups")
        for row in rows_of(f"{name}.jsonl")
        for pair in row["qa"]
    ]
    problems = [text for text, _, _ in random.Random(1).sample(sums(data), PROBLEMS)]
    dates = [row["task"] for row in rows_of("everyday_dates.jsonl")]
    return [
        *rows,
        *tasks(rows_of(STEPPED), network, STEPS),
        *plain(asked, network, False),
        *plain([*problems, *dates], network, True),
    ]


def seen(rows: Sequence[Asked], network: Encoder, what: str) -> tuple[Array, npt.NDArray[np.bool_]]:
    """What the network sees of each as a whole, shape (tasks, width), and which need no files."""
    wholes = [network.see(shown.pieces, shown.marks)[0] for shown, _ in track(rows, what)]
    return np.stack(wholes), np.array([needs_none for _, needs_none in rows])


def fitted(wholes: Array, needs_none: npt.NDArray[np.bool_]) -> dict[str, Array]:
    """The weights of the regression, as they are stored."""
    model = LogisticRegression(C=STRENGTH, class_weight=WORTH, max_iter=5000).fit(wholes, needs_none)
    return {f"{HEAD}.weight": model.coef_.astype(np.float16), f"{HEAD}.bias": model.intercept_.astype(np.float32)}


def put(path: Path, weights: dict[str, Array]) -> None:
    """Stores them in a network's file; all else stays in it."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    written(path, {**arrays, **weights})


def told(network: Encoder, weights: dict[str, Array]) -> None:
    """How well it tells them apart, beside the weights for tasks with lines."""
    rows = [one for name in UNSEEN for one in tasks(rows_of(name), network)]
    texts = [row["task"] for name in NEEDS_NONE for row in rows_of(name)]
    wholes, needs_none = seen([*rows, *plain(texts, network, True)], network, "measuring")
    for what, known, head in (("with lines", network.weights, "answer"), ("without", weights, HEAD)):
        logits = wholes @ known[f"{head}.weight"][0] + known[f"{head}.bias"][0]
        sure = 1 / (1 + np.exp(-logits))
        print(f"weights of tasks {what}: area under the curve {roc_auc_score(needs_none, logits):.4f}")
        for least in (0.1, 0.25, 0.5, 0.8):
            over, none = (sure[needs_none == sort] >= least for sort in (False, True))
            print(f"  from {least}: {over.sum()} of {len(over)} over files", end=", ")
            print(f"{none.sum()} of {len(none)} that need none")


def main() -> None:
    """Learn, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with gsm8k/")
    parser.add_argument("--network", type=Path, default=OUT, help="whose weights these are")
    parser.add_argument("--write", action="store_true", help="into the network")
    given = parser.parse_args()
    network = Encoder(given.network, encoder.shipped())
    wholes, needs_none = seen(learnt(given.data, network), network, "reading")
    print(f"{len(wholes)} tasks, {needs_none.sum()} need no files")
    weights = fitted(wholes, needs_none)
    told(network, weights)
    if given.write:
        put(given.network, weights)


if __name__ == "__main__":
    main()
