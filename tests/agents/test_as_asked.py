"""Comparisons with a number of the task go the way its words say."""

import asyncio
from datetime import date
from typing import Any

import pytest

from pointwork.agents import calculated as plans
from pointwork.agents.comparing import as_asked
from pointwork.agents.facts.gathered import Fact
from pointwork.agents.parsing.amounts import DATE, NUMBER, TRUTH, Amount, amounts_of
from pointwork.agents.parsing.calculating import Calculation, Reading, Step

ROW = "bikes where bike is Swift: weight_kg 14.5"


def amounts(task: str, line: str = ROW) -> list[Amount]:
    return [one for one in amounts_of([task, line]) if one.kind == NUMBER]


@pytest.mark.parametrize(
    ("task", "first", "operation", "second", "value", "now"),
    [
        ("Does the Swift weigh less than 15 kg?", 0, "<", 1, 1.0, ">"),
        ("Does the Swift weigh less than 15 kg?", 1, ">", 0, 1.0, "<"),
        ("Is it under 15?", 0, "<=", 1, 1.0, ">"),
        ("Is it at most 14.5?", 0, "<", 1, 1.0, ">="),
        ("Does it weigh more than 14.5 kg?", 0, ">", 1, 0.0, "<"),
        ("Is it no lighter than 15?", 0, ">=", 1, 0.0, "<="),
        ("Does it weigh 16 kg or more?", 1, "<", 0, 0.0, ">="),
    ],
)
def test_a_comparison_the_other_way_round_is_turned(
    task: str, first: int, operation: str, second: int, value: float, now: str
) -> None:
    there = amounts(task)
    (one,) = as_asked(task, [Calculation(0.7, 5.0, TRUTH, (Step(there[first], there[second], operation),))])
    assert (one.value, one.chance, one.steps[-1].operation) == (value, 0.7, now)


@pytest.mark.parametrize(
    ("task", "first", "operation"),
    [
        ("Does the Swift weigh less than 15 kg?", 0, ">"),  # as it is asked
        ("Does the Swift weigh less than 15 kg?", 0, ">="),  # nor is how strictly changed
        ("15 kg are allowed. Does the Swift weigh less?", 0, "<"),  # nothing says it of the number
        ("Does the Swift weigh exactly 15 kg?", 0, "<"),
    ],
)
def test_what_is_asked_or_not_said_stays(task: str, first: int, operation: str) -> None:
    there = amounts(task)
    one = Calculation(0.7, 1.0, TRUTH, (Step(there[first], there[1 - first], operation),))
    assert as_asked(task, [one]) == [one]


def test_numbers_that_are_no_comparison_and_amounts_of_lines_stay() -> None:
    task = "How much less than 15 kg does the Swift weigh?"
    asked, there = amounts(task)
    found = [
        Calculation(0.5, 0.5, NUMBER, (Step(asked, there, "-"),)),
        Calculation(0.2, 0.0, TRUTH, (Step(there, there, "<"),)),
        Calculation(0.1, 29.5, NUMBER, (Step(asked, there, "+"),)),
    ]
    assert as_asked(task, found) == found


def test_where_a_line_has_its_amounts_tells_nothing_of_the_task() -> None:
    _, low, high = amounts("Is it under 15?", "weight 14.5 to 16")
    one = Calculation(0.7, 1.0, TRUTH, (Step(high, low, ">"),))
    assert as_asked("Is it under 15?", [one]) == [one]


def test_what_comes_to_the_same_is_one_by_the_likelier_way() -> None:
    task = "Does the Swift weigh less than 15 kg?"
    asked, there = amounts(task)
    wrong, right = (Step(asked, there, "<"),), (Step(there, asked, "<"),)
    (one,) = as_asked(task, [Calculation(0.3, 0.0, TRUTH, wrong), Calculation(0.6, 1.0, TRUTH, right)])
    assert (one.value, one.steps) == (1.0, right)
    assert one.chance == pytest.approx(0.9)
    assert as_asked(task, [Calculation(0.9, 0.0, TRUTH, wrong), Calculation(0.6, 1.0, TRUTH, right)])[0].chance == 1
    no = Calculation(0.5, 0.0, TRUTH, (Step(there, there, ">"),))
    many = [no, Calculation(0.4, 0.0, TRUTH, wrong), Calculation(0.3, 1.0, TRUTH, right)]
    assert [round(one.chance, 5) for one in as_asked(task, many)] == [0.7, 0.5]
    other = Calculation(0.4, 0.0, TRUTH, (Step(there, there, ">"),))
    found = as_asked(task, [other, Calculation(0.5, 0.0, TRUTH, wrong)])
    assert [(one.value, one.chance) for one in found] == [(1.0, 0.5), (0.0, 0.4)]


def test_what_earlier_steps_come_to_is_compared() -> None:
    task = "Do they weigh less than 30 kg together?"
    asked, there = amounts(task)
    steps = (Step(there, 2.0, "*"), Step(asked, 0, "<"))
    (one,) = as_asked(task, [Calculation(0.7, 0.0, TRUTH, steps)])
    assert (one.value, one.steps[-1].operation) == (1.0, ">")
    days = [Amount(float(date(2025, 3, day).toordinal()), DATE, f"2025-03-0{day}", 0, 9, 1) for day in (1, 9)]
    moved = (Step(days[0], 1.0, "+days"), Step(0, 2.0, "+days"), Step(1, days[1], "days"), Step(asked, 2, "<"))
    (late,) = as_asked(task, [Calculation(0.7, 0.0, TRUTH, moved)])
    assert late.value == 1.0  # five days


def test_plans_are_made_of_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    task = "Does the Swift weigh less than 15 kg?"
    asked, there = amounts(task)

    def read(*_: Any, **__: Any) -> Reading:
        return Reading(1.0, (Calculation(0.8, 0.0, TRUTH, (Step(asked, there, "<"),)),))

    monkeypatch.setattr(plans, "calculations", read)
    (plan,) = asyncio.run(plans.calculated(task, [Fact("table:bikes.csv", ROW)]))
    assert plan.steps[-1].text == "is 15 more than {s1}"
