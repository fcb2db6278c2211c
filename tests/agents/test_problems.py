"""Word problems: numbers of a text, expressions over them, and how sure the reading is."""

import asyncio
import math
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork import Team
from pointwork.agents.preparing import fits_calculator, prepare_calculator
from pointwork.agents.readings import Reading
from pointwork.agents.readings.dimensions import Measures
from pointwork.agents.readings.linear import Linear
from pointwork.agents.readings.problem_text import Problem, Tree, operations
from pointwork.agents.readings.problems import LEAST, MOST, Weights, candidates, shipped, solved
from pointwork.models import ScriptedClient, Step
from pointwork.tools import ToolContext, builtin_tools


def value(expression: str) -> float:
    result = asyncio.run(builtin_tools()["calculate"].call({"expression": expression}, ToolContext()))
    return float(result.answer)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("A box holds 12 eggs.", [("12", "n", "egg")]),
        ("It costs $1,250.50 now.", [("1250.50", "m", "$")]),
        ("They take 15% of 80 euros.", [("(15 / 100)", "p", "$"), ("80", "n", "$")]),
        (
            "Two thirds of the barrel, half an hour, twice.",
            [("(2 / 3)", "f", ""), ("(1 / 2)", "f", ""), ("2", "x", "")],
        ),
        ("On 5 March 2024 job R-46 took three days.", [("3", "w", "")]),  # dates and names are no numbers
        (
            "Sixty-four photos, three hundred and twenty cards, two hundred, a hundred.",
            [("64", "w", "photo"), ("320", "w", "card"), ("200", "w", ""), ("100", "w", "")],
        ),
        (
            "Half of three, five eighths, twenty or five.",
            [("(1 / 2)", "f", ""), ("3", "w", ""), ("(5 / 8)", "f", ""), ("20", "w", ""), ("5", "w", "")],
        ),
        ("15 percent of it", [("(15 / 100)", "p", "")]),
        (
            "Sixty twelve packs, of sixty hundred.",
            [("60", "w", ""), ("12", "w", ""), ("60", "w", ""), ("100", "w", "")],
        ),
        ("a 198-page report", [("198", "n", "")]),
        ("The 7 boats leave at 14:30.", [("7", "n", "")]),
        ("the third man", []),
        ("", []),
    ],
)
def test_numbers_of_a_text(text: str, numbers: list[tuple[str, str, str]]) -> None:
    found = [(q.written, q.kind) for q in Problem(text).quantities]
    assert found == [(number, kind) for number, kind, _ in numbers]
    units = [q.unit for q in Problem(text).quantities]
    assert all(unit in ("", said) or said == "" for unit, (_, _, said) in zip(units, numbers, strict=True))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("A bag holds 25 oranges. How many oranges are in 6 bags?", 150),
        ("Nora has 40 euros and spends 13. How much is left?", 27),
        ("Rolf reads 20 pages a day. How many days does he need for 180 pages?", 9),
        ("A pen costs 3 euros. How much do 7 pens cost?", 21),
        ("48 plums are shared equally among 6 children. How many does each get?", 8),
    ],
)
def test_simple_problems_are_solved(text: str, answer: float) -> None:
    found = solved(text)
    assert found is not None
    assert LEAST <= found.score <= 1
    assert value(found.arguments["expression"]) == pytest.approx(answer)


def _same(classes: int, best: int | None = None) -> Linear:
    """Weights that know no feature: all classes alike, or one of them nearly sure."""
    bias = np.zeros(classes)
    if best is not None:
        bias[best] = 9.0
    return Linear({}, np.zeros((0, classes)), bias)


def written(tree: Tree, problem: Problem) -> str:
    return Measures(problem).of(tree).written


def test_each_learnt_part_has_its_say() -> None:
    text = "There are 2 cats, 3 dogs and 30% birds. How many?"

    def best(weights: Weights) -> str:
        problem = Problem(text)
        return written(candidates(problem, weights)[0].tree, problem)

    plus, sure = _same(6, 0), _same(1)
    assert best(Weights(plus, _same(2, 1), _same(3, 0), sure)) == "(((30 / 100) + 3) + 2)"
    assert "1 - (30 / 100)" in best(Weights(plus, _same(2, 1), _same(3, 1), sure))  # the share is taken off
    assert "1 + (30 / 100)" in best(Weights(plus, _same(2, 1), _same(3, 2), sure))
    assert best(Weights(plus, _same(2, 0), _same(3, 0), sure)).count("+") == 1  # as few numbers as can be


def test_what_it_comes_to_has_the_last_word() -> None:
    """Of equally likely operations the one with the result that is likeliest in itself."""
    problem = Problem("A rope of 12 metres is cut into pieces of 5 metres. How many?")
    found = candidates(problem, Weights(_same(6, 3), _same(2, 1), _same(3), _same(1)))
    named = problem.result(found[0].score, found[0].score, found[0].value, found[0].tree)
    other = problem.result(found[1].score, found[0].score, found[1].value, found[1].tree)
    [only, *_] = [name for name in named if name not in other]
    against = Linear({only: 0}, np.array([[-9.0]]), np.array([0.0]))
    weights = Weights(_same(6, 3), _same(2, 1), _same(3), against)
    read = solved(problem.text, weights, least=0.0)
    assert read is not None
    assert read.arguments["expression"] != written(found[0].tree, problem)


def test_a_percentage_is_asked_for() -> None:
    read = solved("12 of 48 seats are taken. What percentage is that?", least=0.0)
    assert read is not None
    assert read.arguments["expression"].endswith("* 100")
    assert value(read.arguments["expression"]) == pytest.approx(25)


def test_prices_that_must_be_looked_up() -> None:
    assert solved("What do tickets for 3 adults and 2 children cost?") is None
    assert solved("We are 3 adults and 2 kids. What does one crossing cost us?") is None
    assert solved("A pen costs 3. How much do 7 pens cost?", least=0.0) is not None
    assert not Problem("It is 2.50 for each. How much do 7 pens cost?").lacks_price


@pytest.mark.parametrize("text", ["", "Hello!", "How many boats has Ida?", "It was 12.", " ".join("7" * 30)])
def test_what_is_no_problem_is_not_read_as_one(text: str) -> None:
    assert solved(text) is None


@given(st.text(alphabet="abz 0123456789.,%$?!-½²٣\n", max_size=80))
def test_no_text_is_too_odd(text: str) -> None:
    found = solved(text, least=0.0)
    if found is not None:
        assert 0 <= found.score <= 1


@settings(max_examples=40)  # each is tried with all expressions of its numbers
@given(st.lists(st.integers(1, 500), min_size=2, max_size=MOST))
def test_candidates_are_what_they_say(numbers: list[int]) -> None:
    problem = Problem("There are " + " apples, ".join(map(str, numbers)) + " apples. How many apples are there?")
    found = candidates(problem, shipped())
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert len({round(one.value, 6) for one in found}) == len(found)
    assert all(one.value >= 0 for one in found)  # nothing is taken from less
    for one in found[:3]:
        expression = written(one.tree, problem)
        assert eval(expression) == pytest.approx(one.value)
        used = [name for name in operations(one.tree) if name == "q"]
        assert len(used) <= len(numbers)


def test_log_probabilities_of_a_regression() -> None:
    linear = Linear({"a": 0, "b": 1}, np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0.5, 0.0]))
    found = linear.log_proba(["a", "unknown"])
    assert np.exp(found).sum() == pytest.approx(1)
    assert found[0] - found[1] == pytest.approx(1.5)
    assert linear.logits({"b": 0.5}).tolist() == [0.5, 1.0]
    assert linear.log_proba([]).tolist() == pytest.approx(
        [0.5 - math.log(1 + math.exp(0.5)), -math.log(1 + math.exp(0.5))]
    )


def test_nothing_learnt_solves_nothing_for_sure() -> None:
    weights = Weights(_same(6), _same(2), _same(3), Linear({}, np.zeros((0, 1)), np.array([-3.0])))
    assert solved("A bag holds 25 oranges. How many oranges are in 6 bags?", weights) is None


def half_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = Reading("calculate", {"expression": "9 * 12"}, 0.5)
    monkeypatch.setattr("pointwork.agents.preparing._problem", Mock(return_value=reading))


def test_the_calculator_prepares_it_with_its_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    task = "Eve reads 12 pages a day. How many does she read in 9 days?"
    assert asyncio.run(prepare_calculator(task, ToolContext())).sure > 0.5
    half_sure(monkeypatch)
    prepared = asyncio.run(prepare_calculator(task, ToolContext()))
    assert prepared.call == ("calculate", {"expression": "9 * 12"})
    assert prepared.sure == 0.5


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("Who came to the mill on 3 May 2024?", False),  # no date is a number to compute with
        ("Who came to the mill between 3 May 2024 and 14 June 2024?", False),
        ("How many boats were sold between 2024-05-03 and 2024-06-14?", False),
        ("How many whole weeks from 3 May 2024 to 14 June 2024?", True),
        ("Who led tour T11?", False),
        ("Who took 15 % on 3 May 2024?", True),
    ],
)
def test_what_has_no_numbers_is_not_for_the_calculator(text: str, fits: bool) -> None:
    assert (asyncio.run(fits_calculator(text, ToolContext())) > 0) == fits


class _Small(ScriptedClient):
    small = True


def test_a_small_model_is_not_asked_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    half_sure(monkeypatch)
    task: Any = "Eve reads 12 pages a day. How many does she read in 9 days?"
    with _Small([]) as client, Team(models={"worker-small": client}, root=tmp_path) as team:
        result = team.run(task)
    assert (result.status, result.text) == ("ok", "108")
    with (
        ScriptedClient([Step('{"expression": "9 * 12"}', times=None)]) as client,
        Team(models={"worker-small": client}, root=tmp_path) as team,
    ):
        team.run(task)
        assert client.requests  # one that is not small is asked
