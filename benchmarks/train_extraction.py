"""Remake ``agents/readings/extracting.npz``: which piece of a text answers a question, or none.

    python benchmarks/train_extraction.py            # prints what it is worth, writes nothing
    python benchmarks/train_extraction.py --write    # some four minutes of two cores
    python benchmarks/train_extraction.py --in-use   # what agents say with the weights that ship; one minute
    python benchmarks/train_extraction.py --in-use --texts training/recipes/reading_comprehension_more.jsonl
    python benchmarks/train_extraction.py --in-use --texts training/recipes/reading_entries_more.jsonl
    python benchmarks/train_extraction.py --in-use --reader [--texts FILE]  # as a trained model reads

Learnt from our own texts with questions that they answer and questions that they do not, prose and pages of entries
(``training/recipes/reading_comprehension.jsonl``, ``reading_entries.jsonl``), nine of ten folders of ten texts; the
tenth is measured, beside the best piece by the hand-set rules. A question is asked of the whole folder, through the
search that agents use.
"""

import argparse
import asyncio
import json
import re
from array import array
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from pointwork.agents import reader as reading
from pointwork.agents.quoting import QUOTED, absent, prepare_files, sentences_about
from pointwork.agents.readings.extracting import RATED, READ, SAID, SURE, Weights, describe, standings
from pointwork.agents.readings.linear import Linear, store
from pointwork.agents.readings.spans import candidates
from pointwork.agents.readings.wanting import wanted
from pointwork.models import ModelClient, open_client
from pointwork.models.adapters import packaged
from pointwork.tools import ToolContext, passages
from pointwork.training.recipes.pages import TEXTS, bare, folders, written

ROOT = Path(__file__).parent.parent
OUT = ROOT / "agents/readings/extracting.npz"
FOLDS = 3  # the probabilities are learnt on scores of models that had not seen the folder
RARE = 4  # features that fewer questions have are left out
PRIOR = 1.0  # strength of the Gaussian prior of the log-linear model
LONG = 3  # words that a piece may have beside the answer


@dataclass
class Asked:
    """A question with its pieces: sparse features, and what is known of each."""

    question: str
    answer: str
    folder: int
    absent: float
    names: list[str]
    rows: Any
    columns: Any
    values: Any
    labels: np.ndarray  # 1: the answer, .3: holds it
    places: np.ndarray
    holding: np.ndarray  # whether the sentence of a piece holds the answer
    before: int  # the best by the rules, -1 without one
    texts: list[str]


def plain(text: str) -> str:
    """A piece without its article and the marks at its ends, to be compared."""
    text = re.sub(r"\s+", " ", text.lower().replace("’", "'")).strip(" .,;:!?\"“”'()")
    return re.sub(r"^(?:the|a|an)\s+", "", text)


def label(text: str, answer: str) -> float:
    """1 for the answer itself, less with another preposition, and for a piece that holds it and a little more."""
    if plain(text) == plain(answer):
        return 1.0
    text, answer = bare(text), bare(answer)
    if text == answer:
        return 0.5
    return 0.3 if f" {answer} " in f" {text} " and len(text.split()) <= len(answer.split()) + LONG else 0.0


def read(number: int, texts: Sequence[dict[str, Any]]) -> list[Asked]:
    """All questions of a folder, asked of it."""
    found: list[Asked] = []
    with written(texts) as root:
        for row in texts:
            for pair in row["qa"]:
                context = ToolContext(root=root)
                sentences = asyncio.run(sentences_about(pair["q"], context))[:READ]
                rated = candidates(pair["q"], wanted(pair["q"]), sentences, RATED)
                described = describe(pair["q"], sentences, rated, lambda token: passages.idf(root, token))
                if described:
                    share = asyncio.run(absent(pair["q"], context))
                    said = [bare(pair["a"] or "\0") in bare(f"{s.subject} {s.text}") for s in sentences]
                    found.append(_packed(pair["q"], pair["a"] or "", number, share, said, described))
    return found


def _packed(
    question: str, answer: str, folder: int, share: float, said: Sequence[bool], described: list[Any]
) -> Asked:
    ids: dict[str, int] = {}
    rows, columns, values = array("i"), array("i"), array("f")
    for row, one in enumerate(described):
        for name, value in one.features.items():
            rows.append(row)
            columns.append(ids.setdefault(name, len(ids)))
            values.append(value)
    labels = np.array([label(one.text, answer) if answer else 0.0 for one in described])
    if labels.max() == 1.0:
        labels[labels < 1.0] = 0.0
    before = next((row for row, one in enumerate(described) if "old rank0" in one.features), -1)
    places = np.array([one.place for one in described])
    texts = [one.text for one in described]
    holding = np.array([bool(answer) and said[one.place] for one in described])
    return Asked(
        question, answer, folder, share, list(ids), rows, columns, values, labels, places, holding, before, texts
    )


def features_of(one: Asked, row: int) -> dict[str, float]:
    """The features of a piece."""
    start, end = np.searchsorted(np.asarray(one.rows), [row, row + 1])
    return {one.names[one.columns[k]]: one.values[k] for k in range(int(start), int(end))}


class Matrix:
    """All pieces of all questions as one sparse matrix."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self.ids: dict[str, int] = {}
        seen: dict[int, int] = {}
        rows, columns, values, self.start = [], [], [], [0]
        for one in asked:
            own = np.array([self.ids.setdefault(name, len(self.ids)) for name in one.names])
            for column in own.tolist():
                seen[column] = seen.get(column, 0) + 1
            rows.append(np.asarray(one.rows) + self.start[-1])
            columns.append(own[np.asarray(one.columns)])
            values.append(np.asarray(one.values, dtype=np.float64))
            self.start.append(self.start[-1] + len(one.labels))
        joined = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        whole = csr_matrix(joined, shape=(self.start[-1], len(self.ids)))
        names = list(self.ids)
        kept = [column for column in range(len(names)) if seen[column] >= RARE]
        self.names = [names[column] for column in kept]
        self.pieces = whole[:, kept]

    def of(self, chosen: Sequence[int]) -> tuple[Any, np.ndarray]:
        """The pieces of some questions, and where each of them starts."""
        rows = np.concatenate([np.arange(self.start[k], self.start[k + 1]) for k in chosen])
        sizes = [self.start[k + 1] - self.start[k] for k in chosen]
        return self.pieces[rows], np.concatenate([[0], np.cumsum(sizes)])


def log_sums(scores: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The log of the sum of exponentials over the pieces of each question."""
    most = np.maximum.reduceat(scores, starts[:-1])
    return most + np.log(np.add.reduceat(np.exp(scores - np.repeat(most, np.diff(starts))), starts[:-1]))


def fitted(matrix: Matrix, asked: Sequence[Asked], chosen: Sequence[int]) -> np.ndarray:
    """Weights of the log-linear model: the most likely ones, with a Gaussian prior."""
    chosen = [k for k in chosen if asked[k].labels.max() > 0]
    pieces, starts = matrix.of(chosen)
    labels, sizes = np.concatenate([asked[k].labels for k in chosen]), np.diff(starts)
    weigh = np.where(labels > 0, np.log(np.maximum(labels, 1e-9)), -1e9)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = pieces @ weights
        every, right = log_sums(scores, starts), log_sums(scores + weigh, starts)
        error = np.exp(scores - np.repeat(every, sizes)) - np.exp(scores + weigh - np.repeat(right, sizes))
        return float((every - right).sum() + 0.5 * PRIOR * weights @ weights), pieces.T @ error + PRIOR * weights

    return minimize(loss, np.zeros(pieces.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 80}).x


def scored(matrix: Matrix, chosen: Sequence[int], weights: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    for k in chosen:
        yield k, matrix.pieces[matrix.start[k] : matrix.start[k + 1]] @ weights


def head(rows: Sequence[dict[str, float]], truth: Sequence[bool]) -> Linear:
    """A logistic regression; its scales are folded into the weights."""
    vectorizer, scaler = DictVectorizer(sparse=False), StandardScaler()
    scaled = scaler.fit_transform(vectorizer.fit_transform(rows))
    model = LogisticRegression(C=0.1, max_iter=2000).fit(scaled, truth)
    weights = model.coef_[0] / scaler.scale_
    names = {str(name): row for row, name in enumerate(vectorizer.feature_names_)}
    return Linear(names, weights[:, None], model.intercept_ - float(weights @ scaler.mean_))


def chance(linear: Linear, row: dict[str, float]) -> float:
    return float(1 / (1 + np.exp(-linear.logits(row)[0])))


def trained(asked: Sequence[Asked]) -> Weights:
    """The model, and the two probabilities from its scores of folders that it had not seen."""
    matrix = Matrix(asked)
    rows: list[dict[str, float]] = []
    said: list[bool] = []
    sure: list[bool] = []
    for fold in range(FOLDS):
        learnt = [k for k, one in enumerate(asked) if one.folder % FOLDS != fold]
        weights = fitted(matrix, asked, learnt)
        others = [k for k, one in enumerate(asked) if one.folder % FOLDS == fold]
        for k, scores in scored(matrix, others, weights):
            one, best = asked[k], int(np.argmax(scores))
            rows.append(standings(one.question, features_of(one, best), one.places, scores, one.absent))
            said.append(bool(one.holding[best]))
            sure.append(bool(one.labels[best] > 0))
    weights = fitted(matrix, asked, range(len(asked)))
    piece = Linear({name: row for row, name in enumerate(matrix.names)}, weights[:, None], np.zeros(1))
    return Weights(piece, head(rows, said), head(rows, sure))


def measured(asked: Sequence[Asked], weights: Weights) -> None:
    """What comes out of folders that nothing was learnt from, beside the rules."""
    rows: list[tuple[bool, bool, bool, float, float, bool]] = []
    for one in asked:
        scores = np.array([weights.piece.logits(features_of(one, row))[0] for row in range(len(one.labels))])
        best = int(np.argmax(scores))
        standing = standings(one.question, features_of(one, best), one.places, scores, one.absent)
        rules = one.before >= 0 and bool(one.labels[one.before] > 0)
        rows.append(
            (
                bool(one.answer),
                bool(one.labels[best] > 0),
                bool(one.holding[best]),
                chance(weights.said, standing),
                chance(weights.sure, standing),
                rules,
            )
        )
    yes, no = [row for row in rows if row[0]], [row for row in rows if not row[0]]
    print(
        f"{len(yes)} questions that are answered, {len(no)} that are not, in folders that nothing was learnt from"
    )
    found, sentence, rules = (share([row[k] for row in yes]) for k in (1, 2, 5))
    print(f"best piece right: {found}, its sentence {sentence}; by the rules {rules}")
    for said in (0.3, 0.4, SAID, 0.6, 0.7):
        given = [row for row in yes if row[3] >= said]
        pieces = [row for row in given if row[4] >= SURE]
        right = sum(row[1] for row in pieces) + sum(row[2] for row in given if row[4] < SURE)
        print(
            f"said ≥ {said}: right {right}/{len(yes)} ({sum(row[1] for row in pieces)}/{len(pieces)} as a piece), "
            f"wrong {len(given) - right}, made up {share([row[3] >= said for row in no])}"
        )


def in_use(texts: Sequence[dict[str, Any]], reader: ModelClient | None = None) -> list[tuple[bool, bool, bool]]:
    """Of each question of a folder: whether it has an answer, whether the agent gives one, whether that is right.

    A reply of up to 25 words that holds the answer is right, as in the starter suite.
    """
    found: list[tuple[bool, bool, bool]] = []
    with written(texts) as root:
        for pair in (pair for row in texts for pair in row["qa"]):
            prepared = asyncio.run(prepare_files(pair["q"], ToolContext(root=root)))
            reply = prepared.answer
            if reader is not None and prepared.pages:
                said = asyncio.run(reading.read(pair["q"], prepared.pages, reader.chat, reply))
                reply = "" if said is None else said.text
            right = bool(reply and pair["a"]) and f" {bare(pair['a'])} " in f" {bare(reply)} "
            found.append((bool(pair["a"]), bool(reply), right and len(reply.split()) <= QUOTED))
    return found


def share(hits: Sequence[bool]) -> str:
    return f"{sum(hits)}/{len(hits)} ({100 * sum(hits) / max(1, len(hits)):.0f} %)"


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--in-use", action="store_true")
    parser.add_argument("--reader", action="store_true", help="with --in-use: the model in the role reader reads")
    parser.add_argument("--texts", type=Path, help="with --in-use: others, none of which anything was learnt from")
    arguments = parser.parse_args()
    if (arguments.texts or arguments.reader) and not arguments.in_use:
        parser.error("--texts and --reader are for --in-use")
    files = [arguments.texts] if arguments.texts else [ROOT / "training/recipes" / name for name in TEXTS]
    taught, held_out = folders([json.loads(line) for file in files for line in file.read_text().splitlines()])
    if arguments.in_use:
        reader = open_client("local:", adapter=packaged("reader")) if arguments.reader else None
        asking = [*taught, *held_out] if arguments.texts else held_out
        replies = [one for folder in track(asking, "folders") for one in in_use(folder, reader)]
        yes = [row for row in replies if row[0]]
        said = share([given for has, given, _ in replies if not has])
        wrong = sum(given and not right for _, given, right in yes)
        print(f"right {share([right for _, _, right in yes])}, wrong {wrong}, said without an answer {said}")
        return
    with ProcessPoolExecutor(2) as pool:
        every = [*taught, *held_out]
        read_ = pool.map(read, range(len(every)), every)
        asked = [one for found in track(read_, "folders", len(every)) for one in found]
    weights = trained([one for one in asked if one.folder < len(taught)])
    measured([one for one in asked if one.folder >= len(taught)], weights)
    if arguments.write:
        store(OUT, {"piece": weights.piece, "said": weights.said, "sure": weights.sure})
        print(f"{OUT}: {OUT.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
