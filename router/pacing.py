"""The price of money: λ, chosen so that mean spend ends at the budget per request or just below.

``price = λ·ĉ/B`` is taken off an arm's score. λ is the dual variable of "mean cost ≤ B" (Badanidiyuru,
Kleinberg, Slivkins, "Bandits with Knapsacks", 2013). Small steps along its gradient lag behind: it is *solved
for* instead, every few decisions, as the least λ at which choosing by score would have kept the last ``WINDOW``
requests, with what was predicted for each of their candidates, on target (the empirical dual of the knapsack;
the objective is a step function of one variable, so a bisection finds it). Where requests are much alike the
step is high, and the optimum is a mixture: a share of requests is decided by the λ just below it. And as
beliefs move on from those in the window, the two are taken further apart while the account is off. The target
is B corrected by what was spent too much or too little so far, paid back over ``_HORIZON`` requests.

Three guards. A choice dearer than ``_DEAR`` budgets is only made by a λ that has just been solved for, and only
when what was saved pays for it, but for ``_ADVANCE`` budgets and ``_SLIP`` of all that was due so far (so one
call of 180 budgets is not tried out at the start of a tight budget and then paid back by everybody else). A
decision is charged what it is predicted to cost when it is made (the difference when its cost is known), so
that thousands in flight can not slip past.

The same window gives the scales of trade-off mode (BudgetMem, 2026): the root of cost between its 5th and 95th
percentile, clipped to 0..1, times the spread of quality over its own.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from pointwork.errors import UsageError
from pointwork.router.estimates import COST_FLOOR

Array = npt.NDArray[np.float64]
Slots = npt.NDArray[np.intp]

WINDOW = 256
_EVERY = 16  # decisions between solutions of λ; each one at first, later twice as many
_EARLY, _LATE = 48, 512
_SAFETY = 0.99  # part of the budget that is aimed at
_HORIZON = 100.0  # requests over which debt is paid back
_CREDIT = 30.0  # most unspent budgets that are kept for later
_LEAST, _MOST = 0.5, 1.15  # of the budget that is aimed at while paying back
_DEAR = 4.0
_ADVANCE, _SLIP = 8.0, 0.02
_RATE = 0.03  # relative precision of λ
_TOP = 1e12
_TINY = 1e-12  # least budget: the search for λ ends
_WIDEST = 3.0
_STEP = 0.02  # of the target: spend on both sides of λ that differs more is mixed


class Pacer:
    """Prices cost for one router.

    Args:
        budget: B, US dollars per request on average; None: cost has no price (λ = 0).
        arms: how many slots.

    Raises:
        UsageError: a budget that is not at least 10⁻¹² or not finite.
    """

    def __init__(self, budget: float | None, arms: int = 0) -> None:
        if budget is not None and not _TINY <= budget < math.inf:
            raise UsageError(f"budget_per_request must be at least {_TINY:g} US dollars, not {budget!r}")
        self.budget = (
            None if budget is None else float(budget)
        )  # a Decimal or numpy's would end up in sums and files
        self.rate = 0.0  # λ/B, quality per US dollar
        self.low = 0.0  # the λ/B just below at which the window would have overspent,
        self.spread = 1.0  # factor between λ and each of the two
        self.share = 0.0  # and the share of requests that are to be decided by it, so that together they meet B
        self.debt = 0.0  # in requests' budgets
        self.seen = 0
        self.solved = -1  # requests seen at the last solution
        self.values: Array = np.full((WINDOW, arms), -np.inf)
        self.costs: Array = np.zeros((WINDOW, arms))
        self.scales = np.zeros(3)  # of trade-off mode: 5th percentile of √cost, 95th, σ_q/σ_c
        self.scaled = -1

    def grow(self) -> None:
        """Add a slot."""
        self.values = np.hstack((self.values, np.full((WINDOW, 1), -np.inf)))
        self.costs = np.hstack((self.costs, np.zeros((WINDOW, 1))))

    def reprice(self, slot: int, by: float) -> None:
        """So much more is predicted of an arm, in log cost: the window says what its requests would cost now.

        The debt stays: what was spent was spent.
        """
        if by:
            priced = (self.costs[:, slot] + COST_FLOOR) * math.exp(by) - COST_FLOOR
            self.costs[:, slot] = np.where(np.isfinite(self.values[:, slot]), np.maximum(priced, 0.0), 0.0)
            self.solved = self.scaled = -1

    @property
    def weight(self) -> float:
        """λ: quality that spending one request's budget must be worth."""
        return 0.0 if self.budget is None else self.rate * self.budget

    def look(self, value: Array, cost: Array, slots: Slots | None) -> None:
        """A request is about to be decided: keep what it could yield, and solve for λ if it is time.

        Args:
            value: quality that its candidates would be chosen by (n,). cost: predicted US dollars (n,).
            slots: theirs; None: all.
        """
        row = self.seen % WINDOW
        if slots is None:
            self.values[row], self.costs[row] = value, cost
        else:
            self.values[row], self.costs[row] = -np.inf, 0.0
            self.values[row, slots], self.costs[row, slots] = value, cost
        self.seen += 1
        if self.budget is None:
            return
        every = 1 if self.seen < _EARLY else _EVERY if self.seen < _LATE else 2 * _EVERY
        if self.seen - self.solved >= every:
            self.solve()

    @property
    def always(self) -> float:
        """US dollars that any request may be predicted to cost at any time."""
        return math.inf if self.budget is None else _DEAR * self.budget

    def dear(self, cost: float) -> bool:
        """Whether a choice of this predicted cost needs a λ that is newer than the present one."""
        return self.budget is not None and cost > _DEAR * self.budget and self.solved < self.seen

    def affordable(self) -> float:
        """US dollars that one request may be predicted to cost now; the exploration floor has its own limit."""
        if self.budget is None:
            return math.inf
        return self.budget * max(_DEAR, _ADVANCE + _SLIP * self.seen - self.debt)

    @property
    def target(self) -> float:
        """US dollars per request that are aimed at now."""
        assert self.budget is not None
        share = _SAFETY * (1.0 - self.debt / _HORIZON)
        return self.budget * min(_MOST, max(_LEAST, share))

    def solve(self) -> None:
        """Find the least λ that would have kept the window on target."""
        count = min(self.seen, WINDOW)
        values, costs, target = self.values[:count], self.costs[:count], self.target
        self.solved = self.seen
        self.share = 0.0
        if _spend(values, costs, 0.0) <= target:
            self.rate = 0.0
            return
        low = 0.0
        high = self.rate or 0.1 / target
        while _spend(values, costs, high) > target:
            low, high = high, high * 4.0
            if high > _TOP / target:  # even the cheapest arms cost more
                self.rate = high
                return
        if not low:
            low = high / 2.0
            while low > 1e-9 / target and _spend(values, costs, low) <= target:
                low, high = low / 2.0, low
        low, high = _narrowed(values, costs, target, low, high)
        # money stays unspent (or debt unpaid) at this λ: what was predicted is not what is predicted now
        off = (self.debt <= -0.7 * _CREDIT) or self.debt > _CREDIT
        self.spread = min(_WIDEST, self.spread * 1.3) if off else max(1.0, self.spread / 1.1)
        low, high = low / self.spread, high * self.spread
        self.rate = high
        over, under = _spend(values, costs, low), _spend(values, costs, high)
        if over - under > _STEP * target:
            self.low, self.share = low, min(1.0, max(0.0, (target - under) / (over - under)))

    def tradeoff(self, weight: float, cost: Array) -> Array:
        """The same in trade-off mode, where ``weight`` says how much of the spread of quality money is worth."""
        if self.seen - self.scaled >= _EVERY or self.scaled < 0:
            self._scale()
        low, high, ratio = (float(scale) for scale in self.scales)
        if not ratio:
            return np.zeros(len(cost))
        return (weight * ratio) * np.minimum(1.0, np.maximum(0.0, (np.sqrt(cost) - low) / (high - low)))

    def _scale(self) -> None:
        self.scaled = self.seen
        count = min(self.seen, WINDOW)
        there = np.isfinite(self.values[:count])
        roots, values = np.sqrt(self.costs[:count][there]), self.values[:count][there]
        self.scales[:] = 0.0
        if not len(roots):
            return
        low, high = (float(edge) for edge in np.percentile(roots, (5, 95)))
        if high - low <= 1e-9 * max(high, 1e-9):  # all cost the same: nothing to trade
            return
        spread = float(np.clip((roots - low) / (high - low), 0, 1).std())
        if spread > 1e-6:
            self.scales[:] = low, high, max(float(values.std()), 0.02) / spread

    def charge(self, usd: float) -> None:
        """A decision was made, at this predicted cost."""
        if self.budget is not None:
            self.debt = max(-_CREDIT, self.debt + usd / self.budget - 1.0)

    def settle(self, difference: float) -> None:
        """A decision's cost is known: by how many US dollars more (or less) than charged."""
        if self.budget is not None:
            self.debt = max(-_CREDIT, self.debt + difference / self.budget)

    def even(self, exploration: float, share: float, dearest: float) -> bool:
        """Whether the floor is the same for all, up to a candidate of this predicted cost in US dollars."""
        return self.budget is None or share * self.budget >= exploration * max(dearest, 1e-12)

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
        return np.minimum(exploration / count, (share * self.budget / count) / np.maximum(cost, 1e-12))

    def state(self) -> dict[str, float]:
        """The numbers that change, to be kept; the window is kept beside them."""
        scales = zip(_SCALES, self.scales.tolist(), strict=True)
        return {
            **{name: float(getattr(self, name)) for name in _FIELDS},
            "scaled": float(self.scaled),
            **dict(scales),
        }

    def restore(self, state: dict[str, Any], window: tuple[Array, Array] | None = None) -> None:
        """Take ``state`` and the window back."""
        for name in _FIELDS:
            setattr(self, name, type(getattr(self, name))(state[name]))
        self.scaled = int(state.get("scaled", -1))  # not there in older files: then they are made anew
        self.scales = np.array([float(state.get(name, 0.0)) for name in _SCALES])
        if window is not None:
            if window[0].shape != self.values.shape or window[1].shape != self.costs.shape:
                raise ValueError(f"the pacer's window has shape {window[0].shape}, not {self.values.shape}")
            self.values, self.costs = window[0].astype(np.float64), window[1].astype(np.float64)


_FIELDS = ("rate", "low", "share", "spread", "debt", "seen", "solved")
_SCALES = ("cheap", "dear", "ratio")


def _spend(values: Array, costs: Array, rate: float) -> float:
    """Mean cost if each request of the window went to its best candidate at this price of money."""
    best = _best(values, costs, rate)
    return float(costs[_ROWS[: len(best)], best].sum()) / len(best)


def _best(values: Array, costs: Array, rate: float) -> Slots:
    """The best candidate of each request at this price of money."""
    if not rate:
        return values.argmax(axis=1)
    scores = costs * -rate
    scores += values
    return scores.argmax(axis=1)


def _narrowed(values: Array, costs: Array, target: float, low: float, high: float) -> tuple[float, float]:
    """Bisect until λ between a price that overspends and one that does not is known to ``_RATE``.

    Scores are lines in λ: a request that has the same best candidate at both ends has it in between, too. So only
    the others are looked at.
    """
    best, last = _best(values, costs, low), _best(values, costs, high)
    same = best == last
    certain = float(costs[_ROWS[: len(best)], best][same].sum())
    values, costs, allowed = values[~same], costs[~same], target * len(best) - certain
    while high > low * (1.0 + _RATE):
        middle = math.sqrt(low * high)
        best = _best(values, costs, middle)
        if float(costs[_ROWS[: len(best)], best].sum()) > allowed:
            low = middle
        else:
            high = middle
    return low, high


_ROWS = np.arange(WINDOW)
