"""A loop of calls in which the result of one is what the next is given."""

import asyncio
import json
from typing import Any

import pytest

from pointwork import Agent
from pointwork.agents.job import Attempt, Job
from pointwork.agents.loop import work
from pointwork.models import ChatRequest, Completion, ScriptedClient
from pointwork.tools import Tool, ToolContext, ToolResult, tool


@tool(labels=["reads-private"])
def read_note(week: str) -> str:
    """Read a note."""
    return "Sales went up."


@tool(labels=["writes"])
def keep(text: str) -> str:
    """Keep a text."""
    return "kept"


@tool
def length(text: str) -> str:
    """Count the letters of a text."""
    return str(len(text))


def called(tool: str, /, **arguments: Any) -> str:
    return json.dumps({"call": {"tool": tool, "arguments": arguments}})


def attempt(*replies: str, small: bool) -> Attempt:
    agent = Agent("worker", "You work.", {"work": "anything"}, (read_note, keep, length), modes=("agentic",))
    context = ToolContext(root=None, memory=None, thread=None)
    with ScriptedClient(list(replies)) as client:

        async def chat(request: ChatRequest) -> Completion:
            return await client.chat(request)

        async def call(tool: Tool, arguments: dict[str, Any]) -> ToolResult:
            return await tool.call(arguments, context)

        job = Job(agent, "agentic", "Keep the note", "text", (), context, chat, call, lambda: "", 4, small)
        return asyncio.run(work(job))


@pytest.mark.parametrize("small", [False, True])
def test_what_was_read_is_written(small: bool) -> None:
    """It was taken for an answer, and the run said that all was well."""
    note, kept = called("read_note", week="31"), called("keep", text="Sales went up.")
    made = attempt(note, kept, called("answer", text="It is kept."), small=small)
    assert [call[0] for call in made.calls] == ["read_note", "keep"]
    assert made.text == "It is kept."


@pytest.mark.parametrize("small", [False, True])
def test_what_was_read_is_asked_about(small: bool) -> None:
    """A small model that gives a result to a tool that only computes has nothing more to say."""
    note, count = called("read_note", week="31"), called("length", text="Sales went up.")
    answer = [] if small else [called("answer", text="14 letters")]
    made = attempt(note, count, *answer, small=small)
    assert made.text == ("Sales went up." if small else "14 letters")
