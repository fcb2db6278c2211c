"""BM25F over tools, computed once: a word's share of each tool's score lies ready.

Formula: Robertson, Zaragoza & Taylor 2004, "Simple BM25 extension to multiple weighted fields"; see
``pointwork.memory.bm25``, which can change after it is built. Here nothing changes, and a hundred thousand tools
are searched in milliseconds. Words that are not there are looked for among those that mean nearly the same by their
embedding.
"""

import math
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pointwork.embedding import Embedder
from pointwork.text import tokenize

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

K1, B = 1.2, 0.6
NEAR = 0.5  # cosine from which a word may stand for another
NEIGHBOURS = 6
NEAR_WEIGHT = 0.4
MOST_WORDS = 12_000  # of the vocabulary, most frequent first, that may stand for another
_CACHE = 20_000


class Lexicon:
    """Scores of words in documents of several fields.

    Args:
        fields: tokens per document, by field name.
        weights: of the fields.
        surface: the same documents' words as they stand there: they may stand for words of a request.
        embedder: says which words are near.
    """

    def __init__(
        self,
        fields: Mapping[str, Sequence[Sequence[str]]],
        weights: Mapping[str, float],
        surface: Counter[str],
        embedder: Embedder,
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
        self._vectors = embedder.embed(self._words) if self._words else np.zeros((0, embedder.dims), np.float32)
        self._near: dict[str, list[tuple[str, float]]] = {}

    def idf(self, token: str) -> float:
        """How much a token tells; most if it is nowhere."""
        return self._idf.get(token, self.unknown_idf)

    def weight(self, tokens: set[str]) -> float:
        """How much tokens tell together."""
        return sum(map(self.idf, tokens))

    def scores(self, texts: Sequence[str]) -> tuple[Floats, Floats]:
        """Of each text and document: plain scores, and those with near words; shape (texts, documents) each."""
        counts = [Counter(tokenize(text, stem=False)) for text in texts]
        self._find_near({word for count in counts for word in count})
        plain = np.zeros((len(texts), self.size), np.float32)
        wide = np.zeros((len(texts), self.size), np.float32)
        for word in {word: None for count in counts for word in count}:
            stem = (tokenize(word) or [word])[0]
            rows = [(row, min(2, count[word])) for row, count in enumerate(counts) if word in count]
            posting = self._postings.get(stem)
            near = self._near.get(word, [])
            spread = self._spread(posting, near, self._idf.get(stem)) if near else None
            for row, times in rows:
                if posting is not None:
                    plain[row, posting[0]] += times * posting[1]
                if spread is not None:
                    wide[row, spread[0]] += times * spread[1]
                elif posting is not None:
                    wide[row, posting[0]] += times * posting[1]
        return plain, wide

    def _spread(
        self, posting: tuple[Ints, Floats] | None, near: list[tuple[str, float]], known: float | None
    ) -> tuple[Ints, Floats]:
        """A word's posting with those of words near it: for each document the best."""
        parts = [] if posting is None else [posting]
        for token, share in near:
            if known is not None:
                share *= min(1.0, known / self._idf[token])
            docs, scores = self._postings[token]
            parts.append((docs, np.float32(share) * scores))
        if len(parts) == 1:
            return parts[0]
        docs = np.concatenate([part[0] for part in parts])
        scores = np.concatenate([part[1] for part in parts])
        order = np.argsort(-scores, kind="stable")
        kept, first = np.unique(docs[order], return_index=True)
        return kept, scores[order][first]

    def _find_near(self, words: set[str]) -> None:
        missing = sorted(word for word in words if word not in self._near)
        if not missing or not self._words:
            return
        if len(self._near) > _CACHE:
            self._near.clear()
        long = [word for word in missing if len(word) > 2]
        self._near |= {word: [] for word in missing}
        if not long:
            return
        cosines = self._embedder.embed(long) @ self._vectors.T
        for word, row in zip(long, cosines, strict=True):
            self._near[word] = self._nearest((tokenize(word) or [word])[0], row)

    def _nearest(self, own: str, cosines: Floats) -> list[tuple[str, float]]:
        places = np.flatnonzero(cosines >= NEAR)
        places = places[np.argsort(-cosines[places], kind="stable")][: 3 * NEIGHBOURS]
        found: dict[str, float] = {}
        for place in places.tolist():
            stem = self._stems[place]
            if stem != own and stem in self._postings and len(found) < NEIGHBOURS:
                share = NEAR_WEIGHT * (0.5 + 0.5 * (float(cosines[place]) - NEAR) / (1 - NEAR))
                found[stem] = max(share, found.get(stem, 0.0))
        return list(found.items())
