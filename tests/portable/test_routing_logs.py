"""Routing logs as lines: ours come back equal, other programs' become decisions and outcomes."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from pointwork.errors import UsageError
from pointwork.portable import count_decisions, export_decisions, import_decisions
from pointwork.portable.routing_logs import BATCH
from pointwork.router import Arm, Outcome, Router
from pointwork.store import Store, tables

ARMS = [Arm("small", usd_per_mtok=(0.1, 0.4)), Arm("large", usd_per_mtok=(3, 15))]


def log_of(store: Store, name: str = "router", count: int = 20) -> None:
    router = Router(ARMS, store=store, name=name, seed=1)
    for i in range(count):
        decision = router.decide(f"What is {i} * 7?")
        if i % 2:
            router.learn(decision.id, Outcome(quality=0.5, usd=1e-4))
            router.learn(decision.id, Outcome(quality=1.0, seconds=1.5))
    router.checkpoint()


def load(store: Store, *lines: Any, **more: Any) -> Any:
    return import_decisions(store, io.BytesIO("\n".join(map(json.dumps, lines)).encode()), **more)


def test_a_routers_log_comes_back_equal(store: Store, database: Store) -> None:
    log_of(store)
    lines = b"".join(export_decisions(store))
    line = json.loads(lines.splitlines()[1])
    assert (line["prompt"], line["choice"] in ("small", "large")) == ("What is 1 * 7?", True)
    assert [outcome["quality"] for outcome in line["outcomes"]] == [0.5, 1.0]
    other = database
    assert import_decisions(other, io.BytesIO(lines)).imported == 20
    assert b"".join(export_decisions(other)) == lines
    again = import_decisions(other, io.BytesIO(lines))
    assert (again.imported, again.unchanged, again.differing) == (0, 20, 0)
    changed = lines.replace(b'"quality":0.5', b'"quality":0.25')
    assert import_decisions(other, io.BytesIO(changed)).differing == 10
    # a router of that name goes on from the log
    assert Router(ARMS, store=other, name="router", seed=1).clock == 20


def test_decisions_are_chosen_by_router_and_time(store: Store) -> None:
    log_of(store, "b", 3)
    log_of(store, "a", BATCH + 7)
    lines = [json.loads(line) for line in export_decisions(store)]
    assert [line["router"] for line in lines] == ["a"] * (BATCH + 7) + ["b"] * 3
    assert [line["clock"] for line in lines[: BATCH + 7]] == list(range(BATCH + 7))
    assert len(list(export_decisions(store, router="b"))) == count_decisions(store, router="b") == 3
    since = lines[-2]["time"]
    assert len(list(export_decisions(store, router="b", since=since))) == 2
    assert list(export_decisions(store, router="none")) == []


def test_a_log_of_another_program_needs_little(store: Store, tmp_path: Path) -> None:
    lines: list[Any] = [
        {"prompt": "a", "choice": "large", "propensity": 0.25, "candidates": ["small", "large"], "outcome": 1},
        {"prompt": "b", "choice": "small", "propensity": 0.75, "time": 5.5, "outcome": {"quality": 0, "usd": 0.1}},
        {"choice": "small", "propensity": 1, "outcomes": [{"quality": 0.5, "time": 6.0}, {"quality": 1.0}]},
        {"choice": "x", "propensity": 0.5, "propensities": {"x": 0.5, "y": 0.5}, "outcome": None},
        {"choice": "x", "propensity": 0.5, "propensities": {"x": 0.5, "y": 0.5}, "outcome": None},
    ]
    file = tmp_path / "acme.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    assert import_decisions(store, file).imported == 5
    assert import_decisions(store, file).unchanged == 5
    rows = store.rows(select(tables.decisions).order_by(tables.decisions.c.clock))
    assert [row["router"] for row in rows] == ["import:acme"] * 5
    assert [row["clock"] for row in rows] == [0, 1, 2, 3, 4]
    assert rows[0]["candidates"] == ["small", "large"]
    assert rows[3]["candidates"] == ["x", "y"]
    assert (rows[0]["context"], rows[0]["text"], rows[1]["created"]) == ({}, "a", 5.5)
    outcomes = store.rows(select(tables.outcomes).order_by(tables.outcomes.c.id))
    assert [row["quality"] for row in outcomes] == [1.0, 0.0, 0.5, 1.0]
    assert (outcomes[1]["usd"], outcomes[1]["created"], outcomes[2]["created"]) == (0.1, 5.5, 6.0)
    # what is exported now comes back equal
    exported = b"".join(export_decisions(store))
    other = Store("sqlite://")
    import_decisions(other, io.BytesIO(exported))
    assert b"".join(export_decisions(other)) == exported


def test_decisions_without_features_never_reach_a_router_at_work(store: Store) -> None:
    """A router of the same name would stumble over a context that it can not learn from."""
    load(store, {"choice": "small", "propensity": 1.0, "prompt": "a", "outcome": 1.0, "router": "team"})
    load(store, {"choice": "large", "propensity": 1.0, "prompt": "b", "outcome": 1.0}, router="team")
    assert {row["router"] for row in store.rows(select(tables.decisions))} == {"import:team"}
    router = Router(ARMS, store=store, name="team")
    assert router.clock == 0
    router.learn(router.decide("c").id, Outcome(quality=1.0))


def test_what_was_filled_in_does_not_make_a_decision_another(store: Store) -> None:
    lines = [{**GOOD, "id": f"d{i}", "prompt": f"text {i}", "outcome": 0.5} for i in range(3)]
    assert load(store, *lines).imported == 3
    again = load(store, *lines)
    assert (again.imported, again.unchanged, again.differing) == (0, 3, 0)
    assert load(store, {**lines[0], "outcome": 0.75}, {**lines[1], "time": 5.0}, lines[2]).differing == 2


def test_features_of_another_length_are_not_learnt(store: Store) -> None:
    """One number would be taken for as many as there should be."""
    for _ in range(2):
        router = Router(ARMS, store=store, name="team")
        router.learn(router.decide(features=[1.0, -1.0]).id, Outcome(quality=1.0))
    line = {"choice": "small", "propensity": 1.0, "router": "team", "features_version": "given2-1", "outcome": 1}
    load(store, {**line, "context": {"text": [0.5]}}, {**line, "context": {"text": [0.5, 0.5]}})
    router = Router(ARMS, store=store, name="team")
    assert sum(row["graded"] for row in router.show()) == 3


GOOD: dict[str, Any] = {"choice": "a", "propensity": 0.5, "candidates": ["a", "b"]}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ({}, "choice is missing"),
        ({"choice": "a"}, "propensity is missing"),
        ({**GOOD, "propensity": 0}, "propensity is 0"),
        ({**GOOD, "propensity": 1.1}, "propensity must be from 0 to 1"),
        ({**GOOD, "propensity": "1"}, "propensity must be a number"),
        ({**GOOD, "choice": 3}, "choice must be a text"),
        ({**GOOD, "choice": "c"}, "choice is 'c', which is not among the candidates"),
        ({**GOOD, "candidates": "ab"}, "candidates must be a list"),
        ({**GOOD, "candidates": ["a", 2]}, r"candidates\[1\] must be a text"),
        ({**GOOD, "propensities": {"a": 0.25}}, "another propensity"),
        ({**GOOD, "propensities": {"a": 0.5, "c": 0.5}}, "propensities.c is not among"),
        ({**GOOD, "propensities": {"a": 0.5, "b": 0.75}}, "sum up to 1.25"),
        ({**GOOD, "propensities": [0.5]}, "propensities must be an object"),
        ({**GOOD, "prompt": 5}, "prompt must be a text"),
        ({**GOOD, "time": "now"}, "time must be a number"),
        ({**GOOD, "context": []}, "context must be an object"),
        ({**GOOD, "clock": 1.5}, "clock must be a whole number"),
        ({**GOOD, "id": 5}, "id must be a text"),
        ({**GOOD, "router": None}, "router must be a text"),
        ({**GOOD, "colour": "red"}, "colour is not a field"),
        ({**GOOD, "outcome": 2}, "outcome.quality must be from 0 to 1"),
        ({**GOOD, "outcome": "good"}, "outcome must be an object"),
        ({**GOOD, "outcome": 1, "outcomes": []}, "give one of them"),
        ({**GOOD, "outcomes": {}}, "outcomes must be a list|"),
        ({**GOOD, "outcomes": [{"usd": -1}]}, r"outcomes\[0\].usd must be finite and not negative"),
        ({**GOOD, "outcomes": [{"value": 1}]}, r"outcomes\[0\].value is not a field"),
        ({**GOOD, "candidates": ["a", " "]}, r"candidates\[1\] must be a name"),
        ({**GOOD, "candidates": ["a", "b" * 300]}, r"candidates\[1\] must be a name of 1 to 256"),
        ({**GOOD, "propensities": {"b": 0.75}}, "sum up to 1.25"),
        ({**GOOD, "outcome": {"usd": 10**400}}, "outcome.usd must be finite"),
        ({**GOOD, "clock": -1}, "clock must be from 0"),
        ({**GOOD, "clock": 2**62}, "clock must be from 0"),
        ({**GOOD, "time": -1.0}, "time must be from 0"),
        ({**GOOD, "time": 1769817600000}, "are these milliseconds"),
        ({**GOOD, "outcome": {"time": 1769817600000}}, "outcome.time must be from 0 .*milliseconds"),
        ({**GOOD, "context": {"text": "ab"}}, "context.text must be a list"),
        ({**GOOD, "context": {"text": [0.5, None]}}, r"context.text\[1\] must be a number, not null"),
        ({**GOOD, "context": {"text": [1e300]}}, r"context.text\[0\] must be from"),
        ({**GOOD, "context": {"arms": 3}}, "context.arms must be an object"),
        ({**GOOD, "context": {"arms": {"a": [1.0]}}}, "context.arms.a has 1 numbers, not 4"),
        ({**GOOD, "context": {"arms": {"a": ["x"] * 4}}}, r"context.arms.a\[0\] must be a number"),
        ({**GOOD, "context": {"ask": 0.5}}, "context.ask must be an object"),
        ({**GOOD, "context": {"ask": {"colour": 1}}}, "context.ask.colour is not one of quality_floor"),
        ({**GOOD, "context": {"ask": {"max_usd": "1"}}}, "context.ask.max_usd must be a number"),
        ({**GOOD, "context": {"ask": {"quality_floor": 1.5}}}, "context.ask.quality_floor must be from 0 to 1"),
        ({**GOOD, "context": {"ask": {"quality_floor": 0.5, "cost_weight": 1}}}, "exclude each other"),
        ({**GOOD, "scores": {"a": 3}}, "scores.a must be an object"),
        ({**GOOD, "scores": {"a": {"mean": None}}}, "scores.a.mean must be a number, not null"),
        ({**GOOD, "scores": {"a": {"prompt_usd_per_mtok": -1}}}, "scores.a.prompt_usd_per_mtok must be"),
        ({**GOOD, "scores": {"a": {"score": 1.0}}}, "scores.a.price is missing"),
        ({**GOOD, "scores": {"b": {}}}, "scores.b is of an arm that has no propensity"),
        ({**GOOD, "version": 1}, "format must be"),
        ({**GOOD, "format": "pointwork.run", "version": 1}, "runs import"),
        ({**GOOD, "format": "pointwork.decision", "version": 9}, "upgrade pointwork"),
    ],
)
def test_lines_that_are_no_decisions(store: Store, line: dict[str, Any], why: str) -> None:
    if line.get("outcomes") == {}:
        assert load(store, line).imported == 1  # nothing was said of it
        return
    with pytest.raises(UsageError, match=f"line 2: .*{why}"):
        load(store, GOOD, line)
    assert len(store.rows(select(tables.decisions))) == 1


def test_the_examples_of_the_documentation_can_be_imported(store: Store) -> None:
    text = (Path(__file__).parent.parent.parent / "docs" / "logs.md").read_text(encoding="utf-8")
    blocks = [block.split("\n", 1) for block in text.split("```")[1::2]]
    lines = [line for kind, block in blocks if kind == "json" for line in block.splitlines() if '"choice"' in line]
    assert len(lines) >= 2
    assert import_decisions(store, io.BytesIO("\n".join(lines).encode())).imported == len(lines)
