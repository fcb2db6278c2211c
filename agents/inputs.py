"""What a caller gives for a run, checked before anything is stored."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

from pointwork.agents.spec import Agent
from pointwork.budgets import Budget
from pointwork.errors import UsageError
from pointwork.memory.episodic import MAX_LABEL, check_label

# A longer task belongs in a file that the agents can read.
MAX_TASK_CHARS = 20_000


def checked_task(task: str) -> str:
    """A task without control characters.

    Raises:
        UsageError: it is empty, too long or not text.
    """
    if not isinstance(cast(object, task), str):
        raise UsageError(f"a task is text, not {type(task).__name__}")
    if not task.strip():
        raise UsageError("the task is empty: say what to do")
    if len(task) > MAX_TASK_CHARS:
        raise UsageError(
            f"the task has {len(task):,} characters; at most {MAX_TASK_CHARS:,} are taken. "
            "Put the material into a file under the root folder and name it in the task."
        )
    try:
        task.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the task is not valid text: character {error.start} is half a surrogate pair") from error
    return "".join(c for c in task if c >= " " or c in "\n\t").strip()


def checked_agents(agents: Sequence[Agent]) -> list[Agent]:
    """The agents of a team.

    Raises:
        UsageError: something else is among them.
    """
    given = cast(object, agents)
    if isinstance(given, Agent) or not isinstance(given, Iterable):
        raise UsageError(f"agents must be a list of agents, for example agents=[agent], not {type(given).__name__}")
    for agent in cast(Iterable[object], given):
        if not isinstance(agent, Agent):
            raise UsageError(
                f"{agent!r} is no Agent; an agent is made with Agent(name, instructions, capabilities)"
            )
    return list(agents)


def checked_root(root: str | os.PathLike[str]) -> Path:
    """The folder that agents may read, resolved.

    Raises:
        UsageError: it is not there, or no folder.
    """
    if not isinstance(cast(object, root), str | os.PathLike):
        raise UsageError(f"the root folder is a path, not {root!r}")
    path = Path(root).expanduser()
    if not path.exists():
        raise UsageError(f"the root folder {path} does not exist")
    if not path.is_dir():
        raise UsageError(f"the root {path} is a file; name the folder that the agents may read")
    return path.resolve()


def checked_thread(thread: str | None) -> str | None:
    """A conversation's name that the store and memory can keep: else a run would fail at its end, and be paid for.

    Raises:
        UsageError: it can not be kept.
    """
    return check_label("thread", thread, MAX_LABEL)


def checked_budget(budget: Budget) -> Budget:
    """Limits.

    Raises:
        UsageError: they are no ``Budget``.
    """
    if not isinstance(cast(object, budget), Budget):
        raise UsageError(f"budget={budget!r} is no Budget; give for example Budget(usd=0.05, tokens=20_000)")
    return budget


def checked_reward(reward: float) -> float:
    """How good an answer was.

    Raises:
        UsageError: it is no number from 0 to 1.
    """
    given: object = reward
    # NaN fails the comparison too; numbers of numpy are none of ours
    if isinstance(given, bool | str) or not hasattr(given, "__float__") or not 0 <= reward <= 1:
        raise UsageError(f"a reward is a number from 0 to 1, not {reward!r}")
    return float(reward)
