"""How many trials each task gets: more where its success is near one half, none where it is certain.

As in Li et al., "Knapsack RL: Unlocking Exploration of LLMs via Optimizing Budget Allocation", 2025, a budget of
trials is given to the tasks whose trials are worth most. With success probability p, N trials are worth here

    value(N, p) = p(1 − p) · (1 − 1/N)

the expected variance of the rewards within the group, which is what group-relative advantages are made of: 0 for a
task that always ends alike, and for a single trial. It is concave in N, so taking the best next trial again and
again solves the knapsack, and the solution is Neyman's: N in proportion to √(p(1 − p)). (The paper's own value, the
chance of a mixed group times p(1 − p)², gives hard tasks more trials than even ones.) As in Xiong et al.,
"Reinforce-Ada", 2025, what a task has shown so far decides, not a fixed number per task.

p is (s + ½) / (n + 1) from s successes in n trials: a task that was never tried is at one half. What was seen under
older model versions counts less (``age``), so a task that was given up comes back when the model has changed.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pointwork.errors import UsageError

# Fewer trials than this can not differ.
LEAST = 2
# A task is certain if it has ended alike in so many (aged) trials.
CERTAIN = 4.0


def value(trials: int, p: float) -> float:
    """What so many trials of a task are worth."""
    return p * (1.0 - p) * (1.0 - 1.0 / trials) if trials else 0.0


@dataclass
class Allotment:
    """What tasks have shown, and what they get next.

    Attributes:
        seen: task -> (successes, trials), aged.
        forget: what a round's trials count for after the next version: 1 forgets nothing.
    """

    seen: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    forget: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.forget <= 1:
            raise UsageError(f"what is kept of old trials is a share from 0 to 1, not {self.forget!r}")

    def add(self, task: str, correct: bool) -> None:
        """A trial has ended (environment failures do not belong here)."""
        successes, trials = self.seen.get(task, (0.0, 0.0))
        self.seen[task] = (successes + correct, trials + 1.0)

    def age(self) -> None:
        """The models have changed."""
        self.seen = {task: (s * self.forget, n * self.forget) for task, (s, n) in self.seen.items()}

    def probability(self, task: str) -> float:
        """Estimated chance that a trial succeeds."""
        successes, trials = self.seen.get(task, (0.0, 0.0))
        return (successes + 0.5) / (trials + 1.0)

    def certain(self, task: str) -> bool:
        """Whether all its trials ended alike, and there were enough of them."""
        successes, trials = self.seen.get(task, (0.0, 0.0))
        return trials >= CERTAIN and (successes == 0.0 or successes == trials)

    def plan(
        self, tasks: Sequence[str], budget: int, *, most: int = 16, have: Mapping[str, int] | None = None
    ) -> dict[str, int]:
        """Trials per task, ``budget`` in all or less if the tasks can not use them.

        Args:
            tasks: to choose from; of equals the first.
            budget: trials in all.
            most: of one task, with those that it has.
            have: trials of this round that tasks have had; what is planned comes on top.

        Raises:
            UsageError: a budget below 0, or ``most`` below 2.
        """
        if budget < 0 or most < LEAST:
            raise UsageError(f"a budget must not be negative and most at least {LEAST}, not {budget} and {most}")
        had = {task: (have or {}).get(task, 0) for task in tasks}
        given = dict(had)
        open_ = [place for place, task in enumerate(tasks) if not self.certain(task) and had[task] < most]
        queue = [self._bid(tasks[k], k, max(1, LEAST - had[tasks[k]]), had[tasks[k]]) for k in open_]
        heapq.heapify(queue)
        left = budget
        while queue:
            _, place, step = heapq.heappop(queue)
            if step > left:
                continue
            task = tasks[place]
            given[task] += step
            left -= step
            if given[task] < most:
                heapq.heappush(queue, self._bid(task, place, 1, given[task]))
        return {task: given[task] - had[task] for task in tasks}

    def _bid(self, task: str, place: int, step: int, now: int = 0) -> tuple[float, int, int]:
        """A heap entry: gain per trial (negated), place of the task, trials."""
        p = self.probability(task)
        return -(value(now + step, p) - value(now, p)) / step, place, step

    def state(self) -> dict[str, list[float]]:
        """As JSON types."""
        return {task: list(pair) for task, pair in self.seen.items()}

    def restore(self, state: Mapping[str, Sequence[float]]) -> None:
        """Take ``state`` back."""
        self.seen = {task: (float(pair[0]), float(pair[1])) for task, pair in state.items()}
