"""SIGKILL anywhere; the resumed run ends as the uninterrupted one would, and nothing happens twice silently."""

import json
import select
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pointwork.store import Store
from pointwork.store.tables import accounts, decisions, ledger, runs

DRIVER = Path(__file__).parent / "driver.py"

POINTS = [
    f"{node}:{when}:{number}"
    for node, times in (("plan", 1), ("work", 3), ("verify", 2), ("answer", 1))
    for number in range(1, times + 1)
    for when in ("before", "after")
]


class Driver:
    """Starts the driver's processes, each a fork of one that has imported what it needs: that takes seconds."""

    def __init__(self) -> None:
        command = [sys.executable, str(DRIVER), "--serve"]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, store: Path, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
        """How it ended, and what it printed."""
        out, err = (store.parent / f"driver.{name}" for name in ("out", "err"))
        line = {"arguments": [str(store), *arguments], "out": str(out), "err": str(err)}
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        print(json.dumps(line), file=self._server.stdin, flush=True)
        assert select.select([self._server.stdout], [], [], 300)[0], "no end within five minutes"
        code = int(self._server.stdout.readline())
        if code not in (0, -signal.SIGKILL):
            raise AssertionError(err.read_text())
        return code, [json.loads(line) for line in out.read_text().splitlines()]

    def end(self) -> None:
        """No more of them."""
        self._server.communicate()


@pytest.fixture(scope="module")
def drive() -> Generator[Driver, None, None]:
    driver = Driver()
    yield driver
    driver.end()


def effects(store: Path) -> list[str]:
    path = store.parent / "effects.txt"
    return path.read_text().splitlines() if path.exists() else []


@pytest.fixture(scope="module")
def whole(drive: Driver, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The result of the run that nobody interrupts."""
    store = tmp_path_factory.mktemp("whole") / "s.db"
    code, lines = drive(store, "run")
    assert code == 0
    assert (lines[-1]["status"], lines[-1]["text"]) == ("ok", "booked 3; 6.0")
    assert len(effects(store)) == 1
    return lines[-1]


def same(result: dict[str, Any], whole: dict[str, Any]) -> None:
    for field in ("text", "status", "plan", "missing"):
        assert result[field] == whole[field]
    assert [d["arm"] for d in result["decisions"]] == [d["arm"] for d in whole["decisions"]]
    assert [d["status"] for d in result["decisions"]] == [d["status"] for d in whole["decisions"]]
    assert [(e["source"], e["text"]) for e in result["evidence"]] == [
        (e["source"], e["text"]) for e in whole["evidence"]
    ]


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_node_boundary(point: str, drive: Driver, whole: dict[str, Any], tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    # the booking runs beside the third piece of work: killed there, it may lie between its effect and its record,
    # where without a key a person is rightly asked (the test below)
    kind = "key" if point.startswith("work") and point.endswith("3") else "nothing"
    code, lines = drive(store, "run", "--kill", point, "--tool", kind)
    assert code == -signal.SIGKILL
    run_id = lines[0]["run_id"]
    code, lines = drive(store, "resume", run_id, "--tool", kind)
    assert code == 0
    same(lines[-1], whole)
    assert len(effects(store)) == 1
    opened = Store(f"sqlite:///{store}")
    [row] = opened.rows(sa.select(runs))
    assert row["status"] == "ok"
    assert opened.rows(sa.select(accounts).where(accounts.c.reserved_tokens > 0)) == []
    # each answer of the model is paid once, whoever asked for it
    paid = opened.rows(sa.select(ledger).where(ledger.c.kind == "settle", ledger.c.turns > 0))
    assert lines[-1]["cost"]["calls"] == len(paid)
    assert len(opened.rows(sa.select(decisions))) == 3
    opened.close()


@pytest.mark.parametrize("kind", ["key", "reconcile", "nothing"])
@pytest.mark.parametrize("point", ["tool:intent", "tool:effect"])
def test_killed_between_a_tools_effect_and_its_record(
    point: str, kind: str, drive: Driver, whole: dict[str, Any], tmp_path: Path
) -> None:
    store = tmp_path / "s.db"
    code, lines = drive(store, "run", "--kill", point, "--tool", kind)
    assert code == -signal.SIGKILL
    run_id = lines[0]["run_id"]
    _, lines = drive(store, "resume", run_id, "--tool", kind)
    if kind == "nothing":  # it can not be known, so a person is asked
        result = lines[-1]
        assert result["status"] == "waiting"
        [question] = result["questions"]
        assert (question["kind"], question["tool"]) == ("indeterminate", "book")
        assert len(effects(store)) == (1 if point == "tool:effect" else 0)
        _, lines = drive(store, "resume", run_id)
        assert lines[-1]["status"] == "waiting"
        answer = "done" if point == "tool:effect" else "repeat"
        _, lines = drive(store, "answer", run_id, "--answer", answer)
        assert lines[-1]["status"] == "ok"
        assert lines[-1]["text"].endswith("; 6.0")
    else:
        same(lines[-1], whole)
    assert len(effects(store)) == 1


def test_an_approval_is_given_days_later_by_another_process(drive: Driver, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    code, lines = drive(store, "run", "--tool", "approval")
    assert code == 0
    result = lines[-1]
    assert result["status"] == "waiting"
    assert result["questions"][0]["arguments"] == {"value": "3"}
    assert effects(store) == []
    calls = (tmp_path / "calls.txt").read_text().count("Book")
    _, lines = drive(store, "answer", result["run_id"], "--answer", "approve", "--tool", "approval")
    assert (lines[-1]["status"], lines[-1]["text"]) == ("ok", "booked 3; 6.0")
    assert len(effects(store)) == 1
    assert (tmp_path / "calls.txt").read_text().count("Book") == calls, "the model was asked again"


def test_a_refusal_is_final_and_has_no_effect(drive: Driver, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    _, lines = drive(store, "run", "--tool", "approval")
    _, lines = drive(store, "answer", lines[-1]["run_id"], "--answer", "deny", "--tool", "approval")
    result = lines[-1]
    assert (result["status"], result["text"]) == ("failed", "6.0")
    assert "refused" in result["missing"][0]
    assert effects(store) == []


def test_ctrl_c_leaves_a_run_that_resumes(drive: Driver, whole: dict[str, Any], tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    process = subprocess.Popen(
        [sys.executable, str(DRIVER), str(store), "run", "--kill", "tool:slow", "--tool", "key"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    run_id = ""
    for line in process.stdout:
        event = json.loads(line)
        run_id = event.get("run_id") or run_id
        if event["event"] == "slow":
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)  # the tool sleeps for longer
    opened = Store(f"sqlite:///{store}")
    [row] = opened.rows(sa.select(runs))
    assert row["status"] == "interrupted"
    assert opened.rows(sa.select(accounts).where(accounts.c.reserved_tool_calls > 0)) == []
    opened.close()
    _, lines = drive(store, "resume", run_id, "--tool", "key")
    same(lines[-1], whole)
    assert len(effects(store)) == 1


def test_the_time_in_between_does_not_count(drive: Driver, whole: dict[str, Any], tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    _, lines = drive(store, "run", "--kill", "work:after:1", "--seconds", "600")
    # an hour goes by, which is longer than the run may take: what is stored of it becomes an hour older
    opened = Store(f"sqlite:///{store}")
    with opened.write() as connection:
        for moment in (runs.c.created, ledger.c.created, accounts.c.deadline):
            connection.execute(sa.update(moment.table).values({moment: moment - 3600}))
    [left] = {row["deadline"] - time.time() for row in opened.rows(sa.select(accounts)) if row["parent_id"] is None}
    assert left < -2900
    opened.close()
    _, lines = drive(store, "resume", lines[0]["run_id"])
    same(lines[-1], whole)


def test_two_processes_do_not_work_on_one_run(drive: Driver, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    first = subprocess.Popen(
        [sys.executable, str(DRIVER), str(store), "run", "--kill", "tool:slow", "--tool", "key"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert first.stdout is not None
    run_id = ""
    for line in first.stdout:
        event = json.loads(line)
        run_id = event.get("run_id") or run_id
        if event["event"] == "slow":
            break
    second = subprocess.run(
        [sys.executable, str(DRIVER), str(store), "resume", run_id, "--tool", "key"], capture_output=True, text=True
    )
    assert "being worked on by another process" in second.stderr
    first.kill()
    first.communicate()
    code, lines = drive(store, "resume", run_id, "--tool", "key")
    assert (code, lines[-1]["status"]) == (0, "ok")
    assert len(effects(store)) == 1
