"""Opening a database: address, pragmas, transactions. All that is special to one of them is in this module."""

import os
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import StaticPool

from pointwork.errors import ConfigError, StoreError
from pointwork.extras import require
from pointwork.store import faults
from pointwork.store.faults import commit_unknown, explained
from pointwork.store.types import load_json

CONNECT_SECONDS = 10
_MIGRATING = 0x706F696E74  # "point": the key of an advisory lock
_NUMBERING = _MIGRATING + 1
_VERSIONS = _MIGRATING + 2


def default_url() -> str:
    """The store when nothing else is said: ``POINTWORK_STORE`` or a file in the user's data directory."""
    from platformdirs import user_data_dir

    configured = os.environ.get("POINTWORK_STORE")
    if configured:
        return configured
    return f"sqlite:///{Path(user_data_dir('pointwork')) / 'pointwork.db'}"


def parse_url(url: str) -> URL:
    """Check a store address; a bare ``postgresql://`` gets the psycopg driver.

    Raises:
        ConfigError: it is not an SQLAlchemy URL of SQLite or PostgreSQL.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigError(
            f"store address {url!r} is not an SQLAlchemy URL; use sqlite:///path/to/file.db or postgresql://…"
        ) from error
    backend = parsed.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise ConfigError(f"store {backend!r} is not supported; use sqlite:///… or postgresql://…")
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    if backend == "sqlite" and str(parsed.database).startswith("~"):
        parsed = parsed.set(database=str(Path(str(parsed.database)).expanduser()))
    return parsed


def sqlite_path(url: URL) -> str | None:
    """The file of an SQLite store; None for one in memory and for other databases."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    # as SQLite's own URIs have it: file:path?mode=ro&uri=true
    return str(url.database).removeprefix("file:")


def in_memory(url: URL) -> bool:
    """Whether it is an SQLite store in memory."""
    return url.get_backend_name() == "sqlite" and sqlite_path(url) is None


class Database:
    """An engine and its transactions.

    Write transactions take SQLite's lock at their start, so that they never deadlock.

    Args:
        url: from ``parse_url``.

    Raises:
        StoreError: the file's folder can not be made.
        ConfigError: the driver is not installed.
    """

    def __init__(self, url: URL) -> None:
        self.url = url
        if url.get_backend_name() == "sqlite":
            self.engine = self._reader = _open_sqlite(url)
        else:
            self.engine = _open_postgresql(url)
            # a query alone needs no BEGIN and ROLLBACK around it, each a round trip
            self._reader = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        # in memory there is one connection for all threads, so one transaction at a time
        self._turn: AbstractContextManager[Any] = threading.RLock() if in_memory(url) else nullcontext()

    @property
    def one_writer(self) -> bool:
        """Whether write transactions follow each other; else several run at once and wait for each other's rows."""
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Generator[Connection, None, None]:
        """A write transaction: commits at the end, rolls back on an exception.

        Args:
            durable: whether it must survive a power cut from its end on. If not, it survives the end of the
                process all the same, and a power cut from the next durable one on.

        Raises:
            StoreError: the database refused; nothing was stored.
            CommitUnknown: the connection ended during the commit.
        """
        committing = False
        with explained(self.url), self._turn, self.engine.connect() as connection:
            try:
                with connection.execution_options(pointwork_write=True, pointwork_durable=durable).begin():
                    yield connection
                    committing = True
            except DBAPIError as error:
                if committing and error.connection_invalidated:
                    raise commit_unknown(error, self.url) from error
                raise

    @contextmanager
    def reading(self) -> Generator[Connection, None, None]:
        """A connection for single queries: each sees one state of the database.

        Raises:
            StoreError: the database refused.
        """
        with explained(self.url), self._turn, self._reader.connect() as connection:
            yield connection

    @contextmanager
    def migrating(self) -> Generator[Connection, None, None]:
        """A write transaction that only one process has at a time."""
        with self.transaction() as connection:
            self._lock(connection, _MIGRATING)
            yield connection

    def number_in_turn(self, connection: Connection) -> None:
        """Until the end of this transaction, let no other that asks for this number its rows.

        PostgreSQL numbers a row when it is inserted, not when it shows: else whoever reads on from the highest
        number that it has seen passes over rows of a transaction that was still open.
        """
        self._lock(connection, _NUMBERING)

    def versions_in_turn(self, connection: Connection) -> None:
        """Until the end of this transaction, let no other that asks for this write a router's version."""
        self._lock(connection, _VERSIONS)

    def _lock(self, connection: Connection, key: int) -> None:
        if not self.one_writer:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({key})")

    def forked(self) -> None:
        """In a child process: leave the parent its connections."""
        self.engine.dispose(close=False)

    def close(self) -> None:
        """Give back the connections."""
        self.engine.dispose()


def _open_postgresql(url: URL) -> Engine:
    try:
        require("psycopg")
    except ImportError as error:
        raise ConfigError(f"store {url!r}: {error}") from error
    given = url.query.get("options", "")
    options = f"{given if isinstance(given, str) else ' '.join(given)} -c lock_timeout={faults.BUSY_SECONDS:g}s"
    engine = create_engine(
        url,
        pool_size=8,
        max_overflow=24,
        pool_pre_ping=True,  # a server that was started anew is noticed before a transaction, not in it
        connect_args={"connect_timeout": CONNECT_SECONDS, "options": options.strip()},
        json_deserializer=load_json,
    )
    event.listen(engine, "begin", _on_begin_postgresql)
    return engine


def _on_begin_postgresql(connection: Connection) -> None:
    if not connection.get_execution_options().get("pointwork_durable", True):
        # a round trip, for not waiting for the disk
        connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")


def _open_sqlite(url: URL) -> Engine:
    options: dict[str, Any] = {"connect_args": {"timeout": faults.BUSY_SECONDS, "check_same_thread": False}}
    path = sqlite_path(url)
    if path is None:
        options["poolclass"] = StaticPool
    else:
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"can not make the folder of the store {path}: {error}") from error
    engine = create_engine(url, json_deserializer=load_json, **options)
    event.listen(engine, "connect", _on_connect_sqlite)
    event.listen(engine, "begin", _on_begin_sqlite)
    return engine


def _on_connect_sqlite(connection: Any, record: Any) -> None:
    # pysqlite's own transaction handling would begin deferred: read, then fail to upgrade to a write lock
    connection.isolation_level = None
    cursor = connection.cursor()
    _to_wal(cursor)
    # FULL: a tool's stored intent must survive a power cut, else its effect could happen twice
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    # what a user deletes from memory is overwritten, not just unlinked
    cursor.execute("PRAGMA secure_delete=ON")
    # the path as it is for whoever changes the working directory
    for _, name, path in cursor.execute("PRAGMA database_list").fetchall():
        if name == "main" and path:
            record.info["file"] = path, os.stat(path).st_ino
    cursor.close()


def _to_wal(cursor: Any) -> None:
    """Switch to the write-ahead log; on a new file two processes may do so at once.

    SQLite does not wait here as it does for other locks: who comes second is refused at once, so it asks again.
    """
    deadline = time.monotonic() + faults.BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _check_there(path: str, inode: int) -> None:
    """Raise a StoreError for a file that is gone: SQLite would write on to where nobody finds it again."""
    try:
        there = not path or os.stat(path).st_ino == inode
    except OSError:
        there = False
    if not there:
        raise StoreError(f"the store's file {path} was deleted, moved or replaced while it was open")


def _on_begin_sqlite(connection: Connection) -> None:
    _check_there(*connection.info.get("file", ("", 0)))
    options = connection.get_execution_options()
    if not options.get("pointwork_write"):
        return  # each query is a transaction of its own
    # straight to the driver: SQLAlchemy's way costs more than both statements
    driver: Any = connection.connection.dbapi_connection
    level = "FULL" if options.get("pointwork_durable", True) else "NORMAL"
    if connection.info.get("synchronous", "FULL") != level:
        driver.execute(f"PRAGMA synchronous={level}")
        connection.info["synchronous"] = level
    driver.execute("BEGIN IMMEDIATE")
