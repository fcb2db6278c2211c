"""What comes from outside is shown on a terminal, and does nothing there."""

import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.text import Text

from pointwork.agents import Team
from pointwork.cli import output, running
from pointwork.cli.app import run_app
from pointwork.models import ScriptedClient

# clears the screen, moves the cursor, names the window, writes over the line, turns the text round; C1's CSI
EVIL = "a\x1b[2Jb\x1b]0;owned\x07c\rd\u202ee\x9b31mf\x7f"
SHOWN = r"a\x1b[2Jb\x1b]0;owned\x07c\rd\u202ee\x9b31mf\x7f"
HARM = set("\x1b\x07\r\u202e\x9b\x7f")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command line in this process; what it printed."""
    monkeypatch.setattr(output.out, "_file", None)
    monkeypatch.setattr(output.err, "_file", None)
    monkeypatch.setattr(output.out, "_width", 200)

    def call(*arguments: str) -> str:
        run_app(list(arguments))
        captured = capsys.readouterr()
        return captured.out + captured.err

    return call


def test_memory_shows_what_it_holds_and_json_is_exact(cli: Any) -> None:
    cli("memory", "add", f"{EVIL} The gate opens at 7.", "--source", EVIL)
    for command in (("recall", "When does the gate open?"), ("explain", "When does the gate open?"), ("list",)):
        said = cli("memory", *command)
        assert not HARM & set(said)
        assert SHOWN[:12] in said
    for command in (("recall", "When does the gate open?"), ("list",)):
        said = json.loads(cli("memory", *command, "--json"))
        items: list[Any] = said["items"] if command[0] == "recall" else said
        assert [item["source"] for item in items] == [EVIL]
        assert EVIL in items[0]["text"]


def test_what_is_read_is_exact_but_on_a_terminal(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    item = cli("memory", "add", EVIL, "--source", "x").strip()
    assert cli("memory", "read", item) == EVIL + "\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert cli("memory", "read", item) == SHOWN + "\n"


def test_an_answer_its_plan_and_its_run(cli: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(f"The gate opens at 7. {EVIL}")
    plain = Team.default.__func__  # pyright: ignore[reportFunctionMemberAccess]

    def default(cls: type[Team], **options: Any) -> Team:
        return plain(cls, **options, models={"worker-small": ScriptedClient([f"at 7 {EVIL}"] * 20)})

    monkeypatch.setattr(Team, "default", classmethod(default))
    said = cli("run", f"When does the gate open? {EVIL}", "--root", str(tmp_path))
    assert r"\u202ee" in said
    assert not HARM & set(said)
    [run] = json.loads(cli("runs", "list", "--json"))
    assert "\u202ee\x9b31m" in run["task"]
    shown = [("show", run["run_id"]), ("show", run["run_id"], "--verbose"), ("list",), ("resume", run["run_id"])]
    for command in shown:
        said = cli("runs", *command)
        assert not HARM & set(said)
        assert r"\u202e" in said


def test_a_question_before_it_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def prompt(text: str) -> str:
        asked.append(text)
        return "deny"

    monkeypatch.setattr(typer, "prompt", prompt)
    running._choose(f"May it mail {EVIL}?", ["approve", "deny"])  # pyright: ignore[reportPrivateUsage]
    assert asked == [f"May it mail {SHOWN}? [approve/deny]"]


def test_styled_text_errors_and_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    console = output.Shown(file=file, width=200, force_terminal=True, color_system="truecolor")
    console.print(Text(EVIL, style="red"))
    console.print(f"[red]{EVIL}[/red]", highlight=False)
    styled, marked = file.getvalue().splitlines()
    assert marked == f"\x1b[31m{SHOWN}\x1b[0m"  # its own colours are there
    assert styled == marked.replace(r"\x07", "").replace(r"\r", "")  # which rich's texts leave out
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    monkeypatch.setattr(logging, "lastResort", handler)
    output.take_any_text()
    handler.handle(logging.LogRecord("x", logging.WARNING, "", 0, "last words: %s", (EVIL,), None))
    assert stream.getvalue() == f"last words: {SHOWN}\n"


def test_words_between_colons_are_no_pictures(cli: Any) -> None:
    """'key :key: on' was shown with a picture of a key in it."""
    cli("memory", "add", "The gate is :key: and :on: at 7:30:15", "--source", "x")
    assert "The gate is :key: and :on: at 7:30:15" in cli("memory", "list")


def test_brackets_in_what_is_worked_on_and_in_paths(
    cli: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The line that says what is being done was read as markup: '[/b]' in a task ended the run."""
    monkeypatch.setattr(output.err, "_force_terminal", True)
    events: list[dict[str, Any]] = [
        {"event": "run", "run_id": "x"},
        {"event": "subtask_started", "key": "k", "text": "what is [/b] in it"},
        {"event": "answer", "result": {"status": "ok"}},
    ]
    assert running.follow((event for event in events), quiet=False) == {"status": "ok"}
    cli("memory", "add", "The gate opens at 7.")
    picture = tmp_path / "[bold]" / "x.png"
    picture.parent.mkdir()
    assert f"picture: {picture}" in cli("memory", "explain", "gate?", "--plot", "--out", str(picture))
    plain = tmp_path / "plain"  # it was written to plain.png
    cli("memory", "explain", "gate?", "--plot", "--out", str(plain))
    assert plain.read_bytes().startswith(b"\x89PNG")


def test_ends_of_lines_of_another_system_are_ends_of_lines() -> None:
    assert output.harmless("a\r\nb\tc\nd\re") == "a\nb\tc\nd\\re"
    assert output.harmless("שלום\u200f 👩\u200d🔬 نمی\u200cخواهم") == "שלום\u200f 👩\u200d🔬 نمی\u200cخواهم"
