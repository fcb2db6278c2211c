"""What the calculator reads of a word problem is an expression, and three readings are weighed."""

from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.agents import reckoning
from pointwork.agents.parsing import worded
from pointwork.agents.parsing.amounts import NUMBER, TIME, TRUTH, Amount
from pointwork.agents.parsing.calculating import Calculation, Reading, Step
from pointwork.agents.parsing.operations import SUMS, applied
from pointwork.agents.parsing.problems import Deduced
from pointwork.agents.parsing.worded import Worked
from pointwork.agents.readings import Reading as Read
from pointwork.tools import expressions
from pointwork.tools.units import Measure

FIVE, SIX = (Amount(value, NUMBER, f"{value:g}", 0, 1) for value in (5.0, 6.0))


def made(*steps: Step, value: float = 0.0, kind: int = NUMBER, chance: float = 0.5) -> Calculation:
    return Calculation(chance, value, kind, steps)


@given(
    st.lists(st.tuples(st.sampled_from(SUMS), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4),
)
def test_an_expression_comes_to_what_its_steps_do(drawn: list[tuple[str, int, int]]) -> None:
    values, steps = [5.0, 6.0, 100.0], list[Step]()
    for operation, a, b in drawn:
        i, j = min(a, len(values) - 1), min(b, len(values) - 1)
        sides = [(FIVE, SIX, 100.0)[at] if at < 3 else at - 3 for at in (i, j)]
        values.append(applied(operation, values[i], values[j]))
        if not abs(values[-1]) < 1e12 or values[-1] == 0 or values[-1] != values[-1]:
            return
        steps.append(Step(sides[0], sides[1], operation))
    found = expressions.evaluate(worded.expression_of(made(*steps))).value
    assert not isinstance(found, Measure)
    assert float(found) == pytest.approx(values[-1])


def test_thousands_and_constants_are_written_plainly() -> None:
    much = Amount(1475.0, NUMBER, "1,475", 0, 5)
    steps = (Step(FIVE, 7.0, "*"), Step(much, 0, "/"))
    assert worded.expression_of(made(*steps)) == "1475 / (5 * 7)"


def test_only_what_is_calculated_with_numbers_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = made(Step(FIVE, FIVE, "copy"), value=5, chance=0.4)
    timed = made(Step(FIVE, SIX, "minutes"), value=5, kind=TIME, chance=0.3)
    summed = made(Step(FIVE, SIX, "+"), value=11, chance=0.2)
    monkeypatch.setattr(worded, "calculations", Mock(return_value=Reading(0.5, (copied, timed, summed))))
    assert worded.worked("5 and 6") == Worked(0.5, Deduced("5 + 6", 11, 0.1))
    monkeypatch.setattr(worded, "calculations", Mock(return_value=Reading(0.5, (copied, timed))))
    assert worded.worked("5 and 6") == Worked(0.5, None)


def test_what_is_compared_are_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    nine = Amount(540.0, TIME, "09:00", 0, 1)
    early = made(Step(nine, nine, "<"), value=0, kind=TRUTH, chance=0.4)
    more = made(Step(FIVE, SIX, "*"), Step(0, SIX, ">"), value=1, kind=TRUTH, chance=0.3)
    asked: list[bool] = []

    def read(_: str, __: object, *, yes_no: bool) -> Reading:
        asked.append(yes_no)
        return Reading(0.5, (early, more))

    monkeypatch.setattr(worded, "calculations", read)
    found = Worked(0.5, Deduced("(5 * 6) > 6", 1, 0.15), moment=0.2)
    assert worded.worked("Are 5 times 6 more than 6?", yes_no=True) == found
    assert asked == [True]


Said = tuple[str, float] | None


def reading(
    monkeypatch: pytest.MonkeyPatch,
    steps: Said,
    sums: Said,
    pairs: Said,
    answered: float = 0.9,
    moment: float = 0.0,
) -> None:
    def deduced(found: Said) -> Deduced | None:
        return found and Deduced(found[0], 0, found[1])

    read = pairs and Read("calculate", {"expression": pairs[0]}, pairs[1])
    monkeypatch.setattr(reckoning, "deduced", Mock(return_value=deduced(steps)))
    monkeypatch.setattr(reckoning, "worked", Mock(return_value=Worked(answered, deduced(sums), moment)))
    monkeypatch.setattr(reckoning.problems, "solved", Mock(return_value=read))


PEARS = "Six boxes hold 7 pears each. How many pears?"


@pytest.mark.parametrize(
    ("steps", "sums", "pairs", "best", "score"),
    [
        (("7 * 6", 0.5), ("6 * 7", 0.4), ("6 + 7", 0.9), "6 * 7", 1 - 0.6 * 0.65),  # both err together less often
        (("6 * 7", 0.3), ("7 - 6", 0.1), ("6 + 7", 0.9), "6 + 7", 0.45),  # the pairs count half
        (("6 * 7", 0.9), ("7 - 6", 0.6), None, "6 * 7", 0.63),  # steps seven tenths
        (None, ("7 * 6", 0.4), ("6 * 7", 0.4), "7 * 6", 1 - 0.6 * 0.8),
        (("6 * 7", 0.2), None, None, None, 0),
        (None, None, None, None, 0),
    ],
)
def test_that_is_taken_which_is_wrong_least_likely(
    monkeypatch: pytest.MonkeyPatch, steps: Said, sums: Said, pairs: Said, best: str | None, score: float
) -> None:
    reading(monkeypatch, steps, sums, pairs)
    found = reckoning.computed(PEARS)
    if best is None:
        assert found is None
    else:
        assert found is not None
        assert found.arguments == {"expression": best}
        assert found.score == pytest.approx(score)


def test_of_a_text_that_does_not_hold_what_it_needs_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    reading(monkeypatch, ("6 * 7", 0.9), ("6 * 7", 0.9), ("6 * 7", 0.9), answered=0.09)
    assert reckoning.computed(PEARS) is None
    reading(monkeypatch, ("6 * 7", 0.9), ("6 * 7", 0.9), ("6 * 7", 0.9), answered=0.1)
    assert reckoning.computed(PEARS) is not None


def test_what_is_done_with_moments_is_no_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    reading(monkeypatch, ("7 - 6", 0.9), ("6 * 7", 0.3), None, moment=0.31)
    assert reckoning.computed(PEARS) is None
    reading(monkeypatch, ("7 - 6", 0.9), ("6 * 7", 0.3), None, moment=0.29)
    assert reckoning.computed(PEARS) is not None
    reading(monkeypatch, ("6 * 7", 0.9), None, None, moment=0.19)  # too unlikely for a plan of it
    assert reckoning.computed(PEARS) is not None


def test_yes_or_no_is_only_what_the_calculator_compares(monkeypatch: pytest.MonkeyPatch) -> None:
    reading(monkeypatch, ("6 * 7", 0.9), ("6 > 7", 0.3), ("6 * 7", 0.9))
    found = reckoning.computed("Are six pears more than 7?")
    assert found == Read("calculate", {"expression": "6 > 7"}, 0.3)
    reading(monkeypatch, ("6 * 7", 0.9), ("6 > 7", 0.1), ("6 * 7", 0.9))
    assert reckoning.computed("Are six pears more than 7?") is None


def test_a_price_that_the_text_lacks_is_not_deduced(monkeypatch: pytest.MonkeyPatch) -> None:
    reading(monkeypatch, ("3 * 2", 0.9), ("3 * 2", 0.9), None)
    assert reckoning.computed("How many euros are 3 crossings for 2 adults?") is None
    assert reckoning.computed("3 boxes hold 2 pears each. How many pears?") is not None
