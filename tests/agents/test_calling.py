"""What the runtime hands on of a tool's result."""

import asyncio

from pointwork.agents.calling import ToolCaller, Work
from pointwork.ledger import Ledger
from pointwork.store import Store
from pointwork.tools import ToolContext, ToolResult, tool


@tool
def cells(x: str) -> ToolResult:
    """Give cells."""
    return ToolResult({"rows": [["a", "b"]]}, "a,b", (("table:t", "a,b"),), "", ("a", "b"))


def test_nothing_of_a_result_is_lost_on_the_way(store: Store) -> None:
    work = Work("r", "p0.s1#1", Ledger(store).open("r"))
    direct = asyncio.run(cells.call({"x": "1"}))
    assert asyncio.run(ToolCaller(store, work, ToolContext()).call(cells, {"x": "1"})) == direct
