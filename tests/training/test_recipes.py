"""Recipes: what is taught is what is asked, and what is held out is never taught."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pointwork.agents.builtin import builtin_agents
from pointwork.agents.decomposer import decompose, parted
from pointwork.agents.facts.gathered import Fact
from pointwork.agents.facts.standing import where
from pointwork.agents.plan import read_plan
from pointwork.agents.prompts import UNANSWERED, UNSAID
from pointwork.errors import PlanError, UsageError
from pointwork.models import ChatRequest, Completion
from pointwork.tools import expressions
from pointwork.training.recipes import decomposing, gsm8k, pages, querying
from pointwork.training.recipes.roles import Role, accuracy, tasks


@pytest.mark.parametrize(
    ("question", "solution", "expression"),
    [
        (
            "She sold clips to 48 friends in April and half as many in May. How many altogether?",
            "She sold 48/2 = <<48/2=24>>24 in May.\nSo 48+24 = <<48+24=72>>72.\n#### 72",
            "48 + 48 / 2",
        ),
        (
            "A 3-page letter to 2 friends twice a week. How many pages a year?",
            "3*2=<<3*2=6>>6\n6*2=<<6*2=12>>12\n12*52=<<12*52=624>>624\n#### 624",
            "3 * 2 * 2 * 52",
        ),
        ("A fifth of 200?", "20% of 200 is <<200*20%=40>>40\n#### 40", "200 * 20 / 100"),
        # what can not be traced, or does not come out at the answer
        ("How many?", "It is 7.\n#### 7", ""),
        ("2 and 2?", "<<2+2=4>>4\n#### 5", ""),
        ("2 and 2?", "<<2+2=5>>5\n#### 5", ""),
    ],
)
def test_a_solution_as_one_expression(question: str, solution: str, expression: str) -> None:
    assert gsm8k.expression_of(question, solution) == expression


def test_gsm8k_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"train\.jsonl"):
        tasks("worker-small", tmp_path)


@pytest.mark.parametrize("role", ["planner", "worker-small", "decomposer"])
def test_what_is_held_out_is_never_taught(role: Role) -> None:
    taught, held_out = tasks(role)
    asked = [{task.example.messages[-2]["content"] for task in part} for part in (taught, held_out)]
    assert len(asked[0]) > 500
    assert len(asked[1]) > 40
    assert not asked[0] & asked[1]
    # a perfect model is right on all of it, and one that says nothing on none
    gold = {task.example.messages[-2]["content"]: task.example.messages[-1]["content"] for task in held_out}
    assert accuracy(held_out, lambda prompts: [gold[messages[-1]["content"]] for messages in prompts]) == 1.0
    assert accuracy(held_out, lambda prompts: ["" for _ in prompts]) == 0.0


def test_every_taught_plan_is_one_that_the_runtime_accepts() -> None:
    able = [name for agent in builtin_agents() for name in agent.capabilities if name != "anything"]
    refused: list[str] = []
    for task in [*tasks("planner")[0], *tasks("planner")[1]]:
        asked = task.example.messages[-2]["content"].removeprefix("Task: ")
        try:
            read_plan(json.loads(task.example.messages[-1]["content"]), asked, able, 8, literal=False)
        except PlanError as error:
            refused.append(f"{asked}: {error}")
    assert not refused


def test_every_taught_expression_can_be_computed() -> None:
    for part in tasks("worker-small"):
        for task in part:
            call = json.loads(task.example.messages[-1]["content"])
            assert call["tool"] == "calculate"
            expressions.evaluate(call["arguments"]["expression"])


def test_what_a_page_says_is_taught_in_its_own_words() -> None:
    taught, held_out = tasks("reader", limit=60)
    assert len(taught) == len(held_out) == 60
    for task in (*taught, *held_out):
        page, _, question = task.example.messages[1]["content"].rpartition("\n\nQuestion: ")
        said = task.example.messages[2]["content"]
        assert page == task.page
        assert question
        assert said == UNSAID or pages.bare(said) in pages.bare(page)
    assert {task.example.messages[2]["content"] == UNSAID for task in taught} == {True, False}
    gold = [task.example.messages[2]["content"] for task in held_out]
    assert accuracy(held_out, lambda _: gold) == 1.0
    assert accuracy(held_out, lambda _: ["" for _ in gold]) == 0.0


@pytest.mark.parametrize("part", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_every_taught_plan_in_steps_is_one_that_the_runtime_accepts(part: int) -> None:
    """Each seventh of them, and all."""
    taught, held_out = (several[::part] for several in tasks("decomposer"))
    refused: list[str] = []
    for task in [*taught, *held_out]:
        asked, said = task.example.messages[1]["content"], task.example.messages[2]["content"]

        async def chat(request: ChatRequest, said: str = said) -> Completion:
            return Completion(said, 1, 1, "stop", "m")

        if asyncio.run(decompose(asked, chat, 8)) is None:
            refused.append(f"{asked}: {said}")
    assert len(refused) < 0.02 * len(taught)


def test_a_third_of_the_tasks_stands_beside_what_has_nothing_to_do_with_it() -> None:
    rows: list[dict[str, Any]] = [{"task": f"task {number}", "steps": ["a"]} for number in range(300)]
    around = [{"task": "x", "steps": ["b"], "around": f"table {number}"} for number in range(7)]
    found = decomposing.beside(rows, around)
    assert [row["task"] for row in found] == [row["task"] for row in rows]
    shown = [row["around"] for row in found if "around" in row]
    assert 60 < len(shown) < 140
    assert set(shown) == {str(row["around"]) for row in around}
    assert decomposing.beside(rows, []) == rows


def test_of_tasks_over_files_what_is_held_out_is_not_taught() -> None:
    taught, held_out = tasks("decomposer")
    asked = [[str(task.example.messages[1]["content"]) for task in part] for part in (taught, held_out)]
    over = [{text for text in part if "\n\nTask: " in text} for part in asked]
    assert len(over[1]) > 50
    assert not {text.rpartition("Task: ")[2] for text in asked[0]} & {t.rpartition("Task: ")[2] for t in asked[1]}


def test_queries_answer_what_their_world_holds() -> None:
    _, held_out = tasks("querier", limit=60)
    gold = [task.example.messages[2]["content"] for task in held_out]
    assert UNANSWERED in gold
    assert accuracy(held_out, lambda _: gold) == 1.0
    assert accuracy(held_out, lambda _: ["SELECT 17" for _ in gold]) == 0.0
    assert accuracy(held_out, lambda _: [UNANSWERED for _ in gold]) < 0.3


def test_worlds_that_are_held_out_are_never_taught_and_each_is_shown_in_several_views() -> None:
    rows: list[dict[str, Any]] = [{"world": str(number)} for number in range(25)]
    taught, held_out = querying.parted(rows)
    assert [row["world"] for row in held_out] == ["9", "19"]
    assert len(taught) == 23
    world = {
        "world": "w",
        "tables": {"a": "id,x\n1,2\n3,4\n", "b": "id,y\n1,5\n3,6\n"},
        "qa": [{"q": f"x of {n}?", "sql": f"SELECT x FROM a WHERE id = {n}"} for n in (1, 3)] * 5,
    }
    bundles = querying.bundles(world, 0, variants=40)
    assert all(len(bundle) <= querying.SHARING for bundle in bundles)
    assert all(len({asked.tables for asked in bundle}) == 1 for bundle in bundles)  # computed once
    views = {asked.tables for bundle in bundles for asked in bundle}
    assert len(views) > 4
    for bundle in bundles:
        for asked in bundle:
            assert (asked.said == UNANSWERED) == ("a(" not in asked.tables)


def test_the_last_of_ten_folders_is_never_taught() -> None:
    rows: list[dict[str, Any]] = [{"text": str(number), "qa": []} for number in range(205)]
    taught, held_out = pages.folders(rows)
    assert [row["text"] for folder in held_out for row in folder] == [
        str(number) for start in (90, 190) for number in range(start, start + 10)
    ]
    assert sum(map(len, taught)) == 185


def test_of_figures_what_was_read_and_what_is_calculated_counts() -> None:
    taught, held_out = tasks("reckoner", limit=400)
    assert not {t.example.messages[1]["content"] for t in taught} & {
        t.example.messages[1]["content"] for t in held_out
    }
    task = next(t for t in held_out if "{s1} * {s2}" in t.example.messages[2]["content"])
    said = str(task.example.messages[2]["content"])
    assert task.right(said.replace(" of the", " of"))
    assert not task.right(said.replace("{s1} * {s2}", "{s1} - {s2}"))
    assert not task.right(re.sub(r" = \S+", " = 0.123", said, count=1))


def test_of_figures_that_come_to_the_answer_any_steps_are_right() -> None:
    row = {"task": "What is Mabel paid a week?", "around": "staff: name Mabel; hours 24; pay 13.5", "answer": "324"}
    said = "hours of Mabel = 24\npay of Mabel = 13.5\n{s1} * {s2}"
    right = decomposing.right(said, row)
    assert right(said)
    assert right("pay of Mabel = 13.5\nhours that Mabel works = 24\n{s2} * {s1}")
    assert not right(said.replace("*", "+"))
    assert not right("pay of Mabel a week = 324")  # which stands nowhere
    assert not right("")
    # what only all rows tell is not written: then the steps count
    most = decomposing.right("staff with the most hours\npay of {s1}", row)
    assert most("staff with the highest hours\npay of {s1}")
    assert not most(said)


def test_values_stand_in_what_is_shown() -> None:
    files = Path(decomposing.__file__).parent.glob("task_steps_facts*.jsonl")
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(rows) > 4_000
    nowhere: list[str] = []
    values = 0
    for row in rows:
        facts = [Fact("file:x", line) for line in row["around"].splitlines()]
        lines, answers = parted(row["steps"])
        values += len(answers)
        nowhere += [f"{row['task']}: {a}" for n, a in answers.items() if where(a, lines[n - 1], facts) is None]
    assert len(nowhere) < 0.03 * values, nowhere
