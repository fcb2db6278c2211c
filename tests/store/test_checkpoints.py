"""LangGraph's checkpointer beside or inside the store: the same on every database."""

import asyncio
import operator
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from sqlalchemy import select

from pointwork.agents.checkpoints import checkpoint_path, open_checkpointer
from pointwork.errors import StoreError
from pointwork.store import Store
from pointwork.store.tables import runs

TEXT = "NUL \0, escape \x10, 😀, 'quotes' %s"
RUN = {"id": "r", "task": "t", "status": "ok", "created": 1.0, "package_version": "0"}


class State(TypedDict, total=False):
    task: str
    notes: Annotated[list[str], operator.add]
    facts: dict[str, Any]
    answer: str


def graph(saver: Any) -> Any:
    def first(state: State) -> State:
        return {
            "notes": [f"first saw {state.get('task')}"],
            "facts": {"n": 1.5, "nested": [None, True, {"k\0": ""}]},
        }

    def ask(state: State) -> State:
        said = interrupt({"question": "go on?"})
        return {"notes": [f"told {said}"]}

    def last(state: State) -> State:
        return {"answer": " | ".join(state.get("notes", []))}

    builder: Any = StateGraph(State)
    for name, node in (("first", first), ("ask", ask), ("last", last)):
        builder.add_node(name, node)
    for edge in ((START, "first"), ("first", "ask"), ("ask", "last"), ("last", END)):
        builder.add_edge(*edge)
    return builder.compile(checkpointer=saver)


def config(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}}


def test_a_graph_is_interrupted_and_resumed_by_another_store(database_url: str) -> None:
    async def begin(store: Store) -> Any:
        saver, stack = await open_checkpointer(store)
        async with stack:
            return await graph(saver).ainvoke({"task": TEXT}, config("t"), durability="sync")

    async def resume(store: Store) -> Any:
        saver, stack = await open_checkpointer(store)
        async with stack:
            compiled = graph(saver)
            state = await compiled.aget_state(config("t"))
            assert state.values["task"] == TEXT
            assert state.next == ("ask",)
            ended = await compiled.ainvoke(Command(resume="yes\0"), config("t"), durability="sync")
            history = [snapshot async for snapshot in compiled.aget_state_history(config("t"))]
            return ended, len(history)

    with closing(Store(database_url)) as store:
        assert "__interrupt__" in asyncio.run(begin(store))
    with closing(Store(database_url)) as store:
        ended, length = asyncio.run(resume(store))
    assert ended["task"] == TEXT
    assert ended["facts"] == {"n": 1.5, "nested": [None, True, {"k\0": ""}]}
    assert ended["answer"] == f"first saw {TEXT} | told yes\0"
    assert length == 5


def test_put_get_list_and_delete(database: Store) -> None:
    async def use() -> None:
        saver, stack = await open_checkpointer(database)
        async with stack:
            at: dict[str, Any] = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
            ids: list[str] = []
            for step in range(3):
                checkpoint = empty_checkpoint()
                checkpoint["channel_values"] = {"task": TEXT, "list": [TEXT], "big": "x" * 1_000_000, "n": step}
                checkpoint["channel_versions"] = {
                    "task": step + 1,
                    "list": step + 1,
                    "big": step + 1,
                    "n": step + 1,
                }
                versions = checkpoint["channel_versions"]
                at = await saver.aput(at, checkpoint, {"source": "loop", "step": step, "parents": {}}, versions)
                await saver.aput_writes(at, [("list", [TEXT, step])], task_id=f"task{step}")
                ids.append(checkpoint["id"])
            newest = await saver.aget_tuple({"configurable": {"thread_id": "t"}})
            assert newest.checkpoint["channel_values"] == {
                "task": TEXT, "list": [TEXT], "big": "x" * 1_000_000, "n": 2
            }  # fmt: skip
            assert newest.pending_writes == [("task2", "list", [TEXT, 2])]
            assert newest.parent_config["configurable"]["checkpoint_id"] == ids[1]
            listed = [found.checkpoint["id"] async for found in saver.alist({"configurable": {"thread_id": "t"}})]
            assert listed == ids[::-1]
            await saver.adelete_thread("t")
            assert await saver.aget_tuple({"configurable": {"thread_id": "t"}}) is None

    asyncio.run(use())


def test_what_is_buffered_is_stored_before_a_checkpoint(database_url: str) -> None:
    async def use(store: Store) -> None:
        saver, stack = await open_checkpointer(store)
        async with stack:
            store.append(runs, RUN)
            await graph(saver).ainvoke({"task": "t"}, config("t"), durability="sync")

    with closing(Store(database_url)) as store, closing(Store(database_url)) as other:
        asyncio.run(use(store))
        assert [row["id"] for row in other.rows(select(runs.c.id))] == ["r"]


def test_many_runs_at_once(database: Store) -> None:
    async def use() -> list[Any]:
        saver, stack = await open_checkpointer(database)
        async with stack:
            compiled = graph(saver)
            await asyncio.gather(*(compiled.ainvoke({"task": f"{n}"}, config(f"t{n}")) for n in range(12)))
            ended = (compiled.ainvoke(Command(resume=f"{n}"), config(f"t{n}")) for n in range(12))
            return [result["answer"] for result in await asyncio.gather(*ended)]

    assert asyncio.run(use()) == [f"first saw {n} | told {n}" for n in range(12)]


_SET_UP = """
import asyncio, sys
from pointwork.agents.checkpoints import open_checkpointer
from pointwork.store import Store
async def main(store):
    saver, stack = await open_checkpointer(store)
    await stack.aclose()
store = Store(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
asyncio.run(main(store))
"""


def test_processes_that_set_up_at_once(database_url: str) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _SET_UP, database_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors


def test_a_connection_that_ended_is_opened_anew(new_database: Callable[..., str], postgresql_server: Any) -> None:
    async def use(store: Store) -> Any:
        saver, stack = await open_checkpointer(store)
        async with stack:
            await graph(saver).ainvoke({"task": "t"}, config("t"), durability="sync")
            name = store.url.database
            postgresql_server.execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            )
            return await graph(saver).ainvoke(Command(resume="yes"), config("t"), durability="sync")

    with closing(Store(new_database("postgresql"))) as store:
        assert asyncio.run(use(store))["answer"] == "first saw t | told yes"


def test_a_damaged_file_is_named(new_database: Callable[..., str]) -> None:
    with closing(Store(new_database("sqlite"))) as store:
        assert store.sqlite_path is not None
        checkpoint_path(store.sqlite_path).write_text("no database " * 100)
        with pytest.raises(StoreError, match="not a Pointwork store"):
            asyncio.run(open_checkpointer(store))


def test_a_store_in_memory_has_its_checkpoints_there_too() -> None:
    async def use(store: Store) -> Any:
        saver, stack = await open_checkpointer(store)
        async with stack:
            await graph(saver).ainvoke({"task": "t"}, config("t"))
            return await graph(saver).ainvoke(Command(resume="y"), config("t"))

    with closing(Store("sqlite://")) as store:
        assert asyncio.run(use(store))["answer"] == "first saw t | told y"
