"""Who works on a run: two processes must not do it at once."""

import os
import platform
import time
from pathlib import Path

# A process on another machine that has booked nothing for so long is taken for dead.
SILENT_SECONDS = 120.0


def this_process() -> str:
    """Names this process among all of this machine's, also after its number is given to another."""
    return f"{platform.node()} {os.getpid()} {_started(os.getpid())}"


def at_work(owner: str | None, last_sign: float) -> bool:
    """Whether the process that owns a run may still be at it.

    Args:
        owner: as ``this_process`` named it.
        last_sign: when it last booked anything, seconds since the epoch.
    """
    if not owner or owner == this_process():
        return False
    node, number, started = owner.split(" ")
    if node != platform.node():
        return time.time() - last_sign < SILENT_SECONDS
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is there, and somebody else's
    return _started(int(number)) == started


def _started(process: int) -> str:
    """When a process started, in the kernel's ticks; empty where the system does not say."""
    try:
        # the name in brackets may hold spaces; what is after it is counted from the third field
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
