"""Whose plan it is: nobody's, the model's, its second try, or the rules'."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from pointwork.agents.plan import Plan
from pointwork.agents.planner import OUTRIGHT, Planner
from pointwork.errors import ProviderError
from pointwork.models import ChatRequest, Completion, ScriptedClient
from pointwork.settings import PlannerSettings

ABLE = {"math": "arithmetic", "lookup": "facts in files"}
TASK = "Find the gate's width and then double it."
GOOD = {
    "subtasks": [
        {"task": "Find the gate's width.", "capability": "lookup", "answer": "number"},
        {"task": "Double {s1}.", "capability": "math", "answer": "number"},
    ]
}
BAD: dict[str, Any] = {"subtasks": [{"task": "Feed elephants", "capability": "math", "answer": "text"}]}


async def fits(text: str) -> Mapping[str, float]:
    return {"math": 0.9 if "double" in text.lower() else 0.0, "lookup": 0.9 if "gate" in text.lower() else 0.0}


def plan(*replies: Any, task: str = TASK, mode: Any = "auto") -> Plan:
    with ScriptedClient([json.dumps(r) if isinstance(r, dict) else r for r in replies]) as client:

        async def chat(request: ChatRequest) -> Completion:
            return await client.chat(request)

        return asyncio.run(Planner(ABLE, fits, chat, PlannerSettings(mode=mode)).plan(task))


def test_one_agent_can_answer_outright_so_no_model_is_asked() -> None:
    found = plan(task="Double the gate")
    assert found.author == "instant"
    assert len(found.subtasks) == 1


@pytest.mark.parametrize(
    ("task", "sure", "steps"),
    [
        ("Take 10 % off the price of the blue skis.", 0.97, 2),  # a query leaves the sum out
        ("What is the pay of the person Ann reports to?", 0.97, 2),  # and here who that is
        ("What is the price of the coat that has been hired most often?", 0.97, 1),
        ("How old is the gate that was built 3 weeks after the fire?", 0.98, 1),
    ],
)
def test_nested_questions_are_split_where_no_query_can_be_meant(task: str, sure: float, steps: int) -> None:
    async def fits(text: str) -> Mapping[str, float]:
        return {"math": 0.0, "lookup": sure}

    async def chat(request: ChatRequest) -> Completion:
        raise AssertionError("rules plan this")

    found = asyncio.run(Planner(ABLE, fits, chat, PlannerSettings(mode="rules")).plan(task))
    assert len(found.subtasks) == steps


def test_the_models_plan() -> None:
    found = plan(GOOD)
    assert found.author == "model"
    assert [subtask.capability for subtask in found.subtasks] == ["lookup", "math"]


def trained(task: str, sure: float, *replies: Any) -> tuple[Plan, list[ChatRequest]]:
    """The plan of a model that was trained to plan, where an agent fits the whole task so well."""

    async def fits(text: str) -> Mapping[str, float]:
        return {"math": 0.9 if "{" in text or "*" in text else 0.0, "lookup": sure}

    asked: list[ChatRequest] = []
    with ScriptedClient([json.dumps(reply) for reply in replies]) as client:

        async def chat(request: ChatRequest) -> Completion:
            asked.append(request)
            return await client.chat(request)

        return asyncio.run(Planner(ABLE, fits, chat, PlannerSettings(), trained=True).plan(task)), asked


def test_a_trained_planner_is_asked_where_no_agent_clearly_fits_the_whole() -> None:
    task = "What does the gate of 3 metres cost us?"
    steps = [
        {"task": "What does a gate cost per metre?", "capability": "lookup", "answer": "number"},
        {"task": "{s1} * 3 * 100", "capability": "math", "answer": "number"},
    ]
    found, asked = trained(task, 0.5, {"subtasks": steps})
    assert (found.author, [step.text for step in found.subtasks]) == ("model", [step["task"] for step in steps])
    assert [message["role"] for message in asked[0].messages] == ["system", "user"]  # no worked examples
    found, asked = trained(task, 0.8)
    assert (found.author, asked) == ("instant", [])


def test_one_step_of_a_trained_planner_keeps_the_users_words() -> None:
    step = {"task": "gate cost", "capability": "lookup", "answer": "number"}
    found, asked = trained("What does the gate of 3 metres cost us?", 0.5, {"subtasks": [step]})
    assert [subtask.text for subtask in found.subtasks] == ["What does the gate of 3 metres cost us?"]
    assert len(asked) == 1


def test_an_invalid_plan_is_repaired_once() -> None:
    found = plan(BAD, GOOD)
    assert found.author == "repaired"
    assert any("not about the task" in problem for problem in found.problems)


def test_after_two_bad_plans_the_rules_take_over() -> None:
    found = plan(BAD, BAD)
    assert found.author == "splitter"
    assert [(s.text, s.capability, s.needs) for s in found.subtasks] == [
        ("Find the gate's width", "lookup", ()),
        ("double {s1}.", "math", ("s1",)),
    ]
    assert len(found.problems) == 2


def test_a_planner_that_is_down_does_not_stop_the_run() -> None:
    found = plan(ProviderError("no server"))
    assert found.author == "splitter"
    assert "no server" in found.problems[0]


def test_rules_ask_nobody() -> None:
    assert plan(mode="rules").author == "splitter"


def test_a_capability_that_can_do_nothing_is_corrected() -> None:
    swapped = json.loads(json.dumps(GOOD))
    swapped["subtasks"][0]["capability"] = "math"
    found = plan(swapped)
    assert found.subtasks[0].capability == "lookup"
    assert "lookup can" in found.problems[0]


def test_two_questions_are_two_steps_however_well_one_agent_fits_the_whole() -> None:
    async def sure(_: str) -> Mapping[str, float]:
        return {"math": 0.97, "lookup": 0.1}

    async def chat(request: ChatRequest) -> Completion:
        raise AssertionError("a small planner is not asked where the rules found parts")

    planner = Planner(ABLE, sure, chat, PlannerSettings(), small=True)
    found = asyncio.run(planner.plan("What is the mean price of wool, and what is 20% of 85?"))
    assert [subtask.text for subtask in found.subtasks] == ["What is the mean price of wool", "what is 20% of 85?"]


@pytest.mark.parametrize(("fit", "steps"), [(OUTRIGHT + 0.01, 1), (OUTRIGHT - 0.01, 2)])
def test_what_asks_for_what_was_just_asked_is_no_second_step(fit: float, steps: int) -> None:
    task = "Add up the plums that were picked. How many kg is it?"

    async def fits(text: str) -> Mapping[str, float]:
        return {"math": 0.0, "lookup": fit if "picked. How" in text else 0.3}

    async def chat(request: ChatRequest) -> Completion:
        raise AssertionError("a small planner is not asked where the rules found parts")

    found = asyncio.run(Planner(ABLE, fits, chat, PlannerSettings(), small=True).plan(task))
    assert len(found.subtasks) == steps
    if steps == 1:
        assert (found.subtasks[0].text, found.subtasks[0].answer_type) == (task, "number")


LOOSE = {
    "subtasks": [
        {"task": "Find the gate's width.", "capability": "lookup", "answer": "number"},
        {"task": "Double the width of the gate.", "capability": "math", "answer": "number"},
    ]
}
FOUND = {
    "subtasks": [
        {"task": "Find the gate's width.", "capability": "lookup", "answer": "number"},
        {"task": "Double {s1}, the gate.", "capability": "math", "answer": "number"},
    ]
}


def asked(task: str, *replies: Any, small: bool = False) -> tuple[Plan, list[ChatRequest]]:
    """The plan of a model that must be asked, and what it was asked."""
    with ScriptedClient([json.dumps(reply) for reply in replies]) as client:

        async def chat(request: ChatRequest) -> Completion:
            return await client.chat(request)

        async def sources() -> str:
            return "Documents: gate.md"

        settings = PlannerSettings(mode="model")
        found = asyncio.run(Planner(ABLE, fits, chat, settings, small, sources=sources).plan(task))
        return found, list(client.requests)


def test_an_answer_that_nobody_uses_is_sent_back() -> None:
    found, requests = asked("Twice the width of the gate", LOOSE, FOUND)
    assert found.author == "repaired"
    assert "put {s1} into the text" in requests[1].messages[-1]["content"]
    assert [subtask.needs for subtask in found.subtasks] == [(), ("s1",)]


def test_two_questions_may_have_two_answers() -> None:
    found, _ = asked("What is the gate's width, and what is double the width of the gate?", LOOSE)
    assert found.author == "model"


def test_a_model_that_is_not_small_is_told_what_there_is() -> None:
    _, requests = asked("Twice the width of the gate", FOUND)
    assert "Documents: gate.md" in requests[0].messages[0]["content"]
    _, requests = asked("Find the gate's width, double the gate's width", GOOD, small=True)
    assert "gate.md" not in requests[0].messages[0]["content"]


def test_one_step_is_done_in_the_users_own_words() -> None:
    step = {"task": "Double the width.", "capability": "math", "answer": "number"}
    found, _ = asked("Twice the width of the gate", {"subtasks": [step]})
    assert [(s.text, s.capability) for s in found.subtasks] == [("Twice the width of the gate", "math")]


def test_nobody_looks_what_there_is_for_a_plan_that_no_model_is_asked_for() -> None:
    async def sources() -> str:
        raise AssertionError("the folder need not be walked")

    async def chat(request: ChatRequest) -> Completion:
        raise AssertionError("one agent can answer outright")

    planner = Planner(ABLE, fits, chat, PlannerSettings(), sources=sources)
    assert asyncio.run(planner.plan("Double the gate")).author == "instant"


def test_after_a_failed_step_a_small_model_is_not_asked_for_what_rules_have() -> None:
    task = "Who owns the gate?"

    async def weakly(_: str) -> Mapping[str, float]:
        return {"math": 0.0, "lookup": 0.9, "write": 0.15}

    def again(small: bool, *replies: Any) -> Plan:
        with ScriptedClient([json.dumps(reply) for reply in replies]) as client:
            able = {**ABLE, "write": "write anything"}
            planner = Planner(able, weakly, client.chat, PlannerSettings(), small)
            report = f"Known: nothing. Open: {task}"
            return asyncio.run(planner.plan(task, report=report, failed=frozenset({(task, "lookup")})))

    assert [subtask.capability for subtask in again(True).subtasks] == ["write"]
    planned = {"subtasks": [{"task": task, "capability": "write", "answer": "text"}]}
    assert again(False, planned).author == "model"
