"""The search index of one ``Memory``: segments in the store, and in memory what came after them.

Other processes add and delete too: each ``sync`` reads the rows above the highest serial number seen, and the marks
that deletions leave. When enough rows are in no segment, whoever notices first writes one.
"""

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pointwork.embedding import Embedder
from pointwork.errors import StoreError
from pointwork.memory.columns import NONE, Array
from pointwork.memory.episodic import DELETED, INDEXED, Episodic
from pointwork.memory.lexical import Lexical
from pointwork.memory.policy import Glance
from pointwork.memory.segments import LARGE, SMALL, Segments
from pointwork.memory.vectors import Dense
from pointwork.memory.words import body, row_numbers, row_words, thread_key
from pointwork.store import Store

Row = Mapping[str, Any]

_log = logging.getLogger("pointwork.memory")
_BATCH = 5000  # rows read at a time
_SPEAKERS = 5000  # names of speakers that are known; a store with more is no dialogue


class Index:
    """What finds rows by words, vectors, titles and threads; by place, with their serial numbers in ``columns``.

    The caller sees to it that one thread uses it at a time.
    """

    def __init__(self, rows: Episodic, store: Store, embedder: Embedder) -> None:
        self._rows = rows
        self._segments = Segments(store)
        columns, self._speakers = self._segments.load()
        self.lexical = Lexical(columns, self._segments.read)
        self.dense = Dense(self._segments, embedder)
        self.dropped = 0  # rows that left it
        self._seen = self._segments.covered
        self._tail_speakers: set[str] = set()
        self._titles: tuple[Array, Array] | None = None

    def __len__(self) -> int:
        return len(self.lexical)

    @property
    def speakers(self) -> set[str]:
        """Names of those who speak in it, lower case."""
        return self._speakers | self._tail_speakers if self._tail_speakers else self._speakers

    def sync(self) -> None:
        """Take in what was added and deleted since the last time, by anyone.

        Raises:
            StoreError: the database could not be read; what was taken in is kept.
        """
        tried = False
        while True:
            batch = self._rows.changes(self._seen, _BATCH)
            self._take(batch)
            full = self.lexical.tail + _BATCH > LARGE
            if len(batch) == _BATCH and not full:
                continue
            if full or (self.lexical.tail >= SMALL and not tried):
                tried = True
                if self._flush():
                    continue
            if len(batch) < _BATCH:
                return

    def places_in_thread(self, thread: str | None) -> Array:
        """Places of a thread's documents."""
        if thread is None:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.lexical.columns.threads == thread_key(thread))

    def glance(self, tokens: Sequence[str]) -> Glance:
        """What a question's tokens find by themselves, for a tier policy."""
        different = dict.fromkeys(tokens, 1.0)
        if not different or not len(self.lexical):
            return Glance()
        scores = self.lexical.scores(different)
        total = scores.total / np.float32(scores.ideal or 1.0)
        top = np.zeros(10, np.float32)
        best = np.sort(np.partition(total, max(0, len(total) - 10))[-10:])[::-1]
        top[: len(best)] = best
        first = float(top[0])
        nowhere = math.log(2 * len(self.lexical) + 2) - 1e-6  # what a word weighs that no item has
        return Glance(
            min(first, 1.0),
            min(first - float(top[4]), 1.0),
            float(top.mean()) / (first or 1.0),
            sum(value < nowhere for value in scores.idf.values()) / len(different),
            float(np.count_nonzero(total)) / len(total),
        )

    def titled(self, keys: Sequence[int]) -> dict[int, list[int]]:
        """Title key -> places of the documents of that title, at most a few of each."""
        ordered, places = self._by_title()
        wanted = np.array(keys, np.int64)
        low, high = np.searchsorted(ordered, wanted, "left"), np.searchsorted(ordered, wanted, "right")
        return {
            int(wanted[n]): places[low[n] : min(high[n], low[n] + 4)].tolist() for n in np.flatnonzero(high > low)
        }

    def _by_title(self) -> tuple[Array, Array]:
        if self._titles is None:
            titles = self.lexical.columns.titles
            places = np.flatnonzero(titles != NONE)
            order = places[np.argsort(titles[places], kind="stable")]
            self._titles = titles[order], order
        return self._titles

    def _take(self, batch: Sequence[Row]) -> None:
        texts: list[str] = []
        for row in batch:
            self._seen = row["serial"]
            if row["layer"] == DELETED:
                self._embed(texts)
                texts = []
                for gone in row["meta"]["serials"]:
                    self._drop(gone)
            elif row["layer"] in INDEXED:
                weights, length = row_words(row)
                self.lexical.add(row_numbers(row, length), weights)
                texts.append(body(row))
                if row["speaker"] and len(self._tail_speakers) < _SPEAKERS:
                    self._tail_speakers.add(row["speaker"].lower())
        self._embed(texts)
        if batch:
            self._titles = None

    def _embed(self, texts: Sequence[str]) -> None:
        if texts:
            self.dense.add(self.dense.embedder.embed(texts))

    def _drop(self, serial: int) -> None:
        place = self.lexical.place(serial)
        if place is not None:
            self.lexical.remove(serial)
            self.dense.remove(place)
            self.dropped += 1

    def _flush(self) -> bool:
        """Put the tail into a segment, or if another process did, take over what it wrote; False: not now."""
        lexical, words = self.lexical, self.lexical.tail_postings()
        try:
            self._segments.write(
                lexical.tail_columns(), words, self._tail_speakers, self.dense.packed(), self._seen
            )
        except StoreError as error:  # the rows are safe, and found all the same
            _log.warning("memory's index could not be stored now; it will be tried again: %s", error)
            return False
        columns, self._speakers = self._segments.load()
        self.lexical = Lexical(columns, self._segments.read)
        self.dense = Dense(self._segments, self.dense.embedder)
        self._tail_speakers = set()
        self._titles = None
        self._seen = self._segments.covered
        return True
