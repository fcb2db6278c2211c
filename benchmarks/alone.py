"""Benchmarks that share one GPU: who measures a time has it alone for that long (``gpu.py`` sees to it)."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "POINTWORK_ALONE"
SETTLE = 3.0  # seconds: until those beside have stopped and what they asked a server for has ended


@contextmanager
def alone() -> Iterator[None]:
    """While inside, the file that the environment variable names is there; without the variable, no file."""
    name = os.environ.get(VARIABLE)
    if not name:
        yield
        return
    Path(name).touch()
    time.sleep(SETTLE)
    try:
        yield
    finally:
        Path(name).unlink(missing_ok=True)
