"""``pointwork runs``: list, show, resume; export, import and stats are in ``portable``."""

from typing import Annotated, Any

import typer
from rich.markup import escape

from pointwork.cli import portable
from pointwork.cli.output import OK, ago, money, out, print_json, table
from pointwork.cli.running import converse, draw, finish
from pointwork.cli.team import open_team

app = typer.Typer(help="Runs in the store: list, show, resume, export, import.", no_args_is_help=True)
app.command("export", epilog=portable.EXPORT_RUNS)(portable.export_runs)
app.command("import", epilog=portable.IMPORT_RUNS)(portable.import_runs)
app.command("stats", epilog=portable.STATS)(portable.stats)

RunId = Annotated[str, typer.Argument(help="The run; an unambiguous beginning of its id is enough.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _store() -> Any:
    from pointwork.settings import load
    from pointwork.store import default_url, open_store

    return open_store(load().store or default_url())


@app.command("list", epilog="Example: [bold]pointwork runs list --limit 5 --json[/bold]")
def list_(
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20, json: Json = False
) -> None:
    """List the latest runs, newest first."""
    from pointwork.agents.runs import list_runs

    rows = list_runs(_store(), limit)
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


@app.command(epilog="Example: [bold]pointwork runs show 019a3f[/bold]")
def show(run_id: RunId, json: Json = False) -> None:
    """Show a run: task, plan, decisions, model and tool calls, money."""
    from pointwork.agents.runs import show_run

    found = show_run(_store(), run_id)
    if json:
        print_json(found)
        return
    run = found["run"]
    out.print(f"[bold]{escape(run['task'])}[/bold]")
    result = run["result"]
    out.print(f"[dim]run {run['id']} · {run['status']} · {ago(run['created'])}[/dim]")
    if run["error"]:
        out.print(f"[red]{escape(run['error'])}[/red]")
    if result is not None:
        out.print(f"answer: {escape(result['text']) or '(none)'}")
        for line in result["missing"]:
            out.print(f"missing: {escape(line)}")
        out.print(f"plan by {result['plan']['author']}:")
        for subtask in result["plan"]["subtasks"]:
            needs = f" after {', '.join(subtask['needs'])}" if subtask["needs"] else ""
            out.print(f"  {subtask['id']} {escape(subtask['capability'])}: {escape(subtask['text'])}{needs}")
    table(
        ("subtask", "arm", "p", "policy"),
        [(row["subtask"], row["arm"], f"{row['propensity']:.2f}", row["policy"]) for row in found["decisions"]],
        "no decisions",
    )
    table(
        ("step", "by", "model", "tokens", "cost", "s", "output"),
        [
            (
                step["kind"],
                step["agent"],
                step["model"],
                (step["prompt_tokens"] or 0) + (step["completion_tokens"] or 0),
                money((step["usd_nano"] or 0) / 1e9),
                f"{step['seconds'] or 0:.1f}",
                _said(step["error"], step["output"]),
            )
            for step in found["steps"]
        ],
        "no model calls",
    )
    table(
        ("tool", "status", "arguments", "result"),
        [
            (
                call["tool"],
                call["status"],
                str(call["arguments"])[:60],
                _said(call["error"], call["result"]),
            )
            for call in found["tool_calls"]
        ],
        "no tool calls",
    )


def _said(error: str | None, output: dict[str, Any] | None) -> str:
    text = error if error else str(output["text"]) if output and "text" in output else ""
    return " ".join(text.split())[:60]


@app.command(epilog="Example: [bold]pointwork runs resume 019a3f[/bold]")
def resume(run_id: RunId, json: Json = False) -> None:
    """Go on with a run that was interrupted or killed; of a finished run, print its result."""
    from pointwork.agents.result import FINISHED
    from pointwork.agents.runs import find_run

    run = find_run(_store(), run_id)
    with open_team(quiet=json, models=run["status"] not in FINISHED) as team:
        result = draw(team.stream_resume(run["id"]), quiet=json)
        finish(result if json else converse(team, result), json, code=OK if run["status"] in FINISHED else None)


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
        finish(result if json else converse(team, result), json)
