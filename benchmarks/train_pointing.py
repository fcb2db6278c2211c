"""Remake ``agents/parsing/pointing.npz``: which words of some sentences answer a question, or that none do.

    python benchmarks/train_pointing.py --write          # 30 minutes of a core, into the package
    python benchmarks/train_pointing.py --begin shipped --minutes 48 --write   # and on from there, as it was made
    python benchmarks/train_pointing.py --measure        # what ships, on pages that nothing was learnt from

Begins as the encoder of ``nearness`` and learns from our own pages (``reading_comprehension.jsonl``,
``reading_entries.jsonl``, ``page_lookups.jsonl`` in ``training/recipes``): each question beside the six
sentences of some pages that fit it best, as in use; of those that no page answers, that there is no answer.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from parser_training.fitting import fit, options, shrunk, written
from parser_training.nearer import rows_of
from parser_training.pointer import Lesson, Points, lessons
from rich.progress import track

from pointwork.agents.parsing import encoder, nearness, pointing

ROOT = Path(__file__).parents[1]
OUT = ROOT / "agents/parsing/pointing.npz"
PAGES = ("reading_comprehension", "reading_entries")
MEASURED = ("reading_comprehension_more", "reading_entries_more")
TOGETHER = 6  # pages that are asked at once
LOOKED_UP = 2  # how often the questions of whole places are learnt, which are asked as people ask
UNANSWERED = 0.6  # share of the questions without an answer that take their turn
QUESTIONS, NEAR = 8, 160  # in a step; among how many those of like length are put together
FAST = 5  # how much faster what is new learns than the encoder


def told(name: str) -> Iterator[Lesson]:
    """The questions of single pages, of which some are asked at once."""
    rows = rows_of(name)
    for start in track(range(0, len(rows), TOGETHER), name):
        named = [(f"page{at}.md", row) for at, row in enumerate(rows[start : start + TOGETHER])]
        yield from lessons(named, encoder.shipped())


def batches(some: Sequence[Lesson], chance: random.Random) -> Iterator[list[Lesson]]:
    """Endless; questions of like length together."""
    answered, others = ([one for one in some if bool(one.right) == so] for so in (True, False))
    while True:
        order = [*answered, *chance.sample(others, round(UNANSWERED * len(others)))]
        chance.shuffle(order)
        for start in range(0, len(order), NEAR):
            near = sorted(order[start : start + NEAR], key=lambda one: sum(len(row.pieces) for row in one.rows))
            made = [near[at : at + QUESTIONS] for at in range(0, len(near), QUESTIONS)]
            chance.shuffle(made)
            yield from made


def train(network: Points, some: Sequence[Lesson], given: Any) -> None:
    """For as long as is given."""
    new = ("ends", "none", "mark")
    body = [p for name, p in network.named_parameters() if not name.startswith((*new, "word"))]
    heads = [p for name, p in network.named_parameters() if name.startswith(new)]
    dealt = batches(some, random.Random(given.seed))
    fit(lambda: network.loss(next(dealt)), [(body, given.rate), (heads, FAST * given.rate)], given.minutes)


def measure() -> None:
    """Of questions that pages answer and that they do not: what is pointed at from some probabilities on."""
    for name in MEASURED:
        counts = {least: np.zeros(3, int) for least in (0.0, 0.3, 0.5, 0.7)}
        some = list(told(name))
        for one in track(some, "reading"):
            (best, *_), _ = pointing.shipped().within(one.rows, 1)
            for least, count in counts.items():
                if best.sure >= least:
                    right = (best.sentence, best.first, best.last) in one.right
                    count += (right, bool(one.right) and not right, not one.right)
        answered = sum(bool(one.right) for one in some)
        for least, (right, wrong, made_up) in counts.items():
            print(f"{name}, from {least}: {right} right, {wrong} wrong of {answered}", end=", ")
            print(f"{made_up} of {len(some) - answered} without an answer")


def main() -> None:
    """Train, and write if asked to."""
    given = options(__doc__, minutes=30.0, rate=6e-5)
    if given.measure:
        return measure()
    torch.manual_seed(given.seed)
    some = [one for name in PAGES for one in told(name)]
    whole = [[*rows] for _, rows in groupby(rows_of("page_lookups"), key=lambda row: row["place"])]
    for rows in track(whole, "page_lookups"):
        some += LOOKED_UP * list(lessons([(row["name"], row) for row in rows], encoder.shipped()))
    print(f"{len(some)} questions, {sum(bool(one.right) for one in some)} with an answer")
    begun = pointing if given.begin == "shipped" else nearness
    network = Points(encoder.shipped(), begun.shipped().read.weights)
    network.train()
    train(network, some, given)
    if given.write:
        written(OUT, shrunk(network))
    return None


if __name__ == "__main__":
    main()
