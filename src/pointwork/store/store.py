"""The store's one reader and writer."""

import os
import threading
import weakref
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from sqlalchemy import ARRAY, ClauseElement, Column, ColumnElement, Connection, Executable, Table, any_, bindparam
from sqlalchemy.sql.util import find_tables

from pointwork.errors import StoreError
from pointwork.store.buffer import Buffer
from pointwork.store.engine import Database, in_memory, parse_url, sqlite_path
from pointwork.store.prepared import Prepared
from pointwork.store.schema import migrate

Row = dict[str, Any]


class Store:
    """A database, opened and migrated.

    Writes are of two kinds. ``append`` buffers rows that nobody waits for (steps, decisions, usage) and writes
    them in batches; ``flush`` makes them durable, and ``write`` does so too before its own statements, so that what
    led to an effect is stored before the effect. What must be durable at once (money, intents of tool calls, the
    state of a run) goes through ``write``. A process that is killed loses what it had buffered, at most; one that
    ends, and a store that is dropped, store it first.

    Safe to share between threads; several processes may open the same database. A process made by ``fork`` gets
    connections of its own, and an empty buffer: what the parent had buffered, the parent stores.

    Args:
        url: an SQLAlchemy URL, ``sqlite:///file.db`` or ``postgresql://…``; ``sqlite://`` is in memory.

    Raises:
        ConfigError: the URL is not one of a supported database.
        StoreError: it can not be opened or migrated.
    """

    def __init__(self, url: str) -> None:
        self.url = parse_url(url)
        self._database = Database(self.url)
        self._buffer = Buffer(self._database)
        self._mine = threading.local()
        self._prepared: dict[Any, Prepared] = {}
        self.closed = False
        try:
            migrate(self._database)
        except BaseException:
            self._database.close()
            raise
        self._end = weakref.finalize(self, _end, self._buffer, self._database, os.getpid())
        _all.add(self)

    def __repr__(self) -> str:
        return f"Store({self.url!r})"

    @property
    def sqlite_path(self) -> str | None:
        """The file, if this is SQLite on disk."""
        return sqlite_path(self.url)

    @property
    def one_writer(self) -> bool:
        """Whether write transactions follow each other; else several run at once and wait for each other's rows."""
        return self._database.one_writer

    def _check(self) -> None:
        if self.closed:
            raise StoreError(f"store {self.url!r} is closed")

    @contextmanager
    def write(self, *, flush: bool = True, durable: bool = True) -> Generator[Connection, None, None]:
        """A write transaction: commits at the end, rolls back on an exception; flushes buffered rows first.

        It is never repeated: when the connection ends during the commit, the error says that the outcome is not
        known. The block should be short and not wait for anything: on SQLite it holds the only write lock.

        Args:
            flush: False where no effect outside the store depends on the buffered rows.
            durable: False where losing the transaction in a power cut does no harm (the end of the process can
                not lose it); the next durable one makes it durable too.

        Raises:
            StoreError: the database refused; nothing of the transaction was stored.
        """
        self._check()
        if getattr(self._mine, "writing", False):
            raise StoreError("a write transaction inside another of the same thread would wait for itself")
        if flush:
            self._buffer.flush()
        self._mine.writing = True
        try:
            with self._database.transaction(durable=durable) as connection:
                yield connection
        finally:
            self._mine.writing = False

    @contextmanager
    def _reading(self, query: Executable) -> Generator[Connection, None, None]:
        self._check()
        if self._buffer.waiting:
            asked = find_tables(cast(ClauseElement, query), include_joins=True, include_selects=True)
            # only where it shows: a flush is a commit, and most reads need none
            if self._buffer.holds(table.name for table in asked if isinstance(table, Table)):
                self._buffer.flush()
        with self._database.reading() as connection:
            yield connection

    def rows(self, query: Executable, given: Mapping[str, Any] | None = None) -> list[Row]:
        """All rows of a query, as dictionaries; buffered rows are seen.

        Args:
            query: what is asked often is quicker made once, with ``bindparam`` for what changes.
            given: values for those.

        Raises:
            StoreError: the database refused.
        """
        with self._reading(query) as connection:
            found = connection.execute(query, given)
            # plain strings: SQLAlchemy's own make each row a thing that Python's garbage collection has to look at
            names = tuple(map(str, found.keys()))
            return [dict(zip(names, row, strict=True)) for row in found.all()]

    def row(self, query: Executable) -> Row | None:
        """The first row of a query, or None."""
        with self._reading(query) as connection:
            found = connection.execute(query).mappings().first()
            return None if found is None else dict(found)

    def among(self, column: Column[Any], name: str) -> ColumnElement[bool]:
        """Whether a column has one of the values of a list that is given by this name when the query is made.

        On PostgreSQL the list is one array, so that lists of all lengths are one statement, planned once; SQLite,
        which has no arrays, gets as many parameters.
        """
        if self.url.get_backend_name() == "sqlite":
            return column.in_(bindparam(name, expanding=True))
        return column == any_(bindparam(name, type_=ARRAY(column.type)))

    def prepare(self, key: Any, make: Callable[[], Executable]) -> Prepared:
        """A statement compiled for this database, made once per key: for what is executed by the thousand."""
        known = self._prepared.get(key)
        if known is None:
            known = self._prepared[key] = Prepared(make(), self._database.engine.dialect)
        return known

    def insert(self, connection: Connection, table: Table, *rows: Mapping[str, Any]) -> None:
        """Insert rows in a transaction of ``write``; quicker than SQLAlchemy's ``insert``, and checked first.

        Raises:
            StoreError: a row does not fit its table.
        """
        self._buffer.insert(connection, table, rows)

    def number_in_turn(self, connection: Connection) -> None:
        """Before decisions or outcomes are inserted in a transaction of ``write`` by other means than ``insert``.

        Until its end no other transaction numbers such rows: readers go on from the newest that they have seen.
        """
        self._database.number_in_turn(connection)

    def versions_in_turn(self, connection: Connection) -> None:
        """Before a transaction of ``write`` looks which version of a router is live, to make another one live."""
        self._database.versions_in_turn(connection)

    def append(self, table: Table, *rows: Mapping[str, Any]) -> None:
        """Buffer rows that need not be durable before the next ``flush`` or ``write``.

        Raises:
            StoreError: a row does not fit its table: none of them was taken. Or the buffer is full, and the
                database can not write now: they were taken, and stay in the buffer.
        """
        self._check()
        self._buffer.append(table, rows, wait=getattr(self._mine, "writing", False))

    def check(self, table: Table, given: Mapping[str, Any]) -> None:
        """Look at some values of a row that will be appended: for those who must know before they act on it.

        Raises:
            StoreError: one does not fit its column.
        """
        self._buffer.check(table, given)

    def append_later(
        self, table: Table, given: Mapping[str, Any], make: Callable[[], Mapping[str, Any]], characters: int
    ) -> None:
        """Buffer a row that is only put together when it is written: for those who must not wait for that.

        Args:
            table: where to.
            given: those of its values that a caller may have got wrong: checked now.
            make: gives the whole row; what it reads must not change.
            characters: how long the row will be, about.

        Raises:
            StoreError: as ``append``.
        """
        self._check()
        wait = getattr(self._mine, "writing", False)
        self._buffer.append_later(table, given, make, characters, wait=wait)

    def flush(self) -> None:
        """Write what is buffered, in one transaction, parents before children.

        Raises:
            StoreError: the database can not write now; the rows stay in the buffer. Or it had to refuse rows for
                what is in them, now or in a flush before: those were dropped and are named, all others are written.
        """
        self._check()
        self._buffer.flush()
        self._buffer.complain()

    def close(self) -> None:
        """Write what is buffered and give back the connections. Closing twice does nothing.

        Raises:
            StoreError: as ``flush``; if the database could not be written, the store stays open.
        """
        if self.closed:
            return
        self._buffer.flush()
        self.closed = True
        self._end.detach()
        self._database.close()
        self._buffer.complain()


def _end(buffer: Buffer, database: Database, process: int) -> None:
    if os.getpid() == process:
        buffer.end()
        database.close()


_all: "weakref.WeakSet[Store]" = weakref.WeakSet()
_open: "weakref.WeakValueDictionary[str, Store]" = weakref.WeakValueDictionary()
_open_lock = threading.Lock()


def _forked() -> None:
    for store in _all:
        store._buffer.reset()  # pyright: ignore[reportPrivateUsage]
        store._database.forked()  # pyright: ignore[reportPrivateUsage]


os.register_at_fork(after_in_child=_forked)


def open_store(store: "str | Store | None") -> Store:
    """A store from what users pass: a ``Store``, a URL (one ``Store`` per URL and process), None for in memory.

    A store in memory is nobody else's: who asks for another gets an empty one.
    """
    if isinstance(store, Store):
        return store
    if store is None or in_memory(parse_url(store)):
        return Store(store or "sqlite://")
    with _open_lock:
        known = _open.get(store)
        if known is None or known.closed:
            known = _open[store] = Store(store)
        return known
