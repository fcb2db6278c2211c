"""Texts that are an expression already, or nearly."""

import pytest

from pointwork.agents.readings.expressions import expression_of


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("43 / 8", "43 / 8"),
        ("43 / 8, rounded up", "ceil(43 / 8)"),  # as a step of a plan has it
        ("(3 + 5 * 2) / 4 rounded down.", "floor((3 + 5 * 2) / 4)"),
        ("12 crowns * 3", "12 * 3"),
        ("12 m * 3", "12 m * 3"),
        ("What is 3 at $4 each?", "3 * 4"),
        ("the price, rounded up", ""),
        ("a round number", ""),
    ],
)
def test_texts_that_are_expressions(text: str, expression: str) -> None:
    assert expression_of(text) == expression


@pytest.mark.parametrize("text", ["What is 12.5% of 480, plus 3?", "What is 3 times 4, minus 5?"])
def test_what_is_added_after_a_comma_is_part_of_the_sum(text: str) -> None:
    assert expression_of(text) == text.replace(",", "")


def test_a_comma_that_changes_the_sum_is_not_read_over() -> None:
    assert not expression_of("What is 2 plus 3, times 4?")
