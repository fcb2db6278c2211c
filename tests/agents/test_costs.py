"""What a run of an agent that does nothing takes: waits for the disk, and hand-overs between threads."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from pointwork import Agent, Team, tool
from pointwork.agents.spec import Prepared
from pointwork.models import ScriptedClient
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.tools import ToolContext, ToolResult


@tool
async def noop() -> ToolResult:
    """Nothing."""
    return ToolResult("ok", "ok", answer="ok")


async def prepare(_: str, __: ToolContext) -> Prepared:
    return Prepared(call=("noop", {}))


def test_a_run_waits_six_times_for_the_disk_and_its_graph_for_no_other_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its beginning with its account, the plan, the work, the check, the result, what is remembered of it."""
    agent = Agent("idler", "You idle.", {"nothing": "do nothing"}, (noop,), modes=("instant",), prepare=prepare)
    settings = Settings.model_validate({"planner": {"mode": "rules"}})
    store = Store(f"sqlite:///{tmp_path}/store.db")
    handed: list[str] = []
    durable: list[bool] = []

    def hand_over(self: Any, executor: Any, work: Any, *args: Any) -> Any:
        handed.append(repr(work))
        return ran(self, executor, work, *args)

    def committed(connection: Connection) -> None:
        durable.append(connection.get_execution_options().get("pointwork_durable", True))

    with Team([agent], settings, store=store, models={"worker-small": ScriptedClient([])}) as team:
        assert team.run("Do nothing.").text == "ok"  # opens what is opened once
        ran = asyncio.BaseEventLoop.run_in_executor
        monkeypatch.setattr(asyncio.BaseEventLoop, "run_in_executor", hand_over)
        engine = store._database.engine  # pyright: ignore[reportPrivateUsage]
        event.listen(engine, "commit", committed)
        assert team.run("Do nothing.").text == "ok"
        event.remove(engine, "commit", committed)
    assert not [work for work in handed if "dispatch" in work]  # the edges of the graph
    assert sum(durable) == 6
