"""Foreign servers over HTTP that lie are contained, one by one."""

import asyncio
import json
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import psutil
import pytest
from liar_http import Asked, Liar, answer, event, honest, response, said, served, stream, zipped

from pointwork.errors import ToolError
from pointwork.mcp_servers import remote, stdio
from pointwork.mcp_servers.hub import Hub
from pointwork.settings import McpSettings
from pointwork.store import Store

Lie = Callable[[Asked], Iterator[bytes | float]]
Make = Callable[..., tuple[Hub, Liar]]


@pytest.fixture
def lying(store: Store, monkeypatch: pytest.MonkeyPatch) -> Generator[Make, None, None]:
    """Makes a hub of one server that answers calls (``call``), or whatever it lies about, by a lie."""
    monkeypatch.setenv("LIAR_TOKEN", "s3cret")
    with ExitStack() as stack:

        def make(call: Lie | None = None, lie: Callable[[Asked], Any] | None = None, **settings: Any) -> Any:
            def only_calls(asked: Asked) -> Iterator[bytes | float] | None:
                return call(asked) if call is not None and asked.message.get("method") == "tools/call" else None

            liar = stack.enter_context(served(Liar(lie or only_calls)))
            given: dict[str, Any] = {"timeout": 20.0, "max_seconds": 30.0, **settings}
            hub = Hub({"liar": McpSettings(url=liar.url, token_env="LIAR_TOKEN", **given)}, store)
            stack.callback(hub.close)
            return hub, liar

        yield make


def call(hub: Hub) -> str:
    [tool] = hub.run(hub.tools())
    return hub.run(tool.call({"text": "x"})).text


def once(given: bytes) -> Lie:
    return lambda _: iter([given])


def test_an_honest_server_is_used_and_given_its_token(lying: Make) -> None:
    hub, liar = lying()
    assert call(hub) == "hello"
    assert {asked.headers["authorization"] for asked in liar.asked} == {"Bearer s3cret"}
    hub.close()
    assert liar.asked[-1].method == "DELETE"


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
def test_a_redirect_elsewhere_takes_neither_call_nor_token_along(lying: Make, status: str) -> None:
    _, other = lying()
    hub, _ = lying(once(response(b"", status=status, location=other.url)))
    with pytest.raises(ToolError, match="not followed"):
        call(hub)
    hub, _ = lying(once(response(b"", status=status, location="http://169.254.169.254/latest/meta-data")))
    with pytest.raises(ToolError, match="not followed"):
        call(hub)
    assert other.asked == []


def test_a_redirect_in_a_circle_ends(lying: Make) -> None:
    hub, liar = lying(once(response(b"", status="307 Temporary", location="/mcp", connection="close")))
    with pytest.raises(ToolError, match="not followed"):
        call(hub)
    assert liar.count("POST") < 40


def test_who_refuses_the_token_is_named_and_sent_nothing_more(lying: Make) -> None:
    _, other = lying()
    asks = response(b"", status="401 No", www_authenticate=f'Bearer resource_metadata="{other.url}"')
    hub, liar = lying(once(asks))
    with pytest.raises(ToolError, match=r"401 Unauthorized.*token_env"):
        call(hub)
    assert other.asked == []
    hub, liar = lying(lie=once(asks))
    assert hub.run(hub.tools()) == []
    with pytest.raises(ToolError, match=r"401 Unauthorized.*token_env"):
        hub.run(hub.listed("liar"))
    assert "GET" not in {asked.method for asked in liar.asked}


def _drop(_: Asked) -> Iterator[bytes | float]:
    yield b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"jsonrpc"'


def _drop_events(_: Asked) -> Iterator[bytes | float]:
    yield stream()
    yield b'data: {"jsonrpc": "2.0", '


def _heads(_: Asked) -> Iterator[bytes | float]:
    yield b"HTTP/1.1 200 OK\r\n"
    for _number in range(3000):
        yield b"x: " + b"y" * 1000 + b"\r\n"


def _another(_: Asked) -> Iterator[bytes | float]:
    result = {"content": [{"type": "text", "text": "for somebody else"}]}
    yield response(json.dumps({"jsonrpc": "2.0", "id": 999_999, "result": result}).encode())


def _several(asked: Asked) -> Iterator[bytes | float]:
    yield response(b"[" + said(asked) + b"]")


def _long(asked: Asked) -> Iterator[bytes | float]:
    yield response(said(asked, "x" * 2_000_000))


def _long_event(_: Asked) -> Iterator[bytes | float]:
    yield stream()
    yield b"data: " + b"x" * 2_000_000


def _bomb(_: Asked) -> Iterator[bytes | float]:
    yield response(zipped(10**8), content_encoding="gzip")


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        (once(response(b"<html>", kind="text/html")), "Unexpected content type: text/html"),
        (once(response(b"", status="500 x")), "500 Internal Server Error"),
        (once(response(b"", status="799 x")), "it answered 799"),
        (once(b"HTTP/1.1 204 No Content\r\n\r\n"), "Unexpected content type"),
        (once(b"GARBAGE\r\n\r\n"), "ended while"),
        (once(response(b"[" * 500_000)), "refused to do 'echo': Failed to parse"),
        (once(response(b"", kind="text/event-stream")), "ended while"),
        (_several, "Failed to parse"),
        (_long, r"more than 1,000,000 bytes \(max_bytes\)"),
        (_long_event, r"more than 1,000,000 bytes \(max_bytes\)"),
        (_drop, "ended while it was asked"),
        (_drop_events, "ended while it was asked"),
        (_heads, "ended while it was asked"),
    ],
)
def test_what_is_no_answer_is_an_error_at_once(lying: Make, lie: Lie, says: str) -> None:
    hub, _ = lying(lie, max_bytes=1_000_000)
    before = psutil.Process().memory_info().rss
    with pytest.raises(ToolError, match=says):
        call(hub)
    assert psutil.Process().memory_info().rss - before < 50_000_000


def test_somebody_elses_answer_is_none(lying: Make) -> None:
    hub, _ = lying(_another, timeout=1.0)
    with pytest.raises(ToolError, match="gave no sign"):
        call(hub)


def test_what_was_packed_without_a_word_is_not_unpacked(lying: Make) -> None:
    zipped(10**8)  # so that it is there at once
    hub, _ = lying(_bomb)
    before = psutil.Process().memory_info().rss
    with pytest.raises(ToolError, match="Failed to parse"):
        call(hub)
    assert psutil.Process().memory_info().rss - before < 50_000_000


def _bit_by_bit(_: Asked) -> Iterator[bytes | float]:
    yield b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n"
    while True:
        yield b" "
        yield 0.05


def _soon(_: Asked) -> Iterator[bytes | float]:
    while True:
        yield b"HTTP/1.1 102 Processing\r\n\r\n"
        yield 0.01


def _progress(_: Asked) -> Iterator[bytes | float]:
    yield stream()
    while True:
        yield event({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
        yield 0.01


@pytest.mark.parametrize("lie", [_bit_by_bit, _soon, _progress])
def test_an_answer_that_never_ends_is_given_up_also_by_the_connection(lying: Make, lie: Lie) -> None:
    ended: list[float] = []

    def noted(asked: Asked) -> Iterator[bytes | float]:
        try:
            yield from lie(asked)
        finally:
            ended.append(time.monotonic())

    hub, _ = lying(noted, timeout=0.5, max_seconds=2.0)
    with pytest.raises(ToolError, match=r"gave no sign|ended while"):
        call(hub)
    for _ in range(400):  # whoever sends it finds the connection closed
        if ended:
            break
        time.sleep(0.05)
    assert ended


def _at_once(asked: Asked) -> Iterator[bytes | float] | None:
    """Streams that end at once, and ask to be opened again without a pause."""
    if asked.method == "GET" or asked.message.get("method") == "tools/call":
        return iter([stream(), b"retry: 0\nid: 1\ndata:\n\n"])
    return None


def test_a_stream_that_ends_at_once_is_not_opened_without_a_pause(
    lying: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_AGAIN", 600.0)
    hub, liar = lying(lie=_at_once, timeout=1.0, max_seconds=2.0)
    with pytest.raises(ToolError, match="gave no sign"):
        call(hub)
    assert liar.count("GET") == 1


def test_a_server_that_talks_without_end_is_heard_no_longer(lying: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "MOST_UNASKED", 50)
    monkeypatch.setattr(stdio, "UNASKED_A_SECOND", 0)
    monkeypatch.setattr(remote, "_AGAIN", 0.0)
    sent: list[int] = []

    def talks(asked: Asked) -> Iterator[bytes | float] | None:
        return talk() if asked.method == "GET" else None

    def talk() -> Iterator[bytes | float]:
        sent.append(0)
        yield stream()
        while True:
            sent[-1] += 1
            yield event({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
            yield 0.001

    hub, liar = lying(lie=talks)
    assert call(hub) == "hello"
    for _ in range(400):
        if liar.count("GET") == 2:
            break
        time.sleep(0.05)
    time.sleep(0.5)
    assert liar.count("GET") == 2  # it is heard once more, and then no more
    assert call(hub) == "hello"


def test_what_has_no_answer_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_TAKES", 0.2)
    liar = Liar(lambda asked: iter([60.0]))

    async def go() -> None:
        transport = remote.CappedTransport(1_000_000, seconds=60.0)
        async with httpx2.AsyncClient(transport=transport, trust_env=False) as client:
            with pytest.raises(httpx2.ReadTimeout, match=r"no answer within 0\.2 s"):
                await client.delete(liar.url)
            with pytest.raises(httpx2.ReadTimeout, match=r"no answer within 0\.2 s"):
                await client.post(liar.url, json={"jsonrpc": "2.0", "method": "notifications/cancelled"})

    with served(liar):
        asyncio.run(go())


@pytest.mark.parametrize("session", ["x" * 50_000, "a\tb c", "\x7f"])
def test_a_session_has_any_name_and_keeps_it(lying: Make, session: str) -> None:
    def named(asked: Asked) -> Iterator[bytes | float] | None:
        if asked.message.get("method") == "initialize":
            return iter([honest(asked).replace(b"mcp-session-id: one", b"mcp-session-id: " + session.encode())])
        if asked.message.get("method") == "tools/list":  # another one later is nobody's
            listed = {"tools": [{"name": "echo", "description": "Say it.", "inputSchema": {"type": "object"}}]}
            return iter([response(answer(asked, listed), mcp_session_id="two")])
        return None

    hub, liar = lying(lie=named)
    assert call(hub) == "hello"
    [called] = [asked for asked in liar.asked if asked.message.get("method") == "tools/call"]
    assert called.headers["mcp-session-id"] == session
