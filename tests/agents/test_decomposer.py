"""Steps that a trained model writes: which of them are a plan, and when it is taken."""

import asyncio
import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pointwork.agents.decomposer import Decomposed, decompose
from pointwork.agents.learned import Learned, learned_of
from pointwork.agents.plan import Plan
from pointwork.agents.planner import QUERIED, SPLIT, Planner
from pointwork.agents.prompts import DECOMPOSER, decomposer_prompt
from pointwork.errors import ProviderError
from pointwork.models import ChatRequest, Completion
from pointwork.settings import PlannerSettings
from pointwork.tools import ToolContext

TASK = "The man who keeps the bees has a boat. How long is it in feet, please? Just the number."
STEPS = "Who keeps the bees?\nHow long is the boat of {s1}?\n{s2} in feet"


def _completion(text: str, sure: float = 0.9, finish: Any = "stop") -> Completion:
    return Completion(text, 1, 2, finish, "m", token_ids=(1, 2), logprobs=(math.log(sure) / 2,) * 2)


def _decomposed(said: str, *, task: str = TASK, most: int = 8, finish: Any = "stop") -> Decomposed | None:
    async def chat(request: ChatRequest) -> Completion:
        assert request.messages == decomposer_prompt(task)
        assert request.messages[0]["content"] == DECOMPOSER
        return _completion(said, finish=finish)

    return asyncio.run(decompose(task, chat, most))


def test_steps_build_on_one_another() -> None:
    found = _decomposed(STEPS)
    assert found is not None
    assert found.sure == pytest.approx(0.9)
    assert [(step.id, step.needs) for step in found.steps] == [("s1", ()), ("s2", ("s1",)), ("s3", ("s2",))]
    assert found.steps[1].text == "How long is the boat of {s1}?"


def test_one_step_is_the_task_in_the_users_own_words() -> None:
    found = _decomposed("How long is the boat?")
    assert found is not None
    assert [step.text for step in found.steps] == [
        "The man who keeps the bees has a boat. How long is it in feet, please?"
    ]


@pytest.mark.parametrize(
    ("said", "task"),
    [
        ("Who keeps {s2}?\nHow long is {s1}?", TASK),  # builds on a later one
        ("Who keeps the bees?\nHow long is the boat?", TASK),  # an answer that nobody uses
        ("Who is Ada?\nHow long is the boat of {s1}?", TASK),  # a name that nobody gave
        ("How long is the boat?\n{s1} * 3.28", TASK),  # a number that nobody gave
        ("", TASK),
        ("How long is the boat?\n" * 9, TASK),
    ],
)
def test_what_is_no_plan(said: str, task: str) -> None:
    assert _decomposed(said, task=task) is None


def test_constants_and_the_tasks_own_names_are_known() -> None:
    assert _decomposed("How long is the Otter?\n{s1} * 12", task="How long is the otter, twelvefold?") is not None
    assert _decomposed("What does it cost?\n{s1} * (1 - 15 / 100)", task="15% off: what does it cost?") is not None


def test_steps_that_were_cut_off_or_too_many_are_no_plan() -> None:
    assert _decomposed(STEPS, finish="length") is None
    assert _decomposed(STEPS, most=2) is None


def test_a_model_that_is_down_says_nothing() -> None:
    async def chat(request: ChatRequest) -> Completion:
        raise ProviderError("down")

    assert asyncio.run(decompose(TASK, chat, 8)) is None


ABLE = {"math": "arithmetic", "table": "rows of tables", "lookup": "facts in files"}


def _plan(
    root: Path,
    *,
    task: str = TASK,
    query: str = "none",
    query_sure: float = 0.9,
    sure: float = 0.9,
    fit: float = 0.3,
) -> tuple[Plan, list[str]]:
    """The plan of a small team whose rules find so good a fit, and which trained roles were asked."""
    asked: list[str] = []

    async def fits(text: str) -> Mapping[str, float]:
        return {"math": 0.9 if "12" in text else 0.0, "table": 0.1, "lookup": fit}

    def says(role: str, text: str, likely: float) -> Any:
        async def chat(request: ChatRequest) -> Completion:
            asked.append(role)
            return _completion(text, likely)

        return chat

    async def never(request: ChatRequest) -> Completion:
        raise AssertionError(request)

    (root / "boats.csv").write_text("name,length_m\nOtter,11\nHeron,9\n")
    learned = Learned(
        ToolContext(root=root), "table", says("querier", query, query_sure), says("decomposer", STEPS, sure)
    )
    planner = Planner(ABLE, fits, never, PlannerSettings(), small=True, learned=learned)
    return asyncio.run(planner.plan(task)), asked


def test_a_query_that_answers_the_whole_task_needs_no_steps(tmp_path: Path) -> None:
    found, asked = _plan(tmp_path, query="SELECT length_m FROM boats", query_sure=QUERIED + 0.01)
    assert [(step.capability, found.author) for step in found.subtasks] == [("table", "instant")]
    assert asked == ["querier"]


def test_else_the_steps_of_the_model_are_the_plan(tmp_path: Path) -> None:
    found, asked = _plan(tmp_path, query="SELECT length_m FROM boats", query_sure=QUERIED - 0.01)
    assert found.author == "decomposer"
    assert [step.capability for step in found.subtasks] == ["lookup", "math", "math"]
    assert asked == ["querier", "decomposer"]


def test_steps_that_no_agent_fits_or_that_are_not_sure_are_left_to_the_rules(tmp_path: Path) -> None:
    assert _plan(tmp_path, sure=SPLIT - 0.01)[0].author != "decomposer"
    assert _plan(tmp_path, fit=0.15)[0].author != "decomposer"


def test_what_one_agent_clearly_does_is_asked_of_no_model(tmp_path: Path) -> None:
    found, asked = _plan(tmp_path, task="Where do the bees live?", fit=0.97)
    assert (len(found.subtasks), found.author, asked) == (1, "instant", [])


def test_what_planning_asked_is_not_asked_again() -> None:
    said: dict[str, Completion] = {}
    asked: list[str] = []

    async def ask(role: str, request: ChatRequest) -> Completion:
        asked.append(role)
        return _completion(STEPS)

    def trained(role: str, run: str) -> bool:
        return True

    def in_hand(run: str) -> Any:
        return SimpleNamespace(read=said)

    services = SimpleNamespace(in_hand=in_hand, models=SimpleNamespace(trained=trained), agents={})
    for _ in range(2):
        learned = learned_of(cast(Any, services), "r1", ToolContext(), ask)
        assert asyncio.run(learned.decomposed(TASK, 8)) is not None
    assert asked == ["decomposer"]
    assert len(said) == 1
