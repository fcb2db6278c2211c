"""Vectors of tools by the sentence encoder, kept in the store: hundreds of tools are read once, not at each start.

Only what tools say of themselves is kept, under a digest of the text; what users ask is not.
"""

import hashlib
import logging
from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import insert, select

from pointwork.embedding import Embedder, Vectors
from pointwork.errors import StoreError
from pointwork.memory.encoded import packed, unpacked
from pointwork.memory.turns import take_turn
from pointwork.store import Store
from pointwork.store.tables import text_vectors as table

_BATCH = 500  # digests in one query; databases limit the number of parameters

_log = logging.getLogger("pointwork.tools")


class Kept:
    """An ``Embedder`` (see ``pointwork.embedding``) that asks another only for texts whose vectors are not stored.

    Args:
        encoder: the other.
        store: where vectors are kept, a byte per number.
    """

    def __init__(self, encoder: Embedder, store: Store) -> None:
        self._encoder, self._store = encoder, store

    @property
    def version(self) -> str:
        return self._encoder.version

    @property
    def dims(self) -> int:
        return self._encoder.dims

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dims), each of length 1, or 0 for a text without words."""
        digests = {
            text: hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=20).hexdigest() for text in texts
        }
        found = self._stored(list(set(digests.values())))
        new = [text for text, digest in digests.items() if digest not in found]
        if new:
            fresh = {
                digests[text]: packed(vector) for text, vector in zip(new, self._encoder.embed(new), strict=True)
            }
            found |= fresh
            try:
                self._keep(fresh)
            except StoreError as error:  # found all the same, and encoded again next time
                _log.warning("vectors of tools could not be stored now: %s", error)
        read = {digest: unpacked(data) for digest, data in found.items()}
        return np.array([read[digests[text]] for text in texts], np.float32).reshape(len(texts), self.dims)

    def _stored(self, digests: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for at in range(0, len(digests), _BATCH):
            some = table.c.digest.in_(digests[at : at + _BATCH])
            query = select(table.c.digest, table.c.vector).where(some, table.c.encoder == self.version)
            found.update((row["digest"], row["vector"]) for row in self._store.rows(query))
        return found

    def _keep(self, fresh: Mapping[str, bytes]) -> None:
        with self._store.write(flush=False, durable=False) as connection:
            take_turn(connection)
            for at in range(0, len(fresh), _BATCH):
                some = list(fresh)[at : at + _BATCH]
                there = select(table.c.digest).where(table.c.digest.in_(some), table.c.encoder == self.version)
                known = set(connection.execute(there).scalars())
                rows = [
                    {"digest": digest, "encoder": self.version, "vector": fresh[digest]}
                    for digest in some
                    if digest not in known
                ]
                if rows:
                    connection.execute(insert(table), rows)
