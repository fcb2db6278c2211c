"""Remake ``agents/readings/rounding.npz``: whether what a word problem comes to is rounded, and which way.

    python benchmarks/train_rounding.py            # prints what it is worth, writes nothing
    python benchmarks/train_rounding.py --write    # half a minute of one core

Learnt from our own word problems (``training/recipes/*_problems.jsonl``) whose solution is no whole number, by what
their authors answered. Measured by cross-validation, and on ``unseen_problems.jsonl``, of which nothing is learnt.
"""

import argparse
import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from train_word_problems import OWN, linear, parsed, tree_value

from pointwork.agents.readings.linear import Linear, store
from pointwork.agents.readings.problem_text import Problem
from pointwork.agents.readings.rounding import WAYS, features, is_whole, way

ROOT = Path(__file__).parent.parent
OUT = ROOT / "agents/readings/rounding.npz"
UNSEEN = ROOT / "training/recipes/unseen_problems.jsonl"
STRENGTH = 1.0  # of the prior (scikit-learn's C), by cross-validation among .1, .3, 1 and 3
FOLDS = 5
RARE = 3  # features that fewer problems have are left out

Example = tuple[Problem, float, int]
"""A problem, what it comes to, and the place in ``WAYS`` of how that is rounded."""


def examples(paths: Sequence[Path]) -> list[Example]:
    """Problems that come to no whole number; those that are rounded within are left out."""
    found: list[Example] = []
    for row in (json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()):
        value, answer = tree_value(parsed(row["expression"])), float(row["answer"])
        if value is None or is_whole(value):
            continue
        if abs(answer - value) < max(0.006, abs(value) * 0.002):
            found.append((Problem(row["task"]), value, 0))
        elif answer in (math.ceil(value), math.floor(value)):
            found.append((Problem(row["task"]), value, 1 if answer > value else 2))
    return found


def fitted(rows: Sequence[Example]) -> Linear:
    """The regression."""
    of_each = [dict.fromkeys(features(problem, value), 1) for problem, value, _ in rows]
    seen = Counter(name for each in of_each for name in each)
    vectorizer = DictVectorizer(sparse=True)
    matrix = vectorizer.fit_transform([{n: 1 for n in each if seen[n] >= RARE} for each in of_each])
    model = LogisticRegression(C=STRENGTH, max_iter=1000).fit(matrix, [label for _, _, label in rows])
    return linear(vectorizer.feature_names_, model)


def told(rows: Sequence[Example], weights: Linear) -> np.ndarray:
    """How often each way is taken for each: (3, 3), the right one by row."""
    counts = np.zeros((len(WAYS), len(WAYS)), int)
    for problem, value, label in rows:
        counts[label, WAYS.index(way(problem, value, weights))] += 1
    return counts


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rows = examples(OWN)
    random.Random(0).shuffle(rows)
    counts = np.zeros((len(WAYS), len(WAYS)), int)
    for fold in range(FOLDS):
        weights = fitted([row for place, row in enumerate(rows) if place % FOLDS != fold])
        counts += told(rows[fold::FOLDS], weights)
    weights = fitted(rows)
    for name, found in (("cross-validated", counts), ("unseen", told(examples([UNSEEN]), weights))):
        never, right, every = found[0].sum(), found.trace(), found.sum()
        print(f"{name}: {right}/{every} right, {never}/{every} if nothing were rounded; by row {found.tolist()}")
    if given.write:
        store(OUT, {"rounding": weights})
        print(f"{OUT}: {OUT.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
