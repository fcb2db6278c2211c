"""Several orders of lines: amounts stay where they stand, and what comes to the same in several looks is one."""

from dataclasses import replace

import pytest

from pointwork.agents.parsing import calculating
from pointwork.agents.parsing.amounts import NUMBER, Amount
from pointwork.agents.parsing.calculating import DEALT, LOOKS, ROW, SEEN, Reading, calculations
from pointwork.agents.parsing.layout import Pieces
from pointwork.agents.parsing.operations import OPERATIONS
from pointwork.agents.parsing.showing import Shown, show

LINES = (
    "staff: name Mabel Orme; hours a week 24; pay an hour (£) 13.50; started 2019-05-06",
    "Rules: A key costs £3.50, and notice is 6 weeks.",
    "staff: name Idris Vaughan; hours a week 30; pay an hour (£) 12.00; started 2021-02-01",
)


def test_amounts_are_counted_in_the_lines_that_were_given() -> None:
    read = calculations("How many hours a week do Mabel Orme and Idris Vaughan work together?", LINES)
    sides = [side for one in read.calculations for step in one.steps for side in (step.first, step.second)]
    found = [side for side in sides if isinstance(side, Amount) and side.line]

    assert len({side.line for side in found}) > 1
    for side in found:
        assert LINES[side.line - 1][side.start : side.end] == side.written


def test_what_comes_to_the_same_in_several_looks_is_one() -> None:
    def found(value: float, chance: float) -> calculating.Calculation:
        amount = Amount(chance, NUMBER, "7", 0, 1)
        return calculating.Calculation(chance, value, NUMBER, (calculating.Step(amount, amount, OPERATIONS[0]),))

    read = [Reading(0.8, (found(7, 0.5), found(9, 0.4))), Reading(0.4, (found(9, 0.9),))]
    mean = calculating.mean_of(read)

    assert mean.answered == pytest.approx(0.6)
    assert [one.value for one in mean.calculations] == [9, 7]
    sure = [mean.answered * one.chance for one in mean.calculations]
    assert sure == pytest.approx([(0.8 * 0.4 + 0.4 * 0.9) / 2, 0.8 * 0.5 / 2])
    assert mean.calculations[0].steps[0].first == Amount(0.9, NUMBER, "7", 0, 1)  # of the look that is the surest
    assert calculating.mean_of([replace(one, answered=0.0, calculations=()) for one in read]) == Reading(0.0, ())


def test_the_looks_are_the_same_every_time() -> None:
    once, again = (calculations("What does Mabel Orme earn a week?", LINES) for _ in range(2))
    assert once == again
    assert once != calculations("What does Mabel Orme earn a week?", LINES, looks=1)


def test_of_too_many_lines_those_that_are_needed_most_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [f"boats: name Heron {n}; berth {n}; length {n}.5; built {1950 + n}; seats {n + 2}" for n in range(20)]
    seen: list[tuple[tuple[str, ...], Shown]] = []

    def shown(task: str, lines: list[str], pieces: Pieces) -> Shown:
        seen.append((tuple(lines), show(task, lines, pieces)))
        return seen[-1][1]

    monkeypatch.setattr(calculating, "show", shown)
    lines = [*others[:10], *LINES, *others[10:]]
    read = calculations("What does Mabel Orme earn a week?", lines)
    dealt, together = seen[:-LOOKS], seen[-LOOKS:]

    assert sorted(line for told, _ in dealt for line in told) == sorted(DEALT * lines)
    assert len({frozenset(told) for told, _ in dealt}) == len(dealt)
    assert all(len(one.pieces) <= 1.25 * ROW for _, one in dealt)
    assert all(0 < len(told) < len(lines) and LINES[0] in told for told, _ in together)
    assert all(len(one.pieces) <= SEEN for _, one in together)
    assert len({told for told, _ in together}) > 1
    assert len({frozenset(told) for told, _ in together}) == 1
    for step in read.calculations[0].steps:
        for side in (step.first, step.second):
            assert not isinstance(side, Amount) or side.written in lines[side.line - 1]


def test_what_can_all_be_read_at_once_is(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def shown(task: str, lines: list[str], pieces: Pieces) -> Shown:
        looks.append(len(lines))
        return show(task, lines, pieces)

    monkeypatch.setattr(calculating, "show", shown)
    calculations("What does Mabel Orme earn a week?", LINES)
    assert looks == [len(LINES)] * LOOKS


@pytest.mark.parametrize("count", [1, 4, 40])
def test_a_task_that_is_long_leaves_room_for_lines(count: int) -> None:
    task = "Mabel Orme, who keeps the boats and the keys, works as every week. " * 9 + "What does she earn a week?"
    read = calculations(task, LINES[:1] * count)
    assert any(
        isinstance(step.first, Amount) and step.first.line for one in read.calculations for step in one.steps
    )


def test_lines_without_amounts_are_read_as_well() -> None:
    lines = ["Rules: Nobody may bring a dog to the boats, whoever it belongs to and however small it is."] * 30
    assert calculations("What does Mabel Orme earn a week?", lines) == Reading(0.0, ())
    assert calculations("What is 3 times 4?", lines).calculations
