"""``pointwork serve`` as a client of the SDK sees it, over each transport and both generations of the protocol."""

import asyncio
import json
from typing import Any

import jsonschema
import pytest
import teams
from mcp import Client, MCPError
from sqlalchemy import select

from pointwork import Team
from pointwork.errors import RateLimited, UsageError
from pointwork.mcp_servers import schemas
from pointwork.mcp_servers.results import OUTPUT_SCHEMA
from pointwork.mcp_servers.server import AgentServer, Options
from pointwork.models import Step
from pointwork.store import Store
from pointwork.store.tables import runs


def row_of(store: Store, run_id: str) -> dict[str, Any]:
    found = store.row(select(runs).where(runs.c.id == run_id))
    assert found is not None
    return found


def fits(value: Any) -> dict[str, Any]:
    jsonschema.validate(value, OUTPUT_SCHEMA)
    return value


def test_the_team_and_each_agent_are_tools(connect: Any) -> None:
    async def go() -> None:
        async with connect() as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == ["team", "measurer", "adder", "watchman", "buyer", "resume"]
            assert all(tool.output_schema == OUTPUT_SCHEMA for tool in tools.values())
            assert "guard things" in (tools["watchman"].description or "")
            assert tools["team"].input_schema["required"] == ["task"]

    asyncio.run(go())


def test_a_run_gives_a_structured_result_and_progress(connect: Any) -> None:
    async def go() -> None:
        heard: list[tuple[float, float | None, str | None]] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            heard.append((done, total, message))

        async with connect() as client:
            said = await client.call_tool("team", {"task": teams.SUM}, progress_callback=progress)
            value = fits(said.structured_content)
            assert (said.is_error, value["status"], value["text"]) == (False, "ok", "6.0")
            assert said.content[0].text == "6.0"
            assert value["cost"]["calls"] == 3
            assert [piece["source"] for piece in value["evidence"]] == ["tool:measure", "tool:multiply"]
            messages = [message.split()[0] for _, _, message in heard if message]
            assert messages == ["run", "plan:", "started", "finished", "started", "finished"]
            numbers = [done for done, _, _ in heard]
            assert numbers == sorted(set(numbers))
            assert all(total is None or done < total for done, total, _ in heard)
            assert heard[-1][1] == 7  # the run, the plan, two messages of either step, and the end
            # the run is a resource, also by template
            kept = json.loads((await client.read_resource(f"run://{value['run_id']}")).contents[0].text)
            assert (kept["text"], kept["task"]) == ("6.0", teams.SUM)
            whole = json.loads((await client.read_resource(f"trajectory://{value['run_id']}")).contents[0].text)
            assert [row["tool"] for row in whole["tool_calls"]] == ["measure", "multiply"]
            listed = (await client.list_resources()).resources
            assert [resource.uri for resource in listed] == [f"run://{value['run_id']}"]

    asyncio.run(go())


def test_one_agent_alone_does_what_it_is_given(connect: Any) -> None:
    async def go() -> None:
        async with connect() as client:
            said = await client.call_tool("measurer", {"task": "Measure the width of the gate."})
            assert fits(said.structured_content)["text"] == "3"

    asyncio.run(go())


def test_cancelling_stops_the_run_and_keeps_what_there_is(connect: Any, store: Store) -> None:
    async def go() -> None:
        at_work = asyncio.Event()
        found: list[str] = []

        async def progress(_: float, __: float | None, message: str | None) -> None:
            if message and message.startswith("run "):
                found.append(message.split()[1])
            if message and message.startswith("started p0.s2"):
                at_work.set()

        async with connect() as client:
            call = asyncio.create_task(client.call_tool("team", {"task": teams.HANG}, progress_callback=progress))
            await asyncio.wait_for(at_work.wait(), 30)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            for _ in range(600):
                if row_of(store, found[0])["status"] == "interrupted":
                    break
                await asyncio.sleep(0.05)
            row = row_of(store, found[0])
            assert (row["status"], row["result"]["text"], row["result"]["status"]) == (
                "interrupted",
                "3",
                "interrupted",
            )
            assert row["owner"] is None
            kept = json.loads((await client.read_resource(f"run://{found[0]}")).contents[0].text)
            assert (fits(kept)["status"], kept["text"]) == ("interrupted", "3")
            # the connection is as good as before
            assert (await client.call_tool("team", {"task": teams.SUM})).structured_content["text"] == "6.0"

    asyncio.run(go())


def test_a_long_run_goes_on_and_is_found_again_by_its_id(connect: Any) -> None:
    async def go() -> None:
        async with connect() as client:
            said = await client.call_tool("team", {"task": teams.HANG, "wait_seconds": 0.2})
            value = fits(said.structured_content)
            assert value["status"] == "running"
            again = await client.call_tool("resume", {"run_id": value["run_id"], "wait_seconds": 0.1})
            assert again.structured_content["status"] == "running"
            assert again.structured_content["run_id"] == value["run_id"]

    asyncio.run(go())


def test_who_hardly_waits_can_come_back(connect: Any) -> None:
    """However busy the machine is: a run that goes on is told with its id."""

    async def go() -> None:
        async with connect() as client:
            value = fits(
                (await client.call_tool("team", {"task": teams.HANG, "wait_seconds": 1e-6})).structured_content
            )
            assert value["status"] == "running"
            again = await client.call_tool("resume", {"run_id": value["run_id"], "wait_seconds": 1e-6})
            assert again.structured_content == value
            assert value["run_id"]

    asyncio.run(go())


def test_resuming_a_finished_run_gives_its_result(connect: Any) -> None:
    async def go() -> None:
        async with connect() as client:
            first = (await client.call_tool("team", {"task": teams.SUM})).structured_content
            again = (await client.call_tool("resume", {"run_id": first["run_id"]})).structured_content
            assert fits(again) == first

    asyncio.run(go())


def test_a_person_at_the_client_approves(connect: Any) -> None:
    async def go() -> None:
        import mcp_types as types

        asked: list[Any] = []

        async def person(_: Any, params: Any) -> types.ElicitResult:
            asked.append(params)
            return types.ElicitResult(action="accept", content={"answer": "approve"})

        async with connect(elicitation_callback=person) as client:
            said = await client.call_tool("team", {"task": teams.ORDER})
            value = fits(said.structured_content)
            assert (value["status"], value["text"]) == ("ok", "3; ordered 3") or value["text"] == "ordered 3"
            assert len(asked) == 1
            assert "May order be called" in asked[0].message
            assert asked[0].requested_schema["properties"]["answer"]["enum"] == ["approve", "deny"]

    asyncio.run(go())


def test_declining_denies_and_no_person_leaves_it_waiting(connect: Any) -> None:
    async def go() -> None:
        import mcp_types as types

        async def person(_: Any, __: Any) -> types.ElicitResult:
            return types.ElicitResult(action="decline")

        async with connect(elicitation_callback=person) as client:
            value = fits((await client.call_tool("team", {"task": teams.ORDER})).structured_content)
            assert value["status"] == "failed"
            assert any("a person refused" in line for line in value["missing"])

    asyncio.run(go())


def test_without_a_person_the_run_waits(served: AgentServer) -> None:
    async def go() -> None:
        async with Client(served.mcp) as client:
            value = fits((await client.call_tool("team", {"task": teams.ORDER})).structured_content)
            assert value["status"] == "waiting"
            assert value["questions"][0]["answers"] == ["approve", "deny"]
            # the model at the client can not answer for the person: resume takes no answer
            wrong = await client.call_tool("resume", {"run_id": value["run_id"], "answer": "approve"})
            assert wrong.is_error
            assert teams.ordered == []

    asyncio.run(go())


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("team", {}, "'task' is a required property"),
    ("team", {"task": "x", "budget": 3}, "'budget' was unexpected"),
    ("team", {"task": "   "}, "the task is empty"),
    ("team", {"task": "x", "budget_usd": -1}, "minimum"),
    ("resume", {"run_id": "nope"}, "no run 'nope'"),
]


def test_what_is_wrong_comes_as_a_structured_error(connect: Any) -> None:
    async def go() -> None:
        async with connect() as client:
            for tool, arguments, says in WRONG:
                said = await client.call_tool(tool, arguments)
                value = fits(said.structured_content)
                assert (said.is_error, value["status"], value["error"]["kind"]) == (True, "error", "usage")
                assert says in value["error"]["message"]
                assert said.content[0].text == value["error"]["message"]

    asyncio.run(go())


@pytest.mark.parametrize("name", ["wait_seconds", "budget_usd", "budget_seconds"])
def test_what_is_no_number_is_refused_before_a_run_begins(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name}: NaN is no number"):
        schemas.checked(schemas.team_tool({}), {"task": "x", name: float("nan")})


def test_a_provider_that_is_busy_says_so(store: Store) -> None:
    async def go() -> None:
        busy = Step(RateLimited("later", retry_after=0.1), times=None)
        with teams.make_team(store, busy) as team:
            async with Client(AgentServer(team).mcp) as client:
                said = await client.call_tool("measurer", {"task": "Measure the width of the gate."})
                value = fits(said.structured_content)
                assert value["status"] in ("failed", "error")
                assert "later" in json.dumps(value)

    asyncio.run(go())


def test_a_budget_ends_the_run_with_what_there_is(served: AgentServer) -> None:
    async def go() -> None:
        async with Client(served.mcp) as client:
            said = await client.call_tool("team", {"task": teams.SUM, "budget_tool_calls": 1})
            value = fits(said.structured_content)
            assert (said.is_error, value["status"], value["text"]) == (False, "budget_exhausted", "3")

    asyncio.run(go())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_unknown_names_are_protocol_errors(served: AgentServer, mode: Any) -> None:
    async def go() -> None:
        async with Client(served.mcp, mode=mode) as client:
            for attempt in (
                client.call_tool("nope", {}),
                client.read_resource("run://nope"),
                client.read_resource("file:///etc/passwd"),
                client.get_prompt("nope"),
                client.get_prompt("compare", {"first": "a"}),
                client.list_resources(cursor="../../"),
            ):
                with pytest.raises(MCPError) as caught:
                    await attempt
                assert caught.value.error.code == -32602

    asyncio.run(go())


def test_prompts_are_filled_in_and_ids_completed(served: AgentServer) -> None:
    async def go() -> None:
        import mcp_types as types

        async with Client(served.mcp) as client:
            named = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
            assert set(named) == {"ask_files", "ask_tables", "compare", "careful", "go_on"}
            said = await client.get_prompt("compare", {"first": "{by}", "second": "b"})
            assert "Find {by}. Find b. Compare them by what matters." in str(said.messages[0].content)
            first = (await client.call_tool("team", {"task": teams.SUM})).structured_content
            ref = types.ResourceTemplateReference(uri="run://{run_id}")
            found = await client.complete(ref, {"name": "run_id", "value": first["run_id"][:8]})
            assert found.completion.values == [first["run_id"]]

    asyncio.run(go())


def test_runs_are_listed_by_pages(served: AgentServer, team: Team) -> None:
    async def go() -> None:
        for _ in range(53):
            team.only("measurer").run("Measure the width of the gate.")
        async with Client(served.mcp) as client:
            seen: list[str] = []
            cursor: str | None = None
            while True:
                page = await client.list_resources(cursor=cursor)
                seen += [str(resource.uri) for resource in page.resources]
                cursor = page.next_cursor
                if cursor is None:
                    break
            assert len(seen) == len(set(seen)) == 53

    asyncio.run(go())


def test_too_many_runs_are_refused_and_the_others_go_on(team: Team) -> None:
    async def go() -> None:
        server = AgentServer(team, Options(max_runs=1))
        async with Client(server.mcp) as client:
            first = (await client.call_tool("team", {"task": teams.HANG, "wait_seconds": 0.1})).structured_content
            second = await client.call_tool("team", {"task": teams.SUM})
            assert second.is_error
            assert "try again" in second.structured_content["error"]["message"]
            await server.aclose()
            assert row_of(team.store, first["run_id"])["status"] == "interrupted"
            assert (await client.call_tool("team", {"task": teams.SUM})).structured_content["text"] == "6.0"

    asyncio.run(go())


def test_tools_are_served_as_they_are(team: Team) -> None:
    async def go() -> None:
        server = AgentServer(team, Options(agents=(), whole=False, tools=(teams.multiply, teams.order)))
        async with Client(server.mcp) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == {"multiply", "order"}
            assert tools["order"].annotations is not None
            assert tools["order"].annotations.read_only_hint is False
            said = await client.call_tool("multiply", {"a": 2, "b": 4})
            assert said.structured_content == {"result": 8.0}
            refused = await client.call_tool("order", {"what": "x"})
            assert refused.is_error
            assert teams.ordered == []

    asyncio.run(go())
