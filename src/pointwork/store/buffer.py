"""The batching writer: rows that nobody waits for, stored many to a transaction."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.exc import DataError, IntegrityError

from pointwork.errors import StoreError
from pointwork.store import tables
from pointwork.store.engine import Database
from pointwork.store.faults import CommitUnknown
from pointwork.store.prepared import Inserter, Parameters

# Rows are written when so many wait, or so many characters, or when one comes and the oldest has waited so long.
ROWS = 256
CHARACTERS = 4_000_000
SECONDS = 2.0

# Routers read on from the newest rows of these that they have seen.
NUMBERED_IN_TURN = (tables.decisions.name, tables.outcomes.name)

# Parents before children, so that foreign keys hold when rows of several tables are written together.
_ORDER = {name: i for i, name in enumerate(t.name for t in tables.metadata.sorted_tables)}

_log = logging.getLogger("pointwork.store")
_Item = tuple[Inserter, Parameters]
_Make = Callable[[], Mapping[str, Any]]
_Waiting = tuple[Inserter, Parameters | _Make]


class Buffer:
    """Rows on their way to a database. All methods may be called by several threads at once.

    The rows of each table are stored in the order in which they were appended.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._inserters: dict[tuple[str, bool], Inserter] = {}
        self.reset()

    def reset(self) -> None:
        """Forget everything: in a child process, where the parent still has it."""
        self._rows: list[_Waiting] = []
        self._characters = 0
        self._since = 0.0
        self._tables: set[str] = set()  # of what waits or is just being written
        self._refused: list[str] = []
        self._lock = threading.Lock()
        self._flushing = threading.Lock()

    def append(self, table: Table, rows: Iterable[Mapping[str, Any]], *, wait: bool = False) -> None:
        """Take rows, as they are now: later changes of their values do not show.

        Args:
            table, rows: what goes where.
            wait: do not write now, even if the buffer is full: this thread is in a transaction.

        Raises:
            StoreError: a row does not fit its table; none was taken. Or the buffer is full and can not be written:
                they were taken.
        """
        items = self._encode(table, rows)
        characters = sum(_size(parameters) for _, parameters in items)
        self._take(table, items, characters, wait)

    def append_later(
        self, table: Table, given: Mapping[str, Any], make: _Make, characters: int, *, wait: bool = False
    ) -> None:
        """Take a row that is put together and encoded when it is written.

        Args:
            table: where to.
            given: those of its values that a caller may have got wrong: checked now.
            make: gives the whole row; what it reads must not change.
            characters: how long the row will be, about.
            wait: as ``append``.

        Raises:
            StoreError: as ``append``.
        """
        inserter = self._inserter(table, numbered=False)
        if given:
            self.check(table, given)
        self._take(table, [(inserter, make)], characters, wait)

    def check(self, table: Table, given: Mapping[str, Any]) -> None:
        """Look at some values of a row that is to come.

        Raises:
            StoreError: one does not fit its column.
        """
        try:
            self._inserter(table, numbered=False).check(given)
        except (TypeError, ValueError) as error:
            raise StoreError(f"{table.name}: {error}; nothing was stored") from error

    def _take(self, table: Table, items: Sequence[_Waiting], characters: int, wait: bool) -> None:
        now = time.monotonic()
        with self._lock:
            if not self._rows:
                self._since = now
            self._rows += items
            self._characters += characters
            self._tables.add(table.name)
            full = len(self._rows) >= ROWS or self._characters >= CHARACTERS or now - self._since >= SECONDS
        if full and not wait:
            self.flush()

    def insert(self, connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
        """Insert rows now, in somebody's transaction.

        Raises:
            StoreError: a row does not fit its table; none was inserted.
        """
        self._insert(connection, self._encode(table, rows))

    def _encode(self, table: Table, rows: Iterable[Mapping[str, Any]]) -> list[_Item]:
        number = table.autoincrement_column
        items: list[_Item] = []
        for row in rows:
            numbered = number is not None and number.name in row
            inserter = self._inserter(table, numbered=numbered)
            try:
                items.append((inserter, inserter.encode(row)))
            except (TypeError, ValueError) as error:
                raise StoreError(f"{table.name}: {error}; nothing was stored") from error
        return items

    def _inserter(self, table: Table, *, numbered: bool) -> Inserter:
        inserter = self._inserters.get((table.name, numbered))
        if inserter is None:
            inserter = Inserter(table, self._database.engine.dialect, numbered=numbered)
            self._inserters[table.name, numbered] = inserter
        return inserter

    @property
    def waiting(self) -> bool:
        """Whether any rows are not stored yet."""
        return bool(self._tables)

    def holds(self, names: Iterable[str]) -> bool:
        """Whether rows of one of these tables are not stored yet."""
        return not self._tables.isdisjoint(names)

    def flush(self) -> None:
        """Store what was appended before this call, also by other threads, in one transaction.

        A row that the database refuses for what is in it is dropped, and named by the next ``complain``.

        Raises:
            StoreError: the database can not write now; the rows stay here.
            CommitUnknown: they may be stored or not; they are not stored again.
        """
        # the lock also when nothing waits: another thread may be storing it just now, and must have ended
        with self._flushing:
            with self._lock:
                taken, self._rows = self._rows, []
                characters, self._characters = self._characters, 0
            if not taken:
                return
            try:
                self._store(self._made(taken))
            except CommitUnknown:
                raise
            except BaseException:
                with self._lock:
                    self._rows[:0] = taken
                    self._characters += characters
                raise
            finally:
                with self._lock:
                    self._tables = {inserter.table.name for inserter, _ in self._rows}

    def _made(self, rows: Sequence[_Waiting]) -> list[_Item]:
        """All rows encoded; one that can not be is dropped and named, as one that the database refuses."""
        items: list[_Item] = []
        for inserter, row in rows:
            if callable(row):
                try:
                    row = inserter.encode(row())
                except (TypeError, ValueError) as error:
                    self._refuse(f"{inserter.table.name}: {error}")
                    continue
            items.append((inserter, row))
        return items

    def _refuse(self, message: str) -> None:
        _log.error("the store %r refused a row of %s", self._database.url, message)
        self._refused.append(message)

    def _store(self, rows: Sequence[_Item]) -> None:
        # stable: within a table the order stays
        rows = sorted(rows, key=lambda item: _ORDER[item[0].table.name])
        try:
            with self._database.transaction() as connection:
                self._insert(connection, rows)
        except StoreError as error:
            if not isinstance(error.__cause__, IntegrityError | DataError):
                raise
        else:
            return
        # one row can not be stored, and must not keep the others from it for ever
        refused: list[str] = []
        with self._database.transaction() as connection:
            for inserter, parameters in rows:
                try:
                    with connection.begin_nested():
                        self._insert(connection, [(inserter, parameters)])
                except (IntegrityError, DataError) as error:
                    cause = " ".join(str(error.orig).split())
                    refused.append(f"{inserter.table.name}: {cause} in {str(parameters)[:200]}")
        for message in refused:
            self._refuse(message)

    def _insert(self, connection: Connection, rows: Iterable[_Item]) -> None:
        for inserter, batch in groupby(rows, key=lambda item: item[0]):
            if inserter.table.name in NUMBERED_IN_TURN:
                self._database.number_in_turn(connection)
            inserter.insert(connection, [parameters for _, parameters in batch])

    def complain(self) -> None:
        """Raise StoreError once for the rows that were refused since the last time."""
        refused, self._refused = self._refused, []
        if refused:
            raise StoreError(f"store {self._database.url!r} refused {len(refused)} rows: " + "; ".join(refused))

    def end(self) -> None:
        """Store what waits; if that fails, say in the log what is lost. For the end of the process."""
        try:
            self.flush()
        except StoreError as error:
            _log.error("%d rows were lost: %s", len(self._rows), error)


def _size(parameters: Parameters) -> int:
    values = parameters.values() if isinstance(parameters, dict) else parameters
    return sum(len(value) for value in values if isinstance(value, str | bytes))
