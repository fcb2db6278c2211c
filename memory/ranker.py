"""The re-ranker that ships with the package: two small networks in numpy, ``benchmarks/train_memory_ranker.py``
makes them.

Scores are log-odds that a candidate is evidence for the question, roughly: they were trained to put evidence first,
and lightly to be probabilities.
"""

import functools
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwork.memory import features
from pointwork.memory.view import View

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

    def scores(self, rows: Floats) -> Floats:
        """One score per row; features that are not there (NaN) count as average."""
        inputs = np.nan_to_num(np.clip((rows - self.mean) / self.spread, -_CLIP, _CLIP), nan=0.0)
        hidden = np.maximum(np.einsum("nf,shf->snh", inputs, self.w1, optimize=True) + self.b1[:, None], 0)
        hidden = np.maximum(np.einsum("snh,sgh->sng", hidden, self.w2, optimize=True) + self.b2[:, None], 0)
        out = np.einsum("sng,sog->sno", hidden, self.w3, optimize=True)[..., 0] + self.b3
        return out.mean(axis=0) + inputs @ self.line


def ranked(
    view: View, now: float, without: frozenset[str] = frozenset(), metered: features.Metered | None = None
) -> Floats:
    """The score of each candidate.

    Args:
        view: the candidates.
        now: from where "yesterday" is seen.
        without: modules that work at tier Low: their features are left out.
        metered: module -> a context that measures its work.
    """
    if not view.known:
        return np.zeros(0, np.float32)
    document = np.array([view.is_document(n) for n in range(len(view.known))])
    scores = np.zeros(len(document), np.float32)
    turns, documents = networks()
    if not document.all():
        scores = turns.scores(features.turn_features(view, now, without, metered))
    if document.any():
        scores = np.where(
            document, documents.scores(features.document_features(view, now, without, metered)), scores
        )
    return scores


@functools.cache
def networks() -> tuple[Network, Network]:
    """For turns and for documents."""
    path = resources.files("pointwork.memory") / "ranker.npz"
    with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
        arrays: dict[str, Any] = {name: data[name] for name in data.files}
    for kind, columns in (("turn", features.TURN), ("document", features.DOCUMENT)):
        assert tuple(arrays.pop(f"{kind}_columns").tolist()) == columns, f"ranker.npz is of other features: {kind}"
    made = [
        Network(**{name.removeprefix(f"{kind}_"): array for name, array in arrays.items() if name.startswith(kind)})
        for kind in ("turn", "document")
    ]
    return made[0], made[1]
