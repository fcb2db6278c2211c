"""The search index of one ``Memory``: built from the store at the first recall, then kept up with it.

Other processes add and delete too: each ``sync`` reads the rows above the highest serial number seen, and the marks
that deletions leave. On PostgreSQL a row may become visible after one with a higher number (its transaction was
slower), so numbers that were passed over are asked for again for a while.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pointwork.memory.bm25 import BM25
from pointwork.memory.dates import day_words
from pointwork.memory.episodic import DELETED, DOCUMENT, Episodic
from pointwork.text import tokenize

Row = Mapping[str, Any]

# Set on LoCoMo dialogues 0-7, the title's weight on Hotpot. k1, b: Anserini's defaults; 1.2, .75 were no better.
FIELDS = {"text": 1.0, "title": 2.0, "speaker": 1.0, "date": 0.5}
NEIGHBOUR_WEIGHT = 0.6
K1, B = 0.9, 0.4

_BATCH = 5000  # rows read at a time
_GAP_SECONDS = 60.0  # longer than an insert takes to become visible
_GAPS = 500  # numbers below the newest that may still turn up


class Index:
    """BM25 over the episodic rows, by serial number. The caller sees to it that one thread uses it at a time."""

    def __init__(self, rows: Episodic) -> None:
        self._rows = rows
        self.lexical: BM25[int] = BM25(FIELDS, k1=K1, b=B, neighbour_weight=NEIGHBOUR_WEIGHT)
        self.dropped = 0  # rows that left it
        self._seen = 0  # highest serial number
        self._missing: dict[int, float] = {}  # number passed over -> when to give it up, monotonic seconds
        self._last: dict[str, int] = {}  # sequence -> its last row
        self._sequence: dict[int, str] = {}  # row -> its sequence
        self._threads: dict[str, set[int]] = {}
        self._thread: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self.lexical)

    def sync(self) -> None:
        """Take in what was added and deleted since the last time, by anyone.

        Raises:
            StoreError: the database could not be read; what was taken in is kept.
        """
        while True:
            now = time.monotonic()
            self._missing = {serial: until for serial, until in self._missing.items() if until > now}
            batch = self._rows.changes(self._seen, sorted(self._missing), _BATCH)
            for row in batch:
                self._take(row)
            if not batch:
                return
            before, self._seen = self._seen, max(self._seen, batch[-1]["serial"])
            if len(batch) < _BATCH:
                there = {row["serial"] for row in batch}
                for serial in range(max(before, self._seen - _GAPS) + 1, self._seen):
                    if serial not in there:
                        self._missing[serial] = now + _GAP_SECONDS
                return

    def in_thread(self, thread: str | None) -> set[int]:
        """Serial numbers of a thread's rows."""
        return self._threads.get(thread, set()) if thread is not None else set()

    def _take(self, row: Row) -> None:
        serial = row["serial"]
        self._missing.pop(serial, None)
        if row["layer"] == DELETED:
            for gone in row["meta"]["serials"]:
                self._drop(gone)
        elif row["layer"] != DOCUMENT and serial not in self.lexical:
            self._insert(serial, row)

    def _insert(self, serial: int, row: Row) -> None:
        sequence = _sequence(row)
        fields = _fields(row)
        if sequence is None:
            self.lexical.add(serial, fields)
        else:
            self._insert_in(sequence, serial, fields)
        thread = row["thread"]
        if thread is not None:
            self._threads.setdefault(thread, set()).add(serial)
            self._thread[serial] = thread

    def _insert_in(self, sequence: str, serial: int, fields: Mapping[str, Sequence[str]]) -> None:
        last = self._last.get(sequence)
        after, follower = last, None
        while after is not None and after > serial:  # a latecomer: find its place
            after, follower = self.lexical.before(after), after
        self.lexical.add(serial, fields, after=after, before=follower if after is None else None)
        if last is None or serial > last:
            self._last[sequence] = serial
        self._sequence[serial] = sequence

    def _drop(self, serial: int) -> None:
        self._missing.pop(serial, None)
        if serial not in self.lexical:
            return
        sequence = self._sequence.pop(serial, None)
        if sequence is not None and self._last[sequence] == serial:
            previous = self.lexical.before(serial)
            if previous is None:
                del self._last[sequence]
            else:
                self._last[sequence] = previous
        self.lexical.remove(serial)
        self.dropped += 1
        thread = self._thread.pop(serial, None)
        if thread is not None:
            self._threads[thread].discard(serial)
            if not self._threads[thread]:
                del self._threads[thread]


def _sequence(row: Row) -> str | None:
    """The name of the sequence whose neighbours speak for each other, if the row is in one.

    The chunks of a text are one. So are the turns of a dialogue: entries of one thread that have a speaker or no
    title. What has a title and no speaker is a document of its own.
    """
    if row["parent_id"] is not None:
        return f"parent:{row['parent_id']}"
    if row["speaker"] is not None or (row["thread"] is not None and row["title"] is None):
        return f"thread:{row['thread'] or ''}"
    return None


def _fields(row: Row) -> dict[str, list[str]]:
    text, title = row["text"], row["title"]
    if title:
        # part of the text too, once, whether it was given or is the first line
        first, newline, _ = text.partition("\n")
        text = text if newline and first.strip() == title else f"{title}\n{text}"
    fields = {"text": tokenize(text)}
    if title:
        fields["title"] = tokenize(title)
    if row["speaker"]:
        fields["speaker"] = tokenize(row["speaker"])
    if row["time"] is not None:
        fields["date"] = tokenize(" ".join(day_words(row["time"])))
    return fields
