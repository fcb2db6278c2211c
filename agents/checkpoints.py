"""LangGraph's checkpointer for a store: in the same PostgreSQL database, in a file beside an SQLite one.

Beside, not inside: SQLite has one writer per file, and checkpoints are most of what is written.

Before a checkpoint is written, the store's buffered rows are: what a checkpoint says is done, the log has too, also
after ``kill -9``.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from pointwork.errors import StoreError
from pointwork.extras import require
from pointwork.store import Store
from pointwork.store.faults import BUSY_SECONDS, explain
from pointwork.store.types import decode_text, encode_text

_SETTING_UP = 0x7361766572  # "saver": the key of an advisory lock
_DRIVERS = ("sqlite3", "psycopg")


async def open_checkpointer(store: Store) -> tuple[Any, AsyncExitStack]:
    """A checkpointer on the store's database, and what closes it.

    Raises:
        StoreError: the database can not be opened.
    """
    stack = AsyncExitStack()
    try:
        if store.url.get_backend_name() == "postgresql":
            return await _postgresql(store, stack), stack
        if store.sqlite_path is not None:
            return await _sqlite(store, store.sqlite_path, stack), stack
    except Exception as error:
        await stack.aclose()
        raise _explained(error, store) from error
    from langgraph.checkpoint.memory import InMemorySaver

    return InMemorySaver(), stack


def checkpoint_path(store_path: str) -> Path:
    """The checkpoints' file beside a store's: ``pointwork.db`` → ``pointwork.checkpoints.db``."""
    path = Path(store_path)
    return path.with_name(f"{path.stem}.checkpoints{path.suffix}")


def _explained(error: Exception, store: Store) -> Exception:
    return explain(error, store.url) if type(error).__module__.split(".")[0] in _DRIVERS else error


class _OverStore:
    """What the asynchronous saver gets: the store first, its words for errors, one more try where it is safe."""

    store: Store

    async def _reconnect(self) -> bool:
        return False

    async def _call(self, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        try:
            return await method(*args, **options)
        except Exception as error:
            # a checkpoint is stored under its id: to store it twice is to store it once
            if not await self._reconnect():
                raise _explained(error, self.store) from error
        try:
            return await method(*args, **options)
        except Exception as error:
            raise _explained(error, self.store) from error

    async def aput(self, *args: Any, **options: Any) -> Any:
        self.store.flush()
        saver: Any = super()
        return await self._call(saver.aput, *args, **options)

    async def aput_writes(self, *args: Any, **options: Any) -> Any:
        saver: Any = super()
        return await self._call(saver.aput_writes, *args, **options)

    async def aget_tuple(self, *args: Any, **options: Any) -> Any:
        saver: Any = super()
        return await self._call(saver.aget_tuple, *args, **options)


class _Inline:
    """LangGraph's synchronous SQLite saver for asynchronous graphs, called on the loop itself.

    A write takes a third of a millisecond; its asynchronous saver hands each of its five statements to another
    thread and back, which costs more than the writing.
    """

    store: Store

    def _explaining(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        try:
            return method(*args, **options)
        except Exception as error:
            raise _explained(error, self.store) from error

    async def aput(self, *args: Any, **options: Any) -> Any:
        self.store.flush()
        saver: Any = self
        return self._explaining(saver.put, *args, **options)

    async def aput_writes(self, *args: Any, **options: Any) -> Any:
        saver: Any = self
        return self._explaining(saver.put_writes, *args, **options)

    async def aget_tuple(self, *args: Any, **options: Any) -> Any:
        saver: Any = self
        return self._explaining(saver.get_tuple, *args, **options)

    async def alist(self, *args: Any, **options: Any) -> AsyncGenerator[Any, None]:
        saver: Any = self
        for found in self._explaining(lambda: list(saver.list(*args, **options))):
            yield found

    async def adelete_thread(self, *args: Any, **options: Any) -> Any:
        saver: Any = self
        return self._explaining(saver.delete_thread, *args, **options)


async def _sqlite(store: Store, path: str, stack: AsyncExitStack) -> Any:
    from langgraph.checkpoint.sqlite import SqliteSaver

    connection = sqlite3.connect(checkpoint_path(path), timeout=BUSY_SECONDS, check_same_thread=False)
    stack.callback(connection.close)
    connection.execute("PRAGMA journal_mode=WAL")
    # a checkpoint that a power cut takes is made again from the log, which is on the disk before it
    connection.execute("PRAGMA synchronous=NORMAL")
    kind: Any = type("InlineSqliteSaver", (_Inline, SqliteSaver), {"store": store})
    saver = kind(connection)
    saver.setup()
    return saver


class _OverPostgresql(_OverStore):
    """PostgreSQL keeps texts of the state in ``jsonb``, which takes no NUL; and its server may be started anew."""

    conn: Any
    connect: Callable[[], Awaitable[Any]]

    async def _reconnect(self) -> bool:
        if not self.conn.closed:
            return False
        self.conn = await self.connect()
        return True

    async def aput(self, config: Any, checkpoint: Mapping[str, Any], *args: Any, **options: Any) -> Any:
        values = {name: _stored(value) for name, value in checkpoint["channel_values"].items()}
        return await super().aput(config, {**checkpoint, "channel_values": values}, *args, **options)

    async def _load_checkpoint_tuple(self, value: Any) -> Any:
        saver: Any = super()
        loaded = await saver._load_checkpoint_tuple(value)
        values = {name: _read(value) for name, value in loaded.checkpoint["channel_values"].items()}
        return loaded._replace(checkpoint={**loaded.checkpoint, "channel_values": values})


def _stored(value: Any) -> Any:
    return encode_text(value) if isinstance(value, str) else value


def _read(value: Any) -> Any:
    return decode_text(value) if isinstance(value, str) else value


async def _postgresql(store: Store, stack: AsyncExitStack) -> Any:
    module: Any = require("langgraph.checkpoint.postgres.aio")
    psycopg: Any = require("psycopg")
    address = store.url.set(drivername="postgresql").render_as_string(hide_password=False)

    async def connect() -> Any:
        connection = await psycopg.AsyncConnection.connect(
            address, autocommit=True, prepare_threshold=0, row_factory=psycopg.rows.dict_row
        )
        stack.push_async_callback(connection.close)
        return connection

    kind: Any = type("PostgresqlSaver", (_OverPostgresql, module.AsyncPostgresSaver), {"store": store})
    saver = kind(conn=await connect())
    saver.connect = connect
    await _set_up(saver)
    return saver


async def _set_up(saver: Any) -> None:
    """Create the saver's tables, one process at a time.

    The lock is asked for again and again, not waited for: setting up waits for all who are in a statement, those
    who wait for the lock among them.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        cursor = await saver.conn.execute(f"SELECT pg_try_advisory_lock({_SETTING_UP}) AS mine")
        if (await cursor.fetchone())["mine"]:
            break
        if time.monotonic() > until:
            raise StoreError("another process has been setting up the checkpoints' tables for too long")
        await asyncio.sleep(0.02)
    try:
        await saver.setup()
    finally:
        await saver.conn.execute(f"SELECT pg_advisory_unlock({_SETTING_UP})")
