"""Steps that a trained model writes: which of them are a plan, and when it is taken."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import select

from pointwork import Team
from pointwork.agents.agreeing import DRAWN, KEPT, MOST, agreed
from pointwork.agents.builtin import builtin_agents
from pointwork.agents.calling import ToolCaller, Work
from pointwork.agents.decomposer import (
    DRAWN_AT,
    Decomposed,
    calculates,
    covered,
    decompose,
    in_other_units,
    readings,
)
from pointwork.agents.facts.gathered import Fact, shown
from pointwork.agents.facts.standing import where
from pointwork.agents.learned import Learned, learned_of
from pointwork.agents.plan import Found, Plan, Subtask
from pointwork.agents.planner import AGAIN, BETTER, LIKELY, OUTRIGHT, QUERIED, SPLIT, Planner
from pointwork.agents.prompts import DECOMPOSER, decomposer_prompt
from pointwork.agents.reader import once
from pointwork.agents.reading_ahead import comes_to, read_ahead, read_through
from pointwork.agents.result import Result
from pointwork.agents.tainting import taint_of
from pointwork.budgets import Budget
from pointwork.errors import BudgetExceeded, ProviderError
from pointwork.ledger import Ledger
from pointwork.models import ChatRequest, Completion, weights
from pointwork.models.adapters import packaged
from pointwork.settings import PlannerSettings, Settings
from pointwork.store import Store
from pointwork.store.tables import steps, tool_calls
from pointwork.tools import ToolContext


@pytest.fixture(autouse=True)
def texts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is calculated is read without a text too: ``test_calculating.py`` has that."""

    async def nothing(*_: object) -> list[Decomposed]:
        return []

    monkeypatch.setattr("pointwork.agents.learned.calculated", nothing)


TASK = "The man who keeps the bees has a boat. How long is it in feet, please? Just the number."
STEPS = "Who keeps the bees?\nHow long is the boat of {s1}?\n{s2} in feet"


def _completion(text: str, sure: float = 0.9, finish: Any = "stop") -> Completion:
    return Completion(text, 1, 2, finish, "m", token_ids=(1, 2), logprobs=(math.log(sure) / 2,) * 2)


def _decomposed(
    said: str,
    *,
    task: str = TASK,
    most: int = 8,
    finish: Any = "stop",
    around: Sequence[Fact] = (),
) -> Decomposed | None:
    async def chat(request: ChatRequest) -> Completion:
        assert request.messages == decomposer_prompt(task, shown(around))
        assert request.messages[0]["content"] == DECOMPOSER
        return _completion(said, finish=finish)

    return asyncio.run(decompose(task, chat, most, facts=around))


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


@pytest.mark.parametrize(
    ("task", "sum_", "sound"),
    [
        ("Knock 8 % off the price.", "{s1} * 0.92", True),
        ("Knock 8 % off the price.", "{s1} * 0.8", False),
        ("The price, from 14:00 to 17:30?", "{s1} * (17.5 - 14)", True),
        ("The price, from 14:00 to 17:30?", "{s1} * 17", False),
        ("The price, from 14:00 to 17:30?", "{s1} * 14.3", False),
        ("The price, with 0 off for 5?", "{s1} * 14.3", False),
        ("What is a quarter of the price?", "{s1} / 4", True),
        ("What is a quarter of the price?", "{s1} * 4", False),
        ("The price less a quarter?", "{s1} * 3 / 4", True),
        ("The price less a quarter?", "{s1} * 0.75", True),
        ("A quarter of the price, for each of 4 children?", "{s1} / 4 * 4", True),
        ("A third of it at the price for 3?", "{s1} * 3", True),
        ("The price and a fifth on top?", "{s1} * 1.2", True),
        ("The price less a fifth?", "{s1} * 0.8", True),
        ("The price for two fifths?", "{s1} * 0.4", True),
        ("The price for two fifths?", "{s1} * 0.3", False),
        ("What is twice the price?", "{s1} * 2", True),
        ("What is the price of it all?", "{s1} * 2", False),
        ("What do 15 of that price cost?", "{s1} * 15", True),
        ("The price for two fifths?", "{s1} * 2 / 5", True),
        ("The price for twenty-two?", "{s1} * 22", True),
        ("The price for twenty-two?", "{s1} * 23", False),
        ("The price, a minute, of three hours?", "{s1} * 180", True),
        ("The price, a minute, of an hour and fifty minutes?", "{s1} * 110", True),
        ("The price, a minute, of an hour and a half?", "{s1} * 90", True),
        ("The price, a minute, of an hour and a half?", "{s1} * 80", False),
        ("Six weeks before the price goes up?", "{s1} + 6 weeks", False),
        ("Six weeks before the price goes up?", "{s1} - 6 weeks", True),
        ("Six weeks after the price goes up?", "{s1} - 6 weeks", False),
        ("Six weeks after the price goes up?", "{s1} + 6 weeks", True),
    ],
)
def test_a_sum_is_that_of_the_task(task: str, sum_: str, sound: bool) -> None:
    assert (_decomposed(f"What is the price?\n{sum_}", task=task) is not None) == sound


def test_an_average_is_of_as_many_as_were_found() -> None:
    said = "What is the price of ale?\nWhat is the price of wine?\n({s1} + {s2}) / 2"
    assert _decomposed(said, task="The average price of ale and wine?") is not None


def test_constants_and_the_tasks_own_names_are_known() -> None:
    assert _decomposed("How long is the Otter?\n{s1} * 12", task="How long is the otter, twelvefold?") is not None
    assert _decomposed("What does it cost?\n{s1} * (1 - 15 / 100)", task="15% off: what does it cost?") is not None


WEEK = "What does Mabel earn in two weeks?"
HOURS = "hours a week of Mabel Orme\npay an hour of Mabel Orme\n{s1} * {s2} * 2"
STAFF = (
    Fact("table:staff.csv", "staff: name Mabel Orme; hours a week 24; pay an hour 13.50"),
    Fact("file:rules.md:3", "Pay: There are 52 weeks and 21 holidays; 24 of them are paid."),
    Fact("", "boats: boat, crew"),
)
ANSWERED = "hours a week of Mabel Orme = 24\npay an hour of Mabel Orme = 13.50\n{s1} * {s2} * 2"


def test_names_may_be_those_of_the_files_and_numbers_not() -> None:
    assert _decomposed(HOURS, task=WEEK, around=STAFF) is not None
    assert _decomposed(HOURS, task=WEEK) is None
    assert _decomposed(HOURS.replace("* 2", "* 21"), task=WEEK, around=STAFF) is None


def test_answers_that_stand_in_the_files_are_kept_with_where_they_do() -> None:
    found = _decomposed(ANSWERED, task=WEEK, around=STAFF)
    assert found is not None
    assert found.lines == HOURS.splitlines()
    assert [step.found for step in found.steps] == [
        Found("24", STAFF[0].source, STAFF[0].text),
        Found("13.50", STAFF[0].source, STAFF[0].text),
        None,
    ]
    assert found.read


def test_an_answer_that_stands_nowhere_is_asked_for() -> None:
    found = _decomposed(ANSWERED.replace("13.50", "14"), task=WEEK, around=STAFF)
    assert found is not None
    assert [step.found is None for step in found.steps] == [False, True, True]
    assert not found.read


def test_without_files_nothing_is_read() -> None:
    found = _decomposed("pay of Mabel = 24\n{s1} * 2", task="Mabel has 24 an hour. What are 2 hours?")
    assert found is not None
    assert (found.lines[0], found.steps[0].found, found.read) == ("pay of Mabel = 24", None, False)


@pytest.mark.parametrize(
    ("answer", "step", "source"),
    [
        ("24", "hours a week of Mabel", "table:staff.csv"),
        ("24", "paid holidays", "file:rules.md:3"),
        ("Mabel Orme", "name", "table:staff.csv"),
        ("4", "hours", None),
        ("13", "pay", None),
        ("Mabel Or", "name", None),
        ("crew", "crew of the boat", None),
    ],
)
def test_where_an_answer_stands(answer: str, step: str, source: str | None) -> None:
    found = where(answer, step, STAFF)
    assert (found and found.source) == source


@pytest.mark.parametrize(("extension", "read"), [("14", True), ("20", False)])
def test_a_step_is_held_against_lines_with_the_answers_before_it(extension: str, read: bool) -> None:
    told = [
        Fact("table:boats.csv", "boats: name Heron; keeper Ada Birk; built 2019"),
        Fact("file:staff.md:1", "Ada Birk is on extension 14."),
        Fact("file:staff.md:2", "The hall has extension 20."),
    ]
    said = f"keeper of the Heron = Ada Birk\nextension of {{s1}} = {extension}"
    plan = _decomposed(said, task="Which extension has the keeper of the Heron?", around=told)
    assert plan is not None
    assert plan.read is read


def test_a_single_step_is_held_against_what_the_model_says_it_is() -> None:
    told = [Fact("file:a.md:1", "Open day: 2026-06-13, doors open at 10:00.")]
    for said, stands in (("date the doors open = 10:00", False), ("time the doors open = 10:00", True)):
        plan = _decomposed(said, task="When's the open day?", around=told)
        assert plan is not None
        assert [step.text for step in plan.steps] == ["When's the open day?"]
        assert plan.read is stands


def test_thousands_may_be_written_without_their_mark() -> None:
    assert where("4310.60", "money", [Fact("file:a.md:1", "We had £4,310.60 in the bank.")]) is not None


@pytest.mark.parametrize(
    ("step", "so"),
    [
        ("{s1} * {s2}", True),
        ("{s1} + {s2} months", True),
        ("days from 2026-05-01 to {s1}", True),
        ("is {s1} at least 45", True),
        ("abs({s1} - {s2})", True),
        ("{s1} g in kg", True),
        ("{s1} in square metres", True),
        ("12 * 4", False),
        ("phone of {s1}", False),
        ("ext of {s1}", False),
        ("months of the loan", False),
    ],
)
def test_what_only_calculates(step: str, so: bool) -> None:
    assert calculates(step) is so


def test_a_day_may_be_written_with_its_year() -> None:
    task, said = "Is the Harper booking before 3 May?", "date of the Harper booking\nis {s1} before 2026-05-0"
    assert _decomposed(f"{said}3", task=task) is not None
    assert _decomposed(f"{said}4", task=task) is None


def _learned(root: Path, *said: str) -> tuple[Learned, list[ChatRequest]]:
    """Who writes these texts, the last of them again and again, and what it was asked."""
    (root / "staff.csv").write_text("name,hours a week,pay an hour\nMabel Orme,24,13.50\n")
    asked: list[ChatRequest] = []

    async def chat(request: ChatRequest) -> Completion:
        asked.append(request)
        return _completion(said[min(len(asked), len(said)) - 1], 0.01)

    return Learned(ToolContext(root=root), figures=chat), asked


def test_steps_are_read_where_all_of_them_are_answered(tmp_path: Path) -> None:
    answered = ANSWERED.replace("13.50", "13.5")

    def read(said: str) -> Decomposed | None:
        return asyncio.run(_learned(tmp_path, said)[0].read(WEEK, 8))

    found = read(answered)
    assert found is not None
    assert asyncio.run(comes_to(found.steps)) == "648"
    assert read(answered.replace(" = 24", "")) is None
    assert read(answered.replace("{s1} * {s2} * 2", "{s1} until {s2} and")) is None
    assert asyncio.run(Learned(ToolContext(root=tmp_path)).read(WEEK, 8)) is None
    nowhere = replace(_learned(tmp_path, answered)[0], context=ToolContext())
    assert asyncio.run(nowhere.read(WEEK, 8)) is None


def test_how_long_it_is_does_not_say_whether_it_fits(tmp_path: Path) -> None:
    def read(said: str) -> Decomposed | None:
        return asyncio.run(_learned(tmp_path, said)[0].read("Is Mabel here for at most 30 hours?", 8))

    assert read("hours a week of Mabel = 24\nis {s1} at most 30") is not None
    assert read("hours a week of Mabel = 24") is None


PAY, HOURS_OF, NONE = "pay an hour of Mabel = 13.5", "hours a week of Mabel = 24", "pay of Mabel"
PAID = "What is Mabel paid an hour?"


def test_most_texts_must_come_to_the_same(tmp_path: Path) -> None:
    def read(*said: str) -> tuple[Decomposed | None, int]:
        learned, asked = _learned(tmp_path, *said)
        return asyncio.run(learned.read(PAID, 8)), len(asked)

    # drawing ends where it is decided
    found, drawn = read(PAY)
    assert (found and found.sure, drawn) == (1.0, MOST)
    assert read(NONE) == (None, DRAWN - MOST + 1)
    # whatever the steps are called
    found, drawn = read(HOURS_OF, PAY, "Mabel's pay = 13.5", NONE, "wage of Mabel = 13.5")
    assert found is not None
    assert (found.sure, drawn) == (3 / 5, 5)
    assert found.steps[0].found is not None
    assert found.steps[0].found.answer == "13.5"
    assert read(*[PAY, HOURS_OF] * 2, NONE) == (None, DRAWN)


@pytest.mark.parametrize(("one", "other"), [("24", "24.0"), ("Hot Desk", "hot desk")])
def test_the_same_answer_may_be_written_otherwise(one: str, other: str) -> None:
    async def chat(request: ChatRequest) -> Completion:
        written = [one, other, "place of Mabel", one, other][request.seed or 0]
        return _completion(f"place of Mabel = {written}")

    facts = [Fact("file:a.md:1", f"The place is {one}."), Fact("file:b.md:1", f"The place is {other}.")]
    assert asyncio.run(agreed("Where is the place of Mabel?", chat, 8, facts)) is not None


def test_what_is_only_calculated_was_not_read(tmp_path: Path) -> None:
    learned, _ = _learned(tmp_path, "40 * 12\n{s1} + 12")
    assert asyncio.run(learned.read("What are 40 of them at 12, and 12 more, for Mabel Orme?", 8)) is None


def test_each_drawing_is_asked_for_once() -> None:
    asked: list[int | None] = []

    async def ask(request: ChatRequest) -> Completion:
        asked.append(request.seed)
        return _completion(f"text {request.seed}")

    async def texts() -> list[str]:
        chat = once({}, ask)
        requests = [ChatRequest(decomposer_prompt(TASK, ""), seed=seed) for seed in (None, 1, 2, 1, None)]
        return [(await chat(request)).text for request in requests]

    assert asyncio.run(texts()) == ["text None", "text 1", "text 2", "text 1", "text None"]
    assert asked == [None, 1, 2]


def test_the_first_text_is_the_likeliest_and_each_other_is_drawn_anew(tmp_path: Path) -> None:
    learned, asked = _learned(tmp_path, PAY)
    assert asyncio.run(learned.read(PAID, 8)) is not None
    assert [(r.temperature, r.seed) for r in asked] == [(0.0, None)] + [(DRAWN_AT, n) for n in range(1, MOST)]


def test_of_the_texts_that_agree_the_likeliest_is_the_plan(tmp_path: Path) -> None:
    likely = {1: "Mabel's pay = 13.5", 2: "wage of Mabel = 13.5"}

    async def chat(request: ChatRequest) -> Completion:
        return _completion(likely.get(request.seed or 0, f"{PAY}\n{{s1}} * 1"), 0.2 if request.seed == 2 else 0.1)

    facts = [Fact("table:staff.csv", "staff: name Mabel; wage 13.5")]
    found = asyncio.run(agreed(PAID, chat, 8, facts))
    assert found is not None
    assert [step.found and step.found.text for step in found.steps] == [facts[0].text]


def test_half_of_the_budget_is_left_to_those_who_may_have_to_be_asked(tmp_path: Path) -> None:
    learned, asked = _learned(tmp_path, PAY)
    left = iter([0.6, KEPT - 0.01])
    assert asyncio.run(replace(learned, left=lambda: next(left)).read(PAID, 8)) is None
    assert len(asked) == 2


@pytest.mark.parametrize("paid", [0, 2])
def test_what_can_not_be_paid_is_not_drawn(tmp_path: Path, paid: int) -> None:
    learned, asked = _learned(tmp_path, PAY)

    async def chat(request: ChatRequest) -> Completion:
        if len(asked) == paid:
            raise BudgetExceeded("no tokens are left")
        return await cast(Any, learned.figures)(request)

    poor = replace(learned, figures=chat)
    if paid:
        assert asyncio.run(poor.read(PAID, 8)) is None
    else:
        with pytest.raises(BudgetExceeded):
            asyncio.run(poor.read(PAID, 8))


def test_what_the_files_hold_is_shown_before_the_task(tmp_path: Path) -> None:
    (tmp_path / "staff.csv").write_text("name,hours a week,pay an hour\nMabel Orme,24,13.50\n")
    asked: list[ChatRequest] = []

    async def chat(request: ChatRequest) -> Completion:
        asked.append(request)
        return _completion(HOURS)

    assert asyncio.run(Learned(ToolContext(root=tmp_path), steps=chat).decomposed(WEEK, 8))
    held = "staff: name, hours a week, pay an hour | name Mabel Orme"
    assert [a.messages[1]["content"] for a in asked] == [WEEK, f"{held}\n\nTask: {WEEK}"]


def _plans(*lines: str, sure: float = 0.3) -> Decomposed:
    return Decomposed(tuple(Subtask(f"s{n}", line, "", ()) for n, line in enumerate(lines, 1)), sure)


def test_two_readings_of_one_shape_agree() -> None:
    plain = _plans("What does Mabel do?", "What is her pay?", "{s1} * {s2}", sure=0.001)
    informed = _plans("hours a week of Mabel", "pay an hour of Mabel", "{s1} * {s2} * 2", sure=0.5)
    assert readings(plain, informed) == [replace(plain, agreed=True), replace(informed, agreed=True)]


def test_several_steps_come_before_one() -> None:
    one, two = _plans("What does Mabel earn?", sure=0.9), _plans("pay of Mabel", "{s1} * 2", sure=0.1)
    other = _plans("Who is Mabel?", "pay of {s1}", sure=0.2)
    assert readings(one, two) == readings(two, one) == [two]
    assert readings(two, other) == [two, other]
    assert readings(None, two) == readings(two, None) == [two]
    assert readings(one, one) == [one]
    assert readings(None, None) == []


def test_steps_cover_what_they_speak_of() -> None:
    task = "By how much was the battery bank dearer than the cistern lining?"
    whole = _plans("What did the battery bank cost?", "What did the cistern lining cost?", "{s1} - {s2}")
    part = _plans("cost of the cistern lining", "cost of the hut", "{s1} - {s2}")
    assert covered(part, task) < covered(whole, task) < 1


def test_of_the_last_step_the_task_says_what_it_answers() -> None:
    said = "When does the sale begin?\n{s1} + 3 weeks"
    for task, kind in (
        ("How many weeks does it run, 3 weeks after the sale?", "number"),
        ("Is it shut 3 weeks after the sale?", "yes-no"),
        ("When is it, 3 weeks after the sale?", "text"),
    ):
        found = _decomposed(said, task=task)
        assert found is not None
        assert [step.answer_type for step in found.steps] == ["text", kind]


def test_a_step_that_stands_twice_is_no_plan() -> None:
    assert _decomposed("What does it cost?\nWhat does it cost?\n{s1} * {s2}") is None


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
    whole: float = 0.2,
    failed: str = "",
    informed: str = "",
    figures: str = "",
    program: str = "",
    steps: str = STEPS,
) -> tuple[Plan, list[str]]:
    """The plan of a small team, and which trained roles were asked.

    Agents fit the steps of the model so well, and the parts that the rules make so well; a part has failed. Shown
    the files, the model writes other steps.
    """
    asked: list[str] = []

    async def fits(text: str) -> Mapping[str, float]:
        lookup = fit if "?" in text and "," not in text else whole
        return {"math": 0.9 if "12" in text else 0.0, "table": 0.1, "lookup": lookup}

    def says(role: str, text: str, likely: float) -> Any:
        async def chat(request: ChatRequest) -> Completion:
            if "\n\nTask: " in request.messages[-1]["content"]:
                return _completion(informed, likely)
            asked.append(role)
            return _completion(text, likely)

        return chat

    async def reckons(request: ChatRequest) -> Completion:
        return _completion(figures, sure)

    async def never(request: ChatRequest) -> Completion:
        raise AssertionError(request)

    (root / "boats.csv").write_text("name,length_m\nOtter,11\nHeron,9\n")
    learned = Learned(
        ToolContext(root=root),
        "table",
        says("querier", query, query_sure),
        says("decomposer", steps, sure),
        reckons if figures else None,
    )
    planner = Planner(ABLE, fits, never, PlannerSettings(), small=True, whole=program, learned=learned)
    report = "It was not found." if failed else ""
    lost = frozenset({(failed, "lookup")}) if failed else frozenset[tuple[str, str]]()
    return asyncio.run(planner.plan(task, report=report, failed=lost)), asked


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
    assert _plan(tmp_path, sure=SPLIT * 0.8)[0].author != "decomposer"
    assert _plan(tmp_path, fit=0.15)[0].author != "decomposer"


def test_what_was_read_is_the_plan_and_asked_of_nobody(tmp_path: Path) -> None:
    said = "length_m of the Otter = 11\n{s1} * 3"
    found, asked = _plan(tmp_path, task="Three Otters?", sure=0.01, figures=said, whole=0.5)
    assert [(step.text, step.found and step.found.answer) for step in found.subtasks] == [
        ("length_m of the Otter", "11"),
        ("{s1} * 3", None),
    ]
    assert (found.author, asked) == ("decomposer", ["querier"])
    answered = read_ahead(found, 2)
    assert [(key, tried["text"], tried["status"]) for key, tried in answered.items()] == [("p2.s1", "11", "ok")]
    assert answered["p2.s1"]["evidence"][0][0] == "table:boats.csv"
    assert Plan.from_json(found.as_json()) == found


def test_what_was_read_comes_before_a_program_and_a_program_before_other_steps(tmp_path: Path) -> None:
    task, said = "How many metres are three Otters of ours, bow to stern?", "length_m of the Otter = 11\n{s1} * 3"
    found, _ = _plan(tmp_path, task=task, figures=said, program="analysis")
    assert (len(found.subtasks), found.author) == (2, "decomposer")
    found, asked = _plan(tmp_path, task=task, program="analysis")
    assert (found.author, asked) == ("program", ["querier"])


def test_what_is_only_looked_up_is_left_to_an_agent_that_fits_the_whole(tmp_path: Path) -> None:
    task = "How long would you say three Otters are, bow to stern?"
    looked_up, reckoned = "length_m of the Otter = 11", "length_m of the Otter = 11\n{s1} * 3"
    for figures, whole, read in (
        (looked_up, OUTRIGHT + 0.01, False),
        (looked_up, OUTRIGHT - 0.01, True),
        (reckoned, OUTRIGHT + 0.01, True),
    ):
        found, _ = _plan(tmp_path, task=task, sure=0.01, fit=whole, whole=whole, figures=figures)
        assert (found.subtasks[0].found is not None) == read


def test_a_unit_at_the_end_makes_no_plan_likely() -> None:
    assert in_other_units(["How long is the boat?", "{s1} in square metres"])
    assert in_other_units(["How long is the boat?", "{s1}"])
    assert not in_other_units(["How long is the boat?", "{s1} * 3"])
    assert not in_other_units(["Who keeps the bees?", "How long is the boat of {s1}?", "{s2} in feet"])


def test_a_plan_that_only_names_a_unit_must_fit_better(tmp_path: Path) -> None:
    task, steps = "Say how long the boat of the man is, in feet", "How long is the boat of the man?\n{s1} in feet"
    for fit, author in ((0.3, "instant"), (0.4 + BETTER + 0.01, "decomposer")):
        found, _ = _plan(tmp_path, task=task, sure=0.9, fit=fit, whole=0.4, steps=steps)
        assert found.author == author


def test_an_answer_that_fails_a_check_is_left_to_the_agents() -> None:
    found = Found("soon", "file:a.md:1", "The lease ends soon.")
    plan = Plan((Subtask("s1", "When does it end?", "lookup", (), "date", found),), "instant")
    assert read_ahead(plan, 0) == {}
    late = Plan(
        (Subtask("s1", "a", "lookup"), Subtask("s2", "b of {s1}", "lookup", ("s1",), "text", found)), "model"
    )
    assert read_ahead(late, 0) == {}


def test_steps_on_which_two_readings_agree_need_not_be_sure(tmp_path: Path) -> None:
    same = "keeper of the hives?\nlength_m of the craft of {s1}?\n{s2} in feet"
    found, _ = _plan(tmp_path, sure=SPLIT / 9, informed=same)
    assert (found.author, found.subtasks[0].text) == ("decomposer", "Who keeps the bees?")
    assert (
        _plan(tmp_path, sure=SPLIT / 9, whole=0.9, informed="boat of the man\n{s1} in feet")[0].author
        != "decomposer"
    )
    assert _plan(tmp_path, sure=SPLIT / 9, fit=0.15, informed=same)[0].author != "decomposer"


def test_of_readings_that_agree_the_one_that_fits_and_covers_is_taken(tmp_path: Path) -> None:
    fits = "keeper of hives\nlength_m of craft of {s1}\n{s2} in feet"  # not asked as questions: fits as ``whole``
    assert (
        _plan(tmp_path, fit=0.3, whole=0.9, sure=LIKELY + 0.1, informed=fits)[0].subtasks[0].text
        == "keeper of hives"
    )
    covers = "Man who keeps the bees?\nHow long is the boat of {s1}?\n{s2} in feet"
    assert _plan(tmp_path, sure=LIKELY + 0.1, informed=covers)[0].subtasks[0].text == "Man who keeps the bees?"


def test_the_rules_plan_stands_where_agents_fit_it_as_well(tmp_path: Path) -> None:
    less = (SPLIT + LIKELY) / 2
    assert _plan(tmp_path, fit=0.5, whole=0.5, sure=less)[0].author != "decomposer"
    assert _plan(tmp_path, fit=0.5 + 0.6 * BETTER, whole=0.5, sure=less)[0].author != "decomposer"
    assert _plan(tmp_path, fit=0.5 + 1.4 * BETTER, whole=0.5, sure=less)[0].author == "decomposer"


def test_likely_steps_are_the_plan_where_agents_fit_them_less(tmp_path: Path) -> None:
    assert _plan(tmp_path, fit=0.3, whole=0.6, sure=LIKELY + 0.01)[0].author == "decomposer"
    assert _plan(tmp_path, fit=0.3, whole=0.6, sure=LIKELY - 0.01)[0].author != "decomposer"
    assert _plan(tmp_path, fit=0.15, whole=0.6, sure=LIKELY + 0.01)[0].author != "decomposer"  # nobody can do it


def test_after_a_failure_the_model_may_be_less_sure(tmp_path: Path) -> None:
    found, _ = _plan(tmp_path, sure=AGAIN * 1.1, whole=0.5, failed=TASK)
    assert found.author == "decomposer"
    assert _plan(tmp_path, sure=AGAIN * 0.9, failed=TASK)[0].author != "decomposer"


def test_a_step_that_failed_is_not_planned_again(tmp_path: Path) -> None:
    assert _plan(tmp_path, failed="Who keeps the bees?")[0].author != "decomposer"


def test_how_much_more_is_an_amount_and_a_price_has_no_unit() -> None:
    said = "What does a gin cost in pounds?\nWhat does a wine cost in pounds?\n{s1} - {s2}"
    found = _decomposed(said, task="How much dearer is a gin than a wine, in pounds?")
    assert found is not None
    texts = ["What does a gin cost?", "What does a wine cost?", "abs({s1} - {s2})"]
    assert [step.text for step in found.steps] == texts
    left = _decomposed(said, task="What is left of the price of a gin when a wine is paid, in pounds?")
    assert left is not None
    assert left.steps[-1].text == "{s1} - {s2}"
    said = "What does the cat weigh in pounds?\n{s1} * 2"
    weight = _decomposed(said, task="Twice the weight of the cat in pounds?")
    assert weight is not None
    assert weight.steps[0].text == "What does the cat weigh in pounds?"


def test_what_one_agent_clearly_does_is_asked_of_no_model(tmp_path: Path) -> None:
    found, asked = _plan(tmp_path, task="Where do the bees live?", fit=0.97)
    assert (len(found.subtasks), found.author, asked) == (1, "instant", [])


def test_a_question_of_few_words_is_read_where_no_agent_fits_it(tmp_path: Path) -> None:
    said = "length_m of the Otter = 11\n{s1} * 3"
    for whole, author in ((OUTRIGHT - 0.1, "decomposer"), (OUTRIGHT + 0.1, "instant")):
        found, _ = _plan(tmp_path, task="Three Otters, please?", sure=0.9, fit=whole, whole=whole, figures=said)
        assert found.author == author


def test_a_question_of_few_words_has_no_steps(tmp_path: Path) -> None:
    assert _plan(tmp_path, task="Who painted the north gate?", whole=0.5)[1] == ["querier"]
    assert _plan(tmp_path, task="Who painted the north gate of the yard in spring?")[1] == ["querier", "decomposer"]


def test_what_planning_asked_is_not_asked_again() -> None:
    said: dict[str, Completion] = {}
    asked: list[str] = []

    async def ask(role: str, request: ChatRequest) -> Completion:
        asked.append(role)
        return _completion(STEPS)

    def trained(role: str, run: str) -> bool:
        return True

    def in_hand(run: str) -> Any:
        return SimpleNamespace(read=said, account=SimpleNamespace(share=lambda: 0.7))

    def sure(_: str) -> float:
        return 0.8

    models = SimpleNamespace(trained=trained)
    services = SimpleNamespace(in_hand=in_hand, models=models, agents={}, sure=sure)
    for _ in range(2):
        learned = learned_of(cast(Any, services), "r1", ToolContext(), ask)
        assert asyncio.run(learned.decomposed(TASK, 8))
        assert learned.left() == 0.7  # of the run's account
        assert not learned.sums  # a model that is asked itself unless a reading is nearly certain
    assert asked == ["decomposer"]
    assert len(said) == 1


PRICES = "item,price_eur,stock\nvarnish,18,4\nrope,4,30\npaint,11,6\n"
PRICED = "Nobody told me what varnish costs. I want five of it. How much is that?"


def test_the_decomposer_of_the_package_plans_for_a_team(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(self: Learned, task: str, most: int) -> None:
        return None

    weights.ensure()
    monkeypatch.setattr(Learned, "read", nothing)  # the reckoner would be asked first
    (tmp_path / "prices.csv").write_text(PRICES)
    with Team(builtin_agents(), Settings(), store=store, root=tmp_path) as team:
        result = team.run(PRICED)
        told = [row for row in store.rows(select(steps)) if row["role"] == "decomposer"]
    shipped = packaged("decomposer")
    assert shipped is not None
    assert {row["model_version"] for row in told} == {shipped.version}
    assert (result.plan.author, result.text) == ("decomposer", "90")


def test_the_reckoner_of_the_package_reads_while_it_plans(tmp_path: Path, store: Store) -> None:
    weights.ensure()
    (tmp_path / "prices.csv").write_text(PRICES)
    with Team(builtin_agents(), Settings(), store=store, root=tmp_path) as team:
        result = team.run(PRICED)
        told = [row for row in store.rows(select(steps)) if row["kind"] == "model"]
    shipped = packaged("reckoner")
    assert shipped is not None
    assert MOST <= len(told) <= DRAWN
    assert {(row["role"], row["model_version"]) for row in told} == {("reckoner", shipped.version)}
    line = "prices: item varnish; price_eur 18; stock 4"
    assert result.text == "90"
    assert result.plan.subtasks[0].found == Found("18", "table:prices.csv", line)
    assert ("table:prices.csv", line) in [(piece.source, piece.text) for piece in result.evidence]
    assert [decided.subtask for decided in result.decisions] == ["p0.s2"]  # nobody was chosen for what was read
    assert Result.from_json(result.as_json()) == result
    # who reads a file while planning has seen what it holds, here and in the process that goes on
    assert [row["tool"] for row in store.rows(select(tool_calls))] == ["read_file", "calculate"]
    assert taint_of(store, result.run_id).private == ["read_file"]


def test_files_that_can_not_be_opened_answer_nothing(tmp_path: Path, store: Store) -> None:
    (tmp_path / "notes.md").write_text("Mabel has 24 an hour.\n")
    (tmp_path / ".env").write_text("pay 24\n")
    ledger = Ledger(store)
    found = Found("24", "file:notes.md:1", "Mabel has 24 an hour.")
    table = Found("24", "table:shop.db#staff", "staff: pay 24")
    keys = Found("24", "file:.env:1", "pay 24")  # a file that no tool may read
    cases = (found, 1, True), (found, 0, False), (table, 1, True), (keys, 1, False)
    for number, (one, limit, so) in enumerate(cases):
        run = f"r{number}"
        account = ledger.open(run, Budget(tool_calls=limit), new=True)
        caller = ToolCaller(store, Work(run, "p0", account), ToolContext(root=tmp_path))
        plan = Plan((Subtask("s1", "pay of Mabel", "lookup", (), "text", one),), "instant")
        assert asyncio.run(read_through(read_ahead(plan, 0), caller)) is so
        assert bool(taint_of(store, run).private) or not so


def test_without_adapters_the_rules_plan(tmp_path: Path, store: Store) -> None:
    weights.ensure()
    (tmp_path / "prices.csv").write_text(PRICES)
    with Team(builtin_agents(), Settings(adapters=False), store=store, root=tmp_path) as team:
        result = team.run(PRICED)
        assert not [row for row in store.rows(select(steps)) if row["role"] == "decomposer"]
    assert result.plan.author != "decomposer"
