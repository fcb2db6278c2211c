"""Foreign servers that lie are contained, one by one."""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import psutil
import pytest

from pointwork.errors import ToolDenied, ToolError, UsageError
from pointwork.mcp_servers import foreign, stdio
from pointwork.mcp_servers.hub import Hub
from pointwork.mcp_servers.toolbox import Toolbox
from pointwork.settings import McpSettings
from pointwork.store import Store
from pointwork.tools import Tool, schemas

LIAR = str(Path(__file__).parent / "liar.py")


@pytest.fixture
def hub(store: Store, tmp_path: Path) -> Generator[Callable[..., Hub], None, None]:
    """Makes a hub of one lying server; it is closed at the end."""
    made: list[Hub] = []

    def make(mode: str, *, heard: list[Any] | None = None, **settings: Any) -> Hub:
        given = McpSettings(command=sys.executable, args=(LIAR, mode, str(tmp_path / "notes")), **settings)

        def progress(*values: Any) -> None:
            if heard is not None:
                heard.append(values)

        made.append(Hub({"liar": given}, store, on_progress=progress))
        return made[-1]

    yield make
    for each in made:
        each.close()


def tools_of(hub: Hub) -> dict[str, Tool]:
    return {tool.name: tool for tool in hub.run(hub.tools())}


def call(hub: Hub, name: str = "liar_echo", **arguments: Any) -> Any:
    return hub.run(tools_of(hub)[name].call(arguments))


def gone(pid: int) -> bool:
    for _ in range(200):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def test_an_honest_server_is_used(hub: Callable[..., Hub]) -> None:
    one = hub("honest")
    result = call(one, text="hello")
    assert result.text == "hello"
    assert result.evidence == (("mcp:liar/echo", "hello"),)
    assert one.server("liar").starts == 1
    with pytest.raises(ToolError, match="wrong arguments"):
        call(one)
    # the worst is assumed of what nobody labelled
    assert tools_of(one)["liar_echo"].labels >= {"egress", "untrusted-source", "reads-private"}


def test_it_is_not_started_before_it_is_needed(hub: Callable[..., Hub]) -> None:
    one = hub("honest")
    assert one.server("liar").starts == 0
    assert one.server("liar").pid is None


def test_all_pages_are_read_and_endless_ones_are_not(hub: Callable[..., Hub]) -> None:
    assert len(tools_of(hub("pages"))) == 5
    assert tools_of(hub("endless")) == {}


def test_an_empty_cursor_is_the_last_page(hub: Callable[..., Hub]) -> None:
    assert set(tools_of(hub("empty-cursor"))) == {"liar_echo"}


@pytest.mark.parametrize("mode", ["drift", "renamed", "reworded"])
def test_a_tool_that_changes_after_it_was_agreed_to_is_not_called(hub: Callable[..., Hub], mode: str) -> None:
    one = hub(mode)
    tool = tools_of(one)["liar_echo"]

    async def go() -> None:
        assert (await tool.call({"text": "a"})).text == "a"
        for _ in range(100):
            if one.server("liar").changed:
                break
            await asyncio.sleep(0.02)
        with pytest.raises(ToolDenied, match=r"does not offer it any more|not the one that was agreed to"):
            await tool.call({"text": "b"})

    one.run(go())
    assert tools_of(one) == {}
    [listed] = one.run(one.listed("liar"))
    assert listed.state in ("changed", "new")
    assert "pointwork tools approve liar" in listed.why
    # a person may agree to what it is now
    one.run(one.approve("liar"))
    [now] = tools_of(one).values()
    assert one.run(now.call({"text": "c"})).text == "c"


def test_one_that_is_started_again_is_asked_what_it_offers_now(
    hub: Callable[..., Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign, "FIRST_BACKOFF", 0.0)
    one = hub("updated")
    tool = tools_of(one)["liar_echo"]
    with pytest.raises(ToolError, match="ended while"):
        one.run(tool.call({"text": "x"}))
    for _ in range(2):
        with pytest.raises(ToolDenied, match="not the one that was agreed to"):
            one.run(tool.call({"text": "x"}))
    assert tools_of(one) == {}


def test_what_was_known_does_not_count_when_it_does_not_say_what_changed(hub: Callable[..., Hub]) -> None:
    one = hub("unlisted")
    tool = tools_of(one)["liar_echo"]
    assert one.run(tool.call({"text": "a"})).text == "a"
    for _ in range(2):
        with pytest.raises(ToolError, match="no tools for you"):
            one.run(tool.call({"text": "b"}))
    assert tools_of(one) == {}


def test_a_malformed_tool_is_refused_alone(hub: Callable[..., Hub], caplog: pytest.LogCaptureFixture) -> None:
    """One without a schema, and no tool of the server was there."""
    one = hub("malformed")
    tools = tools_of(one)
    assert set(tools) == {"liar_echo"}
    assert tools["liar_echo"].description == "Say it again."
    assert one.run(tools["liar_echo"].call({"text": "x"})).text == "x"
    refused = one.refused("liar")
    why = dict(refused)
    unnamed = [f"(number {number} of a page)" for number in (4, 5, 6)]
    assert [name for name, _ in refused] == ["none", "listed", *unnamed, "typed", "", "echo"]
    assert "inputSchema: Field required" in why["none"]
    assert "inputSchema" in why["listed"]
    assert "name: Field required" in why["(number 6 of a page)"]
    assert why[""] == "it has no name"
    assert "another of this name" in why["echo"]
    assert "MCP server liar: its tool 'none' is refused: against the protocol: inputSchema" in caplog.text
    with pytest.raises(UsageError, match="'none' can not be used: against the protocol: inputSchema"):
        one.run(one.approve("liar", ["none"]))


def test_tools_of_two_servers_may_come_to_the_same_name(store: Store) -> None:
    def server(tool: str) -> McpSettings:
        return McpSettings(command=sys.executable, args=(LIAR, f"named:{tool}"))

    one = Hub({"a": server("b_echo"), "a_b": server("echo"), "a_b_echo": server("2")}, store)
    try:
        tools = one.run(one.tools())
        assert [tool.name for tool in tools] == ["a_b_echo", "a_b_echo_3", "a_b_echo_2"]
        said = [one.run(tool.call({"text": "x"})).evidence[0][0] for tool in tools]
        assert said == ["mcp:a/b_echo", "mcp:a_b/echo", "mcp:a_b_echo/2"]
        assert len(one.run(Toolbox(one, store, "static").index())) == 3
    finally:
        one.close()


def test_a_server_without_its_token_keeps_no_other_out(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    locked = McpSettings(url="http://127.0.0.1:9", token_env="NOT_SET")
    one = Hub({"locked": locked, "good": McpSettings(command=sys.executable, args=(LIAR, "honest"))}, store)
    try:
        assert [tool.name for tool in one.run(one.tools())] == ["good_echo"]
    finally:
        one.close()
    assert "NOT_SET is not set" in caplog.text


def test_instructions_in_a_description_keep_a_tool_out(hub: Callable[..., Hub]) -> None:
    one = hub("orders")
    assert set(tools_of(one)) == {"liar_plain"}
    listed = {listed.offer.name: listed for listed in one.run(one.listed("liar"))}
    for name in ("echo", "deep"):  # also in what it says of an argument
        assert listed[name].state == "suspicious"
        assert f"tools approve liar {name}" in listed[name].why


def test_what_a_person_agrees_to_elsewhere_is_there_at_once(hub: Callable[..., Hub]) -> None:
    one, other = hub("orders"), hub("orders")
    assert set(tools_of(one)) == {"liar_plain"}
    other.run(other.approve("liar", ["echo"]))  # as the message says: with 'pointwork tools approve'
    assert set(tools_of(one)) == {"liar_plain", "liar_echo"}


def test_a_tool_that_was_agreed_to_again_is_found_as_it_is_now(hub: Callable[..., Hub], store: Store) -> None:
    one = hub("drift")
    box = Toolbox(one, store, "static")

    def found() -> Any:
        return one.run(box.index()).search("say it", k=1)[0].tool

    tool = found()
    assert one.run(tool.call({"text": "a"})).text == "a"
    for _ in range(200):
        if one.server("liar").changed:
            break
        time.sleep(0.02)
    one.run(one.approve("liar"))
    assert found().input_schema != tool.input_schema
    assert one.run(found().call({"n": 1})).value == ""


def test_a_hundred_megabytes_end_the_server_and_not_us(hub: Callable[..., Hub]) -> None:
    one = hub("huge", max_bytes=1_000_000)
    before = psutil.Process().memory_info().rss
    with pytest.raises(ToolError, match=r"more than 1,000,000 bytes \(max_bytes\)"):
        call(one, text="x")
    assert psutil.Process().memory_info().rss - before < 50_000_000


def test_one_that_never_answers_is_given_up_and_told_so(hub: Callable[..., Hub], tmp_path: Path) -> None:
    one = hub("silent", timeout=0.5)
    with pytest.raises(ToolError, match=r"gave no sign for 0.5 s.*raise timeout"):
        call(one, text="x")
    for _ in range(200):
        if "cancelled" in (tmp_path / "notes").read_text():
            break
        time.sleep(0.02)
    assert "cancelled" in (tmp_path / "notes").read_text()
    # it is there still: the next call may be answered
    assert one.server("liar").connected


def test_cancelling_a_call_tells_the_server(hub: Callable[..., Hub], tmp_path: Path) -> None:
    one = hub("silent")
    tool = tools_of(one)["liar_echo"]

    async def go() -> None:
        work = asyncio.create_task(tool.call({"text": "x"}))
        while not (tmp_path / "notes").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        for _ in range(200):
            if "cancelled" in (tmp_path / "notes").read_text():
                return
            await asyncio.sleep(0.02)
        raise AssertionError("the server was not told")

    one.run(go())


def test_progress_is_a_sign_of_life(hub: Callable[..., Hub]) -> None:
    heard: list[Any] = []
    one = hub("progress", heard=heard, timeout=1.5)
    assert call(one, text="slow").text == "slow"  # takes 3 s, with a sign every half
    assert [done for _, done, _, _ in heard] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ToolError, match="at most 1 s"):
        call(hub("progress", timeout=0.9, max_seconds=1.0), text="slow")


def test_one_that_dies_in_a_call_is_said_to_and_not_restarted_at_once(
    hub: Callable[..., Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = hub("dies")
    server = one.server("liar")
    now = [1000.0]
    server._clock = lambda: now[0]  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(ToolError, match=r"ended while it was asked to do 'echo'.*out of luck"):
        call(one, text="x")
    assert (server.starts, server.failures) == (1, 1)
    with pytest.raises(ToolError, match=r"failed 1 times.*tried again in 1 s"):
        one.run(one._there(server.offers()))  # pyright: ignore[reportPrivateUsage]
    assert server.starts == 1
    now[0] += 1.1
    one.run(one._there(server.offers()))  # pyright: ignore[reportPrivateUsage]
    assert server.starts == 2


def test_after_a_death_it_is_started_again(hub: Callable[..., Hub], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "FIRST_BACKOFF", 0.0)
    one = hub("dies-once")
    with pytest.raises(ToolError, match="ended while"):
        call(one, text="x")
    assert call(one, text="again").text == "again"
    assert one.server("liar").starts == 2


def test_calls_at_once_all_learn_that_it_is_gone_and_it_has_failed_once(hub: Callable[..., Hub]) -> None:
    one = hub("hangs-up")
    tool = tools_of(one)["liar_echo"]

    async def late(seconds: float) -> str:
        await asyncio.sleep(seconds)
        with pytest.raises(ToolError) as failed:
            await tool.call({"text": "x"})
        return str(failed.value)

    async def go() -> list[str]:
        # it lives on for some seconds without its output: the last two come while it is being ended
        return await asyncio.gather(*map(late, (0, 0, 0, 0.5, 1.0)))

    said = one.run(go())
    assert all(text.startswith("MCP server 'liar' ") for text in said)
    assert all("'echo'" in text for text in said)
    assert one.server("liar").failures == 1


def test_who_notices_late_ends_no_server_that_was_started_since(
    hub: Callable[..., Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign, "FIRST_BACKOFF", 0.0)
    one = hub("dies-once")
    server = one.server("liar")
    one.run(one._there(server.offers()))  # pyright: ignore[reportPrivateUsage]
    before = server._owner  # pyright: ignore[reportPrivateUsage]
    assert before is not None
    with pytest.raises(ToolError, match="ended while"):
        call(one, text="x")
    assert call(one, text="again").text == "again"
    late = one.run(server._lost(before, "ended"))  # pyright: ignore[reportPrivateUsage]
    assert "ended" in str(late)
    assert (server.connected, server.failures) == (True, 0)
    assert call(one, text="still").text == "still"
    assert server.starts == 2


def test_one_that_can_not_start_waits_longer_each_time(hub: Callable[..., Hub]) -> None:
    one = hub("crashes")
    server = one.server("liar")
    now = [1000.0]
    server._clock = lambda: now[0]  # pyright: ignore[reportPrivateUsage]
    waits: list[float] = []
    for _ in range(9):
        with pytest.raises(ToolError, match="no such luck"):
            one.run(one._there(server.offers()))  # pyright: ignore[reportPrivateUsage]
        waits.append(server._not_before - now[0])  # pyright: ignore[reportPrivateUsage]
        now[0] += waits[-1] + 0.01
    assert waits[:4] == [1, 2, 4, 8]
    assert waits[-1] == foreign.LONGEST_BACKOFF
    assert tools_of(one) == {}


def test_one_that_says_nothing_at_the_start_is_given_up(
    hub: Callable[..., Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign, "START_SECONDS", 1.0)
    one = hub("never-starts")
    with pytest.raises(ToolError, match="did not start within 1 s"):
        one.run(one.listed("liar"))
    assert one.server("liar").pid is None


def test_a_result_that_breaks_its_own_schema_is_an_error(hub: Callable[..., Hub]) -> None:
    with pytest.raises(ToolError, match=r"schema|against the protocol"):
        call(hub("structured"), text="x")


def test_rubbish_is_an_error_and_the_server_goes_on(hub: Callable[..., Hub]) -> None:
    one = hub("rubbish", timeout=5)
    for _ in range(2):
        with pytest.raises(ToolError, match="MCP server 'liar'"):
            call(one, text="x")
    assert one.server("liar").starts == 1


@pytest.mark.parametrize("mode", ["flood", "asks"])
def test_one_that_talks_without_end_is_ended(
    hub: Callable[..., Hub], monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(stdio, "MOST_UNASKED", 200)
    monkeypatch.setattr(stdio, "UNASKED_A_SECOND", 1)
    one = hub(mode, timeout=60)
    tools_of(one)
    pid = one.server("liar").pid
    with pytest.raises(ToolError, match="more than 200 messages that nobody asked for"):
        call(one, text="x")
    assert gone(pid or 0)


def test_many_calls_are_no_talk_without_end(hub: Callable[..., Hub], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "MOST_UNASKED", 5)
    monkeypatch.setattr(stdio, "UNASKED_A_SECOND", 0)
    one = hub("honest")
    tool = tools_of(one)["liar_echo"]
    for number in range(20):
        assert one.run(tool.call({"text": str(number)})).text == str(number)


@pytest.mark.parametrize(("text", "said"), [("emoji", "ab?"), ("latin", "caf\ufffd")])
def test_letters_that_are_none_do_not_hide_the_others(hub: Callable[..., Hub], text: str, said: str) -> None:
    assert call(hub("half-letters", timeout=20), text=text).text == said


def test_an_answer_that_can_not_be_read_is_an_error_at_once(hub: Callable[..., Hub]) -> None:
    with pytest.raises(ToolError, match="can not be read"):
        call(hub("neither", timeout=60), text="x")


def test_a_number_of_ten_thousand_digits_is_read_as_its_digits(hub: Callable[..., Hub]) -> None:
    value = call(hub("high", timeout=20), text="x").value
    assert len(value["n"]) == 10_000


def test_a_schema_that_points_elsewhere_fetches_nothing(hub: Callable[..., Hub]) -> None:
    with pytest.raises(ToolError, match="schema can not be used"):
        call(hub("rubbish-schema"), "liar_odd", a=1)


def test_a_pattern_that_takes_for_ever_is_checked_at_once(hub: Callable[..., Hub]) -> None:
    with pytest.raises(ToolError, match=r"does not match '\^\(a\+\)\+\$'"):
        call(hub("endless-pattern"), text="x")


def test_a_schema_that_takes_for_ever_to_check_is_given_up(
    hub: Callable[..., Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas, "MOST_SECONDS", 0.2)
    with pytest.raises(ToolError, match=r"schema can not be used: checking a value takes more than 0.2 s"):
        call(hub("endless-schema"), text="x")


def test_memory_is_capped(hub: Callable[..., Hub]) -> None:
    one = hub("memory", memory_mb=300)
    with pytest.raises(ToolError, match=r"MB of memory; it may hold 300 \(memory_mb\)"):
        call(one, text="x")


def test_children_end_with_the_server_also_those_that_left_its_group(
    hub: Callable[..., Hub], tmp_path: Path
) -> None:
    one = hub("children")
    call(one, text="x")
    lines = (tmp_path / "notes").read_text().split()
    pids = [int(line) for line in lines if line.isdecimal()]
    assert len(pids) == 3
    assert all(psutil.pid_exists(pid) for pid in pids)
    one.close()
    assert all(gone(pid) for pid in pids)


def test_secrets_of_this_process_do_not_reach_the_server(
    hub: Callable[..., Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET_KEY", "s3cret")
    one = hub("honest", env={"GIVEN": "$MY_SECRET_KEY"})
    call(one, text="x")
    pid = one.server("liar").pid
    assert pid is not None
    environment = psutil.Process(pid).environ()
    assert "MY_SECRET_KEY" not in environment
    assert environment["GIVEN"] == "s3cret"
    assert os.environ["MY_SECRET_KEY"] == "s3cret"
