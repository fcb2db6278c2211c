"""The verbatim layer: what was said and read, exactly as it came, over the store's ``memory_items``.

A short text is one row. A long one is kept whole in a row of layer ``document`` and beside it as chunks, rows of
layer ``episodic`` with offsets in the parent; recall looks among the episodic rows. An entry with all its chunks
is stored in one transaction.

A deletion leaves a row of layer ``deleted`` that holds nothing but the serial numbers of the rows that went. It is
how other processes learn of it, and it keeps SQLite from giving the last serial number, and us an id, out again.

Databases refuse some characters that Python strings can hold (lone surrogates; PostgreSQL: NUL). A text with such
is stored with U+FFFD in their place, character for character, and its exact form in ``meta``.
"""

import base64
import re
import secrets
import time as clock
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select

from pointwork.errors import UsageError
from pointwork.memory.dates import to_epoch
from pointwork.memory.items import check_trust
from pointwork.memory.turns import take_turn
from pointwork.store import Store
from pointwork.store.tables import memory_items as table
from pointwork.text import chunks, count_tokens_estimate

Row = Mapping[str, Any]

EPISODIC, DOCUMENT, DELETED, SEMANTIC = "episodic", "document", "deleted", "semantic"
INDEXED = frozenset({EPISODIC, SEMANTIC})  # layers that recall looks in

MAX_WHOLE = 2000  # characters; a longer text is chunked
CHUNK = 1000  # characters of a chunk at most
MAX_TITLE = 300  # characters; a longer first line is no title
MAX_ID = 64  # characters of an id: the columns' width
MAX_LABEL = 256  # characters of a thread's or a speaker's name: the columns' width
_MOST_ROWS = 2**63 - 1  # the largest number that a database takes for a limit
_BATCH = 5000  # rows per statement; databases limit the number of parameters

_REFUSED = re.compile("[\0\ud800-\udfff]")

_CHANGES = (  # what every recall asks, made once
    select(table).where(table.c.serial > bindparam("after")).order_by(table.c.serial).limit(bindparam("limit"))
)


@dataclass(frozen=True, slots=True)
class Entry:
    """What ``Memory.add`` takes, before it is checked."""

    text: str
    source: str = "user"
    trust: str = "user"
    title: str | None = None
    time: float | str | datetime | None = None
    speaker: str | None = None
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of entries that should be there once.

    Attributes:
        ids: of each, in order.
        new: those of them that were not there.
        before: other entries of the very same sources, which these do not hold: id → source.
    """

    ids: tuple[str, ...]
    new: tuple[str, ...]
    before: Mapping[str, str]


def numbered(rows: Sequence[dict[str, Any]], first: int) -> list[str]:
    """Give rows their ids: ``m`` and a number, since every piece of a recall's text is paid for with its id.

    A random id is eight tokens, this one two or three. Numbers are never given out again: see the module on marks.

    Args:
        rows: of entries, each followed by its chunks.
        first: above all serial numbers given so far.

    Returns:
        The ids of the entries.
    """
    entries: list[str] = []
    part = 0
    for number, row in enumerate(rows, first):
        if row["parent_id"] is None:
            row["id"] = f"m{number}"
            entries.append(row["id"])
            part = 0
        else:
            part += 1
            row["parent_id"] = entries[-1]
            row["id"] = f"{entries[-1]}.{part}"
    return entries


def exact_text(row: Row) -> str:
    """A row's text as it was added, character for character."""
    meta: Mapping[str, Any] = row["meta"] or {}
    if "exact" in meta:
        return base64.b64decode(meta["exact"]).decode("utf-8", "surrogatepass")
    return row["text"]


def replace_refused(text: str) -> str:
    """The text with U+FFFD for each character that a database may refuse; as long as before."""
    return _REFUSED.sub("\ufffd", text)


class Episodic:
    """Rows of memory in one store: add, read, list, delete, and what changed since a serial number."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_serial = select(table).where(store.among(table.c.serial, "serials"), table.c.layer != DELETED)

    def add(self, entries: Iterable[Entry]) -> list[str]:
        """Store entries, all or none, in one transaction.

        Returns:
            Their ids, in order.

        Raises:
            UsageError: an entry can not be stored as it is; nothing was stored.
            StoreError: the database refused; nothing was stored.
        """
        rows = [row for entry in entries for row in _rows(entry)]
        if not rows:
            return []
        with self._store.write() as connection:
            take_turn(connection)
            return self._insert(connection, rows)

    def keep(self, entries: Iterable[Entry]) -> Kept:
        """Store those entries that are not there yet, to the letter and with the same labels; else as ``add``."""
        groups = [_rows(entry) for entry in entries]
        with self._store.write() as connection:
            take_turn(connection)  # so that two who keep the same at once keep it once
            there = _there(connection, sorted({group[0]["source"] for group in groups}))
            known = [found.pop(0) if (found := there.get(_said(group[0]))) else None for group in groups]
            fresh = [group for group, there_ in zip(groups, known, strict=True) if there_ is None]
            made = self._insert(connection, [row for group in fresh for row in group])
        new = iter(made)
        ids = tuple(there_ or next(new) for there_ in known)
        return Kept(ids, tuple(made), {left: said[1] for said, found in there.items() for left in found})

    def _insert(self, connection: Connection, rows: list[dict[str, Any]]) -> list[str]:
        from pointwork.memory.facts import keep_stated

        last: int | None = connection.execute(select(func.max(table.c.serial))).scalar()
        ids = numbered(rows, (last or 0) + 1)
        for at in range(0, len(rows), _BATCH):
            self._store.insert(connection, table, *rows[at : at + _BATCH])
        keep_stated(connection, rows)
        return ids

    def get(self, item_id: str) -> Row:
        """The row of an item or of a chunk.

        Raises:
            UsageError: there is none of that id, or no more.
        """
        asked = table.c.id == str(item_id)  # of another type the database would fail
        found = self._store.row(select(table).where(asked, table.c.layer != DELETED))
        if found is None:
            raise UsageError(
                f"memory has no item {item_id!r}; ids come from add, recall and items, and end when it is deleted"
            )
        return found

    def by_serial(self, serials: Sequence[int]) -> dict[int, Row]:
        """Rows by serial number; those that are gone are left out."""
        found: dict[int, Row] = {}
        for at in range(0, len(serials), _BATCH):
            given = {"serials": serials[at : at + _BATCH]}
            found.update((row["serial"], row) for row in self._store.rows(self._by_serial, given))
        return found

    def changes(self, after: int, limit: int = _BATCH) -> list[Row]:
        """Rows, deletions among them, with a serial number above ``after``, in order."""
        return [*self._store.rows(_CHANGES, {"after": after, "limit": limit})]

    def listing(self, condition: ColumnElement[bool] | None, limit: int | None, offset: int) -> list[Row]:
        """Whole entries (no chunks) in the order they were added."""
        query = select(table).where(*_entries(condition)).order_by(table.c.serial)
        most = None if limit is None else min(limit, _MOST_ROWS)
        return list(self._store.rows(query.limit(most).offset(min(offset, _MOST_ROWS))))

    def count(self, condition: ColumnElement[bool] | None = None) -> int:
        """How many entries there are."""
        found = self._store.row(select(func.count().label("n")).select_from(table).where(*_entries(condition)))
        return 0 if found is None else int(found["n"])

    def root(self, item_id: str) -> str:
        """The entry of a chunk; any other id as it is."""
        row = self._store.row(select(table.c.parent_id).where(table.c.id == item_id, table.c.layer != DELETED))
        return item_id if row is None else row["parent_id"] or item_id

    def delete(self, condition: ColumnElement[bool]) -> int:
        """Delete all rows that fulfil a condition; returns how many entries went."""
        from pointwork.memory.encoded import forget
        from pointwork.memory.facts import forget_sources
        from pointwork.memory.playbook import forget_sources as forget_advice
        from pointwork.memory.segments import erase, segments_cover
        from pointwork.memory.words import row_words

        query = select(table).where(condition, table.c.layer != DELETED)
        if self._store.row(query) is None:
            return 0
        entries = 0
        with self._store.write() as connection:
            take_turn(connection)
            covered = segments_cover(connection)
            while gone := connection.execute(query.limit(_BATCH)).mappings().all():
                serials = [row["serial"] for row in gone]
                # the mark first: its serial number is above those that go
                connection.execute(insert(table), [_tombstone(serials)])
                connection.execute(delete(table).where(table.c.serial.in_(serials)))
                forget(connection, serials)
                indexed = [row for row in gone if row["serial"] <= covered and row["layer"] in INDEXED]
                erase(connection, {row["serial"]: row_words({**row})[0] for row in indexed})
                ids = [row["id"] for row in gone]
                forget_sources(connection, ids)
                forget_advice(connection, set(ids).__contains__)
                entries += sum(row["parent_id"] is None for row in gone)
        return entries


def of_source(column: ColumnElement[str], source: str) -> ColumnElement[bool]:
    """Whether a column holds a source or a part of it, as ``items.part_of`` says of two names."""
    # not LIKE, which takes "a" for "A" on SQLite
    return (column == source) | (func.substr(column, 1, len(source) + 1, type_=column.type) == f"{source}#")


def of_entries(ids: Sequence[str]) -> ColumnElement[bool]:
    """The rows of some entries and of their chunks."""
    return table.c.id.in_(ids) | table.c.parent_id.in_(ids)


def labelled(**labels: str | None) -> ColumnElement[bool] | None:
    """The rows that have all the labels given, a part of a source for its whole too; None if none is given."""
    condition: ColumnElement[bool] | None = None
    for name, value in labels.items():
        if value is not None:
            if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UsageError(f"{name}={value!r} must be a string")
            equal = of_source(table.c.source, value) if name == "source" else table.c[name] == value
            condition = equal if condition is None else condition & equal
    return condition


def _there(connection: Connection, sources: Sequence[str]) -> dict[tuple[Any, ...], list[str]]:
    """What the entries of some sources say -> their ids, in the order they were added."""
    found: dict[tuple[Any, ...], list[str]] = {}
    for at in range(0, len(sources), _BATCH):
        query = select(table).where(*_entries(table.c.source.in_(sources[at : at + _BATCH])))
        for row in connection.execute(query.order_by(table.c.serial)).mappings():
            found.setdefault(_said({**row}), []).append(row["id"])
    return found


def _said(row: Row) -> tuple[Any, ...]:
    """All that was given of an entry."""
    labels = ("source", "trust", "title", "time", "speaker", "thread")
    return exact_text(row), *(row[label] for label in labels)


def _entries(condition: ColumnElement[bool] | None) -> list[ColumnElement[bool]]:
    base = [table.c.parent_id.is_(None), table.c.layer != DELETED]
    return base if condition is None else [*base, condition]


def _tombstone(serials: Sequence[int]) -> dict[str, Any]:
    return {
        "id": f"gone-{secrets.token_hex(8)}",
        "layer": DELETED,
        "text": "",
        "source": "",
        "trust": "agent",
        "created": clock.time(),
        "tokens": 0,
        "meta": {"serials": list(serials)},
    }


def _rows(entry: Entry) -> list[dict[str, Any]]:
    """The rows of an entry: itself, and its chunks if it is long; ``numbered`` gives them their ids.

    Raises:
        UsageError: it can not be stored as it is.
    """
    text = entry.text
    if not isinstance(text, str) or not text.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError("memory keeps text: this one is empty, only white space, or no string")
    first, newline, _ = text.partition("\n")
    title = entry.title
    if title is None and newline and 0 < len(first.strip()) <= MAX_TITLE and not _REFUSED.search(first):
        title = first.strip()
    shared: dict[str, Any] = {
        "source": check_label("source", entry.source),
        "trust": check_trust(entry.trust),
        "title": check_label("title", title),
        "time": to_epoch(entry.time),
        "speaker": check_label("speaker", entry.speaker, MAX_LABEL),
        "thread": check_label("thread", entry.thread, MAX_LABEL),
        "created": clock.time(),
    }
    if shared["source"] is None:
        raise UsageError("source=None: say where the text comes from, for example 'doc:1'")
    if len(text) <= MAX_WHOLE:
        return [_row(EPISODIC, text, shared)]
    spans = chunks(text, max_chars=CHUNK)
    parts = [_row(EPISODIC, text[start:end], shared, parent="", span=(start, end)) for start, end in spans]
    return [_row(DOCUMENT, text, shared), *parts]


def _row(
    layer: str,
    text: str,
    shared: Mapping[str, Any],
    *,
    parent: str | None = None,
    span: tuple[int | None, int | None] = (None, None),
) -> dict[str, Any]:
    kept = replace_refused(text)
    meta = None
    if kept != text:
        meta = {"exact": base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")}
    return {
        "id": "",
        "layer": layer,
        "text": kept,
        **shared,
        "parent_id": parent,
        "start": span[0],
        "end": span[1],
        "tokens": count_tokens_estimate(kept),
        "meta": meta,
    }


def check_label(name: str, value: str | None, longest: int | None = None) -> str | None:
    """A label as given.

    Raises:
        UsageError: it is no string, holds what databases refuse, or is longer than its column.
    """
    if value is None:
        return None
    if not isinstance(value, str) or _REFUSED.search(value):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"{name}={value!r} must be a string without NUL and lone surrogates")
    if longest is not None and len(value) > longest:
        raise UsageError(f"{name} has {len(value)} characters; at most {longest} are kept: {value[:40]!r}…")
    return value
