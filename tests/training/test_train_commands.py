"""``pointwork train`` on the command line: what it says, its exit codes, and the whole loop once for real."""

import json
from pathlib import Path
from typing import Any

import pytest

from pointwork.cli.app import run_app
from pointwork.router import Arm, Outcome, Router
from pointwork.store import Store, default_url, open_store

TASKS = [
    {"id": "a", "task": "What is 17 times 23?", "answer": 391, "split": "train"},
    {"id": "b", "task": "How much is 840 divided by 7?", "answer": 120, "split": "train"},
    {"id": "c", "task": "Add 45 and 19.", "answer": 64, "split": "train"},
    {"id": "d", "task": "What is 31 times 12?", "answer": 372, "split": "held-out"},
]


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    file = tmp_path / "tasks.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in TASKS))
    return file


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = run_app([*arguments, "--json"])
    said = capsys.readouterr().out
    return code, json.loads(said) if said.strip() else None


def test_data_of_an_empty_store(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = ran(capsys, "train", "data")
    assert code == 0
    assert (said["runs"], said["groups"]) == (0, 0)
    assert run_app(["train", "data"]) == 0
    assert "nothing to train on" in capsys.readouterr().out


def test_a_dry_run_does_nothing_and_says_how_long(
    tmp_path: Path, tasks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    code, said = ran(
        capsys, "train", "loop", "--tasks", str(tasks), "--trials", "6", "--dry-run", "--out", str(folder)
    )
    assert code == 0
    assert (said["tasks"], said["held_out"], said["trials"], said["evaluation_trials"]) == (3, 1, 6, 2)
    assert set(said["seconds"]) == {"collect", "train", "verify", "evaluate", "whole"}
    assert all(value > 0 for value in said["seconds"].values())
    assert not folder.exists()
    code, said = ran(capsys, "train", "model", "--role", "worker-small", "--dry-run")
    assert code == 0
    assert said["data"]["runs"] == 0
    code, said = ran(capsys, "train", "loop", "--dry-run")
    # the training half of the starter suite, cut in two; never its held-out half
    assert said["tasks"] + said["held_out"] == len(_starter_train())
    assert run_app(["train", "loop", "--tasks", str(tasks), "--dry-run"]) == 0
    assert "nothing was done" in capsys.readouterr().out


def _starter_train() -> list[Any]:
    from pointwork.bench.tasks import starter_tasks

    return list(starter_tasks("train"))


def test_what_can_not_be_trained_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["train", "model", "--algo", "ppo"]) == 2
    assert "there are group, " in capsys.readouterr().err
    (tmp_path / "p.toml").write_text('[models.worker-small]\nmodel = "gpt-4o-mini"\n')
    monkeypatch.setenv("POINTWORK_CONFIG", str(tmp_path / "p.toml"))
    assert run_app(["train", "model", "--dry-run"]) == 2
    assert "can not be trained" in " ".join(capsys.readouterr().err.split())


def test_a_store_without_runs_teaches_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = ran(capsys, "train", "model", "--out", str(tmp_path / "m"))
    assert code == 1
    assert "no rollout can be used" in said["reason"]


def test_a_router_without_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["train", "router"]) == 2
    assert "logged no decisions" in capsys.readouterr().err


@pytest.mark.parametrize("policy", ["neural", "trees"])
def test_the_router_is_trained_and_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str], policy: str) -> None:
    import numpy as np

    store: Store = open_store(default_url())
    rng = np.random.default_rng(0)
    router = Router([Arm("a"), Arm("b")], "random", store=store, name="log")
    for _ in range(600):
        x = rng.choice([-0.5, 0.5], 4)
        decision = router.decide(features=x)
        good = (decision.arm == "a") == (x[0] * x[1] > 0)
        router.learn(decision.id, Outcome(quality=float(rng.random() < (0.9 if good else 0.1))))
    store.flush()
    code, said = ran(capsys, "train", "router", "--router", "log", "--policy", policy, "--dry-run")
    assert (code, said["decisions"], said["usable"]) == (0, 300, 300)
    code, said = ran(capsys, "train", "router", "--router", "log", "--policy", policy, "--out", str(tmp_path))
    assert code == (0 if said["verdict"]["passed"] else 1)
    assert said["trained"]["squared_error"] < said["trained"]["squared_error_of_means"]
    assert Path(said["trained"]["path"]).parent == tmp_path
    assert said["trained"]["policy"] == policy


def test_tiers_without_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["train", "tiers"]) == 2
    assert "too few" in capsys.readouterr().err
    code, said = ran(capsys, "train", "tiers", "--dry-run")
    assert (code, said["questions"]) == (0, 0)


@pytest.mark.slow
@pytest.mark.model
def test_the_loop_from_an_empty_store_ends_for_a_stated_reason(
    tmp_path: Path, tasks: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.toml").write_text('[planner]\nmode = "rules"\n[run]\nmax_turns = 1\nmax_replans = 0\n')
    monkeypatch.setenv("POINTWORK_CONFIG", str(tmp_path / "p.toml"))
    folder = tmp_path / "loop"
    small = ("--trials", "9", "--most", "3", "--steps", "2", "--groups", "3", "--rank", "4", "--tokens", "4000")
    code, said = ran(capsys, "train", "loop", "--tasks", str(tasks), *small, "--out", str(folder))
    assert code == (0 if said["promoted"] else 1)
    assert said["reason"]
    assert said["collected"]["runs"] > 0
    report = json.loads((folder / "report.json").read_text())
    assert report["reason"] == said["reason"]
    # one held-out task proves nothing: whatever came of the training, the base model goes on
    assert not said["promoted"]
    assert said["live"] is None
