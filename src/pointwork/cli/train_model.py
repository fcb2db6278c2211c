"""``pointwork train model`` and ``pointwork train loop``: adapters for local models."""

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pointwork.cli.output import FAILED, STOPPED, err, out, print_json, table
from pointwork.cli.team import own_store
from pointwork.cli.train_report import check_roles, outlook, show_report
from pointwork.errors import ConfigError, UsageError
from pointwork.roles import ROLES

if TYPE_CHECKING:
    from pointwork.settings import Settings
    from pointwork.store import Store
    from pointwork.training.improving import Loop, Outcome, Plan
    from pointwork.training.publishing import Publishing
    from pointwork.training.rollouts import Task

MODEL = (
    "Examples: [bold]pointwork train model --role worker-small --dry-run[/bold]  "
    "[bold]pointwork train model --role planner --tasks mine.jsonl --algo gigpo[/bold]"
)
LOOP = "Example: [bold]pointwork train loop --tasks mine.jsonl --trials 64[/bold]"

# Parameters of the embedded model, where a size has to be guessed for an estimate.
PARAMETERS = 1.35e8


def _role(role: str) -> str:
    if role not in ROLES:
        raise UsageError(f"no role {role!r}; there are {', '.join(ROLES)}")
    return role


Role = Annotated[str, typer.Option(help=f"The model role to train: {', '.join(ROLES)}.", callback=_role)]
Algo = Annotated[str, typer.Option(help="Advantages: group, dr_grpo, gigpo, per_agent or hdpo.")]
Tasks = Annotated[
    Path | None,
    typer.Option(help="Lines of JSON with task, answer, split (train, held-out), as 'pointwork bench' takes them."),
]
Trials = Annotated[int, typer.Option(min=2, help="Trials to collect: more for tasks whose outcome is uncertain.")]
Most = Annotated[int, typer.Option(min=2, help="Trials of one task, at most.")]
Steps = Annotated[int, typer.Option(min=1, help="Optimiser steps.")]
Groups = Annotated[int, typer.Option(min=1, help="Tasks of a step.")]
Rate = Annotated[float, typer.Option(help="Learning rate.")]
Rank = Annotated[int, typer.Option(min=1, help="Rank of the adapter.")]
Base = Annotated[str | None, typer.Option(help="Weights behind a role that a URL serves: a Hugging Face folder.")]
Workers = Annotated[int, typer.Option(min=1, help="Processes that try tasks.")]
Share = Annotated[float, typer.Option(min=0.1, max=1.0, help="Part of the trials that are waited for.")]
Tokens = Annotated[int, typer.Option(min=500, help="Tokens that one trial may use.")]
Seed = Annotated[int, typer.Option(min=0, help="Of everything drawn.")]
Folder = Annotated[
    Path | None, typer.Option("--out", help="Folder of this training; one that is there is taken up.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done and how long it takes.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@dataclass(frozen=True)
class Asked:
    """What the two commands have in common."""

    plan: "Plan"
    train: "list[Task]"
    held_out: "list[Task]"
    runs: list[str] | None
    folder: Path
    base: str | None
    workers: int
    tokens: int


def model(
    role: Role = "worker-small",
    algo: Algo = "group",
    tasks: Tasks = None,
    trials: Trials = 64,
    most: Most = 8,
    steps: Steps = 8,
    groups: Groups = 8,
    rate: Rate = 1e-4,
    rank: Rank = 16,
    base: Base = None,
    workers: Workers = 1,
    share: Share = 1.0,
    tokens: Tokens = 12_000,
    seed: Seed = 0,
    out_dir: Folder = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Train an adapter for a role, from the runs in the store or from trials of tasks. Publishes nothing.

    Without [bold]--tasks[/bold] the store's runs are learnt from: those of tasks that were tried several times and
    whose outcome is known. With it, the tasks are tried first, by the runtime itself under the role's local model.
    """
    from pointwork.training.improving import Plan

    plan = Plan(role, _kind(algo), trials, most, steps, groups, rate, rank, share=share, seed=seed)
    settings, store = _opened()
    if tasks is None:
        _named(settings, role)
        check_roles(store, [role], imported_as=role)
    train = [] if tasks is None else _split(_read(tasks))[0]
    runs = None if tasks is not None else _all_runs(store)
    asked = Asked(plan, train, [], runs, out_dir or _folder("model", role), base, workers, tokens)
    if dry_run:
        _say_plan(store, asked, settings, json, loop=False)
        return
    with _loop(settings, store, asked, quiet=json) as (made, _):
        outcome = made.turn(only_train=True)
    ok = bool(outcome.training.get("tokens"))
    _end(outcome, json, outcome.reason if ok else f"not trained: {outcome.reason}", ok=ok)


def loop(
    role: Role = "worker-small",
    algo: Algo = "group",
    tasks: Tasks = None,
    rounds: Annotated[int, typer.Option(min=1, help="Turns of the loop.")] = 1,
    trials: Trials = 64,
    most: Most = 8,
    steps: Steps = 8,
    groups: Groups = 8,
    rate: Rate = 1e-4,
    rank: Rank = 16,
    evaluations: Annotated[int, typer.Option(min=1, help="Trials of each held-out task, of each version.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Tasks of each half, at most.")] = None,
    base: Base = None,
    workers: Workers = 1,
    share: Share = 1.0,
    tokens: Tokens = 12_000,
    seed: Seed = 0,
    out_dir: Folder = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Collect, train, verify, evaluate on held-out tasks, and promote, or roll back for a stated reason.

    The candidate goes live only if it is proved to serve, and better than what is live on the held-out tasks, at a
    one-sided 99 % bound. Without [bold]--tasks[/bold]: the training half of the starter suite, cut in two once more
    (its held-out half is for measuring only). Exit code 1 if nothing was promoted.
    """
    from pointwork.training.improving import Plan

    kind = _kind(algo)
    plan = Plan(role, kind, trials, most, steps, groups, rate, rank, evaluations, share=share, seed=seed)
    settings, store = _opened()
    train, held_out = _split(_read(tasks))
    base_folder = out_dir or _folder("loop", role)
    if not settings.adapters:
        raise ConfigError(
            "adapters = false in the configuration: no version would be served, so none can be proved"
        )
    judged = len(held_out[:limit])
    if judged < plan.least:  # said now, not after hours of trials
        err.print(
            f"{judged} held-out tasks are too few to prove a gain ({plan.least} are needed): none will go live"
        )
    outcome: Outcome | None = None
    for number in range(rounds):
        folder = base_folder if rounds == 1 else base_folder / f"round-{number + 1}"
        asked = Asked(plan, train[:limit], held_out[:limit], None, folder, base, workers, tokens)
        if dry_run:
            _say_plan(store, asked, settings, json, loop=True, rounds=rounds)
            return
        with _loop(settings, store, asked, quiet=json) as (made, _):
            outcome = made.turn()
        if number + 1 < rounds:
            err.print(f"round {number + 1}: {_verdict(outcome)}")
    assert outcome is not None
    _end(outcome, json, _verdict(outcome), ok=outcome.promoted)


def _kind(algo: str) -> Any:
    from pointwork.training.samples import Kind

    if algo not in get_args(Kind):
        raise UsageError(f"no advantage estimator is called {algo!r}; there are {', '.join(get_args(Kind))}")
    return algo


def _opened() -> "tuple[Settings, Store]":
    from pointwork.settings import load

    settings = load()
    return settings, own_store(settings)


def _named(settings: "Settings", role: str) -> None:
    """What the store holds can be told from what another model wrote only if the role's own has a name."""
    from pointwork.training.origins import own_models

    if not own_models(settings)[role]:
        address = settings.model_for(role).model.strip()
        raise ConfigError(
            f"role {role!r} is served by {address}, which does not say which model that is, so what it wrote can "
            f"not be told from what others did: write its name behind the address ({address.rstrip('#')}#NAME)"
        )


def _folder(what: str, role: str) -> Path:
    import time

    import platformdirs

    name = f"{what}-{role}-{time.strftime('%Y%m%d-%H%M%S')}"
    return Path(platformdirs.user_data_dir("pointwork")) / "training" / name


def _read(tasks: Path | None) -> "list[Task]":
    from pointwork.bench.tasks import choose, load_tasks, starter_tasks
    from pointwork.training.rollouts import Task

    found = choose(starter_tasks("train")) if tasks is None else load_tasks(tasks)
    # in the starter suite all are "train" here: cut anew
    own = {} if tasks is None else {task.id: task.split for task in found}
    return [
        Task(task.id, task.text, task.checker, None if task.root is None else str(task.root), own.get(task.id, ""))
        for task in found
    ]


def _split(tasks: "list[Task]") -> "tuple[list[Task], list[Task]]":
    """Those to learn from and those to judge by: as their file says, else every second by the hash of its id."""
    import hashlib

    if any(task.split for task in tasks):
        train = [t for t in tasks if t.split != "held-out"]
        if not train:
            raise UsageError(f"all {len(tasks)} tasks are held out: there are none to learn from")
        return train, [t for t in tasks if t.split == "held-out"]
    ranked = sorted(tasks, key=lambda task: hashlib.sha256(task.id.encode()).hexdigest())
    first = {task.id for task in ranked[::2]}
    return [t for t in tasks if t.id in first], [t for t in tasks if t.id not in first]


def _all_runs(store: "Store") -> list[str]:
    from sqlalchemy import select

    from pointwork.store.tables import runs

    return [str(row["id"]) for row in store.rows(select(runs.c.id).order_by(runs.c.created))]


@contextlib.contextmanager
def _loop(
    settings: "Settings", store: "Store", asked: Asked, *, quiet: bool
) -> "Generator[tuple[Loop, Publishing], None, None]":
    from pointwork.budgets import Budget
    from pointwork.cli.team import pull_weights
    from pointwork.models.weights import of_spec
    from pointwork.training.improving import Interrupted, Loop
    from pointwork.training.origins import base_of, lacking, left_behind, own_models
    from pointwork.training.rollouts import Config

    base = base_of(settings, asked.plan.role, asked.base)
    if absent := lacking(base):  # said now, not after hours of trials
        raise ConfigError(_unready(absent))
    from pointwork.training.publishing import ModelTokenizer, Publishing  # torch

    note = left_behind(store, settings, asked.plan.role)
    if note:
        err.print(note, markup=False)
    file = of_spec(settings.model_for(asked.plan.role).model)
    if file is not None:
        pull_weights(file, quiet=quiet)
    publishing = Publishing(settings, asked.plan.role, base, asked.folder / "versions")
    config = Config(settings, budget=Budget(tokens=asked.tokens), seed=asked.plan.seed)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=err, disable=quiet) as progress:
            bar = progress.add_task("", total=None)

            def tell(stage: str, done: int, of: int) -> None:
                progress.update(bar, description=stage, completed=done, total=of or None)

            with Loop(
                store,
                config,
                asked.train,
                asked.held_out,
                asked.plan,
                asked.folder,
                publishing,
                base=base,
                runs=asked.runs,
                workers=asked.workers,
                tokenizer=None if asked.runs is None else ModelTokenizer(base),
                models=own_models(settings),
                tell=tell,
            ) as made:
                yield made, publishing
    except KeyboardInterrupt:
        err.print(f"stopped; nothing was switched. The same command with --out {asked.folder} goes on")
        raise typer.Exit(STOPPED) from None
    except Interrupted as error:
        err.print(str(error), markup=False)
        raise typer.Exit(STOPPED) from None
    finally:
        publishing.close()


def _say_plan(
    store: "Store", asked: Asked, settings: "Settings", json: bool, *, loop: bool, rounds: int = 1
) -> None:
    from pointwork.training.data import collect
    from pointwork.training.estimating import estimate, shown
    from pointwork.training.origins import base_of, lacking, left_behind, live_on, own_models

    plan = asked.plan
    try:
        weights = base_of(settings, plan.role, asked.base)
        absent = lacking(weights)
    except ConfigError as error:
        weights, absent = None, [str(error)]
    tried = 0 if asked.runs is not None else min(plan.trials, plan.most * len(asked.train))
    judged = 2 * plan.evaluations * len(asked.held_out) if loop else 0
    parent, note = live_on(store, settings, plan.role), left_behind(store, settings, plan.role)
    found = estimate(
        store,
        trials=tried,
        evaluations=judged,
        steps=plan.steps,
        groups=plan.groups,
        most=plan.most,
        parameters=PARAMETERS,
        workers=asked.workers,
    )
    seconds = {name: value for name, value in found.as_json().items() if name != "seen"}
    said: dict[str, Any] = {
        "role": plan.role,
        "model": settings.model_for(plan.role).model,
        "weights": weights,
        "missing": absent,
        "goes_on_from": None if parent is None else parent["version"],
        "algo": plan.kind,
        "rounds": rounds,
        "tasks": len(asked.train),
        "held_out": len(asked.held_out),
        "trials": tried,
        "evaluation_trials": judged,
        "steps": plan.steps,
        "folder": str(asked.folder),
        "seconds": seconds,
        "seconds_from_trials": found.seen,
    }
    report = None
    if asked.runs is not None:
        own = own_models(settings)
        there = collect(store, roles=[plan.role], run_ids=asked.runs, imported_as=plan.role, models=own)
        report = said["data"] = there.report.as_json()
        note = "\n".join(line for line in (note, outlook(there, plan.role, plan.kind)) if line)
    if note:
        err.print(note, markup=False)
    if json:
        print_json(said)
    else:
        apart = ("data", "seconds", "missing")
        table(("", ""), [(name, value) for name, value in said.items() if name not in apart], "")
        basis = f"from {found.seen} earlier trials" if found.seen else "no trial was seen yet: a guess"
        out.print(
            f"would take {shown(seconds)} per round ({basis}, and this machine's speed now); nothing was done"
        )
        if report is not None:
            show_report(report)
    if absent:
        raise ConfigError(_unready(absent))


def _unready(absent: list[str]) -> str:
    return f"training can not begin: {'; '.join(absent)}"


def _verdict(outcome: "Outcome") -> str:
    return f"{'promoted' if outcome.promoted else 'rolled back'}: {outcome.reason}"


def _end(outcome: "Outcome", json: bool, verdict: str, *, ok: bool) -> None:
    if json:
        print_json(outcome.as_json())
    else:
        figures = outcome.training
        names = ("steps", "reward", "loss", "entropy", "clipped", "skipped_groups", "tokens", "grad_norm")
        rows = [(name, f"{figures[name]:.4g}") for name in names if name in figures]
        rows += [(f"seconds: {stage}", f"{seconds:.1f}") for stage, seconds in outcome.seconds.items()]
        rows += [("serves the role now", outcome.live or "the base model")]
        table(("", ""), rows, "")
        out.print(verdict, markup=False)
    if not ok:
        raise typer.Exit(FAILED)
