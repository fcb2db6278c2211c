"""Which of two has more of something."""

import asyncio
from pathlib import Path

import pytest

from pointwork.agents import Team
from pointwork.agents.builtin import builtin_agents
from pointwork.agents.readings.choosing import SETTLED, choice
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
            "Which of Ada Pell and Jo Tuck works fewer hours?",
            "Which works the fewest hours?",
            "Ada Pell",
            "Jo Tuck",
        ),
        ("Of Ada and Jonah, who started later?", "Who started the latest?", "Ada", "Jonah"),
        ("Which is heavier, the saw or the plane?", "Which is the heaviest?", "saw", "plane"),
        ("Is Jonas older than Rowan?", "is {} the oldest?", "Jonas", "Rowan"),
        ("Is the small kiln heavier than the vase?", "is {} the heaviest?", "small kiln", "vase"),
        ("Does Mabel earn more an hour than Jonah?", " {} the most an hour?", "Mabel earn", "Jonah"),
        ("Did the saw cost less than the plane did?", " {} the least?", "saw cost", "plane"),
        ("Is the smaller kiln heavier than the vase?", "is {} the heaviest?", "smaller kiln", "vase"),
        ("Is Mabel Turner older than Jo?", "is {} the oldest?", "Mabel Turner", "Jo"),
        ("Is the water heater dearer than the kettle?", "is {} the dearest?", "water heater", "kettle"),
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
        "Is Jonas a driver rather than Rowan?",
        "Who is older than Jonas?",
        "What is the number of the saw or the plane?",
        "Who earns less than £12 an hour, Ada or Jonah?",
        "Who earns more than Mabel, Ada or Jonah?",
        "Who is no longer with us, Ada or Jonah?",
        "Is the plane no heavier than the saw?",
        "Is the saw not heavier than the plane?",
        "Is the plane 500 g heavier than the saw?",
        "Who has the worse rating, Mabel or Jonah?",
        "Who lives in Lower Street, Ada or Jonah?",
        "Who borrowed the longer-handled saw or plane?",
        "Who has the longer-handled saw, Ada or Jonah?",
        "Is the " + "very " * 40 + "old vase heavier than the bowl?",
    ],
)
def test_what_is_no_choice(question: str) -> None:
    assert choice(question) is None


SOLD = """day,seller,kg
2026-01-01,Jonah Tuck,5
2026-01-02,Mabel Orme,9
2026-01-03,Jonah Tuck,2
"""
MUSIC = """title,composer,copies,£ a copy,pages,min,cupboard
Gloria,Vivaldi,60,6.20,156,30,A
Messiah,Handel,72,9.90,56,140,B
Requiem,Brahms,48,11.50,104,68,C
"""
TOOLS = """tool,g,pages,£ new,item\\size
saw,700,12,19.50,a
plane,900,4,45,b
Hook and Eye,20,1,2,c
mallet,,2,5,d
rasp,900,2,7,e
"""


def folder(tmp_path: Path) -> Path:
    (tmp_path / "staff.csv").write_text(STAFF)
    (tmp_path / "lent.csv").write_text(LENT)
    (tmp_path / "tools.csv").write_text(TOOLS)
    (tmp_path / "sold.csv").write_text(SOLD)
    (tmp_path / "music.csv").write_text(MUSIC)
    return tmp_path


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who gets the higher pay an hour, Mabel or Jonah?", "Mabel Orme"),
        ("Who works fewer hours a week, Ada or Jonah?", "Ada Pell"),
        ("Who is older, Mabel or Jonah?", "Jonah Tuck"),
        ("Which of Mabel and Jonah gets more an hour?", "Mabel Orme"),
        ("Who is paid more, Ada or Jonah?", "Jonah Tuck"),
        ("Does Mabel earn more an hour than Jonah?", "yes"),
        ("Does Ada work fewer hours a week than Jonah Tuck?", "yes"),
        ("Is Mabel older than Jonah?", "no"),
        ("Is Jonah older than Mabel?", "yes"),
        ("Is Jonah younger than Mabel?", "no"),
        ("Does the saw cost more than the plane?", "no"),
        ("Which is cheaper, the saw or the plane?", "saw"),
        ("Which costs more, Hook and Eye or the saw?", "saw"),
        ("Who borrowed more, Mabel or Jonah?", "Jonah Tuck"),
        ("Who borrowed less, Mabel or Jonah?", "Mabel Orme"),
        ("Which seller sold more kg in total, Mabel or Jonah?", "Mabel Orme"),
        ("Which is dearer, the Gloria or the Messiah?", "Messiah"),
    ],
)
def test_what_a_team_answers(tmp_path: Path, question: str, answer: str) -> None:
    with Team(builtin_agents(), root=folder(tmp_path), models={"worker-small": ScriptedClient([])}) as team:
        assert team.run(question).text == answer


@pytest.mark.parametrize(
    "question",
    [
        "Who is taller, Ada or Jonah?",  # nothing says
        "Who is older, Ada or Zoe?",  # who is Zoe?
        "Who works longer hours a week, Ada or Jonah or Mabel?",
        "Who works on the lower deck, Mabel or Jonah?",
        "Who borrowed more in April, Mabel or Jonah?",
    ],
)
def test_what_is_not_all_known_is_not_chosen(tmp_path: Path, question: str) -> None:
    found = asyncio.run(read_tables(question, ToolContext(root=folder(tmp_path))))
    assert not found or found[0].score != SETTLED


def test_ones_own_row_says_more_than_what_one_did(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name,hours\nAda,12\nJonah,30\nMabel,5\n")
    (tmp_path / "a_visits.csv").write_text(
        "day,name,hours\n2026-01-01,Ada,40\n2026-01-02,Ada,9\n2026-01-02,Jonah,1\n"
    )
    best = asyncio.run(read_tables("Who has more hours, Ada or Jonah?", ToolContext(root=tmp_path)))[0]
    assert '"people"' in best.arguments["query"]


def test_neither_of_equals_nor_of_what_is_not_known_is_chosen(tmp_path: Path) -> None:
    with Team(builtin_agents(), root=folder(tmp_path), models={"worker-small": ScriptedClient([])}) as team:
        assert team.run("Is the plane heavier than the rasp?").text == "no"
        assert team.run("Which tool is heavier, the plane or the rasp?").text not in ("plane", "rasp")
        assert team.run("Is the saw heavier than the mallet?").text not in ("yes", "no")
        assert team.run("Is the plane heavier than the saw?").text == "yes"


def test_ones_own_row_says_more_than_rows_about_one(tmp_path: Path) -> None:
    (tmp_path / "lent.csv").write_text(LENT)
    (tmp_path / "members.csv").write_text(
        "name,borrowed,joined\nMabel Orme,5,2020-01-01\nJonah Tuck,1,2021-01-01\n"
    )
    with Team(builtin_agents(), root=tmp_path, models={"worker-small": ScriptedClient([])}) as team:
        assert team.run("Who borrowed more, Mabel or Jonah?").text == "Mabel Orme"


def test_a_day_in_ones_own_row_is_no_count(tmp_path: Path) -> None:
    (tmp_path / "members.csv").write_text("name,borrowed_on\nMabel Orme,2020-01-01\nJonah Tuck,2021-01-01\n")
    asked = choice("Who borrowed more, Mabel or Jonah?")
    assert asked is not None
    found = asyncio.run(read_tables("Who borrowed more, Mabel or Jonah?", ToolContext(root=tmp_path)))
    assert not [one for one in found if one.score >= SETTLED]
