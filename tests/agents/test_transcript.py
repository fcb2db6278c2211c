"""A loop's transcript keeps within its budget, and what is no longer shown can be read again."""

import asyncio
import json
from typing import Any

from pointwork import Agent
from pointwork.agents.job import Job
from pointwork.agents.loop import work
from pointwork.agents.transcript import PAGE, READ, Transcript
from pointwork.models import ChatRequest, Message, ScriptedClient, Step
from pointwork.text import count_tokens_estimate
from pointwork.tools import Tool, ToolContext

LONG = (
    "The list begins here.\n" + "".join(f"line {n} of the list\n" for n in range(200)) + "The key is under the mat."
)


def loop(turns: list[Any], *tools: Tool, budget: int = 1500) -> tuple[Any, ScriptedClient]:
    client = ScriptedClient([Step(json.dumps({"call": turn})) for turn in turns])

    async def chat(request: ChatRequest) -> Any:
        return await client.chat(request)

    async def call_tool(tool: Tool, arguments: dict[str, Any]) -> Any:
        return await tool.call(arguments, ToolContext())

    agent = Agent("reader", "You read.", ("reading",), tools, modes=("agentic",))
    job = Job(
        agent, "agentic", "Where is the key?", "text", (), ToolContext(), chat, call_tool, lambda: "", 9, True,
        working_tokens=budget,
    )  # fmt: skip
    return asyncio.run(work(job)), client


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "arguments": arguments}


def listed(n: int = 0) -> str:
    return f"{LONG}{n}"


LIST = Tool("list", "List.", {"type": "object", "properties": {"n": {"type": "integer"}}}, listed)


def offered(request: ChatRequest) -> set[str]:
    schema: Any = request.schema
    return {turn["properties"]["tool"]["const"] for turn in schema["properties"]["call"]["anyOf"]}


def test_a_loop_reads_what_was_cut_and_no_call_is_made_for_it() -> None:
    start = len("Result: " + LONG) - 26
    attempt, client = loop(
        [call("list", n=1), call("read_result", id="w1", start=start), call("answer", text="under the mat")], LIST
    )
    assert attempt.text == "under the mat"
    assert [name for name, _, _ in attempt.calls] == ["list"]
    assert offered(client.requests[0]) == {"list", "answer"}
    assert offered(client.requests[1]) == {"list", "answer", "read_result"}
    cut, page = (request.messages[-1]["content"] for request in client.requests[1:])
    assert "under the mat" not in cut
    assert f"… [w1: {len('Result: ' + LONG) + 1:,} characters in all]" in cut
    assert page.startswith("The key is under the mat.1")


def test_what_a_loop_saw_long_ago_becomes_a_pointer() -> None:
    _, client = loop([*(call("list", n=n) for n in range(4)), call("answer", text="gone")], LIST, budget=500)
    said = [str(message["content"]) for message in client.requests[4].messages if message["role"] == "user"][1:]
    assert said[0].startswith("[w1] Result: The list begins here. (")
    assert said[3].startswith("Result: The list begins here.\nline 0")
    assert sum(count_tokens_estimate(text.removesuffix("\nGo on, or answer.")) for text in said) <= 500


def test_short_results_change_nothing_and_nothing_is_offered() -> None:
    short = Tool("look", "Look.", {"type": "object", "properties": {}}, lambda: "a shed\nand a mat " + "x" * 130)
    _, client = loop([call("look"), call("answer", text="a mat")], short)
    assert offered(client.requests[1]) == {"look", "answer"}
    assert client.requests[1].messages[-1]["content"].startswith("Result: a shed\nand a mat xx")


def test_a_wrong_id_is_said_and_somebodys_own_tool_of_that_name_is_left_alone() -> None:
    transcript = Transcript([Message(role="user", content="go")], 500)
    transcript.add("call", LONG, "Go on.")
    assert transcript.tools([LIST]) == [LIST, READ]
    assert "no piece 'w7'" in (transcript.read("call", {"id": "w7"}, "Go on.") or "")
    assert "Error: working memory has no piece 'w7'" in transcript.messages()[-1]["content"]
    assert transcript.read("call", {"id": "w1", "start": None}, "Go on.") is None
    assert LONG[: PAGE - 10] in transcript.messages()[-1]["content"]
    own = Tool("read_result", "Mine.", {"type": "object", "properties": {}}, lambda: "x")
    assert transcript.tools([own]) == [own]
