"""``pointwork run`` and what it draws while it runs; ``runs resume`` draws the same."""

import sys
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from pointwork.cli import output
from pointwork.cli.output import BUDGET, FAILED, OK, STOPPED, err, money, out, print_json
from pointwork.cli.team import open_team

if TYPE_CHECKING:
    from pointwork.agents import Team

EXAMPLE = (
    'Examples: [bold]pointwork run "What is 17% of 2340?"[/bold]  '
    '[bold]pointwork run "Which month had the highest sales?" --root ./data --budget-usd 0.01 --json[/bold]'
)


def run(
    task: Annotated[str, typer.Argument(help="What to do, in your own words.")],
    root: Annotated[
        Path, typer.Option(help="The folder that agents may read. Nothing outside it is read.")
    ] = Path(),
    budget_usd: Annotated[float | None, typer.Option(help="Most money to spend, in US dollars.")] = None,
    budget_seconds: Annotated[float | None, typer.Option(help="Most time to take, in seconds.")] = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Most tokens to use.")] = None,
    thread: Annotated[
        str | None, typer.Option(help="Name of a conversation; its runs remember each other.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object: the result.")] = False,
) -> None:
    """Run a task: plan it, route its parts, act, check, answer.

    Exit code 0: answered. 1: an answer failed its checks, or none came. 2: wrong usage. 3: the budget ended it.
    """
    from dataclasses import asdict, replace

    from pointwork.budgets import Budget

    asked = Budget(usd=budget_usd, seconds=budget_seconds, tokens=budget_tokens)
    with open_team(quiet=json) as team:
        given = {name: value for name, value in asdict(asked).items() if value is not None}
        budget = replace(team.settings.default_budget(), **given)
        result = draw(team.stream(task, budget=budget, thread=thread, root=root), quiet=json)
        finish(result if json else converse(team, result, draw), json)


def converse(team: "Team", result: dict[str, Any], follow: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """Put a run's questions to whoever sits at the terminal, and let it go on with the answers.

    Args:
        follow: ``draw``, or ``follow`` where Ctrl-C ends the run only.
    """
    while result["status"] == "waiting" and sys.stdin.isatty():
        answers = {
            question["id"]: _choose(question["question"], question["answers"]) for question in result["questions"]
        }
        result = follow(team.stream_resume(result["run_id"], answers), quiet=False)
    return result


def _choose(question: str, answers: list[str]) -> str:
    said = ""
    while said not in answers:
        said = typer.prompt(output.harmless(f"{question} [{'/'.join(answers)}]"))
    return said


def finish(result: dict[str, Any], as_json: bool, code: int | None = None) -> None:
    """Print a result and exit with its code, or with the one given."""
    if as_json:
        print_json(result)
    else:
        show_result(result)
    raise typer.Exit(exit_code(result["status"]) if code is None else code)


def exit_code(status: str) -> int:
    """0: answered. 3: the budget ended it. 1: anything else."""
    return {"ok": OK, "budget_exhausted": BUDGET}.get(status, FAILED)


class Stopped(Exception):
    """Ctrl-C ended a run; if it had begun, it is stored and can be gone on with."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"stopped; go on with: pointwork runs resume {run_id}" if run_id else "stopped")
        self.run_id = run_id


def draw(events: Generator[dict[str, Any], None, None], *, quiet: bool) -> dict[str, Any]:
    """``follow``, where Ctrl-C ends the command."""
    try:
        return follow(events, quiet=quiet)
    except Stopped as stopped:
        err.print(str(stopped))
        raise SystemExit(STOPPED) from None


def follow(events: Generator[dict[str, Any], None, None], *, quiet: bool) -> dict[str, Any]:
    """Follow a run, printing a line per event; its result as JSON types.

    Raises:
        Stopped: Ctrl-C; the run has stored that it was interrupted.
    """
    result: dict[str, Any] = {}
    working: dict[str, str] = {}
    run_id = ""
    with err.status("planning …") if not quiet and err.is_terminal else _Silent() as status:
        try:
            with closing(events):  # wherever Ctrl-C comes, the run ends before anything else begins
                for event in events:
                    if event["event"] == "run":
                        run_id = event["run_id"]
                    elif event["event"] == "answer":
                        result = event["result"]
                    if not quiet:
                        _event(event, working)
                        status.update(
                            f"working on {escape(', '.join(working.values())[:80])} …" if working else "checking …"
                        )
        except KeyboardInterrupt:
            raise Stopped(run_id) from None
    return result


def _event(event: dict[str, Any], working: dict[str, str]) -> None:
    if event["event"] == "plan":
        _plan(event)
    elif event["event"] == "subtask_started":
        working[event["key"]] = event["text"]
    elif event["event"] == "subtask_finished":
        working.pop(event["key"], None)
        _subtask(event)


class _Silent:
    """A status line that is not drawn."""

    def __enter__(self) -> "_Silent":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, text: str) -> None:
        """Nothing to draw."""


AUTHORS = {
    "model": "by the planner's model",
    "repaired": "by the planner's model, second try",
    "splitter": "by rules, the model's plan did not fit",
    "instant": "no planning needed",
    "decomposer": "by a model that was trained to split",
    "calculation": "by a network that was trained to see what is calculated",
    "program": "one program, which the model writes",
}


def _plan(event: dict[str, Any]) -> None:
    plan = event["plan"]
    if event.get("asked", event.get("task")) != event.get("task"):
        out.print(f"[dim]understood as:[/dim] {escape(event['asked'])}")
    out.print(f"[bold]{'New plan' if event['again'] else 'Plan'}[/bold] ({AUTHORS[plan['author']]})")
    for subtask in plan["subtasks"]:
        needs = f" [dim]after {', '.join(subtask['needs'])}[/dim]" if subtask["needs"] else ""
        found = subtask.get("found")
        done = f" = {escape(found['answer'])} [dim]{escape(found['source'])}[/dim]" if found else ""
        out.print(
            f"  {subtask['id']} [cyan]{escape(subtask['capability'])}[/cyan] {escape(subtask['text'])}{needs}{done}"
        )


def _subtask(event: dict[str, Any]) -> None:
    mark = "[green]✓[/green]" if event["status"] == "ok" else "[red]✗[/red]"
    agent, _, rest = event["arm"].partition("/")
    model, _, mode = rest.rpartition("/")
    out.print(
        f"  {mark} {event['subtask']}  {escape(agent)} · {escape(model)} · {mode}"
        f"  memory {output.tiers(event['tiers'])}  {money(event['usd'])}  {event['seconds']:.1f} s"
    )
    detail = event["text"] if event["status"] == "ok" else event["why"]
    out.print(f"      [dim]{escape(' '.join(detail.split())[:160])}[/dim]")


def show_result(result: dict[str, Any]) -> None:
    """Print a result for people: the answer, what it rests on, what is missing, what it cost."""
    style = "bold green" if result["status"] == "ok" else "bold yellow"
    out.print()
    out.print(f"[{style}]{escape(result['text']) or '(no answer)'}[/{style}]")
    for piece in result["evidence"]:
        text = " ".join(piece["text"].split())
        shown = text if len(text) <= 140 else text[:139] + "…"
        out.print(f"  [dim]{piece['id']}[/dim] [blue]{escape(piece['source'])}[/blue] [dim]{escape(shown)}[/dim]")
    for question in result["questions"]:
        out.print(f"[yellow]waiting:[/yellow] {escape(question['question'])}")
        out.print(f"  answer with: pointwork runs answer {result['run_id']} {'|'.join(question['answers'])}")
    if result["missing"] and not result["questions"]:
        word = (
            "the budget ended it" if result["status"] == "budget_exhausted" else "not all of it passed its checks"
        )
        out.print(f"[yellow]{word}; missing:[/yellow]")
        for line in result["missing"]:
            out.print(f"  - {escape(line)}")
    cost = result["cost"]
    out.print(
        f"[dim]{result['status']} · {money(cost['usd'])} · {cost['tokens']} tokens · {cost['calls']} model calls · "
        f"{cost['seconds']:.1f} s · run {result['run_id']}[/dim]"
    )
