"""The store's one reader and writer."""

import threading
import weakref
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, cast

from sqlalchemy import ClauseElement, Connection, Executable, Table, insert
from sqlalchemy.exc import (
    DataError,
    IntegrityError,
    InternalError,
    OperationalError,
    SQLAlchemyError,
    StatementError,
)
from sqlalchemy.sql.util import find_tables

from pointwork.errors import StoreError
from pointwork.store import tables
from pointwork.store.engine import explain, migrate, open_engine, parse_url

Row = dict[str, Any]

# Buffered rows are written when there are this many, at the latest.
BUFFER_ROWS = 256

# Parents before children, so that foreign keys hold when a buffer is written.
_ORDER = {name: i for i, name in enumerate(t.name for t in tables.metadata.sorted_tables)}


class Store:
    """A database, opened and migrated.

    Writes are of two kinds. ``append`` buffers rows that nobody waits for (steps, decisions, usage) and writes
    them in batches; ``flush`` makes them durable, and ``write`` does so too before its own statements. What must
    be durable at once (money, intents of tool calls, the state of a run) goes through ``write``.

    Safe to share between threads; several processes may open the same database.

    Args:
        url: an SQLAlchemy URL, ``sqlite:///file.db`` or ``postgresql://…``; ``sqlite://`` is in memory.

    Raises:
        ConfigError: the URL is not one of a supported database.
        StoreError: it can not be opened or migrated.
    """

    def __init__(self, url: str) -> None:
        self.url = parse_url(url)
        self._engine = open_engine(self.url)
        self._buffer: list[tuple[Table, Row]] = []
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        # in memory there is one connection for all threads, so one transaction at a time
        self._turn: AbstractContextManager[Any] = threading.RLock() if self._shared else nullcontext()
        migrate(self._engine)

    def __repr__(self) -> str:
        return f"Store({self.url!r})"

    @property
    def _shared(self) -> bool:
        return self.url.get_backend_name() == "sqlite" and self.sqlite_path is None

    @property
    def sqlite_path(self) -> str | None:
        """The file, if this is SQLite on disk."""
        if self.url.get_backend_name() != "sqlite" or self.url.database in (None, "", ":memory:"):
            return None
        return self.url.database

    @contextmanager
    def write(self) -> Generator[Connection, None, None]:
        """A write transaction: commits at the end, rolls back on an exception; flushes buffered rows first.

        Raises:
            StoreError: the database refused; nothing of the transaction was stored.
        """
        self.flush()
        try:
            with self._turn, self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise explain(error, self.url) from error

    @contextmanager
    def _reading(self, query: Executable) -> Generator[Connection, None, None]:
        if self._buffer:
            asked = find_tables(cast(ClauseElement, query), include_joins=True, include_selects=True)
            with self._lock:
                waiting = any(table in asked for table, _ in self._buffer)
            if waiting:  # only then: a flush is a commit, and most reads need none
                self.flush()
        try:
            with self._turn, self._engine.connect().execution_options(pointwork_read=True) as connection:
                yield connection
        except SQLAlchemyError as error:
            raise explain(error, self.url) from error

    def rows(self, query: Executable) -> list[Row]:
        """All rows of a query, as dictionaries; buffered rows are seen.

        Raises:
            StoreError: the database refused.
        """
        with self._reading(query) as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def row(self, query: Executable) -> Row | None:
        """The first row of a query, or None."""
        with self._reading(query) as connection:
            found = connection.execute(query).mappings().first()
            return None if found is None else dict(found)

    def append(self, table: Table, *rows: Mapping[str, Any]) -> None:
        """Buffer rows that need not be durable before the next ``flush`` or ``write``."""
        with self._lock:
            self._buffer.extend((table, dict(row)) for row in rows)
            full = len(self._buffer) >= BUFFER_ROWS
        if full:
            self.flush()

    def flush(self) -> None:
        """Write what is buffered, in one transaction, parents before children.

        Raises:
            StoreError: the database can not write now; the rows stay in the buffer. Or it refuses a row for what is
                in it: that row is dropped and named, all others are written.
        """
        if not self._buffer:
            return
        with self._flushing:  # two flushes at once could store a child before its parent
            with self._lock:
                taken, self._buffer = self._buffer, []
            try:
                with self._turn, self._engine.begin() as connection:
                    insert_rows(connection, taken)
            except (IntegrityError, DataError, StatementError) as error:
                if isinstance(error, OperationalError | InternalError):
                    self._put_back(taken)
                    raise explain(error, self.url) from error
                self._flush_singly(taken)
            except BaseException:
                self._put_back(taken)
                raise

    def _put_back(self, rows: list[tuple[Table, Row]]) -> None:
        with self._lock:
            self._buffer[:0] = rows

    def _flush_singly(self, rows: list[tuple[Table, Row]]) -> None:
        """One row can not be stored, and must not keep the others from it for ever."""
        refused: list[str] = []
        with self._turn, self._engine.begin() as connection:
            for table, row in sorted(rows, key=lambda item: _ORDER[item[0].name]):
                try:
                    with connection.begin_nested():
                        insert_rows(connection, [(table, row)])
                except (IntegrityError, DataError, StatementError) as error:
                    refused.append(f"{table.name}: {error.orig or error} in {str(row)[:200]}")
        if refused:
            raise StoreError(f"store {self.url!r} refused {len(refused)} rows: " + "; ".join(refused))

    def close(self) -> None:
        """Write what is buffered and give back the connections. Closing twice does nothing."""
        self.flush()
        self._engine.dispose()


def insert_rows(connection: Connection, rows: Sequence[tuple[Table, Row]]) -> None:
    """Insert rows of several tables, parents first, each table's rows in few statements."""
    groups: dict[tuple[str, tuple[str, ...]], list[Row]] = {}
    by_name: dict[str, Table] = {}
    for table, row in rows:
        by_name[table.name] = table
        groups.setdefault((table.name, tuple(row)), []).append(row)
    for (name, _), batch in sorted(groups.items(), key=lambda item: _ORDER[item[0][0]]):
        connection.execute(insert(by_name[name]), batch)


_open: "weakref.WeakValueDictionary[str, Store]" = weakref.WeakValueDictionary()
_open_lock = threading.Lock()


def open_store(store: "str | Store | None") -> Store:
    """A store from what users pass: a ``Store``, a URL (one ``Store`` per URL and process), None for in memory."""
    if isinstance(store, Store):
        return store
    if store is None:
        return Store("sqlite://")
    with _open_lock:
        known = _open.get(store)
        if known is None:
            known = _open[store] = Store(store)
        return known
