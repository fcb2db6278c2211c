"""What is stored of a run as it goes on: begun, planned, checked, ended, and taken over where a process stopped."""

import importlib
import time
from dataclasses import asdict
from typing import Any

from sqlalchemy import func, select, update

from pointwork import __version__
from pointwork.agents.inputs import checked_task, checked_thread
from pointwork.agents.owners import at_work, this_process
from pointwork.agents.plan import Plan
from pointwork.agents.result import FINISHED
from pointwork.agents.services import Services
from pointwork.agents.state import State, Try
from pointwork.agents.tainting import begin_taint
from pointwork.budgets import Budget
from pointwork.errors import UsageError
from pointwork.ledger import Amount, Reservation
from pointwork.store import Store, new_id
from pointwork.store.tables import accounts, ledger, runs, steps


def load_graphs() -> None:
    """Load LangGraph. Half of a team's loading time is LangGraph's, so the first run does it; who serves or times
    runs calls this before.
    """
    importlib.import_module("pointwork.agents.graph")


def begin_run(services: Services, task: str, *, root: str | None, thread: str | None, budget: Budget) -> str:
    """Store a run and open its account, before anything is spent; its id."""
    run_id, created = new_id(), time.time()
    row = {
        "id": run_id,
        "thread": thread,
        "task": task,
        "root": root,
        "status": "running",
        "created": created,
        "budget": asdict(budget),
        "package_version": __version__,
        "owner": this_process(),
    }
    # the account's transaction, which comes next, waits for the disk, and for this one with it
    with services.store.write(flush=False, durable=False) as connection:
        services.store.insert(connection, runs, row)
    account = services.ledger.open(run_id, budget, new=True)
    limited = any(limit is not None for limit in asdict(budget).values())
    services.take_in_hand(run_id, account, limited=limited, created=created)
    begin_taint(services.store, run_id, task)
    return run_id


def open_run(services: Services, state: State) -> str:
    """The id of the run in a graph's state; begun here if the graph was called as a node of somebody else's."""
    run_id = state.get("run_id")
    if run_id:
        return run_id
    given = state.get("budget")
    budget = services.settings.default_budget() if given is None else Budget(**given)  # pyright: ignore[reportArgumentType]
    task, thread = checked_task(state.get("task", "")), checked_thread(state.get("thread"))
    return begin_run(services, task, root=state.get("root"), thread=thread, budget=budget)


def log_plan(store: Store, run_id: str, number: int, asked: str, plan: Plan, started: float) -> None:
    """Keep a plan as a step; what planning cost stands in the steps of its model calls."""
    store.append(
        steps,
        {
            "run_id": run_id,
            "subtask": f"p{number}",
            "kind": "plan",
            "agent": "planner",
            "input": {"task": asked},
            "output": plan.as_json(),
            "started": started,
            "seconds": time.time() - started,
        },
    )


def log_check(store: Store, run_id: str, tried: Try) -> None:
    """Keep what came of a try as a step."""
    store.append(
        steps,
        {
            "run_id": run_id,
            "subtask": f"{tried['key']}#{tried['attempt']}",
            "kind": "verify",
            "agent": "verify",
            "output": {name: tried[name] for name in ("status", "why", "text", "tiers", "decision", "computed")},
            "started": time.time(),
        },
    )


def mark(
    store: Store, run_id: str, status: str, error: str | None = None, result: dict[str, Any] | None = None
) -> None:
    """Store how a run stopped, and its result as JSON; nobody works on it now."""
    values: dict[str, Any] = {"status": status, "error": error, "owner": None}
    if result is not None:
        values["result"] = result
    with store.write() as connection:
        # what has ended stays as it ended, also if whoever followed it stops it right after the answer
        going_on = (runs.c.id == run_id, runs.c.status.not_in(FINISHED))
        connection.execute(update(runs).where(*going_on).values(values))


def wake(services: Services, run_id: str) -> None:
    """Take over a run that stopped, so that it goes on here.

    What the process that stopped had reserved comes back at once, not only after its lease; time in which nobody
    worked on the run does not count against its deadline.

    Raises:
        UsageError: another process works on it.
    """
    store = services.store
    services.let_go(run_id)
    _claim(store, run_id)
    _release_open(services, run_id)
    last = store.row(select(func.max(ledger.c.created).label("at")).where(ledger.c.run_id == run_id))
    since = None if last is None else last["at"]
    if since is None:
        run = store.row(select(runs.c.created).where(runs.c.id == run_id))
        since = time.time() if run is None else run["created"]
    idle = max(0.0, time.time() - since)
    with store.write() as connection:
        connection.execute(
            update(accounts)
            .where(accounts.c.run_id == run_id, accounts.c.deadline.is_not(None))
            .values(deadline=accounts.c.deadline + idle)
        )


def _claim(store: Store, run_id: str) -> None:
    row = store.row(select(runs.c.owner, runs.c.created).where(runs.c.id == run_id))
    last = store.row(select(func.max(ledger.c.created).label("at")).where(ledger.c.run_id == run_id))
    assert row is not None
    last_sign: float = last["at"] if last is not None and last["at"] is not None else row["created"]
    if at_work(row["owner"], last_sign):
        raise UsageError(
            f"run {run_id} is being worked on by another process ({row['owner']}); wait for it, or end it"
        )
    mine = (
        update(runs)
        .where(runs.c.id == run_id, runs.c.owner.is_not_distinct_from(row["owner"]))
        .values(owner=this_process(), status="running", error=None)
    )
    with store.write() as connection:
        if connection.execute(mine).rowcount != 1:
            raise UsageError(f"run {run_id} was taken over by another process a moment ago")


def _release_open(services: Services, run_id: str) -> None:
    closing = ledger.alias("closing")
    closed = select(closing.c.id).where(
        closing.c.reservation_id == ledger.c.reservation_id, closing.c.kind != "reserve"
    )
    still_open = services.store.rows(
        select(ledger).where(ledger.c.run_id == run_id, ledger.c.kind == "reserve", ~closed.exists())
    )
    for row in still_open:
        account = services.ledger.get(row["account_id"])
        amount = Amount(row["usd_nano"], row["tokens"], row["tool_calls"], row["turns"])
        account.release(Reservation(row["reservation_id"], account, amount, row["by"], row["created"], 0.0))
