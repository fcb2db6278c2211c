"""A team that takes what the words of a task say, and asks a model for the rest."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pointwork import Team
from pointwork.agents.builtin import builtin_agents
from pointwork.agents.job import Job
from pointwork.agents.loop import work
from pointwork.agents.parsing.parser import Parsed
from pointwork.agents.result import Result
from pointwork.errors import AgentError, NothingFound
from pointwork.models import ScriptedClient
from pointwork.models.scripted import Step
from pointwork.settings import Settings
from pointwork.tools import Tool, ToolContext, ToolResult

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
        ("What time was it 200 minutes before a quarter past two in the afternoon?", "10:55"),
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


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("Put ten per cent on Bo Lind's weekly hours and tell me the new figure.", "44 h"),
        ("Our youngest hand is Cy Park. On what day will Cy Park have been here twelve years?", "2027-02-02"),
        ("The new rule says 35 weekly hours. Is that less than the weekly hours of Bo Lind?", "yes"),
    ],
)
def test_what_is_reckoned_with_a_cell_is_no_cell(tmp_path: Path, root: Path, task: str, text: str) -> None:
    """One query would explain every word of these, and leave the sum out."""
    assert ask(tmp_path, root, task).text == text


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


@pytest.mark.parametrize(
    ("task", "why"),
    [
        ("How many weekly hours has Di Moss?", "the table has nothing there"),
        ("What are the weekly hours of Di Moss?", "the table has nothing there"),
        ("What is the unit price of Ann Reed?", "2 rows fit, each with a number of its own"),
        ("What does the order of Ann Reed cost?", "2 rows fit, each with a number of its own"),
        ("What is the unit price of Bo Lind?", ""),
        ("What are the unit prices of Ann Reed?", ""),
        ("When was the order of Ann Reed?", "2 rows fit, each with a date of its own"),
        ("When did Ann Reed order?", "2 rows fit, each with a date of its own"),
        ("On which day was the order of Ann Reed?", "2 rows fit, each with a date of its own"),
        ("What time is the oven of Ann Reed lit?", "2 rows fit, each with a time of its own"),
        ("What time is the oven of Bo Lind lit?", ""),
    ],
)
def test_what_a_table_does_not_say_is_no_answer(root: Path, task: str, why: str) -> None:
    (root / "bakers.csv").write_text(f"{BAKERS}Di Moss,2022-01-01,\n")
    (root / "ovens.csv").write_text("baker,oven lit\nAnn Reed,04:30\nAnn Reed,05:15\nBo Lind,06:00\n")
    (root / "orders.csv").write_text("baker,day\nAnn Reed,2024-05-02\nAnn Reed,2024-05-09\nBo Lind,2024-05-03\n")
    if why:
        with pytest.raises(AgentError, match=why):
            said_by_tables(root, task)
    else:
        assert said_by_tables(root, task) in ("7.5", "8, 8.5", "06:00:00")


def test_what_is_asked_in_a_tables_words_and_is_not_there_is_nowhere(root: Path) -> None:
    with pytest.raises(NothingFound, match="the table has nothing there"):
        said_by_tables(root, "What are the total weekly hours of the bakers whose name is Di Moss?")
    (root / "bakers.csv").write_text(f"{BAKERS}Di Moss,2022-01-01,\n")
    for task in ("What are the weekly hours of Di Moss?", "weekly hours of the bakers whose name is Di Moss"):
        with pytest.raises(AgentError, match="the table has nothing there") as another:
            said_by_tables(root, task)
        assert not isinstance(another.value, NothingFound)  # who reads texts may know it


def said_by_tables(root: Path, task: str) -> str:
    """What the agent of tables answers without a model; Ann Reed bought at two prices."""
    (root / "sales.csv").write_text(f"{SALES}July,Ann Reed,1,8.5\n")
    tables = next(agent for agent in builtin_agents() if agent.name == "tables")
    context = ToolContext(root=root)

    async def call(tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        return await tool.call(arguments, context)

    with ScriptedClient([]) as client:
        job = Job(tables, "instant", task, "text", (), context, client.chat, call, lambda: "", 4, True)
        return asyncio.run(work(replace(job, sure=0.0))).text


def test_a_query_of_the_parser_that_several_rows_fit_is_refused_too(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meant(*_: object) -> Parsed:
        return Parsed("SELECT unit_price FROM sales WHERE baker = 'Ann Reed'", "unit_price", "", 0.97)

    monkeypatch.setattr("pointwork.agents.tabling.parsed", meant)
    with pytest.raises(AgentError, match="2 rows fit, each with a number"):
        said_by_tables(root, "What is Ann Reed charged?")


def test_how_far_apart_temperatures_are_is_said_as_people_do(tmp_path: Path) -> None:
    with team(tmp_path, Step("never", times=None)) as made:
        result = made.run("What is 20 degC - 5 degC?")
    assert (result.text, result.cost.tokens) == ("15 degC", 0)


@pytest.mark.parametrize("task", ["What is 17% of 2340?", "How many days from 2024-02-01 to 2024-03-05?"])
def test_what_needs_no_file_reads_none(
    tmp_path: Path, root: Path, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no(*_: Any, **__: Any) -> Any:
        raise AssertionError("the folder was read")

    monkeypatch.setattr("pointwork.agents.quoting.passages.search", no)
    monkeypatch.setattr("pointwork.agents.tabling.catalog", no)
    assert ask(tmp_path, root, task).status == "ok"
