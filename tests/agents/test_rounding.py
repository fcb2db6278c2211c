"""What is only had whole is rounded; what is measured or paid is not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.agents.readings import rounding
from pointwork.agents.readings.problem_text import Problem
from pointwork.agents.reckoning import computed, value_of


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Choir trip: 74 singers, each coach seats 31. How many coaches do we order?", 3),
        ("A rope of 20 m is cut into pieces of 3 m. How many full pieces are there?", 6),
        ("A rope of 20 m is cut into 8 equal pieces. How long is each piece, in metres?", 2.5),
        ("4 friends share a bill of 86 euros evenly. What does each pay?", 21.5),
    ],
)
def test_things_are_had_whole(text: str, answer: float) -> None:
    found = computed(text)

    assert found is not None
    assert value_of(found) == pytest.approx(answer)


@pytest.mark.parametrize("value", [3.0, 3.0000000001, math.inf, math.nan])
def test_what_is_whole_or_no_number_stays(value: float) -> None:
    assert rounding.way(Problem("How many coaches do we order?"), value) == ""
    assert rounding.way(Problem("How many coaches do we order?"), 2.4) == "ceil"


def test_a_percentage_is_not_rounded() -> None:
    assert rounding.way(Problem("What percentage of the coaches is full?"), 0.424) == ""


@given(st.text(max_size=60), st.floats())
def test_any_text_has_one_of_the_ways(text: str, value: float) -> None:
    assert rounding.way(Problem(text), value) in rounding.WAYS
