"""Trials of tasks in imported logs, and pass^k over them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb

from sqlalchemy import select

from pointwork.errors import UsageError
from pointwork.store import Store
from pointwork.store.tables import decisions, outcomes

# A trial is a success from here on: tau-bench compares its reward with 1 to this tolerance.
SUCCESS = 1.0
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Trial:
    """One try at a task.

    Attributes:
        run_id: its run.
        dataset, task, trial: trials of a task of a dataset by one arm are a group.
        arm: who tried: the model's name.
        reward: 0 to 1 (the latest that was said), or None.
    """

    run_id: str
    dataset: str
    task: str
    trial: int
    arm: str
    reward: float | None


@dataclass(frozen=True)
class Passing:
    """How well one arm did on one dataset.

    Attributes:
        dataset, arm: of which.
        tasks, trials: how many.
        unrewarded: trials without a reward; they are left out of the rest.
        mean_reward: over all trials with one; None if there is none.
        pass_hat: k -> pass^k, the chance that k trials of a task all succeed, for every k that all tasks allow.
    """

    dataset: str
    arm: str
    tasks: int
    trials: int
    unrewarded: int
    mean_reward: float | None
    pass_hat: dict[int, float]


def trials(store: Store) -> list[Trial]:
    """All trials of imported chats, by dataset, arm, task and trial."""
    query = select(decisions.c.id, decisions.c.run_id, decisions.c.arm, decisions.c.context).where(
        decisions.c.router.startswith("import:"), decisions.c.run_id.is_not(None)
    )
    rewards = (
        select(outcomes.c.decision_id, outcomes.c.quality)
        .join(decisions, decisions.c.id == outcomes.c.decision_id)
        .where(decisions.c.router.startswith("import:"), outcomes.c.quality.is_not(None))
        .order_by(outcomes.c.id)
    )
    latest = {row["decision_id"]: row["quality"] for row in store.rows(rewards)}
    found: list[Trial] = []
    for row in store.rows(query):
        group = row["context"].get("import")
        if group is not None:
            reward = latest.get(row["id"])
            found.append(Trial(row["run_id"], group["dataset"], group["task"], group["trial"], row["arm"], reward))
    return sorted(found, key=lambda t: (t.dataset, t.arm, t.task, t.trial, t.run_id))


def pass_hat_k(rewards: Iterable[Sequence[float]], k: int, *, success: float = SUCCESS) -> float:
    """pass^k: the mean over tasks of C(c, k) / C(n, k), with c successes in n trials.

    From the tau-bench paper (arXiv 2406.12045, section 3): an estimate, without bias, of the chance that k
    independent trials of a task all succeed.

    Args:
        rewards: per task, those of its trials.
        k: how many trials must all succeed.
        success: the least reward of a success.

    Raises:
        UsageError: no task, or one with fewer than k trials.
    """
    shares: list[float] = []
    for task in rewards:
        if not 1 <= k <= len(task):
            raise UsageError(f"pass^{k} needs at least {k} trials of each task; one has {len(task)}")
        successes = sum(reward >= success - _TOLERANCE for reward in task)
        shares.append(comb(successes, k) / comb(len(task), k))
    if not shares:
        raise UsageError("pass^k needs at least one task")
    return sum(shares) / len(shares)


def passing(store: Store, *, success: float = SUCCESS) -> list[Passing]:
    """Mean reward and pass^k of each imported dataset and arm."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials(store):
        groups.setdefault((trial.dataset, trial.arm), []).append(trial)
    return [_passing(dataset, arm, found, success) for (dataset, arm), found in groups.items()]


def _passing(dataset: str, arm: str, found: Sequence[Trial], success: float) -> Passing:
    tasks: dict[str, list[float]] = {}
    for trial in found:
        if trial.reward is not None:
            tasks.setdefault(trial.task, []).append(trial.reward)
    rewards = [reward for task in tasks.values() for reward in task]
    most = min((len(task) for task in tasks.values()), default=0)
    return Passing(
        dataset=dataset,
        arm=arm,
        tasks=len({trial.task for trial in found}),
        trials=len(found),
        unrewarded=len(found) - len(rewards),
        mean_reward=sum(rewards) / len(rewards) if rewards else None,
        pass_hat={k: pass_hat_k(tasks.values(), k, success=success) for k in range(1, most + 1)},
    )
