"""What a caller gives for a run, checked before anything is stored."""

import os
from pathlib import Path
from typing import cast

from pointwork.errors import UsageError

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


def checked_root(root: str | os.PathLike[str]) -> Path:
    """The folder that agents may read, resolved.

    Raises:
        UsageError: it is not there, or no folder.
    """
    path = Path(root).expanduser()
    if not path.exists():
        raise UsageError(f"the root folder {path} does not exist")
    if not path.is_dir():
        raise UsageError(f"the root {path} is a file; name the folder that the agents may read")
    return path.resolve()
