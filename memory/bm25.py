"""BM25 over tokens, with weighted fields and neighbours; documents come and go one by one.

Formulas: Robertson, Zaragoza & Taylor 2004, "Simple BM25 extension to multiple weighted fields" (BM25F):

    tf~(t, d)  = sum_f  w_f * tf_f(t, d) / (1 - b_f + b_f * len_f(d) / avglen_f)
    score      = sum_t  n_t * idf(t) * (k1 + 1) * tf~ / (k1 + tf~)
    idf(t)     = ln(1 + (N - df + 0.5) / (df + 0.5))              (the never negative form, as Lucene's)

``avglen_f`` is the mean over documents where the field is not empty: a field that few documents have (a title) is
not punished for being there. With one field of weight 1 this is plain BM25.

Neighbours are one more field, computed while searching: documents form sequences (the turns of a dialogue, the
chunks of a text), and what the one before and the one after say in their first field counts for the one between,
with its own weight. Nothing is stored twice, and removing a document removes it from its neighbours too.
"""

import math
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pointwork.errors import UsageError

K = TypeVar("K", bound=Hashable)
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Tokens = Sequence[str]

_COMPACT_AT = 256  # removed documents are swept out when there are this many and as many as are left


class BM25(Generic[K]):
    """An index in memory: ``add``, ``remove``, ``search``. Not safe to change from two threads at once.

    Args:
        fields: weight of each field by name; None is one field called ``text``.
        k1: how soon repetitions of a word stop to count.
        b: how much length counts, 0 to 1; one number, or one per field.
        neighbour_weight: weight of the neighbours' first field; 0 is off.

    Raises:
        UsageError: no field, or a number outside its range.
    """

    def __init__(
        self,
        fields: Mapping[str, float] | None = None,
        *,
        k1: float = 1.2,
        b: float | Mapping[str, float] = 0.75,
        neighbour_weight: float = 0.0,
    ) -> None:
        weights = {"text": 1.0} if fields is None else dict(fields)
        lengths = [b.get(name, 0.75) if isinstance(b, Mapping) else b for name in weights]
        if not weights or k1 < 0 or min(lengths) < 0 or max(lengths) > 1:
            raise UsageError(f"BM25 needs a field, k1 >= 0 and b from 0 to 1: fields={weights}, k1={k1}, b={b}")
        self.fields = tuple(weights)
        self.k1 = k1
        self.neighbour_weight = neighbour_weight
        self._weights = np.array([weights[name] for name in self.fields])
        self._b = np.array(lengths)
        self._docs: dict[str, array[int]] = {}  # token -> document numbers
        self._tfs: dict[str, array[float]] = {}  # token -> per document, its count in each field
        self._number: dict[K, int] = {}
        self._keys: list[K] = []  # by document number, removed ones included
        self._lengths: Ints = np.zeros((16, len(self.fields)), np.int32)
        self._alive: NDArray[np.bool_] = np.zeros(16, np.bool_)
        self._links: Ints = np.full((2, 16), -1, np.int32)  # number of the document before, and after
        self._scale: Floats | None = None  # w_f / (length norm), per document and field; None: out of date
        self._near_scale: Floats = np.zeros(0)

    def __len__(self) -> int:
        return len(self._number)

    def __contains__(self, key: K) -> bool:
        return key in self._number

    # -- changing ------------------------------------------------------------------------------------------

    def add(
        self, key: K, tokens: Tokens | Mapping[str, Tokens], *, after: K | None = None, before: K | None = None
    ) -> None:
        """Add a document.

        Args:
            key: its name; must be new.
            tokens: of its first field, or of each field by name.
            after: the document that it follows in a sequence. What followed that one now follows this one.
            before: the document that it goes before; used if ``after`` is None.

        Raises:
            UsageError: the key is taken, a field or the document to follow is not known. Nothing is changed.
        """
        by_field = tokens if isinstance(tokens, Mapping) else {self.fields[0]: tokens}
        unknown = set(by_field) - set(self.fields)
        beside = [there for there in (after, before) if there is not None]
        if unknown or key in self._number or any(there not in self._number for there in beside):
            raise UsageError(
                f"can not index {key!r}: fields {sorted(unknown)} unknown (known: {list(self.fields)}), "
                f"key taken: {key in self._number}, beside {beside}"
            )
        number = self._new_number(key)
        width = len(self.fields)
        for place, name in enumerate(self.fields):
            counts = Counter(by_field.get(name, ()))
            self._lengths[number, place] = counts.total()
            for token, count in counts.items():
                docs = self._docs.get(token)
                if docs is None:
                    docs, self._tfs[token] = array("i"), array("f")
                    self._docs[token] = docs
                tfs = self._tfs[token]
                if not docs or docs[-1] != number:
                    docs.append(number)
                    tfs.extend([0.0] * width)
                tfs[place - width] = count
        if after is not None:
            previous = self._number[after]
            following = int(self._links[1, previous])
            self._join(previous, number)
            self._join(number, following)
        elif before is not None:
            self._join(int(self._links[0, self._number[before]]), number)
            self._join(number, self._number[before])

    def remove(self, key: K) -> None:
        """Take a document out; those before and after it become neighbours.

        Raises:
            UsageError: the key is not here.
        """
        number = self._number.pop(key, None)
        if number is None:
            raise UsageError(f"can not remove {key!r} from the index: it is not there")
        previous, following = int(self._links[0, number]), int(self._links[1, number])
        self._join(previous, following)
        self._links[:, number] = -1
        self._alive[number] = False
        self._lengths[number] = 0
        self._scale = None
        dead = len(self._keys) - len(self._number)
        if dead >= _COMPACT_AT and dead >= len(self._number):
            self._compact()

    def before(self, key: K) -> K | None:
        """The document before this one in its sequence."""
        number = int(self._links[0, self._number[key]])
        return None if number < 0 else self._keys[number]

    def _join(self, left: int, right: int) -> None:
        if left >= 0:
            self._links[1, left] = right
        if right >= 0:
            self._links[0, right] = left

    def _new_number(self, key: K) -> int:
        number = len(self._keys)
        if number == len(self._alive):
            self._lengths = np.concatenate([self._lengths, np.zeros_like(self._lengths)])
            self._alive = np.concatenate([self._alive, np.zeros_like(self._alive)])
            self._links = np.concatenate([self._links, np.full_like(self._links, -1)], axis=1)
        self._keys.append(key)
        self._number[key] = number
        self._alive[number] = True
        self._scale = None
        return number

    def _compact(self) -> None:
        """Renumber the documents without the removed ones."""
        alive = self._alive[: len(self._keys)]
        moved = (np.cumsum(alive) - 1).astype(np.int32)
        for token in list(self._docs):
            docs, tfs = self._posting(token)
            if not len(docs):
                del self._docs[token], self._tfs[token]
                continue
            self._docs[token] = array("i", moved[docs].tobytes())
            self._tfs[token] = array("f", tfs.tobytes())
        self._keys = [key for key, kept in zip(self._keys, alive.tolist(), strict=True) if kept]
        self._number = {key: number for number, key in enumerate(self._keys)}
        links = self._links[:, : len(alive)][:, alive]
        links = np.where(links >= 0, moved[links], -1).astype(np.int32)
        spare = max(16, len(self._keys))
        self._lengths = np.concatenate(
            [self._lengths[: len(alive)][alive], np.zeros((spare, len(self.fields)), np.int32)]
        )
        self._links = np.concatenate([links, np.full((2, spare), -1, np.int32)], axis=1)
        self._alive = np.concatenate([np.ones(len(self._keys), np.bool_), np.zeros(spare, np.bool_)])
        self._scale = None

    # -- searching -----------------------------------------------------------------------------------------

    def search(self, query: Tokens | Mapping[str, float], k: int = 10) -> list[tuple[K, float]]:
        """The k best documents with scores above 0, best first; equals in the order they were added."""
        return self.best(self.scores(query), k)

    def best(self, scores: Floats, k: int, among: Iterable[K] | None = None) -> list[tuple[K, float]]:
        """The k best by what ``scores`` gave (nothing changed since), of all documents or of some."""
        hits = np.flatnonzero(scores > 0)
        if among is not None:
            some = np.fromiter((self._number[key] for key in among if key in self._number), np.intp)
            hits = np.sort(some[scores[some] > 0])
        if k < 1 or not len(hits):
            return []
        if len(hits) > k:
            least = np.partition(scores[hits], len(hits) - k)[len(hits) - k]
            hits = hits[scores[hits] >= least]
        best = hits[np.argsort(-scores[hits], kind="stable")][:k]
        return [(self._keys[number], float(scores[number])) for number in best.tolist()]

    def scores(self, query: Tokens | Mapping[str, float]) -> Floats:
        """The score of every document, in the order of ``keys``; removed ones have 0.

        Args:
            query: tokens (each counts as often as it is there), or tokens with weights.
        """
        weights: Mapping[str, float] = query if isinstance(query, Mapping) else Counter(query)
        total = np.zeros(len(self._keys))
        if self._scale is None:
            self._rescale()
        buffer = np.zeros(len(self._keys)) if self.neighbour_weight else total
        for token, weight in weights.items():
            docs, tfs = self._posting(token)
            if not len(docs):
                continue
            frequency = self._frequency(docs, tfs)
            if self.neighbour_weight:
                docs, frequency = self._with_neighbours(docs, tfs, frequency, buffer)
            total[docs] += weight * self.idf(token) * (self.k1 + 1) * frequency / (self.k1 + frequency)
        return total

    @property
    def keys(self) -> Sequence[K]:
        """Keys by document number, as ``scores`` counts them; removed documents are still in it."""
        return self._keys

    def idf(self, token: str) -> float:
        """How much a token tells: ln(1 + (N - df + 0.5) / (df + 0.5)), N without the removed documents."""
        found = len(self._posting(token)[0])
        return math.log(1 + (len(self._number) - found + 0.5) / (found + 0.5))

    def holds(self, token: str) -> bool:
        """Whether a document has a token."""
        return len(self._posting(token)[0]) > 0

    def _posting(self, token: str) -> tuple[Ints, NDArray[np.float32]]:
        """Documents that have a token and its counts per field; copies, as views would pin the arrays."""
        if token not in self._docs:
            return np.zeros(0, np.int32), np.zeros((0, len(self.fields)), np.float32)
        docs = np.array(self._docs[token], np.int32)
        tfs = np.array(self._tfs[token], np.float32).reshape(-1, len(self.fields))
        if len(self._number) < len(self._keys):
            kept = self._alive[docs]
            docs, tfs = docs[kept], tfs[kept]
        return docs, tfs

    def _frequency(self, docs: Ints, tfs: NDArray[np.float32]) -> Floats:
        assert self._scale is not None
        return np.einsum("df,df->d", tfs, self._scale[docs])

    def _with_neighbours(
        self, docs: Ints, tfs: NDArray[np.float32], frequency: Floats, buffer: Floats
    ) -> tuple[NDArray[np.intp], Floats]:
        """tf~ with the neighbours' share, for the documents that have the token or stand beside one that has."""
        buffer[docs] = frequency
        for beside in self._links[:, docs]:
            there = beside >= 0
            # each document stands at most once before and once after another: no index twice
            buffer[beside[there]] += tfs[there, 0] * self._near_scale[beside[there]]
        touched = np.flatnonzero(buffer)
        frequency = buffer[touched]
        buffer[touched] = 0.0
        return touched, frequency

    def _rescale(self) -> None:
        lengths = self._lengths[: len(self._keys)].astype(np.float64)
        norm = 1 - self._b + self._b * lengths / _means(lengths)
        # an empty field divides by 1 - b, which may be 0; nothing is ever found there
        self._scale = self._weights / np.where(lengths > 0, norm, 1.0)
        if self.neighbour_weight:
            links = self._links[:, : len(self._keys)]
            near = np.where(links >= 0, lengths[links, 0], 0.0).sum(axis=0)
            norm = 1 - self._b[0] + self._b[0] * near / _means(near[:, None])[0]
            self._near_scale = self.neighbour_weight / np.where(near > 0, norm, 1.0)


def _means(lengths: Floats) -> Floats:
    """The mean of each column over its entries that are not 0; 1 where there are none."""
    filled = np.count_nonzero(lengths, axis=0)
    return np.where(filled > 0, lengths.sum(axis=0) / np.maximum(filled, 1), 1.0)
