"""What the runtime hands on of a tool's result."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import insert, select

from pointwork.agents import calling
from pointwork.agents.calling import ToolCaller, Work
from pointwork.ledger import Ledger
from pointwork.store import Store
from pointwork.store.tables import tool_calls
from pointwork.tools import ToolContext, ToolResult, tool


@tool
def cells(x: str) -> ToolResult:
    """Give cells."""
    return ToolResult({"rows": [["a", "b"]]}, "a,b", (("table:t", "a,b"),), "", ("a", "b"))


def test_nothing_of_a_result_is_lost_on_the_way(store: Store) -> None:
    work = Work("r", "p0.s1#1", Ledger(store).open("r"))
    direct = asyncio.run(cells.call({"x": "1"}))
    assert asyncio.run(ToolCaller(store, work, ToolContext()).call(cells, {"x": "1"})) == direct


async def looks(key: str, arguments: dict[str, Any]) -> Any:
    return {"number": {77}}


def breaks(key: str, arguments: dict[str, Any]) -> Any:
    raise ConnectionError("the office is closed")


def leaves(key: str, arguments: dict[str, Any]) -> Any:
    raise SystemExit(1)


@pytest.mark.parametrize(
    ("reconcile", "said", "why"),
    [
        (looks, '{"number": [77]}', ""),
        (breaks, "book: done, as a person confirmed", "ConnectionError: the office is closed"),
        (leaves, "book: done, as a person confirmed", "SystemExit"),
    ],
)
def test_a_tool_that_can_be_asked_is_and_else_a_person(
    store: Store, monkeypatch: pytest.MonkeyPatch, reconcile: Callable[..., Any], said: str, why: str
) -> None:
    """An async one was taken for its own answer, and one that failed ended whoever resumed the run."""

    @tool(labels=["writes"], reconcile=reconcile)
    def book(city: str) -> str:
        """Book."""
        raise AssertionError("twice")

    questions: list[Any] = []

    def person(question: Any) -> str:
        questions.append(question["question"])
        return calling.DONE

    monkeypatch.setattr(calling, "interrupt", person)
    caller = ToolCaller(store, Work("r", "p0.s1#1", Ledger(store).open("r")), ToolContext())
    monkeypatch.setattr(caller, "_run", killed := _Killed(store))
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(caller.call(book, {"city": "Bonn"}))
    assert killed.row["status"] == "intent"
    again = ToolCaller(store, Work("r", "p0.s1#1", Ledger(store).open("r")), ToolContext())
    assert asyncio.run(again.call(book, {"city": "Bonn"})).text == said
    assert [why in question for question in questions] == ([True] if why else [])
    assert store.row(select(tool_calls.c.status)) == {"status": "done"}


class _Killed:
    """Stores the intent of a call, and then the process ends."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.row: dict[str, Any] = {}

    async def __call__(self, _: Any, row: dict[str, Any]) -> Any:
        self.row = {**row, "started": time.time()}
        with self._store.write() as connection:
            connection.execute(insert(tool_calls), self.row)
        raise KeyboardInterrupt
