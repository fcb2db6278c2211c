"""Success against cost, as a picture."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pointwork.bench.report import Row, Run
from pointwork.bench.systems import SYSTEMS
from pointwork.errors import UsageError
from pointwork.extras import require

_MARKERS = "osD^vPX*<>hp"

# Runs of which the legend gives the name, and characters of it.
_LISTED, _NAME = 18, 44


def draw(runs: Sequence[Run], path: Path) -> None:
    """One point per system and run, with its interval: to the left is cheaper, up is better.

    Colours are systems, signs are runs. The cost axis is logarithmic; what uses no model stands left of it, at 0.

    Raises:
        ImportError: matplotlib is not installed; the message names the extra.
        UsageError: the picture can not be written.
    """
    require("matplotlib")
    backend: Any = require("matplotlib.backends.backend_agg")
    figures: Any = require("matplotlib.figure")
    # without pyplot: no window system, no state that other users of matplotlib in the process would see
    figure: Any = figures.Figure(figsize=(10, 5.6), layout="constrained")
    backend.FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    systems = [name for name in SYSTEMS if any(run.total(name) for run in runs)]
    points = [
        (n, run, system, row) for n, run in enumerate(runs) for system in systems if (row := run.total(system))
    ]
    low, high = _decades([row for *_, row in points])
    free = [point for point in points if not point[3].usd]
    for number, _, system, row in points:
        # beside each other: several runs may have cost nothing and come to the same
        place = [n for n, *_ in free].index(number) if not row.usd else 0
        cost = row.usd * 1000 if row.usd else low * 10 ** (-0.75 + 0.5 * (place + 0.5) / len(free))
        axes.errorbar(
            cost,
            row.success * 100,
            yerr=[[(row.success - row.low) * 100], [(row.high - row.success) * 100]],
            fmt=_MARKERS[number % len(_MARKERS)],
            color=f"C{list(SYSTEMS).index(system)}",
            capsize=3,
            elinewidth=1.2,
            alpha=0.9,
        )
    _axes(axes, low, high, bool(free))
    _legends(figure, axes, runs, systems)
    try:
        figure.savefig(path, dpi=150, format="png")
    except OSError as error:
        raise UsageError(f"can not write {path}: {error.strerror}") from error


def _decades(rows: Sequence[Row]) -> tuple[float, float]:
    """Powers of ten around all costs that are not 0."""
    costs = [row.usd * 1000 for row in rows if row.usd > 0] or [1.0]
    low, high = 10.0 ** math.floor(math.log10(min(costs))), 10.0 ** math.ceil(math.log10(max(costs)))
    return low, high if high > low else low * 10


def _axes(axes: Any, low: float, high: float, has_free: bool) -> None:
    ticker: Any = require("matplotlib.ticker")
    axes.set_xscale("log")
    axes.set_xlim(low / 10 if has_free else low * 0.8, high * 1.2)
    decades = [low * 10**n for n in range(round(math.log10(high / low)) + 1)]
    ticks = [(low / 10**0.5, "no model: 0")] if has_free else []
    ticks += [(value, f"${value:.{max(0, -round(math.log10(value)))}f}") for value in decades]
    axes.xaxis.set_major_locator(ticker.FixedLocator([value for value, _ in ticks]))
    axes.xaxis.set_major_formatter(ticker.FixedFormatter([name for _, name in ticks]))
    axes.xaxis.set_minor_locator(ticker.FixedLocator([d * n for d in decades[:-1] for n in range(2, 10)]))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    if has_free:
        axes.axvspan(low / 10, low * 0.7, color="#f2f3f5", zorder=0)
    axes.set_ylim(-2, 102)
    axes.set_xlabel("cost of 1000 tasks (USD, logarithmic)")
    axes.set_ylabel("right answers (%), with 95 % interval")
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _legends(figure: Any, axes: Any, runs: Sequence[Run], systems: Sequence[str]) -> None:
    lines: Any = require("matplotlib.lines")
    patches: Any = require("matplotlib.patches")
    colors = [patches.Patch(color=f"C{list(SYSTEMS).index(name)}", label=name) for name in systems]
    axes.legend(handles=colors, fontsize="small", loc="upper left", title="system", title_fontsize="small")
    signs = [
        lines.Line2D([], [], color="#555555", marker=_MARKERS[n % len(_MARKERS)], linestyle="", label=_named(run))
        for n, run in enumerate(runs[:_LISTED])
    ]
    if len(runs) > _LISTED:
        signs.append(lines.Line2D([], [], linestyle="", label=f"and {len(runs) - _LISTED} more"))
    legend = figure.legend(
        handles=signs,
        fontsize="small",
        loc="outside right upper",
        title="run, tasks, model",
        title_fontsize="small",
    )
    for text in legend.get_texts():  # a folder's name is no formula
        text.set_parse_math(False)


def _named(run: Run) -> str:
    counts = sorted({row.tasks for system in SYSTEMS if (row := run.total(system))})
    tasks = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return "\n".join(_short(text) for text in (f"{run.name}, {tasks} tasks", run.models))


def _short(text: str) -> str:
    return text if len(text) <= _NAME else f"{text[: _NAME - 1]}…"
