"""Runs in the store: begun, listed, found, given feedback on."""

import time
from dataclasses import asdict
from typing import Any

from sqlalchemy import func, select, update

from pointwork import __version__
from pointwork.agents.owners import at_work, this_process
from pointwork.agents.plan import Plan
from pointwork.agents.services import Services
from pointwork.agents.state import State, Try
from pointwork.agents.tainting import begin_taint
from pointwork.budgets import Budget, to_usd
from pointwork.errors import UsageError
from pointwork.ledger import Amount, Reservation
from pointwork.store import Store, new_id
from pointwork.store.tables import accounts, decisions, ledger, memory_usage, outcomes, runs, steps, tool_calls


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
    return begin_run(services, state["task"], root=state.get("root"), thread=state.get("thread"), budget=budget)


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


def list_runs(store: Store, limit: int = 20, thread: str | None = None) -> list[dict[str, Any]]:
    """The latest runs (of a thread), newest first: run_id, status, task, created (epoch seconds), cost, thread."""
    query = (
        select(runs, accounts.c.spent_usd_nano, accounts.c.spent_tokens, accounts.c.spent_turns)
        .select_from(runs.outerjoin(accounts, (accounts.c.run_id == runs.c.id) & accounts.c.parent_id.is_(None)))
        .order_by(runs.c.created.desc(), runs.c.id.desc())
        .limit(limit)
    )
    if thread is not None:
        query = query.where(runs.c.thread == thread)
    return [
        {
            "run_id": row["id"],
            "status": row["status"],
            "task": row["task"],
            "created": row["created"],
            "cost": {
                "usd": to_usd(row["spent_usd_nano"] or 0),
                "tokens": row["spent_tokens"] or 0,
                "calls": row["spent_turns"] or 0,
                "seconds": None if row["finished"] is None else round(row["finished"] - row["created"], 3),
            },
            "thread": row["thread"],
        }
        for row in store.rows(query)
    ]


def find_run(store: Store, run_id: str) -> dict[str, Any]:
    """The row of a run; an unambiguous beginning of the id is enough.

    Raises:
        UsageError: there is none, or there are several.
    """
    if not isinstance(run_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"the id of a run is a text, not {run_id!r}")
    exact = store.row(select(runs).where(runs.c.id == run_id))
    if exact is not None:
        return exact
    begins = runs.c.id.startswith(run_id, autoescape=True)
    if store.one_writer:  # SQLite searches no index for LIKE; its texts are ordered by their bytes
        begins &= (runs.c.id >= run_id) & (runs.c.id < f"{run_id}\U0010ffff")
    found = store.rows(select(runs).where(begins).limit(2)) if run_id else []
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"several runs begin with {run_id!r}: give more of the id")
    raise UsageError(f"no run {run_id!r} in the store; 'pointwork runs list' shows what is there")


def show_run(store: Store, run_id: str) -> dict[str, Any]:
    """A run with its steps, tool calls, decisions with their outcomes, and memory's use."""
    run = find_run(store, run_id)
    return {
        "run": run,
        "steps": store.rows(select(steps).where(steps.c.run_id == run["id"]).order_by(steps.c.id)),
        "tool_calls": store.rows(
            select(tool_calls).where(tool_calls.c.run_id == run["id"]).order_by(tool_calls.c.started)
        ),
        "decisions": store.rows(
            select(decisions).where(decisions.c.run_id == run["id"]).order_by(decisions.c.created)
        ),
        "outcomes": store.rows(
            select(outcomes)
            .join(decisions, decisions.c.id == outcomes.c.decision_id)
            .where(decisions.c.run_id == run["id"])
            .order_by(outcomes.c.id)
        ),
        "memory_usage": store.rows(
            select(memory_usage).where(memory_usage.c.run_id == run["id"]).order_by(memory_usage.c.id)
        ),
    }


def credited_decisions(store: Store, run_id: str) -> list[str]:
    """Decisions that a run's final quality is credited to: the last try of each subtask of its last plan."""
    rows = store.rows(
        select(decisions.c.id, decisions.c.subtask)
        .where(decisions.c.run_id == run_id)
        .order_by(decisions.c.created, decisions.c.id)
    )
    last = {row["subtask"]: row["id"] for row in rows if row["subtask"]}
    latest = max((key.split(".")[0] for key in last), key=lambda plan: int(plan[1:]), default="")
    return [decision for key, decision in last.items() if key.split(".")[0] == latest]


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
