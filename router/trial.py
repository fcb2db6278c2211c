"""Trying a policy on what a router has logged, and making it live when it has proved its gain.

A candidate learns from the older part of the log and is judged on the newer: decisions that it has not seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pointwork.errors import UsageError
from pointwork.router import offline, persistence
from pointwork.router.asking import Ask, asked_over
from pointwork.router.core import Core
from pointwork.router.decisions import Outcome
from pointwork.router.log import Log
from pointwork.router.offline import Logged, Report, Verdict
from pointwork.router.policies import Policy, make
from pointwork.router.replay import take_in
from pointwork.router.rows import UNKNOWN_STATE, outcome_of

Array = npt.NDArray[np.float64]
Row = Mapping[str, Any]

# What propensities may miss of 1 because somebody rounded them.
_ROUNDED = 0.01


@dataclass(frozen=True)
class Trial:
    """A candidate that was judged.

    Attributes:
        policy: its name. trained, judged: numbers of decisions.
        report: what it would have earned. verdict: against the live one.
        state: the candidate, to be made live.
    """

    policy: str
    trained: int
    judged: int
    report: Report
    verdict: Verdict
    state: bytes


def run_trial(
    log: Log, live: Core, ask: Ask, policy: str | Policy, options: Mapping[str, object] | None, train: float
) -> Trial:
    """Train a candidate on the older part of the log, and judge it on the newer.

    Args:
        log: of the router. live: the router's state, which stays as it is.
        ask: what its requests ask for, where they do not say.
        policy, options: the candidate's. train: share of the decisions that it learns from.

    Raises:
        UsageError: the log has no decisions, or ``train`` is not a share.
    """
    older, newer = _halves(log, train)
    outcomes = log.outcomes_after(0)
    cores = [_fresh(live, make(policy, options)), _fresh(live, live.policy)]
    known = {row["id"] for row in older}
    for core in cores:
        take_in(core, older, [row for row in outcomes if row["decision_id"] in known], lambda _: None)
    said = outcomes_by_decision(outcomes)
    names = [arm.name for arm in live.arms]
    judged, logged = _judged(newer, said, live, log.router)
    new, old = (_probabilities(core, judged, names, ask) for core in cores)
    report = offline.evaluate(logged, new)
    verdict = offline.compare(logged, new, old)
    # halves by time are no halves by number: what was learnt from and has a higher one is in the candidate's ledger
    arrived = min((row["number"] or 0 for row in newer), default=0) - 1
    extra = {"cursor": 0 if not older else _last(outcomes, known), "arrived": arrived, "ask": asdict(ask)}
    state = persistence.dump(cores[0], extra)
    return Trial(cores[0].policy.name, len(older), len(judged), report, verdict, state)


@dataclass(frozen=True)
class Lessons:
    """The older part of a router's log, as arrays: what a candidate may learn before its trial on the newer.

    Attributes:
        logged: decisions with a known quality, oldest first; n of them, K arms.
        prices: (n, K), what cost and latency took off the score of each arm then.
        of: how many decisions the older part has, those without a known quality among them.
    """

    logged: Logged
    prices: Array
    of: int


def lessons(log: Log, live: Core, train: float) -> Lessons:
    """What a policy may learn from: the decisions that ``run_trial`` with the same ``train`` does not judge.

    Raises:
        UsageError: the log has no decisions, or ``train`` is not a share.
    """
    older, _ = _halves(log, train)
    said = outcomes_by_decision(log.outcomes_after(0))
    names = [arm.name for arm in live.arms]
    rows, logged = _judged(older, said, live, log.router)
    prices = np.zeros((len(rows), len(names)))
    for number, row in enumerate(rows):
        scores: Mapping[str, Mapping[str, Any]] = row["scores"] or {}
        prices[number] = [float(scores.get(name, {}).get("price", 0.0)) for name in names]
    return Lessons(logged, prices, len(older))


def _judged(rows: Sequence[Row], said: Mapping[str, Outcome], live: Core, router: str) -> tuple[list[Row], Logged]:
    """The decisions that can be used, and as arrays.

    Raises:
        UsageError: nothing is known of any request.
    """
    if live.features is None and rows:
        raise UsageError(
            f"no decision of router {router!r} has a prompt or features: there is nothing to replay a policy on"
        )
    known = [row for row in rows if _usable(row, said.get(row["id"]), live)]
    named = [row for row in known if chances(row) is not None]
    table = table_of(named, said, [arm.name for arm in live.arms], live.features.inner if live.features else 0)
    return named, replace(table, unnamed=len(known) - len(named))


def chances(row: Row) -> dict[str, float] | None:
    """Probability of every candidate of a logged decision; None: not all of them are named.

    A log of another program may say only that of the choice: what it leaves is shared by the others.
    """
    said: dict[str, float] = {**row["propensities"], row["arm"]: row["propensity"]}
    others = [name for name in dict.fromkeys(row["candidates"]) if name not in said]
    rest = max(0.0, 1.0 - sum(said.values()))
    if rest > _ROUNDED and not others:
        return None
    return said | dict.fromkeys(others, rest / max(1, len(others)))


def _halves(log: Log, train: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    if not isinstance(cast(object, train), float | int) or not 0.0 <= train < 1.0:
        raise UsageError(f"the part of the log to learn from is a share from 0 to below 1, not {train!r}")
    decisions = log.decisions()
    if not decisions:
        raise UsageError(f"router {log.router!r} has logged no decisions to replay")
    split = int(train * len(decisions))
    return decisions[:split], decisions[split:]


def outcomes_by_decision(outcomes: Sequence[Row]) -> dict[str, Outcome]:
    """All that is known of each decision."""
    said: dict[str, Outcome] = {}
    for row in outcomes:
        before, now = said.get(row["decision_id"]), outcome_of(row)
        said[row["decision_id"]] = now if before is None else before.merged(now)
    return said


def table_of(rows: Sequence[Row], said: Mapping[str, Outcome], names: Sequence[str], dims: int) -> Logged:
    """Logged decisions as arrays; those without a context of ``dims`` numbers have zeros."""
    index = {name: i for i, name in enumerate(names)}
    contexts, propensities = np.zeros((len(rows), dims)), np.zeros((len(rows), len(names)))
    quality, usd = np.zeros(len(rows)), np.full(len(rows), np.nan)
    for number, row in enumerate(rows):
        inner: list[float] = row["context"].get("text") or []
        if len(inner) == dims:
            contexts[number] = inner
        for name, p in (chances(row) or {row["arm"]: row["propensity"]}).items():
            propensities[number, index[name]] = p
        outcome = said[row["id"]]
        quality[number] = outcome.target or 0.0
        usd[number] = np.nan if outcome.usd is None else outcome.usd
    chosen = np.array([index[row["arm"]] for row in rows], np.intp)
    return Logged(names, contexts, chosen, propensities, quality, usd)


def _last(outcomes: Sequence[Row], known: set[str]) -> int:
    """Newest outcome row before the first that belongs to a decision not learnt from."""
    last = 0
    for row in outcomes:
        if row["decision_id"] not in known:
            break
        last = int(row["id"])
    return last


def _fresh(live: Core, policy: Policy) -> Core:
    core = Core(live.arms, policy, live.pacer.budget, 0, live.settings, live.embedder)
    core.active = list(live.active)
    core.arms_changed()
    if live.features is not None:
        core.prepare(None if live.features.embedder is not None else live.features.given)
    return core


def _usable(row: Row, outcome: Outcome | None, live: Core) -> bool:
    return (
        outcome is not None
        and outcome.target is not None
        and all(name in live.slots for name in (row["arm"], *row["candidates"]))
    )


def _probabilities(core: Core, rows: Sequence[Row], names: Sequence[str], ask: Ask) -> Array:
    """What a frozen router would do at each decision, (n, K)."""
    index = {name: i for i, name in enumerate(names)}
    target = np.zeros((len(rows), len(names)))
    features = core.features
    assert features is not None
    for number, row in enumerate(rows):
        candidates = list(dict.fromkeys(row["candidates"]))
        slots = np.array([core.slots[name] for name in candidates], np.intp)
        inner: list[float] = row["context"].get("text") or []
        if row["features_version"] == features.version and len(inner) == features.inner:
            vector = np.array(inner, np.float64)
        elif row["text"] and features.embedder is not None:
            vector = features.of_text(row["text"])
        else:
            vector = np.zeros(features.inner)
        own = asked_over(ask, _remaining(row), row["context"].get("ask") or {})
        judged = core.judge(slots, vector, False, own, float(row["created"]), look_only=True)
        for name, p in zip(judged.names, judged.probabilities.tolist(), strict=True):
            target[number, index[name]] += p
    return target / target.sum(axis=1, keepdims=True)


def _remaining(row: Row) -> float:
    """Share of the run's budget that was left: the last number of every arm's state."""
    states: Mapping[str, Sequence[float]] = row["context"].get("arms") or {}
    return min(1.0, max(0.0, next(iter(states.values()), UNKNOWN_STATE)[-1]))
