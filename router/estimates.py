"""What each arm would yield: quality, cost and latency, predicted and learnt per arm.

Each is a regression on the residual from a prior mean that does not decay: quality from ½ (or what an added arm
inherits), log(cost + c₀) from price × expected tokens, log latency from the arm's expectation. Quality has a Gram
matrix of its own, because it often comes later than cost and latency, or not at all.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pointwork.router.arms import Arm
from pointwork.router.decisions import COLUMNS
from pointwork.router.features import STATE
from pointwork.router.policies.base import View
from pointwork.router.regression import COSTS, HEADS, QUALITY, Regression

Array = npt.NDArray[np.float64]
Slots = npt.NDArray[np.intp]
# Log cost and log seconds; None: not told, and nothing is known but what was expected.
Logs = tuple[float | None, float | None]

# c₀ in US dollars: differences far below it do not matter, and free calls have a logarithm.
COST_FLOOR = 1e-6
SECONDS_FLOOR = 1e-3
# As arrays: numpy takes them up in half the time of Python's numbers.
_COST_FLOOR, _ZERO = np.array(COST_FLOOR), np.array(0.0)
# Observations' worth of belief that log-predictions need no correction, and the largest residual believed.
SMEAR_PRIOR = 5.0
SMEAR_CLIP = 3.0
_FAR = 9.2
# Noise of quality (σ²) before it was seen, belief in it in observations, rate of the running mean, least noise.
_NOISE, _BELIEF, _RATE, _LEAST = 0.1, 4.0, 0.01, 1e-6


def log_cost(usd: float) -> float:
    """log(cost + c₀)."""
    return math.log(usd + COST_FLOOR)


def log_seconds(seconds: float) -> float:
    """Logarithm of a time, at least a millisecond."""
    return math.log(max(seconds, SECONDS_FLOOR))


class Sheet:
    """Room for the contexts of n candidates and what is predicted for them, made once and written over each time.

    Attributes:
        contexts: (n, d); ``shared``, ``state``: views of its middle block and of the arms' state.
        table: (len(COLUMNS), n); mean, log_cost, log_seconds, cost, seconds, bonus, price, score: its rows.
            ``cost``: expected US dollars; ``seconds``: predicted latency; the logarithms are the regressions' own.
        width: (n,), standard deviation of what is believed of quality, √(σ² xᵀPx).
        upper: (n,), mean and bonus, by the policy's own optimism.
    """

    def __init__(self, count: int, dims: int, bias: float) -> None:
        self.contexts = np.zeros((count, dims))
        self.contexts[:, 0] = bias
        self.shared, self.state = self.contexts[:, 1:-STATE], self.contexts[:, -STATE:]
        self.column = self.contexts[:, :, None]
        self.gains = np.empty((count, dims))
        self.gains_column = self.gains[:, :, None]
        self.table = np.empty((len(COLUMNS), count))
        self.heads, self.logs, self.amounts = self.table[:3], self.table[1:3], self.table[3:5]
        self.flat = self.heads.reshape(-1)
        self.mean, self.log_cost, self.log_seconds, self.cost, self.seconds = self.table[:5]
        self.bonus, self.price, self.score = self.table[5:]
        self.width, self.upper = np.empty(count), np.empty(count)
        self._view = View((), self.contexts, self.mean, self.width, self.cost, self.price, 0)

    def view(self, names: Sequence[str], clock: int, least: float | None, optimism: float) -> View:
        """What a policy is shown of it."""
        view = self._view
        view.names, view.clock, view.least = names, clock, least
        view.bonus, view.upper = (self.bonus, self.upper) if optimism else (None, None)
        return view


class Estimates:
    """The regressions of all arms, retired ones included, by slot number.

    ``exp`` of a log-regression underestimates the mean cost. The smearing factor of an arm (Duan, "Smearing
    estimate", 1983) is the discounted mean of exp(realised − predicted log cost), predicted *at the decision*
    (prequential), each weighted by (1 − h)², h = ρ xᵀPx/‖x‖² in [0, 1] being how little the regression knew then:
    else the first residuals, which are the prior's error, would stay in the factor long after they are learnt.

    Attributes:
        noise: σ² of quality about its prediction, and of how many observations.
        usual: running mean of quality over all arms, and of how many observations.
        untried: slots without an observed quality.
        told: by slot, how many costs and how many latencies were told.
    """

    def __init__(self, arms: Sequence[Arm], dims: int, *, ridge: float, gamma: float, adapt: bool) -> None:
        count = len(arms)
        self.gamma = gamma
        self.regression = Regression(count, dims, ridge=ridge, gamma=gamma, adapt=adapt)
        self.prior = np.zeros((count, 3))  # quality, log cost, log seconds
        for slot, arm in enumerate(arms):
            self.prior[slot] = prior_of(arm)
        self.smear = np.ones(count)
        self.smear_sums = [[0.0] * 3 for _ in arms]  # sum of factors, sum of weights, reference time
        self.told = [[0.0] * 2 for _ in arms]
        self.noise = [_NOISE, _BELIEF]
        self.usual = [0.5, 2.0]
        self.untried = list(range(count))

    def grow(self, arm: Arm, clock: float, quality: float) -> None:
        """Add a slot for an arm, with this prior quality."""
        self.regression.grow(clock)
        self.prior = np.vstack((self.prior, prior_of(arm, quality)))
        self.smear = np.append(self.smear, 1.0)
        self.smear_sums.append([0.0, 0.0, clock])
        self.told.append([0.0] * 2)

    def predict(self, sheet: Sheet, clock: float, slots: Slots | None) -> None:
        """Fill in the predictions for the contexts of a sheet, which are of these slots; None: all, in order.

        All arms and heads at once: three products of stacked arrays, and what follows works on whole rows.
        """
        regression, prior, smear = self.regression, self.prior, self.smear
        weights, inverse = regression.by_head, regression.of_quality
        growth = regression.growth(clock)
        if slots is not None:
            weights, inverse, prior, smear = weights[:, slots], inverse[slots], prior[slots], smear[slots]
            growth = None if growth is None else growth[slots]
        np.vecdot(weights, sheet.contexts, out=sheet.heads)
        flat = sheet.flat
        # far outside what was seen, a linear model of a logarithm can say anything: a factor 10⁴ is enough
        if flat.dot(flat) > _FAR * _FAR:  # else none of them can be
            np.clip(flat, -_FAR, _FAR, out=flat)
        heads, cost, width = sheet.heads, sheet.cost, sheet.width
        heads += prior.T
        np.exp(sheet.logs, out=sheet.amounts)
        cost *= smear
        cost -= _COST_FLOOR
        np.maximum(cost, _ZERO, out=cost)
        np.matmul(inverse, sheet.column, out=sheet.gains_column)
        np.vecdot(sheet.gains, sheet.contexts, out=width)
        if growth is not None:
            width *= growth
        width *= self.noise[0]
        np.sqrt(width, out=width)

    def unsure(self, slot: int, width: float, size: float) -> float:
        """h in [0, 1]: how little the quality regression of an arm knew about a context, by its width then.

        Args:
            slot: of the arm. width: of its belief. size: ‖x‖².
        """
        most = self.noise[0] * size / self.regression.ridges.item(slot, QUALITY)
        return min(1.0, width * width / most)

    def ignorance(self, slot: int, context: Array, size: float) -> float:
        """h in [0, 1]: how little the cost regression of an arm knows about a context of this ‖x‖²."""
        regression = self.regression
        return min(1.0, regression.variance(slot, COSTS, context) * regression.ridges.item(slot, COSTS) / size)

    def guessed(self, slot: int) -> tuple[bool, bool]:
        """Whether what is predicted of an arm's cost, and of its latency, is but what was expected of it."""
        costs, latencies = self.told[slot]
        return not costs, not latencies

    def learn(self, slot: int, context: Array, clock: float, quality: float | None, logs: Logs | None) -> None:
        """An observation, of a decision at time ``clock``.

        Args:
            slot: of the arm. context: x (d,).
            quality: or None. logs: log cost and log seconds, or None.
        """
        level, usual_cost, usual_seconds = self.prior[slot].tolist()
        if logs is None:
            assert quality is not None
            self.regression.add("quality", slot, context, clock, (quality - level,))
            return
        cost, seconds = logs
        costs = (
            0.0 if cost is None else cost - usual_cost,
            0.0 if seconds is None else seconds - usual_seconds,
        )
        if quality is None:
            self.regression.add("costs", slot, context, clock, costs)
        else:
            self.regression.add("both", slot, context, clock, (quality - level, *costs))
        for head in (1, 2):
            if logs[head - 1] is None:
                self.regression.assume(head, slot, context, clock, 1.0)

    def learn_noise(self, residual: float, width: float) -> None:
        """One residual of quality against the prediction at its decision, which had this width."""
        noise, count = self.noise
        seen = residual * residual * noise / (noise + width * width)  # r²/(1 + xᵀPx)
        noise += max(_RATE, 1.0 / (count + 1.0)) * (seen - noise)
        self.noise = [max(noise, _LEAST), count + 1.0]

    def hope(self, quality: float) -> None:
        """A quality became known: arms that were never tried are taken to be as good as what is usual, at least ½.

        With ½ for all, a good arm that was not tried would look bad beside arms that are better than that.
        """
        mean, count = self.usual
        mean += max(_RATE, 1.0 / (count + 1.0)) * (quality - mean)
        self.usual = [mean, count + 1.0]
        if self.untried:
            level, counts = max(0.5, mean), self.regression.counts
            self.untried = [slot for slot in self.untried if not counts.item(slot, QUALITY)]
            self.prior[self.untried, 0] = level

    def correct_quality(self, slot: int, context: Array, clock: float, new: float, old: float) -> None:
        """The quality of a decision learnt before was another."""
        self.regression.correct(0, slot, context, clock, new - old, old - float(self.prior[slot, 0]))

    def correct_costs(self, slot: int, context: Array, clock: float, new: Logs, old: Logs) -> None:
        """Log cost and log seconds of a decision learnt before were others."""
        for head, (after, before) in enumerate(zip(new, old, strict=True), 1):
            if after is None:  # still not told
                continue
            usual = self.prior.item(slot, head)
            if before is None:
                before = usual
                self.regression.assume(head, slot, context, clock, -1.0)
            self.regression.correct(head, slot, context, clock, after - before, before - usual)

    def learn_smear(self, slot: int, clock: float, residual: float, weight: float, old: float | None) -> None:
        """One residual of log cost against the prediction at its decision; ``old``: the one it replaces."""
        total, mass, since = self.smear_sums[slot]
        if clock > since:
            decay = self.gamma ** (clock - since)
            total, mass, since = total * decay, mass * decay, clock
        weight *= self.gamma ** (since - clock)
        if old is None:
            mass += weight
        else:
            total -= weight * _factor(old)
        total += weight * _factor(residual)
        self.smear_sums[slot] = [total, mass, since]
        self.smear[slot] = max(SMEAR_PRIOR + total, 0.05 * SMEAR_PRIOR) / (SMEAR_PRIOR + mass)

    def shift(self, slot: int, kind: int, clock: float, by: float, keep: float) -> None:
        """An arm has changed: move its level of quality (0) or log cost (1), and trust what was before less."""
        level = float(self.prior[slot, kind]) + by
        self.prior[slot, kind] = min(1.0, max(0.0, level)) if kind == 0 else level
        self.regression.age(slot, kind, clock, keep)
        if kind == 1:
            total, mass, since = self.smear_sums[slot]
            self.smear_sums[slot] = [total * keep, mass * keep, since]

    def reprice(self, slot: int, before: Arm, arm: Arm, bias: float) -> float:
        """An arm has another price, or other tokens or seconds are expected of it.

        What is predicted follows the price at once. It follows the expectation as far as nothing was told: what
        calls did cost, they cost whatever was expected of them.

        Args:
            slot: of the arm. before, arm: as it was and as it is. bias: first entry of every context.

        Returns:
            By how much more is predicted of requests as they were, in log cost.
        """
        expected = log_cost(arm.usd_at(before.usd_per_mtok))
        moved = self._expect(slot, 1, expected - log_cost(before.expected_usd), bias)
        self._expect(slot, 2, log_seconds(arm.expected_seconds) - log_seconds(before.expected_seconds), bias)
        # not put there anew: it has followed what was learnt of changes
        paid = log_cost(arm.expected_usd) - expected
        self.prior[slot, 1] += paid
        return paid + moved

    def _expect(self, slot: int, head: int, by: float, bias: float) -> float:
        """Move a prior mean and leave what was told where it is: its residuals are ``by`` less.

        What was not told moves along, and has no residual before and after.

        Returns:
            By how much more is predicted of a request like those that were observed.
        """
        if not by:
            return 0.0
        self.prior[slot, head] += by
        regression, block = self.regression, HEADS[head]
        seen = regression.gram[slot, block, 0] / bias  # Σγ x
        told = seen - regression.assumed[slot, head - 1]
        moments = regression.moments[slot, head]
        regression.squares[slot, head] += by * (by * told[0] - 2.0 * moments[0]) / bias
        moments -= by * told
        change = -by * (regression.inverse[slot, block] @ told)
        regression.weights[slot, head] += change
        return by + (float(seen @ change) * bias / seen.item(0) if seen.item(0) else 0.0)

    def refresh(self, clock: float) -> None:
        """Move all regressions to this time and invert exactly."""
        for slot in range(len(self.prior)):
            self.regression.refresh(slot, clock)

    def tidy(self, clock: float) -> None:
        """A little upkeep: look at one arm's regressions and refresh them if stale."""
        self.regression.tidy(clock)

    def state(self) -> dict[str, npt.NDArray[np.generic]]:
        """All arrays, by name, to be kept."""
        parts: dict[str, npt.NDArray[np.generic]] = {name: np.array(getattr(self, name)) for name in _ARRAYS}
        parts.update({f"regression.{name}": array for name, array in self.regression.state().items()})
        return parts

    def restore(self, state: dict[str, npt.NDArray[np.generic]]) -> None:
        """Take the arrays of ``state`` back.

        Raises:
            KeyError, ValueError: one is missing or of another shape.
        """
        counts = state["regression.counts"][:, COSTS]
        state = {"told": np.stack((counts, counts), axis=1), **state}  # states of older packages lack it
        for name in _ARRAYS:
            shape = np.shape(getattr(self, name))
            if state[name].shape != shape:
                raise ValueError(f"{name} has shape {state[name].shape}, not {shape}")
            kept = state[name].astype(np.float64)
            setattr(self, name, kept.tolist() if name in _LISTS else kept)
        prefix = "regression."
        self.untried = list(range(len(self.prior)))
        self.regression.restore({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})


_ARRAYS = ("prior", "smear", "smear_sums", "told", "noise", "usual")
_LISTS = ("smear_sums", "told", "noise", "usual")


def prior_of(arm: Arm, quality: float = 0.5) -> Array:
    """Prior means of quality, log cost and log seconds: shape (3,)."""
    return np.array([quality, log_cost(arm.expected_usd), log_seconds(arm.expected_seconds)])


def _factor(residual: float) -> float:
    return math.exp(min(SMEAR_CLIP, max(-SMEAR_CLIP, residual)))
