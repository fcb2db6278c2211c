"""The command line: what it prints, its exit codes, and how wrong input ends."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pointwork.agents import Team
from pointwork.cli import output
from pointwork.cli.app import run_app
from pointwork.models import ScriptedClient, Step


class Said:
    """What a command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        """The one JSON value on stdout."""
        return json.loads(self.out)


def _no_weights(file: object = None, *, quiet: bool = False) -> str:
    return ""


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command line in this process."""
    # rich's consoles hold the streams of their making
    monkeypatch.setattr(output.out, "_file", None)
    monkeypatch.setattr(output.err, "_file", None)

    def call(*arguments: str) -> Said:
        code = run_app(list(arguments))
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return call


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes every team of a command talk to a script instead of a model."""

    def use(*steps: Any) -> ScriptedClient:
        client = ScriptedClient(list(steps))
        plain = Team.default.__func__  # pyright: ignore[reportFunctionMemberAccess]

        def default(cls: type[Team], **options: Any) -> Team:
            return plain(cls, **options, models={"worker-small": client})

        monkeypatch.setattr(Team, "default", classmethod(default))
        monkeypatch.setattr("pointwork.cli.team.pull_weights", _no_weights)
        return client

    return use


def test_a_run_prints_plan_parts_answer_and_evidence(cli: Any, scripted: Any, tmp_path: Path) -> None:
    scripted()
    said = cli("run", "What is 17% of 2340?", "--root", str(tmp_path))
    assert said.code == 0
    assert "no planning needed" in said.out
    assert re.search(r"✓ s1 .* · scripted · .* memory mid .* \$0 .* s", said.out)
    assert "\n397.8\n" in said.out
    assert "tool:calculate" in said.out


def test_json_is_one_object_with_the_fields_of_the_result(cli: Any, scripted: Any, tmp_path: Path) -> None:
    scripted()
    said = cli("run", "What is 17% of 2340?", "--root", str(tmp_path), "--json")
    assert said.code == 0
    assert said.err == ""
    assert {"text", "status", "run_id", "cost", "plan", "decisions", "evidence"} <= said.json.keys()
    assert said.json["text"] == "397.8"


def test_runs_are_listed_shown_resumed_and_judged(cli: Any, scripted: Any, tmp_path: Path) -> None:
    scripted()
    first = cli("run", "What is 2 * 3?", "--root", str(tmp_path), "--json").json
    second = cli("run", "What is 2 * 4?", "--root", str(tmp_path), "--json").json
    listed = cli("runs", "list", "--json").json
    assert [row["run_id"] for row in listed] == [second["run_id"], first["run_id"]]
    assert {"run_id", "status", "task", "created", "cost"} <= listed[0].keys()
    assert len(cli("runs", "list", "--limit", "1", "--json").json) == 1
    assert "2 * 4" in cli("runs", "list").out
    shown = cli("runs", "show", first["run_id"])
    assert "calculate" in shown.out
    assert cli("runs", "show", first["run_id"], "--json").json["run"]["task"] == "What is 2 * 3?"
    assert cli("runs", "resume", first["run_id"], "--json").json == first
    judged = cli("feedback", first["run_id"], "1.0", "--json")
    assert judged.json["decisions"] == 1


def test_a_failed_task_is_exit_code_1(cli: Any, scripted: Any, tmp_path: Path) -> None:
    from pointwork.errors import ProviderError

    scripted(Step(ProviderError("the server is away"), times=None))
    said = cli("run", "Write a poem", "--root", str(tmp_path))
    assert said.code == 1
    assert "the server is away" in said.out


def test_an_ended_budget_is_exit_code_3(cli: Any, scripted: Any, tmp_path: Path) -> None:
    scripted()
    said = cli("run", "Write a poem", "--root", str(tmp_path), "--budget-tokens", "1", "--json")
    assert said.code == 3
    assert said.json["status"] == "budget_exhausted"
    assert said.json["missing"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("run", ""), "empty"),
        (("run", "x", "--root", "/absent"), "does not exist"),
        (("run", "x", "--budget-usd", "-1"), "not negative"),
        (("run", "x", "--budget-usd", "dear"), "valid number"),
        (("run",), "task"),
        (("fly",), "fly"),
        (("runs", "show", "none"), "no run 'none'"),
        (("runs", "resume", "none"), "no run 'none'"),
        (("feedback", "none", "1"), "no run 'none'"),
        (("memory", "read", "none"), "none"),
        (("memory", "add"), "either a text or --file"),
        (("memory", "add", "x", "--trust", "me"), "trust"),
        (("memory", "add", "--file", "/absent"), "can not read"),
        (("memory", "explain", "x", "--tier", "low", "--tier", "topic=mid"), "give it alone"),
        (("memory", "delete"), "give --id, or any of --source"),
        (("memory", "delete", "--id", "m1", "--speaker", "Ada"), "give --id, or any of --source"),
        (("--store", "nonsense", "runs", "list"), "nonsense"),
        (("--config", "/absent.toml", "agents"), "can not read the configuration"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_one_clear_line(
    cli: Any, arguments: tuple[str, ...], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pointwork.cli.team.pull_weights", _no_weights)
    said = cli(*arguments)
    assert said.code == 2
    assert why in said.err
    assert "Traceback" not in said.err


def test_a_bad_configuration_names_line_and_key(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "pointwork.toml"
    path.write_text("[run]\nmax_turns = 'many'\n")
    said = cli("--config", str(path), "agents")
    assert said.code == 2
    assert f"{path}:2: run.max_turns" in said.err


def test_the_store_of_the_command_line_goes_before_the_configuration_s(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pointwork.toml"
    path.write_text(f'store = "sqlite:///{tmp_path / "configured.db"}"\n')
    config = ("--config", str(path))
    said = ("--store", f"sqlite:///{tmp_path / 'said.db'}")
    cli(*config, "memory", "add", "The gate opens at seven.")
    assert cli(*config, *said, "memory", "list", "--json").json == []
    assert len(cli(*config, "memory", "list", "--json").json) == 1
    monkeypatch.setenv("POINTWORK_STORE", said[1])  # the configuration goes before this, as for a ``Team``
    assert len(cli(*config, "memory", "list", "--json").json) == 1


def test_memory_round_trip(cli: Any) -> None:
    item = cli("memory", "add", "The gate opens at seven.", "--source", "note", "--json").json["id"]
    found = cli("memory", "recall", "When does the gate open?", "--json").json
    assert found["items"][0]["id"] == item
    cli("memory", "add", "The heron eats fish at the gate.")
    texts = [
        cli("memory", "recall", "When does the gate open?", "--thrift", thrift, "--json").json["text"]
        for thrift in ("0", "1e9")
    ]
    assert [text.count("gate") for text in texts] == [2, 1]
    cli("memory", "delete", "--source", "cli", "--json")
    assert cli("memory", "read", item).out == "The gate opens at seven.\n"
    assert "gate" in cli("memory", "list").out
    assert cli("memory", "delete", "--source", "note", "--json").json == {"deleted": 1}
    assert cli("memory", "recall", "gate").out.startswith("nothing fits")


def test_memory_keeps_a_file_to_the_letter(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_bytes(b"\xef\xbb\xbfThe gate\r\nopens at\rseven.\n")
    item = cli("memory", "add", "--file", str(tmp_path / "note.txt"), "--json").json["id"]
    assert cli("memory", "read", item, "--json").json["text"] == "The gate\r\nopens at\rseven.\n"


def test_memory_ingests_all_files_or_none(cli: Any, tmp_path: Path) -> None:
    good, bad = str(tmp_path / "good.txt"), str(tmp_path / "bad.txt")
    Path(good).write_text("The gate opens at seven.")
    Path(bad).write_bytes(b"\xff")
    assert cli("memory", "ingest", good, bad).code == 2
    assert cli("memory", "list", "--json").json == []
    Path(bad).write_text("The kiosk sells tea.")
    ids = cli("memory", "ingest", good, bad, good, "--json").json["ids"]
    assert [cli("memory", "read", ids[name][0]).out for name in (good, bad)] == [
        "The gate opens at seven.\n",
        "The kiosk sells tea.\n",
    ]
    assert len(cli("memory", "list", "--json").json) == 2


def test_memory_says_what_of_a_file_is_there_already(cli: Any, tmp_path: Path) -> None:
    """The same file again was kept twice, without a word."""
    path = tmp_path / "guide.md"
    path.write_text("# Harbour\nOpen from 7.\n# Staff\nAda.\n")
    name = str(path)
    assert cli("memory", "ingest", name).out == f"{name}: 2 items\n"
    assert cli("memory", "ingest", name).out == f"{name}: there already, unchanged (2 items)\n"
    path.write_text("# Harbour\nOpen from 8.\n# Staff\nAda.\n")
    said = cli("memory", "ingest", name).out
    assert said.startswith(f"{name}: 1 item, 1 there already, 1 of before is kept too (--replace")
    path.write_text("# Harbour\nOpen from 9.\n# Staff\nAda.\n")
    done = cli("memory", "ingest", name, "--replace", "--json").json
    assert (len(done["ids"][name]), len(done["new"]), done["forgotten"]) == (2, 1, 2)
    texts = [row["text"] for row in cli("memory", "list", "--json").json]
    assert texts == ["# Harbour\nOpen from 9.\n", "# Staff\nAda.\n"]


def test_memory_of_files_and_speakers(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("Preface.\n# Harbour\nOpen from 7.\n# Staff\nAda.\n")
    (tmp_path / "chat.jsonl").write_text(
        '{"speaker": "Ada", "content": "hello"}\n{"speaker": "Bo", "content": "ho"}'
    )
    guide, chat = str(tmp_path / "guide.md"), str(tmp_path / "chat.jsonl")
    assert len(cli("memory", "ingest", guide, "--json").json["ids"][guide]) == 3
    cli("memory", "ingest", chat)
    assert [row["text"] for row in cli("memory", "list", "--limit", "2", "--json").json] == ["ho", "hello"]
    assert len(cli("memory", "list", "--json").json) == 5
    assert cli("memory", "delete", "--source", guide, "--json").json == {"deleted": 3}
    assert cli("memory", "delete", "--speaker", "Ada", "--json").json == {"deleted": 1}
    assert cli("memory", "delete", "--thread", chat, "--json").json == {"deleted": 1}
    assert cli("memory", "list", "--json").json == []


def test_agents_tools_models_and_router_are_shown(cli: Any) -> None:
    names = {row["name"] for row in cli("agents", "--json").json}
    assert names >= {"calculator", "tables", "files", "recall", "writer"}
    for row in cli("agents", "--json").json:
        capability = next(iter(row["capabilities"]))
        if capability == "*":
            continue
        arms = [arm for other in cli("agents", "--json").json for arm in other["arms"]
                if {capability, "*"} & other["capabilities"].keys()]  # fmt: skip
        assert len(arms) >= 3, f"{capability} leaves nothing to choose"
    assert "calculate" in cli("tools").out
    assert {row["name"] for row in cli("tools", "--json").json} >= {"calculate", "query_table", "read_file"}
    assert {row["role"] for row in cli("models", "list", "--json").json} == {
        "planner",
        "worker-small",
        "worker-large",
        "reader",
        "querier",
        "decomposer",
        "reckoner",
        "judge",
        "memory",
    }
    shown = cli("router", "show", "2 + 2", "--json").json
    assert sum(row["propensity"] for row in shown["arms"]) == pytest.approx(1)


def test_doctor_says_what_is_wrong_and_how_to_mend_it(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pointwork.toml").write_text('[models.worker-small]\nmodel = "http://127.0.0.1:9/v1"\n')
    said = cli("doctor", "--json")
    assert said.code == 1
    wrong = [row for row in said.json if row["state"] == "error"]
    assert "does not answer" in wrong[0]["what"]
    assert "start the server" in wrong[0]["mend"]
    (tmp_path / "pointwork.toml").write_text("")
    assert "embedded" in cli("doctor").out or "SmolLM2" in cli("doctor").out


def test_every_command_has_help_with_an_example_and_nothing_in_it_is_taken_for_markup() -> None:
    import click
    import typer

    from pointwork.cli.app import app

    def wrong(command: Any) -> bool:
        texts = [command.help or "", command.epilog or "", *(getattr(p, "help", "") or "" for p in command.params)]
        tags = {tag for text in texts for tag in re.findall(r"(?<!\\)\[(/?[a-z][^\]]*)\]", text)}
        return not command.help or "pointwork" not in (command.epilog or "") or bool(tags - {"bold", "/bold"})

    def walk(command: Any, path: str) -> list[str]:
        if isinstance(command, click.Group) or hasattr(command, "commands"):
            return [line for name, sub in command.commands.items() for line in walk(sub, f"{path} {name}")]
        return [path] if wrong(command) else []

    assert walk(typer.main.get_command(app), "pointwork") == []


def test_a_section_of_the_configuration_is_named_where_nothing_is_listed(cli: Any) -> None:
    assert "make = true under [tools]" in cli("tools", "made").out


def test_no_model_server_is_a_clear_end(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('[models.worker-small]\nmodel = "http://127.0.0.1:9/v1#m"\nattempts = 1\n')
    said = cli("--config", str(tmp_path / "p.toml"), "run", "Write a poem", "--root", str(tmp_path))
    assert said.code == 1
    assert "127.0.0.1:9" in said.out
    assert cli("runs", "list", "--json").json[0]["status"] == "failed"


def test_what_a_terminal_can_not_show_is_escaped(tmp_path: Path) -> None:
    """Half a character that a model said, or a check mark where the terminal has none, ended commands for good."""
    url = f"sqlite:///{tmp_path / 'x.db'}"
    said = "Half \ud83d of \U0001f600, ✓."
    with Team(store=url, models={"worker-small": ScriptedClient([])}) as team:
        item = team.memory.add(said, source="note:1")
        run = team.run("What is 17% of 2340?")

    def command(*arguments: str) -> bytes:
        environment = os.environ | {"POINTWORK_STORE": url, "PYTHONIOENCODING": "cp1252"}
        program = [sys.executable, "-m", "pointwork", *arguments]
        done = subprocess.run(program, capture_output=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert json.loads(command("memory", "read", item, "--json"))["text"] == said
    assert b"\\ud83d" in command("memory", "list")
    assert b"397.8" in command("runs", "show", run.run_id)


def test_json_is_what_every_parser_takes(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"logprobs": [-math.inf, 0.5], "value": math.nan}
    output.print_json(value)
    output.print_json_line(value)
    assert capsys.readouterr().out.count("null") == 4


@pytest.mark.model
def test_the_real_model_answers_from_real_files(tmp_path: Path) -> None:
    root = tmp_path / "farm"
    root.mkdir()
    (root / "notes.md").write_text("# Notes\n\nThe north gate was painted by Ilse Brandt in 1987.\n")
    (root / "sales.csv").write_text("product,units\ncheese,40\nwool,12\ncheese,55\n")
    environment = {"POINTWORK_STORE": f"sqlite:///{tmp_path / 'x.db'}", "PATH": "", "HOME": str(Path.home())}

    asking = tmp_path / "ask.toml"
    asking.write_text('[run]\nreadings = "never"\n')

    def ask(task: str, config: str = "") -> Any:
        run = subprocess.run(
            [sys.executable, "-m", "pointwork", "run", task, "--root", str(root), "--json"],
            capture_output=True,
            text=True,
            env=environment | ({"POINTWORK_CONFIG": config} if config else {}),
        )
        assert run.returncode in (0, 1), run.stderr
        return json.loads(run.stdout)

    found = ask("Who painted the north gate?")
    assert "Brandt" in found["text"]
    assert found["evidence"][0]["source"].startswith("file:notes.md:")
    assert found["cost"]["tokens"] == 0  # the words said it
    assert ask("Who painted the north gate?", str(asking))["cost"]["tokens"] > 0
    assert ask("How many units of cheese are there in total?")["decisions"]


@pytest.mark.model
def test_what_was_read_while_planning_is_shown_in_the_plan(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices.csv").write_text("item,price_eur,stock\nvarnish,18,4\nrope,4,30\npaint,11,6\n")
    monkeypatch.setenv("POINTWORK_STORE", f"sqlite:///{tmp_path / 'x.db'}")
    task = "Nobody told me what varnish costs. I want five of it. How much is that?"
    said = cli("run", task, "--root", str(tmp_path))
    assert " = 18 table:prices.csv" in " ".join(said.out.split())
    run = said.out.split()[-1]
    assert " = 18 (table:prices.csv)" in " ".join(cli("runs", "show", run).out.split())


AGENTS = '''
from pathlib import Path

from pointwork import Agent, tool


@tool(labels=["writes"], needs_approval=True)
def stamp(name: str) -> str:
    """Stamp a name."""
    with open(Path(__file__).parent / "stamps.txt", "a") as file:
        file.write(name + "\\n")
    return f"stamped {name}"


AGENTS = [Agent("stamper", "You stamp names.", {"stamping": "stamp names"}, (stamp,), modes=("instant",))]
'''


def test_an_approval_from_the_command_line(
    cli: Any, scripted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_agents_of_test.py").write_text(AGENTS)
    (tmp_path / "pointwork.toml").write_text('agents_from = "my_agents_of_test:AGENTS"\n')
    (tmp_path / "empty").mkdir()
    call = json.dumps({"tool": "stamp", "arguments": {"name": "Ada"}})
    scripted(Step(call, times=None))
    said = cli("run", "Stamp the name Ada", "--root", "empty")
    assert said.code == 1
    assert 'May stamp be called with {"name": "Ada"}?' in said.out
    assert not (tmp_path / "stamps.txt").exists()
    run_id = cli("runs", "list", "--json").json[0]["run_id"]
    assert cli("runs", "list", "--json").json[0]["status"] == "waiting"
    assert cli("runs", "resume", run_id, "--json").json["status"] == "waiting"
    wrong = cli("runs", "answer", run_id, "maybe")
    assert wrong.code == 2
    assert "approve or deny" in wrong.err
    done = cli("runs", "answer", run_id, "approve", "--json")
    assert (done.code, done.json["status"], done.json["text"]) == (0, "ok", "stamped Ada")
    assert (tmp_path / "stamps.txt").read_text() == "Ada\n"
    again = cli("runs", "answer", run_id, "approve")
    assert again.code == 2
    assert "does not wait" in again.err


@pytest.mark.parametrize("where", ["nowhere:AGENTS", "json:dumps_it", "json:dumps"])
def test_agents_that_can_not_be_imported(cli: Any, tmp_path: Path, where: str) -> None:
    (tmp_path / "p.toml").write_text(f'agents_from = "{where}"\n')
    said = cli("--config", str(tmp_path / "p.toml"), "agents")
    assert said.code == 2
    assert where in said.err


def test_models_pull_names_what_there_is(cli: Any) -> None:
    said = cli("models", "pull", "huge")
    assert said.code == 2
    assert "small, large" in said.err


@pytest.mark.parametrize("command", ["explain", "show"])
def test_a_request_with_brackets_is_shown_as_it_is(cli: Any, command: str) -> None:
    shown = cli("router", command, "is [/red] a [bold]tag[/bold]?")
    assert shown.code == 0
    assert "is [/red] a [bold]tag[/bold]?" in shown.out


def test_a_run_that_nothing_was_decided_for_is_no_request(cli: Any) -> None:
    said = cli("router", "explain", "01a206b938d879aea7a05ced4011")
    assert said.code == 2
    assert "01a206b938d879aea7a05ced4011" in said.err
    assert "runs list" in said.err


def test_what_is_not_installed_is_named_with_its_extra(tmp_path: Path) -> None:
    code = "import sys; sys.modules['torch'] = None; from pointwork.cli.app import run_app; "
    code += "sys.exit(run_app(['train', 'recipe', 'planner', '--out', 'out']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == output.FAILED
    said = " ".join(done.stderr.split())
    assert "torch is not installed; it comes with the extra 'train': pip install 'pointwork[train]'" in said
