"""``pointwork runs export | import | stats`` and ``pointwork router export | import``."""

import re
import sys
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from pointwork.cli.output import err, out, print_json, table
from pointwork.cli.team import own_store
from pointwork.errors import UsageError

EXPORT_RUNS = (
    "Examples: [bold]pointwork runs export --all -o runs.jsonl[/bold]  "
    "[bold]pointwork runs export 019a3f | gzip > run.jsonl.gz[/bold]"
)
IMPORT_RUNS = (
    "Examples: [bold]pointwork runs import runs.jsonl[/bold]  "
    "[bold]pointwork runs import gpt-4o-airline.json --format tau-bench --model gpt-4o[/bold]"
)
STATS = "Example: [bold]pointwork runs stats --json[/bold]"
EXPORT_ROUTER = "Example: [bold]pointwork router export --router team -o decisions.jsonl[/bold]"
IMPORT_ROUTER = "Example: [bold]pointwork router import decisions.jsonl --json[/bold]"

# A bar is drawn once the work has taken so long.
PATIENCE = 2.0

Output = Annotated[
    str, typer.Option("--output", "-o", help="File to write, complete or not at all; '-' is standard output.")
]
File = Annotated[str, typer.Argument(help="File to read; '-' is standard input.")]
Since = Annotated[
    str | None, typer.Option(help="Not older than this: 2026-01-31, 2026-01-31T14:00 (UTC) or 90min, 12h, 7d.")
]
SkipBroken = Annotated[
    bool, typer.Option("--skip-broken", help="Leave broken records out and count them; else the first one stops.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_UNITS = {"min": 60, "h": 3600, "d": 86400}


def export_runs(
    run_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN_ID", help="Runs; the beginnings of their ids are enough."),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every run in the store.")] = False,
    thread: Annotated[str | None, typer.Option(help="Only runs of this conversation.")] = None,
    since: Since = None,
    output: Output = "-",
    json: Json = False,
) -> None:
    """Export whole runs as lines of JSON: steps, decisions, outcomes, money, tool calls. Secrets are left out."""
    from pointwork import portable
    from pointwork.agents.runs import find_run

    narrowed = thread is not None or since is not None
    if bool(run_ids) + all_ + narrowed != 1:
        raise UsageError("say which runs: ids, or --all, or --thread and --since")
    store = own_store()
    ids = [find_run(store, run_id)["id"] for run_id in run_ids] if run_ids else None
    start = None if since is None else _time(since)
    total = portable.count_runs(store, ids=ids, thread=thread, since=start)
    _write("runs", portable.export_runs(store, ids=ids, thread=thread, since=start), total, store, output, json)


def import_runs(
    file: File,
    format: Annotated[
        str, typer.Option(help="pointwork (what 'runs export' writes), tau-bench or openai-chat.")
    ] = "pointwork",
    model: Annotated[
        str | None, typer.Option(help="Who answered in a foreign log, where it does not say so itself.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Name of a foreign log; default: the file's name.")] = None,
    skip_broken: SkipBroken = False,
    json: Json = False,
) -> None:
    """Import runs: our own exports, or logs of other programs. What is there already is left as it is."""
    from pointwork import portable

    store = own_store()
    with _bar(f"importing {file}", quiet=json) as bar:
        report = portable.import_runs(
            store, file, format=format, model=model, dataset=dataset, skip_broken=skip_broken, progress=bar
        )
    foreign = format != "pointwork"
    shown = [row for row in portable.passing(store) if dataset in (None, row.dataset)] if foreign else []
    _report(report, "run", json, passing=[_passing_row(row) for row in shown])
    if shown and not json:
        _draw_passing(shown)


def stats(
    success: Annotated[
        float, typer.Option(min=0, max=1, help="The least reward of a trial that counts as a success.")
    ] = 1.0,
    json: Json = False,
) -> None:
    """Show mean reward and pass^k of imported logs: the chance that k trials of a task all succeed."""
    from pointwork import portable

    rows = portable.passing(own_store(), success=success)
    if json:
        print_json([_passing_row(row) for row in rows])
    else:
        _draw_passing(rows)


def export_decisions(
    router: Annotated[str | None, typer.Option(help="Only decisions of this router; default: of all.")] = None,
    since: Since = None,
    output: Output = "-",
    json: Json = False,
) -> None:
    """Export routing decisions with their outcomes as lines of JSON (fields: docs/logs.md)."""
    from pointwork import portable

    store = own_store()
    start = None if since is None else _time(since)
    total = portable.count_decisions(store, router=router, since=start)
    _write("decisions", portable.export_decisions(store, router=router, since=start), total, store, output, json)


def import_decisions(
    file: File,
    router: Annotated[
        str | None,
        typer.Option(help="Router of decisions that do not say whose they are; default: the file's name."),
    ] = None,
    skip_broken: SkipBroken = False,
    json: Json = False,
) -> None:
    """Import a routing log for replay: ours, or another program's (fields: docs/logs.md)."""
    from pointwork import portable

    store = own_store()
    with _bar(f"importing {file}", quiet=json) as bar:
        report = portable.import_decisions(store, file, router=router, skip_broken=skip_broken, progress=bar)
    _report(report, "decision", json)


def _time(text: str) -> float:
    """Seconds since the epoch, of a date, a time, or how long ago."""
    ago = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?(min|h|d)", text.strip())
    if ago:
        return time.time() - float(ago[1]) * _UNITS[ago[2]]
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"--since {text!r} is neither a date like 2026-01-31 nor a time ago like 7d") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _write(what: str, lines: Iterable[bytes], total: int, store: Any, output: str, json: bool) -> None:
    from pointwork import portable
    from pointwork.settings import load

    hidden = portable.without_secrets(lines, portable.known_secrets(store, load()))
    piped = output == "-"
    with _bar(f"exporting {what}", quiet=json or (piped and sys.stdout.isatty())) as bar:
        try:
            count = portable.write_lines(sys.stdout.buffer if piped else output, _counted(hidden, total, bar))
        except BrokenPipeError:
            # whoever read it has enough; the interpreter must not try to flush once more
            sys.stdout = None
            raise typer.Exit from None
    if piped:
        return
    if json:
        print_json({"exported": count, "file": output})
    else:
        out.print(f"{count} {what} in {output}", markup=False)


def _counted(lines: Iterable[bytes], total: int, bar: "_Bar") -> Iterator[bytes]:
    for done, line in enumerate(lines, 1):
        yield line
        bar(done, total)


class _Bar:
    """A progress bar that is not drawn before the work has taken a while, nor where nobody looks."""

    def __init__(self, title: str, quiet: bool) -> None:
        self._title, self._quiet = title, quiet or not err.is_terminal
        self._started = time.monotonic()
        self._drawn = self._started
        self._progress: Progress | None = None

    def __call__(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        if self._quiet or now - self._started < PATIENCE or now - self._drawn < 0.1:
            return
        self._drawn = now
        if self._progress is None:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._progress = Progress(*columns, console=err, transient=True)
            self._progress.add_task(self._title, total=total)
            self._progress.start()
        self._progress.update(self._progress.task_ids[0], completed=done, total=total)

    def stop(self) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()


@contextmanager
def _bar(title: str, *, quiet: bool) -> Generator[_Bar, None, None]:
    bar = _Bar(title, quiet)
    try:
        yield bar
    finally:
        bar.stop()


def _report(report: Any, what: str, json: bool, **more: Any) -> None:
    from dataclasses import asdict

    if json:
        print_json({**asdict(report), **more})
        return
    many = "" if report.imported == 1 else "s"
    parts = [f"{report.imported} {what}{many} imported"]
    if report.unchanged:
        parts.append(f"{report.unchanged} there already")
    if report.differing:
        parts.append(f"{report.differing} there already with other content (the store's was kept)")
    if report.broken:
        parts.append(f"{report.broken} broken and left out")
    out.print(", ".join(parts))
    for problem in report.problems:
        err.print(problem, markup=False)
    if report.broken > len(report.problems):
        err.print(f"… and {report.broken - len(report.problems)} more")


def _passing_row(row: Any) -> dict[str, Any]:
    return {
        "dataset": row.dataset,
        "arm": row.arm,
        "tasks": row.tasks,
        "trials": row.trials,
        "unrewarded": row.unrewarded,
        "mean_reward": row.mean_reward,
        "pass_hat": {str(k): value for k, value in row.pass_hat.items()},
    }


def _draw_passing(rows: list[Any]) -> None:
    table(
        ("dataset", "arm", "tasks", "trials", "reward", "pass^1, 2 …"),
        [
            (
                row.dataset,
                row.arm,
                row.tasks,
                row.trials,
                "" if row.mean_reward is None else f"{row.mean_reward:.3f}",
                ", ".join(f"{value:.3f}" for value in row.pass_hat.values()),
            )
            for row in rows
        ],
        "no imported logs; see: pointwork runs import --help",
    )
