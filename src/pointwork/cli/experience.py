"""``pointwork memory playbook|learn|facts|skills``: what the team knows from experience."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from pointwork.cli.output import err, out, print_json, table
from pointwork.cli.team import own_store

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
BulletId = Annotated[str, typer.Argument(help="Id of the bullet.")]

playbook = typer.Typer(help="Advice that runs are given: list, add, vote, approve, remove.", no_args_is_help=True)


def _playbook() -> Any:
    from pointwork.memory.playbook import Playbook

    return Playbook(own_store())


def _said(bullet: Any) -> dict[str, Any]:
    names = ("id", "section", "text", "helpful", "harmful", "sources", "state")
    return {name: getattr(bullet, name) for name in names}


def _report(book: Any, bullet_id: str, json: bool) -> None:
    [bullet] = [bullet for bullet in book.bullets() if bullet.id == bullet_id]
    if json:
        print_json(_said(bullet))
    else:
        out.print(f"{bullet.id}: {bullet.state}, +{bullet.helpful}/-{bullet.harmful}")


@playbook.command("list", epilog="Example: [bold]pointwork memory playbook list --section mistakes[/bold]")
def list_(
    section: Annotated[str | None, typer.Option(help="Only this section.")] = None, json: Json = False
) -> None:
    """List bullets with their votes and sources, those that wait for approval and retired ones too."""
    found = _playbook().bullets(section)
    if json:
        print_json([_said(bullet) for bullet in found])
        return
    table(
        ("id", "section", "state", "votes", "sources", "text"),
        [
            (b.id, b.section, b.state, f"+{b.helpful}/-{b.harmful}", ", ".join(b.sources[:2]), b.text[:90])
            for b in found
        ],
        "the playbook is empty",
    )


@playbook.command(epilog='Example: [bold]pointwork memory playbook add tables "Count rows with count."[/bold]')
def add(
    section: Annotated[str, typer.Argument(help="What it is about: tables, mistakes, …")],
    text: Annotated[str, typer.Argument(help="A sentence or two.")],
    source: Annotated[str, typer.Option(help="Where it is from.")] = "cli",
    trust: Annotated[str, typer.Option(help="Who wrote it; tool and web wait for approval.")] = "user",
    json: Json = False,
) -> None:
    """Add a bullet, or vote for the one that says the same."""
    book = _playbook()
    _report(book, book.add(section, text, sources=[source], trust=trust), json)


@playbook.command(epilog="Example: [bold]pointwork memory playbook vote 019a… --harmful[/bold]")
def vote(
    bullet_id: BulletId,
    helpful: Annotated[bool, typer.Option("--helpful/--harmful", help="Whether it helped.")] = True,
    json: Json = False,
) -> None:
    """Vote for or against a bullet; two more votes against than for retire it."""
    book = _playbook()
    book.vote(bullet_id, helpful=helpful)
    _report(book, bullet_id, json)


@playbook.command(epilog="Example: [bold]pointwork memory playbook approve 019a…[/bold]")
def approve(bullet_id: BulletId, json: Json = False) -> None:
    """Let agents see a bullet that waits: you have read it."""
    book = _playbook()
    book.approve(bullet_id)
    _report(book, bullet_id, json)


@playbook.command(epilog="Example: [bold]pointwork memory playbook remove 019a…[/bold]")
def remove(bullet_id: BulletId, json: Json = False) -> None:
    """Delete a bullet."""
    _playbook().remove(bullet_id)
    print_json({"removed": bullet_id}) if json else out.print(f"removed {bullet_id}")


def learn(
    tasks: Annotated[
        Path | None,
        typer.Option(help="Tasks with answers, as of `bench starter`: whether their runs and replays are right."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Runs that are looked at, the latest.")] = 50,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the failures by kind, replay nothing.")] = False,
    json: Json = False,
) -> None:
    """Learn from the runs of the store: plans that worked become skills, mistakes notes if a replay proves them.

    Failures are clustered; the tasks of each cluster run again without and with a note, in stores of their own, and
    a note is kept only if more of them go well with it. What has no answer in --tasks goes well if it passes the
    team's own checks. Runs whose folder is gone are left out. This calls the models.
    """
    from pointwork.agents.learning import failures, learn_mistakes
    from pointwork.bench.tasks import load_tasks
    from pointwork.cli.team import open_team
    from pointwork.memory.mistakes import clusters

    right = {} if tasks is None else {task.text: task.checker.right for task in load_tasks(tasks)}
    if dry_run:
        kinds = clusters(failures(own_store(), limit, right))
        shown: list[dict[str, Any]] = [
            {"failures": len(kind), "mistake": kind[0].mistake, "task": kind[0].task} for kind in kinds
        ]
        if json:
            print_json(shown)
            return
        table(
            ("failures", "mistake", "task"),
            [(s["failures"], s["mistake"][:60], s["task"][:60]) for s in shown],
            "no failures",
        )
        return
    with open_team(quiet=json) as team:
        skills = team.services.skills.learn()
        with err.status("replaying …") as status:
            trials = learn_mistakes(team, right=right, limit=limit, tell=status.update)
    if json:
        rows = [
            {"note": t.note, "tasks": len(t.failures), "before": t.before, "after": t.after, "kept": t.kept}
            for t in trials
        ]
        print_json({"skills": skills, "trials": rows})
        return
    out.print(f"{skills} run{'s' if skills != 1 else ''} with plans that worked")
    table(
        ("kept", "without", "with", "tasks", "note"),
        [
            ("yes" if t.kept else "no", f"{t.before:.2f}", f"{t.after:.2f}", len(t.failures), t.note[:90])
            for t in trials
        ],
        "no mistake was made twice",
    )


def facts(
    subject: Annotated[str | None, typer.Argument(help="Whose; all if none is named.")] = None,
    extract: Annotated[
        bool, typer.Option("--extract", help="First take in what the items of an older store state.")
    ] = False,
    json: Json = False,
) -> None:
    """List facts with the time in which they held and their sources."""
    from pointwork.memory import Memory

    known = Memory(own_store()).facts
    if extract:
        known.extract()
    found = known.all() if subject is None else known.history(subject)
    names = ("subject", "relation", "value", "valid_from", "valid_to", "sources", "trust", "disputed")
    if json:
        print_json([{name: getattr(fact, name) for name in names} for fact in found])
        return
    table(
        ("subject", "relation", "value", "from", "to", "trust", "sources"),
        [
            (f.subject, f.relation, f.value, _day(f.valid_from), _day(f.valid_to),
             f.trust + (", disputed" if f.disputed else ""), ", ".join(f.sources[:3]))
            for f in found
        ],
        "nothing is known",
    )  # fmt: skip


def skills(json: Json = False) -> None:
    """List the plans that worked, with how often and on what."""
    from pointwork.memory.skills import Skills

    found = Skills(own_store()).all()
    if json:
        print_json([{"id": s.id, "shape": s.shape, "sources": s.sources, "examples": s.examples} for s in found])
        return
    table(
        ("runs", "shape", "for example"),
        [(len(s.sources), s.shape, s.examples[-1][0][:70] if s.examples else "") for s in found],
        "no plan of several steps has worked yet",
    )


def _day(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M").removesuffix(" 00:00")


def attach(app: typer.Typer) -> None:
    """Put the commands under ``pointwork memory``."""
    app.add_typer(playbook, name="playbook")
    app.command("learn", epilog="Example: [bold]pointwork memory learn --dry-run[/bold]")(learn)
    app.command("facts", epilog='Example: [bold]pointwork memory facts "gate"[/bold]')(facts)
    app.command("skills", epilog="Example: [bold]pointwork memory skills --json[/bold]")(skills)
