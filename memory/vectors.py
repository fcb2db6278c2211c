"""Vectors of all documents, to find those that share meaning but no word with a question.

Up to ``EXACT`` documents their vectors are compared one by one, in numpy. Beyond that, 256 signs of a rotated
vector stand for it (32 bytes instead of 1,024): their number of differences grows with the angle (Charikar 2002,
"Similarity estimation techniques from rounding algorithms"). The best few are then looked at exactly, with their
texts.
"""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwork.embedding import Embedder
from pointwork.memory.products import product
from pointwork.memory.segments import Segments, Vectors

Floats = NDArray[np.float32]

EXACT = 50_000
BITS = 256
_COSINES = np.cos(np.arange(BITS + 1) * np.pi / BITS).astype(np.float32)  # estimate by how many signs differ


class Dense:
    """The vectors of an index: of its segments, read when first wanted, and of its tail. By place.

    Args:
        segments: where the vectors of most documents are.
        embedder: what makes vectors of texts.
    """

    def __init__(self, segments: Segments, embedder: Embedder) -> None:
        self._segments = segments
        self.embedder = embedder
        self._tail: list[Floats] = []
        self._base: NDArray[Any] | None = None
        self._base_exact = True
        self._joined: NDArray[Any] | None = None
        self._joined_for = (-1, True)

    def add(self, vectors: Floats) -> None:
        """Vectors of documents that were added at the end, shape (n, dims)."""
        self._tail.append(vectors)

    def remove(self, place: int) -> None:
        """Forget the vector of a document."""
        for table in (self._base, self._joined):
            if table is not None and place < (len(table) if self._base_exact else table.shape[1]):
                table[place if self._base_exact else (slice(None), place)] = 0

    def packed(self) -> Vectors:
        """The tail as the store keeps it."""
        vectors = np.concatenate(self._tail)
        scales: NDArray[Any] = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-9) / 127
        small: NDArray[np.int8] = np.round(vectors / scales).astype(np.int8)
        rows: NDArray[np.int8] = np.concatenate(
            [scales.astype("<f4").view(np.int8).reshape(len(small), 4), small], axis=1
        )
        return Vectors(self.embedder.version, codes(vectors).tobytes(), rows.tobytes())

    def near(self, vector: Floats, size: int) -> tuple[Floats, bool]:
        """How near each of ``size`` documents is to a vector, and whether that is its cosine.

        If not, it is an estimate of it from the signs.
        """
        exact = size <= EXACT
        table = self._table(exact, size)
        if exact:
            return product(table, vector), True
        different = np.zeros(size, np.uint16)
        for words, wanted in zip(table, _words(codes(vector[None, :]))[:, 0], strict=True):
            different += np.bitwise_count(words ^ wanted)
        return _COSINES.take(different), False

    def of(self, places: NDArray[Any], size: int) -> Floats | None:
        """The vectors of documents, if they are kept as they are (and not as signs)."""
        return self._table(True, size)[places] if size <= EXACT else None

    def _table(self, exact: bool, size: int) -> NDArray[Any]:
        if self._base is None or self._base_exact != exact:
            self._base, self._base_exact = self._read(exact), exact
            self._joined = None
        if self._joined is None or self._joined_for != (size, exact):
            tail = self._tail if exact else [_words(codes(part)) for part in self._tail]
            self._joined = np.concatenate([self._base, *tail], axis=0 if exact else 1)
            self._joined_for = (size, exact)
        return self._joined

    def _read(self, exact: bool) -> NDArray[Any]:
        """The segments' vectors; those that another embedder made are nothing: they were not made for this one."""
        parts: list[NDArray[Any]] = []
        for segment, version, signs, vectors in self._segments.vectors(codes_only=not exact):
            count = len(segment.columns)
            if version != self.embedder.version:
                signs = bytes(count * BITS // 8)
            if not exact:
                parts.append(_words(np.frombuffer(signs, np.uint8).reshape(count, BITS // 8)))
            elif version != self.embedder.version:
                parts.append(np.zeros((count, self.embedder.dims), np.float32))
            else:
                parts.append(_unpacked(vectors, count))
        if exact:
            return np.concatenate([np.zeros((0, self.embedder.dims), np.float32), *parts])
        return np.concatenate([np.zeros((BITS // 64, 0), np.uint64), *parts], axis=1)


def codes(vectors: Floats) -> NDArray[np.uint8]:
    """256 signs of each vector, rotated at random (the same way everywhere), shape (n, 32)."""
    return np.packbits(vectors @ _rotation(vectors.shape[1]) > 0, axis=1)


def _words(signs: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Codes as numbers of 64 bits, shape (4, n): all first ones side by side, to be compared in one go."""
    return np.ascontiguousarray(np.ascontiguousarray(signs).view(np.uint64).T)


@functools.cache
def _rotation(dims: int) -> Floats:
    blocks: list[NDArray[Any]] = []
    random = np.random.default_rng(256)
    while sum(block.shape[1] for block in blocks) < BITS:
        blocks.append(np.linalg.qr(random.standard_normal((dims, dims)))[0])
    return np.concatenate(blocks, axis=1)[:, :BITS].astype(np.float32)


def _unpacked(data: bytes, count: int) -> Floats:
    rows = np.frombuffer(data, np.int8).reshape(count, -1)
    scales = rows[:, :4].copy().view("<f4")
    return rows[:, 4:].astype(np.float32) * scales
