"""``pointwork bench``: is the team worth its money on my model?"""

import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from pointwork.cli import bench_memory
from pointwork.cli.output import STOPPED, err, out, print_json
from pointwork.errors import UsageError
from pointwork.roles import ROLES

if TYPE_CHECKING:
    from pointwork.bench.pairs import Pair
    from pointwork.bench.report import Row, Run
    from pointwork.bench.runner import Folder
    from pointwork.bench.systems import Setup
    from pointwork.bench.tasks import Task
    from pointwork.memory.playbook import Bullet
    from pointwork.models import Price
    from pointwork.settings import Settings

app = typer.Typer(help="Measure the team beside the model that it is made of.", no_args_is_help=True)
app.command("memory", epilog=bench_memory.EPILOG)(bench_memory.memory)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


class Split(StrEnum):
    """Which half of the suite."""

    TRAIN = "train"
    HELD_OUT = "held-out"
    ALL = "all"


@app.command(
    "starter",
    epilog="Examples: [bold]pointwork bench starter --limit 12[/bold]  "
    "[bold]pointwork bench starter --model worker-large=openai/gpt-5 --split held-out --out runs/gpt[/bold]  "
    "[bold]pointwork bench starter --tasks mine.jsonl --plot[/bold]",
)
def starter(
    model: Annotated[
        list[str] | None,
        typer.Option(help="ROLE=SPEC, or SPEC for all roles, as in pointwork.toml. May be given several times."),
    ] = None,
    tasks: Annotated[
        Path | None,
        typer.Option(help='Tasks of your own: lines of JSON with "task", "answer" or "checker", "files".'),
    ] = None,
    split: Annotated[
        Split | None, typer.Option(help="Half of the suite; default: train, or all of your own tasks.")
    ] = None,
    kinds: Annotated[str, typer.Option(help="Kinds of task, with commas between; default: all.")] = "",
    systems: Annotated[str, typer.Option(help="Systems to compare, with commas between; default: all.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="Most tasks, of each kind in turn.")] = None,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    out_: Annotated[
        Path | None, typer.Option("--out", help="Folder of this run; the same again goes on where it was.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE of pointwork.toml, such as planner.mode=rules.")
    ] = None,
    price: Annotated[
        str, typer.Option(help="USD per million prompt,completion tokens; 'own': each model's own price.")
    ] = "0.10,0.40",
    learn: Annotated[
        bool, typer.Option("--learn", help="Router and memory go on from task to task; else each starts anew.")
    ] = False,
    store: Annotated[
        str | None,
        typer.Option(
            help="URL of a store whose playbook every team begins with; a small model sees it with "
            "--set memory.advice=always."
        ),
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw success against cost into the run's folder.")] = False,
    json: Json = False,
) -> None:
    """Ask the team and its rivals the tasks of the starter suite, or your own.

    Prints success with its interval, money, seconds, tokens, model calls and money per right answer, per kind of
    task and in all. Ctrl-C keeps what is done.
    """
    from pointwork.bench.runner import about_run
    from pointwork.bench.systems import SYSTEMS, Setup
    from pointwork.extras import require
    from pointwork.settings import load

    if plot:  # before an hour of work, not after it
        require("matplotlib")
    settings = with_settings(load(), model or [], set_ or [])
    known, chosen = _tasks(tasks, split, kinds, limit)
    names = _listed(systems, list(SYSTEMS), "system") or list(SYSTEMS)
    place = out_ or default_folder() / time.strftime("%Y%m%d-%H%M%S")
    setup = Setup(settings, _price(price), seed, learn, place, _playbook(store))
    specs = {role: settings.model_for(role).model for role in ROLES}
    about = about_run(setup, known, specs, str(tasks) if tasks else "starter")
    folder, finished = _run(setup, about, chosen, names, quiet=json)
    asked = {task.id for task in chosen}
    run = _summary(folder, asked, names)
    if plot and run.rows:
        from pointwork.bench.plot import draw

        draw([run], folder.path / "report.png")
    _print(run, folder.path, json)
    if not finished:
        err.print(f"stopped; go on with the same command and --out {folder.path}")
        raise typer.Exit(STOPPED)


@app.command(
    "report",
    epilog="Examples: [bold]pointwork bench report --out runs[/bold]  "
    "[bold]pointwork bench report --out runs --against base[/bold]",
)
def report(
    out_: Annotated[Path | None, typer.Option("--out", help="Folder of a run, or of several.")] = None,
    against: Annotated[
        str | None, typer.Option(help="Put all runs beside this one, on the tasks that both were asked.")
    ] = None,
    system: Annotated[str, typer.Option(help="Whose answers are put beside each other.")] = "team",
    json: Json = False,
) -> None:
    """Draw success against cost for all runs so far (report.png in the folder), and list the runs.

    With --against: a column per run, its success per kind of task, and its difference to that run with an interval.
    """
    from pointwork.bench.pairs import beside
    from pointwork.bench.plot import draw
    from pointwork.bench.report import runs_in
    from pointwork.bench.systems import SYSTEMS

    place = out_ or default_folder()
    runs = runs_in(place)
    _listed(system, list(SYSTEMS), "system")
    pairs, remarks = ([], []) if against is None else beside(runs, against, system)
    picture = place / "report.png"
    draw(runs, picture)
    totals = [(run, row) for run in runs for name in SYSTEMS if (row := run.total(name))]
    if json:
        print_json(
            {
                "picture": str(picture),
                "runs": [{"run": run.name, **run.about, "rows": [r.as_json() for r in run.rows]} for run in runs],
                "against": against,
                "pairs": [pair.as_json() for pair in pairs],
                "remarks": remarks,
            }
        )
        return
    if against is None:
        _rows([(run.name, run.models, row) for run, row in totals])
    else:
        _beside(runs, against, pairs, remarks)
    out.print(f"picture: {picture}", markup=False)


def _beside(runs: "list[Run]", against: str, pairs: "list[Pair]", remarks: list[str]) -> None:
    """A row per kind of task, a column per run; below it money and time, and what is different about each run."""
    from pointwork.bench.pairs import changes

    base = next(run for run in runs if run.name == against)
    names = list(dict.fromkeys(pair.run for pair in pairs))
    found = {(pair.kind, pair.run): pair for pair in pairs}
    system = pairs[0].system
    own = {row.kind: row for row in base.rows if row.system == system}
    lines: list[tuple[str, ...]] = [("kind", f"{against}, {system}", *names)]
    for kind, row in own.items():
        cells = [
            f"{p.right}/{p.tasks}  {p.difference:+.0%} ({p.low:+.0%} to {p.high:+.0%})"
            if (p := found.get((kind, name)))
            else "-"
            for name in names
        ]
        lines.append((kind, f"{row.right}/{row.tasks}  {row.success:.0%}", *cells))
    last = list(own)[-1]
    whole = {name: found[last, name] for name in names if (last, name) in found}
    lines.append(
        _figures("$/1000", own[last].usd * 1000, [whole[n].usd * 1000 if n in whole else None for n in names])
    )
    lines.append(_figures("s", own[last].seconds, [whole[n].seconds if n in whole else None for n in names]))
    _aligned(lines)
    out.print("\n[dim]differences of success on the same tasks, with 95 % intervals[/dim]")
    for run in runs:
        if run.name in names:
            what = "; ".join(changes(base.about, run.about)) or "nothing that is kept: another version of the code"
            out.print(Text(f"{run.name}: {what}", style="dim"))
    for remark in remarks:
        out.print(Text(remark, style="yellow"))


def _figures(what: str, base: float, others: Sequence[float | None]) -> tuple[str, ...]:
    return what, f"{base:.3g}", *("-" if value is None else f"{value:.3g}" for value in others)


def default_folder() -> Path:
    """Where runs are kept that were given no folder."""
    from platformdirs import user_data_dir

    return Path(user_data_dir("pointwork")) / "bench"


def with_settings(settings: "Settings", models: Sequence[str], values: Sequence[str]) -> "Settings":
    """A configuration with models and values of the command line in it.

    Raises:
        UsageError: a role, key or value that the configuration does not know.
    """
    from pydantic import ValidationError

    from pointwork.settings import Settings

    changed: dict[str, Any] = settings.model_dump(exclude_unset=True)
    for given in models:
        role, equals, spec = given.partition("=")
        if not equals or role not in ROLES:
            # a spec may have a = in it: http://host/v1?a=b
            if equals and "/" not in role and ":" not in role:
                raise UsageError(f"--model {given}: there is no role {role!r}; there are {', '.join(ROLES)}")
            changed.setdefault("models", {}).update({name: {"model": given} for name in ROLES})
        else:
            changed.setdefault("models", {})[role] = {"model": spec}
    for given in values:
        _set(changed, given)
    try:
        return Settings.model_validate(changed)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"--set or --model: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _set(values: dict[str, Any], given: str) -> None:
    """Put one KEY=VALUE into nested sections; a value that is not JSON is a text."""
    import json

    key, equals, text = given.partition("=")
    *path, last = key.split(".")
    if not equals or not last:
        raise UsageError(f"--set {given}: write KEY=VALUE, such as planner.mode=rules")
    for part in path:
        inner: object = values.setdefault(part, {})
        if not isinstance(inner, dict):
            raise UsageError(f"--set {given}: {part!r} is not a section")
        values = cast(dict[str, Any], inner)
    try:
        values[last] = json.loads(text)
    except ValueError:
        values[last] = text


def _listed(text: str, known: Sequence[str], what: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise UsageError(f"there is no {what} {name!r}; there are {', '.join(known)}")
    return list(dict.fromkeys(names))


def _tasks(
    path: Path | None, split: Split | None, kinds: str, limit: int | None
) -> "tuple[list[Task], list[Task]]":
    """All tasks of the suite or the file, and those that are asked."""
    from pointwork.bench.tasks import choose, load_tasks, starter_tasks

    tasks = starter_tasks("all") if path is None else load_tasks(path)
    wanted = split.value if split else "train" if path is None else "all"
    there = list(dict.fromkeys(task.kind for task in tasks))
    return tasks, choose(tasks, split=wanted, kinds=_listed(kinds, there, "kind"), limit=limit)


def _price(text: str) -> "Price | None":
    from pointwork.models import Price

    if text == "own":
        return None
    try:
        prompt, completion = (float(part) for part in text.split(","))
        if not (0 <= prompt < 1e6 and 0 <= completion < 1e6):
            raise ValueError
    except ValueError:
        raise UsageError(f"--price {text}: write USD per million tokens, prompt,completion: 0.10,0.40") from None
    return Price(prompt, completion)


def _playbook(url: str | None) -> "tuple[Bullet, ...]":
    """What a store's playbook advises.

    Raises:
        UsageError: nothing.
    """
    from pointwork.memory.playbook import LIVE, Playbook
    from pointwork.store import Store
    from pointwork.store.engine import parse_url, sqlite_path

    if url is None:
        return ()
    file = sqlite_path(parse_url(url))
    if file is not None and not Path(file).is_file():  # to open it would make it
        raise UsageError(f"--store {url}: there is no file {file}")
    store = Store(url)
    try:
        live = tuple(bullet for bullet in Playbook(store).bullets() if bullet.state == LIVE)
    finally:
        store.close()
    if not live:
        raise UsageError(f"--store {url}: its playbook is empty; fill it with pointwork memory learn")
    return live


def _run(
    setup: "Setup", about: dict[str, Any], tasks: "list[Task]", systems: list[str], *, quiet: bool
) -> "tuple[Folder, bool]":
    """Ask; the folder with what is kept, and whether it came to the end."""
    from pointwork.bench.runner import Folder, latest, run
    from pointwork.bench.systems import Bench
    from pointwork.cli.team import pull_weights
    from pointwork.settings import EMBEDDED

    if EMBEDDED in about["models"].values() and set(systems) != {"parsers"}:
        pull_weights(quiet=quiet)
    folder = Folder(setup.folder or Path(), about)
    asked = {(task.id, system) for task in tasks for system in systems}
    done = sum((record.task, record.system) in asked and not record.error for record in latest(folder.records))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bench(setup) as bench, Progress(*columns, console=err, disable=quiet) as progress:
        bar = progress.add_task("asking", total=len(asked), completed=done)
        right = 0
        try:
            for record in run(bench, tasks, systems, folder):
                right += record.right
                progress.update(bar, advance=1, description=f"{record.system} {record.task}, {right} right")
        except KeyboardInterrupt:
            return folder, False
    return folder, True


def _summary(folder: "Folder", tasks: set[str], systems: list[str]) -> "Run":
    from pointwork.bench.report import Run, summarise
    from pointwork.bench.runner import read_about

    order = {name: number for number, name in enumerate(systems)}
    records = [record for record in folder.records if record.task in tasks and record.system in order]
    records.sort(key=lambda record: order[record.system])
    return Run(folder.path.name, read_about(folder.path), summarise(records))


def _print(run: "Run", folder: Path, as_json: bool) -> None:
    from pointwork.bench.systems import SYSTEMS

    if as_json:
        print_json(
            {"folder": str(folder), "run": run.about, "systems": SYSTEMS, "rows": [r.as_json() for r in run.rows]}
        )
        return
    _rows([("", "", row) for row in run.rows])
    out.print()
    for name in dict.fromkeys(row.system for row in run.rows):
        out.print(f"[dim]{name}: {SYSTEMS[name]}[/dim]")
    price = run.about["price"]
    at = "each model's own price" if price is None else f"{price[0]:g} / {price[1]:g} USD per million tokens"
    out.print(f"[dim]models: {run.models}; money at {at}; seconds, tokens and calls are means per task[/dim]")
    out.print(f"[dim]answers in {folder}[/dim]")


def _rows(rows: "list[tuple[str, str, Row]]") -> None:
    """A table; the run's name and models stand in it if there are several."""
    from pointwork.bench.report import COLUMNS, cells

    named = any(name for name, _, _ in rows)
    columns = ("run", "model", *COLUMNS) if named else COLUMNS
    lines = [(name, models, *cells(row)) if named else cells(row) for name, models, row in rows]
    if not lines:
        out.print("no task was answered yet")
        return
    kind = columns.index("kind")
    spaced = [columns]
    for number, line in enumerate(lines):
        spaced += [(), line] if number and line[kind] != lines[number - 1][kind] else [line]
    _aligned(spaced)


def _aligned(lines: Sequence[Sequence[str]]) -> None:
    """Lines of cells, the first in bold.

    Not rich's table: where there is no terminal it cuts columns, and these are made to be kept in a file.
    """
    widths = [max(len(line[n]) for line in lines if line) for n in range(len(lines[0]))]
    for number, line in enumerate(lines):
        padded = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False))
        out.print(Text(padded.rstrip(), style="bold" if number == 0 else ""))
