"""The re-ranker that ships with the package: two small networks in numpy and a line for a second look at turns;
``benchmarks/train_memory_ranker.py`` makes them.

Scores are log-odds that a candidate is evidence for the question, roughly: they were trained to put evidence first,
and lightly to be probabilities.
"""

import functools
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pointwork.memory import features, second
from pointwork.memory.products import product
from pointwork.memory.view import View

if TYPE_CHECKING:
    from pointwork.memory.high import Closer

Floats = NDArray[np.float32]
_CLIP = 5.0  # deviations; what is further out was never seen in training


@dataclass(frozen=True, slots=True)
class Network:
    """Features to a score: two hidden layers, several seeds averaged, and a line beside them."""

    mean: Floats
    spread: Floats
    w1: Floats
    b1: Floats
    w2: Floats
    b2: Floats
    w3: Floats
    b3: Floats
    line: Floats

    def scores(self, rows: features.Floats) -> Floats:
        """One score per row; features that are not there (NaN) count as average."""
        inputs = np.nan_to_num(np.clip((rows - self.mean) / self.spread, -_CLIP, _CLIP), nan=0.0)
        seeds, width, _ = self.w1.shape
        hidden = product(inputs, self.w1.reshape(seeds * width, -1).T).reshape(-1, seeds, width)
        hidden = np.maximum(hidden + self.b1, 0).transpose(1, 0, 2)
        hidden = np.maximum(hidden @ self.w2.transpose(0, 2, 1) + self.b2[:, None], 0)
        out = (hidden * self.w3).sum(axis=2) + self.b3
        return out.mean(axis=0) + product(inputs, self.line)


def ranked(
    view: View,
    now: float,
    without: frozenset[str] = frozenset(),
    metered: features.Metered | None = None,
    closer: "Closer | None" = None,
    *,
    again: bool = True,
) -> Floats:
    """The score of each candidate.

    Args:
        view: the candidates.
        now: from where "yesterday" is seen.
        without: modules that work at tier Low: their features are left out.
        metered: module -> a context that measures its work.
        closer: what reads the best turns closely, for modules that work at tier High.
        again: look at the best turns a second time, unless a closer does or filter or topic work at tier Low.
    """
    if not view.known:
        return np.zeros(0, np.float32)
    document = np.array([view.is_document(n) for n in range(len(view.known))])
    scores = np.zeros(len(document), np.float32)
    turns, documents = networks()
    if not document.all():
        rows = features.turn_features(view, now, without, metered)
        scores = turns.scores(rows)
        if closer is not None:
            scores = closer.scores(rows, scores, ~document)
        elif again and without.isdisjoint(("filter", "topic")):
            with metered("topic") if metered else nullcontext():
                scores = second.looked(view, scores, ~document, rows, second_line())
    if document.any():
        scores = np.where(
            document, documents.scores(features.document_features(view, now, without, metered)), scores
        )
    return scores


@functools.cache
def networks() -> tuple[Network, Network]:
    """For turns and for documents."""
    return _read("ranker.npz", "turn", features.TURN), _read("ranker.npz", "document", features.DOCUMENT)


@functools.cache
def second_line() -> second.Line:
    """For the second look at turns."""
    with _opened("ranker.npz") as data:
        _check("ranker.npz", data["second_columns"].tolist(), second.COLUMNS)
        return second.Line(**{name: data[f"second_{name}"] for name in second.Line.__dataclass_fields__})


@functools.cache
def deep_network() -> Network:
    """For turns that a sentence encoder has read."""
    from pointwork.memory.high import COLUMNS

    return _read("ranker_high.npz", "deep", COLUMNS)


def _read(file: str, kind: str, columns: tuple[str, ...]) -> Network:
    with _opened(file) as data:
        _check(file, data[f"{kind}_columns"].tolist(), columns)
        return Network(**{name: data[f"{kind}_{name}"] for name in Network.__dataclass_fields__})


@contextmanager
def _opened(file: str) -> Generator[Mapping[str, NDArray[Any]], None, None]:
    path = resources.files("pointwork.memory") / file
    with path.open("rb") as opened, np.load(opened, allow_pickle=False) as data:
        yield data


def _check(file: str, there: Sequence[str], columns: tuple[str, ...]) -> None:
    assert tuple(there) == columns, f"{file} is of other features: benchmarks/train_memory_ranker.py remakes it"
