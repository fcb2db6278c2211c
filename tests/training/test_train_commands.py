"""``pointwork train`` on the command line: what it says, its exit codes, and the whole loop once for real."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from pointwork.cli.app import run_app
from pointwork.router import Arm, Outcome, Router
from pointwork.store import Store, default_url, open_store
from pointwork.store.tables import runs, steps
from pointwork.training import origins
from pointwork.training.data import mark
from pointwork.training.publication.versions import Versions

sys.path.append(str(Path(__file__).parent))
from test_data import World

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


def config(folder: Path, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    (folder / "p.toml").write_text(f'[models.worker-small]\nmodel = "{model}"\n')
    monkeypatch.setenv("POINTWORK_CONFIG", str(folder / "p.toml"))


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


def test_what_a_model_wrote_that_the_role_has_no_longer_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An API's tokens were trained as the embedded model's own."""
    store = open_store(default_url())
    for name, right in (("gpt-4o-mini", True), ("SmolLM2-135M-Instruct", False)):
        world = World(store)
        world.model.name = name
        mark(store, world.run("t"), "t", checked=right)
    for command in (("train", "data"), ("train", "model", "--dry-run")):
        code, said = ran(capsys, *command)
        report = said.get("data", said)
        assert (code, report["rollouts"], report["turns"]) == (0, 1, {"worker-small": 1})
        assert report["dropped_turns"] == {"of another model (gpt-4o-mini)": 1}
    config(tmp_path, monkeypatch, "gpt-4o-mini")
    assert ran(capsys, "train", "data")[1]["dropped_turns"] == {"of another model (SmolLM2-135M-Instruct)": 1}


def test_a_server_must_say_which_model_it_is(
    tmp_path: Path,
    tiny_folder: Path,
    tasks: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config(tmp_path, monkeypatch, "http://127.0.0.1:9/v1")
    model = ("train", "model", "--base", str(tiny_folder), "--dry-run")
    assert run_app(list(model)) == 2
    assert "(http://127.0.0.1:9/v1#NAME)" in capsys.readouterr().err
    assert run_app([*model, "--tasks", str(tasks)]) == 0  # what it tries now is its own


def test_a_role_without_turns_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """A role that there is not, or that never wrote anything, looked like a store with nothing to train on."""
    assert run_app(["train", "data", "--role", "typo"]) == 2
    assert (
        "no role 'typo'; there are planner, worker-small, worker-large, reader, querier, "
        in capsys.readouterr().err
    )
    store = open_store(default_url())
    mark(store, World(store).run("t"), "t", checked=True)
    for command in (
        ["data", "--role", "worker-small", "--role", "planner"],
        ["model", "--role", "planner", "--dry-run"],
    ):
        assert run_app(["train", *command]) == 0
        assert "planner wrote nothing that is in the store; roles with answers: worker-small (1)" in " ".join(
            capsys.readouterr().err.split()
        )
    assert run_app(["train", "data", "--role", "worker-small"]) == 0
    assert not capsys.readouterr().err
    imported = {"run_id": mine(store), "kind": "model", "role": None, "started": 1.0}
    store.append(steps, {**imported, "input": {"messages": []}, "output": {"text": "x", "finish": "stop"}})
    store.flush()
    assert run_app(["train", "data", "--role", "guest", "--imported-as", "guest"]) == 0
    assert not capsys.readouterr().err
    assert run_app(["train", "data", "--role", "planner"]) == 0
    assert "imported ones, which know none (1)" in " ".join(capsys.readouterr().err.split())


def test_a_dry_run_says_what_the_data_would_come_to(capsys: pytest.CaptureFixture[str]) -> None:
    """Turns that training reads with its tokenizer were shown as lost, and data that teach nothing as any other."""
    store = open_store(default_url())
    seen: list[str] = []
    for tokens, right in ((True, True), (True, True), (True, False), (False, True)):
        world = World(store, keep_tokens=tokens)
        world.model.name = "SmolLM2-135M-Instruct"
        mark(store, world.run("t"), "t", checked=right)
        assert run_app(["train", "model", "--dry-run"]) == 0
        seen.append(" ".join(capsys.readouterr().err.split()))
    assert (
        seen[0]
        == seen[1]
        == "as it is, there would be nothing to learn from: no task has trials that 'group' can tell apart"
    )
    assert seen[2] == ""
    assert seen[3].startswith("1 turns without token ids are not counted: training reads them")


def mine(store: Store) -> str:
    return str(store.rows(select(runs.c.id))[0]["id"])


def test_it_is_said_that_training_starts_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = Versions(open_store(default_url()))
    more: dict[str, Any] = {"folder": tmp_path, "sha256": "", "metrics": {}}
    for base, parent in (("SmolLM2-135M-Instruct", "mine"), ("/old.gguf", None)):
        row = kept.add("planner", parent or "old", base=base, parent=None, **more)
        kept.switch("planner", row["id"], expected=(kept.live("planner") or {"id": None})["id"], metrics={})
        assert run_app(["train", "model", "--role", "planner", "--dry-run", "--json"]) == 0
        said = capsys.readouterr()
        assert json.loads(said.out)["goes_on_from"] == parent
        assert ("starts anew" in said.err) == (parent is None)


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
    shown = capsys.readouterr()
    assert "nothing was done" in shown.out
    assert "1 held-out tasks are too few to prove a gain (20 are needed)" in " ".join(shown.err.split())


def test_a_dry_run_says_what_is_missing(
    tmp_path: Path, tasks: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ended well over weights that are not there, and before it had said anything without torch."""
    folder = tmp_path / "hf"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_text("")
    config(tmp_path, monkeypatch, "http://127.0.0.1:9/v1#m")
    for base, why in (
        ([], "give the weights behind it with --base DIR"),
        (["--base", str(tmp_path / "gone")], "no model at"),
        (["--base", str(tasks)], "no model at"),
        (["--base", str(folder)], "it has no tokenizer"),
    ):
        for command in (["model"], ["loop", "--tasks", str(tasks)]):
            assert run_app(["train", *command, *base, "--out", str(tmp_path / "out"), "--json", "--dry-run"]) == 2
            said = capsys.readouterr()
            assert json.loads(said.out)["steps"] == 8
            assert why in json.loads(said.out)["missing"][0]
            assert f"training can not begin: {json.loads(said.out)['missing'][0]}" in " ".join(said.err.split())
            assert run_app(["train", *command, *base, "--out", str(tmp_path / "out")]) == 2
            assert why in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()
    (folder / "tokenizer.json").write_text("{}")
    assert run_app(["train", "model", "--base", str(folder), "--dry-run"]) == 0
    monkeypatch.setattr(origins, "available", lambda name: name not in ("torch", "peft"))  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    assert run_app(["train", "model", "--base", str(folder), "--dry-run"]) == 2
    assert "not installed: torch, peft (pip install 'pointwork[train]')" in " ".join(
        capsys.readouterr().err.split()
    )


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
    # with weights of one's own it was: on the hosted model's answers, as if these had written them
    assert run_app(["train", "model", "--dry-run", "--base", str(tmp_path)]) == 2
    assert "can not be trained" in " ".join(capsys.readouterr().err.split())


def test_a_store_without_runs_teaches_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = ran(capsys, "train", "model", "--out", str(tmp_path / "m"))
    assert code == 1
    assert "no rollout can be used" in said["reason"]
    assert run_app(["train", "model", "--out", str(tmp_path / "m")]) == 1
    shown = capsys.readouterr().out  # nothing had gone live that could have been rolled back
    assert "not trained: no rollout can be used" in shown
    assert "rolled back" not in shown


@pytest.mark.parametrize("dry", [["--dry-run"], []])
def test_what_no_loop_can_end_well_with_is_said_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], dry: list[str]
) -> None:
    file = tmp_path / "held.jsonl"
    file.write_text(json.dumps(TASKS[-1]) + "\n")
    for command in ("model", "loop"):
        assert run_app(["train", command, "--tasks", str(file), *dry]) == 2
        assert "all 1 tasks are held out: there are none to learn from" in capsys.readouterr().err
    (tmp_path / "p.toml").write_text("adapters = false\n")
    monkeypatch.setenv("POINTWORK_CONFIG", str(tmp_path / "p.toml"))
    assert run_app(["train", "loop", *dry]) == 2
    assert "adapters = false" in capsys.readouterr().err


def test_ctrl_c_ends_training_as_it_ends_all_else(
    tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While steps were made it was an error, exit code 1, before and after them exit code 130."""
    from pointwork.training import trainer

    def update(self: trainer.GRPOTrainer, batch: Any) -> dict[str, float]:
        os.kill(os.getpid(), signal.SIGINT)
        return {}

    monkeypatch.setattr(trainer.GRPOTrainer, "update", update)
    config(tmp_path, monkeypatch, "http://127.0.0.1:9/v1#words")
    world = World(open_store(default_url()))
    for right in (True, False):
        mark(world.store, world.run("t"), "t", checked=right)
    model = ["train", "model", "--base", str(tiny_folder), "--rank", "2", "--out", str(tmp_path / "m")]
    assert run_app(model) == 130
    said = capsys.readouterr()
    assert "interrupted after 1 steps" in said.err
    assert not said.out.strip()


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


@pytest.mark.parametrize("command", ["model", "loop"])
def test_a_role_that_there_is_not_is_wrong_usage(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """It was trained to its end, "rolled back: no …", exit code 1, and left a folder."""
    assert run_app(["train", command, "--role", "worker-smal", "--dry-run"]) == 2
    assert "no role 'worker-smal'; there are planner" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["model", "loop"])
@pytest.mark.parametrize("rate", ["nan", "0", "-1e-4", "inf"])
def test_a_rate_that_is_none_is_said_at_once(capsys: pytest.CaptureFixture[str], command: str, rate: str) -> None:
    assert run_app(["train", command, "--rate", rate, "--dry-run"]) == 2
    assert "learning rate must be a number above 0" in " ".join(capsys.readouterr().err.split())


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
