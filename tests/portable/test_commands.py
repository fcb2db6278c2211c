"""``runs export | import | stats`` and ``router export | import``."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pointwork.cli import output
from pointwork.cli.app import run_app
from pointwork.store import Store, tables

RUN = {"task": "t", "status": "ok", "package_version": "0"}
CHAT = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}], "reward": 1}


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Any:
    """Runs a command line in this process: exit code, standard output, standard error."""
    monkeypatch.setattr(output.out, "_file", None)
    monkeypatch.setattr(output.err, "_file", None)

    def run(*arguments: str) -> tuple[int, str, str]:
        capfdbinary.readouterr()
        code = run_app(list(arguments))
        sys.stdout.flush()
        said = capfdbinary.readouterr()
        return code, said.out.decode(), said.err.decode()

    return run


@pytest.fixture
def runs() -> None:
    """Three runs in the default store."""
    store = Store(os.environ["POINTWORK_STORE"])
    for i, created in enumerate((1.0, 1769817600.0, 1769817660.0)):  # the last two: 2026-01-31T00:00Z, 00:01Z
        store.append(tables.runs, {**RUN, "id": f"r{i}", "created": created, "thread": f"t{i % 2}"})
    store.close()


@pytest.mark.usefixtures("runs")
def test_runs_go_out_and_in(command: Any, tmp_path: Path) -> None:
    file = str(tmp_path / "runs.jsonl")
    assert command("runs", "export", "--all", "-o", file)[:2] == (0, f"3 runs in {file}\n")
    code, lines, _ = command("runs", "export", "r0", "r2")
    assert (code, [json.loads(line)["run"]["id"] for line in lines.splitlines()]) == (0, ["r0", "r2"])
    code, said, _ = command("runs", "import", file, "--json")
    assert (code, json.loads(said)["unchanged"], json.loads(said)["imported"]) == (0, 3, 0)
    assert json.loads(command("runs", "export", "--all", "-o", file, "--json")[1]) == {"exported": 3, "file": file}


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (["--since", "2026-01-31"], ["r1", "r2"]),
        (["--since", "2026-01-31T00:01"], ["r2"]),
        (["--since", "2026-01-31T01:00:30+01:00"], ["r2"]),
        (["--since", "2026-01-01", "--thread", "t0"], ["r2"]),
        (["--thread", "t0"], ["r0", "r2"]),
        (["--since", "1h"], []),
    ],
)
def test_runs_are_chosen(command: Any, options: list[str], ids: list[str]) -> None:
    code, lines, _ = command("runs", "export", *options)
    assert (code, [json.loads(line)["run"]["id"] for line in lines.splitlines()]) == (0, ids)


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["export"], "say which runs"),
        (["export", "r0", "--all"], "say which runs"),
        (["export", "--all", "--thread", "t"], "say which runs"),
        (["export", "nobody"], "no run 'nobody'"),
        (["export", "r"], "several runs"),
        (["export", "--since", "yesterday"], "--since 'yesterday' is neither a date"),
        (["export", "--all", "-o", "/"], "is a folder"),
        (["import", "/"], "is a folder"),
        (["import", "/nowhere/runs.jsonl"], "there is no file"),
        (["import", "x", "--format", "csv"], "unknown format 'csv'"),
    ],
)
def test_wrong_use_ends_with_code_2(command: Any, arguments: list[str], why: str) -> None:
    code, out, err = command("runs", *arguments)
    assert (code, out) == (2, "")
    assert why in err


def test_broken_lines_are_told(command: Any, tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps(CHAT) + "\n{}\n" + json.dumps(CHAT) + "\n")
    code, _, err = command("runs", "import", str(file), "--format", "openai-chat")
    assert (code, "line 2: messages is missing" in err) == (2, True)
    code, out, err = command("runs", "import", str(file), "--format", "openai-chat", "--skip-broken")
    assert code == 0
    assert "1 run imported, 1 there already, 1 broken and left out" in out
    assert "line 2: messages is missing" in err
    code, out, _ = command("runs", "stats", "--json")
    assert json.loads(out)[0]["pass_hat"] == {"1": 1.0, "2": 1.0}
    assert "chats" in command("runs", "stats")[1]


def test_routing_logs_go_out_and_in(command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = b'{"prompt": "a", "choice": "x", "propensity": 0.5, "outcome": 1}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line)))
    assert command("router", "import", "-", "--router", "acme")[:2] == (0, "1 decision imported\n")
    file = str(tmp_path / "d.jsonl")
    assert command("router", "export", "-o", file)[:2] == (0, f"1 decisions in {file}\n")
    exported = command("router", "export", "--router", "import:acme")[1]
    assert exported.encode() == Path(file).read_bytes()
    assert json.loads(command("router", "import", file, "--json")[1])["unchanged"] == 1


@pytest.mark.parametrize(
    "path", [["runs", "export"], ["runs", "import"], ["runs", "stats"], ["router", "export"], ["router", "import"]]
)
def test_help_shows_an_example(command: Any, path: list[str]) -> None:
    code, out, _ = command(*path, "--help")
    assert code == 0
    assert "Example" in out
    assert "--json" in out


@pytest.mark.usefixtures("runs")
def test_a_reader_that_has_enough_ends_the_export_without_a_word() -> None:
    code = "from pointwork.cli import main; main()"
    export = subprocess.Popen(
        [sys.executable, "-c", code, "runs", "export", "--all"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert export.stdout
    assert export.stderr
    export.stdout.close()
    assert export.stderr.read() == b""
    export.stderr.close()
    assert export.wait() == 0
