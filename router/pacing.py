"""The price of money: λ, moved so that mean spend ends at the budget per request or just below.

``price = λ·ĉ/B`` is taken off an arm's score. λ is the dual variable of "mean cost ≤ B" (primal–dual pacing:
Badanidiyuru, Kleinberg, Slivkins, "Bandits with Knapsacks", 2013), moved by realised minus target spend. Its step
is made free of scale: ``λ = v·σ_q/σ_c`` with the running spreads of predicted quality and of predicted cost/B among
the candidates, and v moved by η·e/rms(e), e = cost/B′ − 1, clipped, because one dear call can be a thousand times a
tight B. What a clipped step or a slow λ leaves unpaid stays in the account ``debt`` (in requests' budgets), which
lowers the target B′ until it is paid back.

A decision is charged what it is predicted to cost when it is made, and the difference when its cost is known, so
that thousands of decisions in flight can not slip past.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from pointwork.errors import UsageError

Array = npt.NDArray[np.float64]

_STEP = 0.03  # η
_CLIP = 8.0  # largest step, in units of the running rms
_MEMORY = 0.02  # rate of the running spreads and rms
_SLOW = 0.005  # rate of the running rms, to which rare dear calls belong
_LEAST_SPREAD = 0.02  # of quality: predictions that are all equal still have a price
_START = 1.0  # v at the start, when nothing is known: dear arms wait
_MOST = 200.0  # v
_HORIZON = 100.0  # requests over which debt is paid back
_PATIENCE = 25.0  # unpaid budgets that raise v by 1 for as long as they are unpaid
_CREDIT = 50.0  # most unspent budgets that are kept for later


class Pacer:
    """Prices cost for one router.

    Args:
        budget: B, US dollars per request on average; None: cost has no price (λ = 0).

    Raises:
        UsageError: a budget that is not above 0 or not finite.
    """

    def __init__(self, budget: float | None) -> None:
        if budget is not None and not (math.isfinite(budget) and budget > 0):
            raise UsageError(f"budget_per_request must be above 0 US dollars, not {budget!r}")
        self.budget = budget
        self.dual = _START
        self.debt = 0.0
        self.quality_spread = _LEAST_SPREAD
        self.cost_spread = 1.0
        self.square = 1.0
        self.charges = 0.0

    @property
    def weight(self) -> float:
        """λ: quality that spending one request's budget must be worth."""
        if self.budget is None:
            return 0.0
        dual = min(_MOST, self.dual + max(0.0, self.debt) / _PATIENCE)
        return dual * max(self.quality_spread, _LEAST_SPREAD) / max(self.cost_spread, 1e-9)

    def price(self, cost: Array) -> Array:
        """What each predicted cost (n,), in US dollars, takes off the score."""
        if self.budget is None:
            return np.zeros(len(cost))
        return (self.weight / self.budget) * cost

    def charge(self, usd: float, mean: Array, cost: Array) -> None:
        """A decision was made.

        Args:
            usd: predicted cost of the chosen arm.
            mean: predicted quality of all candidates (n,).
            cost: predicted cost of all candidates (n,), US dollars.
        """
        if self.budget is None:
            return
        if len(mean) > 1:
            rate = max(_MEMORY, 1.0 / (self.charges + 1.0))
            self.quality_spread += rate * (_spread(mean) - self.quality_spread)
            self.cost_spread += rate * (_spread(cost) / self.budget - self.cost_spread)
        self.charges += 1.0
        paid = 1.0 - self.debt / _HORIZON
        target = min(1.1, max(0.5, paid))
        error = usd / (self.budget * target) - 1.0
        slow = max(_SLOW, 1.0 / (self.charges + 1.0))
        self.square += slow * (min(error * error, 100.0 * self.square) - self.square)
        self._move(error)
        self._book(usd / self.budget - 1.0)

    def settle(self, difference: float) -> None:
        """A decision's cost is known: by how many US dollars more (or less) than charged."""
        if self.budget is None or difference == 0.0:
            return
        self._move(difference / self.budget)
        self._book(difference / self.budget)

    def _move(self, error: float) -> None:
        step = error / math.sqrt(max(self.square, 1e-6))
        self.dual = min(_MOST, max(0.0, self.dual + _STEP * min(_CLIP, max(-_CLIP, step))))

    def _book(self, excess: float) -> None:
        self.debt = max(-_CREDIT, self.debt + excess)

    def floor(self, exploration: float, share: float, cost: Array) -> Array:
        """Exploration floor of each candidate: f_a = min(ε, κ·B/ĉ_a)/n, never 0 unless ε is.

        Args:
            exploration: ε, chance to draw without regard to scores.
            share: κ, the part of the budget that such draws may cost.
            cost: predicted cost (n,), US dollars.
        """
        count = len(cost)
        if self.budget is None:
            return np.full(count, exploration / count)
        return np.minimum(exploration, share * self.budget / np.maximum(cost, 1e-12)) / count

    def state(self) -> dict[str, float]:
        """Everything that changes, to be kept."""
        return {name: getattr(self, name) for name in _FIELDS}

    def restore(self, state: dict[str, Any]) -> None:
        """Take ``state`` back."""
        for name in _FIELDS:
            setattr(self, name, float(state[name]))


_FIELDS = ("dual", "debt", "quality_spread", "cost_spread", "square", "charges")


def _spread(values: Array) -> float:
    count, total = len(values), float(values.sum())
    return math.sqrt(max(0.0, float(values @ values) / count - (total / count) ** 2))
