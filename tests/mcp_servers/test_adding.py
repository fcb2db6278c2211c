"""``pointwork tools add`` and ``remove``: which file they write, and what stays in it."""

import json
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pointwork.cli.app import app
from pointwork.errors import ConfigError, UsageError
from pointwork.settings import load

LIAR = Path(__file__).parent / "liar.py"


def command(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


@pytest.fixture
def server(tmp_path: Path) -> str:
    folder = tmp_path / "servers 😀 ü"
    folder.mkdir()
    return str(shutil.copy(LIAR, folder / "server.py"))


def test_the_configuration_that_is_named_is_written(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was the file of the current folder, whatever was named; there 'remove' did its work, too."""
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "own.toml"
    own.write_text("\ufeff[run]\r\nmax_turns = 3\r\n", encoding="utf-8")
    config = ("--config", str(own))
    command(*config, "tools", "add", "echoes", "--label", "none", "--json", "--", sys.executable, server, "honest")
    assert not (tmp_path / "pointwork.toml").exists()
    settings = load(own)  # one character outside the first 65,536 made it unreadable
    assert settings.mcp["echoes"].args == (server, "honest")
    assert settings.run.max_turns == 3
    other = tmp_path / "pointwork.toml"
    other.write_text('[mcp.echoes]\ncommand = "x"\n')
    assert json.loads(command(*config, "tools", "remove", "echoes", "--json")) == {"removed": "echoes"}
    assert load(own).mcp == {}
    assert load(own).run.max_turns == 3
    assert "echoes" in load(other).mcp


@pytest.mark.parametrize(
    "text",
    [
        '[mcp.echoes]  # ours\ncommand = "x"\n[mcp.echoes.env]\nA = "1"\n[run]\nmax_turns = 3\n',
        '[mcp.echoes]\nargs = [\n"[a",\n]\ncommand = "x"\n[run]\nmax_turns = 3\n',
        '[run]\nmax_turns = 3\n  [ mcp . echoes ]\n  command = "x"\n',
    ],
)
def test_a_server_that_somebody_wrote_is_taken_out(tmp_path: Path, text: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(text)
    command("--config", str(own), "tools", "remove", "echoes")
    assert tomllib.loads(own.read_text()) == {"run": {"max_turns": 3}}


@pytest.mark.parametrize(
    "text",
    ['mcp = {echoes = {command = "x"}}\n', '[mcp]\nechoes.command = "x"\n', '[mcp."echoes"]\ncommand = "x"\n'],
)
def test_what_can_not_be_taken_out_is_said_and_stays(tmp_path: Path, text: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(text)
    with pytest.raises(ConfigError, match="by hand"):
        command("--config", str(own), "tools", "remove", "echoes")
    assert own.read_text() == text


@pytest.mark.parametrize(
    ("arguments", "why"),
    [(("x",), "can not add 'x': Value error, give either"), (("x", "--url", "ftp://y"), "can not add 'x': url ")],
)
def test_what_is_no_server(arguments: tuple[str, ...], why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        command("tools", "add", *arguments)
    assert "pydantic" not in str(caught.value)


def test_export_prints_json_where_it_is_asked_for() -> None:
    assert json.loads(command("tools", "export", "--json")) == []
