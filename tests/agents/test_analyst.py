"""The analyst: a whole task of several steps by one program that the model writes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pointwork import Agent, Team
from pointwork.agents.analysing import prepare_program
from pointwork.agents.builtin import builtin_agents
from pointwork.agents.job import Attempt, Job
from pointwork.agents.loop import work
from pointwork.agents.planner import Planner
from pointwork.agents.verify import strange_numbers
from pointwork.errors import AgentError, UsageError
from pointwork.models import ChatRequest, Completion, ScriptedClient, Step
from pointwork.settings import PlannerSettings
from pointwork.tools import Tool, ToolContext, ToolResult
from pointwork.tools.sandbox import missing_means

pytestmark = pytest.mark.skipif(bool(missing_means()), reason="no sandbox here")

HERON = "# Heron\n\nThe Heron burns 21 litres of diesel an hour. She was built in 1961.\n"
TRIPS = "day,boat,hours\n2024-05-01,Heron,1.5\n2024-05-02,Marten,2\n2024-06-03,Heron,3\n"
TASK = "How many litres of diesel did all trips of the Heron take, and what is that at 2 crowns a litre?"
HOURS = 'hours = sum(row["hours"] for row in trips if row["boat"] == "Heron")\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "heron.md").write_text(HERON)
    (tmp_path / "trips.csv").write_text(TRIPS)
    return tmp_path


def attempt(root: Path | None, *replies: str, facts: Any = ()) -> tuple[Attempt, list[ChatRequest]]:
    agent = next(agent for agent in builtin_agents() if agent.name == "analyst")
    context = ToolContext(root=root)
    with ScriptedClient(list(replies)) as client:

        async def chat(request: ChatRequest) -> Completion:
            return await client.chat(request)

        async def call(tool: Tool, arguments: dict[str, Any]) -> ToolResult:
            return await tool.call(arguments, context)

        job = Job(agent, "instant", TASK, "number", facts, context, chat, call, lambda: "", 4, False)
        return asyncio.run(work(job)), list(client.requests)


def test_what_is_given_stands_there_as_python(root: Path) -> None:
    prepared = asyncio.run(prepare_program(TASK, ToolContext(root=root)))
    assert prepared.writing is not None
    asked = prepared.writing.asked
    assert "# [heron] The Heron burns 21 litres of diesel an hour." in asked
    assert '# table trips, 3 rows like {"day": date(2024, 5, 1), "boat": "Heron", "hours": 1.5}' in asked
    assert '#   boat is "Heron", "Marten"' in asked
    assert asked.endswith(f"# task: {TASK}")
    assert {source for source, _ in prepared.context} == {"file:heron.md:1-3", "table:trips.csv"}
    assert ("file:heron.md:1-3", "The Heron burns 21 litres of diesel an hour.") in prepared.context


def test_the_row_shown_is_about_what_the_task_names(root: Path) -> None:
    prepared = asyncio.run(prepare_program("How many hours did the Marten sail?", ToolContext(root=root)))
    assert prepared.writing is not None
    assert 'like {"day": date(2024, 5, 2), "boat": "Marten", "hours": 2.0}' in prepared.writing.asked


def test_without_a_folder_there_is_the_task_alone() -> None:
    prepared = asyncio.run(prepare_program(TASK, ToolContext()))
    assert prepared.writing is not None
    assert prepared.writing.asked == f"# task: {TASK}"


def test_a_program_is_written_run_and_believed(root: Path) -> None:
    made, requests = attempt(root, f"```python\n{HOURS}print(hours * 21 * 2)\n```")
    assert (made.text, made.computed) == ("189", True)
    assert {"table:trips.csv", "tool:program"} <= {source for source, _ in made.evidence}
    assert [name for name, _, error in made.calls if error is None] == ["program"]
    assert requests[0].schema is None


def test_where_one_fails_another_is_drawn(root: Path) -> None:
    made, requests = attempt(root, "print(hour)", "print(hour)", f"{HOURS}print(hours * 21 * 2)")
    assert made.text == "189"
    assert [request.temperature > 0 for request in requests] == [False, True, True]
    assert len({request.seed for request in requests}) == 3
    assert [error is None for _, _, error in made.calls] == [False, False, True]
    with pytest.raises(AgentError, match="no program worked.*'hour' is not defined"):
        attempt(root, *["print(hour)"] * 3)


def test_a_number_out_of_the_blue_is_not_run(root: Path) -> None:
    made, requests = attempt(root, "print(4.5 * 23 * 2)", f"{HOURS}print(hours * 21 * 2)")
    assert made.text == "189"
    assert len(requests) == 2
    assert len(made.calls) == 1


def test_earlier_answers_are_shown_as_comments(root: Path) -> None:
    _, requests = attempt(root, "print(21 * 9)", facts=(("answer:s1", "9 hours\nin all"), ("a.md", "Built.")))
    shown = requests[0].messages[-1]["content"]
    assert shown.startswith("# [answer:s1] 9 hours\n# in all\n# [a.md] Built.\n")
    assert all(line.startswith("#") for line in shown.splitlines())


@pytest.mark.parametrize(
    ("code", "given", "strange"),
    [
        ("print(42 * 410 / 1000)", "42 panels of 410 watts", []),
        ("print(42 * 411)", "42 panels of 410 watts", ["411"]),
        ("print(640 * (1 - 0.85))", "Of 640 seats 85% were sold", []),
        ("end = date(1996, 11, 9)", "On 9 November 1996", []),
        ("print(6.5 * 1.852, 10 / 3.6, 3 * 1.61)", "6.5 nautical miles, 10 km/h, 3 miles", []),
        ("print(6.5 * 1.853, 2 * 4.7)", "6.5 nautical miles", ["1.853", "4.7"]),
        ("print(7 * 13)  # 99 of them", "seven boxes of 13", []),
        ("x1 = a2 + 7.50", "7.5 crowns", []),
        ("print(3420 - 2840)", "3,420 crowns and 2,840 crowns", []),
    ],
)
def test_numbers_of_a_program(code: str, given: str, strange: list[str]) -> None:
    assert strange_numbers(code, given) == strange


class _Planless(ScriptedClient):
    """A model that is not small, and plans no better than rules."""

    small, plans = False, False


class _Small(_Planless):
    small = True


def test_a_team_on_such_a_model_writes_a_program(root: Path, tmp_path: Path) -> None:
    with _Planless([f"{HOURS}print(hours * 21 * 2)"]) as client:
        models = {"worker-small": client}
        with Team(store=f"sqlite:///{tmp_path}/x.db", models=models, root=root) as team:
            result = team.run(TASK)
    assert (result.status, result.text) == ("ok", "189")
    assert [subtask.capability for subtask in result.plan.subtasks] == ["analysis"]


def test_an_agent_of_ones_own_may_do_the_same_and_is_an_agent_like_others(tmp_path: Path) -> None:
    own = Agent("own", "You look at things.", {"analysis": "a close look at things"})
    other = Agent("other", "You look away.", {"*": "anything"})
    with _Planless([]) as client:
        with Team([own, other], store=f"sqlite:///{tmp_path}/x.db", models={"worker-small": client}) as team:
            assert asyncio.run(team.services.whole()) == ""
            assert {name.split("/")[0] for name in team.services.candidates("analysis")} == {"own", "other"}
        alone = Agent("alone", "You do it all.", {"everything": "all of it"}, whole=lambda: True)
        with Team([alone, other], store=f"sqlite:///{tmp_path}/x.db", models={"worker-small": client}) as team:
            assert asyncio.run(team.services.whole()) == "everything"
            assert {name.split("/")[0] for name in team.services.candidates("everything")} == {"alone"}


def test_what_no_program_does_the_rules_plan_for(root: Path, tmp_path: Path) -> None:
    with _Planless([Step("print(hour)", times=None)]) as client:
        models = {"worker-small": client}
        with Team(store=f"sqlite:///{tmp_path}/x.db", models=models, root=root) as team:
            result = team.run(TASK)
    assert "analysis" not in {subtask.capability for subtask in result.plan.subtasks}


def test_a_small_model_has_no_analyst(tmp_path: Path) -> None:
    with _Small([]) as client:
        with Team(store=f"sqlite:///{tmp_path}/x.db", models={"worker-small": client}) as team:
            assert "analyst" not in team.agents
        alone = [Agent("one", "…", ("x",), small=False)]
        with pytest.raises(UsageError, match="as small as those"):
            Team(alone, store=f"sqlite:///{tmp_path}/y.db", models={"worker-small": client})


@pytest.mark.parametrize(
    ("whole", "mode", "report", "fit", "author"),
    [
        ("analysis", "auto", "", 0.6, "program"),
        ("analysis", "auto", "", 0.9, "splitter"),
        ("", "auto", "", 0.6, "splitter"),
        ("analysis", "rules", "", 0.6, "splitter"),
        ("analysis", "auto", "s1 failed", 0.6, "splitter"),
    ],
)
def test_when_a_program_is_the_plan(whole: str, mode: Any, report: str, fit: float, author: str) -> None:
    async def fits(_: str) -> dict[str, float]:
        return {"math": fit, "analysis": 0.0}

    async def chat(_: ChatRequest) -> Completion:
        return Completion(json.dumps({"subtasks": []}), 1, 1, "stop", "scripted")

    planner = Planner(
        {"math": "…", "analysis": "…"}, fits, chat, PlannerSettings(mode=mode), small=True, whole=whole
    )
    plan = asyncio.run(planner.plan("Add 7 to 20. Then double it.", report=report))
    assert plan.author == author
