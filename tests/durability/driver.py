"""A process that runs (or resumes) a scripted task and kills itself where it is told to. Started by the tests.

    driver.py STORE run|resume [RUN_ID] --kill POINT --tool KIND

POINT: ``<node>:before|after:<n>`` (the n-th time the node runs: before its work, or after it and before its
checkpoint), ``tool:effect`` (after the tool's effect, before its record), ``tool:intent`` (before the effect),
``tool:slow`` (a tool that takes long), or none.
KIND: what the tool offers for an indeterminate call: ``key``, ``reconcile`` or ``nothing``.
The effect is a line in ``effects.txt`` beside the store.

    driver.py --serve

takes such command lines, a line of JSON each, and forks a process for each: it has imported and done nothing else.
"""

import argparse
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from pointwork import Agent, Budget, Team, tool
from pointwork.agents.lifecycle import load_graphs
from pointwork.agents.nodes import Nodes
from pointwork.models import ScriptedClient, Step
from pointwork.settings import Settings
from pointwork.tools import ToolContext

TASK = "Measure the width of the gate, and then book the width, and then double the width."
PLAN = {
    "subtasks": [
        {"task": "Measure the width of the gate.", "capability": "measuring", "answer": "number"},
        {"task": "Book {s1}, the width.", "capability": "booking", "answer": "text"},
        {"task": "Double {s1}, the width.", "capability": "sums", "answer": "number"},
    ]
}


def kill() -> None:
    """End as a power cut would."""
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def make_team(store: Path, kind: str, point: str) -> Team:
    """The team; its model answers any number of times, so that only the store knows what was asked before."""
    effects = store.parent / "effects.txt"

    @tool
    def measure(thing: str) -> str:
        """Measure a thing in metres."""
        return "3"

    @tool
    def multiply(a: float, b: float) -> float:
        """Multiply two numbers."""
        return a * b

    def lines() -> list[str]:
        return effects.read_text().splitlines() if effects.exists() else []

    def happened(key: str, arguments: dict[str, Any]) -> str | None:
        return f"booked {arguments['value']}" if any(line.startswith(key) for line in lines()) else None

    @tool(
        labels=["writes"],
        timeout=900,
        takes_key=kind == "key",
        reconcile=happened if kind == "reconcile" else None,
        needs_approval=kind == "approval",
    )
    def book(value: str, context: ToolContext) -> str:
        """Book a value."""
        if point == "tool:intent":
            kill()
        known = kind == "key" and any(line.startswith(context.idempotency_key) for line in lines())
        if not known:
            with effects.open("a") as file:
                file.write(f"{context.idempotency_key} {value}\n")
        if point == "tool:effect":
            kill()
        if point == "tool:slow":
            import time

            print(json.dumps({"event": "slow"}), flush=True)
            time.sleep(600)
        return f"booked {value}"

    def says(value: Any, match: str) -> Step:
        calls = store.parent / "calls.txt"

        def reply(_: Any) -> str:
            with calls.open("a") as file:
                file.write(f"{match}\n")
            return json.dumps(value)

        return Step(reply, match=lambda request: match in request.messages[-1]["content"], times=None)

    client = ScriptedClient(
        [
            says(PLAN, "Task: Measure the width of the gate, and then"),
            says({"tool": "measure", "arguments": {"thing": "gate"}}, "Task: Measure the width of the gate."),
            says({"tool": "book", "arguments": {"value": "3"}}, "Task: Book 3"),
            says({"tool": "multiply", "arguments": {"a": 3, "b": 2}}, "Task: Double 3"),
        ]
    )
    modes = ("instant",)
    agents = [
        Agent("measurer", "You measure.", {"measuring": "measure width of things"}, (measure,), modes=modes),
        Agent("adder", "You double.", {"sums": "double numbers"}, (multiply,), modes=modes),
        Agent("clerk", "You book.", {"booking": "book values"}, (book,), modes=modes),
    ]
    return Team(agents, Settings(), store=f"sqlite:///{store}", models={"worker-small": client})


def kill_at(point: str) -> None:
    """Make a node end the process."""
    node, _, rest = point.partition(":")
    if node not in ("plan", "work", "verify", "answer"):
        return
    when, _, number = rest.partition(":")
    plain = getattr(Nodes, node)
    count = 0

    async def wrapped(self: Nodes, state: Any) -> Any:
        nonlocal count
        count += 1
        mine = count == int(number)
        if mine and when == "before":
            kill()
        value = await plain(self, state)
        if mine:
            kill()
        return value

    setattr(Nodes, node, wrapped)


def serve() -> None:
    """Do what standard input says, and print how each process ended."""
    load_graphs()
    assert threading.active_count() == 1
    for line in sys.stdin:
        given = json.loads(line)
        child = os.fork()
        if not child:
            for number, path in ((1, given["out"]), (2, given["err"])):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            sys.argv[1:] = given["arguments"]
            main()
            return
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def main() -> None:
    """Run or resume, printing events and at last the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("what", choices=["run", "resume", "answer"])
    parser.add_argument("run_id", nargs="?", default="")
    parser.add_argument("--kill", default="")
    parser.add_argument("--tool", default="nothing")
    parser.add_argument("--answer", default="")
    parser.add_argument("--seconds", type=float, default=None)
    given = parser.parse_args()
    kill_at(given.kill)
    with make_team(given.store, given.tool, given.kill) as team:
        if given.what == "answer":
            print(json.dumps(team.answer(given.run_id, given.answer).as_json()))
            return
        budget = Budget(seconds=given.seconds, turns=8, tool_calls=8)
        events = team.stream(TASK, budget=budget) if given.what == "run" else team.stream_resume(given.run_id)
        result: dict[str, Any] = {}
        for event in events:
            print(json.dumps({"event": event["event"], "run_id": event.get("run_id")}), flush=True)
            result = event.get("result", result)
        print(json.dumps(result))


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["--serve"] else main()
