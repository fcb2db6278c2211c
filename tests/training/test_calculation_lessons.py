"""What the calculator is taught: steps of tasks become calculations; the trained network is the one in use."""

import importlib
import json
import random
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointwork.agents.parsing import calculating, encoder
from pointwork.agents.parsing.amounts import NUMBER, Amount
from pointwork.agents.parsing.encoder import Encoder
from pointwork.agents.parsing.operations import CONSTANTS, OPERATIONS, applied, kind_of

ROOT = Path(__file__).parents[2]
AROUND = (
    "staff: name Mabel Orme; hours a week 24; pay an hour (£) 13.50; started 2019-05-06\nRules: The levy is 20 %."
)


@pytest.fixture
def lessons(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))  # pyright: ignore[reportUnknownMemberType]
    yield {
        name: importlib.import_module(f"parser_training.{name}")
        for name in ("asked", "calculations", "calculator", "dealt", "scattered", "ways")
    }
    for name in [name for name in sys.modules if name.startswith(("parser_training", "train_calculations"))]:
        del sys.modules[name]


def _learnt(lessons: Any, answer: str, *steps: str, task: str = "How much is it?") -> list[str]:
    """Steps in words: amounts as they are written, earlier steps by number."""
    row = {"task": task, "steps": steps, "answer": answer, "around": AROUND}
    one = lessons["calculations"].calculated(row, encoder.shipped().pieces)
    names = [amount.written for amount in one.shown.amounts] + [f"{value:g}" for value in CONSTANTS]
    names += [f"s{number}" for number in range(9)]
    return [f"{names[i]} {OPERATIONS[operation]} {names[j]}" for i, j, operation in one.steps]


@pytest.mark.parametrize(
    ("answer", "steps", "learnt"),
    [
        ("324", ["hours a week of Mabel = 24", "pay an hour of Mabel = 13.50", "{s1} * {s2}"], ["24 * 13.50"]),
        ("2.70", ["pay of Mabel = 13.50", "levy in per cent = 20", "{s1} / 100 * {s2}"], ["13.50 pct 20"]),
        ("10.80", ["pay of Mabel = 13.50", "levy = 20", "{s1} * (100 - {s2}) / 100"], ["13.50 pless 20"]),
        ("16.20", ["pay of Mabel = 13.50", "levy = 20", "{s1} + {s1} / 100 * {s2}"], ["13.50 pmore 20"]),
        (
            "2019-05-30",
            ["start of Mabel = 2019-05-06", "hours a week = 24", "{s1} + {s2} days"],
            ["24 +days 2019-05-06"],
        ),
        ("16.20", ["pay of Mabel = 13.50", "levy = 20", "{s1} * (100 + {s2}) / 100"], ["13.50 pmore 20"]),
        ("16.20", ["pay of Mabel = 13.50", "levy = 20", "(100 + {s2}) / 100 * {s1}"], ["13.50 pmore 20"]),
        ("16848", ["hours of Mabel = 24", "pay of Mabel = 13.50", "{s1} * {s2} * 52"], ["24 * 13.50", "52 * s0"]),
        ("24", ["hours a week of Mabel = 24"], ["24 copy 24"]),
        ("24000", ["hours a week of Mabel = 24", "{s1} kg in g"], ["24 * 1000"]),
        ("Mabel Orme", ["who is paid most = Mabel Orme"], []),
        ("27", ["total hours of all", "{s1} + 3"], []),
    ],
)
def test_steps_become_calculations(lessons: Any, answer: str, steps: list[str], learnt: list[str]) -> None:
    assert _learnt(lessons, answer, *steps) == learnt


@pytest.mark.parametrize(
    ("answer", "steps"),
    [
        ("99", ["hours of Mabel = 24", "{s1} * 2"]),
        ("4", ["hours of Mabel = 24", "{s1} ** 2"]),
        ("7", ["2 - 3 5 - 1"]),
    ],
)
def test_what_comes_to_something_else_is_not_learnt(lessons: Any, answer: str, steps: list[str]) -> None:
    with pytest.raises(lessons["calculations"].Other):
        _learnt(lessons, answer, *steps)


@pytest.mark.parametrize(
    ("task", "answer", "step"),
    [
        ("Is 23:30 later than 23:40?", "no", "is 23:30 after 23:40"),
        ("How long is it from 2024-12-28 to 2025-01-06?", "9", "days from 2024-12-28 to 2025-01-06"),
    ],
)
def test_a_step_needs_none_before_it(lessons: Any, task: str, answer: str, step: str) -> None:
    assert len(_learnt(lessons, answer, step, task=task)) == 1


def _ways(lessons: Any, *steps: str, task: str = "How much is it?", around: str = AROUND) -> tuple[Any, Any]:
    row = {"task": task, "steps": steps, "around": around}
    one = lessons["calculations"].calculated(row, encoder.shipped().pieces)
    return one, lessons["ways"].ways_of(one)


def _comes_to(one: Any, found: Any, way: Any) -> float:
    """By a way of its own, so that it does not depend on what is tested."""
    places: tuple[tuple[int, ...], ...] = found.leaves
    steps: tuple[tuple[int, int, int], ...] = way
    amounts: tuple[Amount, ...] = one.shown.amounts
    known = [(amount.value, amount.kind) for amount in amounts] + [(value, NUMBER) for value in CONSTANTS]
    assert all(len({known[k] for k in leaf}) == 1 for leaf in places)
    values = [known[leaf[0]] for leaf in places]
    used: list[int] = []
    for i, j, operation in steps:
        name, (a, first), (b, second) = OPERATIONS[operation], values[i], values[j]
        used += [i, j]
        kind = kind_of(name, first, second)
        assert kind is not None
        values.append((applied(name, a, b, first), kind))
    assert sorted(used) == list(range(len(values) - 1))  # each once
    return values[-1][0]


def test_what_is_multiplied_is_so_in_any_order(lessons: Any) -> None:
    one, found = _ways(lessons, "hours = 24", "pay = 13.50", "{s1} * {s2} * 52")
    assert {(i, OPERATIONS[operation], j) for (i, j, operation), _ in found.ways} >= {
        (0, "*", 1), (0, "*", 2), (1, "*", 2),
    }  # fmt: skip
    assert {round(_comes_to(one, found, way), 6) for way in found.ways} == {16848.0}


def test_what_is_added_first_is_not_multiplied_first(lessons: Any) -> None:
    one, found = _ways(lessons, "hours = 24", "pay = 13.50", "({s1} + {s2}) * 20", task="What is it for 20?")
    assert {OPERATIONS[way[0][2]] for way in found.ways} == {"+"}
    assert {_comes_to(one, found, way) for way in found.ways} == {750.0}


def test_of_a_comparison_the_same_has_to_be_compared(lessons: Any) -> None:
    """24 * 13.5 is more than 20, and so is 24 than 13.5 / 20."""
    _, found = _ways(lessons, "hours = 24", "pay = 13.50", "levy = 20", "{s1} * {s2}", "is {s4} more than {s3}")
    values = [24.0, 13.5, 20.0]
    ways: tuple[tuple[tuple[int, int, int], ...], ...] = found.ways
    compared: set[tuple[float, float]] = set()
    for (i, j, operation), (k, m, _) in ways:
        there = [*values, applied(OPERATIONS[operation], values[i], values[j])]
        low, high = sorted((there[k], there[m]))
        compared.add((round(low, 6), round(high, 6)))
    assert compared == {(20.0, 324.0)}


def test_what_is_used_twice_has_the_way_that_is_written(lessons: Any) -> None:
    """(6 - 3) * 3 is 6 + 3, but only by chance."""
    _, found = _ways(lessons, "a = 6", "b = 3", "({s1} - {s2}) * {s2}", around="a is 6 m.\nb is 3 m.")
    assert [len(way) for way in found.ways] == [2]


def test_nothing_less_than_nothing_comes_in_between(lessons: Any) -> None:
    """It is never looked at when a task is read."""
    _, found = _ways(lessons, *(f"{x} = {x}" for x in (5, 8, 10)), "{s1} + {s3} - {s2}", around="5 m, 8 m, 10 m")
    assert found.leaves == ((0,), (1,), (2,))
    assert {(i, OPERATIONS[operation], j) for (i, j, operation), _ in found.ways} == {
        (0, "+", 2),
        (1, "r-", 2),
        (0, "r-", 1),
    }  # 10 - 8, 8 - 5, never 5 - 8


def _course(lessons: Any, leaves: Any, placed: dict[int, int], *ways: Any) -> Any:
    numbered = tuple(tuple((i, j, OPERATIONS.index(name)) for i, name, j in way) for way in ways)
    return lessons["ways"].Course(lessons["ways"].Ways(leaves, numbered), placed)


def _right(course: Any) -> list[tuple[int, str, int]]:
    return [(i, OPERATIONS[operation], j) for i, j, operation in course.right()]


def test_the_first_of_two_stands_before_the_second(lessons: Any) -> None:
    course = _course(lessons, ((5,), (2,)), {2: 0, 5: 1}, ((0, "-", 1),))
    assert _right(course) == [(0, "r-", 1)]
    assert course.stops
    assert not course.copied


def test_two_values_that_are_alike_are_two(lessons: Any) -> None:
    course = _course(lessons, ((3, 4), (3, 4)), {3: 0, 4: 1}, ((0, "+", 1),))
    assert set(_right(course)) == {(0, "+", 1)}


def test_after_a_step_only_what_goes_on_from_it_is_right(lessons: Any) -> None:
    course = _course(
        lessons, ((0,), (1,), (2,)), {0: 0, 1: 1, 2: 2}, ((0, "*", 1), (2, "*", 3)), ((1, "*", 2), (0, "*", 3))
    )
    assert _right(course) == [(0, "*", 1), (1, "*", 2)]
    assert not course.stops
    course.taken((1, 2, OPERATIONS.index("*")), 9)
    assert _right(course) == [(0, "*", 9)]
    assert course.stops


def test_one_value_is_the_answer_wherever_it_stands(lessons: Any) -> None:
    assert _course(lessons, ((4, 7, 8),), {4: 0, 8: 3}).copied == [0, 3]


def test_any_of_several_that_are_right_is_right(lessons: Any) -> None:
    logits = torch.tensor([0.3, -1.2, 2.0, 0.0])
    chances = torch.softmax(logits, 0)
    said = lessons["calculator"]._choices(logits, [1, 2])
    assert float(said) == pytest.approx(-float(torch.log(chances[1] + chances[2])))


def test_of_the_places_of_a_value_only_the_likeliest_has_to_be_needed(lessons: Any) -> None:
    relevant = lessons["calculator"]._relevant
    best, loss = relevant(torch.tensor([0.5, 2.0, -1.0, 0.3]), [(0, 1), (3,)])
    assert best == [1, 3]
    for other in (-5.0, 1.9):
        assert float(relevant(torch.tensor([other, 2.0, -1.0, 0.3]), [(0, 1), (3,)])[1]) == pytest.approx(
            float(loss)
        )
    assert relevant(torch.tensor([0.5, 2.0]), [(0, 1), (0, 1)])[0] == [1, 0]


def test_a_value_is_needed_wherever_it_stands(lessons: Any) -> None:
    around = f"{AROUND}\nstaff: total hours a week: 24"
    one, found = _ways(lessons, "hours a week of Mabel = 24", "pay = 13.50", "{s1} * {s2}", around=around)
    assert [len(places) for places in found.leaves] == [2, 1]
    assert {one.shown.amounts[place].line for place in found.leaves[0]} == {1, 3}
    _, copied = _ways(lessons, "hours a week of Mabel = 24", around=around)
    assert [len(places) for places in copied.leaves] == [2]
    assert not copied.ways


@given(
    st.lists(st.integers(2, 60), min_size=2, max_size=4, unique=True),
    st.lists(st.sampled_from("+-*/"), min_size=3, max_size=3),
)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_all_ways_come_to_the_same(lessons: Any, values: list[int], signs: list[str]) -> None:
    lines = [f"{name} costs {value} pounds." for name, value in zip("abcd", values, strict=False)]
    steps = [f"price of {name} = {value}" for name, value in zip("abcd", values, strict=False)]
    last = "{s1}" + "".join(f" {sign} {{s{number}}}" for number, sign in enumerate(signs[: len(values) - 1], 2))
    one, found = _ways(lessons, *steps, last, around="\n".join(lines))
    first = _comes_to(one, found, found.ways[0])
    assert all(abs(_comes_to(one, found, way) - first) <= 1e-6 * max(1.0, abs(first)) for way in found.ways)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("facts", 0.5, 0.8),
        ("sums", 0.6, 0.9),
        ("queried", 0.5, 0.8),
        ("cases", 0.6, 0.9),
        ("places", 0.75, 0.97),
        ("places_more", 0.75, 0.97),
        ("kinds", 0.75, 0.97),
        ("twins", 0.75, 0.97),
        ("voices", 0.75, 0.97),
    ],
)
def test_of_a_recipe_nearly_all_tasks_are_learnt(lessons: Any, name: str, least: float, most: float) -> None:
    module, pieces = lessons["calculations"], encoder.shipped().pieces
    rows = (ROOT / f"training/recipes/task_steps_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = random.Random(0).sample(rows, 150)  # recipes are in order of place and sort: no stride is fair to all
    found: list[Any] = []
    for row in rows:
        try:
            found.append(module.calculated(json.loads(row), pieces))
        except module.Other:
            continue
    assert len(found) > 0.95 * len(rows)
    assert least < sum(bool(one.steps) for one in found) / len(found) < most


def test_word_problems_are_learnt_too(lessons: Any) -> None:
    module, pieces = lessons["calculations"], encoder.shipped().pieces
    rows = [
        ("A coat of 240 is 35% off. What is it?", ("*", 240.0, ("-", 1.0, ("/", 35.0, 100.0))), 156.0),
        ("How many minutes are 3 hours and a break of 5 minutes?", ("+", ("*", 3.0, 60.0), 5.0), 185.0),
        ("How many are 3 and 5?", ("+", 3.0, 17.5), 20.5),
        ("How many are 3 and 5?", ("+", 3.0, 5.0), 20.0),
    ]
    assert [len(one.steps) for one in module.problems(rows, pieces)] == [1, 2]


def test_a_number_that_stands_twice_is_meant_twice(lessons: Any) -> None:
    """No amount is joined with itself: "4 by 4" was nothing to learn from."""
    row = {"task": "A bed of 4 by 4 metres, 2 plants on each. How many?", "around": "", "steps": ["4 * 4 * 2"]}
    one = lessons["calculations"].calculated(row, encoder.shipped().pieces)
    assert [step[:2] for step in one.steps] == [(0, 1), (2, 3 + len(CONSTANTS))]
    once = {**row, "task": "4 boxes of 30, 4 bags of 5. How many?", "steps": ["4 * 30 + 4 * 5"]}
    one = lessons["calculations"].calculated(once, encoder.shipped().pieces)
    assert [step[:2] for step in one.steps[:2]] == [(0, 1), (2, 3)]


PROBLEMS: list[tuple[str, Any, float]] = [
    (
        "Ida buys 14 lamps at 9.5 euros each. A porter takes 20 euros. What does Ida pay in all?",
        ("+", ("*", 14.0, 9.5), 20.0),
        153.0,
    ),
    ("A hall has 36 rows. In each stand 23 chairs. How many chairs are there?", ("*", 36.0, 23.0), 828.0),
    ("Of 90 eggs 17 broke. The rest is sold. How many are left?", ("-", 90.0, 17.0), 73.0),
    ("A tank holds 80 litres. What is left after 35 litres are taken?", ("-", 80.0, 35.0), 45.0),
    ("How many are 31 and 58?", ("+", 31.0, 58.0), 89.0),
    ("The sun shines. How many are 31 and 58?", ("+", 31.0, 58.0), 89.0),
]


def test_the_sentences_of_a_problem_stand_among_those_of_others(lessons: Any) -> None:
    pieces = encoder.shipped().pieces
    made = [one for seed in range(12) for one in lessons["scattered"].scattered(PROBLEMS, pieces, seed)]
    assert len(made) == 48  # the last two say it all in the question
    told = [one for one in made if one.steps]
    assert 0 < len(made) - len(told) < len(made) / 2  # of some a sentence is left out
    lines: set[int] = set()
    for one in told:
        found = lessons["ways"].ways_of(one)
        assert round(_comes_to(one, found, found.ways[0]), 6) in {153.0, 828.0, 73.0, 45.0}
        lines |= {
            one.shown.amounts[place].line
            for step in one.steps
            for place in step[:2]
            if place < len(one.shown.amounts)
        }
        assert {amount.value for amount in one.shown.amounts} > {
            one.shown.amounts[place].value for places in found.leaves for place in places
        }  # more than what it needs
        assert len(one.pieces) <= calculating.ROW
    assert len(lines) > 3


PAGE: dict[str, Any] = {
    "text": "The hall of Wick has 240 seats. It opens on 14 May. A seat costs 12.50 euros, and four porters help.",
    "qa": [
        {"q": "How many seats does the hall have?", "a": "240 seats"},
        {"q": "When does it open?", "a": "14 May"},
        {"q": "Where is it?", "a": "Wick"},
        {"q": "Who helps?", "a": "four porters of the old town"},
        {"q": "What is it called?", "a": None},
        {"q": "What does a seat cost?", "a": "12.50 euros"},
    ],
}


def test_questions_about_pages_are_tasks_where_an_amount_answers_them(lessons: Any) -> None:
    rows = list(lessons["asked"].read(PAGE, 0))
    assert [row["steps"][0] for row in rows] == [
        "How many seats does the hall have = 240",
        "What does a seat cost = 12.50",
    ]
    assert all("240 seats" in row["around"] for row in rows)


WORLD: dict[str, Any] = {
    "world": "A ferry",
    "tables": {"trips": "trip,boat,takings\nT1,Heron,202.4\nT2,Marten,73.6\nT3,Heron,90.5"},
    "qa": [
        {
            "q": "What did the Heron take in all?",
            "sql": "SELECT sum(takings) FROM trips WHERE boat = 'Heron'",
        },
        {"q": "How many trips did the Heron make?", "sql": "SELECT count(*) FROM trips WHERE boat = 'Heron'"},
        {"q": "Which boat made the dearest trip?", "sql": "SELECT boat FROM trips ORDER BY takings DESC LIMIT 1"},
        {"q": "What did all trips take?", "sql": "SELECT takings FROM trips"},
        {"q": "Who steers her?", "sql": "NONE"},
    ],
}


def test_questions_to_tables_are_tasks_where_one_value_answers_them(lessons: Any) -> None:
    rows = [row for seed in range(8) for row in lessons["asked"].asked(WORLD, seed)]
    assert {row["steps"][0] for row in rows} == {
        "What did the Heron take in all = 292.9",
        "How many trips did the Heron make = 2",
    }
    assert {len(row["steps"]) for row in rows} == {1, 2}  # some go on
    assert all("{s1}" in row["steps"][1] for row in rows if len(row["steps"]) == 2)
    plain = next(row for row in rows if row["task"] == WORLD["qa"][0]["q"])
    assert "trips: total takings where boat is Heron: 292.9" in plain["around"].splitlines()
    found = lessons["calculations"].calculated(plain, encoder.shipped().pieces)
    assert [OPERATIONS[operation] for _, _, operation in found.steps] == ["copy"]


def test_lines_that_mislead_stand_before_what_is_shown_and_lose_nothing_of_it(lessons: Any) -> None:
    row = {"task": "What does Mabel earn?", "steps": ["pay of Mabel = 13.50"], "answer": "13.50", "around": AROUND}
    told = [lessons["asked"].misled(row, seed)["around"] for seed in range(40)]
    assert AROUND in told  # some are left as they are
    others = [text for text in told if text != AROUND]
    assert others
    for text in others:
        lines = text.splitlines()
        assert "Rules: The levy is 20 %." in lines
        assert sum("name Mabel Orme; hours a week 24; pay an hour (£) 13.50" in line for line in lines) == 1
        assert len(lines) > 2 or " where " in text


def test_the_network_that_is_trained_says_what_the_one_in_use_says(lessons: Any, tmp_path: Path) -> None:
    module, calculator = lessons["calculations"], lessons["calculator"]
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    network = calculator.Calculator(encoder.shipped())
    network.eval()
    task = "What does Mabel earn?"
    row = {"task": task, "steps": ["pay of Mabel = 13.50"], "answer": "13.50", "around": AROUND}
    one = module.calculated(row, encoder.shipped().pieces)
    with torch.no_grad():
        seen = network.see([one])[0]
        answered = float(torch.sigmoid(network.answer(seen[0]))[0])
        loss = float(network.loss(seen, one))
    np.savez(tmp_path / "it.npz", allow_pickle=False, **calculator.stored(network.state_dict()))
    used = Encoder(tmp_path / "it.npz", words=encoder.shipped())
    read = calculating.calculations(task, AROUND.splitlines(), network=used)
    assert read.answered == pytest.approx(answered, abs=0.02)
    assert loss > 0
    assert 0 < sum(found.chance for found in read.calculations) <= 1
    arrays = np.load(tmp_path / "it.npz")
    assert "word.codes" not in arrays
    assert {name.partition(".")[0] for name in arrays} >= {"layers", "pos", "mark", "u", "copy", "mix"}


def test_the_mean_weighs_each_network_by_its_share(lessons: Any, tmp_path: Path) -> None:
    calculator, paths, told = lessons["calculator"], list[Path](), list[Any]()
    for seed in range(2):
        torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]
        network = calculator.Calculator(encoder.shipped())
        for weights in network.parameters():
            weights.data += 0.1 * (seed + 1)
        paths.append(tmp_path / f"{seed}.npz")
        np.savez(paths[-1], allow_pickle=False, **calculator.stored(network.state_dict()))
        told.append(Encoder(paths[-1], words=encoder.shipped()).weights)
    made = importlib.import_module("train_calculations").mean([(3.0, paths[0]), (1.0, paths[1])])

    for name in ("pair.weight", "layers.2.up.weight", "mix"):
        assert np.allclose(made[name].numpy(), 0.75 * told[0][name] + 0.25 * told[1][name], atol=1e-5)


def test_neither_the_order_nor_the_line_that_somebody_wrote_down_counts(lessons: Any) -> None:
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    network = lessons["calculator"].Calculator(encoder.shipped(), calculating.shipped())
    network.eval()
    row = {
        "task": "What does Mabel earn in a year?",
        "steps": ["hours = 24", "pay = 13.50", "{s1} * {s2} * 52"],
        "around": f"{AROUND}\nstaff: total hours a week: 24",
    }
    one = lessons["calculations"].calculated(row, encoder.shipped().pieces)
    amounts = one.shown.amounts
    hours, again = (place for place, amount in enumerate(amounts) if amount.value == 24)
    pay = next(place for place, amount in enumerate(amounts) if amount.value == 13.5)
    levy = next(place for place, amount in enumerate(amounts) if amount.value == 20)
    year, times = len(amounts) + CONSTANTS.index(52.0), OPERATIONS.index("*")
    made = len(amounts) + len(CONSTANTS)

    def loss(*steps: tuple[int, int, int]) -> float:
        written = lessons["calculations"].Calculated(one.shown, list(steps))
        with torch.no_grad():
            return float(network.loss(network.see([written])[0], written))

    first = loss((hours, pay, times), (year, made, times))
    for same in (again, hours):
        low, high = sorted((same, pay))
        assert loss((low, high, times), (year, made, times)) == pytest.approx(first, rel=1e-5)
        assert loss((same, year, times), (pay, made, times)) == pytest.approx(first, rel=1e-5)
    assert loss((hours, levy, times), (year, made, times)) > first + 1


def test_what_is_only_read_may_be_read_in_either_line(lessons: Any) -> None:
    network = lessons["calculator"].Calculator(encoder.shipped())
    around = f"{AROUND}\nstaff: total hours a week: 24"
    one, found = _ways(lessons, "hours a week of Mabel = 24", around=around)
    with torch.no_grad():
        seen = network.see([one])[0]
        everything = list(range(len(one.shown.amounts)))
        ((_, right),) = network._steps(seen[0], *network._amounts(seen, one), one, found, everything)
    assert len(right) == 2


def test_a_task_is_right_if_every_step_is(lessons: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    network = lessons["calculator"].Calculator(encoder.shipped())
    row = {"task": "What does Mabel earn?", "steps": ["pay of Mabel = 13.50"], "answer": "13.50", "around": AROUND}
    one = lessons["calculations"].calculated(row, encoder.shipped().pieces)
    for likeliest, right in ((1, True), (0, False)):
        steps = [(torch.tensor([0.0, 1.0]), [1]), (torch.tensor([1.0, 0.5]), [1 - likeliest])]
        monkeypatch.setattr(network, "_steps", Mock(return_value=steps))
        assert network.right(network.see([one])[0], one) is right


@pytest.mark.parametrize("dead", [0, 1])
def test_where_nothing_goes_on_from_what_was_joined_it_is_not_right_and_learns_the_rest(
    lessons: Any, monkeypatch: pytest.MonkeyPatch, dead: int
) -> None:
    """A task of our own stopped a training: of a first step that was right, no way went on."""
    course: Any = lessons["ways"].Course
    real = course.right

    def right(one: Any) -> list[Any]:
        return real(one) if one.step < dead else []

    monkeypatch.setattr(course, "right", right)
    network = lessons["calculator"].Calculator(encoder.shipped())
    row = {
        "task": "On weekdays I revise 1.5 hours, at weekends 4 hours a day. How many hours a week is that?",
        "steps": ["1.5 * 5", "4 * 2", "{s1} + {s2}"],
        "answer": "15.5",
        "around": "",
    }
    one = lessons["calculations"].calculated(row, encoder.shipped().pieces)
    seen = network.see([one])[0]

    assert torch.isfinite(network.loss(seen, one))
    assert not network.right(seen, one)


def test_a_network_learns_one_task(lessons: Any) -> None:
    module, calculator = lessons["calculations"], lessons["calculator"]
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    network = calculator.Calculator(encoder.shipped())
    row = {
        "task": "What does Mabel earn in a week?",
        "steps": ["hours of Mabel = 24", "pay of Mabel = 13.50", "{s1} * {s2}"],
        "answer": "324",
        "around": AROUND,
    }
    one = module.calculated(row, encoder.shipped().pieces)
    heads = [p for name, p in network.named_parameters() if not name.startswith(("layers", "pos", "n0", "word"))]
    optimiser = torch.optim.AdamW(heads, lr=1e-2)
    losses: list[float] = []
    for _ in range(12):
        optimiser.zero_grad()
        loss = network.loss(network.see([one])[0], one)
        loss.backward()
        optimiser.step()  # pyright: ignore[reportUnknownMemberType]
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] / 4
    network.eval()
    seen = network.see([one])[0]
    assert network.right(seen, one)
    hours, pay, _ = one.steps[0]
    wrong = module.Calculated(one.shown, [(hours, pay, OPERATIONS.index("+"))])
    assert not network.right(seen, wrong)


def test_what_goes_on_begins_with_all_that_is_learnt(lessons: Any) -> None:
    parser, shipped = encoder.shipped(), calculating.shipped()
    learnt = lessons["calculator"].Calculator(parser, shipped).state_dict()
    for name in ("pos", "layers.3.up.weight", "pair.weight", "mix"):
        assert np.array_equal(learnt[name].numpy(), shipped.weights[name])
    fresh, known = lessons["calculator"].Calculator(parser).state_dict()["pos"].numpy(), parser.weights["pos"]
    assert np.array_equal(fresh[: len(known)], known)
    assert np.array_equal(fresh[len(known) :], known[len(known) - len(fresh) :])


def test_lines_stand_in_any_order_in_half_of_what_is_told_anew(lessons: Any) -> None:
    lines = [f"Rules: Rule {number} costs {number} euros." for number in range(9)]
    row = {"task": "How much is it?", "steps": ["rule 3 = 3"], "around": "\n".join(lines)}
    told = [lessons["asked"].mixed(row, seed) for seed in range(60)]

    assert all(sorted(one["around"].splitlines()) == lines for one in told)
    assert all(one["task"] == row["task"] and one["steps"] == row["steps"] for one in told)
    assert 15 < sum(one["around"] == row["around"] for one in told) < 45
    assert lessons["asked"].mixed(row, 1) == lessons["asked"].mixed(row, 1)


def test_in_fewer_lines_what_is_needed_stays_and_others_fill_the_room(lessons: Any) -> None:
    lines = [f"stock: tin {number}; price {number}.50; shelf {number}" for number in range(30)]
    row, pieces = {"task": "What do both tins cost?", "around": "\n".join(lines)}, encoder.shipped().pieces
    fewer = lessons["asked"].fewer
    told = [fewer(row, {28, 3}, pieces, 120, seed)["around"].splitlines() for seed in range(20)]
    assert all(lines[3] in one and lines[28] in one for one in told)
    assert all(2 < len(one) < 12 and one == [line for line in lines if line in one] for one in told)
    assert len({tuple(one) for one in told}) > 10
    assert fewer(row, {28, 3}, pieces, 2, 0)["around"].splitlines() == [lines[3], lines[28]]
    assert fewer(row, set[int](), pieces, 10_000, 0) == row


MANY = [f"stock: tin {number}; price {number}.50; shelf {number}" for number in range(40)]


def _dealt(lessons: Any, *steps: str, lines: list[str] = MANY) -> list[Any]:
    row = {"task": "What do both tins cost?", "steps": steps, "around": "\n".join(lines)}
    pieces = encoder.shipped().pieces
    return [lessons["dealt"].dealt(row, pieces, random.Random(seed)) for seed in range(30)]


def test_of_a_part_of_the_lines_it_is_known_which_amounts_are_needed(lessons: Any) -> None:
    told = _dealt(lessons, "price of tin 3 = 3.50", "price of tin 28 = 28.50", "{s1} + {s2}")
    needed = [sorted(one.shown.amounts[place].value for (place,) in one.leaves) for one in told]
    assert {tuple(values) for values in needed} == {(), (3.5,), (28.5,), (3.5, 28.5)}
    assert all(one.whole == (len(values) == 2) for one, values in zip(told, needed, strict=True))
    assert 20 <= sum(map(bool, needed)) < 30  # most hold something
    assert all(len(one.pieces) <= calculating.ROW + calculating.SEEN // 10 for one in told)
    assert all(not one.steps for one in told)


def test_what_has_room_or_is_not_said_is_not_dealt(lessons: Any) -> None:
    assert not any(_dealt(lessons, "price of tin 3 = 3.50", "{s1} * 2", lines=MANY[:5]))
    assert not any(_dealt(lessons, "price of tin 41 = 41.50", "{s1} * 2"))


def test_of_a_part_what_is_needed_is_learnt_and_no_steps(lessons: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that weighs what is needed as it should has less loss than one that does the contrary."""
    network = lessons["calculator"].Calculator(encoder.shipped())
    network.eval()
    one = next(
        one
        for one in _dealt(lessons, "price of tin 3 = 3.50", "price of tin 28 = 28.50", "{s1} + {s2}")
        if one.leaves
    )
    seen = network.see([one])[0]
    wanted = torch.full((len(one.shown.amounts),), -5.0)
    wanted[[place for (place,) in one.leaves]] = 5.0
    losses: list[float] = []
    for weights in (wanted, -wanted):
        monkeypatch.setattr(network, "_amounts", Mock(return_value=(None, weights)))
        losses.append(float(network.loss(seen, one).detach()))
    assert losses[0] < 2 < losses[1]

    losses.clear()
    monkeypatch.setattr(network, "_amounts", Mock(return_value=(None, wanted)))
    for says in (one.whole, not one.whole):  # that it holds all
        for parameter, value in zip(network.answer.parameters(), (0.0, 5.0 if says else -5.0), strict=True):
            parameter.data.fill_(value)
        losses.append(float(network.loss(seen, one).detach()))
    assert losses[0] < 1 < 5 < losses[1]


def test_of_a_part_one_place_is_no_two_values(lessons: Any) -> None:
    """Price and deposit are 3.50, and one of them stands elsewhere."""
    lines = [*MANY, "Rules: The deposit is 3.50 euros."]
    told = _dealt(lessons, "price of tin 3 = 3.50", "deposit in the rules = 3.50", "{s1} + {s2}", lines=lines)
    one = next(one for one in told if len(one.leaves) == 2 and len(one.leaves[0]) == 1)
    assert one.leaves[0] == one.leaves[1]
    network = lessons["calculator"].Calculator(encoder.shipped())
    assert torch.isfinite(network.loss(network.see([one])[0], one))
