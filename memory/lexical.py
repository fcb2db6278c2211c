"""BM25 over documents with numbers, most of them in the store's segments and the latest in memory.

    score(d) = sum_t  w_t * idf(t) * (k1 + 1) * tf / (tf + k1 * (1 - b + b * len(d) / avglen))
    idf(t)   = ln(1 + (N - df + 0.5) / (df + 0.5))                  (the never negative form, as Lucene's)

``tf`` counts a word of the title twice, of the text and the speaker once, of the date half (Robertson, Zaragoza &
Taylor 2004: fields are weighted before saturation). Documents of one sequence (the turns of a dialogue, the chunks
of a text) speak for their neighbours: the score of the one before and of the one after count for ``NEAR`` each.

Very frequent words are left out when rarer ones have found enough: at a million documents they would cost most of
the time and tell least. The candidates' own words are looked at again later, so they lose only their say in who
becomes one.
"""

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pointwork.memory.columns import NONE, Array, Columns, Row

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

K1, B, NEAR = 0.9, 0.4, 0.35
WEIGHT = 2.0  # what one occurrence in the text counts in a posting: weights are whole halves
DATE = 1  # what one in the date counts: the least
ENOUGH = 60_000  # postings read for a question before frequent words are left out
_CACHE = 4_000_000  # postings kept in memory for the next questions


@dataclass(frozen=True, slots=True)
class Posting:
    """Where a word stands: places in their part, ascending, and its weight in each."""

    places: Array
    weights: Array


# tokens -> token -> (first document of the segment, posting) for every segment that has it
Reader = Callable[[Sequence[str]], Mapping[str, Sequence[tuple[int, Posting]]]]


@dataclass(slots=True)
class Scores:
    """What a question gives every document.

    Attributes:
        own: BM25 by its own words.
        total: with its neighbours' share.
        ideal: what a document would get that has every word endlessly often.
        idf: token -> how much it tells.
    """

    own: Floats
    total: Floats
    ideal: float
    idf: dict[str, float]


class Lexical:
    """An index that grows at its end. Not safe to change from two threads at once.

    Args:
        columns: of the documents in segments.
        reader: gives their postings.
    """

    def __init__(self, columns: Columns, reader: Reader) -> None:
        self._reader = reader
        self._base = len(columns)
        self._columns = columns
        self._rows: list[Row] = []  # of the tail
        self._tail: dict[str, tuple[array[int], array[int]]] = {}
        self._gone: set[int] = set()
        self._cache: dict[str, Posting] = {}
        self._cached = 0
        self._all: Columns | None = columns
        self._links: Ints | None = None
        self._lasts: dict[int, int] = {}  # sequence -> its last place, once there are links
        self._norm: Floats | None = None
        self._alive = int(np.count_nonzero(columns.lengths > 0))
        self._length = float(columns.lengths.sum())

    def __len__(self) -> int:
        """Documents with words, deleted ones not counted."""
        return self._alive

    @property
    def size(self) -> int:
        """Places, those of deleted documents included."""
        return self._base + len(self._rows)

    @property
    def tail(self) -> int:
        """How many documents are in no segment."""
        return len(self._rows)

    @property
    def columns(self) -> Columns:
        """Of all documents, by place; not to be changed."""
        if self._all is None:
            self._all = Columns.joined([self._columns, Columns.of(self._rows)])
        return self._all

    # -- changing ------------------------------------------------------------------------------------------

    def add(self, row: Row, weights: Mapping[str, int]) -> None:
        """A document at the end.

        Args:
            row: serial (above all others), the others as in ``Columns``.
            weights: token -> its weight, in halves.
        """
        place = len(self._rows)
        for token, weight in weights.items():
            known = self._tail.get(token)
            if known is None:
                known = self._tail[token] = array("i"), array("B")
            known[0].append(place)
            known[1].append(min(weight, 255))
        self._rows.append(row)
        self._all = self._norm = None
        self._alive += row[1] > 0
        self._length += row[1]

    def remove(self, serial: int) -> bool:
        """Take a document out; those before and after it become neighbours. False if it is not here."""
        place = self.place(serial)
        if place is None:
            return False
        length, sequence = float(self.columns.lengths[place]), int(self.columns.sequences[place])
        before, after = (int(link) for link in self.links[:, place])
        if before >= 0:
            self.links[1, before] = after
        if after >= 0:
            self.links[0, after] = before
        self.links[:, place] = -1
        if self._lasts.get(sequence) == place:
            if before >= 0:
                self._lasts[sequence] = before
            else:
                del self._lasts[sequence]
        if place < self._base:
            self._columns.erase(np.array([place]))
            self._cache.clear()  # the store's postings were changed with the deletion
            self._cached = 0
        else:
            self._rows[place - self._base] = (serial, 0.0, NONE, math.nan, NONE, NONE)
            self._gone.add(place - self._base)
        self.columns.erase(np.array([place]))
        self._norm = None
        self._alive -= length > 0
        self._length -= length
        return True

    def place(self, serial: int) -> int | None:
        """Where a document is; None if it is not here or deleted."""
        serials = self.columns.serials
        at = int(np.searchsorted(serials, serial))
        if at == len(serials) or serials[at] != serial or self.columns.lengths[at] == 0:
            return None
        return at

    def tail_postings(self) -> dict[str, Posting]:
        """The postings of the documents in no segment, by place among them; deleted ones left out."""
        found: dict[str, Posting] = {}
        for token in self._tail:
            posting = self._tail_posting(token)
            if len(posting.places):
                found[token] = posting
        return found

    def tail_columns(self) -> Columns:
        """Of the documents in no segment."""
        return Columns.of(self._rows)

    @property
    def links(self) -> Ints:
        """Shape (2, size): the place of the document before, and after, in the same sequence; -1: none."""
        if self._links is None:
            self._links, self._lasts = _linked(self.columns.sequences)
        known = self._links.shape[1]
        if known < self.size:
            self._links = np.concatenate([self._links, np.full((2, self.size - known), -1, np.int64)], axis=1)
            for place in range(known, self.size):
                sequence = self._rows[place - self._base][2]
                if sequence == NONE:
                    continue
                previous = self._lasts.get(sequence, -1)
                self._lasts[sequence] = place
                if previous >= 0:
                    self._links[0, place], self._links[1, previous] = previous, place
        return self._links

    # -- searching -----------------------------------------------------------------------------------------

    def scores(self, tokens: Mapping[str, float]) -> Scores:
        """The score of every document by place.

        Args:
            tokens: of the question, with weights.
        """
        own = np.zeros(self.size, np.float32)
        postings = self._postings(tokens)
        idf = {token: self._idf(sum(len(p.places) for _, p in parts)) for token, parts in postings.items()}
        norm = self._norms()
        read = 0
        for token in sorted(tokens, key=lambda token: -idf[token]):
            parts = postings[token]
            count = sum(len(posting.places) for _, posting in parts)
            if read and read + count > ENOUGH:
                continue
            read += count
            gain = tokens[token] * idf[token] * (K1 + 1)
            for first, posting in parts:
                places = posting.places + first if first else posting.places
                tf = posting.weights.astype(np.float32) / WEIGHT
                own[places] += gain * tf / (tf + norm[places])
        ideal = sum(weight * idf[token] for token, weight in tokens.items()) * (K1 + 1)
        return Scores(own, self._with_neighbours(own), ideal, idf)

    def having(self, tokens: Sequence[str]) -> NDArray[np.bool_]:
        """Which documents have any of the tokens, wherever, by place."""
        found = np.zeros(self.size, bool)
        for parts in self._postings(tokens).values():
            for first, posting in parts:
                found[posting.places + first if first else posting.places] = True
        return found

    def idf(self, tokens: Sequence[str]) -> dict[str, float]:
        """How much each token tells: ln(1 + (N - df + 0.5) / (df + 0.5))."""
        return {
            token: self._idf(sum(len(posting.places) for _, posting in parts))
            for token, parts in self._postings(tokens).items()
        }

    def holds(self, tokens: Sequence[str], places: Ints) -> NDArray[np.bool_]:
        """Which documents have which tokens in title, text or speaker, shape (places, tokens); -1 is none.

        Read off the postings, which were read for the score: much quicker than to take their texts apart. What
        stands in the date alone has a weight of one half.
        """
        found = np.zeros((len(places), len(tokens)), bool)
        for column, (_, parts) in zip(found.T, self._postings(tokens).items(), strict=True):
            for first, posting in parts:
                local = (places - first).astype(posting.places.dtype)  # else all postings would be made of its type
                at = np.minimum(np.searchsorted(posting.places, local), max(len(posting.places) - 1, 0))
                if len(posting.places):
                    column |= (posting.places[at] == local) & (posting.weights[at] > DATE)
        return found

    def _idf(self, found: int) -> float:
        return math.log(1 + max(self._alive - found + 0.5, 0.0) / (found + 0.5))

    def _with_neighbours(self, own: Floats) -> Floats:
        total = own.copy()
        hits = np.flatnonzero(own)
        if len(hits):
            links = self.links
            for beside in (links[0, hits], links[1, hits]):
                there = beside >= 0
                # each document stands at most once before and once after another: no place twice
                total[beside[there]] += NEAR * own[hits[there]]
        return total

    def _norms(self) -> Floats:
        if self._norm is None or len(self._norm) != self.size:
            mean = self._length / self._alive if self._alive else 1.0
            self._norm = (K1 * (1 - B + B * self.columns.lengths / mean)).astype(np.float32)
        return self._norm

    def _postings(self, tokens: Mapping[str, float] | Sequence[str]) -> dict[str, list[tuple[int, Posting]]]:
        """Token -> its postings in all parts, with the place where each part begins."""
        missing = [token for token in tokens if token not in self._cache] if self._base else []
        if missing:
            read = self._reader(missing)
            for token in missing:
                self._keep(token, read.get(token, ()))
        found: dict[str, list[tuple[int, Posting]]] = {}
        for token in tokens:
            parts: list[tuple[int, Posting]] = []
            if token in self._cache:
                parts.append((0, self._cache[token]))
            if token in self._tail:
                parts.append((self._base, self._tail_posting(token)))
            found[token] = parts
        if self._cached > _CACHE:
            self._cache.clear()
            self._cached = 0
        return found

    def _keep(self, token: str, parts: Sequence[tuple[int, Posting]]) -> None:
        places = [posting.places.astype(np.int32) + first for first, posting in parts]
        weights = [posting.weights for _, posting in parts]
        self._cache[token] = Posting(
            np.concatenate(places) if places else np.zeros(0, np.int32),
            np.concatenate(weights) if weights else np.zeros(0, np.uint8),
        )
        self._cached += len(self._cache[token].places) + 16

    def _tail_posting(self, token: str) -> Posting:
        docs, weights = self._tail[token]
        places, counts = np.array(docs, np.int32), np.array(weights, np.uint8)  # copies: views pin the arrays
        if self._gone:
            kept = ~np.isin(places, np.fromiter(self._gone, np.int32, len(self._gone)))
            places, counts = places[kept], counts[kept]
        return Posting(places, counts)


def _linked(sequences: Array) -> tuple[Ints, dict[int, int]]:
    """Links between documents of equal sequence in the order of their places, and each sequence's last place."""
    links = np.full((2, len(sequences)), -1, np.int64)
    some = np.flatnonzero(sequences != NONE)
    order = some[np.argsort(sequences[some], kind="stable")]
    same = sequences[order][1:] == sequences[order][:-1]
    left, right = order[:-1][same], order[1:][same]
    links[1, left] = right
    links[0, right] = left
    ends = order[np.append(~same, True)] if len(order) else order
    return links, dict(zip(sequences[ends].tolist(), ends.tolist(), strict=True))
