"""The seam between the router and its policies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(slots=True)
class View:
    """What a policy sees of one decision: arrays over the n candidates.

    Attributes:
        names: of the candidates.
        contexts: (n, d).
        mean: (n,), predicted quality.
        width: (n,), √(xᵀPx), in units of the ridge's prior.
        cost: (n,), predicted US dollars.
        price: (n,), what cost and latency take off the score.
        clock: decisions that the router made before.
    """

    names: Sequence[str]
    contexts: Array
    mean: Array
    width: Array
    cost: Array
    price: Array
    clock: int


class Policy(Protocol):
    """Says which candidates it would take. It is not what draws, explores by chance or learns.

    The router mixes the target distribution with an exploration floor, draws the arm from the mixture and logs
    that, so that the logged propensity is the true one whatever the policy does.
    """

    @property
    def name(self) -> str:
        """Its name in the registry."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same view would get another answer."""
        ...

    def propose(self, view: View, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Judge the candidates.

        Returns:
            The score of each candidate, the bonus for uncertainty in it, and the target distribution (not
            negative, sums to 1), each of shape (n,).
        """
        ...


def best_of(scores: Array) -> Array:
    """All probability on the highest score, split evenly among equals: shape (n,)."""
    ties = scores == scores.max()
    return ties / np.count_nonzero(ties)
