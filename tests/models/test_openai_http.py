"""OpenAIClient against servers that misbehave."""

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from pointwork.errors import ConfigError, ProviderError, ProviderTimeout, RateLimited, UsageError
from pointwork.models.openai_http import OpenAIClient
from pointwork.models.openai_wire import retry_after
from pointwork.models.protocol import ChatRequest, Completion
from pointwork.models.structured import SchemaViolation

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
SECRET = "sk-very-secret-0123456789"
HELLO = ChatRequest([{"role": "user", "content": "hello"}], max_tokens=10, timeout=5.0)


@dataclass
class FakeServer:
    """An HTTP server on loopback that answers every request with one handler."""

    url: str = ""
    requests: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    heads: list[str] = field(default_factory=list[str])
    open: int = 0
    most_open: int = 0


@contextlib.asynccontextmanager
async def fake_server(handler: Handler) -> AsyncGenerator[FakeServer]:
    """Serve until the block ends. The handler writes the whole response, headers included."""
    state = FakeServer()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            state.heads.append(head)
            length = next((int(line.split(":")[1]) for line in head.split("\r\n") if "ength:" in line), 0)
            state.requests.append(json.loads(await reader.readexactly(length) or b"{}"))
            state.open += 1
            state.most_open = max(state.most_open, state.open)
            await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            state.open -= 1
            writer.close()
            with contextlib.suppress(ConnectionError, TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), 1)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(serve(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    state.url = f"http://127.0.0.1:{port}/v1"
    try:
        yield state
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def response(body: bytes | object, status: int = 200, **headers: str) -> Handler:
    """A handler that sends one complete response and closes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {"Content-Type": "application/json", "Content-Length": str(len(data)), "Connection": "close"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = f"HTTP/1.1 {status} Status\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head.encode() + b"\r\n" + data)
        await writer.drain()

    return handle


def answer(text: str | None = "fine", **more: object) -> dict[str, object]:
    """The JSON of a normal answer."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}, **more}


def ask(handler: Handler, request: ChatRequest = HELLO, **options: Any) -> tuple[Completion, FakeServer]:
    """One call to a fake server; everything is closed when it returns."""

    async def main() -> tuple[Completion, FakeServer]:
        async with fake_server(handler) as server:
            client = OpenAIClient(server.url, "m", api_key=SECRET, **options)
            try:
                return await client.chat(request), server
            finally:
                await client.aclose()
                await client.aclose()

    return asyncio.run(main())


def failing(handler: Handler, request: ChatRequest = HELLO, **options: Any) -> ProviderError:
    """The error of one call; the key is never in it."""
    with pytest.raises(ProviderError) as caught:
        ask(handler, request, **options)
    shown = f"{caught.value!r} {caught.value}"
    assert SECRET not in shown
    assert "http://127.0.0.1:" in shown
    return caught.value


def test_what_is_sent_and_what_is_read() -> None:
    schema = {"type": "object"}
    request = ChatRequest(
        HELLO.messages, max_tokens=9, temperature=0.5, stop=("END",), seed=3, schema=schema, logprobs=True
    )
    tokens = [{"token": "{}", "logprob": -0.25}]
    reply = answer("{}")
    reply["choices"][0] |= {"logprobs": {"content": tokens}, "token_ids": [42]}  # type: ignore[index]
    reply["prompt_token_ids"] = [5, 6, 7]
    completion, server = ask(response(reply), request, version="v7", extra={"top_k": 5})
    assert (completion.text, completion.finish, completion.model, completion.version) == ("{}", "stop", "m", "v7")
    assert (completion.prompt_tokens, completion.completion_tokens) == (7, 2)
    assert (completion.token_ids, completion.logprobs, completion.prompt_ids) == ((42,), (-0.25,), (5, 6, 7))
    assert completion.seconds > 0
    form = {"name": "answer", "schema": schema, "strict": True}
    assert server.requests == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "hello"}],
            "max_tokens": 9,
            "temperature": 0.5,
            "stop": ["END"],
            "seed": 3,
            "response_format": {"type": "json_schema", "json_schema": form},
            "logprobs": True,
            "top_logprobs": 1,
            "top_k": 5,
            "return_token_ids": True,
        }
    ]
    assert f"authorization: bearer {SECRET}" in server.heads[0].lower()


@pytest.mark.parametrize(
    ("status", "retryable", "word"),
    [
        (400, False, "refuses"),
        (401, False, "API key"),
        (403, False, "API key"),
        (404, False, "model's name"),
        (413, False, "too long"),
        (500, True, "log"),
        (502, True, "log"),
        (503, True, "log"),
        (301, False, "moved"),
    ],
)
def test_statuses(status: int, retryable: bool, word: str) -> None:
    error = failing(response({"error": {"message": f"no: {SECRET} " + "x" * 500}}, status))
    assert type(error) is ProviderError
    assert error.retryable is retryable
    assert str(status) in str(error)
    assert word in str(error)
    assert "x" * 100 in str(error)
    assert "x" * 250 not in str(error)


def test_rate_limit_says_how_long() -> None:
    error = failing(response({"error": "slow"}, 429, Retry_After="7"))
    assert isinstance(error, RateLimited)
    assert error.retryable
    assert error.retry_after == 7.0


def test_retry_after_header() -> None:
    assert retry_after("1.5") == 1.5
    assert retry_after("-3") == 0.0
    date = retry_after(format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True))
    assert date is not None
    assert 25 < date <= 31
    for nothing in (None, "", "soon", "nan", "inf"):
        assert retry_after(nothing) is None


@pytest.mark.parametrize("status", [408, 504])
def test_time_out_statuses(status: int) -> None:
    assert isinstance(failing(response({}, status)), ProviderTimeout)


NO_ANSWERS: list[object] = [
    b"<html>gateway</html>",
    b"\xff\xfe\x00",
    b"",
    b'{"choices": [',
    b"[" * 100_000,
    b"[]",
    b"null",
    {},
    {"choices": []},
    {"choices": [{}]},
    {"choices": [{"message": {}}]},
    {"choices": "no"},
    {"choices": [{"message": {"content": 5}}]},
    {"choices": [{"message": {"content": None}, "finish_reason": "tool_calls"}]},
    {"error": {"message": "inside a 200"}},
    {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": "many"}},
    {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": -1}},
]


@pytest.mark.parametrize("body", NO_ANSWERS)
def test_answers_that_are_none(body: object) -> None:
    assert type(failing(response(body))) is ProviderError


def test_missing_usage_is_estimated_from_above() -> None:
    completion, _ = ask(response({"choices": [{"message": {"content": "four words are here"}}]}))
    assert completion.prompt_tokens >= 5
    assert 4 <= completion.completion_tokens <= 10
    assert completion.raw == {"usage": "estimated"}


def test_reasoning_cut_short_is_an_empty_answer() -> None:
    reply = {"choices": [{"message": {"content": None}, "finish_reason": "length"}]}
    completion, _ = ask(response(reply))
    assert (completion.text, completion.finish) == ("", "length")


def test_huge_answer_is_refused_early() -> None:
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n")
        for _ in range(50):
            writer.write(b" " * 1_000_000)
            await writer.drain()
            sent += 1

    error = failing(flood)
    assert "8 MB" in str(error)
    assert not error.retryable
    assert sent < 45


def test_hanging_server_times_out() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    started = time.perf_counter()
    error = failing(hang, ChatRequest(HELLO.messages, timeout=0.2))
    assert isinstance(error, ProviderTimeout)
    assert time.perf_counter() - started < 20


def test_trickling_server_times_out() -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1000):
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.02)

    assert isinstance(failing(trickle, ChatRequest(HELLO.messages, timeout=0.2)), ProviderTimeout)


def test_server_dies_in_the_middle() -> None:
    async def die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"choices": [')
        await writer.drain()
        writer.transport.abort()

    error = failing(die)
    assert type(error) is ProviderError
    assert error.retryable


def test_not_http_at_all() -> None:
    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x00\x01\x02 hello\r\n\r\n")
        await writer.drain()

    assert failing(garbage).retryable


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def main() -> None:
        client = OpenAIClient(f"http://user:{SECRET}@127.0.0.1:{port}/v1?key={SECRET}", "m", api_key=SECRET)
        assert SECRET not in repr(client)
        try:
            await client.chat(HELLO)
        finally:
            await client.aclose()

    with pytest.raises(ProviderError, match="is the server running") as caught:
        asyncio.run(main())
    assert caught.value.retryable
    assert SECRET not in str(caught.value)


def test_cancellation_closes_the_connection() -> None:
    async def main() -> bool:
        gone = asyncio.Event()
        came = asyncio.Event()

        async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            came.set()
            await reader.read()
            gone.set()

        async with fake_server(wait) as server:
            client = OpenAIClient(server.url, "m")
            task = asyncio.create_task(client.chat(HELLO))
            await came.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(gone.wait(), 2)
            await client.aclose()
        return gone.is_set()

    assert asyncio.run(main())


def test_concurrency_limit() -> None:
    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.02)
        await response(answer())(reader, writer)

    async def main() -> int:
        async with fake_server(slow) as server:
            client = OpenAIClient(server.url, "m", concurrency=3)
            await asyncio.gather(*(client.chat(HELLO) for _ in range(12)))
            await client.aclose()
            return server.most_open

    assert asyncio.run(main()) == 3


def test_first_model_is_asked_for_once() -> None:
    listed = {"data": [{"id": "org/model", "max_model_len": 4321}]}

    async def both(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await response({**answer(), **listed})(reader, writer)

    async def main() -> None:
        async with fake_server(both) as server:
            client = OpenAIClient(server.url)
            assert client.name == server.url
            for _ in range(2):
                await client.chat(HELLO)
            assert (client.name, client.context_tokens) == ("org/model", 4321)
            assert [head.split()[0] for head in server.heads] == ["GET", "POST", "POST"]
            await client.aclose()

    asyncio.run(main())


def test_token_ids_are_given_up_where_refused() -> None:
    async def picky(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        refused = "return_token_ids" in server.requests[-1]
        reply = {"error": "unknown field return_token_ids"} if refused else answer()
        await response(reply, 400 if refused else 200)(reader, writer)

    async def main() -> list[bool]:
        nonlocal server
        async with fake_server(picky) as server:
            client = OpenAIClient(server.url, "m")
            for _ in range(2):
                completion = await client.chat(ChatRequest(HELLO.messages, logprobs=True))
                assert completion.token_ids is None
            await client.aclose()
            return ["return_token_ids" in request for request in server.requests]

    server = FakeServer()
    assert asyncio.run(main()) == [True, False, False]


def test_logprobs_are_given_up_where_refused() -> None:
    async def picky(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        refused = [name for name in ("return_token_ids", "logprobs") if name in server.requests[-1]]
        reply = {"error": f"unknown field {refused[0]}"} if refused else answer()
        await response(reply, 400 if refused else 200)(reader, writer)

    async def main() -> list[bool]:
        nonlocal server
        async with fake_server(picky) as server:
            client = OpenAIClient(server.url, "m")
            for _ in range(2):
                assert (await client.chat(ChatRequest(HELLO.messages, logprobs=True))).logprobs is None
            await client.aclose()
            return ["logprobs" in request for request in server.requests]

    server = FakeServer()
    assert asyncio.run(main()) == [True, True, False, False]


def test_schema_ignored_by_the_server() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    request = ChatRequest(HELLO.messages, schema=schema)
    fenced, _ = ask(response(answer('Sure!\n```json\n{"n": 3}\n```')), request)
    assert json.loads(fenced.text) == {"n": 3}
    with pytest.raises(SchemaViolation, match="'n' is a required property") as caught:
        ask(response(answer('{"m": 3}')), request)
    assert caught.value.completion.completion_tokens == 2


def test_one_client_in_two_event_loops() -> None:
    async def once(client: OpenAIClient) -> None:
        async with fake_server(response(answer())) as server:
            client._url = server.url  # pyright: ignore[reportPrivateUsage]
            await client.chat(HELLO)
            await client.aclose()

    client = OpenAIClient("http://127.0.0.1:1/v1", "m")
    asyncio.run(once(client))
    asyncio.run(once(client))


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://host/v1", "http://", "http://[::1"])
def test_not_a_url(url: str) -> None:
    with pytest.raises(ConfigError, match="URL"):
        OpenAIClient(url, "m")


@pytest.mark.parametrize(
    "request_",
    [
        ChatRequest([]),
        ChatRequest(HELLO.messages, max_tokens=0),
        ChatRequest(HELLO.messages, max_tokens=-1),
        ChatRequest(HELLO.messages, temperature=-0.1),
        ChatRequest(HELLO.messages, timeout=0),
        ChatRequest(HELLO.messages, schema={"type": "nothing"}),
    ],
)
def test_requests_that_make_no_sense(request_: ChatRequest) -> None:
    with pytest.raises(UsageError):
        ask(response(answer()), request_)
