"""Vectors of rows by the sentence encoder: made when a recall first looks at a row closely, and kept in the store.

An encoder reads a few hundred texts a second where the static embedding reads sixty thousand; to encode all that is
ever added would make adding a hundred times as dear, and most of it is never looked at. A vector goes with its row,
in the transaction that deletes it.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, insert, select

from pointwork.embedding import Embedder
from pointwork.errors import StoreError
from pointwork.memory.turns import take_turn
from pointwork.sentences import encoder
from pointwork.store import Store
from pointwork.store.tables import memory_items
from pointwork.store.tables import memory_vectors as table

Floats = NDArray[np.float32]

_KEPT = 20_000  # vectors in memory: 30 MB
_BATCH = 500  # numbers in one query; databases limit the number of parameters

_log = logging.getLogger("pointwork.memory")


class Encoded:
    """The vectors of one store's rows by one encoder.

    Args:
        store: where they are kept.
        encoder: what makes them.
    """

    def __init__(self, store: Store, encoder: Embedder) -> None:
        self.encoder = encoder
        self._store = store
        self._kept: dict[int, Floats] = {}
        self._dropped = 0

    def expect(self, dropped: int) -> None:
        """Keep nothing of before the latest deletion, of which the index counts ``dropped``."""
        if dropped != self._dropped or len(self._kept) > _KEPT:
            self._kept.clear()
        self._dropped = dropped

    def of(self, texts: Mapping[int, str]) -> dict[int, Floats]:
        """Vectors by serial number, each of length 1.

        Args:
            texts: of the rows, by serial number; those without a vector yet are encoded and stored.
        """
        missing = [serial for serial in texts if serial not in self._kept]
        for at in range(0, len(missing), _BATCH):
            self._kept.update(self._stored(missing[at : at + _BATCH]))
        new = [serial for serial in missing if serial not in self._kept]
        if new:
            # as they will be read again, so that the first recall sees the same numbers as the later ones
            small = [packed(vector) for vector in self.encoder.embed([texts[serial] for serial in new])]
            self._kept.update((serial, unpacked(data)) for serial, data in zip(new, small, strict=True))
            try:
                self._keep(dict(zip(new, small, strict=True)))
            except StoreError as error:  # found all the same, and encoded again next time
                _log.warning("vectors of memory's rows could not be stored now: %s", error)
        return {serial: self._kept[serial] for serial in texts}

    def _stored(self, serials: Sequence[int]) -> dict[int, Floats]:
        query = select(table.c.serial, table.c.vector).where(
            table.c.serial.in_(serials), table.c.encoder == self.encoder.version
        )
        return {row["serial"]: unpacked(row["vector"]) for row in self._store.rows(query)}

    def _keep(self, vectors: Mapping[int, bytes]) -> None:
        """Store vectors of rows that are still there and have none; in turn with those who delete rows."""
        with self._store.write(flush=False, durable=False) as connection:
            take_turn(connection)
            mine = table.c.encoder == self.encoder.version
            for at in range(0, len(vectors), _BATCH):
                serials = list(vectors)[at : at + _BATCH]
                there = select(memory_items.c.serial).where(memory_items.c.serial.in_(serials))
                known = select(table.c.serial).where(table.c.serial.in_(serials), mine)
                wanted = set(connection.execute(there).scalars()) - set(connection.execute(known).scalars())
                rows = [
                    {"serial": serial, "encoder": self.encoder.version, "vector": vectors[serial]}
                    for serial in sorted(wanted)
                ]
                if rows:
                    connection.execute(insert(table), rows)


def encoded_by(store: Store, choice: Embedder | str | None) -> Encoded | None:
    """The vectors by the chosen encoder (``pointwork.sentences.encoder``); None: there is none."""
    chosen = encoder(choice)
    return Encoded(store, chosen) if chosen else None


def forget(connection: Connection, serials: Iterable[int]) -> None:
    """Delete the vectors of rows, in the transaction that deletes the rows."""
    connection.execute(delete(table).where(table.c.serial.in_(list(serials))))


def packed(vector: Floats) -> bytes:
    """A vector as bytes: its scale, and a byte per number."""
    scale = max(float(np.abs(vector).max(initial=0)), 1e-9) / 127
    return np.float32(scale).astype("<f4").tobytes() + np.round(vector / scale).astype(np.int8).tobytes()


def unpacked(data: bytes) -> Floats:
    whole = np.frombuffer(data, np.int8, offset=4).astype(np.float32) * np.frombuffer(data, "<f4", 1)
    return whole / max(float(np.linalg.norm(whole)), 1e-9)
