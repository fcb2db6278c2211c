"""Which of two has more of something."""

import asyncio
from pathlib import Path

import pytest

from pointwork.agents import Team
from pointwork.agents.builtin import builtin_agents
from pointwork.agents.readings.choosing import choice
from pointwork.agents.tabling import read_tables
from pointwork.models import ScriptedClient
from pointwork.tools import ToolContext

STAFF = """name,job,hours a week,pay an hour (£),born
Mabel Orme,baker,38,13.50,1999-03-21
Jonah Tuck,driver,30,12.80,1984-08-27
Ada Pell,shop,22,11.90,1991-01-05
"""
LENT = """lent_on,tool,borrower
2026-03-01,saw,Mabel Orme
2026-03-04,plane,Jonah Tuck
2026-03-09,saw,Jonah Tuck
"""


@pytest.mark.parametrize(
    ("question", "core", "first", "second"),
    [
        ("Who is older, Jonas or Rowan?", "Who is the oldest?", "Jonas", "Rowan"),
        ("Which costs more: the vase or the small bowl?", "Which costs the most?", "vase", "small bowl"),
        ("Who gets the higher pay, Mabel Orme or Jonah?", "Who gets the highest pay?", "Mabel Orme", "Jonah"),
        (
            "Which of Ada Pell and Jonah Tuck works fewer hours?",
            "Which works the fewest hours?",
            "Ada Pell",
            "Jonah Tuck",
        ),
        ("Of Ada and Jonah, who started later?", "Who started the latest?", "Ada", "Jonah"),
        ("Which is heavier, the saw or the plane?", "Which is the heaviest?", "saw", "plane"),
        ("Is Jonas older than Rowan?", "Which is the oldest?", "Jonas", "Rowan"),
        ("Is the small kiln heavier than the vase?", "Which is the heaviest?", "small kiln", "vase"),
        ("Does Mabel Orme earn more an hour than Jonah?", "Which earn the most an hour?", "Mabel Orme", "Jonah"),
        ("Did the saw cost less than the plane did?", "Which cost the least?", "the saw", "plane"),
    ],
)
def test_a_choice_is_a_superlative_among_two(question: str, core: str, first: str, second: str) -> None:
    found = choice(question)
    assert found is not None
    assert found.whether == question.startswith(("Is", "D"))
    assert (found.core.lower(), found.first, found.second) == (core.lower(), first, second)


@pytest.mark.parametrize(
    "question",
    [
        "Who is the driver, Jonas or Rowan?",
        "Is Jonas the driver, rather than Rowan?",
        "Who is older than Jonas?",
        "What is the number of the saw or the plane?",
        "When does it open, on Monday or on Tuesday?",
    ],
)
def test_what_is_no_choice(question: str) -> None:
    assert choice(question) is None


@pytest.mark.parametrize(
    ("question", "column", "order", "values"),
    [
        ("Who gets the higher pay an hour, Mabel or Jonah?", "pay an hour (£)", "desc", "Mabel Orme, Jonah Tuck"),
        ("Who works fewer hours a week, Ada or Jonah?", "hours a week", "asc", "Ada Pell, Jonah Tuck"),
        ("Who is older, Mabel or Jonah?", "born", "asc", "Mabel Orme, Jonah Tuck"),
        ("Which of Mabel and Jonah gets more an hour?", "pay an hour (£)", "desc", "Mabel Orme, Jonah Tuck"),
        ("Who is paid more, Ada or Jonah?", "pay an hour (£)", "desc", "Ada Pell, Jonah Tuck"),
    ],
)
def test_the_two_are_ranked_where_each_is_a_row(
    tmp_path: Path, question: str, column: str, order: str, values: str
) -> None:
    (tmp_path / "staff.csv").write_text(STAFF)
    (tmp_path / "lent.csv").write_text(LENT)
    best = asyncio.run(read_tables(question, ToolContext(root=tmp_path)))[0]
    said = best.arguments
    assert (said["table"], said["column"], said["order_by"], said["order"]) == ("staff", "name", column, order)
    assert (said["where_column"], said["where_op"], said["where_value"]) == ("name", "=", values)
    assert best.score >= 0.95


@pytest.mark.parametrize("question", ["Who is taller, Ada or Jonah?", "Who is older, Ada or Zoe?"])
def test_who_is_not_known_or_not_measured_is_not_chosen(tmp_path: Path, question: str) -> None:
    (tmp_path / "staff.csv").write_text(STAFF)
    found = asyncio.run(read_tables(question, ToolContext(root=tmp_path)))
    assert not found or found[0].score < 0.95


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Does Mabel earn more an hour than Jonah?", "yes"),
        ("Does Ada work fewer hours a week than Jonah Tuck?", "yes"),
        ("Is Mabel older than Jonah?", "no"),
        ("Is Jonah older than Mabel?", "yes"),
        ("Is Jonah younger than Mabel?", "no"),
        ("Does the saw cost more than the plane?", "no"),
        ("Which is cheaper, the saw or the plane?", "saw"),
        ("Who borrowed more, Mabel or Jonah?", "Jonah Tuck"),
    ],
)
def test_what_a_team_answers(tmp_path: Path, question: str, answer: str) -> None:
    (tmp_path / "staff.csv").write_text(STAFF)
    (tmp_path / "lent.csv").write_text(LENT)
    (tmp_path / "tools.csv").write_text("tool,g,pages,£ new\nsaw,700,12,19.50\nplane,900,4,45\n")
    with Team(builtin_agents(), root=tmp_path, models={"worker-small": ScriptedClient([])}) as team:
        assert team.run(question).text == answer
