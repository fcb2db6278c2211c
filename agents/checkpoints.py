"""LangGraph's checkpointer for a store: in the same PostgreSQL database, in a file beside an SQLite one.

Beside, not inside: the saver keeps its write transaction open while it waits for the event loop. A ledger update
of another run, made on that loop, would wait for the lock that only the loop can free.
"""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from pointwork.extras import require
from pointwork.store import Store


async def open_checkpointer(store: Store) -> tuple[Any, AsyncExitStack]:
    """A checkpointer on the store's database, and what closes it."""
    stack = AsyncExitStack()
    if store.url.get_backend_name() == "postgresql":
        module: Any = require("langgraph.checkpoint.postgres.aio")
        address = store.url.set(drivername="postgresql").render_as_string(hide_password=False)
        saver = await stack.enter_async_context(module.AsyncPostgresSaver.from_conn_string(address))
        await saver.setup()
    elif store.sqlite_path is None:
        from langgraph.checkpoint.memory import InMemorySaver

        saver = InMemorySaver()
    else:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        saver = await stack.enter_async_context(
            AsyncSqliteSaver.from_conn_string(str(checkpoint_path(store.sqlite_path)))
        )
        # two processes may write at once: wait for the lock instead of failing
        await saver.conn.execute("PRAGMA busy_timeout=30000")
        await saver.setup()
    return saver, stack


def checkpoint_path(store_path: str) -> Path:
    """The checkpoints' file beside a store's: ``pointwork.db`` → ``pointwork.checkpoints.db``."""
    path = Path(store_path)
    return path.with_name(f"{path.stem}.checkpoints{path.suffix}")
