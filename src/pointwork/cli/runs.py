"""``pointwork runs``: list, show, resume; export, import and stats are in ``portable``."""

from pathlib import Path
from typing import Annotated

import typer

from pointwork.cli import portable
from pointwork.cli.output import OK, ago, money, out, print_json, table
from pointwork.cli.running import converse, draw, finish
from pointwork.cli.showing import draw_story
from pointwork.cli.team import open_team, own_store

app = typer.Typer(help="Runs in the store: list, show, resume, export, import.", no_args_is_help=True)
app.command("export", epilog=portable.EXPORT_RUNS)(portable.export_runs)
app.command("import", epilog=portable.IMPORT_RUNS)(portable.import_runs)
app.command("stats", epilog=portable.STATS)(portable.stats)

RunId = Annotated[str, typer.Argument(help="The run; an unambiguous beginning of its id is enough.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list", epilog="Example: [bold]pointwork runs list --limit 5 --json[/bold]")
def list_(
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20, json: Json = False
) -> None:
    """List the latest runs, newest first."""
    from pointwork.agents.runs import list_runs

    rows = list_runs(own_store(), limit)
    if json:
        print_json(rows)
        return
    table(
        ("run", "status", "when", "cost", "tokens", "task"),
        [
            (
                row["run_id"],
                row["status"],
                ago(row["created"]),
                money(row["cost"]["usd"]),
                row["cost"]["tokens"],
                " ".join(row["task"].split())[:80],
            )
            for row in rows
        ],
        'no runs yet; try: pointwork run "What is 17% of 2340?"',
    )


@app.command(
    epilog="Examples: [bold]pointwork runs show 019a3f[/bold]  "
    "[bold]pointwork runs show 019a3f --verbose --plot run.png[/bold]"
)
def show(
    run_id: RunId,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Each candidate arm, each model call, results uncut.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the run on its time line into this PNG.")] = None,
    json: Json = False,
) -> None:
    """Draw a run: plans as trees, each try with its arm, its calls, its money, and its place on the time line.

    In a bar ░ is the try's span, █ a model at work, ▓ a tool. --json gives all that is stored of it.
    """
    from pointwork.agents.runs import show_run
    from pointwork.cli.story import story_of

    found = show_run(own_store(), run_id)
    story = story_of(found)
    if plot is not None:
        from pointwork.cli.gantt import draw_gantt

        draw_gantt(story, plot)
    if json:
        print_json(found)
        return
    draw_story(story, out, verbose=verbose)
    if plot is not None:
        out.print(f"picture: {plot}", markup=False)


@app.command(epilog="Example: [bold]pointwork runs resume 019a3f[/bold]")
def resume(run_id: RunId, json: Json = False) -> None:
    """Go on with a run that was interrupted or killed; of a finished run, print its result."""
    from pointwork.agents.result import FINISHED
    from pointwork.agents.runs import find_run

    run = find_run(own_store(), run_id)
    with open_team(quiet=json, models=run["status"] not in FINISHED) as team:
        result = draw(team.stream_resume(run["id"]), quiet=json)
        finish(
            result if json else converse(team, result, draw), json, code=OK if run["status"] in FINISHED else None
        )


@app.command(epilog="Example: [bold]pointwork runs answer 019a3f approve[/bold]")
def answer(
    run_id: RunId,
    said: Annotated[str, typer.Argument(help="approve, deny, done or repeat, as the run asks.", metavar="ANSWER")],
    question: Annotated[str | None, typer.Option(help="Answer only this question, by its id.")] = None,
    json: Json = False,
) -> None:
    """Answer what a run waits for, and let it go on."""
    with open_team(quiet=json) as team:
        given = said if question is None else {question: said}
        result = draw(team.stream_resume(run_id, given), quiet=json)
        finish(result if json else converse(team, result, draw), json)
