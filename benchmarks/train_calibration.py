"""Remake ``agents/parsing/calibration.npz``: how likely the words that an encoder points at are the answer.

    python benchmarks/train_calibration.py            # prints what it is worth, writes nothing
    python benchmarks/train_calibration.py --write    # three minutes of two cores

A regression over what is known of those words (``agents/pointed.py``), learnt from questions to pages that the
encoders did not learn from: three places asked in other words (``page_lookups_more.jsonl``), every second folder of
``reading_comprehension_more.jsonl`` and ``reading_entries_more.jsonl``, and tasks of several steps over five places
(``stepped_pages.jsonl``), to which hardly any words are the answer. Measured on the other folders and places, and
on ``page_lookups_unseen.jsonl``.
"""

import argparse
import asyncio
import random
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from parser_training.nearer import rows_of
from rich.progress import track
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from train_extraction import label

from pointwork.agents import pointed, quoting
from pointwork.agents.readings.linear import Linear, store
from pointwork.tools import ToolContext, passages
from pointwork.training.recipes.pages import bare

ROOT = Path(__file__).parents[1]
OUT = ROOT / "agents/parsing/calibration.npz"
TOGETHER = 10  # single pages that are asked at once
EVERY = {"reading_comprehension_more": 2}  # of so many questions one


@dataclass(frozen=True)
class Place:
    """Files by name, and what is asked of them with its answers; none: they do not say it."""

    sort: str
    learnt: bool
    files: Mapping[str, str]
    asked: Sequence[tuple[str, str | None]]


@dataclass(frozen=True)
class Example:
    """Words that were pointed at: whether they are the answer, and what is known of them."""

    right: bool
    features: Mapping[str, float]


@dataclass(frozen=True)
class Pointed:
    """The words that were pointed at to a question."""

    sort: str
    learnt: bool
    answered: bool
    words: Sequence[Example]


def places() -> list[Place]:
    """All that is asked."""
    found: list[Place] = []
    for name in ("page_lookups_more", "page_lookups_unseen"):
        for _, pages in groupby(rows_of(name), key=lambda row: row["place"]):
            found.append(_place(name, name == "page_lookups_more", [(page["name"], page) for page in pages]))
    for name in ("reading_comprehension_more", "reading_entries_more"):
        rows = rows_of(name)
        for number, start in enumerate(range(0, len(rows), TOGETHER)):
            pages = [(f"note{at}.md", page) for at, page in enumerate(rows[start : start + TOGETHER])]
            found.append(_place(name, number % 2 == 1, pages))
    for number, row in enumerate(rows_of("stepped_pages")):
        asked = [(one["task"], str(one["answer"])) for one in row["tasks"]]
        found.append(Place("stepped_pages", number % 2 == 0, row["files"], asked))
    return found


def _place(sort: str, learnt: bool, pages: Sequence[tuple[str, Mapping[str, Any]]]) -> Place:
    asked = [(pair["q"], pair["a"]) for _, page in pages for pair in page["qa"]]
    return Place(sort, learnt, {name: page["text"] for name, page in pages}, asked[:: EVERY.get(sort, 1)])


def seen(place: Place) -> list[Pointed]:
    """What is pointed at in a place, as agents ask it."""
    found: list[Pointed] = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for name, text in place.files.items():
            (root / name).write_text(text, encoding="utf-8")
        for question, answer in place.asked:
            noted: list[pointed.Seen] = []

            def see(*given: Any, noted: list[pointed.Seen] = noted) -> tuple[None, float]:
                words, unsaid = pointed.see(*given)
                noted += words
                return None, unsaid

            with patch.object(pointed, "read", see):
                asyncio.run(_asked(question, root))
            words = [Example(answer is not None and holds(one.text, answer), one.features) for one in noted]
            found += [Pointed(place.sort, place.learnt, answer is not None, words)] if words else []
    return found


async def _asked(question: str, root: Path) -> None:
    context = ToolContext(root=root)
    sentences = await quoting.sentences_about(question, context)
    if sentences:
        nowhere = await quoting.absent(question, context)
        quoting.quoted(question, sentences, partial(passages.idf, root), nowhere)


def holds(text: str, answer: str) -> bool:
    """Whether words are the answer, part of it, or hold it and a little more."""
    return bool(bare(text)) and bool(label(text, answer) or label(answer, text))


def fitted(every: Sequence[Pointed]) -> Linear:
    """The regression."""
    examples = [words for one in every for words in one.words]
    names = sorted({name for one in examples for name in one.features})
    matrix = np.array([[one.features.get(name, 0.0) for name in names] for one in examples])
    scaler = StandardScaler().fit(matrix)
    model = LogisticRegression(max_iter=1000).fit(scaler.transform(matrix), [one.right for one in examples])
    weights = model.coef_[0] / scaler.scale_
    bias = model.intercept_[0] - float(weights @ scaler.mean_)
    return Linear({name: row for row, name in enumerate(names)}, weights[:, None], np.array([bias]))


def told(every: Sequence[Pointed], weights: Linear) -> None:
    """What is said from some probabilities on, beside the encoder's own."""
    for sort in sorted({one.sort for one in every}):
        some = [one for one in every if one.sort == sort]
        answered = np.array([one.answered for one in some])
        print(f"{sort}: {len(some)} pointed at, {answered.sum()} of them have an answer")
        for what in ("the encoder's own", "weighed"):
            best = [_best(one, weights if what == "weighed" else None) for one in some]
            logits, right = np.array([logit for logit, _ in best]), np.array([right for _, right in best])
            for least in (0.35, 0.5, 0.7):
                said = logits >= np.log(least / (1 - least))
                wrong, made_up = said & ~right & answered, said & ~answered
                print(f"  {what}, from {least}: {(said & right).sum()} right", end=", ")
                print(f"{wrong.sum()} wrong, {made_up.sum()} without an answer")


def _best(one: Pointed, weights: Linear | None) -> tuple[float, bool]:
    """How likely the likeliest words are, and whether they are right; no weights: as the encoder has it."""

    def logit(words: Example) -> float:
        return float(weights.logits(words.features)[0]) if weights else words.features["pointed"]

    best = max(one.words, key=logit)
    return logit(best), best.right


def main() -> None:
    """Learn, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="into the package")
    given = parser.parse_args()
    every = places()
    random.Random(0).shuffle(every)
    with ProcessPoolExecutor() as pool:
        found = [one for some in track(pool.map(seen, every), "asking", len(every)) for one in some]
    weights = fitted([one for one in found if one.learnt])
    print({name: round(float(weights.weights[row, 0]), 2) for name, row in weights.rows.items()})
    told([one for one in found if not one.learnt], weights)
    if given.write:
        store(OUT, {"right": weights})
        print(f"{OUT}: {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
