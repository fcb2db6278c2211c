"""Texts to vectors, without a model: the seam that every static embedding fits, and its smallest filling.

An ``Embedder`` is deterministic and costs microseconds. It is not a language model and knows nothing of meaning
beyond what its table or hash holds; the optional sentence encoder (extra ``embed``) lives elsewhere.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pointwork.errors import UsageError

Vectors = npt.NDArray[np.float32]

_WORD = re.compile(r"\w+")
# Words that say little about the subject: without document frequencies, they would drown the others.
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """
        a about all also an and any are as at be been but by can could did do does for from had has
        have he her him his how i if in into is it its just me more my no not of on one or our out
        she so some than that the their them then there these they this to up us was we were what
        when where which who why will with would you your
        """,
    )
)
_COMMON_WEIGHT = 0.25
_GRAM = 4
_GRAM_WEIGHT = 0.5
_SUFFIXES = ("ations", "ation", "ingly", "ments", "ment", "ings", "ing", "edly", "ies", "ed", "es", "ly", "s")
_LONGEST = 48  # letters of a word that count
_CACHE_WORDS = 1 << 16


class Embedder(Protocol):
    """Turns texts into unit vectors, the same in every process and on every machine.

    Attributes:
        version: changes whenever the same text would get another vector; stored beside what was computed with it.
        dims: length of a vector.
    """

    @property
    def version(self) -> str: ...

    @property
    def dims(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dims), each of length 1, or 0 for a text without words."""
        ...


class HashingEmbedder:
    """A random projection of the bag of stemmed words and their character 4-grams.

    Each word or 4-gram owns a vector of ``dims`` signs, the bits of its SHAKE-128 digest, so that inner products
    of texts approximate those of their bags (Achlioptas, "Database-friendly random projections", 2003). Repeated
    words count by the square root of how often they stand there; function words a quarter.

    Args:
        dims: length of a vector.

    Raises:
        UsageError: ``dims`` is below 1.
    """

    def __init__(self, dims: int = 32) -> None:
        if dims < 1:
            raise UsageError(f"an embedding needs at least 1 dimension, not {dims}")
        self._dims = dims
        self._words: dict[str, Vectors] = {}

    @property
    def version(self) -> str:
        return f"hash{self._dims}-1"

    @property
    def dims(self) -> int:
        return self._dims

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dims), each of length 1, or 0 for a text without words."""
        vectors = np.zeros((len(texts), self._dims), np.float32)
        for row, text in enumerate(texts):
            counts: dict[str, int] = {}
            for word in _WORD.findall(text.lower()):
                word = word[:_LONGEST]
                counts[word] = counts.get(word, 0) + 1
            if not counts:
                continue
            table = np.array([self._word(word) for word in counts])
            vector = np.sqrt(np.fromiter(counts.values(), np.float32, len(counts))) @ table
            norm = float(np.sqrt(vector @ vector))
            if norm > 0:
                vectors[row] = vector / norm
        return vectors

    def _word(self, word: str) -> Vectors:
        known = self._words.get(word)
        if known is not None:
            return known
        if len(self._words) >= _CACHE_WORDS:
            self._words.clear()
        stem = _stem(word)
        vector = self._signs("w:" + stem)
        padded = f"<{stem}>"
        grams = [padded[i : i + _GRAM] for i in range(len(padded) - _GRAM + 1)]
        if grams:
            shared = np.sum([self._signs("g:" + gram) for gram in grams], axis=0, dtype=np.float32)
            vector = vector + np.float32(_GRAM_WEIGHT / len(grams) ** 0.5) * shared
        if word in _COMMON:
            vector = vector * np.float32(_COMMON_WEIGHT)
        self._words[word] = vector
        return vector

    def _signs(self, feature: str) -> Vectors:
        digest = hashlib.shake_128(feature.encode(errors="surrogatepass")).digest((self._dims + 7) // 8)
        bits = np.unpackbits(np.frombuffer(digest, np.uint8))[: self._dims]
        return bits.astype(np.float32) * 2 - 1


def _stem(word: str) -> str:
    """A crude stem: one common English ending cut off, if at least four letters stay."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word[: -len(suffix)]
    return word
