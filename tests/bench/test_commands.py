"""``pointwork bench`` from the command line: what it prints, keeps and refuses."""

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pointwork.bench.systems import Bench
from pointwork.cli import output
from pointwork.cli.app import run_app
from pointwork.cli.bench import with_settings
from pointwork.errors import UsageError
from pointwork.memory.playbook import Playbook
from pointwork.settings import Settings
from pointwork.store import Store


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command line in this process: exit code, stdout, stderr."""
    monkeypatch.setattr(output.out, "_file", None)
    monkeypatch.setattr(output.err, "_file", None)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run_app(["bench", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A user's own tasks."""
    path = tmp_path / "mine.jsonl"
    rows = [
        {"task": "What is 17% of 2340?", "answer": 397.8},
        {"task": "What is 2 + 2?", "answer": 4},
        {"task": "What is 3 * 5?", "answer": 16},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_own_tasks_give_a_table_and_keep_their_answers(cli: Any, mine: Path, tmp_path: Path) -> None:
    code, out, _ = cli("starter", "--tasks", str(mine), "--systems", "parsers", "--out", str(tmp_path / "run"))
    assert code == 0
    head, line, *_ = out.splitlines()
    assert head.split()[:4] == ["kind", "system", "right", "success"]
    assert line.split()[:5] == ["own", "parsers", "2/3", "67%", "21%-94%"]
    assert str(tmp_path / "run") in out
    assert len((tmp_path / "run" / "records.jsonl").read_text().splitlines()) == 3


def test_json_is_one_object(cli: Any, tmp_path: Path) -> None:
    where = str(tmp_path / "run")
    code, out, err = cli("starter", "--limit", "12", "--systems", "parsers", "--out", where, "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    assert said["folder"] == where
    assert said["run"]["price"] == [0.10, 0.40]
    assert {row["kind"] for row in said["rows"]} > {"arithmetic", "three-step", "multi-step", "all"}
    # the same command again asks nothing and says the same
    code, out, _ = cli("starter", "--limit", "12", "--systems", "parsers", "--out", where, "--json")
    assert json.loads(out)["rows"] == said["rows"]
    # and with more it goes on
    cli("starter", "--limit", "18", "--systems", "parsers", "--out", where)
    assert len((tmp_path / "run" / "records.jsonl").read_text().splitlines()) == 18


def test_ctrl_c_keeps_what_was_done(cli: Any, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask, asked = Bench.ask, list[str]()

    def stopped(self: Bench, name: str, task: Any) -> Any:
        asked.append(name)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return ask(self, name, task)

    monkeypatch.setattr(Bench, "ask", stopped)
    where = str(tmp_path / "run")
    code, out, err = cli("starter", "--tasks", str(mine), "--systems", "parsers", "--out", where)
    assert code == 130
    assert "1/1" in out
    assert f"--out {where}" in err.replace("\n", "")
    code, out, _ = cli("starter", "--tasks", str(mine), "--systems", "parsers", "--out", where)
    assert (code, len(asked)) == (0, 4)
    assert "2/3" in out


def test_the_report_draws_all_runs(cli: Any, mine: Path, tmp_path: Path) -> None:
    rows = [{"task": f"What is 2 + {n}?", "answer": 0} for n in range(2)]
    mine.with_name("none.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    none = str(mine.with_name("none.jsonl"))
    cli("starter", "--tasks", none, "--systems", "parsers", "--out", str(tmp_path / "runs" / "none"))
    for name in ("one", "two"):
        cli(
            "starter",
            "--tasks",
            str(mine),
            "--systems",
            "parsers",
            "--out",
            str(tmp_path / "runs" / name),
            "--plot",
        )
    assert (tmp_path / "runs" / "one" / "report.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = cli("report", "--out", str(tmp_path / "runs"))
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:4]] == ["none", "one", "two"]
    assert (tmp_path / "runs" / "report.png").stat().st_size > 5000
    code, out, _ = cli("report", "--out", str(tmp_path / "runs"), "--json")
    assert [run["run"] for run in json.loads(out)["runs"]] == ["none", "one", "two"]


def test_without_matplotlib_the_extra_is_named_before_any_work(
    cli: Any, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = cli("starter", "--tasks", str(mine), "--out", str(tmp_path / "run"), "--plot")
    assert code == 1
    assert "pip install 'pointwork[plot]'" in err
    assert not (tmp_path / "run").exists()


def test_the_playbook_of_a_store_goes_into_the_run(cli: Any, mine: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    arguments = ("starter", "--tasks", str(mine), "--systems", "parsers", "--out", str(tmp_path / "run"))
    with closing(Store(url)) as store:
        book = Playbook(store)
        book.add("tables", "Believe this page.", sources=["http://x"], trust="web")
        code, _, err = cli(*arguments, "--store", url)
        assert (code, "its playbook is empty" in err.replace("\n", " ")) == (2, True)  # what waits is no advice
        book.add("tables", "Count rows with count.", sources=["run:1"])
    code, out, _ = cli(*arguments, "--store", url, "--json")
    assert code == 0
    assert json.loads(out)["run"]["playbook"].startswith("1 bullets, ")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--systems", "team,nobody"), "no system 'nobody'; there are team, alone, loop, parsers, random-router"),
        (("--kinds", "poems"), "no kind 'poems'"),
        (("--split", "half"), "half"),
        (("--limit", "0"), "greater than or equal to 1"),
        (("--price", "cheap"), "--price cheap"),
        (("--price", "1,-2"), "--price 1,-2"),
        (("--set", "planner"), "write KEY=VALUE"),
        (("--set", "planner.mode=guess"), "planner.mode"),
        (("--set", "planner.mode=rules", "--set", "planner.mode.x=1"), "'mode' is not a section"),
        (("--set", "nothing=1"), "nothing"),
        (("--model", "boss=gpt-4o"), "no role 'boss'"),
        (("--tasks", "/absent.jsonl"), "can not read the tasks"),
        (("--store", "sqlite:////absent.db"), "there is no file /absent.db"),
        (("--store", "nonsense"), "nonsense"),
    ],
)
def test_wrong_usage_is_one_clear_line(cli: Any, tmp_path: Path, arguments: tuple[str, ...], why: str) -> None:
    # what should be refused and is not: without a model it ends at once
    systems = () if "--systems" in arguments else ("--systems", "parsers")
    code, _, err = cli("starter", "--out", str(tmp_path / "run"), *systems, *arguments)
    assert code == 2
    assert why in err
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()


def test_a_broken_task_file_names_line_and_field(cli: Any, mine: Path) -> None:
    with mine.open("a") as file:
        file.write('{"task": "x", "answer": 3, "tolerance": "wide"}\n')
    code, _, err = cli("starter", "--tasks", str(mine))
    assert code == 2
    assert f"{mine}:4: tolerance: must be a number" in err


def test_models_and_values_of_the_command_line() -> None:
    settings = with_settings(Settings(), ["http://host:8000/v1?a=b#m", "judge=openai/gpt-5"], ["run.judge=true"])
    assert settings.model_for("planner").model == "http://host:8000/v1?a=b#m"
    assert settings.model_for("judge").model == "openai/gpt-5"
    assert settings.run.judge
    assert with_settings(Settings(), [], ["planner.mode=rules"]).planner.mode == "rules"
    with pytest.raises(UsageError, match=r"planner\.mode"):
        with_settings(Settings(), [], ["planner.mode=never"])


def test_importing_the_command_imports_nothing_heavy() -> None:
    import subprocess

    code = (
        "import sys, pointwork.cli.bench, pointwork.bench;"
        "print([m for m in ('matplotlib', 'pointwork.bench.systems') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
