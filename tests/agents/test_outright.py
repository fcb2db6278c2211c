"""A team that takes what the words of a task say, and asks a model for the rest."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pointwork import Team
from pointwork.agents.builtin import builtin_agents
from pointwork.agents.result import Result
from pointwork.models import ScriptedClient
from pointwork.models.scripted import Step
from pointwork.settings import Settings

NOTES = """# The mill

The mill wheel was built by Greta Molnar. It turns at 9 knots at most. The mill burned down on 4 June 1932. Flour is
sold for 3 crowns. The stones need one hour for each 25 kilograms.
"""
SALES = (
    "month,baker,sacks,unit_price\nMay,Ann Reed,4,8.0\nMay,Bo Lind,9,7.5\nJune,Ann Reed,7,8.0\nJune,Cy Park,2,9.0\n"
)
BAKERS = "name,joined,weekly_hours\nAnn Reed,2019-03-04,30\nBo Lind,2021-05-01,40\nCy Park,2015-02-02,20\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "mill"
    folder.mkdir()
    (folder / "mill.md").write_text(NOTES)
    (folder / "sales.csv").write_text(SALES)
    (folder / "bakers.csv").write_text(BAKERS)
    return folder


@contextmanager
def team(tmp_path: Path, *steps: Step, readings: str = "always") -> Generator[Team]:
    run, planner = {"readings": readings}, {"mode": "rules"}
    settings = Settings.model_validate({"run": run, "planner": planner, "router": {"policy": "static"}})
    store = f"sqlite:///{tmp_path / 'x.db'}"
    with (
        ScriptedClient(steps) as client,
        Team(builtin_agents(settings), settings, store=store, models={"worker-small": client}) as made,
    ):
        yield made


def ask(tmp_path: Path, root: Path, task: str) -> Result:
    with team(tmp_path) as made:
        return made.run(task, root=root)


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("How many sacks did Ann Reed buy altogether?", "11"),
        ("Which baker bought the most sacks in total?", "Ann Reed"),
        ("Is there a Cy Park among the bakers?", "yes"),
        ("What is all that Bo Lind bought worth, at the unit price?", "67.5"),
        ("Who built the mill wheel?", "Greta Molnar"),
        ("On which weekday did the mill burn down?", "Saturday"),
        ("How many km/h does the mill wheel turn at?", "16.668 km/h"),
        ("How many hours do the stones need for 100 kilograms?", "4 h"),
        ("What date is 10 days after 25 February 2024?", "2024-03-06"),
        ("Is 17 times 23 more than 400?", "no"),
        ("Is 5 km less than 4 miles?", "yes"),
        ("How many km/h does the mill wheel turn at? Give one decimal.", "16.7 km/h"),
    ],
)
def test_the_words_say_it_and_no_model_is_asked(tmp_path: Path, root: Path, task: str, text: str) -> None:
    result = ask(tmp_path, root, task)
    assert (result.status, result.text) == ("ok", text)
    assert result.evidence
    assert result.cost.tokens == 0


def test_a_step_goes_to_the_agent_that_fits_once_its_answers_are_known(tmp_path: Path, root: Path) -> None:
    # "When did {s1} join?" fits no table; "When did Ann Reed join?" does
    result = ask(tmp_path, root, "Which baker bought the most sacks in total? When did she join?")
    assert result.text.endswith("2019-03-04")
    assert [decision.arm.split("/")[0] for decision in result.decisions] == ["tables", "tables"]


def test_a_question_within_a_question(tmp_path: Path, root: Path) -> None:
    result = ask(tmp_path, root, "A quarter of all the sacks that Ann Reed bought goes to the inn.")
    assert [subtask.text for subtask in result.plan.subtasks][-1] == "1/4 of {s1}"
    assert result.text == "2.75"


def test_evidence_of_a_piece_is_the_sentence_that_holds_it(tmp_path: Path, root: Path) -> None:
    result = ask(tmp_path, root, "Who built the mill wheel?")
    assert [piece.text for piece in result.evidence] == ["The mill wheel was built by Greta Molnar."]


def test_readings_that_are_switched_off_ask_the_model(tmp_path: Path, root: Path) -> None:
    step = Step('{"answer": "Greta Molnar"}', times=None)
    with team(tmp_path, step, readings="never") as made:
        result = made.run("Who built the mill wheel?", root=root)
    assert result.text == "Greta Molnar"
    assert result.cost.tokens > 0


def test_a_larger_model_is_asked_unless_the_reading_is_nearly_certain(tmp_path: Path, root: Path) -> None:
    step = Step('{"answer": "Greta Molnar"}', times=None)
    with team(tmp_path, step, readings="auto") as made:
        assert made.run("What is the total of the sacks of Ann Reed?", root=root).cost.tokens == 0
        assert made.run("Who built the mill wheel?", root=root).cost.tokens > 0
