"""Amounts of one kind in one unit, and all else as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.agents.readings.one_unit import in_one_unit
from pointwork.agents.reckoning import computed, value_of


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("180 g a day. How long does a 4.5 kg sack last?", "180 g a day. How long does a 4500 g sack last?"),
        ("Cheese is 12.90 a kilo. What do 350 g cost?", "Cheese is 12.90 a kilo. What do 0.35 kg cost?"),
        ("Floor 2.4 by 1.8 m, tiles 30 cm square.", "Floor 240 by 180 cm, tiles 30 cm square."),
        ("2 m by 1 m, 35 cm deep: how many cubic metres?", "2 m by 1 m, 0.35 m deep: how many cubic metres?"),
        ("He runs 15 km/h. How long for 500 m?", "He runs 15 km/h. How long for 0.5 km?"),
        ("Half a litre and 250 ml together, in ml?", "500 ml and 250 ml together, in ml?"),
        ("two litres of water, 40 ml a cup", "2000 ml of water, 40 ml a cup"),
        ("Nails at 80p a bag and glue at £3.", "Nails at £0.8 a bag and glue at £3."),
        ("Gum is 35 cents. I have 5 dollars. How many?", "Gum is $0.35. I have 5 dollars. How many?"),
    ],
)  # fmt: skip
def test_in_one_unit(text: str, made: str) -> None:
    assert in_one_unit(text) == made


@pytest.mark.parametrize(
    "text",
    [
        "Two trains of 200 m each.",
        "On the map 1 cm stands for 4 km. The river is 17.5 cm.",
        "A sack of 4.5 kg and a can of 20 ml.",
        "Gum is 35 cents. I have 5 dollars. How many cents are left?",
        "A wall of 12 m² takes 2 litres.",
        "",
    ],
)
def test_nothing_to_bring_together(text: str) -> None:
    assert in_one_unit(text) == text


@given(st.integers(1, 9), st.integers(1, 90))
def test_what_it_weighs_stays(kilos: int, grams: int) -> None:
    made = in_one_unit(f"A sack of {kilos} kg, {10 * grams} g a day.")
    assert made == f"A sack of {1000 * kilos} g, {10 * grams} g a day."


def test_a_problem_is_computed_in_one_unit() -> None:
    problem = computed("A cook uses 250 g of rice a day. How many days will a 4 kg sack last?")
    assert problem is not None
    assert value_of(problem) == 16
