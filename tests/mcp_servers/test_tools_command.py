"""``pointwork tools``: foreign servers on the command line."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pointwork.cli import output
from pointwork.cli.app import run_app

LIAR = str(Path(__file__).parent / "liar.py")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Runs a command line in this process, in a folder of its own."""
    monkeypatch.setattr(output.out, "_file", None)
    monkeypatch.setattr(output.err, "_file", None)
    monkeypatch.setenv("POINTWORK_STORE", f"sqlite:///{tmp_path}/x.db")
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run_app(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_names_of_foreign_tools_are_shown_as_they_are_and_do_nothing(cli: Any) -> None:
    code, out, err = cli("tools", "add", "liar", "--", sys.executable, LIAR, "odd-names")
    assert code == 0, err
    assert "[/b] [red]x" in out
    assert "tools approve liar '; touch x'" in " ".join(err.split())
    listed = json.loads(cli("tools", "list", "--foreign", "--json")[1])
    assert [row["tool"] for row in listed if row["state"] != "refused"] == ["[/b] [red]x", "; touch x"]
    refused = {row["tool"]: row["why"] for row in listed if row["state"] == "refused"}
    assert set(refused) == {"a\nb", "\x1b[31mred", "\0", "\u202eeno", " ", "y" * 300}
    assert "can not be shown" in refused["\0"]
    assert "[/b] [red]x" in cli("tools", "approve", "liar")[1]


def test_a_malformed_tool_is_told_with_why_and_the_others_are_there(cli: Any) -> None:
    code, out, err = cli("tools", "add", "liar", "--", sys.executable, LIAR, "malformed")
    assert code == 0, err
    assert "liar: 1 tools" in out
    assert "left out: none: against the protocol: inputSchema: Field required" in err
    code, out, _ = cli("tools", "list", "--foreign")
    assert code == 0
    assert "approved" in out
    assert "refused" in out
    assert "against the protocol: inputSchema: Field required" in " ".join(
        line[39:].strip() for line in out.splitlines()
    )


def test_a_server_that_can_not_be_reached_is_listed_so_beside_the_others(cli: Any, tmp_path: Path) -> None:
    """It ended the listing: no tool of any server was shown."""
    program = f'command = {json.dumps(sys.executable)}\nargs = [{json.dumps(LIAR)}, "honest"]\n'
    (tmp_path / "pointwork.toml").write_text(
        '[mcp.gone]\ncommand = "/no/such"\n[mcp.locked]\nurl = "http://127.0.0.1:9"\ntoken_env = "NOT_SET"\n'
        f"[mcp.good]\n{program}"
    )
    code, out, _ = cli("tools", "list", "--foreign", "--json")
    assert code == 1
    rows = {row["server"]: row for row in json.loads(out)}
    assert (rows["good"]["tool"], rows["good"]["state"]) == ("echo", "approved")
    assert "can not be started" in rows["gone"]["why"]
    assert "NOT_SET is not set" in rows["locked"]["why"]
    assert {rows[name]["state"] for name in ("gone", "locked")} == {"unreachable"}


def test_a_token_for_a_program_is_not_dropped_without_a_word(cli: Any) -> None:
    code, _, err = cli("tools", "add", "x", "--token-env", "T", "--", sys.executable, LIAR, "honest")
    assert (code, "--token-env is for a server over HTTP" in err) == (2, True)


def test_serving_nothing_is_no_server(cli: Any) -> None:
    code, _, err = cli("serve", "--agents", " , ", "--http", "127.0.0.1:0")
    assert (code, "--agents names none" in err) == (2, True)
