"""What commands print: rich for people, one JSON value for machines; errors to stderr."""

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

# exit codes of every command
OK, FAILED, USAGE, BUDGET = 0, 1, 2, 3
STOPPED = 130  # Ctrl-C, as shells have it

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """One JSON value on stdout, and nothing else."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def print_json_line(value: Any) -> None:
    """One JSON value on a line of its own, at once: for commands that print several."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], empty: str) -> None:
    """A table, or a sentence if there is nothing in it."""
    if not rows:
        out.print(empty)
        return
    drawn = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        drawn.add_row(*(escape("" if cell is None else str(cell)) for cell in row))
    out.print(drawn)


def money(usd: float) -> str:
    """US dollars, short: two significant digits below a cent, and never an exponent."""
    if abs(usd) < 5e-10:
        return "$0"
    if abs(usd) >= 0.01:
        return f"${usd:.2f}" if abs(usd) >= 1 else f"${usd:.3f}"
    digits = min(9, 1 - math.floor(math.log10(abs(usd))))  # the ledger counts in nano-dollars
    return f"${usd:.{digits}f}"


def ago(created: float) -> str:
    """How long ago, in the largest unit."""
    seconds = max(0.0, time.time() - created)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def tiers(values: Mapping[str, str]) -> str:
    """Memory tiers, short: ``low`` if all are alike, else ``filter:mid entity:low …``."""
    if not values:
        return "off"
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return " ".join(f"{module}:{tier}" for module, tier in values.items())
