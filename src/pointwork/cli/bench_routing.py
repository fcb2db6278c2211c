"""``pointwork bench routing``: the router on sets where every arm's outcome is known."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from pointwork.cli.output import STOPPED, err, print_json, table
from pointwork.errors import UsageError

if TYPE_CHECKING:
    from pointwork.bench.routing.lines import Line


def routing(
    data: Annotated[
        Path | None,
        typer.Option(envvar="POINTWORK_BENCH_DATA", help="Folder of the data sets (docs/router.md)."),
    ] = None,
    part: Annotated[list[str] | None, typer.Option(help="Only this part; may be repeated. Default: all.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Shuffles of each set.")] = 10,
    policy: Annotated[str, typer.Option(help="linucb, thompson, neural, trees, static or random.")] = "linucb",
    plot: Annotated[
        Path | None, typer.Option(help="Draw regret, frontier, reliability, spend here; learning curves beside it.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure the router beside the best fixed arm, the best fixed mix and the oracle, with bandit feedback only.

    Parts: paretobandit, unseen, shocks, classic, roles, llmrouter, mmlu, truth, trained (needs the extra 'train').
    """
    from pointwork.bench.routing.parts import PARTS

    if data is None:
        raise UsageError("give the folder of the data sets with --data or POINTWORK_BENCH_DATA (docs/router.md)")
    unknown = [name for name in part or [] if name not in PARTS]
    if unknown:
        raise UsageError(f"no part is called {unknown[0]!r}; there are {', '.join(PARTS)}")
    lines: list[Line] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    stopped = False
    try:
        with Progress(*columns, console=err, transient=True, disable=json) as progress:
            for name in part or PARTS:
                progress.add_task(name, total=None)
                lines += PARTS[name](data, seeds, policy)
            if plot is not None:
                from pointwork.bench.routing import labelled, plots

                progress.add_task("plot", total=None)
                plots.draw(data, min(seeds, 5), policy, plot)
                labelled.draw(data, min(seeds, 3), policy, plot.with_stem(f"{plot.stem}-learning"))
    except KeyboardInterrupt:
        stopped = True
    if json:
        print_json([asdict(line) for line in lines])
    else:
        _draw(lines)
    if stopped:
        err.print("stopped; what was measured stands above")
        raise typer.Exit(STOPPED)


def _draw(lines: "list[Line]") -> None:
    rows = [
        (
            line.part,
            line.what,
            f"{line.value:.4g} ± {line.margin:.2g}" if line.margin else f"{line.value:.4g}",
            line.target,
            ", ".join(f"{name} {value:.4g}" for name, value in line.beside.items()),
        )
        for line in lines
    ]
    table(("part", "what", "mean ± 95 %", "target", "beside it"), rows, "nothing was measured")
