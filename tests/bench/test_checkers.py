"""What counts as right, and what does not."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.bench.checkers import SpecError, from_row
from pointwork.bench.reading import last_dates, last_number, last_time


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("397.8", 397.8),
        ("It is 1,234.5 crowns.", 1234.5),
        ("12 345 km", 12345),
        ("31,68", 31.68),
        ("$-5", -5),
        ("-$5", -5),
        ("minus 5 degrees", -5),
        ("\u22125", -5),
        ("Total - 5 boats", 5),
        ("between 10-12", 12),
        ("30 + 12 = 42", 42),
        ("8.5 L, so 229.50 crowns", 229.5),
        ("about 42 m2", 42),
        ("42 m^2", 42),
        ("2 1/2 hours", 2.5),
        ("3/4", 0.75),
        ("1/0", None),
        ("1.5e3", 1500),
        (".5", 0.5),
        ("No.5", 5),
        ("version 1.2.3", 1.2),
        ("twelve", 12),
        ("twenty-five boats", 25),
        ("one hundred and twenty", 120),
        ("two thousand", 2000),
        ("three dozen", 36),
        ("Pier two, 118 boats", 118),
        ("2024, 300", 300),
        ("none", None),
        ("", None),
    ],
)
def test_the_last_number_of_a_text(text: str, number: float | None) -> None:
    assert last_number(text) == number


@given(st.integers(-(10**9), 10**9), st.sampled_from(["{}", "{:,}", "It is {} crowns.", "5 times that is {:,} km"]))
def test_a_whole_number_is_read_back_however_it_is_written(number: int, form: str) -> None:
    assert last_number(form.format(number)) == number


@given(st.floats(-1e9, 1e9, allow_nan=False), st.integers(0, 4))
def test_a_rounded_number_is_right_within_its_tolerance(number: float, places: int) -> None:
    checker = from_row({"answer": number, "tolerance": 0.5 * 10**-places + 1e-7})
    assert checker.right(f"{number:,.{places}f}")
    assert not checker.right(f"{number + 2:.4f}")


@given(st.text(max_size=200))
def test_any_text_at_all_is_judged(text: str) -> None:
    for answer in (7, "Ilse", "2024-05-03", "16:35", True, ["a b", "c d"]):
        from_row({"answer": answer}).right(text)


@given(st.dates(date(1900, 1, 1), date(2100, 1, 1)))
def test_a_date_is_read_back_in_any_common_form(day: date) -> None:
    forms = ["%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%A, %d %b %Y", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d"]
    for form in forms:
        assert day in last_dates(f"From 1 May 1850 to {day.strftime(form)}."), form
    assert day in last_dates(f"the {day.day}th of {day:%B} {day.year}")


@given(st.integers(0, 23), st.integers(0, 59))
def test_a_time_is_read_back_with_and_without_am(hour: int, minute: int) -> None:
    half = "am" if hour < 12 else "p.m."
    assert last_time(f"at {hour:02d}:{minute:02d}") == hour * 60 + minute
    assert last_time(f"not 9:10, but {(hour + 11) % 12 + 1}:{minute:02d} {half}") == hour * 60 + minute


LONG = "Ilse Brandt, a net maker, and Tomasz Wern founded it in May, when he had lost his job, and " * 2


@pytest.mark.parametrize(
    ("row", "right", "wrong"),
    [
        ({"answer": 42}, ["42", "42.005", "so 42 boats", "forty-two"], ["41", "42.1", "42 of 50", "none", ""]),
        ({"answer": 10, "tolerance": 1}, ["9", "11.0"], ["11.1"]),
        (
            {"answer": "Ilse Brandt", "aliases": ["Brandt"]},
            ["Ilse Brandt", "It was ILSE BRANDT.", "Mrs. Brandt"],
            ["Ilse", "Brandts", "Anneke", "", LONG],
        ),
        ({"answer": "Callow & Daughters"}, ["the Callow and Daughters firm"], ["Callow"]),
        ({"answer": "Übersee"}, ["ubersee", "ÜBERSEE!"], ["see"]),
        ({"answer": "HQ-4471"}, ["policy HQ 4471"], ["HQ-44711"]),
        (
            {"answer": "cook", "not": ["clerk", "mechanic"]},
            ["cook", "the cook, before the clerk"],
            ["clerk, cook, mechanic", "clerk"],
        ),
        (
            {"answer": "2024-05-03"},
            ["3 May 2024", "on May 3rd, 2024", "03.05.2024", "5/3/2024"],
            ["3 May", "May 2024"],
        ),
        ({"answer": "16:35"}, ["16:35", "4:35 pm", "at 04:35 p.m."], ["4:35", "16:53", "435"]),
        (
            {"answer": True},
            ["yes", "Yes, it does.", "True", "I think yes"],
            ["no", "maybe", "perhaps yes, perhaps no", ""],
        ),
        ({"answer": "no"}, ["No.", "no, it is not"], ["yes"]),
        (
            {"answer": ["pine tar", "flares"]},
            ["flares, pine tar", "pine tar and flares", "- Pine tar\n- flares", "1. pine tar 2. flares"],
            ["pine tar", "pine tar, flares, twine", "flares, flares", ""],
        ),
        ({"checker": {"type": "list", "value": ["a1", "b2"], "ordered": True}}, ["a1, b2"], ["b2, a1"]),
        ({"checker": {"type": "list", "value": [["Ada", "A. Linn"], "Bo"]}}, ["A. Linn; Bo"], ["Bo"]),
        (
            {"answer": ["Reed and River", "Farrow & Pike", "Ho"]},  # what is part of a name separates nothing
            ["Ho, Reed and River, Farrow & Pike", "reed & river; Farrow and Pike and Ho"],
            ["Reed, River, Farrow & Pike", "Reed and River, Ho"],
        ),
        ({"checker": {"type": "name", "value": "42"}}, ["no. 42"], ["43"]),
    ],
)
def test_right_and_wrong_answers(row: dict[str, Any], right: list[str], wrong: list[str]) -> None:
    checker = from_row(row)
    assert [text for text in right if not checker.right(text)] == []
    assert [text for text in wrong if checker.right(text)] == []


UNFIT: list[tuple[dict[str, Any], str]] = [
    ({}, "answer"),
    ({"answer": None}, "answer"),
    ({"answer": ""}, "answer"),
    ({"answer": "?!"}, "answer"),
    ({"answer": float("nan")}, "answer"),
    ({"answer": 3, "tolerance": -1}, "tolerance"),
    ({"answer": 3, "tolerance": "wide"}, "tolerance"),
    ({"answer": 3, "aliases": ["three"]}, "aliases"),
    ({"answer": "x", "aliases": "y"}, "aliases"),
    ({"answer": "x", "not": [1]}, "not"),
    ({"answer": "2024-02-31"}, "answer"),
    ({"answer": "25:00"}, "answer"),
    ({"answer": []}, "answer"),
    ({"answer": [[]]}, "answer"),
    ({"answer": ["a"], "ordered": "yes"}, "ordered"),
    ({"answer": 3, "checker": {"type": "number", "value": 3}}, "checker"),
    ({"checker": "number"}, "checker"),
    ({"checker": {"type": "guess", "value": 3}}, "checker.type"),
    ({"checker": {"type": "number"}}, "checker.value"),
    ({"checker": {"type": "number", "value": "3"}}, "checker.value"),
    ({"checker": {"type": "yes-no", "value": "perhaps"}}, "checker.value"),
    ({"checker": {"type": "number", "value": 3, "aliases": []}}, "checker.aliases"),
]


@pytest.mark.parametrize(("row", "field"), UNFIT)
def test_what_can_not_be_checked_is_said_with_its_field(row: dict[str, Any], field: str) -> None:
    with pytest.raises(SpecError) as caught:
        from_row(row)
    assert caught.value.field == field
