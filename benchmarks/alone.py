"""Benchmarks that share one GPU: who measures a time has it alone for that long (``gpu.py`` sees to it)."""

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

VARIABLE, AFTER = "POINTWORK_ALONE", "POINTWORK_ALONE_AFTER"
SETTLE = 3.0  # seconds: until those beside have stopped and what they asked a server for has ended
PATIENCE = 240.0  # seconds to wait for what must have started before


@contextmanager
def alone() -> Iterator[None]:
    """While inside, the file that ``VARIABLE`` names holds this process' group; without the variable, no file.

    One at a time. Begins when the file that ``AFTER`` names is there: a server that starts would disturb.
    """
    name = os.environ.get(VARIABLE)
    if not name:
        yield
        return
    if after := os.environ.get(AFTER):
        wait_for([Path(after)])
    with Path(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given back by a process that dies, too
        Path(name).write_text(str(os.getpgrp()))
        time.sleep(SETTLE)
        try:
            yield
        finally:
            Path(name).unlink(missing_ok=True)


def wait_for(files: Sequence[Path]) -> None:
    """Until all of them are there, but no longer than ``PATIENCE``."""
    until = time.monotonic() + PATIENCE
    while not all(file.exists() for file in files) and time.monotonic() < until:
        time.sleep(0.2)
