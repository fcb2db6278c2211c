"""Success against cost, as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pointwork.bench.report import Run
from pointwork.bench.systems import SYSTEMS
from pointwork.errors import UsageError
from pointwork.extras import require

_MARKERS = "osD^vPX*"


def draw(runs: Sequence[Run], path: Path) -> None:
    """One point per system and run, with its interval: to the left is cheaper, up is better.

    Raises:
        ImportError: matplotlib is not installed; the message names the extra.
        UsageError: the picture can not be written.
    """
    backend: Any = require("matplotlib.backends.backend_agg")
    figures: Any = require("matplotlib.figure")
    # without pyplot: no window system, no state that other users of matplotlib in the process would see
    figure: Any = figures.Figure(figsize=(8, 5), layout="constrained")
    backend.FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    systems = [name for name in SYSTEMS if any(run.total(name) for run in runs)]
    for number, run in enumerate(runs):
        for system in systems:
            row = run.total(system)
            if row is None:
                continue
            axes.errorbar(
                row.usd * 1000,
                row.success * 100,
                yerr=[[(row.success - row.low) * 100], [(row.high - row.success) * 100]],
                fmt=_MARKERS[number % len(_MARKERS)],
                color=f"C{systems.index(system)}",
                capsize=3,
                label=f"{system}, {run.name}" if len(runs) > 1 else system,
            )
    # what uses no model costs nothing, and a logarithm has no place for it
    least = _least_cost(runs)
    axes.set_xscale("symlog", linthresh=least)
    axes.set_xlim(left=-least / 2)
    axes.set_ylim(-2, 102)
    axes.set_xlabel("cost of 1000 tasks (USD)")
    axes.set_ylabel("right answers (%), with 95 % interval")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise UsageError(f"can not write {path}: {error.strerror}") from error


def _least_cost(runs: Sequence[Run]) -> float:
    costs = [row.usd * 1000 for run in runs for row in run.rows if row.usd > 0]
    return min(costs, default=1.0)
