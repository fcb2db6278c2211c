"""The search index in the store: documents in segments, written once, read by every process.

A segment has the documents of a range of serial numbers. Its postings are rows, one per word; its columns and
vectors are blobs. It changes only where documents are deleted: in the transaction that deletes their rows, their
words, numbers and vectors are taken out, so that nothing of them is left in the index either.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, delete, func, insert, select, update

from pointwork.memory.columns import Array, Columns
from pointwork.memory.lexical import Posting
from pointwork.memory.turns import take_turn
from pointwork.store import Store
from pointwork.store.tables import memory_items
from pointwork.store.tables import memory_postings as postings
from pointwork.store.tables import memory_segments as segments

SMALL, LARGE = 4096, 65_536  # documents of a segment: at least, at most (places are 16 bits)
_BATCH = 500  # tokens in one query; databases limit the number of parameters
_ROWS = 5000  # rows in one insert


@dataclass(slots=True)
class Segment:
    """What is kept in memory of a segment."""

    id: int
    first: int
    last: int
    begin: int  # place of its first document among all
    columns: Columns


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a segment's documents, as the store has them: see ``pointwork.memory.vectors``."""

    embedder: str
    codes: bytes
    vectors: bytes


class Segments:
    """The segments of one store, as they were at the last ``load``."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # what nearly every recall asks, made once
        some = select(postings).where(store.among(postings.c.token, "tokens"))
        self._postings = some.order_by(postings.c.token, postings.c.segment)
        self.known: list[Segment] = []

    @property
    def covered(self) -> int:
        """Highest serial number that is in a segment; 0 without one."""
        return self.known[-1].last if self.known else 0

    def load(self) -> tuple[Columns, set[str]]:
        """Read the columns of all segments; their documents and the names of speakers in them."""
        chosen = (segments.c.id, segments.c.first, segments.c.last, segments.c.numbers, segments.c.speakers)
        self.known, begin = [], 0
        speakers: set[str] = set()
        for row in self._store.rows(select(*chosen).order_by(segments.c.first)):
            columns = Columns.unpack(row["numbers"])
            self.known.append(Segment(row["id"], row["first"], row["last"], begin, columns))
            begin += len(columns)
            speakers.update(json.loads(row["speakers"] or "[]"))
        return Columns.joined([segment.columns for segment in self.known]), speakers

    def read(self, tokens: Sequence[str]) -> Mapping[str, Sequence[tuple[int, Posting]]]:
        """The postings of tokens, per segment with the place of its first document."""
        begins = {segment.id: segment.begin for segment in self.known}
        found: dict[str, list[tuple[int, Posting]]] = {}
        for at in range(0, len(tokens), _BATCH):
            some = [token[:256] for token in tokens[at : at + _BATCH]]
            for row in self._store.rows(self._postings, {"tokens": some}):
                if row["segment"] in begins:  # else written since the last load
                    found.setdefault(row["token"], []).append((begins[row["segment"]], _unpacked(row["data"])))
        return found

    def vectors(self, *, codes_only: bool) -> list[tuple[Segment, str | None, bytes, bytes]]:
        """Per segment: the embedder's version, the codes, and the vectors unless they are not wanted."""
        chosen = [segments.c.id, segments.c.embedder, segments.c.codes]
        if not codes_only:
            chosen.append(segments.c.vectors)
        there = {row["id"]: row for row in self._store.rows(select(*chosen))}
        return [
            (s, there[s.id]["embedder"], there[s.id]["codes"] or b"", there[s.id].get("vectors") or b"")
            for s in self.known
            if s.id in there
        ]

    def write(
        self,
        columns: Columns,
        words: Mapping[str, Posting],
        speakers: Iterable[str],
        vectors: Vectors | None,
        seen: int,
    ) -> bool:
        """Store the documents after ``covered`` as a new segment; False if another process was quicker.

        Args:
            columns, words, speakers, vectors: of the documents.
            seen: highest serial number that they were read up to. Was anything deleted since, nothing is written.
        """
        with self._store.write(flush=False, durable=False) as connection:
            take_turn(connection)
            if segments_cover(connection) != self.covered or _deleted_since(connection, seen):
                return False
            values: dict[str, Any] = {
                "first": int(columns.serials[0]),
                "last": seen,
                "docs": len(columns),
                "numbers": columns.pack(),
                "speakers": json.dumps(sorted(speakers)),
            }
            if vectors is not None:
                values.update(embedder=vectors.embedder, codes=vectors.codes, vectors=vectors.vectors)
            connection.execute(insert(segments).values(**values))
            mine = select(segments.c.id).where(segments.c.first == values["first"])
            number = int(connection.execute(mine).scalar_one())
            rows: list[dict[str, Any]] = [
                {"token": token[:256], "segment": number, "docs": len(p.places), "data": _packed(p)}
                for token, p in sorted(words.items())
            ]
            for at in range(0, len(rows), _ROWS):
                self._store.insert(connection, postings, *rows[at : at + _ROWS])
        return True


def segments_cover(connection: Connection) -> int:
    """Highest serial number that is in a segment; 0 without one."""
    return connection.execute(select(func.max(segments.c.last))).scalar() or 0


def erase(connection: Connection, words: Mapping[int, Iterable[str]]) -> None:
    """Take documents out of the segments, in the transaction that deletes their rows.

    Args:
        connection: of the write transaction; the caller has taken its turn.
        words: serial number -> the tokens that the index has of it.
    """
    if not words:
        return
    low, high = min(words), max(words)
    query = select(segments).where(segments.c.first <= high, segments.c.last >= low).order_by(segments.c.first)
    for row in connection.execute(query).mappings().all():
        columns = Columns.unpack(row["numbers"])
        gone = [serial for serial in words if row["first"] <= serial <= row["last"]]
        places = np.searchsorted(columns.serials, gone)
        inside = np.minimum(places, len(columns) - 1)
        places = inside[columns.serials[inside] == np.array(gone)]
        if not len(places):
            continue
        columns.erase(places)
        values: dict[str, Any] = {"numbers": columns.pack()}
        if row["codes"] is not None:
            values["codes"] = _zeroed(row["codes"], places, len(columns))
            values["vectors"] = _zeroed(row["vectors"], places, len(columns))
        connection.execute(update(segments).where(segments.c.id == row["id"]).values(**values))
        tokens = sorted({token[:256] for serial in gone for token in words[serial]})
        _erase_words(connection, row["id"], tokens, places)


def _erase_words(connection: Connection, segment: int, tokens: Sequence[str], places: Array) -> None:
    for at in range(0, len(tokens), _BATCH):
        here = (postings.c.segment == segment) & postings.c.token.in_(tokens[at : at + _BATCH])
        for row in connection.execute(select(postings).where(here)).mappings().all():
            posting = _unpacked(row["data"])
            kept = ~np.isin(posting.places, places)
            one = (postings.c.segment == segment) & (postings.c.token == row["token"])
            if kept.any():
                left = Posting(posting.places[kept], posting.weights[kept])
                values = {"docs": len(left.places), "data": _packed(left)}
                connection.execute(update(postings).where(one).values(**values))
            else:
                connection.execute(delete(postings).where(one))


def _deleted_since(connection: Connection, seen: int) -> bool:
    marks = (memory_items.c.layer == "deleted") & (memory_items.c.serial > seen)
    return connection.execute(select(memory_items.c.serial).where(marks).limit(1)).first() is not None


def _packed(posting: Posting) -> bytes:
    return posting.places.astype("<u2").tobytes() + posting.weights.astype(np.uint8).tobytes()


def _unpacked(data: bytes) -> Posting:
    count = len(data) // 3
    return Posting(np.frombuffer(data, "<u2", count), np.frombuffer(data, np.uint8, count, 2 * count))


def _zeroed(data: bytes, places: Array, count: int) -> bytes:
    table = np.frombuffer(data, np.uint8).reshape(count, -1).copy()
    table[places] = 0
    return table.tobytes()
