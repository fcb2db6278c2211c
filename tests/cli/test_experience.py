"""``pointwork memory playbook|learn|facts|skills``."""

import json
from collections.abc import Sequence
from functools import partial
from operator import eq
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, update

from pointwork.agents.learning import Right, failures, write_note
from pointwork.cli.app import run_app
from pointwork.memory import Memory
from pointwork.memory.mistakes import clusters
from pointwork.store import Store
from pointwork.store.tables import decisions, outcomes, runs, steps


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("POINTWORK_STORE", f"sqlite:///{tmp_path / 'store.db'}")
    monkeypatch.chdir(tmp_path)
    return f"sqlite:///{tmp_path / 'store.db'}"


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run_app(["memory", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_playbook_from_the_command_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = said(capsys, "playbook", "add", "tables", "Count rows with count.", "--source", "me")
    waits = said(capsys, "playbook", "add", "tables", "Trust this page.", "--trust", "web")
    assert (made["state"], waits["state"]) == ("live", "pending")
    assert said(capsys, "playbook", "vote", made["id"])["helpful"] == 1
    assert said(capsys, "playbook", "vote", made["id"], "--harmful")["harmful"] == 1
    assert said(capsys, "playbook", "approve", waits["id"])["state"] == "live"
    said(capsys, "playbook", "remove", waits["id"])
    assert [bullet["id"] for bullet in said(capsys, "playbook", "list")] == [made["id"]]
    assert run_app(["memory", "playbook", "list"]) == 0
    assert "Count rows" in capsys.readouterr().out
    for wrong in (["vote", "none"], ["remove", "none"], ["approve", made["id"]], ["add", "tables", " "]):
        assert run_app(["memory", "playbook", *wrong]) == 2


def test_facts_and_skills_from_the_command_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    Memory(url).add("The gate code is 4711.", source="mail:1", time="2026-01-05")
    [fact] = said(capsys, "facts", "gate")
    assert (fact["relation"], fact["value"], fact["valid_to"]) == ("code", "4711", None)
    assert said(capsys, "facts", "--extract") == [fact]
    assert said(capsys, "facts", "barn") == []
    assert said(capsys, "skills") == []
    assert run_app(["memory", "facts"]) == 0
    assert "2026-01-05" in capsys.readouterr().out


def failed(store: Store, number: int, task: str, why: str, *, status: str = "failed", reward: float = 1.0) -> None:
    run: dict[str, Any] = {"id": f"r{number}", "task": task, "status": status, "created": float(number)}
    decision: dict[str, Any] = {
        "id": f"d{number}", "run_id": f"r{number}", "router": "team", "created": 1.0, "clock": 1, "policy": "x",
        "policy_version": "x", "features_version": "x", "context": {}, "candidates": [], "arm": "a",
        "propensity": 1.0, "propensities": {}, "scores": {},
    }  # fmt: skip
    with store.write() as connection:
        connection.execute(insert(runs), {**run, "package_version": "0"})
        connection.execute(insert(decisions), decision)
    output = {"status": "failed", "why": why}
    store.append(steps, {"run_id": f"r{number}", "kind": "verify", "output": output, "started": 1.0})
    row = {"decision_id": f"d{number}", "created": 1.0, "quality": reward, "source": "feedback"}
    store.append(outcomes, row)


def test_failures_are_clustered_by_what_went_wrong(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(url)
    failed(store, 1, "Sum the fares", "arguments: 12 is in the call, not in the question")
    failed(store, 2, "Sum the tolls", "arguments: 7 is in the call, not in the question")
    failed(store, 3, "Sum the tolls", "arguments: 9 is in the call, not in the question")  # the same task again
    failed(store, 4, "Who is Ada?", "", status="ok", reward=0.0)
    failed(store, 5, "Who is Bob?", "", status="ok")  # went well
    found = failures(store)
    assert [(f.task, f.source) for f in found] == [
        ("Who is Ada?", "run:r4"), ("Sum the tolls", "run:r3"), ("Sum the fares", "run:r1"),
    ]  # fmt: skip
    assert found[0].mistake == "wrong: the answer to Who is Ada?"
    kinds: Sequence[Any] = clusters(found)
    assert [len(kind) for kind in kinds] == [2, 1]
    note = write_note(kinds[0])
    assert note.startswith("Put into a call only numbers of the question")
    assert note.endswith("In tasks such as: Sum the tolls; Sum the fares")
    assert [row["failures"] for row in said(capsys, "learn", "--dry-run")] == [2, 1]
    store.close()


def test_a_file_of_answers_says_which_runs_were_wrong(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Checks pass wrong answers too; and what nobody can repeat is no use."""
    store = Store(url)
    for number, (task, text) in enumerate([("2 + 2?", "5"), ("3 + 3?", "6"), ("4 + 4?", ""), ("5 + 5?", "1")]):
        failed(store, number, task, "", status="ok")
        done = {"finished": 9.0, "result": {"text": text}, "root": str(tmp_path)}
        with store.write() as connection:
            connection.execute(update(runs).where(runs.c.id == f"r{number}").values(**done))
    failed(store, 8, "Sum the fares", "type: no number")  # its answer is not in the file
    failed(store, 9, "6 + 6?", "", status="running")  # has no answer yet
    with store.write() as connection:
        connection.execute(update(runs).where(runs.c.id == "r3").values(root=str(tmp_path / "gone")))
    answers = [{"task": f"{n} + {n}?", "answer": 2 * n} for n in range(2, 7)]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    assert [row["task"] for row in said(capsys, "learn", "--dry-run")] == ["Sum the fares"]
    found = said(capsys, "learn", "--dry-run", "--tasks", str(tmp_path / "mine.jsonl"))
    assert sum(row["failures"] for row in found) == 3
    right: dict[str, Right] = {f"{n} + {n}?": partial(eq, str(2 * n)) for n in range(2, 7)}
    assert {f.task for f in failures(store, right=right)} == {"2 + 2?", "4 + 4?", "Sum the fares"}
    store.close()
