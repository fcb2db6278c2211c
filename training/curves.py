"""Curves of a training run: read from ``metrics.jsonl``, drawn as PNG, thinned out for the store."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pointwork.errors import UsageError
from pointwork.extras import require

# Panels: title, and the metrics that are drawn in it if they are there.
PANELS = (
    ("reward", ("reward", "correct", "held_out")),
    ("loss", ("loss",)),
    ("entropy (nat) and KL", ("entropy", "kl")),
    ("clipped, capped, skipped (shares)", ("clip_rate", "tis_capped", "skipped_share")),
    ("gradient norm", ("grad_norm",)),
    ("seconds a step", ("seconds", "rollout_seconds")),
)
KEPT = ("reward", "held_out", "loss", "entropy", "kl", "clip_rate", "grad_norm")


def read(file: str | Path) -> list[dict[str, float]]:
    """Steps of a run, oldest first; a line that a kill cut off is left out.

    Raises:
        UsageError: there is no such file.
    """
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"no metrics at {path}: give the metrics.jsonl of a training run")
    rows: list[dict[str, float]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row: dict[str, float] = json.loads(line)
        except ValueError:
            continue
        if row.get("groups"):
            row["skipped_share"] = row.get("skipped_groups", 0.0) / row["groups"]
        rows.append(row)
    return rows


def thinned(rows: Sequence[dict[str, float]], points: int = 100) -> dict[str, list[list[float]]]:
    """Curves small enough for a row of the store: [[step, value], …] by metric, means over equal stretches.

    Args:
        rows: of ``read``.
        points: at most so many for each curve.
    """
    found: dict[str, list[list[float]]] = {}
    for name in KEPT:
        values = [(row["step"], row[name]) for row in rows if name in row]
        size = -(-len(values) // points) or 1
        pieces = [values[start : start + size] for start in range(0, len(values), size)]
        if pieces:
            found[name] = [[piece[-1][0], sum(value for _, value in piece) / len(piece)] for piece in pieces]
    return found


def draw(rows: Sequence[dict[str, float]], file: str | Path, *, title: str = "") -> Path:
    """Draw the curves of a run.

    Raises:
        UsageError: there are no steps.
        ImportError: matplotlib is not installed (extra ``plot``).
    """
    if not rows:
        raise UsageError("there are no steps to draw")
    require("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(10, 5.5))
    FigureCanvasAgg(figure)
    for axes, (name, metrics) in zip(figure.subplots(2, 3).flat, PANELS, strict=True):
        for metric in metrics:
            points = [(row["step"], row[metric]) for row in rows if metric in row]
            if points:
                axes.plot(
                    *zip(*points, strict=True), lw=1, marker="o" if len(points) < 15 else "", ms=3, label=metric
                )
        axes.set_title(name, fontsize=9)
        axes.tick_params(labelsize=7)
        axes.grid(visible=True, lw=0.3)
        if axes.lines:
            axes.legend(fontsize=7, frameon=False)
    figure.suptitle(title, fontsize=10)
    figure.tight_layout()
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return path
