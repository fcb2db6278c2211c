"""Regressions over named features, as they are stored beside the readings that were learnt."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Linear:
    """A regression over named features.

    Attributes:
        rows: name → row of ``weights``.
        weights: shape (features, classes).
        bias: shape (classes,).
    """

    rows: Mapping[str, int]
    weights: Array
    bias: Array

    def logits(self, features: Mapping[str, float]) -> Array:
        """Scores of the classes: shape (classes,). Features it does not know count for nothing."""
        known = [(self.rows[name], value) for name, value in features.items() if name in self.rows]
        if not known:
            return self.bias.copy()
        return self.bias + np.array([value for _, value in known]) @ self.weights[[row for row, _ in known]]

    def log_proba(self, features: Iterable[str]) -> Array:
        """Log-probabilities of the classes: shape (classes,)."""
        logits = self.logits(dict.fromkeys(features, 1.0))
        return logits - (logits.max() + math.log(float(np.exp(logits - logits.max()).sum())))


def stored_in(path: Path) -> dict[str, Linear]:
    """All regressions of a file, by name."""
    with np.load(path, allow_pickle=False) as stored:
        names = {name.split(".")[0] for name in stored.files}
        return {
            name: Linear(
                {feature: row for row, feature in enumerate(str(stored[f"{name}.rows"]).split("\n"))},
                stored[f"{name}.weights"].astype(np.float64),
                stored[f"{name}.bias"].astype(np.float64),
            )
            for name in names
        }


FEW = 1000  # features; fewer are stored in single precision, more in half


def store(path: Path, regressions: Mapping[str, Linear]) -> None:
    """Write regressions to a file."""
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    for name, linear in regressions.items():
        arrays[f"{name}.rows"] = np.array("\n".join(linear.rows))
        arrays[f"{name}.weights"] = linear.weights.astype(np.float32 if len(linear.rows) < FEW else np.float16)
        arrays[f"{name}.bias"] = linear.bias.astype(np.float32)
    np.savez_compressed(path, allow_pickle=False, **arrays)
