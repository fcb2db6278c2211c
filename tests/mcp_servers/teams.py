"""A scripted team for the tests of ``mcp_servers``; also a program that serves it: ``teams.py STORE [http]``."""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from pointwork import Agent, Team, tool
from pointwork.models import ChatRequest, Price, ScriptedClient, Step
from pointwork.settings import Settings
from pointwork.store import Store

SUM = "Measure the width of the gate, and then double the width."
HANG = "Measure the width of the gate, and then guard the width."
ORDER = "Measure the width of the gate, and then order the width."


@tool
def measure(thing: str) -> str:
    """Measure a thing in metres."""
    return {"gate": "3", "barn": "14"}.get(thing, "7")


@tool
def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    return a * b


ended: list[str] = []


@tool(timeout=600)
async def guard(thing: str) -> str:
    """Guard a thing for ever."""
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        ended.append(thing)
        raise
    return "never"


ordered: list[str] = []


@tool(labels=["writes"], needs_approval=True)
def order(what: str) -> str:
    """Order something."""
    ordered.append(what)
    return f"ordered {what}"


def plan(second: str, capability: str, answer: str = "number") -> dict[str, Any]:
    return {
        "subtasks": [
            {"task": "Measure the width of the gate.", "capability": "measuring", "answer": "number"},
            {"task": f"{second} {{s1}}, the width.", "capability": capability, "answer": answer},
        ]
    }


def says(value: Any, match: str) -> Step:
    test: Callable[[ChatRequest], bool] = lambda request: match in request.messages[-1]["content"]  # noqa: E731
    return Step(value if isinstance(value, str | Exception) else json.dumps(value), match=test, times=None)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "arguments": arguments}


def client(*more: Step) -> ScriptedClient:
    """Answers any number of times."""
    steps = [
        *more,
        says(plan("Double", "sums"), f"Task: {SUM}"),
        says(plan("Guard", "guarding"), f"Task: {HANG}"),
        says(plan("Order", "ordering", "text"), f"Task: {ORDER}"),
        says(call("measure", thing="gate"), "Task: Measure the width of the gate."),
        says(call("multiply", a=3, b=2), "Task: Double 3"),
        says(call("guard", thing="3"), "Task: Guard 3"),
        says(call("order", what="3"), "Task: Order 3"),
    ]
    return ScriptedClient(steps, price=Price(1.0, 2.0))


def make_team(store: Store | str, *more: Step, **settings: Any) -> Team:
    members = [
        Agent("measurer", "You measure.", {"measuring": "width, length of things"}, (measure,), modes=("instant",)),
        Agent("adder", "You multiply.", {"sums": "multiply, double numbers"}, (multiply,), modes=("instant",)),
        Agent("watchman", "You guard.", {"guarding": "guard things"}, (guard,), modes=("instant",)),
        Agent("buyer", "You order.", {"ordering": "order things"}, (order,), modes=("instant",)),
    ]
    return Team(members, Settings.model_validate(settings), store=store, models={"worker-small": client(*more)})


def _serve(store: str, *over: str) -> None:
    from pointwork.mcp_servers.http import bind, http_app, serve_http
    from pointwork.mcp_servers.server import AgentServer
    from pointwork.mcp_servers.serving import Ending, serve_stdio

    with Ending() as ending, make_team(store) as team:
        server = AgentServer(team)
        if "http" not in over:
            asyncio.run(serve_stdio(server, ending))
        else:
            with bind("127.0.0.1", 0) as listener:
                print(listener.getsockname()[1], flush=True)
                serve_http(http_app(server.mcp, at_end=server.aclose), listener, ending)
    print("closed", file=sys.stderr)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
