"""Pointwork with everything on: store (SQLite on disk, synchronous=FULL), ledger, decisions, memory, checkpoints.

``pointwork``       5 model calls: the plan, and per subtask the tool call and the answer, which the graph joins.
``pointwork-6``     6 model calls as the hand-written graph: a third subtask, built on both, writes the report.
``pointwork-team``  as ``pointwork``, with the built-in agents in the team too: each looks at each subtask.
"""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

from child import Shape

from pointwork import Agent, Team, tool
from pointwork.agents.checkpoints import checkpoint_path
from pointwork.settings import ModelSettings, PlannerSettings, Settings

SHAPES = {
    "pointwork": Shape("fan", 5, 3),
    "pointwork-6": Shape("fan", 6, 4),
    "pointwork-team": Shape("fan", 5, 3),
}
FACTS = {"alpha": "alpha is 40", "beta": "beta is 2"}
TASK = "Look up alpha and look up beta, then report."


class Pointwork:
    """A team on a store of its own."""

    def __init__(self, name: str, url: str, folder: Path) -> None:
        self.tool_calls = 0

        async def lookup(name: str) -> str:
            """Look something up.

            Args:
                name: of the thing.
            """
            self.tool_calls += 1
            return FACTS[name]

        able = {"probe": "look up the value of a thing by its name"}
        agents = [
            Agent(agent, f"You are agent {agent}. You look things up.", able, (tool(lookup),), modes=("agentic",))
            for agent in ("first", "second")
        ]
        if name == "pointwork-6":
            writes = {"report": "write a report of what was found"}
            agents.append(Agent("reporter", "You report.", writes, modes=("instant",)))
        models = {
            role: ModelSettings(model=f"{url}/v1#{role}", usd_per_mtok=price, concurrency=256)
            for role, price in (("planner", (3, 15)), ("worker-small", (0.1, 0.4)), ("worker-large", (3, 15)))
        }
        settings = Settings(models=models, planner=PlannerSettings(mode="model"))
        make = Team.default if name == "pointwork-team" else Team
        root = folder / "root"
        root.mkdir()
        (root / "notes.md").write_text("# Notes\n\nThe gate is 4 m wide.\n")
        (root / "sales.csv").write_text("region,amount\nnorth,1\nsouth,2\n")
        self._file = folder / "store.db"
        self._team = make(agents, config=settings, store=f"sqlite:///{self._file}", root=root)
        self._runs = 0

    async def run(self) -> str:
        self._runs += 1
        result = await self._team.arun(TASK)
        return result.text if result.status == "ok" else f"{result.status}: {result.missing}"

    async def close(self) -> dict[str, Any]:
        await asyncio.to_thread(self._team.close)
        tables = ("decisions", "outcomes", "steps", "ledger", "tool_calls")
        rows = {name: _count(self._file, name) / self._runs for name in tables}
        rows["checkpoints"] = _count(checkpoint_path(str(self._file)), "checkpoints") / self._runs
        if not all(rows.values()) or _count(self._file, "runs") != self._runs:
            raise AssertionError(f"the store holds too little: {rows}")
        return {"rows_per_task": rows}


def _count(file: Path, table: str) -> int:
    with sqlite3.connect(file) as connection:
        return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


async def open(name: str, url: str, folder: str) -> Pointwork:
    """The team."""
    return Pointwork(name, url, Path(folder))
