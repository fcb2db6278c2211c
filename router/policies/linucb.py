"""Optimism in the face of uncertainty (Li, Chu, Langford, Schapire, 2010), with priced cost."""

import math

import numpy as np

from pointwork.errors import UsageError
from pointwork.router.policies.base import Array, View, best_of, scores_of

ALPHA = 0.7
DOUBT = 2.0


class LinUCB:
    """score = predicted quality + α·√(σ² xᵀPx) − price; the highest score takes all.

    Args:
        alpha: how many standard deviations of belief are added, α ≥ 0.
    """

    name = "linucb"

    def __init__(self, alpha: float = ALPHA) -> None:
        if not (math.isfinite(alpha) and alpha >= 0):
            raise UsageError(f"alpha must be finite and not negative, not {alpha!r}")
        self.alpha = float(alpha)  # what is no number of Python's is not kept with a version

    @property
    def version(self) -> str:
        return f"linucb-2(alpha={self.alpha:g})"

    @property
    def optimism(self) -> float:
        """Standard deviations of belief that its scores add: the pacer looks at candidates as it does."""
        return self.alpha

    def propose(self, view: View, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        if view.least is None and view.bonus is not None and view.upper is not None:
            scores = view.upper - view.price
            return scores, view.bonus, best_of(scores)
        # an arm that looks worse than the floor by chance is not tried again, so doubt must weigh more there
        bonus = (self.alpha if view.least is None else max(self.alpha, DOUBT)) * view.width
        scores = scores_of(view, view.mean + bonus)
        return scores, bonus, best_of(scores)
