"""Faults of models, tools and tasks: each ends in a clear message and a store that agrees with itself."""

import json
import socketserver
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from pointwork import Agent, Budget, Team, tool
from pointwork.agents import Result
from pointwork.errors import UsageError
from pointwork.models import ScriptedClient, Step
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.store.tables import accounts, ledger, runs, steps, tool_calls

GOOD = {
    "id": "1",
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "A poem."}}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 3},
}


class Quiet(BaseHTTPRequestHandler):
    """Answers as its server's ``reply`` says."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        reply: Callable[[Quiet], None] = getattr(self.server, "reply")  # noqa: B009
        reply(self)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def send(self, body: bytes, status: int = 200, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def server(reply: Callable[[Quiet], None]) -> Generator[str, None, None]:
    class Threaded(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass

    with Threaded(("127.0.0.1", 0), Quiet) as made:
        made.reply = reply  # pyright: ignore[reportAttributeAccessIssue]
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_address[1]}/v1#m"
        made.shutdown()


def consistent(store: Store) -> None:
    """Nothing is still reserved, and every account is the sum of its movements."""
    store.flush()
    for account in store.rows(select(accounts)):
        assert account["reserved_tokens"] == account["reserved_turns"] == account["reserved_tool_calls"] == 0
    spent = sum(row["tokens"] for row in store.rows(select(ledger).where(ledger.c.kind == "settle")))
    roots = store.rows(select(accounts).where(accounts.c.parent_id.is_(None)))
    assert spent == sum(account["spent_tokens"] for account in roots)
    assert {row["status"] for row in store.rows(select(runs))} <= {"ok", "failed", "budget_exhausted"}


WRITER = Agent("w", "You write.", ("write",), modes=("instant",))


def writers(store: Store, client: ScriptedClient) -> Team:
    return Team([WRITER], Settings(), store=store, models={"planner": client})


def write_with(store: Store, url: str, **model: Any) -> Result:
    settings = Settings.model_validate({"models": {"worker-small": {"model": url, "attempts": 1, **model}}})
    with Team([WRITER], settings, store=store) as team:
        return team.run("Write a poem", budget=Budget(seconds=300))


def dies(handler: Quiet) -> None:
    handler.send(json.dumps(GOOD).encode()[:40], length=4000)
    handler.connection.close()


def hangs(_: Quiet) -> None:
    threading.Event().wait(90)


def floods(handler: Quiet) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(50_000_000))
    handler.end_headers()
    for _ in range(50):
        handler.wfile.write(b"x" * 1_000_000)


FAULTS: dict[str, tuple[Callable[[Quiet], None], str]] = {
    "not JSON": (lambda handler: handler.send(b"<html>oops</html>"), "JSON"),
    "no choices": (lambda handler: handler.send(b'{"choices": []}'), "choices"),
    "500": (lambda handler: handler.send(b'{"error": {"message": "out of memory"}}', 500), "500"),
    "401": (lambda handler: handler.send(b"{}", 401), "401"),
    "429": (lambda handler: handler.send(b"{}", 429), "429"),
    "dies in the middle": (dies, "127.0.0.1"),
    "50 MB": (floods, "MB"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_server_that_misbehaves(store: Store, fault: str) -> None:
    reply, why = FAULTS[fault]
    with server(reply) as url:
        result = write_with(store, url)
    assert result.status == "failed"
    assert why in " ".join(result.missing)
    consistent(store)


def test_a_model_server_that_is_absent(store: Store) -> None:
    result = write_with(store, "http://127.0.0.1:9/v1#m")
    assert "127.0.0.1:9" in result.missing[0]
    consistent(store)


def test_a_model_server_that_hangs(store: Store) -> None:
    with server(hangs) as url:
        result = write_with(store, url, timeout=0.5)
    assert result.status == "failed"
    assert "0.5 s" in " ".join(result.missing)
    consistent(store)


def test_a_model_server_that_hangs_past_the_deadline(store: Store) -> None:
    settings = Settings.model_validate({"models": {"worker-small": {"model": "x"}}})
    with server(hangs) as url:
        settings = Settings.model_validate({"models": {"worker-small": {"model": url}}})
        with Team([WRITER], settings, store=store) as team:
            result = team.run("Write a poem", budget=Budget(seconds=1))
    assert result.status == "budget_exhausted"
    assert "out of time" in result.missing[0]
    assert result.cost.seconds < 60
    consistent(store)


def test_a_server_that_recovers_is_tried_again(store: Store) -> None:
    count = 0

    def reply(handler: Quiet) -> None:
        nonlocal count
        count += 1
        if count < 3:
            handler.send(b"{}", 503)
        else:
            handler.send(json.dumps(GOOD).encode())

    with server(reply) as url:
        result = write_with(store, url, attempts=4)
    assert (result.status, result.text, result.missing) == ("ok", "A poem.", ())
    consistent(store)


@tool
def explode(thing: str) -> str:
    """Explode a thing."""
    raise RuntimeError("boom")


@tool(timeout=0.3)
def sleep(thing: str) -> str:
    """Sleep over a thing."""
    threading.Event().wait(3)
    return "late"


@tool
def flood(thing: str) -> str:
    """Flood a thing."""
    return "water " * 5_000_000


@tool
def odd(thing: str) -> Any:
    """Give something that is no JSON."""
    return {"when": {1, 2, 3}, "bytes": b"\xff", "nan": float("nan")}


@pytest.mark.parametrize(
    ("broken", "status", "why"),
    [(explode, "failed", "boom"), (sleep, "failed", "0.3 s"), (flood, "ok", ""), (odd, "ok", "")],
)
def test_tools_that_misbehave(store: Store, broken: Any, status: str, why: str) -> None:
    call = json.dumps({"tool": broken.name, "arguments": {"thing": "gate"}})
    last = json.dumps({"answer": "gate"})
    client = ScriptedClient(
        [Step(call, match=lambda r: "tool" in json.dumps(r.schema), times=None), Step(last, times=None)]
    )
    agent = Agent("a", "You work.", {"work": "work on the gate"}, (broken,), modes=("instant",))
    with Team([agent], Settings(), store=store, models={"worker-small": client}) as team:
        result = team.run("Work on the gate")
    assert result.status == status
    assert why in " ".join(result.missing)
    consistent(store)
    rows = store.rows(select(tool_calls))
    assert rows
    assert all(len(json.dumps(row["result"])) < 300_000 for row in rows)
    asked = [step["input"]["messages"] for step in store.rows(select(steps)) if "messages" in (step["input"] or {})]
    assert asked
    assert all(len(messages[-1]["content"]) < 5_000 for messages in asked)


@pytest.mark.parametrize(
    ("task", "why"),
    [("x" * 1_000_000, "1,000,000 characters"), (b"\xff\xfe".decode("utf-8", "surrogateescape"), "surrogate")],
)
def test_tasks_that_are_refused(store: Store, task: str, why: str) -> None:
    with writers(store, ScriptedClient([])) as team, pytest.raises(UsageError, match=why):
        team.run(task)
    assert store.rows(select(runs)) == []


def test_control_characters_do_not_reach_the_terminal_or_the_store(store: Store) -> None:
    client = ScriptedClient([Step("Fine.", times=None)])
    with writers(store, client) as team:
        assert team.run("Write\x00 a \x1b[31mred\x07 poem").status == "ok"
    [row] = store.rows(select(runs))
    assert row["task"] == "Write a [31mred poem"


RACE = """
import asyncio, sys
from pointwork import Agent, Team
from pointwork.models import ScriptedClient, Step
from pointwork.settings import Settings

async def main(team, name):
    results = await asyncio.gather(*(team.arun(f"Write poem {name}-{i}", thread=name) for i in range(16)))
    assert all(r.status == "ok" for r in results), [r.missing for r in results]

client = ScriptedClient([Step("A poem.", times=None, delay=0.05)])
writer = Agent("w", "You write.", ("write",), modes=("instant",))
with Team([writer], Settings(), store=sys.argv[1], models={"planner": client}) as team:
    asyncio.run(main(team, sys.argv[2]))
"""


def test_32_runs_at_once_from_two_processes_lose_nothing(tmp_path: Path) -> None:
    import subprocess
    import sys

    url = f"sqlite:///{tmp_path / 's.db'}"
    processes = [
        subprocess.Popen([sys.executable, "-c", RACE, url, name], stderr=subprocess.PIPE, text=True)
        for name in ("a", "b")
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    store = Store(url)
    found = store.rows(select(runs))
    assert len(found) == 32
    assert {row["task"] for row in found} == {f"Write poem {n}-{i}" for n in "ab" for i in range(16)}
    assert all(row["result"]["text"] == "A poem." for row in found)
    consistent(store)
    assert len(store.rows(select(steps).where(steps.c.kind == "model"))) == 32
    store.close()
