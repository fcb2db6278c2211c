"""Turn limits from the past, the budget in the prompt, and what a new plan starts from."""

import functools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork import Agent, Budget, Team, tool
from pointwork.agents.turns import LEAST, WINDOW, TurnLimits, past_turns, percentile
from pointwork.models import ChatRequest, ScriptedClient, Step
from pointwork.settings import Settings
from pointwork.store import Store


@tool
def look(place: str) -> str:
    """Look at a place."""
    return f"nothing of use about {place}, and so on at length, so that it is no short answer: " + "x" * 80


@tool
def fail(place: str) -> str:
    """Look at a place, and fail."""
    raise ValueError(f"nothing is at {place}")


def turn(name: str, **arguments: Any) -> str:
    return json.dumps({"call": {"tool": name, "arguments": arguments}})


def team(client: ScriptedClient, store: Store, tools: Any = (look,), **chosen: Any) -> Team:
    agent = Agent("looker", "You look.", {"looking": "look at places"}, tuple(tools), modes=("agentic",))
    return Team([agent], Settings.model_validate(chosen), store=store, models={"worker-small": client})


def looks(times: int) -> list[Step]:
    """An attempt that looks at so many places and then answers: one turn more."""
    return [Step(turn("look", place=f"p{n}")) for n in range(times)] + [
        Step(turn("answer", text="nothing of use about p0"))
    ]


@given(st.lists(st.integers(1, 50), min_size=1), st.floats(0.01, 1))
def test_a_percentile_is_the_least_value_with_that_share_below_it(values: list[int], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(v <= found for v in values) >= share * len(values) - 1e-9
    assert all(sum(v <= other for v in values) < share * len(values) for other in values if other < found)


@functools.cache
def empty() -> Store:
    return Store("sqlite://")


@settings(deadline=None)
@given(st.lists(st.integers(1, 30), max_size=150), st.integers(1, 12))
def test_a_limit_and_its_extension_never_exceed_the_most(past: list[int], most: int) -> None:
    limits = TurnLimits(empty())
    for turns in past:
        limits.took("looker", turns)
    limit, more = limits.limit("looker", most)
    assert 1 <= limit <= limit + more <= most
    if len(past) < LEAST:
        assert (limit, more) == (most, 0)
    else:
        assert limit == min(most, percentile(past[-WINDOW:], 0.75))


def test_past_turns_are_read_from_the_store(store: Store) -> None:
    client = ScriptedClient(looks(2) + looks(1) + looks(3))
    with client, team(client, store) as made:
        for place in ("a", "b", "c"):
            assert made.run(f"Look at {place}").status == "ok"
        assert past_turns(store, "looker") == [3, 2, 4]
        assert past_turns(store, "look_r") == []
        assert past_turns(store, "looker", window=2) == [2, 4]


def test_a_learned_limit_is_shown_and_kept(store: Store) -> None:
    client = ScriptedClient([step for _ in range(LEAST) for step in looks(1)])
    with client, team(client, store) as made:
        for n in range(LEAST):
            made.run(f"Look at place {n}")
    for kind, most in (("learned", 2), ("fixed", 6)):
        client = ScriptedClient(looks(1))
        with client, team(client, store, run={"turn_limits": kind}) as made:
            made.run("Look at the gate", budget=Budget(tool_calls=9))
        assert f"Remaining budget: 9 tool calls, {most} turns." in client.requests[0].messages[-1]["content"]


@pytest.mark.parametrize(("works", "turns"), [(True, 3), (False, 2)])
def test_who_is_getting_on_is_given_more_turns_once(store: Store, works: bool, turns: int) -> None:
    client = ScriptedClient([step for _ in range(LEAST) for step in looks(1)])
    with client, team(client, store) as made:
        for n in range(LEAST):
            made.run(f"Look at place {n}")
    asked: list[ChatRequest] = []

    def wanders(request: ChatRequest) -> str:
        if "call" not in (request.schema or {}).get("properties", {}):  # its turns are over
            return json.dumps({"answer": "nothing of use"})
        asked.append(request)
        return turn("look" if works else "fail", place=f"p{len(asked)}")

    client = ScriptedClient([Step(wanders, times=None)])
    once: dict[str, Any] = {"run": {"max_replans": 0}, "planner": {"mode": "rules"}}
    with team(client, store, (look, fail), **once) as made:
        made.run("Look at the gate")
    assert len(asked) == turns


@pytest.mark.parametrize("shown", [True, False])
def test_the_budget_stands_in_each_prompt_unless_switched_off(store: Store, shown: bool) -> None:
    client = ScriptedClient(looks(2))
    with client, team(client, store, run={"show_budget": shown}) as made:
        made.run("Look at the gate", budget=Budget(tool_calls=5))
    said = [[m["content"] for m in request.messages if m["role"] == "user"][-1] for request in client.requests]
    if shown:
        expected = [(5, "6 turns"), (4, "5 turns"), (3, "4 turns")]
        assert all(f"{c} tool calls, {t}." in text for text, (c, t) in zip(said, expected, strict=True))
    else:
        assert not any("Remaining budget" in text for text in said)


def test_a_run_without_limits_is_shown_no_budget(store: Store) -> None:
    client = ScriptedClient(looks(1))
    with client, team(client, store) as made:
        made.run("Look at the gate")
    assert not any("Remaining" in m["content"] for request in client.requests for m in request.messages)


@pytest.mark.parametrize("kind", ["markovian", "transcript"])
def test_what_a_new_plan_starts_from(store: Store, kind: str) -> None:
    plan = {
        "subtasks": [
            {"task": "Look at the gate", "capability": "looking", "answer": "text"},
            {"task": "Look at the barn", "capability": "looking", "answer": "number"},
        ]
    }

    def said(request: ChatRequest) -> str:
        if "subtasks" in (request.schema or {}).get("properties", {}):
            return json.dumps(plan)
        first = next(m["content"] for m in request.messages if "Task:" in m["content"])
        if "gate" in first.split("Task:")[1]:
            return (
                turn("answer", text="nothing of use") if len(request.messages) > 2 else turn("look", place="gate")
            )
        if "answer" in (request.schema or {}).get("properties", {}):
            return json.dumps({"answer": 7})
        return turn("fail", place="barn")

    client = ScriptedClient([Step(said, times=None)])
    chosen: dict[str, Any] = {"run": {"workspace": kind}, "planner": {"mode": "model"}}
    with client, team(client, store, (look, fail), **chosen) as made:
        result = made.run("Look at the gate and look at the barn")
    assert result.status == "failed"
    again = [
        r.messages[-1]["content"] for r in client.requests if "An earlier plan failed" in r.messages[-1]["content"]
    ]
    assert "Known: Look at the gate nothing of use. Open: Look at the barn" in again[0]
    assert ("nothing is at barn" in again[0]) == (kind == "transcript")
