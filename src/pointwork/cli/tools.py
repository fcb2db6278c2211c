"""``pointwork tools``: what there is, and foreign MCP servers that bring more."""

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from pointwork.cli import listing
from pointwork.cli.output import FAILED, err, out, print_exact, print_json, table
from pointwork.cli.team import own_store
from pointwork.errors import ConfigError, ToolError, UsageError

if TYPE_CHECKING:
    from pointwork.mcp_servers.hub import Hub
    from pointwork.settings import McpSettings
    from pointwork.tools.making import Manager

app = typer.Typer(help="Tools, and foreign MCP servers that bring more.", invoke_without_command=True)

# What 'approve' calls the tools that the team wrote; no MCP server can be called so.
MADE = "made"

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Server = Annotated[str, typer.Argument(help="Name of the server in pointwork.toml.")]


@app.callback()
def tools(context: typer.Context, json: Json = False) -> None:
    """List the tools with their labels; with a command, see below."""
    if context.invoked_subcommand is None:
        listing.tools(json=json)


@app.command("list", epilog="Example: [bold]pointwork tools list --foreign --json[/bold]")
def list_(
    foreign: Annotated[bool, typer.Option("--foreign", help="Start the MCP servers and list their tools.")] = False,
    json: Json = False,
) -> None:
    """List the tools; with --foreign those of the MCP servers, and which of them nobody has agreed to."""
    if not foreign:
        listing.tools(json=json)
        return
    hub = _hub()
    rows: list[dict[str, Any]] = []
    try:
        for name in hub.names:
            try:
                found = hub.run(hub.listed(name))
            except (ToolError, ConfigError) as error:  # the others' tools are worth showing
                rows.append(_without("unreachable", name, "", str(error)))
                continue
            for listed in found:
                offer = listed.offer
                rows.append(
                    {
                        "server": name,
                        "tool": offer.name,
                        "state": listed.state,
                        "why": listed.why,
                        "description": offer.description,
                        "input_schema": offer.input_schema,
                        "output_schema": offer.output_schema,
                    }
                )
            rows += [_without("refused", name, tool, why) for tool, why in hub.refused(name)]
    finally:
        hub.close()
    if json:
        print_json(rows)
    else:
        heads = ("server", "tool", "state", "what it does")
        said = [
            (r["server"], r["tool"], r["state"], r["why"] or r["description"].split("\n")[0][:80]) for r in rows
        ]
        table(heads, said, "no MCP servers; add one with: pointwork tools add")
    if any(row["state"] == "unreachable" for row in rows):
        raise typer.Exit(FAILED)


def _without(state: str, server: str, tool: str, why: str) -> dict[str, Any]:
    """A row of what is no tool."""
    known = {"server": server, "tool": tool, "state": state, "why": why}
    return {**known, "description": "", "input_schema": None, "output_schema": None}


@app.command(
    "add",
    epilog="Examples: [bold]pointwork tools add time -- uvx mcp-server-time[/bold]  "
    "[bold]pointwork tools add notes --url https://notes.example/mcp --token-env NOTES_TOKEN[/bold]",
)
def add(
    name: Annotated[str, typer.Argument(help="How the server is called here.")],
    command: Annotated[
        list[str] | None, typer.Argument(help="Program that serves on stdio, and its arguments.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Address of a server over HTTP.")] = None,
    token_env: Annotated[str | None, typer.Option(help="Environment variable with its bearer token.")] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="What its tools can do: reads-private, writes, egress, untrusted-source, destructive, none."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Add a foreign MCP server to pointwork.toml: start it, show its tools, and agree to them as they are now."""
    from pydantic import ValidationError

    from pointwork.settings import McpSettings, config_file, load

    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise UsageError(f"a server's name has letters, digits, '_' and '-', not {name!r}")
    if name == MADE:
        raise UsageError(f"{MADE!r} means the tools that the team wrote; call the server something else")
    if name in load().mcp:
        raise UsageError(f"pointwork.toml has an MCP server {name!r} already; remove it first")
    if token_env and not url:
        raise UsageError("--token-env is for a server over HTTP (--url); programs are given none")
    given: dict[str, Any] = {"url": url, "token_env": token_env} if url else {}
    if command:
        given |= {"command": command[0], "args": command[1:]}
    if label:
        given["labels"] = [] if label == ["none"] else label
    section = {key: value for key, value in given.items() if value is not None}
    try:
        settings = McpSettings.model_validate(section)
    except ValidationError as error:
        wrong = "; ".join(" ".join([*map(str, each["loc"]), each["msg"]]) for each in error.errors())
        raise UsageError(f"can not add {name!r}: {wrong}") from error
    hub = _hub({name: settings}, trust_first=False)
    try:
        listed = hub.run(hub.listed(name))
        clear = [each.offer.name for each in listed if each.state != "suspicious"]
        hub.run(hub.approve(name, clear))
    finally:
        hub.close()
    _append(config_file(), name, section)
    odd = [(each.offer.name, each.why) for each in listed if each.state == "suspicious"] + hub.refused(name)
    if json:
        print_json({"server": name, "tools": clear, "left_out": [tool for tool, _ in odd]})
        return
    out.print(f"{name}: {len(clear)} tools in {escape(str(config_file()))}: {escape(', '.join(clear))}")
    for tool, why in odd:
        err.print(f"[yellow]left out:[/yellow] {escape(tool)}: {escape(why)}")
    if not label:
        err.print(
            "[yellow]no --label:[/yellow] the worst is assumed of its tools, so many calls will ask you first"
        )


@app.command("approve", epilog="Example: [bold]pointwork tools approve time get_current_time[/bold]")
def approve(
    server: Server,
    names: Annotated[list[str] | None, typer.Argument(help="Its tools; all if none is named.")] = None,
    json: Json = False,
) -> None:
    """Agree to tools of a server as they are now: after they changed, or though their description is odd.

    The server 'made' is the team itself: its tools are those that it wrote (see 'pointwork tools made').
    """
    if server == MADE:
        _approve_made(names or [], json)
        return
    hub = _hub(trust_first=False)
    try:
        done = hub.run(hub.approve(server, names or None))
    finally:
        hub.close()
    told = f"{server}: agreed to {', '.join(done)}"
    print_json({"server": server, "tools": done}) if json else out.print(escape(told))


@app.command("made", epilog="Example: [bold]pointwork tools made --json[/bold]")
def made(json: Json = False) -> None:
    """List the tools that the team wrote itself, with their versions and how often they worked."""
    rows = [
        {
            "name": each.name,
            "version": each.version,
            "state": each.state,
            "run_id": each.run_id,
            "calls": each.calls,
            "success_rate": round(each.success_rate, 3),
            "description": each.description,
            "why": each.why,
        }
        for each in _manager().all()
    ]
    if json:
        print_json(rows)
        return
    shown = [
        (r["name"], str(r["version"]), r["state"], str(r["calls"]), f"{r['success_rate']:.0%}", r["description"])
        for r in rows
    ]
    heads = ("name", "version", "state", "calls", "worked", "what it does")
    table(heads, shown, "no tools were made; to allow it: make = true under [tools] in pointwork.toml")


@app.command(
    "export",
    epilog="Examples: [bold]pointwork tools export --out made[/bold]  "
    "[bold]pointwork tools export count_vowels > count_vowels.py[/bold]",
)
def export(
    name: Annotated[str | None, typer.Argument(help="A tool that was made; without it all live ones.")] = None,
    folder: Annotated[Path | None, typer.Option("--out", help="Folder to write NAME.py into.")] = None,
    json: Json = False,
) -> None:
    """Write out tools that the team made as plain Python that checks itself: on stdout, or into a folder."""
    from pointwork.tools.making import export_python

    newest = {
        each.name: each for each in _manager().all() if name == each.name or (not name and each.state == "live")
    }
    if name and not newest:
        raise UsageError(f"no tool {name!r} was made; see: pointwork tools made")
    written: list[str] = []
    if folder is None and json:
        print_json([{"name": each.name, "python": export_python(each)} for each in newest.values()])
        return
    for each in newest.values():
        if folder is None:
            print_exact(export_python(each))
            continue
        path = folder / f"{each.name}.py"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(export_python(each), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"can not write {path}: {error.strerror}") from error
        written.append(str(path))
    if folder is not None:
        print_json({"written": written}) if json else out.print(
            "\n".join(written) or "no live tools to write", markup=False
        )


def _approve_made(names: list[str], json: bool) -> None:
    manager = _manager()
    waiting = [each.name for each in manager.all() if each.state == "waiting"]
    for name in (agreed := names or sorted(set(waiting))):
        manager.approve(name)
    print_json({"server": MADE, "tools": agreed}) if json else out.print(
        f"agreed to {', '.join(agreed) or 'nothing'}"
    )


def _manager() -> "Manager":
    from pointwork.tools.making import Manager

    return Manager(own_store())


@app.command("remove", epilog="Example: [bold]pointwork tools remove time[/bold]")
def remove(server: Server, json: Json = False) -> None:
    """Take a server out of pointwork.toml, and what was agreed to with it."""
    from pointwork.settings import config_file

    hub = _hub()
    try:
        hub.server(server)
        _take_out(config_file(), server)
        hub.forget(server)
    finally:
        hub.close()
    print_json({"removed": server}) if json else out.print(f"removed {server}")


def _hub(servers: "dict[str, McpSettings] | None" = None, *, trust_first: bool = True) -> "Hub":
    from pointwork.extras import require
    from pointwork.settings import load

    require("mcp")
    from pointwork.mcp_servers.hub import Hub

    settings = load()
    servers = dict(settings.mcp) if servers is None else servers
    return Hub(servers, own_store(settings), trust_first=trust_first)


def _append(path: Path, name: str, section: dict[str, Any]) -> None:
    import json

    # JSON's texts and lists of texts are TOML's too, but for its pairs of escapes for one character
    lines = [
        f"[mcp.{name}]",
        *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in section.items()),
    ]
    try:
        before = path.read_text(encoding="utf-8-sig") if path.exists() else ""
        path.write_text(before + ("\n" if before else "") + "\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"can not write {path}: {error.strerror}") from error


def _take_out(path: Path, name: str) -> None:
    """Take a server's section, and those below it, out of the configuration."""
    header = rf"[ \t]*\[[ \t]*mcp[ \t]*\.[ \t]*{re.escape(name)}[ \t]*(?:\.[^\]]*)?\]"
    try:
        text = path.read_text(encoding="utf-8-sig")
        left = re.sub(rf"(?ms)^{header}[^\n]*$.*?(?=^[ \t]*\[|\Z)", "", text)
        if name in tomllib.loads(left).get("mcp", {}):
            raise ConfigError(f"{path}: {name!r} is not written there as 'tools add' does it; take it out by hand")
        path.write_text(left, encoding="utf-8")
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"can not take {name!r} out of {path}, do it by hand: {error}") from error
