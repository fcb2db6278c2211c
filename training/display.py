"""The progress bar and the live table of a training run, on stderr."""

import sys
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

SHOWN = (
    ("loss", "loss", "{:.4f}"),
    ("reward", "reward", "{:.3f}"),
    ("held_out", "held-out", "{:.3f}"),
    ("entropy", "entropy", "{:.3f}"),
    ("clip_rate", "clipped", "{:.1%}"),
    ("skipped_groups", "skipped", "{:.0f}"),
    ("grad_norm", "gradient", "{:.3f}"),
    ("tokens", "tokens", "{:,.0f}"),
    ("seconds", "s/step", "{:.2f}"),
    ("memory_mb", "MB", "{:,.0f}"),
)
ROWS = 8


class Display:
    """Shows steps as they are done.

    Args:
        steps: in all; ``done``: before.
        show: None: if stderr is a terminal.
    """

    def __init__(self, steps: int, done: int, show: bool | None) -> None:
        self._rows: list[dict[str, float]] = []
        self._progress = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
        )
        self._task = self._progress.add_task("training", total=steps, completed=done)
        on = sys.stderr.isatty() if show is None else show
        self._live = Live(self._progress, console=Console(stderr=True), refresh_per_second=2) if on else None

    def __enter__(self) -> "Display":
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def step(self, metrics: dict[str, float], alarm: str) -> None:
        """Show the figures of a step."""
        self._progress.advance(self._task)
        self._rows = [*self._rows, metrics][-ROWS:]
        if self._live:
            parts = [self._progress, self._table()]
            self._live.update(Group(*parts, f"[bold red]{alarm}[/]") if alarm else Group(*parts))

    def _table(self) -> Table:
        columns = [entry for entry in SHOWN if any(entry[0] in row for row in self._rows)]
        table = Table(box=None, header_style="dim")
        for head in ("step", *(entry[1] for entry in columns)):
            table.add_column(head, justify="right")
        for row in self._rows:
            cells = [form.format(row[name]) if name in row else "" for name, _, form in columns]
            table.add_row(f"{row['step']:.0f}", *cells)
        return table
