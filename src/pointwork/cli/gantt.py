"""A run on its time line, as a picture."""

from pathlib import Path
from typing import Any

from pointwork.cli.output import money
from pointwork.cli.story import Attempt, Event, Story
from pointwork.errors import UsageError
from pointwork.extras import require

_SPAN, _MODEL, _TOOL = "#d5dbe3", "#3b6ea5", "#e08b2c"
_EDGE = {"ok": "#2e8b57", "failed": "#c0392b", "error": "#c0392b", "denied": "#c0392b", "unknown": "#c0392b"}

# Characters of a label; seconds under which a call would not be seen, as a share of the run.
_LABEL, _LEAST = 46, 0.004


def draw_gantt(story: Story, path: Path) -> None:
    """One row per plan and per try: its span, the calls of models and tools in it, and what came of it.

    Raises:
        ImportError: matplotlib is not installed; the message names the extra.
        UsageError: the picture can not be written.
    """
    require("matplotlib")
    backend: Any = require("matplotlib.backends.backend_agg")
    figures: Any = require("matplotlib.figure")
    patches: Any = require("matplotlib.patches")
    rows = _rows(story)
    whole = max(1e-3, story.end - story.start)
    figure: Any = figures.Figure(figsize=(10, 1.7 + 0.5 * len(rows)), layout="constrained")
    backend.FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    for number, (_, start, end, events, attempt) in enumerate(rows):
        edge = "#7f8c9b" if attempt is None else _EDGE.get(attempt.status, "#b8860b")
        span = max(end - start, _LEAST * whole)
        axes.barh(number, span, left=start - story.start, height=0.62, color=_SPAN, edgecolor=edge, linewidth=1.6)
        for event in events:
            seconds = max(event.seconds, _LEAST * whole)
            color = _MODEL if event.kind == "model" else _TOOL
            axes.barh(number, seconds, left=event.start - story.start, height=0.4, color=color)
        if attempt is not None:
            said = f"{attempt.end - attempt.start:.1f} s, {attempt.tokens} tokens, {money(attempt.usd)}"
            axes.annotate(
                said,
                (end - story.start, number),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
    axes.set_yticks(range(len(rows)), [row[0] for row in rows], fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, whole * 1.3)  # room for the figures behind the last bar
    axes.set_xlabel("seconds since the run began")
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    legend = [
        patches.Patch(color=_MODEL, label="model"),
        patches.Patch(color=_TOOL, label="tool"),
        patches.Patch(facecolor=_SPAN, edgecolor=_EDGE["ok"], label="passed its checks"),
        patches.Patch(facecolor=_SPAN, edgecolor=_EDGE["failed"], label="did not"),
    ]
    figure.legend(handles=legend, loc="outside lower center", ncol=4, fontsize=8)
    title = _short(" ".join(story.run["task"].split()), 90)
    # a dollar sign in somebody's task is no formula
    axes.set_title(f"{title}  ({story.run['status']})", fontsize=10, loc="left", parse_math=False)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    try:
        figure.savefig(path, dpi=150, format="png")
    except OSError as error:
        raise UsageError(f"can not write {path}: {error.strerror}") from error


_Row = tuple[str, float, float, list[Event], Attempt | None]


def _rows(story: Story) -> list[_Row]:
    rows: list[_Row] = []
    for round_ in story.rounds:
        rows.append((f"plan {round_.number + 1}", round_.start, round_.end, round_.events, None))
        for part in round_.parts:
            for attempt in part.tries:
                label = f"{part.id}  {attempt.agent} · {attempt.mode}\n{_short(attempt.model, _LABEL)}"
                rows.append((label, attempt.start, attempt.end, attempt.events, attempt))
    return rows


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
