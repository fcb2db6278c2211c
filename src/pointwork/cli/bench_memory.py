"""``pointwork bench memory``: what memory finds of what it should, for how many tokens."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from pointwork.cli.measuring import Encoder
from pointwork.cli.output import STOPPED, err, out, print_json
from pointwork.errors import UsageError

if TYPE_CHECKING:
    from pointwork.bench.memory_rows import Row

EPILOG = (
    "Examples: [bold]pointwork bench memory --data DIR --plot[/bold]  "
    "[bold]pointwork bench memory --data DIR --parts hotpot --json[/bold]"
)


def memory(
    data: Annotated[
        Path | None, typer.Option(help="Folder of the benchmark data; default: POINTWORK_BENCH_DATA.")
    ] = None,
    parts: Annotated[str, typer.Option(help="Of locomo, hotpot, budget, poison, tiers; commas between.")] = "",
    model: Annotated[
        str, typer.Option(help="Measure instead what tier High adds with this model (local:, a URL, …): minutes.")
    ] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="Most questions of each dialogue.")] = None,
    encoder: Annotated[
        Encoder, typer.Option(help="Of tier High; auto: MiniLM where the extra 'embed' is installed.")
    ] = Encoder.auto,
    out_: Annotated[Path, typer.Option("--out", help="Where --plot writes its picture.")] = Path("memory.png"),
    plot: Annotated[bool, typer.Option("--plot", help="Draw recall, and evidence against tokens.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Recall of evidence on LoCoMo and Hotpot, evidence per token, and what injected texts do.

    Prints each figure with its 95 % interval. No model is asked without --model. Ctrl-C keeps what is done.
    """
    from pointwork.bench.memory import MODEL, PARTS, measure
    from pointwork.extras import require

    chosen = [part.strip() for part in parts.split(",") if part.strip()] or ([MODEL] if model else list(PARTS))
    for part in chosen:
        if part not in PARTS and not (model and part == MODEL):
            raise UsageError(f"there is no part {part!r}; there are {', '.join(PARTS)}")
    folder = data or Path(os.environ.get("POINTWORK_BENCH_DATA", ""))
    if data is None and not os.environ.get("POINTWORK_BENCH_DATA"):
        raise UsageError("where is the benchmark data? Give its folder as --data or POINTWORK_BENCH_DATA")
    if plot:  # before minutes of work, not after
        require("matplotlib")
    rows: list[Row] = []
    finished = True
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err, disable=json, transient=True) as progress:
        bar = progress.add_task("measuring")
        try:
            for row in measure(folder, chosen, limit, encoder, model):
                rows.append(row)
                progress.update(bar, description=f"{row.part}: {row.system}, {row.what}")
        except KeyboardInterrupt:
            finished = False
    if plot and rows:
        from pointwork.bench.memory_plot import draw

        draw(rows, out_)
    if json:
        print_json({"rows": [row.as_json() for row in rows], "picture": str(out_) if plot else None})
    else:
        _print(rows)
        if plot:
            out.print(f"[dim]picture: {escape(str(out_))}[/dim]")
    if not finished:
        raise typer.Exit(STOPPED)


def _print(rows: "list[Row]") -> None:
    from rich.text import Text

    lines: list[tuple[str, ...]] = [("part", "system", "on", "n", "figures")]
    for row in rows:
        figures: list[str] = []
        for name, value in row.values.items():
            low, high = row.intervals.get(name, (None, None))
            text = f"{name} {value:.3f}" if abs(value) <= 1 else f"{name} {value:.0f}"
            figures.append(f"{text} ({low:.3f}-{high:.3f})" if low is not None and abs(value) <= 1 else text)
        lines.append((row.part, row.system, row.what, str(row.n), "  ".join(figures)))
    widths = [max(len(line[n]) for line in lines) for n in range(len(lines[0]))]
    for number, line in enumerate(lines):
        padded = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        out.print(Text(padded.rstrip(), style="bold" if number == 0 else ""), soft_wrap=True)
