"""BM25F over tools, computed once: a word's share of each tool's score lies ready.

Formula: Robertson, Zaragoza & Taylor 2004, "Simple BM25 extension to multiple weighted fields"; see
``pointwork.memory.bm25``, which can change after it is built. Here nothing changes, and a hundred thousand tools
are searched in milliseconds. Words that are not there are looked for among those that mean nearly the same by their
embedding.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwork.embedding import Embedder
from pointwork.text import tokenize

Floats = NDArray[np.floating[Any]]  # float32; numpy's hints do not follow it through arithmetic
Ints = NDArray[np.int32]

K1, B = 1.2, 0.6
NEAR = 0.5  # cosine from which a word may stand for another
NEIGHBOURS = 6
NEAR_WEIGHT = 0.4
MOST_WORDS = 12_000  # of the vocabulary, most frequent first, that may stand for another
_CACHE = 20_000
_COMMON = 12  # times as many documents as are asked for
_NOWHERE = (np.zeros(0, np.int32), np.zeros(0, np.float32))


class Lexicon:
    """Scores of words in documents of several fields.

    Args:
        fields: tokens per document, by field name.
        weights: of the fields.
        surface: the same documents' words as they stand there: they may stand for words of a request.
        embedder: says which words are near.
        kept: the same, for the documents' words; None: ``embedder``.
    """

    def __init__(
        self,
        fields: Mapping[str, Sequence[Sequence[str]]],
        weights: Mapping[str, float],
        surface: Counter[str],
        embedder: Embedder,
        kept: Embedder | None = None,
    ) -> None:
        self.size = len(next(iter(fields.values())))
        found: dict[str, tuple[array[int], array[float]]] = {}
        for name, documents in fields.items():
            lengths = [len(tokens) for tokens in documents]
            filled = [length for length in lengths if length]
            mean = sum(filled) / len(filled) if filled else 1.0
            for number, tokens in enumerate(documents):
                scale = weights[name] / (1 - B + B * lengths[number] / mean)
                for token, count in Counter(tokens).items():
                    docs, shares = found.setdefault(token, (array("i"), array("f")))
                    if docs and docs[-1] == number:
                        shares[-1] += count * scale
                    else:
                        docs.append(number)
                        shares.append(count * scale)
        self._idf: dict[str, float] = {}
        self._postings: dict[str, tuple[Ints, Floats]] = {}
        for token, (docs, shares) in found.items():
            numbers, frequency = np.array(docs, np.int32), np.array(shares, np.float32)
            if (np.diff(numbers) <= 0).any():  # a document came again with a later field
                numbers, places = np.unique(numbers, return_inverse=True)
                frequency = np.bincount(places, frequency).astype(np.float32)
            idf = math.log(1 + (self.size - len(numbers) + 0.5) / (len(numbers) + 0.5))
            self._idf[token] = idf
            self._postings[token] = (numbers, np.float32(idf * (K1 + 1)) * frequency / (K1 + frequency))
        self.unknown_idf = math.log(1 + (self.size + 0.5) / 0.5)
        self._embedder = embedder
        self._words = [word for word, _ in surface.most_common(MOST_WORDS) if len(word) > 2]
        self._stems = [(tokenize(word) or [word])[0] for word in self._words]
        self._vectors = (
            (kept or embedder).embed(self._words) if self._words else np.zeros((0, embedder.dims), np.float32)
        )
        self._near: dict[str, list[tuple[str, float]]] = {}

    def idf(self, token: str) -> float:
        """How much a token tells; most if it is nowhere."""
        return self._idf.get(token, self.unknown_idf)

    def weight(self, tokens: Iterable[str]) -> float:
        """How much tokens tell together."""
        known, unknown = self._idf, self.unknown_idf
        return sum([known.get(token, unknown) for token in tokens])

    def plain(self, texts: Sequence[str]) -> Floats:
        """Scores of each text and document by their words alone; shape (texts, documents)."""
        found = np.zeros((len(texts), self.size), np.float32)
        for row, text in enumerate(texts):
            for token, count in Counter(tokenize(text)).items():
                posting = self._postings.get(token)
                if posting is not None:
                    found[row, posting[0]] += np.float32(min(2, count)) * posting[1]
        return found

    def scores(self, texts: Sequence[str], among: Ints | None = None) -> tuple[Floats, Floats]:
        """Scores by words alone, and with near words; shape (texts, documents) each.

        Args:
            texts: what is looked for.
            among: numbers of the documents to score; None is all.
        """
        counts = [Counter(tokenize(text, stem=False)) for text in texts]
        words = list({word: None for count in counts for word in count})
        self._find_near(words)
        size, places = self.size, np.zeros(0, np.int32)
        if among is not None:
            size, places = len(among), np.full(self.size, -1, np.int32)
            places[among] = np.arange(size, dtype=np.int32)
        plain = np.zeros((len(texts), size), np.float32)
        wide = np.zeros((len(texts), size), np.float32)
        best = np.zeros(size, np.float32)
        for word in words:
            stem = (tokenize(word) or [word])[0]
            own = self._posting(stem, among, places)
            rows = [(row, np.float32(min(2, count[word]))) for row, count in enumerate(counts) if word in count]
            for row, times in rows:
                plain[row, own[0]] += times * own[1]
            near = self._near.get(word)
            if not near:
                for row, times in rows:
                    wide[row, own[0]] += times * own[1]
                continue
            best[:] = 0
            best[own[0]] = own[1]
            for token, share in near:
                if stem in self._idf:  # a common word is not made rare by the company it keeps
                    share *= min(1.0, self._idf[stem] / self._idf[token])
                docs, scores = self._posting(token, among, places)
                best[docs] = np.maximum(best[docs], np.float32(share) * scores)
            for row, times in rows:
                wide[row] += times * best
        return plain, wide

    def _posting(self, token: str, among: Ints | None, places: Ints) -> tuple[Ints, Floats]:
        """Documents that have a token, and its scores; renumbered if only some are asked for."""
        posting = self._postings.get(token)
        if posting is None or among is None:
            return posting or _NOWHERE
        docs, scores = posting
        if len(docs) > _COMMON * len(among):  # a common word: look the few up in the many
            rows = np.searchsorted(docs, among)
            there = (docs.take(rows, mode="clip") == among).nonzero()[0]
            return there.astype(np.int32), scores[rows[there]]
        rows = places.take(docs)
        there = (rows >= 0).nonzero()[0]
        return rows[there], scores[there]

    def _find_near(self, words: Sequence[str]) -> None:
        missing = [word for word in words if word not in self._near]
        if not missing or not self._words:
            return
        if len(self._near) > _CACHE:
            self._near.clear()
        long = [word for word in missing if len(word) > 2]
        self._near |= {word: [] for word in missing}
        if not long:
            return
        cosines: Floats = self._embedder.embed(long) @ self._vectors.T
        for word, row in zip(long, cosines, strict=True):
            self._near[word] = self._nearest((tokenize(word) or [word])[0], row)

    def _nearest(self, own: str, cosines: Floats) -> list[tuple[str, float]]:
        places = np.flatnonzero(cosines >= NEAR)
        places = places[np.argsort(-cosines[places], kind="stable")][: 3 * NEIGHBOURS]
        found: dict[str, float] = {}
        for place in map(int, places):
            stem = self._stems[place]
            if stem != own and stem in self._postings and len(found) < NEIGHBOURS:
                share = NEAR_WEIGHT * (0.5 + 0.5 * (float(cosines[place]) - NEAR) / (1 - NEAR))
                found[stem] = max(share, found.get(stem, 0.0))
        return list(found.items())
