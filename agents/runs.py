"""Runs in the store: listed, found, shown. What it takes to read them loads no team."""

from typing import Any

from sqlalchemy import select

from pointwork.budgets import to_usd
from pointwork.errors import UsageError
from pointwork.store import Store
from pointwork.store.tables import accounts, decisions, memory_usage, outcomes, runs, steps, tool_calls


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
