"""``pointwork models``: versions listed, servers started, adapters published, checked and rolled back."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from stands import FakeVllm, move, tiny_probes

from pointwork.cli import output
from pointwork.cli.app import run_app
from pointwork.models import requantizing, weights
from pointwork.models.adapters import packaged
from pointwork.settings import ModelSettings, Settings
from pointwork.store import Store
from pointwork.store.tables import ledger
from pointwork.training import origins, publishing
from pointwork.training.publication import opening
from pointwork.training.publication.scoring import TorchScorer
from pointwork.training.samples import Group, Rollout, Turn

Adapters = Callable[..., Path]


class Said:
    """What a command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Runs a command line in this process, in a folder of its own."""
    monkeypatch.setattr(output.out, "_file", None)
    monkeypatch.setattr(output.err, "_file", None)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Said:
        code = run_app(["models", *arguments])
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return call


@pytest.fixture
def on_vllm(server: FakeVllm, scorer: TorchScorer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeVllm:
    """A configuration whose planner is served by the stand."""
    (tmp_path / "pointwork.toml").write_text(f'[models.planner]\nmodel = "{server.url}#tiny"\n')
    monkeypatch.setattr(opening, "TorchScorer", lambda _: scorer)  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    monkeypatch.setattr(opening, "default_probes", lambda _: tiny_probes())  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    return server


def test_publish_list_check_roll_back(cli: Any, on_vllm: FakeVllm, adapters: Adapters, tmp_path: Path) -> None:
    base = str(tmp_path)
    one = cli("publish", str(adapters((0.04, 1))), "--role", "planner", "--base", base, "--json")
    assert one.code == 0
    version = one.json["version"]
    two = cli("publish", str(adapters((0.04, 1), (0.02, 2))), "--role", "planner", "--base", base)
    assert two.code == 0
    assert "is live" in two.out
    rows = cli("list", "--json").json
    (planner,) = [row for row in rows if row["role"] == "planner"]
    assert [row["state"] for row in planner["versions"]] == ["live", "retired"]
    assert planner["versions"][0]["parent"] == version
    assert planner["serving"] == planner["versions"][0]["version"]
    others = {row["role"]: row["serving"] for row in rows if row["role"] != "planner"}
    shipped = {role: None if (own := packaged(role)) is None else own.version for role in others}
    assert others == shipped  # what is published for one role serves no other
    assert version in cli("list").out
    on_vllm.restart()
    forgot = cli("check", "planner", "--base", base)
    assert forgot.code == 1
    assert "forgotten its adapters" in forgot.err
    assert cli("check", "planner", "--base", base, "--repair", "--json").code == 0
    assert cli("rollback", "planner", "--base", base, "--json").json["version"] == version
    assert cli("rollback", "planner", "--unproved", "--json").json["version"] is None
    assert cli("rollback", "planner", "--unproved").code == 2


def test_a_version_that_the_role_was_moved_away_from(
    cli: Any, on_vllm: FakeVllm, adapters: Adapters, tmp_path: Path
) -> None:
    """It was listed as live, and nothing said that it does not serve."""
    assert cli("publish", str(adapters((0.04, 1))), "--role", "planner", "--base", str(tmp_path)).code == 0
    note = f"(for {on_vllm.url}; serves nothing now)"
    assert note not in cli("list").out
    (tmp_path / "pointwork.toml").write_text("")
    assert note in cli("list").out


def test_a_fault_is_loud_and_changes_nothing(
    cli: Any, on_vllm: FakeVllm, adapters: Adapters, tmp_path: Path
) -> None:
    on_vllm.fault = "ignored"
    said = cli("publish", str(adapters((0.04, 1))), "--role", "planner", "--base", str(tmp_path))
    assert said.code == 1
    assert "base model" in said.err
    (planner,) = [row for row in cli("list", "--json").json if row["role"] == "planner"]
    assert planner["serving"] is None
    assert planner["versions"][0]["state"] == "candidate"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("publish", ".", "--role", "nobody"), "no role 'nobody'"),
        (("publish", "gone", "--role", "planner"), "does not exist"),
        (("serve", "nothing"), "can not be served"),
        (("serve", "local:", "--host", "0.0.0.0", "--dry-run"), "--api-key-env"),
        (("serve", "local:", "--api-key-env", "NOT_SET", "--dry-run"), "NOT_SET"),
    ],
)
def test_wrong_use(cli: Any, arguments: tuple[str, ...], message: str) -> None:
    said = cli(*arguments)
    assert said.code == 2
    assert message in " ".join(said.err.split())


def test_hosted_models_take_no_adapters(cli: Any, adapters: Adapters, tmp_path: Path) -> None:
    (tmp_path / "pointwork.toml").write_text('[models.planner]\nmodel = "openai/gpt-5-mini"\n')
    said = cli("publish", str(adapters((0.04, 1))), "--role", "planner")
    assert said.code == 2
    assert "only local models and vLLM servers" in " ".join(said.err.split())


@pytest.mark.parametrize(
    ("spec", "file"),
    [
        ("local:", weights.SMOLLM2_135M),
        ("local:small", weights.SMOLLM2_135M),
        ("local:SmolLM2-135M-Instruct", weights.SMOLLM2_135M),
        ("local:large", weights.QWEN_CODER_1_5B),
        ("local:Qwen2.5-Coder-1.5B-Instruct", weights.QWEN_CODER_1_5B),
    ],
)
def test_a_role_is_trained_and_proved_over_its_own_weights(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, file: weights.ModelFile
) -> None:
    asked: list[str] = []

    def directory(source: str | Path) -> Path:
        asked.append(str(source))
        return tmp_path

    for module in (opening, publishing):
        monkeypatch.setattr(module, "directory_of", directory)
        monkeypatch.setattr(module, "default_probes", lambda _: tiny_probes())  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    settings = Settings(models={"planner": ModelSettings(model=spec)})
    base = origins.base_of(settings, "planner")
    turn = Turn("planner", (1, 2), (3, 4, 5, 6))
    groups = [Group("t", (Rollout("t", (turn,), 1.0, True),))]
    for publisher in (
        opening.publisher_for(store, settings, "planner", folder=tmp_path),
        publishing.Publishing(settings, "planner", base, tmp_path)(store, groups),
    ):
        assert publisher.target.base == file.name
    wanted = "embedded" if file is weights.SMOLLM2_135M else str(weights.path_of(file))
    assert asked == [wanted, wanted]


def test_dry_run_of_both_back_ends(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = tmp_path / "as it is loaded.gguf"
    monkeypatch.setattr(requantizing, "at_hand", {weights.SMOLLM2_135M: loaded}.__getitem__)
    llama = cli("serve", "local:", "--dry-run", "--json").json
    assert str(loaded) in llama["argv"]
    assert llama["argv"][1:3] == ["-m", "pointwork.models.serving"]
    assert "127.0.0.1" in llama["argv"]
    (tmp_path / "hf").mkdir()
    vllm = cli("serve", "hf", "--dry-run", "--rank", "8", "--arg=--enforce-eager", "--json").json
    assert vllm["env"]["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "True"
    assert {"--enable-lora", "--enforce-eager"} <= set(vllm["argv"])
    assert vllm["argv"][vllm["argv"].index("--max-lora-rank") + 1] == "8"
    assert vllm["url"] == "http://127.0.0.1:8000/v1"
    text = cli("serve", "hf", "--dry-run").out
    assert text.startswith("VLLM_ALLOW_RUNTIME_LORA_UPDATING=True ")


def test_a_restarted_vllm_has_what_is_live_from_the_start(
    cli: Any, on_vllm: FakeVllm, adapters: Adapters, tmp_path: Path
) -> None:
    cli("publish", str(adapters((0.04, 1))), "--role", "planner", "--base", str(tmp_path))
    said = cli("serve", "planner", "--base", str(tmp_path), "--dry-run", "--json").json
    loaded = said["argv"][said["argv"].index("--lora-modules") + 1]
    (planner,) = [row for row in cli("list", "--json").json if row["role"] == "planner"]
    assert loaded == f"{planner['serving']}={planner['versions'][0]['path']}"
    assert said["url"] == on_vllm.url


def test_llama_serves_until_ctrl_c(tiny_files: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    command = [sys.executable, "-m", "pointwork", "models", "serve", str(tiny_files[0])]
    process = subprocess.Popen(
        [*command, "--port", "0", "--context", "256", "--json"],
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        lines: list[bytes] = []
        for line in process.stdout:
            lines.append(line)
            if line == b"}\n":
                break
        said = json.loads(b"".join(lines))
        request = urllib.request.Request(
            f"{said['url']}/models", headers={"Authorization": f"Bearer {said['api_key']}"}
        )
        with urllib.request.urlopen(request) as response:
            assert json.load(response)["data"]
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=60) == 130
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.slow
@pytest.mark.model
def test_the_next_runs_ledger_has_the_new_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way on the embedded model: an adapter, ``models publish``, ``run``, and who answered."""
    from pointwork.training.lora import Lora
    from pointwork.training.model import LocalModel

    weights.ensure()
    model = LocalModel.load("embedded", lora=Lora(rank=4, alpha=8))
    move(model, 0.02, 1)
    model.save(tmp_path / "adapter")
    config = '[run]\nreadings = "never"\n[planner]\nmode = "model"\n'
    (tmp_path / "pointwork.toml").write_text(config)

    def ran(*arguments: str) -> Any:
        command = [sys.executable, "-m", "pointwork", *arguments, "--json"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def versions(run: str) -> set[tuple[str, str]]:
        with_model = ledger.c.model.is_not(None)
        rows = store.rows(select(ledger).where(ledger.c.run_id == run, ledger.c.kind == "settle", with_model))
        return {(row["by"], row["model_version"]) for row in rows}

    store = Store(f"sqlite:///{tmp_path / 'default.db'}")
    task = "Say hello, then say goodbye to the sea."
    assert ("planner", "") in versions(ran("run", task)["run_id"])
    published = ran("models", "publish", str(tmp_path / "adapter"), "--role", "planner")
    assert published["verdicts"][0]["answer"] == "delivered"
    after = versions(ran("run", task)["run_id"])
    assert {version for by, version in after if by == "planner"} == {published["version"]}
    assert {version for by, version in after if by != "planner"} <= {""}
    store.close()
