"""Comparisons that a question makes, by the words after a number."""

import pytest

from pointwork.agents.readings.question import Question


@pytest.mark.parametrize(
    ("text", "op", "value"),
    [
        ("How many courses have lessons of 45 minutes or more?", ">=", "45"),
        ("Which boats are 9 m or longer?", ">=", "9"),
        ("Which crates weigh 12 kilograms or less?", "<=", "12"),
        ("Which of us is 40 years or younger?", "<=", "40"),
        ("Which talks take no longer than 30 minutes?", "<=", "30"),
        ("Which crates are not lighter than 12 kg?", ">=", "12"),
        ("Which boats have no fewer than 3 berths?", ">=", "3"),
        ("Which talks take longer than 30 minutes?", ">", "30"),
    ],
)
def test_a_number_and_more(text: str, op: str, value: str) -> None:
    assert [(one.op, one.value) for one in Question(text).comparisons] == [(op, value)]
