"""What is trained on: turns of rollouts, in groups. No torch here, so that data can be looked at without it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["group", "dr_grpo", "gigpo", "per_agent", "hdpo"]
"""The advantage estimators (``training/advantages.py``)."""


@dataclass(frozen=True)
class Turn:
    """One model call of a rollout. Only what the model wrote, ``completion_ids``, is trained.

    Attributes:
        role: the model role that answered (``planner``, ``worker-small``, …).
        prompt_ids: token ids of the whole prompt as the server saw it, chat template included.
        completion_ids: token ids that the model wrote, its end-of-turn token included if it wrote one.
        logprobs: log-probabilities (nat) of ``completion_ids`` as the *server* gave them; None if it gave none.
        agent: name of the agent that asked; with ``task`` the group of ``per_agent`` advantages.
        version: the model version that answered, as the ledger has it.
        state: what was to be answered here (the anchor of ``gigpo``'s step groups); turns of one task with equal
            states form a group.
        reward: of this step alone; the rollout's reward comes on top.
    """

    role: str
    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...] | None = None
    agent: str = ""
    version: str | None = None
    state: str = ""
    reward: float = 0.0

    def __post_init__(self) -> None:
        if self.logprobs is not None and len(self.logprobs) != len(self.completion_ids):
            raise ValueError(f"{len(self.logprobs)} logprobs for {len(self.completion_ids)} tokens of a completion")


@dataclass(frozen=True)
class Rollout:
    """One trial of a task, with everything that a model wrote in it.

    Attributes:
        task: identifies the task; rollouts of one task form a group.
        turns: in the order of time. Empty if the log holds no tokens.
        reward: of the whole trial, usually in [0, 1].
        correct: whether the checker said that it is right; ``hdpo`` compares efficiency only among these.
        calls: tool calls that were made.
        run_id: the run in the store.
    """

    task: str
    turns: tuple[Turn, ...]
    reward: float
    correct: bool
    calls: int = 0
    run_id: str = ""


@dataclass(frozen=True)
class Group:
    """All rollouts of one task that are compared with each other."""

    task: str
    rollouts: tuple[Rollout, ...]

    @property
    def constant(self) -> bool:
        """Whether every rollout earned the same reward."""
        return len({rollout.reward for rollout in self.rollouts}) <= 1


def grouped(rollouts: Sequence[Rollout]) -> list[Group]:
    """Rollouts by task, in the order of first appearance."""
    by_task: dict[str, list[Rollout]] = {}
    for rollout in rollouts:
        by_task.setdefault(rollout.task, []).append(rollout)
    return [Group(task, tuple(members)) for task, members in by_task.items()]


@dataclass(frozen=True)
class Example:
    """A worked example for supervised training: a chat whose last message is what the model should write."""

    messages: tuple[dict[str, Any], ...]
    role: str = ""
