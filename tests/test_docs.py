"""What the documents tell people to type: README's Python runs, every command line is understood, every link leads
somewhere."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pointwork
from pointwork.models import ScriptedClient

PROJECT = Path(__file__).parent.parent
DOCUMENTS = [*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md"), *PROJECT.glob("*/README.md")]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"(?:^|[;&|] *|\$ |=\"|=\S+ )pointwork ((?:\"[^\"]*\"|[^\"#;&|>)`])+)")
# something is left out: not a line to be typed
SHORTENED = re.compile(r"…|<")


def command_lines() -> Iterator[tuple[str, str]]:
    for path in DOCUMENTS:
        text = path.read_text()
        shown = [body for language, body in FENCE.findall(text) if language in ("", "sh", "bash")]
        shown += re.findall(r"^    (pointwork .*)$", text, re.MULTILINE)
        shown += [line.replace("\n", " ") for line in re.findall(r"`(pointwork [^`]+)`", FENCE.sub("", text))]
        lines = [line for block in shown for line in block.replace("\\\n", " ").splitlines()]
        yield from ((path.name, command.strip()) for line in lines for command in COMMAND.findall(line))


def misunderstood(line: str) -> str:
    """Why a line is no command: an unknown name or option. Values that stand for others are not looked at."""
    import typer

    from pointwork.cli.app import app

    command: Any = typer.main.get_command(app)
    args, path = shlex.split(re.sub(r"[\[\]]", "", line)), "pointwork"
    while args and hasattr(command, "commands") and not args[0].startswith("-"):
        path, name = f"{path} {args[0]}", args.pop(0)
        if name not in command.commands:
            return f"{path}: no such command"
        command = command.commands[name]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    given = {arg.split("=")[0] for arg in args[: args.index("--") if "--" in args else None] if arg[:1] == "-"}
    return "".join(f"{path}: no option {option}" for option in given - known - {"--help", "-"})


def test_every_command_line_is_understood() -> None:
    lines = [(name, line) for name, line in command_lines() if not SHORTENED.search(line)]
    assert len(lines) > 80
    assert {"README.md", "bench.md", "mcp.md", "publication.md"} <= {name for name, _ in lines}
    assert [(name, why) for name, line in lines if (why := misunderstood(line))] == []
    assert [bool(misunderstood(line)) for line in ("runs lst", "run x --rot y")] == [True, True]


def test_every_link_leads_to_a_file() -> None:
    links = [
        (path, link) for path in DOCUMENTS for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text())
    ]
    assert len(links) > 10
    assert [(path.name, link) for path, link in links if not (path.parent / link).exists()] == []


def test_the_python_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = [body for language, body in FENCE.findall((PROJECT / "README.md").read_text()) if language == "python"]
    monkeypatch.chdir(tmp_path)
    default, client = pointwork.Team.default, ScriptedClient([])

    def scripted(**options: Any) -> pointwork.Team:
        return default(**options, models={"worker-small": client})

    monkeypatch.setattr(pointwork.Team, "default", scripted)
    names: dict[str, Any] = {}
    exec("\n".join(blocks), names)
    names["team"].close()
    printed = capsys.readouterr().out
    assert printed.startswith("397.8 ok Cost(usd=0.0")
    assert printed.endswith("The gate opens at seven.\n")
