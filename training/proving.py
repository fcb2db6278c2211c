"""Whether a candidate is better than what is live: the gate of ``train loop``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

# Resamples of the bootstrap.
RESAMPLES = 2000


@dataclass(frozen=True)
class Verdict:
    """What held-out tasks say.

    Attributes:
        passed: it may go live. reason: in words.
        tasks: that were compared. before, after: mean score.
        gain: their paired difference; low: its one-sided 99 % bound.
    """

    passed: bool
    reason: str
    tasks: int = 0
    before: float = 0.0
    after: float = 0.0
    gain: float = 0.0
    low: float = 0.0


def compare(
    before: Mapping[str, Sequence[float]], after: Mapping[str, Sequence[float]], *, least: int = 20, seed: int = 0
) -> Verdict:
    """Whether the scores after are better than those before, on the tasks that both have.

    The mean over tasks of the paired difference must be positive at a one-sided 99 % bootstrap bound (tasks are
    resampled, not trials: trials of one task are alike), and there must be ``least`` tasks: of a handful, a
    bootstrap knows too little.

    Args:
        before, after: task -> its scores. least: tasks. seed: of the bootstrap.
    """
    tasks = [task for task in before if task in after]
    if not tasks:
        return Verdict(False, "no held-out task could be tried with both versions")
    old, new = (np.array([float(np.mean(scores[task])) for task in tasks]) for scores in (before, after))
    gains = new - old
    rng = np.random.default_rng(seed)
    means = gains[rng.integers(0, len(gains), (RESAMPLES, len(gains)))].mean(axis=1)
    low, gain = float(np.quantile(means, 0.01)), float(gains.mean())
    was, is_ = float(old.mean()), float(new.mean())
    said = f"{was:.3f} → {is_:.3f} on {len(tasks)} held-out tasks"
    bound = f"{said}: the gain is {gain:+.3f}"
    if len(tasks) < least:
        passed, reason = False, f"{said}: too few to prove a gain, {least} are needed"
    elif low <= 0:
        passed, reason = False, f"{bound}, but may be {low:+.3f} (one-sided 99 %)"
    else:
        passed, reason = True, f"{bound}, at least {low:+.3f} (one-sided 99 %)"
    return Verdict(passed, reason, len(tasks), was, is_, gain, low)
