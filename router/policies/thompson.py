"""Probability matching (Thompson, 1933; for linear models Agrawal and Goyal, 2013), with priced cost."""

import math

import numpy as np

from pointwork.errors import UsageError
from pointwork.router.policies.base import Array, View, scores_of

SCALE = 0.7
DRAWS = 64
MOST = 100_000


class Thompson:
    """The distribution of which candidate is best under what is believed.

    Beliefs are drawn ``draws`` times, and each candidate gets the share of draws in which it scores highest. The
    router mixes that histogram with its floor and draws the arm from the mixture, so that the logged propensity is
    the true one: drawing one belief and taking its best arm would have a propensity that nobody knows.

    Args:
        scale: of the standard deviation of beliefs, ≥ 0.
        draws: how many, from 1 to ``MOST``.
    """

    name = "thompson"

    def __init__(self, scale: float = SCALE, draws: int = DRAWS) -> None:
        if not (math.isfinite(scale) and scale >= 0):
            raise UsageError(f"scale must be finite and not negative, not {scale!r}")
        if not (isinstance(draws, int) and 1 <= draws <= MOST):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"draws must be a whole number from 1 to {MOST:,}, not {draws!r}")
        self.scale = float(scale)
        self.draws = draws

    @property
    def version(self) -> str:
        return f"thompson-1(scale={self.scale:g},draws={self.draws})"

    def propose(self, view: View, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        count = len(view.names)
        spread = self.scale * view.width
        beliefs = view.mean + spread * rng.standard_normal((self.draws, count))
        best = scores_of(view, beliefs).argmax(axis=1)
        target = np.bincount(best, minlength=count) / self.draws
        return scores_of(view, view.mean), spread, target
