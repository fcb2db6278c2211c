"""Optimism in the face of uncertainty (Li, Chu, Langford, Schapire, 2010), with priced cost."""

import math

import numpy as np

from pointwork.errors import UsageError
from pointwork.router.policies.base import Array, View, best_of

ALPHA = 0.2


class LinUCB:
    """score = predicted quality + α·√(xᵀPx) − price; the highest score takes all.

    Args:
        alpha: how much uncertainty is worth, α ≥ 0.
    """

    name = "linucb"

    def __init__(self, alpha: float = ALPHA) -> None:
        if not (math.isfinite(alpha) and alpha >= 0):
            raise UsageError(f"alpha must be finite and not negative, not {alpha!r}")
        self.alpha = alpha

    @property
    def version(self) -> str:
        return f"linucb-1(alpha={self.alpha:g})"

    def propose(self, view: View, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        bonus = self.alpha * view.width
        scores = view.mean + bonus - view.price
        return scores, bonus, best_of(scores)
