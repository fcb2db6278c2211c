"""``pointwork serve``: the team and its agents as MCP servers."""

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from pointwork.cli.output import err, print_json
from pointwork.cli.team import open_team
from pointwork.errors import UsageError

if TYPE_CHECKING:
    from pointwork.agents import Team
    from pointwork.mcp_servers.principals import Caller
    from pointwork.mcp_servers.server import AgentServer
    from pointwork.mcp_servers.serving import Ending
    from pointwork.tools import Tool

EXAMPLE = (
    "Examples: [bold]pointwork serve --stdio[/bold]  "
    "[bold]pointwork serve --http 127.0.0.1:8930 --token-file tokens.toml --root ./data[/bold]"
)


def serve(
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve streamable HTTP there; the endpoint is /mcp.")
    ] = None,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Serve one client on stdin and stdout (the default).")
    ] = False,
    token: Annotated[
        str | None,
        typer.Option(help="Bearer token that HTTP clients must send.", envvar="POINTWORK_TOKEN", show_envvar=True),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="Tokens with scopes, budgets and rates (TOML), or one a line.")
    ] = None,
    agents: Annotated[
        str | None, typer.Option(help="Agents to offer, with commas between; default: all. 'team' is one of them.")
    ] = None,
    tools: Annotated[
        str,
        typer.Option(help="Tools to offer as they are, with commas between; 'made' is all that the team wrote."),
    ] = "",
    root: Annotated[
        Path, typer.Option(help="The folder that agents may read. Nothing outside it is read.")
    ] = Path(),
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Further Host header that is right. May be given several times.")
    ] = None,
    json_response: Annotated[
        bool, typer.Option("--json-response", help="Plain JSON answers over HTTP: quicker, no progress.")
    ] = False,
    max_runs: Annotated[int, typer.Option(min=1, help="Runs at work at once; more are refused.")] = 16,
    json: Annotated[bool, typer.Option("--json", help="Say where it serves as one JSON object on stdout.")] = False,
) -> None:
    """Serve the team and each of its agents as tools over MCP.

    Tools: 'team', one per agent, 'resume'. Resources: run://ID, trajectory://ID. On HTTP, serves on 127.0.0.1 only
    unless a token is asked for. Ctrl-C or SIGTERM stops runs at work; 'pointwork runs resume' goes on with them.
    """
    if http is not None and stdio:
        raise UsageError("give one of --http and --stdio")
    if http is None and (token or token_file or allow_host or json_response or json):
        raise UsageError("--token, --token-file, --allow-host, --json-response and --json are for --http")
    chosen = None if agents is None else [name.strip() for name in agents.split(",") if name.strip()]
    if chosen == [] and not tools.strip(" ,"):
        raise UsageError("--agents names none, so there is nothing to serve; leave it out for all of them")
    callers = _callers(token, token_file)
    from pointwork.extras import require

    require("mcp")
    from pointwork.mcp_servers.server import AgentServer, Options
    from pointwork.mcp_servers.serving import Ending, serve_stdio

    address = None if http is None else _address(http)
    with Ending() as ending, open_team(quiet=True, root=root) as team:
        options = Options(
            agents=None if chosen is None else tuple(name for name in chosen if name != "team"),
            whole=chosen is None or "team" in chosen,
            tools=_tools(tools, team),
            callers=callers,
            max_runs=max_runs,
        )
        server = AgentServer(team, options)
        if address is None:
            asyncio.run(serve_stdio(server, ending))
        else:
            _http(server, *address, allow_host or [], json_response, json, ending)
    if ending.told == signal.SIGINT:
        raise KeyboardInterrupt


def _callers(token: str | None, token_file: Path | None) -> "tuple[Caller, ...]":
    from pointwork.mcp_servers.principals import one_token, read_tokens

    if token and token_file:
        raise UsageError("give one of --token and --token-file")
    if token_file is not None:
        return tuple(read_tokens(token_file))
    return (one_token(token),) if token else ()


def _tools(names: str, team: "Team") -> "tuple[Tool, ...]":
    from pointwork.tools import builtin_tools
    from pointwork.tools.making import Manager

    asked = [name.strip() for name in names.split(",") if name.strip()]
    made = {tool.name: tool for tool in Manager(team.store).tools()} if asked else {}
    known = {**made, **builtin_tools()}
    if "made" in asked:
        asked = [name for name in asked if name != "made"] + [name for name in made if name not in asked]
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise UsageError(f"no tool {', '.join(unknown)}; there are {', '.join(known)}")
    return tuple(known[name] for name in asked)


def _address(http: str) -> tuple[str, int]:
    host, colon, port = http.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535 or not host:
        raise UsageError(f"--http takes HOST:PORT, such as 127.0.0.1:8930, not {http!r}")
    return host.strip("[]"), int(port)


def _http(
    server: "AgentServer", host: str, port: int, hosts: list[str], json_response: bool, json: bool, ending: "Ending"
) -> None:
    from pointwork.mcp_servers.http import PATH, bind, http_app, serve_http

    app = http_app(
        server.mcp,
        callers=server.options.callers,
        host=host,
        allowed_hosts=hosts,
        json_response=json_response,
        at_end=server.aclose,
    )
    with bind(host, port) as listener:
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listener.getsockname()[1]}{PATH}"
        if json:
            print_json({"url": url, "token": bool(server.options.callers)})
        err.print(f"serving [bold]{escape(url)}[/bold], {'with' if server.options.callers else 'without'} a token")
        serve_http(app, listener, ending)
