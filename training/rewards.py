"""What a run was worth: typed parts, each with its range, put together to one number from 0 to 1.

The *outcome* is what the most trusted source says that knows anything: a checker before the user, the user before
an imported reward, that before a judge. *Efficiency* is added among the correct only, as in HDPO: for a wrong
answer, fewer calls are no virtue, and whoever rewards them teaches to give up.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pointwork.errors import UsageError

# An outcome from here on is a correct one.
CORRECT = 0.5


class Checker(Protocol):
    """Says whether a run's short answer is right. Plain data, so that it can be sent to another process."""

    def right(self, text: str) -> bool:
        """Whether a text says what was asked for."""
        ...


@dataclass(frozen=True)
class Facts:
    """What is known of a finished run; None: nobody said.

    Attributes:
        checked: a checker's word. feedback: the user's latest, 0 to 1. imported: of another program's log, 0 to 1.
        judged: 1.0 if a model as judge found every part right, else 0.0.
        calls: tool calls. tokens: prompt and completion.
    """

    checked: bool | None = None
    feedback: float | None = None
    imported: float | None = None
    judged: float | None = None
    calls: int = 0
    tokens: int = 0


@dataclass(frozen=True)
class Part:
    """One part of a reward.

    Raises:
        UsageError: the value is not in the range.
    """

    name: str
    value: float
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.low <= self.value <= self.high):
            raise UsageError(f"reward {self.name!r} is {self.value!r}, outside {self.low:g} to {self.high:g}")


class Source(Protocol):
    """Reads one part off the facts."""

    @property
    def name(self) -> str:
        """Of the part."""
        ...

    def of(self, facts: Facts) -> Part | None:
        """The part, or None if nothing is known of it."""
        ...


@dataclass(frozen=True)
class Checked:
    """1 if the task's checker accepts the answer, else 0."""

    name: str = "checker"

    def of(self, facts: Facts) -> Part | None:
        return None if facts.checked is None else Part(self.name, float(facts.checked))


@dataclass(frozen=True)
class Feedback:
    """What the user said of the run, 0 to 1."""

    name: str = "feedback"

    def of(self, facts: Facts) -> Part | None:
        return None if facts.feedback is None else Part(self.name, facts.feedback)


@dataclass(frozen=True)
class Imported:
    """The reward in a log of another program, 0 to 1."""

    name: str = "imported"

    def of(self, facts: Facts) -> Part | None:
        return None if facts.imported is None else Part(self.name, facts.imported)


@dataclass(frozen=True)
class Judged:
    """What a model as judge said, less sure than the others: from ``low`` to ``high``.

    Attributes:
        low, high: what its no and its yes are worth.
    """

    name: str = "judge"
    low: float = 0.1
    high: float = 0.9

    def of(self, facts: Facts) -> Part | None:
        if facts.judged is None:
            return None
        return Part(self.name, self.low + (self.high - self.low) * facts.judged, self.low, self.high)


@dataclass(frozen=True)
class Efficiency:
    """1 for no tool call, falling to 0 at ``most`` of them.

    Raises:
        UsageError: ``most`` is below 1.
    """

    most: int = 8
    name: str = "efficiency"

    def __post_init__(self) -> None:
        if self.most < 1:
            raise UsageError(f"efficiency counts calls up to a number of at least 1, not {self.most!r}")

    def of(self, facts: Facts) -> Part | None:
        return Part(self.name, max(0.0, 1.0 - facts.calls / self.most))


@dataclass(frozen=True)
class Scored:
    """A run's reward, 0 to 1, whether it counts as correct, and what it is made of."""

    reward: float
    correct: bool
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Reward:
    """Puts parts together: ``(outcome + w · efficiency) / (1 + w)``, the second only if the outcome is correct.

    So every correct run earns more than every wrong one, whatever it took.

    Attributes:
        outcomes: the first that knows anything gives the outcome.
        efficiency: of the correct ones; ``weight``: w ≥ 0. At 0 (default) efficiency is left to the advantage
            (``hdpo``), which compares it among the correct of one group.

    Raises:
        UsageError: a weight below 0, or no source.
    """

    outcomes: Sequence[Source] = (Checked(), Feedback(), Imported(), Judged())
    efficiency: Source = Efficiency()
    weight: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise UsageError(f"the weight of efficiency must be a number from 0, not {self.weight!r}")
        if not self.outcomes:
            raise UsageError("a reward needs at least one source of outcomes")

    def of(self, facts: Facts) -> Scored | None:
        """What a run was worth; None if nobody said anything about it."""
        known = (part for part in (source.of(facts) for source in self.outcomes) if part is not None)
        outcome = next(known, None)
        if outcome is None:
            return None
        correct = outcome.value >= CORRECT
        spare = self.efficiency.of(facts) if self.weight and correct else None
        total = outcome.value + (0.0 if spare is None else self.weight * spare.value)
        return Scored(total / (1.0 + self.weight), correct, (outcome,) if spare is None else (outcome, spare))
