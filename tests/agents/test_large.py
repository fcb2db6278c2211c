"""What a model that is not small is told and shown besides."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pointwork import Team
from pointwork.agents import quoting
from pointwork.agents.builtin import builtin_agents
from pointwork.agents.gathering import rows_about
from pointwork.agents.job import Attempt, Job
from pointwork.agents.loop import work
from pointwork.agents.sources import sources_text
from pointwork.errors import AgentError
from pointwork.models import ChatRequest, Completion, ScriptedClient
from pointwork.models.scripted import Step
from pointwork.settings import Settings
from pointwork.tools import Tool, ToolContext, ToolResult

FERRY = "# The ferry\n\nA single ticket for an adult is 4.60 crowns, for a child it is 2.30 crowns.\n"
STAFF = "name,role,hourly_wage,started\nElke Straw,deckhand,14.65,2017-12-17\nBo Lind,mechanic,17.9,2015-10-15\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ferry.md").write_text(FERRY)
    (tmp_path / "staff.csv").write_text(STAFF)
    return tmp_path


def attempt(
    name: str, text: str, root: Path, *replies: Any, small: bool = False, mode: Any = "instant", kind: str = "text"
) -> tuple[Attempt, list[ChatRequest]]:
    """What an agent makes of a text with these replies, and what its model was asked."""
    agent = next(agent for agent in builtin_agents() if agent.name == name)
    context = ToolContext(root=root, memory=None, thread=None)
    with ScriptedClient([reply if isinstance(reply, str) else json.dumps(reply) for reply in replies]) as client:

        async def chat(request: ChatRequest) -> Completion:
            return await client.chat(request)

        async def call(tool: Tool, arguments: dict[str, Any]) -> ToolResult:
            return await tool.call(arguments, context)

        job = Job(agent, mode, text, kind, (), context, chat, call, lambda: "", 4, small)
        return asyncio.run(work(job)), list(client.requests)


def called(expression: str) -> dict[str, Any]:
    return {"call": {"tool": "calculate", "arguments": {"expression": expression}}}


PRICE = "How much do 3 adults and 2 children pay for a single ticket?"


def test_the_calculator_is_shown_what_the_files_say_of_it(root: Path) -> None:
    made, requests = attempt("calculator", PRICE, root, called("3 * 4.60 + 2 * 2.30"))
    assert (made.text, made.computed) == ("18.4", True)
    assert "4.60 crowns" in requests[0].messages[-1]["content"]
    assert any("4.60 crowns" in text for _, text in made.evidence)
    _, requests = attempt("calculator", PRICE, root, called("3 * 4.60 + 2 * 2.30"), small=True)
    assert "4.60" not in requests[0].messages[-1]["content"]


def test_tools_are_described(root: Path) -> None:
    _, requests = attempt("calculator", PRICE, root, called("3 * 4.60 + 2 * 2.30"))
    assert "- calculate(expression): Compute" in requests[0].messages[0]["content"]
    _, requests = attempt("calculator", PRICE, root, called("3 * 4.60 + 2 * 2.30"), small=True)
    assert "Compute" not in requests[0].messages[0]["content"]


def test_what_was_read_can_be_computed_with_in_the_same_turn(root: Path) -> None:
    made, requests = attempt("files", PRICE, root, called("3 * 4.60 + 2 * 2.30"))
    assert made.text == "18.4"
    assert len(requests) == 1
    made, _ = attempt("files", PRICE, root, {"call": {"tool": "answer", "arguments": {"text": "4.60 crowns"}}})
    assert made.text == "4.60 crowns"


@pytest.mark.parametrize("kind", ["text", "number"])
def test_what_the_context_does_not_say_is_no_answer(root: Path, kind: str) -> None:
    with pytest.raises(AgentError, match="does not say"):
        attempt("files", "Which ticket is for an adult dog?", root, {"answer": "unknown"}, kind=kind)
    turn = {"call": {"tool": "answer", "arguments": {"text": "Unknown."}}}
    with pytest.raises(AgentError, match="does not say"):
        attempt("files", "How much is a single ticket for a dog?", root, turn)


def test_a_result_handed_in_as_a_call_is_the_answer(root: Path) -> None:
    turns = called("3 * 4.60 + 2 * 2.30"), called("18.4")
    made, requests = attempt("calculator", PRICE, root, *turns, mode="agentic")
    assert (made.text, len(made.calls), len(requests)) == ("18.4", 1, 2)
    assert 'call "answer" with it' in requests[0].messages[0]["content"]


def test_rows_about_what_the_question_names(root: Path) -> None:
    context = ToolContext(root=root, memory=None, thread=None)
    found = asyncio.run(rows_about("What does Elke Straw earn in 32 hours?", context))
    assert [text for _, text in found] == [
        "name: Elke Straw, role: deckhand, hourly_wage: 14.65, started: 2017-12-17"
    ]
    assert asyncio.run(rows_about("What is 2 + 2?", context)) == []
    assert asyncio.run(rows_about("Elke Straw", ToolContext(root=None, memory=None, thread=None))) == []


def test_a_value_of_many_rows_is_a_kind(root: Path) -> None:
    rows = "".join(f"Person {n},deckhand,{n},2020-01-01\n" for n in range(9))
    (root / "staff.csv").write_text(STAFF + rows)
    context = ToolContext(root=root, memory=None, thread=None)
    assert asyncio.run(rows_about("What does a deckhand earn?", context)) == []


def test_sources_name_tables_and_documents(root: Path) -> None:
    said = asyncio.run(sources_text(ToolContext(root=root, memory=None, thread=None)))
    assert "- staff(name, role, hourly_wage, started)" in said
    assert said.endswith("Documents: ferry.md")
    assert asyncio.run(sources_text(ToolContext(root=None, memory=None, thread=None))) == ""


class Sized(ScriptedClient):
    """A scripted model that says how large it is, as embedded ones do."""

    def __init__(self, *steps: Step, small: bool, plans: bool = False) -> None:
        super().__init__(steps)
        self.small, self.plans = small, plans


def test_nothing_is_gathered_that_nobody_is_shown(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def looked(*_: Any) -> list[tuple[str, str]]:
        raise AssertionError("rows were looked for")

    monkeypatch.setattr(quoting, "rows_about", looked)
    attempt("calculator", PRICE, root, called("3 * 4.60 + 2 * 2.30"), small=True)
    with pytest.raises(AgentError, match="does not say"):
        attempt("files", "Which ticket is for an adult?", root, {"answer": "unknown"})
    with pytest.raises(AssertionError, match="rows were looked for"):
        attempt("calculator", PRICE, root, called("3 * 4.60"))


@pytest.mark.parametrize("small", [True, False])
def test_a_run_asks_a_model_by_its_size(root: Path, tmp_path: Path, small: bool) -> None:
    reply = Step(json.dumps(called("3 * 4.60 + 2 * 2.30")), times=None)
    settings = Settings.model_validate({"router": {"policy": "static"}, "planner": {"mode": "rules"}})
    store = f"sqlite:///{tmp_path / 'x.db'}"
    with Sized(reply, small=small) as client:
        agents = [agent for agent in builtin_agents() if agent.name == "calculator"]
        with Team(agents, settings, store=store, models={"worker-small": client}) as team:
            team.run(PRICE, root=root)
    assert ("Compute an arithmetic" in client.requests[0].messages[0]["content"]) is not small


@pytest.mark.parametrize(("plans", "status"), [(False, "failed"), (True, "ok")])
def test_a_number_out_of_the_blue(root: Path, tmp_path: Path, plans: bool, status: str) -> None:
    settings = Settings.model_validate({"router": {"policy": "static"}, "planner": {"mode": "rules"}})
    with Sized(Step('{"answer": 1000}', times=None), small=False, plans=plans) as client:
        writer = [agent for agent in builtin_agents() if agent.name == "writer"]
        with Team(
            writer, settings, store=f"sqlite:///{tmp_path / 'x.db'}", models={"worker-small": client}
        ) as team:
            assert team.run("How many gallons does the pond hold?", root=root).status == status


@pytest.mark.parametrize("plans", [True, False])
def test_only_a_model_that_plans_is_asked_where_rules_found_steps(root: Path, tmp_path: Path, plans: bool) -> None:
    plan = {"subtasks": [{"task": "What is 20% of 85?", "capability": "math", "answer": "number"}]}
    steps = Step(json.dumps(plan), match=lambda request: "You plan." in request.messages[0]["content"], times=None)
    with Sized(steps, small=False, plans=plans) as client:
        store = f"sqlite:///{tmp_path / 'x.db'}"
        with Team.default(store=store, config=Settings(), models={"worker-small": client}) as team:
            found = team.run("What is 2 + 2, and what is 20% of 85?", root=root)
        assert (found.plan.author == "model") is plans
        assert not plans or "- staff(name" in client.requests[0].messages[0]["content"]
