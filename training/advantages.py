"""Advantages: how much better each turn's rollout was than the others that it is compared with. Numpy only.

With G rollouts of one task, R_i the reward of rollout i and m, s the mean and the sample standard deviation (n − 1)
of the R's, every turn of rollout i gets

- ``group``: (R_i − m) / (s + ε). Shao et al., "DeepSeekMath", 2024, eq. 4 with outcome supervision (GRPO).
- ``dr_grpo``: R_i − m. Liu et al., "Understanding R1-Zero-Like Training", 2025, eq. 3: dividing by s weighs very
  easy and very hard tasks up.
- ``per_agent``: as ``group``, but with a mean and deviation for each agent over the rollouts that it took part in,
  each counted once. After Dr. MAS (2026), which normalises by (task, agent).
- ``gigpo``: A^E + ω·A^S. Feng et al., "Group-in-Group Policy Optimization", 2025, eqs. 3, 5–8. A^E compares whole
  rollouts, A^S a turn with the other turns of the task that stood in the same state, by R_t = Σ_{k≥t} γ^(k−t) r_k.
- ``hdpo``: A^acc + w·A^tool. A^acc as ``group`` over all G; A^tool normalises 1/(T_i + 1), T_i the tool calls of
  rollout i, among the *correct* rollouts only, and is 0 elsewhere. (Where nothing is clipped, the loss of the sum
  is HDPO's sum of two losses with weights 1 and w.)

A rollout's R_i is its own reward plus those of its steps. The means of A^E and of ``per_agent`` go over rollouts: a
mean over turns, as in the published code of GiGPO, weighs a rollout by its length, so that long failures lower the
bar for all.

What has nobody to be compared with (a lone rollout, a state seen once, a single correct rollout) gets 0. A group
whose advantages are 0 everywhere teaches nothing; it is named in ``skipped``. An all-correct group is none of these
under ``hdpo`` if its rollouts differ in calls.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from pointwork.errors import UsageError
from pointwork.training.samples import Group, Kind, Rollout

Array = npt.NDArray[np.float64]
Values = list[list[float]]
"""Of one group: by rollout, by turn."""

EPSILON = 1e-6
# Rewards this close (relative to the largest) are the same: rounding must not become an advantage.
SAME = 1e-9


@dataclass(frozen=True)
class Advantages:
    """Advantages of groups.

    Attributes:
        values: ``values[g][i][t]`` belongs to turn t of rollout i of group g.
        skipped: indexes of the groups whose advantages are 0 everywhere.
    """

    values: list[Values]
    skipped: tuple[int, ...]

    @property
    def kept(self) -> list[int]:
        """Indexes of the groups that teach something."""
        gone = set(self.skipped)
        return [index for index in range(len(self.values)) if index not in gone]


def advantages(groups: Sequence[Group], kind: Kind = "group", **options: float | bool) -> Advantages:
    """Advantages of every turn.

    Args:
        groups: the rollouts that are compared with each other.
        kind: which estimator.
        options: ``epsilon`` (for all but ``dr_grpo``); for ``gigpo`` ``omega`` (1), ``gamma`` (0.95, as the paper)
            and ``scale`` (True: divide by the deviation); for ``hdpo`` ``weight`` (0.15, the best of the paper's
            ablation).

    Raises:
        UsageError: an unknown kind or option, or a reward that is not a finite number.
    """
    estimator = _ESTIMATORS.get(kind)
    if estimator is None:
        raise UsageError(f"there is no advantage estimator {kind!r}; take one of {', '.join(get_args(Kind))}")
    defaults = _OPTIONS[kind]
    unknown = sorted(set(options) - set(defaults))
    if unknown:
        known = ", ".join(defaults) or "none"
        raise UsageError(f"the estimator {kind!r} has no option {', '.join(unknown)}; it has: {known}")
    for group in groups:
        if not all(math.isfinite(_total(rollout)) for rollout in group.rollouts):
            raise UsageError(
                f"a reward in the group of task {group.task!r} is not a finite number: mend its checker"
            )
    chosen = {**defaults, **options}
    values = [estimator(group, chosen) for group in groups]
    idle = (index for index, of in enumerate(values) if not any(value for turns in of for value in turns))
    return Advantages(values, tuple(idle))


def normalised(rewards: Iterable[float], *, epsilon: float = EPSILON, scale: bool = True) -> Array:
    """(r − mean) / (sd + ε), sd with n − 1; exactly 0 for fewer than two or for equal rewards.

    Args:
        rewards: (n,).
        epsilon: ε.
        scale: whether to divide.
    """
    r = np.asarray(list(rewards), dtype=np.float64)
    if len(r) < 2 or np.ptp(r) <= SAME * max(1.0, float(np.abs(r).max())):
        return np.zeros(len(r))
    centred = r - r.mean()
    return centred / (r.std(ddof=1) + epsilon) if scale else centred


def returns(rollout: Rollout, gamma: float = 1.0) -> list[float]:
    """R_t = Σ_{k≥t} γ^(k−t) r_k of each turn; the rollout's own reward comes with its last turn."""
    found: list[float] = []
    after = 0.0
    for place, turn in enumerate(reversed(rollout.turns)):
        after = turn.reward + (rollout.reward if place == 0 else gamma * after)
        found.append(after)
    return found[::-1]


def _total(rollout: Rollout) -> float:
    return rollout.reward + sum(turn.reward for turn in rollout.turns)


def _broadcast(group: Group, values: Array) -> Values:
    return [[float(value)] * len(rollout.turns) for value, rollout in zip(values, group.rollouts, strict=True)]


def _group(group: Group, options: Mapping[str, Any]) -> Values:
    return _broadcast(group, normalised(map(_total, group.rollouts), epsilon=options["epsilon"]))


def _dr_grpo(group: Group, options: Mapping[str, Any]) -> Values:
    return _broadcast(group, normalised(map(_total, group.rollouts), scale=False))


def _per_agent(group: Group, options: Mapping[str, Any]) -> Values:
    found: Values = [[0.0] * len(rollout.turns) for rollout in group.rollouts]
    for agent in {turn.agent for rollout in group.rollouts for turn in rollout.turns}:
        members = [i for i, rollout in enumerate(group.rollouts) if any(t.agent == agent for t in rollout.turns)]
        earned = [
            group.rollouts[i].reward + sum(t.reward for t in group.rollouts[i].turns if t.agent == agent)
            for i in members
        ]
        for i, value in zip(members, normalised(earned, epsilon=options["epsilon"]), strict=True):
            for place, turn in enumerate(group.rollouts[i].turns):
                if turn.agent == agent:
                    found[i][place] = float(value)
    return found


def _gigpo(group: Group, options: Mapping[str, Any]) -> Values:
    epsilon, scale = float(options["epsilon"]), bool(options["scale"])
    episode = normalised(map(_total, group.rollouts), epsilon=epsilon, scale=scale)
    found = _broadcast(group, episode)
    anchors: dict[str, list[tuple[int, int]]] = {}
    after = [returns(rollout, options["gamma"]) for rollout in group.rollouts]
    for i, rollout in enumerate(group.rollouts):
        for place, turn in enumerate(rollout.turns):
            if turn.state:  # no state, nothing that it could be compared at
                anchors.setdefault(turn.state, []).append((i, place))
    for places in anchors.values():
        steps = normalised((after[i][t] for i, t in places), epsilon=epsilon, scale=scale)
        for (i, t), value in zip(places, steps, strict=True):
            found[i][t] += options["omega"] * float(value)
    return found


def _hdpo(group: Group, options: Mapping[str, Any]) -> Values:
    epsilon = options["epsilon"]
    combined = normalised(map(_total, group.rollouts), epsilon=epsilon)
    correct = [i for i, rollout in enumerate(group.rollouts) if rollout.correct]
    thrift = normalised((1.0 / (group.rollouts[i].calls + 1) for i in correct), epsilon=epsilon)
    combined[correct] += options["weight"] * thrift
    return _broadcast(group, combined)


_ESTIMATORS: dict[str, Callable[[Group, Mapping[str, Any]], Values]] = {
    "group": _group,
    "dr_grpo": _dr_grpo,
    "per_agent": _per_agent,
    "gigpo": _gigpo,
    "hdpo": _hdpo,
}
_OPTIONS: dict[str, dict[str, float | bool]] = {
    "group": {"epsilon": EPSILON},
    "dr_grpo": {},
    "per_agent": {"epsilon": EPSILON},
    "gigpo": {"epsilon": EPSILON, "omega": 1.0, "gamma": 0.95, "scale": True},
    "hdpo": {"epsilon": EPSILON, "weight": 0.15},
}
