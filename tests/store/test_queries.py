"""What the package itself writes and asks, on every database: ledger, memory, router, runs."""

import itertools
import math
import time
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from pointwork.agents import runs as run_queries
from pointwork.budgets import Budget
from pointwork.ledger import Amount, Ledger
from pointwork.memory import Memory
from pointwork.router import Arm, Outcome, Router
from pointwork.store import Store, new_id, tables
from pointwork.store.tables import metadata

ARMS = [Arm("small", usd_per_mtok=(0.1, 0.4)), Arm("large", usd_per_mtok=(3, 15))]

ROWS: dict[str, dict[str, Any]] = {
    "runs": {"id": "r", "task": "t", "status": "ok", "created": 1.0, "package_version": "0", "budget": {"usd": 1}},
    "steps": {"run_id": "r", "kind": "model", "started": 1.0, "token_ids": [1, 2], "logprobs": [-0.5, -math.inf]},
    "decisions": {
        "id": "d", "router": "x", "created": 1.0, "clock": 0, "policy": "p", "policy_version": "1",
        "features_version": "1", "context": {"text": [0.1]}, "candidates": ["a"], "arm": "a", "propensity": 0.5,
        "propensities": {"a": 0.5}, "scores": {"a": {"mean": 0.1}},
    },
    "outcomes": {"decision_id": "d", "created": 1.0, "quality": 0.5, "source": "check"},
    "accounts": {"id": "a", "kind": "run", "name": "run"},
    "ledger": {
        "reservation_id": "x", "account_id": "a", "kind": "reserve", "by": "b", "usd_nano": 1, "tokens": 2,
        "tool_calls": 3, "turns": 4, "created": 1.0, "lease_until": 2.0,
    },
    "tool_calls": {
        "id": "k", "tool": "t", "arguments": {"a": 1}, "arguments_hash": "h", "status": "intent", "started": 1.0
    },
    "memory_items": {
        "id": "m", "layer": "episodic", "text": "x", "source": "s", "trust": "user", "created": 1.0, "tokens": 1
    },
    "memory_usage": {
        "tiers": {"filter": "low"}, "items": [["m", 0.5]], "tokens": 1, "usd_nano": 0, "seconds": 1, "created": 1,
    },
    "memory_segments": {"first": 1, "last": 2, "docs": 2, "numbers": b"\0\xff", "codes": b"c", "vectors": b"v"},
    "memory_postings": {"token": "wagon", "segment": 1, "docs": 1, "data": b"\0\0\2"},
    "facts": {
        "id": "f", "key": "gate code", "head": "code", "tail": "gate", "subject": "the gate", "relation": "code",
        "value": "4711", "valid_from": 1.0, "trust": "user", "created": 1.0,
    },
    "fact_sources": {"fact_id": "f", "source": "m1"},
    "skills": {
        "id": "s", "shape": "lookup, math", "examples": [{"task": "t", "plan": []}], "sources": ["r"],
        "created": 1.0, "updated": 1.0,
    },
    "memory_vectors": {"serial": 1, "encoder": "v", "vector": b"\0\xff"},
    "text_vectors": {"digest": "d", "encoder": "v", "vector": b"\0\xff"},
    "playbook": {"id": "p", "section": "s", "text": "x", "state": "live", "created": 1.0, "updated": 1.0},
    "models": {"id": "v", "role": "planner", "version": "1", "base": "b", "state": "live", "created": 1.0},
    "router_versions": {
        "id": "w", "router": "x", "version": 1, "policy": "p", "state": b"\0\xff", "clock": 0, "live": True,
        "created": 1.0,
    },
    "mcp_callers": {"name": "c", "spent_usd_nano": 1, "spent_tokens": 2, "runs": 3},
    "mcp_runs": {"run_id": "r", "caller": "c", "tool": "team"},
    "mcp_pins": {"server": "s", "tool": "t", "sha256": "h", "created": 1.0},
    "tool_usage": {"request": "q", "tool": "t", "ok": True, "created": 1.0},
    "tool_writes": {
        "name": "h", "call_id": "k", "run_id": "r", "private": True, "untrusted": False, "unasked": False,
    },
    "made_tools": {
        "id": "m", "name": "n", "version": 1, "description": "d", "input_schema": {}, "code": "c", "cases": [{}],
        "labels": ["egress"], "state": "live", "calls": 1, "failures": 0, "created": 1.0,
    },
}  # fmt: skip


def test_every_table_has_an_example_here() -> None:
    assert ROWS.keys() == metadata.tables.keys()


def test_every_table_is_written_each_way_and_read(database: Store) -> None:
    for table in metadata.sorted_tables:
        database.append(table, ROWS[table.name])
    for table in metadata.sorted_tables:
        row = database.row(select(table))
        assert row is not None
        assert {name: row[name] for name in ROWS[table.name]} == ROWS[table.name]
    with database.write() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())
        for table in metadata.sorted_tables:
            connection.execute(insert(table), ROWS[table.name])
            key = next(iter(table.primary_key.columns))
            connection.execute(update(table).values({key: key}))
    for table in metadata.sorted_tables:
        assert len(database.rows(select(table))) == 1


def _runs(store: Store, number: int) -> list[str]:
    book, ids = Ledger(store), [new_id() for _ in range(number)]
    for n, run_id in enumerate(ids):
        with store.write() as connection:
            row = {**ROWS["runs"], "id": run_id, "task": f"task {n} 😀\0", "thread": "t", "created": time.time()}
            connection.execute(insert(tables.runs), row)
        book.open(run_id, Budget(tokens=100))
    return ids


def test_runs_are_listed_newest_first_with_their_cost(database: Store) -> None:
    ids = _runs(database, 5)
    account = Ledger(database).open(ids[2])
    child = account.child("subtask", "s")
    child.settle(
        child.reserve(Amount(usd_nano=10, tokens=7, turns=1), by="x"), Amount(usd_nano=5, tokens=6, turns=1)
    )
    listed = run_queries.list_runs(database, 4)
    assert [row["run_id"] for row in listed] == ids[:0:-1]
    assert listed[2]["cost"] == {"usd": 5e-9, "tokens": 6, "calls": 1, "seconds": None}
    assert listed[0]["task"] == "task 4 😀\0"


def test_a_run_is_found_by_its_beginning_and_shown_whole(database: Store) -> None:
    (run_id,) = _runs(database, 1)
    database.append(tables.steps, {"run_id": run_id, "kind": "plan", "started": 2.0, "output": {"a": 1}})
    database.append(tables.steps, {"run_id": run_id, "kind": "answer", "started": 1.0})
    database.append(tables.tool_calls, {**ROWS["tool_calls"], "run_id": run_id})
    for number, key in enumerate(["p0.s1#1", "p1.s1#1", "p1.s2#1", "p1.s1#2"]):
        row = {**ROWS["decisions"], "id": f"d{number}", "run_id": run_id, "created": float(number), "subtask": None}
        database.append(tables.decisions, {**row, "subtask": key.split("#", maxsplit=1)[0]})
    shown = run_queries.show_run(database, run_id[:20])
    assert [step["kind"] for step in shown["steps"]] == ["plan", "answer"]
    assert [len(shown[part]) for part in ("tool_calls", "decisions")] == [1, 4]
    assert sorted(run_queries.credited_decisions(database, run_id)) == ["d2", "d3"]


def test_memory(database: Store) -> None:
    memory = Memory(database)
    whole = memory.add("The red fox lives\nbehind the barn.\0", source="doc:1", thread="t")
    memory.add("Nothing to see here", source="doc:2", time=1700000000.0, speaker="Ann", thread="t")
    memory.add("Paragraph about wombats. " * 400, source="doc:3")
    assert memory.read(whole) == "The red fox lives\nbehind the barn.\0"
    assert memory.recall("where does the fox live?", k=3).items[0].source == "doc:1"
    assert memory.recall("wombats", k=3).items[0].source == "doc:3"
    other = Memory(Store(database.url.render_as_string(hide_password=False)))
    assert {item.source for item in other.recall("fox wombats", k=9).items} == {"doc:1", "doc:3"}
    assert memory.delete(source="doc:3") == 1
    assert "doc:3" not in {item.source for item in other.recall("wombats", k=9).items}
    assert len(memory.items()) == 2
    other.store.close()


def test_router(database: Store) -> None:
    router = Router(ARMS, store=database, seed=1, name="main")
    other = Router(ARMS, store=database, seed=2, name="other")
    decisions = [router.decide(f"question {n}", run_id=None) for n in range(20)]
    other.decide("else")
    for number, decision in enumerate(decisions):
        router.learn(decision.id, Outcome(quality=number % 2, usd=1e-4, seconds=0.5))
    router.learn(decisions[0].id, Outcome(quality=1.0), source="feedback")
    router.checkpoint()
    again = Router(ARMS, store=database, seed=3, name="main")
    assert again.decide("question 21").propensities.keys() == {"small", "large"}
    rows = database.rows(select(tables.decisions).where(tables.decisions.c.router == "main"))
    assert [sum(row["propensities"].values()) for row in rows] == pytest.approx([1.0] * len(rows))
    assert len(database.rows(select(tables.outcomes))) >= 21
    live = database.rows(select(tables.router_versions).where(tables.router_versions.c.live.is_(True)))
    assert {row["router"] for row in live} >= {"main"}


def test_the_ledger_in_order(database: Store) -> None:
    account = Ledger(database).open("r", Budget(usd=1))
    for amount in itertools.chain(range(3), range(3)):
        account.settle(account.reserve(Amount(usd_nano=amount), by="x"), Amount(usd_nano=amount), seconds=0.5)
    rows = database.rows(select(tables.ledger).order_by(tables.ledger.c.id))
    assert [row["kind"] for row in rows] == ["reserve", "settle"] * 6
    assert abs(rows[-1]["created"] - time.time()) < 60
    assert account.share() == pytest.approx(1 - 6e-9)
