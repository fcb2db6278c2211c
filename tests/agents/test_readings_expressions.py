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
