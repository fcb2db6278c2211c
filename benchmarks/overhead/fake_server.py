"""A fake OpenAI-compatible server with a fixed latency, in plain asyncio, so that every environment can run it.

What it answers depends on the request alone: the job is always "look up alpha, look up beta, report".

    python fake_server.py --port 8399 --latency 0.02 --cpu 1

``POST /reset`` sets the counter to zero; ``GET /stats`` tells how many chat calls came since, and its CPU seconds.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Callable
from typing import Any

FACTS = {"alpha": "alpha is 40", "beta": "beta is 2"}
FINAL = f"Found that {FACTS['alpha']} and {FACTS['beta']}"

Message = dict[str, Any]


def reply(body: dict[str, Any]) -> Message:
    """The assistant's message that brings the job one step further."""
    if "response_format" in body:
        return {"role": "assistant", "content": json.dumps(_structured(body))}
    model, said = body["model"].rsplit("/", 1)[-1], json.dumps(body["messages"])
    tools = [tool["function"] for tool in body.get("tools", ())]
    if model == "supervisor" and tools:
        for name, fact in FACTS.items():
            if fact not in said:
                return _call(next(tool for tool in tools if _is_for(tool, name)), name)
        return {"role": "assistant", "content": FINAL}
    if model in FACTS:
        if FACTS[model] in said or not tools:
            return {"role": "assistant", "content": FACTS[model]}
        return _call(tools[0], model)
    return {"role": "assistant", "content": "alpha, beta" if model == "planner" else FINAL}


def _is_for(tool: dict[str, Any], name: str) -> bool:
    """Whether a supervisor's tool hands over to the specialist: by its name, or by an argument as crewAI has it."""
    return name in tool["name"] or "coworker" in tool["parameters"].get("properties", {})


def _call(tool: dict[str, Any], name: str) -> Message:
    """A call of a tool; each string argument that it needs is the specialist's name."""
    properties = tool["parameters"].get("properties", {})
    arguments = dict.fromkeys((key for key in properties if key in tool["parameters"].get("required", ())), name)
    function = {"name": tool["name"], "arguments": json.dumps(arguments)}
    calls = [{"id": f"call_{time.monotonic_ns()}", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _structured(body: dict[str, Any]) -> Any:
    """Pointwork's turns: a plan, a tool call, or an answer, under a JSON schema."""
    schema = json.dumps(body["response_format"])
    if '"subtasks"' in schema:
        kind = {"capability": "probe", "answer": "text"}
        plan = [{"task": f"Look up {name}.", **kind} for name in FACTS]
        if '"report"' in schema:
            plan.append({"task": "Report that {s1} and {s2}.", "capability": "report", "answer": "text"})
        return {"subtasks": plan}
    last = body["messages"][-1]["content"]
    if last.startswith("Result: "):
        call = {"tool": "answer", "arguments": {"text": next(fact for fact in FACTS.values() if fact in last)}}
    else:
        asked = last.rsplit("Task: ", 1)[-1]  # before it stands what was recalled of earlier runs
        call = {"tool": "lookup", "arguments": {"name": next(name for name in FACTS if name in asked)}}
    return {"call": call}


def completion(body: dict[str, Any], count: int) -> bytes:
    """A whole response's JSON."""
    message = reply(body)
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    value = {
        "id": f"chatcmpl-{count}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
    return json.dumps(value).encode()


def streamed(body: dict[str, Any], count: int) -> bytes:
    """The same as server-sent events, for clients that insist."""
    whole = json.loads(completion(body, count))
    choice = whole["choices"][0]
    delta = dict(choice["message"])
    if delta.get("tool_calls"):
        delta["tool_calls"] = [{"index": i, **call} for i, call in enumerate(delta["tool_calls"])]
    base = {**whole, "object": "chat.completion.chunk"}
    usage = base.pop("usage")
    chunks = [
        {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
        {**base, "choices": [], "usage": usage},
    ]
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


class Counter:
    """Chat calls since the last reset."""

    def __init__(self) -> None:
        self.calls = 0


class Connection(asyncio.Protocol):
    """One keep-alive HTTP/1.1 connection; requests with a Content-Length, one at a time."""

    def __init__(self, counter: Counter, latency: float) -> None:
        self._counter, self._latency = counter, latency
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            lines = self._buffer[:end].decode("latin-1").split("\r\n")
            headers = {key.lower(): value for key, value in (line.split(": ", 1) for line in lines[1:])}
            size = int(headers.get("content-length", 0))
            if len(self._buffer) < end + 4 + size:
                return
            body, self._buffer = self._buffer[end + 4 : end + 4 + size], self._buffer[end + 4 + size :]
            self._answer(lines[0].split()[1], body)

    def _answer(self, path: str, data: bytes) -> None:
        if path.endswith("/chat/completions"):
            self._counter.calls += 1
            count = self._counter.calls
            make: Callable[[], None] = lambda: self._chat(json.loads(data), count)  # noqa: E731
            asyncio.get_running_loop().call_later(self._latency, make)
        elif path == "/stats":
            value = {"calls": self._counter.calls, "cpu": time.process_time()}
            self._send(json.dumps(value).encode(), "application/json")
        elif path == "/reset":
            self._counter.calls = 0
            self._send(b"{}", "application/json")
        else:
            self._send(b'{"error": {"message": "not here"}}', "application/json", "404 Not Found")

    def _chat(self, body: dict[str, Any], count: int) -> None:
        if body.get("stream"):
            self._send(streamed(body, count), "text/event-stream")
        else:
            self._send(completion(body, count), "application/json")

    def _send(self, content: bytes, kind: str, status: str = "200 OK") -> None:
        assert self._transport is not None
        if not self._transport.is_closing():
            head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(content)}\r\n\r\n"
            self._transport.write(head.encode() + content)


async def serve(port: int, latency: float) -> None:
    """Serve until killed."""
    counter = Counter()
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(counter, latency), "127.0.0.1", port, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.02)
    parser.add_argument("--cpu", type=int)
    given = parser.parse_args()
    if given.cpu is not None:
        os.sched_setaffinity(0, {given.cpu})
    asyncio.run(serve(given.port, given.latency))
