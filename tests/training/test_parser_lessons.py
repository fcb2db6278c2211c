"""What the parser is taught: queries taken apart and said again find the same, solutions come to their answers."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pointwork.agents.parsing.encoder import shipped

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "training/recipes"


@pytest.fixture
def lessons(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))  # pyright: ignore[reportUnknownMemberType]
    made = {name: importlib.import_module(f"parser_training.{name}") for name in ("labels", "sql_parts", "steps")}
    yield made
    for name in [name for name in sys.modules if name.startswith("parser_training")]:
        del sys.modules[name]


def test_most_questions_of_a_world_can_be_said(lessons: Any) -> None:
    world = json.loads((RECIPES / "table_questions.jsonl").read_text(encoding="utf-8").splitlines()[0])
    made: list[Any] = list(lessons["labels"].examples(world, shipped().pieces, 1))

    assert len(made) >= 20
    assert {one.answered for one in made} == {True, False}
    for one in made:
        assert len(one.pieces) == len(one.marks)
        assert not one.answered or one.shown in (*one.kinds["table"], *one.kinds["column"])


def test_what_has_another_form_is_left_out(lessons: Any) -> None:
    parts, other = lessons["sql_parts"].parts_of, lessons["sql_parts"].Other

    read = parts("SELECT name FROM people WHERE id IN (SELECT who FROM loans WHERE fee > 3) AND town = 'York'")
    assert read.links == [("people", "id", "loans", "who")]
    assert sorted(read.conditions) == [("loans", "fee", ">", "3"), ("people", "town", "=", "York")]
    for sql in (
        "SELECT a FROM t GROUP BY a HAVING count(*) > 1",
        "SELECT price * 1.05 FROM t",
        "SELECT a FROM t WHERE b > (SELECT avg(b) FROM t)",
        "SELEC",
    ):
        with pytest.raises(other):
            parts(sql)


@pytest.mark.parametrize(
    ("text", "tree", "answer", "steps"),
    [
        ("A coat of 240 is 35% off. What do I save?", ("/", ("*", 240.0, 35.0), 100.0), 84.0, 1),
        ("It costs 60 after 20% off. Before?", ("/", 60.0, ("-", 1.0, ("/", 20.0, 100.0))), 75.0, 1),
        ("How many minutes are 3 hours and 5 minutes?", ("+", ("*", 3.0, 60.0), 5.0), 185.0, 2),
    ],
)
def test_solutions_become_steps(lessons: Any, text: str, tree: Any, answer: float, steps: int) -> None:
    assert len(lessons["steps"].solved(text, tree, answer, shipped().pieces).steps) == steps
    with pytest.raises(lessons["steps"].NoSteps):
        lessons["steps"].solved(text, ("+", 17.0, 4.5), 21.5, shipped().pieces)
