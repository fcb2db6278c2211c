"""``pointwork chat``: a conversation, each line of it a run of the team in one thread."""

import contextlib
import importlib
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from pointwork.budgets import Budget
from pointwork.cli.output import BUDGET, FAILED, OK, STOPPED, USAGE, ago, err, money, out, print_json_line
from pointwork.cli.running import Stopped, converse, exit_code, follow, show_result
from pointwork.cli.team import open_team
from pointwork.errors import PointworkError, UsageError

if TYPE_CHECKING:
    from pointwork.agents import Team

EXAMPLE = (
    "Examples: [bold]pointwork chat --root ./data[/bold]  "
    "[bold]pointwork chat --thread taxes --total-usd 0.50[/bold]  "
    '[bold]printf "What is 30 km/h in m/s?\\nand in knots?\\n" | pointwork chat --json[/bold]'
)

HELP = """Each line is a task; the last turns are remembered. Commands:
  /help   this text
  /runs   the turns of this conversation
  /cost   what it has cost
  /quit   leave (Ctrl-D too); Ctrl-C stops the turn in hand"""

_COMMAND = re.compile(r"/([A-Za-z]+)\s*$")

# Turns that /runs lists.
_LISTED = 50


@dataclass
class Spent:
    """What the turns of this session have taken; other sessions of the thread do not count."""

    turns: int = 0
    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    calls: int = 0

    def add(self, cost: dict[str, Any]) -> None:
        """One more turn."""
        self.turns += 1
        for name in ("usd", "tokens", "seconds", "calls"):
            setattr(self, name, getattr(self, name) + cost[name])


def chat(
    thread: Annotated[
        str | None, typer.Option(help="Name of the conversation, new or old; default: a new one.")
    ] = None,
    root: Annotated[
        Path, typer.Option(help="The folder that agents may read. Nothing outside it is read.")
    ] = Path(),
    budget_usd: Annotated[float | None, typer.Option(help="Most money for one turn, in US dollars.")] = None,
    budget_seconds: Annotated[float | None, typer.Option(help="Most time for one turn, in seconds.")] = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Most tokens for one turn.")] = None,
    total_usd: Annotated[float | None, typer.Option(help="Most money for the conversation, from now on.")] = None,
    total_seconds: Annotated[
        float | None, typer.Option(help="Most time for all turns; waiting for you does not count.")
    ] = None,
    total_tokens: Annotated[int | None, typer.Option(help="Most tokens for the conversation, from now on.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per turn, each on a line.")] = False,
) -> None:
    """Talk with the team: each line is a run in one thread, and later turns know the earlier ones.

    Lines come from the terminal or from a pipe. Exit code in a terminal: 0, or 3 if the conversation's budget ended
    it. From a pipe: 2 if a line could not be run, else 1 if a turn failed, else 3 if a budget ended one, else 0;
    Ctrl-C ends it (130).
    """
    from pointwork.store import new_id

    per_turn = _given(Budget(usd=budget_usd, seconds=budget_seconds, tokens=budget_tokens))
    total = Budget(usd=total_usd, seconds=total_seconds, tokens=total_tokens)
    if thread is not None and not thread.strip():
        raise UsageError("--thread needs a name")
    with open_team(quiet=json) as team:
        name = thread or f"chat-{new_id()}"
        talk = Conversation(team, name, root, replace(team.settings.default_budget(), **per_turn), total, json)
        raise typer.Exit(talk.run())


def _given(budget: Budget) -> dict[str, Any]:
    return {name: value for name, value in asdict(budget).items() if value is not None}


class Conversation:
    """A thread, its budgets, and what has been said in this session."""

    def __init__(
        self, team: "Team", thread: str, root: Path, per_turn: Budget, total: Budget, as_json: bool
    ) -> None:
        self._team, self._thread, self._root, self._json = team, thread, root, as_json
        self._per_turn, self._total = per_turn, total
        self._spent = Spent()
        self._codes: set[int] = set()
        self._ended = False  # the conversation's rest was too little for a turn

    def run(self) -> int:
        """Talk until the lines end; the exit code."""
        terminal = sys.stdin.isatty()
        if not self._json:
            self._greet(terminal)
        ended = False
        for line in _typed() if terminal else _piped():
            if line.startswith("/") and (command := _COMMAND.match(line)):
                if command[1].lower() in ("quit", "exit", "q"):
                    break
                self._command(command[1].lower())
            elif line:
                with contextlib.suppress(KeyboardInterrupt):  # pressed once more while the run was being stopped
                    self._turn(line)
                if STOPPED in self._codes and not terminal:
                    return STOPPED  # nobody is there to go on
                if ended := self._ended or self._left() is None:
                    err.print("the conversation's budget is spent; go on with a larger one")
                    break
        if not self._json:
            err.print(f"[dim]go on later with: pointwork chat --thread {escape(self._thread)}[/dim]")
        if terminal:
            return BUDGET if ended else OK
        return next((code for code in (USAGE, FAILED, BUDGET) if code in self._codes), BUDGET if ended else OK)

    def _greet(self, terminal: bool) -> None:
        earlier = len(_runs(self._team, self._thread, _LISTED))
        known = f", {earlier} earlier turn{'s' if earlier != 1 else ''}" if earlier else ""
        err.print(f"[dim]conversation {escape(self._thread)}{known}[/dim]")
        if terminal:
            err.print("[dim]/help for commands, Ctrl-D to leave[/dim]")

    def _left(self) -> Budget | None:
        """The budget of the next turn, or None if the conversation has none left."""
        limits: dict[str, Any] = {}
        for name, most in _given(self._total).items():
            left = most - getattr(self._spent, name)
            if left <= 0:
                return None
            limits[name] = left
        own = {name: value for name, value in _given(self._per_turn).items() if name in limits}
        return replace(self._per_turn, **{n: min(left, own.get(n, left)) for n, left in limits.items()})

    def _turn(self, line: str) -> None:
        budget = self._left()
        if budget is None:  # a conversation that began with nothing to spend
            self._codes.add(BUDGET)
            return
        run_id = ""
        try:
            events = self._team.stream(line, budget=budget, thread=self._thread, root=self._root)
            result = follow(events, quiet=self._json)
            if not self._json:
                run_id = result["run_id"]
                result = converse(self._team, result, follow)
        except Stopped as stopped:
            self._codes.add(STOPPED)
            self._say_error(str(stopped), run_id=stopped.run_id, status="interrupted")
            self._count_stopped(stopped.run_id)
        except typer.Abort:  # Ctrl-C at a question that the run asks
            self._count_stopped(run_id)
            err.print("it goes on waiting; see pointwork runs list")
        except PointworkError as error:
            self._codes.add(USAGE if isinstance(error, UsageError) else FAILED)
            self._say_error(str(error), status="failed")
        else:
            self._codes.add(exit_code(result["status"]))
            self._spent.add(result["cost"])
            scarce = any(getattr(budget, n) != getattr(self._per_turn, n) for n in _given(self._total))
            self._ended = scarce and result["status"] == "budget_exhausted"
            print_json_line(result) if self._json else show_result(result)

    def _count_stopped(self, run_id: str) -> None:
        """What a turn took counts too that was stopped, or left at a question."""
        for row in _runs(self._team, self._thread, _LISTED):
            if row["run_id"] == run_id:
                self._spent.add({**row["cost"], "seconds": row["cost"]["seconds"] or 0.0})

    def _say_error(self, message: str, **values: Any) -> None:
        if self._json:
            print_json_line({"error": message, **values})
        else:
            err.print(f"[red]error:[/red] {escape(message)}" if "run_id" not in values else escape(message))

    def _command(self, name: str) -> None:
        if name == "cost":
            self._cost()
        elif name == "runs":
            self._list()
        elif self._json:
            self._say_error(HELP if name == "help" else f"there is no command /{name}")
        elif name == "help":
            out.print(HELP)
        else:
            out.print(f"there is no command /{name}; /help lists them")

    def _cost(self) -> None:
        spent = self._spent
        if self._json:
            print_json_line({"cost": asdict(spent), "total": _given(self._total)})
            return
        out.print(
            f"{spent.turns} turn{'s' if spent.turns != 1 else ''}, {money(spent.usd)}, {spent.tokens} tokens, "
            f"{spent.calls} model calls, {spent.seconds:.1f} s"
        )
        limits = _given(self._total)
        if limits:
            out.print("of at most " + ", ".join(f"{value:g} {name}" for name, value in limits.items()))

    def _list(self) -> None:
        rows = _runs(self._team, self._thread, _LISTED)
        if self._json:
            print_json_line({"runs": rows})
            return
        if not rows:
            out.print("nothing was said yet")
        for row in reversed(rows):
            before = (
                f"{row['run_id']}  {row['status']:<10}  {ago(row['created']):>9}  {money(row['cost']['usd']):>7}  "
            )
            task = " ".join(row["task"].split())
            room = max(12, out.width - len(before))
            out.print(f"{before}{escape(task if len(task) <= room else task[: room - 1] + '…')}")


def _runs(team: "Team", thread: str, limit: int) -> list[dict[str, Any]]:
    """The latest runs of a thread, newest first."""
    from pointwork.agents.runs import list_runs

    return list_runs(team.store, limit, thread=thread)


def _typed() -> Iterator[str]:
    """Lines of a terminal until Ctrl-D; Ctrl-C throws away what was typed."""
    with contextlib.suppress(ImportError):
        importlib.import_module("readline")  # gives input() editing and history
    while True:
        try:
            yield input("› ").strip()
        except EOFError:
            err.print()
            return
        except KeyboardInterrupt:
            err.print("\n[dim]/quit or Ctrl-D to leave[/dim]")


def _piped() -> Iterator[str]:
    """Lines of a pipe, each as soon as it is there.

    Raises:
        UsageError: what comes is not text in UTF-8.
    """
    try:
        for line in iter(sys.stdin.readline, ""):
            yield line.strip()
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 text: byte {error.start} of a piece of it") from error
