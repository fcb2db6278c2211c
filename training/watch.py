"""Watches a training run by a metric of tasks that it is not trained on: when to stop, when to raise an alarm."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

# Evaluations in a row below the best before an alarm: one may be chance.
FALLING = 2


@dataclass
class Watch:
    """Held-out figures so far; higher is better.

    Attributes:
        patience: evaluations without a new best after which to stop; 0 never stops.
        tolerance: differences up to this are noise.
        best, best_step: the best evaluation, and the step after which it was made.
        evaluations: (step, metric) of all.
        rewards: (step, reward) of the training batches.
    """

    patience: int = 0
    tolerance: float = 0.0
    best: float | None = None
    best_step: int = 0
    evaluations: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    rewards: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])

    def train(self, step: int, reward: float) -> None:
        """Note the mean reward of a training batch."""
        self.rewards.append((step, reward))

    def evaluate(self, step: int, metric: float) -> bool:
        """Note an evaluation; whether it is the best so far."""
        self.evaluations.append((step, metric))
        if math.isnan(metric) or (self.best is not None and metric <= self.best + self.tolerance):
            return False
        self.best, self.best_step = metric, step
        return True

    @property
    def exhausted(self) -> bool:
        """Whether to stop: ``patience`` evaluations went by without a new best."""
        return bool(self.patience) and self._since() >= self.patience

    @property
    def alarm(self) -> str:
        """What is wrong when the training reward rises while the held-out metric falls; empty if nothing is.

        Falls: the last ``FALLING`` evaluations are both below the best by more than the tolerance, and the last is
        not above the one before it. Rises: the batches since the best evaluation earned more than as many before.
        """
        if self.best is None or self._since() < FALLING:
            return ""
        last = [metric for _, metric in self.evaluations[-FALLING:]]
        if max(last) >= self.best - self.tolerance or last[-1] > last[-2]:
            return ""
        later = [reward for step, reward in self.rewards if step > self.best_step]
        earlier = (
            [reward for step, reward in self.rewards if step <= self.best_step][-len(later) :] if later else []
        )
        if not later or not earlier:
            return ""
        rise = sum(later) / len(later) - sum(earlier) / len(earlier)
        if rise <= 0:
            return ""
        return (
            f"the training reward rose by {rise:.3f} since step {self.best_step} while the held-out metric fell "
            f"from {self.best:.3f} to {last[-1]:.3f}: the policy learns the reward, not the task"
        )

    def _since(self) -> int:
        return sum(1 for step, _ in self.evaluations if step > self.best_step)

    def state(self) -> dict[str, Any]:
        """For a checkpoint, as JSON types."""
        return asdict(self)

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what ``state`` gave; patience and tolerance stay as they are."""
        self.best, self.best_step = state["best"], state["best_step"]
        self.evaluations = [(int(step), float(value)) for step, value in state["evaluations"]]
        self.rewards = [(int(step), float(value)) for step, value in state["rewards"]]
