"""However a server is ended, its runs are stopped in order and nothing hangs."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import select

from pointwork.mcp_servers.serving import Ending
from pointwork.store import open_store
from pointwork.store.tables import runs

sys.path.append(str(Path(__file__).parent))

import teams

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
RUN = {"name": "team", "arguments": {"task": teams.HANG}, "_meta": {"progressToken": "t"}}


@pytest.fixture
def started(tmp_path: Path) -> Generator[Callable[..., "subprocess.Popen[str]"], None, None]:
    """Starts a process that serves a scripted team; it is ended at the end."""
    made: list[subprocess.Popen[str]] = []

    def start(*over: str) -> "subprocess.Popen[str]":
        source = str(Path(__file__).parents[2] / "src")
        environment = {**os.environ, "PYTHONPATH": source, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        command = [sys.executable, str(Path(__file__).parent / "teams.py"), f"sqlite:///{tmp_path}/x.db", *over]
        pipe = subprocess.PIPE
        made.append(
            subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, text=True, bufsize=1)
        )
        return made[-1]

    yield start
    for each in made:
        each.kill()
        each.communicate()


def message(method: str, id_: int | None = None, **params: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    return asked if id_ is None else {**asked, "id": id_}


def ended(process: "subprocess.Popen[str]", folder: Path) -> tuple[int, str, str]:
    """Exit code, the last words, and what became of the one run."""
    _, said = process.communicate(timeout=60)
    row = open_store(f"sqlite:///{folder}/x.db").row(select(runs.c.status))
    assert row is not None
    return process.returncode, said.strip().split("\n")[-1], row["status"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, "end of input", "nobody reads"])
def test_over_stdio(started: Callable[..., Any], tmp_path: Path, how: signal.Signals | str) -> None:
    process = started()

    def send(value: dict[str, Any]) -> None:
        process.stdin.write(json.dumps(value) + "\n")
        process.stdin.flush()

    send(message("initialize", 1, **INITIALIZE))
    process.stdout.readline()
    send(message("notifications/initialized"))
    send(message("tools/call", 2, **RUN))
    while "started p0.s2" not in process.stdout.readline():
        assert process.poll() is None
    if how == "nobody reads":
        process.stdout.close()
        send(message("ping", 3))  # it learns so when it answers
        process.wait(30)
        process.stdout = None
    elif how == "end of input":
        process.stdin.close()
        process.stdin = None
    else:
        process.send_signal(how)  # its input stays open
    assert ended(process, tmp_path) == (0, "closed", "interrupted")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_over_http(started: Callable[..., Any], tmp_path: Path, how: signal.Signals) -> None:
    process = started("http")
    url = f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
    headers = {"Accept": "application/json, text/event-stream"}
    with httpx2.Client(headers=headers, timeout=60) as http:
        session = http.post(url, json=message("initialize", 1, **INITIALIZE)).headers["mcp-session-id"]
        http.headers["mcp-session-id"] = session
        http.post(url, json=message("notifications/initialized"))
        with http.stream("POST", url, json=message("tools/call", 2, **RUN)) as answer:
            assert any("started p0.s2" in line for line in answer.iter_lines())
            process.send_signal(how)
            assert ended(process, tmp_path) == (0, "closed", "interrupted")


def test_what_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup has it
    try:
        with Ending() as ending:
            signal.raise_signal(signal.SIGHUP)
            assert ending.told is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_signal_ends_once_and_ctrl_c_again_is_in_a_hurry() -> None:
    before, ends = signal.getsignal(signal.SIGTERM), list[str]()
    with Ending() as ending:
        ending.then(lambda: ends.append("end"))
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert (ending.told, ends) == (signal.SIGTERM, ["end"])
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) == before


def test_before_there_is_anything_to_end_a_signal_interrupts() -> None:
    with Ending() as ending, pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    assert ending.told == signal.SIGTERM
