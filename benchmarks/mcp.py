"""What serving over MCP costs: ``pointwork serve`` beside a plain server of the SDK with the same no-op tool.

    python benchmarks/mcp.py                       # about two minutes
    python benchmarks/mcp.py --slices 40 --json mcp.json

Both servers run at the same time, and the client calls one and the other in turns of a fraction of a second, so
that whatever else the machine does falls on both; the ratio is the median over pairs of neighbouring slices.
``tool`` is the no-op as a tool, as both offer it; ``agent`` is a whole run of an agent that only calls it:
planned, routed, budgeted, verified, remembered, and in the store on disk (SQLite, WAL, FULL).
"""

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import psutil

ME = str(Path(__file__).resolve())
# this file is called as the package that it measures
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(ME).parent]
TRANSPORTS = ("in-process", "stdio", "http")
TASK = {"task": "Do nothing."}


def plain_server() -> Any:
    """A server of the SDK as its documentation has one."""
    from mcp.server import MCPServer

    server = MCPServer("plain", log_level="ERROR")

    @server.tool()
    async def noop(text: str = "") -> str:
        """Nothing."""
        return "ok"

    return server


def our_server(folder: str) -> Any:
    """Ours, with an agent that does nothing, and the same no-op as a tool."""
    from pointwork import Agent, Team, tool
    from pointwork.agents.spec import Prepared
    from pointwork.mcp_servers.server import AgentServer, Options
    from pointwork.models import ScriptedClient
    from pointwork.settings import Settings
    from pointwork.tools import ToolContext, ToolResult

    @tool
    async def noop(text: str = "") -> ToolResult:
        """Nothing."""
        return ToolResult("ok", "ok", answer="ok")

    async def prepare(_: str, __: ToolContext) -> Prepared:
        return Prepared(call=("noop", {"text": ""}))

    agent = Agent(
        "idler", "You do nothing.", {"nothing": "do nothing"}, (noop,), modes=("instant",), prepare=prepare
    )
    settings = Settings.model_validate({"planner": {"mode": "rules"}, "run": {"recall_tokens": 0}})
    models = {"worker-small": ScriptedClient([])}
    team = Team([agent], settings, store=f"sqlite:///{folder}/mcp.db", models=models)
    return AgentServer(team, Options(tools=(noop,)))


def serve(kind: str, transport: str, folder: str) -> None:
    """A child: one server on one transport, as the command ``pointwork serve`` sets it up."""
    from pointwork.mcp_servers.http import bind, http_app, serve_http
    from pointwork.mcp_servers.serving import Ending, serve_stdio

    ours = our_server(folder) if kind == "ours" else None
    if transport == "stdio" and ours is None:
        plain_server().run("stdio")
    elif transport == "stdio" and ours is not None:
        with Ending() as ending:
            asyncio.run(serve_stdio(ours, ending))
    else:
        with bind("127.0.0.1", 0) as listener:
            print(listener.getsockname()[1], flush=True)
            app = plain_server().streamable_http_app() if ours is None else http_app(ours.mcp)
            serve_http(app, listener)


@contextlib.asynccontextmanager
async def connected(kind: str, transport: str, folder: str) -> AsyncGenerator[Any, None]:
    """A client of a server."""
    from mcp import Client, StdioServerParameters

    command = [ME, "--child", kind, transport, folder]
    if transport == "in-process":
        ours = our_server(folder) if kind == "ours" else None
        async with Client(plain_server() if ours is None else ours.mcp, mode="legacy") as client:
            yield client
        if ours is not None:
            ours.team.close()
    elif transport == "stdio":
        parameters = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
        async with Client(parameters) as client:
            yield client
    else:
        child = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220
        try:
            assert child.stdout is not None
            async with Client(f"http://127.0.0.1:{int(child.stdout.readline())}/mcp") as client:
                yield client
        finally:
            child.terminate()
            child.wait()


async def slice_of(client: Any, name: str, arguments: dict[str, Any], seconds: float) -> list[float]:
    """Calls one after the other for a while; the seconds of each."""
    took: list[float] = []
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        result = await client.call_tool(name, arguments)
        assert not result.is_error, result
        took.append(time.perf_counter() - began)
    return took


def figures(took: list[float]) -> dict[str, float]:
    ordered = sorted(took)
    return {
        "calls": len(took),
        "per_s": round(len(took) / sum(took), 1),
        "p50_ms": round(1000 * ordered[len(ordered) // 2], 3),
        "p99_ms": round(1000 * ordered[int(0.99 * (len(ordered) - 1))], 3),
    }


async def compare(transport: str, folder: str, slices: int, seconds: float) -> dict[str, Any]:
    """Both servers on one transport, in turns."""
    sides: dict[str, tuple[str, str, dict[str, Any]]] = {
        "plain": ("plain", "noop", {}),
        "tool": ("ours", "noop", {}),
        "agent": ("ours", "idler", TASK),
    }
    took: dict[str, list[list[float]]] = {side: [] for side in sides}
    async with connected("plain", transport, folder) as plain, connected("ours", transport, folder) as ours:
        clients = {"plain": plain, "ours": ours}
        for kind, name, arguments in sides.values():  # warm up
            await slice_of(clients[kind], name, arguments, seconds)
        for number in range(slices):
            order = list(sides) if number % 2 == 0 else list(sides)[::-1]
            for side in order:
                kind, name, arguments = sides[side]
                took[side].append(await slice_of(clients[kind], name, arguments, seconds))
    rates = {side: [len(part) / sum(part) for part in parts] for side, parts in took.items()}
    found: dict[str, Any] = {side: figures([t for part in parts for t in part]) for side, parts in took.items()}
    for side in ("tool", "agent"):
        ratios = sorted(a / b for a, b in zip(rates[side], rates["plain"], strict=True))
        found[side]["of_plain"] = round(statistics.median(ratios), 3)
        found[side]["of_plain_quartiles"] = [
            round(ratios[len(ratios) // 4], 3),
            round(ratios[3 * len(ratios) // 4], 3),
        ]
    return found


async def start_up(folder: str, rounds: int) -> dict[str, float]:
    """Seconds from starting the process to the list of its tools, over stdio; medians."""
    from mcp import Client, StdioServerParameters

    commands = {
        "plain": [ME, "--child", "plain", "stdio", folder],
        "pointwork serve": ["-m", "pointwork", "serve", "--stdio", "--root", folder],
    }
    took: dict[str, list[float]] = {name: [] for name in commands}
    environment = {**os.environ, "POINTWORK_STORE": f"sqlite:///{folder}/start.db"}
    for _ in range(rounds):
        for name, command in commands.items():
            began = time.perf_counter()
            async with Client(
                StdioServerParameters(command=sys.executable, args=command, env=environment)
            ) as client:
                await client.list_tools()
                took[name].append(time.perf_counter() - began)
    return {name: round(statistics.median(values), 2) for name, values in took.items()}


def attached(folder: str, servers: int) -> dict[str, float]:
    """Memory of foreign servers: in this process for each, and of each server's own process, in MB."""
    from pointwork.mcp_servers.hub import Hub
    from pointwork.settings import McpSettings
    from pointwork.store import Store

    me = psutil.Process()
    args = (ME, "--child", "plain", "stdio", folder)
    settings = {f"s{n}": McpSettings(command=sys.executable, args=args, labels=()) for n in range(servers + 1)}
    hub = Hub(settings, Store("sqlite://"))
    hub.run(hub.listed("s0"))  # what the first loads is no cost of one more
    before = me.memory_info().rss
    for name in list(settings)[1:]:
        hub.run(hub.listed(name))
    here = (me.memory_info().rss - before) / servers
    children = [child.memory_info().rss for child in me.children(recursive=True)]
    hub.close()
    return {"servers": servers, "here_mb": round(here / 2**20, 2), "its_own_mb": round(max(children) / 2**20, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--transport", choices=TRANSPORTS, action="append", help="only this; may be given again")
    parser.add_argument("--slices", type=int, default=20, help="of each side")
    parser.add_argument("--seconds", type=float, default=0.4, help="of a slice")
    parser.add_argument("--rounds", type=int, default=3, help="of starting up")
    parser.add_argument("--json", type=Path, help="write the figures there")
    given = parser.parse_args()
    if given.child:
        serve(*given.child)
        return
    found: dict[str, Any] = {"load": os.getloadavg()[0], "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        for transport in given.transport or TRANSPORTS:
            part = found[transport] = asyncio.run(compare(transport, folder, given.slices, given.seconds))
            for side, values in part.items():
                print(f"{transport:10}  {side:6} {values}", flush=True)
        found["start_up_s"] = asyncio.run(start_up(folder, given.rounds))
        found["attached"] = attached(folder, 4)
    print(json.dumps({key: found[key] for key in ("load", "start_up_s", "attached")}))
    if given.json:
        given.json.write_text(json.dumps(found, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
