"""Numbers that a problem lists, to be added up or averaged."""

import asyncio
from unittest.mock import Mock

import pytest

from pointwork.agents.preparing import CERTAIN, SOLVED, fits_calculator
from pointwork.agents.readings import Reading
from pointwork.agents.readings.listed import listed
from pointwork.agents.reckoning import computed, value_of
from pointwork.tools import ToolContext


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Over five days a pond had 84, 102, 67, 139 and 118 visitors. What was the daily average?", 102),
        ("I paid £12.50, £8 and £3.20. What is the total?", 23.7),
        ("On Monday we sold 12 loaves, on Tuesday 15 and on Wednesday 9. How many altogether?", 36),
        ("My last five bills were 31, 28, 35, 40 and 33.50. What's the average?", 33.5),
        ("Loads of 1,240 kg, 1,100 kg and 900 kg. What do the three weigh in all?", 3240),
    ],
)
def test_what_is_listed_is_added_up_or_averaged(text: str, value: float) -> None:
    reading = computed(text)
    assert reading is not None
    assert value_of(reading) == pytest.approx(value)
    assert reading.score >= CERTAIN


@pytest.mark.parametrize(
    "text",
    [
        "The runs took 30 minutes, 45 minutes and 50 minutes. How many hours altogether?",
        "Marks of 70, 75, 69 and 80. What must the fifth be for an average of 74?",
        "Tickets at 5, 6 and 7 crowns for 4 guests. What is the total?",
        "The last two of 12, 15 and 9 were short. What is the average?",
        "We have 12, 15 and 9 loaves. What is the average without the best day?",
        "We sold 12 loaves and 15 rolls. How many altogether?",
        "Which of 12, 15 and 9 is a prime?",
    ],
)
def test_what_is_asked_besides_is_left_to_others(text: str) -> None:
    assert listed(text) is None


def _fit(text: str) -> float:
    return asyncio.run(fits_calculator(text, ToolContext()))


def test_a_problem_that_holds_all_its_numbers_fits_the_calculator() -> None:
    assert _fit("I swim 36 lengths of a 25 m pool. How many metres is that?") == SOLVED
    less = "A customer buys 12 bags at £8.75 each and gets 10% off the whole lot. What is the bill?"
    assert _fit(less) == SOLVED


def test_what_is_read_less_surely_has_to_use_all_numbers_and_name_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = Reading("calculate", {"expression": "12 * 8.75"}, CERTAIN - 0.01)
    monkeypatch.setattr("pointwork.agents.preparing._problem", Mock(return_value=reading))
    assert _fit("Someone buys 12 bags at £8.75 each. What is the bill?") == SOLVED
    # whom it names may stand in the files, and so may what she pays
    assert _fit("Ann Moor buys 12 bags at £8.75 each. What is her bill?") < SOLVED
    assert _fit("Someone buys 12 bags at £8.75 each and 3 boxes. What is the bill?") < SOLVED


@pytest.mark.parametrize(
    "text",
    ["3 + 4 * 2 - 1 / 5", "How many words has http://127.0.0.1:8080/a2 on 3 pages?", "How long are 3 trips?"],
)
def test_what_is_no_problem_does_not(text: str) -> None:
    assert _fit(text) != SOLVED
