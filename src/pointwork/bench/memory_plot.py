"""The memory benchmark as a picture. The only module of it that knows matplotlib."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pointwork.bench.memory_rows import Row
from pointwork.errors import UsageError
from pointwork.extras import require


def draw(rows: Sequence[Row], path: Path) -> None:
    """Left: evidence found by k, with intervals. Right: evidence in the text against its tokens.

    Raises:
        ImportError: matplotlib is not installed; the message names the extra.
        UsageError: the picture can not be written.
    """
    backend: Any = require("matplotlib.backends.backend_agg")
    figures: Any = require("matplotlib.figure")
    figure: Any = figures.Figure(figsize=(10, 4.2), layout="constrained")
    backend.FigureCanvasAgg(figure)
    found, shown = figure.subplots(1, 2)
    for number, row in enumerate(row for row in rows if row.part == "locomo" and "unseen" in row.what):
        names = [name for name in row.values if name.startswith("recall@")]
        values = [row.values[name] for name in names]
        errors = [[v - row.intervals[n][0] for n, v in zip(names, values, strict=True)]]
        errors.append([row.intervals[n][1] - v for n, v in zip(names, values, strict=True)])
        places = [x + (number - 1) * 0.25 for x in range(len(names))]
        found.bar(places, values, 0.25, yerr=errors, capsize=2, label=row.system)
        found.set_xticks(range(len(names)), names)
    found.set_title("LoCoMo, dialogues 8-9 (unseen)", fontsize="medium")
    found.set_ylabel("share of the evidence")
    found.set_ylim(0, 1)
    found.legend(fontsize="small", loc="lower right")
    budgets = [row for row in rows if row.part == "budget"]
    for system in dict.fromkeys(row.system for row in budgets):
        some = sorted((row.values["tokens"], row.values["recall"]) for row in budgets if row.system == system)
        shown.plot([x for x, _ in some], [y for _, y in some], "o-", label=system)
    shown.set_xscale("log")
    shown.set_xlabel("tokens shown to the model")
    shown.set_ylabel("share of the evidence in the text")
    shown.set_ylim(0, 1.02)
    for axes in (found, shown):
        axes.grid(alpha=0.3)
    if budgets:
        shown.legend(fontsize="small")
    try:
        figure.savefig(path, dpi=150, format=path.suffix[1:] or "png")
    except OSError as error:
        raise UsageError(f"can not write {path}: {error.strerror}") from error
