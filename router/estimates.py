"""What each arm would yield: quality, cost and latency, predicted and learnt per arm.

Each is a regression on the residual from a prior mean that does not decay: quality from ½ (or what an added arm
inherits), log(cost + c₀) from price × expected tokens, log latency from the arm's expectation. Quality has a Gram
matrix of its own, because it often comes later than cost and latency, or not at all.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pointwork.router.arms import Arm
from pointwork.router.regression import Regression

Array = npt.NDArray[np.float64]
Slots = npt.NDArray[np.intp]

# c₀ in US dollars: differences far below it do not matter, and free calls have a logarithm.
COST_FLOOR = 1e-6
SECONDS_FLOOR = 1e-3
# Observations' worth of belief that log-predictions need no correction, and the largest residual believed.
SMEAR_PRIOR = 5.0
SMEAR_CLIP = 3.0
_FAR = 9.2


def log_cost(usd: float) -> float:
    """log(cost + c₀)."""
    return math.log(usd + COST_FLOOR)


def log_seconds(seconds: float) -> float:
    """Logarithm of a time, at least a millisecond."""
    return math.log(max(seconds, SECONDS_FLOOR))


@dataclass(slots=True)
class Estimate:
    """Predictions for n candidates, each of shape (n,).

    Attributes:
        mean: quality. width: √(xᵀPx) of the quality regression.
        log_cost, log_seconds: the regressions' own predictions.
        cost: expected US dollars. seconds: predicted latency.
    """

    mean: Array
    width: Array
    log_cost: Array
    log_seconds: Array
    cost: Array
    seconds: Array


class Estimates:
    """The regressions of all arms, retired ones included, by slot number.

    ``exp`` of a log-regression underestimates the mean cost. The smearing factor of an arm (Duan, "Smearing
    estimate", 1983) is the discounted mean of exp(realised − predicted log cost), predicted *at the decision*
    (prequential), each weighted by (1 − h)², h = ρ xᵀPx/‖x‖² in [0, 1] being how little the regression knew then:
    else the first residuals, which are the prior's error, would stay in the factor long after they are learnt.
    """

    def __init__(self, arms: Sequence[Arm], dims: int, *, ridge: float, gamma: float) -> None:
        count = len(arms)
        self.gamma = gamma
        self.ridge = ridge
        self.quality = Regression(count, dims, 1, ridge=ridge, gamma=gamma)
        self.costs = Regression(count, dims, 2, ridge=ridge, gamma=gamma)
        self.prior = np.zeros((count, 3))  # quality, log cost, log seconds
        for slot, arm in enumerate(arms):
            self.prior[slot] = prior_of(arm)
        self.smear = np.ones(count)
        self.smear_sums = np.zeros((count, 3))  # sum of factors, sum of weights, reference time

    def grow(self, arm: Arm, clock: float, quality: float) -> None:
        """Add a slot for an arm, with this prior quality."""
        self.quality.grow(clock)
        self.costs.grow(clock)
        self.prior = np.vstack((self.prior, prior_of(arm, quality)))
        self.smear = np.append(self.smear, 1.0)
        self.smear_sums = np.vstack((self.smear_sums, np.array([0.0, 0.0, clock])))

    def predict(self, contexts: Array, clock: float, slots: Slots | None) -> Estimate:
        """Predictions for contexts (n, d) on these slots; None: all slots, in order."""
        prior = self.prior if slots is None else self.prior[slots]
        smear = self.smear if slots is None else self.smear[slots]
        mean = prior[:, 0] + self.quality.predict(contexts, slots)[:, 0]
        width = np.sqrt(self.quality.variances(contexts, clock, slots))
        # far outside what was seen, a linear model of a logarithm can say anything: a factor 10⁴ is enough
        logs = prior[:, 1:] + np.minimum(np.maximum(self.costs.predict(contexts, slots), -_FAR), _FAR)
        amounts = np.exp(logs)
        cost = np.maximum(amounts[:, 0] * smear - COST_FLOOR, 0.0)
        return Estimate(mean, width, logs[:, 0], logs[:, 1], cost, amounts[:, 1])

    def ignorance(self, slot: int, context: Array, clock: float) -> float:
        """h in [0, 1]: how little the cost regression of an arm knows about this context."""
        return min(1.0, self.costs.variance(slot, context, clock) * self.ridge / float(context @ context))

    def learn_quality(self, slot: int, context: Array, clock: float, quality: float) -> None:
        """One observed quality, of a decision at time ``clock``."""
        self.quality.add(slot, context, clock, np.array([quality - self.prior[slot, 0]]))

    def correct_quality(self, slot: int, context: Array, clock: float, change: float) -> None:
        """The quality of a decision learnt before was another: by ``change``."""
        self.quality.correct(slot, context, clock, np.array([change]))

    def learn_costs(self, slot: int, context: Array, clock: float, logs: Array) -> None:
        """Log cost and log seconds (2,) of a decision; put the prediction where one is not known."""
        self.costs.add(slot, context, clock, logs - self.prior[slot, 1:])

    def correct_costs(self, slot: int, context: Array, clock: float, change: Array) -> None:
        """Log cost and log seconds of a decision learnt before were others: by ``change`` (2,)."""
        self.costs.correct(slot, context, clock, change)

    def learn_smear(self, slot: int, clock: float, residual: float, weight: float, old: float | None) -> None:
        """One residual of log cost against the prediction at its decision; ``old``: the one it replaces."""
        total, mass, since = (float(value) for value in self.smear_sums[slot])
        if clock > since:
            decay = self.gamma ** (clock - since)
            total, mass, since = total * decay, mass * decay, clock
        weight *= self.gamma ** (since - clock)
        if old is None:
            mass += weight
        else:
            total -= weight * _factor(old)
        total += weight * _factor(residual)
        self.smear_sums[slot] = total, mass, since
        self.smear[slot] = (SMEAR_PRIOR + total) / (SMEAR_PRIOR + mass)

    def refresh(self, clock: float) -> None:
        """Move all regressions to this time and invert exactly."""
        for slot in range(len(self.prior)):
            self.quality.refresh(slot, clock)
            self.costs.refresh(slot, clock)

    def tidy(self, clock: float) -> None:
        """A little upkeep: look at one arm's regressions and refresh them if stale."""
        self.quality.tidy(clock)
        self.costs.tidy(clock)

    def state(self) -> dict[str, npt.NDArray[np.generic]]:
        """All arrays, by name, to be kept."""
        parts: dict[str, npt.NDArray[np.generic]] = {name: getattr(self, name) for name in _ARRAYS}
        for part in ("quality", "costs"):
            regression: Regression = getattr(self, part)
            parts.update({f"{part}.{name}": array for name, array in regression.state().items()})
        return parts

    def restore(self, state: dict[str, npt.NDArray[np.generic]]) -> None:
        """Take the arrays of ``state`` back.

        Raises:
            KeyError, ValueError: one is missing or of another shape.
        """
        for name in _ARRAYS:
            mine: Array = getattr(self, name)
            if state[name].shape != mine.shape:
                raise ValueError(f"{name} has shape {state[name].shape}, not {mine.shape}")
            setattr(self, name, state[name].astype(np.float64))
        for part in ("quality", "costs"):
            prefix = f"{part}."
            regression: Regression = getattr(self, part)
            regression.restore({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})


_ARRAYS = ("prior", "smear", "smear_sums")


def prior_of(arm: Arm, quality: float = 0.5) -> Array:
    """Prior means of quality, log cost and log seconds: shape (3,)."""
    return np.array([quality, log_cost(arm.expected_usd), log_seconds(arm.expected_seconds)])


def _factor(residual: float) -> float:
    return math.exp(min(SMEAR_CLIP, max(-SMEAR_CLIP, residual)))
