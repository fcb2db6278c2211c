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
        width: (n,), standard deviation of what is believed of the mean, √(σ² xᵀPx).
        cost: (n,), predicted US dollars.
        price: (n,), what cost and latency take off the score.
        clock: decisions that the router made before.
        least: quality that is asked for at the least cost (quality-floor mode), or None.
        bonus, upper: (n,), the policy's own ``optimism`` times the width, and the mean with that, where it has one.

    The arrays are written over at the next decision.
    """

    names: Sequence[str]
    contexts: Array
    mean: Array
    width: Array
    cost: Array
    price: Array
    clock: int
    least: float | None = None
    bonus: Array | None = None
    upper: Array | None = None


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


def scores_of(view: View, values: Array) -> Array:
    """What candidates score whose quality is taken for ``values``, shape (n,) or (m, n).

    Value less price; in quality-floor mode, arms that reach the floor come first, the cheapest before all others
    (score 1 to 2), then the rest by value (below 1).
    """
    if view.least is None:
        return values - view.price
    dearest = max(float(view.cost.max()), 1e-12)
    return np.where(values >= view.least, 2.0 - view.cost / dearest, np.minimum(values, 1.0) - 1.0)


def best_of(scores: Array) -> Array:
    """All probability on the highest score, split evenly among equals: shape (n,)."""
    first = int(scores.argmax())
    if first == len(scores) - 1 - int(scores[::-1].argmax()):  # the same from both ends: there is no other
        target = np.zeros(len(scores))
        target[first] = 1.0
        return target
    ties = scores == scores[first]
    return ties / np.count_nonzero(ties)


def softened(view: View, values: Array, temperature: float) -> tuple[Array, Array, Array]:
    """Scores, no bonus and a softmax over the scores, for a policy that takes quality for ``values`` (n,)."""
    scores = scores_of(view, values)
    odds = np.exp((scores - scores.max()) / temperature)
    return scores, np.zeros(len(scores)), odds / odds.sum()
