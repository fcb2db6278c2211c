"""What another policy would have earned, from the log of this one; and whether that is proof enough to change.

Estimators over n logged decisions with context x, arm a drawn with propensity p, outcome r, and a target policy π:

    IPS    mean of w·r,  w = π(a|x)/p                         (Horvitz and Thompson, 1952)
    SNIPS  Σ w·r / Σ w                                        (Swaminathan and Joachims, 2015)
    DR     mean of Σ_b π(b|x)·q̂(x, b) + w·(r − q̂(x, a))      (Dudík, Langford, Li, 2011)

q̂ is a ridge per arm on the context, fitted on the folds that a decision is not in. Intervals are percentiles of a
bootstrap over decisions: of B resampled means, the q-quantile is the (B + 1)q-th in order, as then a mean that is
drawn in the same way lies below it with probability q (numpy's default interpolates inwards, and loses
(1 − 2q)/(B + 1) at each end). A log can not answer about arms that it never drew: where π puts more than
``UNSUPPORTED`` of its probability on arms with propensity 0, or the effective sample size (Σw)²/Σw² is under
``LEAST_ESS``, there is no number but a reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pointwork.errors import UsageError

Array = npt.NDArray[np.float64]

LEAST = 50  # decisions with an outcome
LEAST_ESS = 30.0
UNSUPPORTED = 0.01
FOLDS = 4
RESAMPLES = 1000
COST_SLACK = 1.02
_RIDGE = 2.0
# Not the caller's seed itself: who simulates a log with that would have our resamples follow it.
_SALT = 0x7265706C6179
# Numbers that a block of resamples may hold, so that a long log does not need memory by the gigabyte.
_BLOCK = 4_000_000


# With fewer decisions there is nothing to train a network or a forest on.
LEAST_LEARNT = 100


def enough(decisions: int) -> None:
    """Look whether there are enough decisions to train on.

    Raises:
        UsageError: there are not.
    """
    if decisions < LEAST_LEARNT:
        raise UsageError(
            f"{decisions} decisions with a known outcome are too few to train a policy; {LEAST_LEARNT} are needed"
        )


@dataclass(frozen=True)
class Logged:
    """Decisions with their outcomes; n of them, K arms.

    Attributes:
        names: of the arms.
        contexts: (n, d), what q̂ is fitted on; d may be 0.
        chosen: (n,), index of the arm.
        propensities: (n, K), 0 for arms that could not be drawn.
        quality: (n,). usd: (n,), NaN where unknown.
        unnamed: further decisions, left out as the log does not name all that could be drawn.
    """

    names: Sequence[str]
    contexts: Array
    chosen: npt.NDArray[np.intp]
    propensities: Array
    quality: Array
    usd: Array
    unnamed: int = 0

    def __len__(self) -> int:
        return len(self.chosen)


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Report:
    """What a log says about a policy.

    Attributes:
        decisions: that were used. ess: effective sample size of the weights.
        unsupported: mean probability that the policy puts on arms which could not be drawn.
        refused: why there is no estimate, or "".
        quality: by estimator: ``ips``, ``snips``, ``dr``; usd: the same of US dollars, where known.
        logged: mean quality and US dollars of what was done.
    """

    decisions: int
    ess: float
    unsupported: float
    refused: str = ""
    quality: dict[str, Interval] = field(default_factory=dict[str, Interval])
    usd: dict[str, Interval] = field(default_factory=dict[str, Interval])
    logged: tuple[float, float] = (float("nan"), float("nan"))


@dataclass(frozen=True)
class Verdict:
    """Whether one policy has proved better than another.

    Attributes:
        passed: it may go live.
        reasons: what speaks against it.
        gain: paired doubly robust difference of quality; ``low`` is the one-sided 99 % bound.
        dearer: paired doubly robust difference of cost to 1.02 × the live one's, US dollars; ``low`` as above.
        new, live: what the log says about each.
    """

    passed: bool
    reasons: tuple[str, ...]
    gain: Interval
    dearer: Interval
    new: Report
    live: Report


def evaluate(log: Logged, target: Array, *, seed: int = 0, resamples: int = RESAMPLES) -> Report:
    """Estimate what a policy would have earned.

    Args:
        log: what was done.
        target: (n, K), the policy's probabilities.
        seed, resamples: of the bootstrap.

    Raises:
        UsageError: the probabilities do not fit the log.
    """
    weights, ess, unsupported, refused = _weigh(log, target)
    known = np.isfinite(log.usd)
    mean = float(log.quality.mean()) if len(log) else float("nan")
    logged = (mean, float(log.usd[known].mean()) if known.any() else float("nan"))
    if refused:
        return Report(len(log), ess, unsupported, refused, logged=logged)
    rng = _generator(seed)
    quality = _intervals(log, target, weights, log.quality, rng, resamples)
    usd: dict[str, Interval] = {}
    if np.count_nonzero(known) >= LEAST:
        priced = _part(log, known)
        usd = _intervals(priced, target[known], weights[known], priced.usd, rng, resamples)
    return Report(len(log), ess, unsupported, "", quality, usd, logged)


def compare(log: Logged, new: Array, live: Array, *, seed: int = 0, resamples: int = RESAMPLES) -> Verdict:
    """Whether ``new`` is better than ``live``: the gate of promotion.

    The paired difference in quality must be positive at a one-sided 99 % bound, and the cost not significantly
    above 1.02 × the live one's, by the decisions whose cost is known; where none is, money does not matter.
    (Comparing a bound with the live one's point estimate would promote equals.)

    Args:
        log: decisions that neither has learnt from.
        new, live: (n, K), their probabilities.
        seed, resamples: of the bootstrap.
    """
    reports = [evaluate(log, target, seed=seed, resamples=resamples) for target in (new, live)]
    none = Interval(float("nan"), float("nan"), float("nan"))
    refused = [
        f"{who}: {report.refused}" for who, report in zip(("new", "live"), reports, strict=True) if report.refused
    ]
    if refused:
        return Verdict(False, tuple(refused), none, none, *reports)
    rng = _generator(seed)
    fitted = cross_fitted(log, log.quality)
    gains = _terms(log, new, log.quality, fitted) - _terms(log, live, log.quality, fitted)
    gain = _bound(gains, rng, resamples)
    reasons: list[str] = []
    if np.allclose(new, live, atol=1e-12):
        reasons.append("it decides as the live one does")
    elif gain.low <= 0.0:
        reasons.append(f"its gain in quality is {gain.value:+.4f}, but may be {gain.low:+.4f} (one-sided 99 %)")
    dearer, known = none, np.isfinite(log.usd)
    if 0 < np.count_nonzero(known) < LEAST:
        reasons.append(f"what it costs is known of {np.count_nonzero(known)} decisions; {LEAST} are needed")
    elif known.any():
        priced, new, live = _part(log, known), new[known], live[known]
        fitted = cross_fitted(priced, priced.usd)
        dearer = _bound(
            _terms(priced, new, priced.usd, fitted) - COST_SLACK * _terms(priced, live, priced.usd, fitted),
            rng,
            resamples,
        )
        if dearer.low > 0.0:
            reasons.append(f"it costs {dearer.value:.3g} USD per request more than {COST_SLACK} × the live one")
    return Verdict(not reasons, tuple(reasons), gain, dearer, *reports)


def _part(log: Logged, rows: npt.NDArray[np.bool_]) -> Logged:
    return Logged(
        log.names,
        log.contexts[rows],
        log.chosen[rows],
        log.propensities[rows],
        log.quality[rows],
        log.usd[rows],
    )


def _weigh(log: Logged, target: Array) -> tuple[Array, float, float, str]:
    if target.shape != log.propensities.shape:
        raise UsageError(f"probabilities have shape {target.shape}, the log {log.propensities.shape}")
    if len(log) and not np.allclose(target.sum(axis=1), 1.0, atol=1e-6):
        raise UsageError("the policy's probabilities do not sum to 1")
    rows = np.arange(len(log))
    drawn = log.propensities[rows, log.chosen]
    if (drawn <= 0).any():
        raise UsageError("the log has decisions whose arm had propensity 0: they can not have been drawn")
    with np.errstate(over="ignore"):
        weights = target[rows, log.chosen] / drawn
    ess = _effective(weights)
    outside = float((target * (log.propensities <= 0)).sum(axis=1).mean()) if len(log) else 0.0
    refused = ""
    if len(log) < LEAST:
        refused = f"{len(log)} decisions with a known quality are too few; {LEAST} are needed"
        if log.unnamed:
            refused += f" ({log.unnamed} more do not name all the candidates among whom they were drawn)"
    elif outside > UNSUPPORTED:
        worst = (target * (log.propensities <= 0)).sum(axis=0)
        refused = (
            f"{outside:.0%} of its choices are arms that the log could not draw there (most: "
            f"{log.names[int(worst.argmax())]}): log with exploration first"
        )
    elif ess < LEAST_ESS:
        refused = (
            f"the log is too unlike it: {len(log)} decisions are worth {ess:.0f} of its own; "
            f"{LEAST_ESS:.0f} are needed"
        )
    return weights, ess, outside, refused


def _effective(weights: Array) -> float:
    """(Σw)²/Σw², whose terms are scaled first: of propensities near 0, squares are no floats any more."""
    largest = float(weights.max(initial=0.0))
    if not largest:
        return 0.0
    scaled = weights / largest if np.isfinite(largest) else np.isinf(weights).astype(np.float64)
    return float(scaled.sum()) ** 2 / float((scaled**2).sum())


def _intervals(
    log: Logged, target: Array, weights: Array, outcome: Array, rng: np.random.Generator, resamples: int
) -> dict[str, Interval]:
    robust = _terms(log, target, outcome, cross_fitted(log, outcome))
    columns = np.column_stack((weights * outcome, weights, robust))
    ips, mass, dr = columns.mean(axis=0).tolist()
    drawn = resampled(columns, rng, resamples)
    return {
        "ips": _between(ips, drawn[:, 0], 0.025),
        "snips": _between(ips / mass, drawn[:, 0] / np.maximum(drawn[:, 1], 1e-12), 0.025),
        "dr": _between(dr, drawn[:, 2], 0.025),
    }


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng((_SALT, seed))


def resampled(columns: Array, rng: np.random.Generator, resamples: int) -> Array:
    """Column means of so many bootstrap resamples of the rows of ``columns`` (n, m): (resamples, m)."""
    count = len(columns)
    means, columns = np.empty((resamples, columns.shape[1])), np.asfortranarray(columns)
    step = max(1, _BLOCK // count)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        rows = rng.integers(0, count, (size, count))
        for number, column in enumerate(columns.T):
            column[rows].mean(axis=1, out=means[start : start + size, number])
    return means


def _between(value: float, draws: Array, tail: float) -> Interval:
    """The interval that leaves out ``tail`` of the draws at either end."""
    low, high = (float(edge) for edge in np.quantile(draws, (tail, 1.0 - tail), method="weibull"))
    return Interval(value, low, high)


def _bound(terms: Array, rng: np.random.Generator, resamples: int) -> Interval:
    """Mean with its one-sided 99 % bounds."""
    return _between(float(terms.mean()), resampled(terms[:, None], rng, resamples)[:, 0], 0.01)


def _terms(log: Logged, target: Array, outcome: Array, fitted: Array) -> Array:
    """What each decision adds to the doubly robust estimate, (n,)."""
    rows = np.arange(len(log))
    weights = target[rows, log.chosen] / log.propensities[rows, log.chosen]
    return (target * fitted).sum(axis=1) + weights * (outcome - fitted[rows, log.chosen])


def doubly_robust(log: Logged, outcome: Array, *, most: float) -> Array:
    """What every arm would have yielded at every decision, (n, K): q̂(x, b), and at b = a also w·(r − q̂(x, a)).

    Args:
        log: what was done.
        outcome: (n,), what came of it.
        most: of the weight w = 1/p: a bound on the variance that costs a little bias.
    """
    estimate, rows = cross_fitted(log, outcome), np.arange(len(log))
    weights = np.minimum(1.0 / log.propensities[rows, log.chosen], most)
    estimate[rows, log.chosen] += weights * (outcome - estimate[rows, log.chosen])
    return estimate


def cross_fitted(log: Logged, outcome: Array) -> Array:
    """q̂ of every decision and arm, (n, K), from the other folds."""
    features = np.column_stack((np.ones(len(log)), log.contexts))
    fitted = np.empty(log.propensities.shape)
    fold = _folds(log.contexts)
    for part in range(FOLDS):
        inside, outside = fold == part, fold != part
        usual = float(outcome[outside].mean())
        for arm in range(len(log.names)):
            mine = outside & (log.chosen == arm)
            x, y = features[mine], outcome[mine] - usual
            gram = x.T @ x + _RIDGE * np.eye(features.shape[1])
            gram[0, 0] += 1.0 - _RIDGE
            fitted[inside, arm] = usual + features[inside] @ np.linalg.solve(gram, x.T @ y)
    return fitted


def _folds(contexts: Array) -> npt.NDArray[np.intp]:
    """The fold of each decision, (n,): the same for requests that came more than once.

    Else q̂ has seen a request that it is asked about, and intervals come out too narrow.
    """
    count, dims = contexts.shape
    mark = np.random.default_rng(0).normal(size=(dims, 1))
    keys: Array = np.matmul(contexts, mark)[:, 0]
    distinct: Array = np.unique(keys)
    if len(distinct) < 20 * FOLDS:  # hardly any contexts to tell apart: most would be missing in training
        return np.arange(count, dtype=np.intp) % FOLDS
    folds: npt.NDArray[np.intp] = distinct.searchsorted(keys) % FOLDS
    return folds
