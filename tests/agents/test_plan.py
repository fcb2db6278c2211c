"""Plans: what fits and what does not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.agents.plan import Plan, Subtask, fill_references, read_plan
from pointwork.errors import PlanError

ABLE = ["math", "lookup"]
TASK = "Find the price of the Rowan bench in catalogue.md and then multiply it by 12."


def row(task: str, capability: str = "math", answer: str = "text") -> dict[str, Any]:
    return {"task": task, "capability": capability, "answer": answer}


GOOD = [
    row("Find the price of the Rowan bench in catalogue.md.", "lookup"),
    row("Multiply {s1} by 12.", "math", "number"),
]


def test_a_good_plan_is_read() -> None:
    first, second = read_plan({"subtasks": GOOD}, TASK, ABLE)
    assert (first.id, first.capability, first.needs) == ("s1", "lookup", ())
    assert (second.id, second.needs, second.answer_type) == ("s2", ("s1",), "number")


def test_a_reference_is_a_dependency_even_if_it_is_not_listed() -> None:
    plan = read_plan({"subtasks": [GOOD[0], row("Multiply {s1} by 12.")]}, TASK, ABLE)
    assert plan[1].needs == ("s1",)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("text", "not a JSON object"),
        ({"subtasks": 3}, "not a JSON object"),
        ({"subtasks": []}, "0 subtasks"),
        ({"subtasks": [GOOD[0]]}, "leave out 12"),
        ({"subtasks": [row("Find the price in catalogue.md."), GOOD[1]]}, "leave out rowan"),
        ({"subtasks": [*GOOD, row("Feed the elephants.")]}, "subtask 3 is not about the task"),
        ({"subtasks": [GOOD[0], row("Multiply {s2} by 12.", "math")]}, "does not come before"),
        ({"subtasks": [GOOD[0], row("Multiply it by 12.", "cooking")]}, "unknown capability 'cooking'"),
        ({"subtasks": [*GOOD, GOOD[0]]}, "repeats another"),
        ({"subtasks": [GOOD[0], row("", "math")]}, "subtask 2 is empty"),
    ],
)
def test_a_bad_plan_says_why(value: Any, why: str) -> None:
    with pytest.raises(PlanError, match=why):
        read_plan(value, TASK, ABLE)


subtasks = st.builds(
    Subtask,
    id=st.sampled_from(["s1", "s2"]),
    text=st.text(max_size=30),
    capability=st.text(max_size=5),
    needs=st.lists(st.sampled_from(["s1", "s2"]), max_size=2).map(tuple),
)


@given(st.lists(subtasks, max_size=4), st.sampled_from(["model", "splitter"]), st.lists(st.text(), max_size=2))
def test_plans_survive_json(parts: list[Subtask], author: Any, problems: list[str]) -> None:
    import json

    plan = Plan(tuple(parts), author, tuple(problems))
    assert Plan.from_json(json.loads(json.dumps(plan.as_json()))) == plan


def test_references_are_filled_and_unknown_ones_stay() -> None:
    assert fill_references("Add {s1} to {s3}.", {"s1": "7"}) == "Add 7 to {s3}."


def test_only_a_model_that_makes_things_up_must_stay_with_the_words() -> None:
    task = "By how many percent is the rent of flat 7 above the rent of flat 2?"
    rows = [
        {"task": "What is the rent of flat 7?", "capability": "lookup", "answer": "number"},
        {"task": "What is the rent of flat 2?", "capability": "lookup", "answer": "number"},
        {"task": "({s1} - {s2}) / {s2} * 100", "capability": "math", "answer": "number"},
    ]
    with pytest.raises(PlanError, match="100"):
        read_plan({"subtasks": rows}, task, ["math", "lookup"])
    plan = read_plan({"subtasks": rows}, task, ["math", "lookup"], literal=False)
    assert plan[2].needs == ("s1", "s2")
    # what makes a plan is asked of every model
    for broken, problem in (
        ([*rows[:2], {**rows[2], "task": "{s4} * 2"}], "does not come before"),
        ([rows[0], rows[0]], "repeats"),
        ([{**rows[0], "task": "Who painted the barn?"}], "not about"),
        ([{**rows[0], "capability": "magic"}], "magic"),
    ):
        with pytest.raises(PlanError, match=problem):
            read_plan({"subtasks": broken}, task, ["math", "lookup"], literal=False)
