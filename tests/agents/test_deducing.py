"""Word problems by deduction, and both readings of them together."""

from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.agents.parsing.problems import Deduced, deduced, numbers
from pointwork.agents.parsing.worded import Worked
from pointwork.agents.reckoning import LEAST, computed, value_of


def test_a_share_is_there_in_three_forms() -> None:
    found = [(one.form, round(one.value, 4)) for one in numbers("15 % off 80 euros")]

    assert found == [("q", 0.15), ("1-", 0.85), ("1+", 1.15), ("q", 80)]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("A box holds 12 eggs. How many eggs are in 7 boxes?", 84),
        ("Tom had 45 stamps and gave away 17. How many has he left?", 28),
        ("4 friends share a bill of 86 euros evenly. What does each pay?", 21.5),
    ],
)
def test_simple_problems_are_solved(text: str, answer: float) -> None:
    steps, both = deduced(text), computed(text)

    assert steps is not None
    assert both is not None
    assert steps.value == pytest.approx(answer)
    assert value_of(both) == pytest.approx(answer)
    assert both.score >= steps.chance - 1e-9  # agreeing makes surer


def test_what_has_no_numbers_is_no_problem() -> None:
    assert deduced("Who painted the lathe?") is None
    assert computed("Who painted the lathe?") is None
    assert deduced(" ".join(str(n) for n in range(40))) is None


def test_a_numeral_of_400_digits_is_no_quantity() -> None:
    assert deduced(f"{'9' * 400} apples") is None
    assert computed(f"{'9' * 400} apples and 3 more, how many?") is None


def test_a_price_that_is_not_said_is_not_computed() -> None:
    assert deduced("How much do 3 saws and 4 planes cost?") is not None
    assert computed("How much do 3 saws and 4 planes cost?") is None


@given(st.lists(st.integers(1, 500), min_size=1, max_size=5), st.sampled_from(["left", "each", "in all"]))
def test_expressions_come_to_their_value(given_: list[int], word: str) -> None:
    text = f"There are {' and '.join(map(str, given_))} apples. How many {word}?"
    found = deduced(text)

    assert found is not None
    assert 0 <= found.chance <= 1
    assert found.value >= 0
    assert found.value == pytest.approx(eval(found.expression), rel=1e-6, abs=1e-5)
    both = computed(text)
    assert both is None or both.score >= LEAST


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Dora sowed 36 trays of 84 seeds each, and 2,646 seeds came up. What percentage is that?", 87.5),
        ("Dora sowed 36 trays of 84 seeds each, and 2,646 seeds came up. What share is that?", 0.875),
    ],
)
def test_a_share_that_is_asked_for_in_percent_is(text: str, value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def share(_: str) -> Deduced:
        return Deduced("2646 / (36 * 84)", 0.875, 0.9)

    monkeypatch.setattr("pointwork.agents.reckoning.deduced", share)
    monkeypatch.setattr("pointwork.agents.reckoning.worked", Mock(return_value=Worked(0.9, None)))
    found = computed(text)
    assert found is not None
    assert value_of(found) == pytest.approx(value)
