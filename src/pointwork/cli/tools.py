"""``pointwork tools``: what there is, and foreign MCP servers that bring more."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointwork.cli import listing
from pointwork.cli.output import err, out, print_json, table
from pointwork.errors import ConfigError, UsageError
from pointwork.settings import FILE_NAME, McpSettings, load

if TYPE_CHECKING:
    from pointwork.mcp_servers.hub import Hub

app = typer.Typer(help="Tools, and foreign MCP servers that bring more.", invoke_without_command=True)

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
            for listed in hub.run(hub.listed(name)):
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
    finally:
        hub.close()
    if json:
        print_json(rows)
        return
    shown = [(r["server"], r["tool"], r["state"], r["why"] or r["description"].split("\n")[0][:80]) for r in rows]
    table(("server", "tool", "state", "what it does"), shown, "no MCP servers; add one with: pointwork tools add")


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
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise UsageError(f"a server's name has letters, digits, '_' and '-', not {name!r}")
    if name in load().mcp:
        raise UsageError(f"pointwork.toml has an MCP server {name!r} already; remove it first")
    given: dict[str, Any] = {"url": url, "token_env": token_env} if url else {}
    if command:
        given |= {"command": command[0], "args": command[1:]}
    if label:
        given["labels"] = [] if label == ["none"] else label
    section = {key: value for key, value in given.items() if value is not None}
    try:
        settings = McpSettings.model_validate(section)
    except ValueError as error:
        raise UsageError(f"can not add {name!r}: {error}") from error
    hub = _hub({name: settings}, trust_first=False)
    try:
        listed = hub.run(hub.listed(name))
        clear = [each.offer.name for each in listed if each.state != "suspicious"]
        hub.run(hub.approve(name, clear))
    finally:
        hub.close()
    _append(Path(FILE_NAME), name, section)
    odd = [each for each in listed if each.state == "suspicious"]
    if json:
        print_json({"server": name, "tools": clear, "left_out": [each.offer.name for each in odd]})
        return
    out.print(f"{name}: {len(clear)} tools in {FILE_NAME}: {', '.join(clear)}")
    for each in odd:
        err.print(f"[yellow]left out:[/yellow] {each.offer.name}: {each.why}")
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
    """Agree to tools of a server as they are now: after they changed, or though their description is odd."""
    hub = _hub(trust_first=False)
    try:
        done = hub.run(hub.approve(server, names or None))
    finally:
        hub.close()
    print_json({"server": server, "tools": done}) if json else out.print(f"{server}: agreed to {', '.join(done)}")


@app.command("remove", epilog="Example: [bold]pointwork tools remove time[/bold]")
def remove(server: Server, json: Json = False) -> None:
    """Take a server out of pointwork.toml, and what was agreed to with it."""
    hub = _hub()
    hub.server(server)
    hub.forget(server)
    hub.close()
    path = Path(FILE_NAME)
    text = path.read_text(encoding="utf-8")
    left = re.sub(rf"(?ms)^\[mcp\.{re.escape(server)}(?:\.[^\]]*)?\]\s*$.*?(?=^\[|\Z)", "", text)
    path.write_text(left, encoding="utf-8")
    print_json({"removed": server}) if json else out.print(f"removed {server}")


def _hub(servers: "dict[str, McpSettings] | None" = None, *, trust_first: bool = True) -> "Hub":
    from pointwork.extras import require
    from pointwork.store import default_url, open_store

    require("mcp")
    from pointwork.mcp_servers.hub import Hub

    settings = load()
    store = open_store(settings.store or default_url())
    return Hub(dict(settings.mcp) if servers is None else servers, store, trust_first=trust_first)


def _append(path: Path, name: str, section: dict[str, Any]) -> None:
    import json

    # JSON's texts and lists of texts are TOML's too
    lines = [f"[mcp.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in section.items())]
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(before + ("\n" if before else "") + "\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"can not write {path}: {error.strerror}") from error
