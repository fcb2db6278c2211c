"""Tasks that are told anew say the same of other names and figures."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.training.recipes import decomposing, varying
from pointwork.training.recipes.roles import tasks

ROW: dict[str, Any] = {
    "task": "What is Mabel paid for 6 hours on Sunday?",
    "steps": ["pay of Mabel Orrin = 13.5", "extra on a Sunday = 40", "{s1} * 6 + {s2}"],
    "around": "\n".join(
        [
            "staff: name Mabel Orrin; pay 13.5; born 1991-05-02; phone 01632 960291",
            "staff: name Gus Tarrow; pay 12.8; born 1988-01-30",
            "Working here: On a Sunday everybody but Gus has 40 on top; the 45 of last year are over.",
            "rounds.Coast: driver Mabel Orrin; leaves 13:50",
            "shifts: No, Name, Party, Hours",
        ]
    ),
    "answer": "121",
}
NAMES = ["Alder", "Birk", "Cole", "Dunn", "Esk", "Fenn"]


def told(seed: int) -> dict[str, Any]:
    return varying.varied(ROW, NAMES, seed)


@pytest.mark.parametrize("seed", range(12))
def test_another_telling_says_the_same_of_others(seed: int) -> None:
    row = told(seed)
    assert "answer" not in row
    name, pay = re.fullmatch(r"pay of (\w+ \w+) = ([\d.]+)", row["steps"][0]).groups()  # type: ignore[union-attr]
    extra = row["steps"][1].removeprefix("extra on a Sunday = ")
    assert row["steps"][2] == "{s1} * 6 + {s2}"  # what is calculated stays
    assert row["task"] == f"What is {name.split()[0]} paid for 6 hours on Sunday?"
    lines = sorted(row["around"].splitlines())
    pays = {line: re.search(r"pay ([\d.]+)", line) for line in lines if line.startswith("staff")}
    mine, other = sorted((m[1] for m in pays.values() if m), key=float, reverse=True)
    assert float(mine) == float(pay) > float(other) == 12.8  # who earned more earns more
    assert any(f"name {name}; pay {mine}; " in line for line in lines)
    assert f"driver {name}; leaves 13:50" in row["around"]
    assert any(f"has {extra} on top; the 45 of" in line for line in lines)
    assert 12 < float(extra) < 45
    assert "01632 960291" in row["around"]
    assert "shifts: No, Name, Party, Hours" in lines  # columns
    assert ": On a Sunday everybody" in row["around"]
    assert decomposing.comes_to("\n".join(row["steps"]), row) == f"{float(pay) * 6 + float(extra):.9g}"


def test_tellings_differ_and_are_the_same_again() -> None:
    assert told(3) == told(3)
    assert len({str(told(seed)) for seed in range(12)}) > 6
    for what in ("Mabel", "13.5;", "1991-05-02"):
        assert 0 < sum(what in told(seed)["around"] for seed in range(40)) < 30


def test_dates_move_together_by_whole_weeks() -> None:
    around = "a: born 2026-01-05\nb: born 2026-02-06"
    row: dict[str, Any] = {"task": "t", "steps": ["born = 2026-01-05"], "around": around}
    found = {tuple(re.findall(r"\d{4}-\d\d-\d\d", str(varying.varied(row, NAMES, n)))) for n in range(12)}
    assert len(found) > 3
    for step, first, second in ((a, *sorted((b, c))) for a, b, c in found):
        assert step == first
        days = [varying.date.fromisoformat(one) for one in (first, second)]
        assert (days[1] - days[0]).days == 32
        assert days[0].weekday() == 0
    named = {**row, "around": around + "\nFrom April on it is closed."}
    assert all("2026-01-05" in varying.varied(named, NAMES, n)["around"] for n in range(12))


def test_a_figure_that_is_written_in_two_ways_stays_so() -> None:
    row = {"task": "What is the fee?", "steps": ["fee = 15.4"], "around": "rules: fee 15.4\nThe fee is 15.40 EUR."}
    found = [varying.varied(row, NAMES, n) for n in range(20)]
    assert len({str(one["steps"]) for one in found}) > 3
    for one in found:
        fee = one["steps"][0].removeprefix("fee = ")
        assert sorted(one["around"].splitlines()) == [f"The fee is {fee}0 EUR.", f"rules: fee {fee}"]


def test_a_figure_that_the_task_names_stays() -> None:
    row = {"task": "Is 30 the limit?", "steps": ["limit = 30"], "around": "rules: limit 30; fee 45"}
    assert {varying.varied(row, NAMES, n)["steps"][0] for n in range(20)} == {"limit = 30"}
    other = {**row, "task": "What is the limit?"}
    assert len({varying.varied(other, NAMES, n)["steps"][0] for n in range(20)}) > 3


@pytest.fixture(scope="module")
def taught() -> list[dict[str, Any]]:
    from pointwork.training.recipes.roles import _rows  # pyright: ignore[reportPrivateUsage]

    return _rows(decomposing.FACTS)[:400]


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(range(400)), st.integers(0, 99))
def test_what_could_be_read_still_can_be(taught: list[dict[str, Any]], place: int, seed: int) -> None:
    row = taught[place]
    before = decomposing.comes_to("\n".join(row["steps"]), row)
    other = varying.varied(row, varying.names_of(taught[:50]), seed)
    assert bool(decomposing.comes_to("\n".join(other["steps"]), other)) == bool(before)


def test_a_task_told_anew_is_right_by_its_own_answer() -> None:
    row = next(row for row in map(told, range(20)) if "= 13.5" not in row["steps"][0])
    right = decomposing.right("\n".join(row["steps"]), row, ROW)
    assert right("\n".join(row["steps"]))
    assert right("\n".join([row["steps"][1], row["steps"][0], "{s2} * 6 + {s1}"]))
    assert not right("\n".join(ROW["steps"]))  # those figures stand nowhere now
    assert not right("")


def test_each_task_is_taught_in_several_tellings() -> None:
    taught, _ = tasks("reckoner", limit=300)
    shown = [str(task.example.messages[1]["content"]) for task in taught]
    assert len(shown) == 300
    assert len(set(shown)) > 0.8 * 300  # those without files have nothing to be told anew
    steps = [str(task.example.messages[2]["content"]).count("\n") for task in taught]
    assert steps[::3] == steps[1::3] == steps[2::3]
    firsts = taught[:: decomposing.TELLINGS]
    assert all(task.right(str(task.example.messages[2]["content"])) for task in [*firsts[:5], *taught[1:20:3]])
