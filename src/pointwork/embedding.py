"""Texts to vectors, without a model: the seam that every static embedding fits, and two fillings of it.

An ``Embedder`` is deterministic and costs microseconds. ``StaticEmbedder`` knows words by meaning, from tables
distilled from a sentence encoder; ``HashingEmbedder`` knows only which words texts share and needs no table. The
optional sentence encoder itself (extra ``embed``) lives elsewhere.

    from pointwork.embedding import default_embedder

    default_embedder().embed(["reserve a seat on the train", "book a railway ticket"])   # float32, (2, 256)
"""

import functools
import hashlib
import re
import unicodedata
from collections.abc import Sequence
from importlib import resources
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import regex

from pointwork.errors import UsageError

Vectors = npt.NDArray[np.float32]

STATIC_DIMS = 256
Table = Literal["texts", "words"]
# table -> its file, and what changes in the version when it does
_STATIC: dict[Table, tuple[str, int]] = {"texts": ("static-texts.npz", 2), "words": ("static-minilm.npz", 1)}
_MAX_PIECES = 100  # characters of a word that BERT's tokeniser looks at; longer ones are unknown
_LONG = 4096  # word pieces; of a longer text each distinct one is gathered once
_SHORT, _MANY, _AT_ONCE = 12, 16, 512  # texts of few pieces are added up together, if they are many
# BERT's own character classes: what it drops, what is a token by itself, what it calls punctuation
_DROPPED = regex.compile(r"(?![\t\n\r])[\p{C}\ufffd]")
_ALONE = regex.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)
_ASCII_DROPPED = dict.fromkeys([*(code for code in range(32) if chr(code) not in "\t\n\r"), 127])
_ASCII_PRETOKEN = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_PRETOKEN = regex.compile(r"[!-/:-@\[-`{-~\p{P}]|[^!-/:-@\[-`{-~\p{P}\s]+")

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


class StaticEmbedder:
    """The mean of its word pieces' vectors, 4 bits a number.

    Two tables of 29,525 word pieces are package data, each read at its first use and then shared by all instances.
    ``texts`` was learnt so that the mean of a text's pieces is near what all-MiniLM-L6-v2 makes of the whole text:
    for finding what means the same (``benchmarks/train_embedding.py``; the idea is that of model2vec's tokenlearn,
    Tulkens and van Dongen, 2024). ``words`` is model2vec's distillation, where each piece went through the encoder
    by itself, weighted by how rare it is: it keeps more of a text's form, by which a router tells tasks apart
    (``benchmarks/distil_embedding.py``). In both the leading components hold most. Figures: docs/memory.md.
    Safe to use from several threads. Unknown characters add nothing; order of words does not count.

    Args:
        dims: how many of the leading components to keep, at most 256.
        table: ``texts`` or ``words``.

    Raises:
        UsageError: ``dims`` is not from 1 to 256, or there is no such table.
    """

    def __init__(self, dims: int = STATIC_DIMS, table: Table = "texts") -> None:
        if not 1 <= dims <= STATIC_DIMS:
            raise UsageError(f"the static embedding has 1 to {STATIC_DIMS} dimensions, not {dims}")
        if table not in _STATIC:
            raise UsageError(f"the static embedding has the tables {' and '.join(_STATIC)}, not {table!r}")
        self._dims = dims
        self._table: Table = table

    @property
    def version(self) -> str:
        return f"static{self._dims}-{_STATIC[self._table][1]}"

    @property
    def dims(self) -> int:
        return self._dims

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dims), each of length 1, or 0 for a text without known words."""
        table = _static_table(self._table)
        vectors = table.totals([table.pieces(text) for text in texts])[:, : self._dims]
        return unit(vectors)


def unit(vectors: npt.NDArray[np.floating[Any]]) -> Vectors:
    """Each row at length 1; rows of nothing stay 0."""
    lengths = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
    return (vectors / np.maximum(lengths, 1e-9)).astype(np.float32, copy=False)


class _StaticTable:
    """The distilled table and its tokeniser (BERT's, uncased); with known words ten times the library's speed."""

    def __init__(self, codes: npt.NDArray[np.uint8], scales: Vectors, vocabulary: Sequence[str]) -> None:
        # two numbers a byte, -7 to 7, 8 added; the even columns in the low half
        signed = np.empty((len(codes), 2 * codes.shape[1]), np.int8)
        signed[:, 0::2] = (codes & 15).astype(np.int8) - 8
        signed[:, 1::2] = (codes >> 4).astype(np.int8) - 8
        self._codes = signed
        self._scales = scales
        rows = {piece: row for row, piece in enumerate(vocabulary)}
        # two tables, so that no text is made for each try: what begins a word, and what goes on with it
        self._begins = rows
        self._goes_on = {piece[2:]: row for piece, row in rows.items() if piece.startswith("##")}
        self._known: dict[str, tuple[int, ...]] = {}

    def pieces(self, text: str) -> list[int]:
        """Rows of the word pieces of a text, in order; what is unknown is left out."""
        if text.isalnum() and text.isascii():
            words = [text.lower()]
        elif text.isascii():
            words = _ASCII_PRETOKEN.findall(text.translate(_ASCII_DROPPED).lower())
        else:
            text = _ALONE.sub(r" \g<0> ", _DROPPED.sub("", text))
            text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
            words = _PRETOKEN.findall(text.lower())
        found: list[int] = []
        for word in words:
            known = self._known.get(word)
            if known is None:
                if len(self._known) >= _CACHE_WORDS:
                    self._known.clear()
                known = self._split(word)
                if len(word) <= _MAX_PIECES:
                    self._known[word] = known
            found.extend(known)
        return found

    def _split(self, word: str) -> tuple[int, ...]:
        """The longest known piece at each place; nothing if the word can not be made of pieces."""
        if len(word) > _MAX_PIECES:
            return ()
        found: list[int] = []
        pieces, rest = self._begins, word
        while rest:
            for end in range(len(rest), 0, -1):
                row = pieces.get(rest[:end])
                if row is not None:
                    found.append(row)
                    pieces, rest = self._goes_on, rest[end:]
                    break
            else:
                return ()
        return tuple(found)

    def totals(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """The sums of the pieces' vectors of texts, shape (len(texts), STATIC_DIMS); 0 without pieces."""
        found = np.zeros((len(texts), STATIC_DIMS), np.float32)
        short = [number for number, pieces in enumerate(texts) if 0 < len(pieces) <= _SHORT]
        if len(short) >= _MANY:
            short.sort(key=lambda number: -len(texts[number]))
            for at in range(0, len(short), _AT_ONCE):
                some = short[at : at + _AT_ONCE]
                found[some] = self._added([texts[number] for number in some])
        rest = range(len(texts)) if len(short) < _MANY else set(range(len(texts))).difference(short)
        for number in rest:
            if texts[number]:
                found[number] = self.total(texts[number])
        return found

    def _added(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """As ``totals``, of texts with the longest first: all first pieces, then all second ones, and so on.

        Single words come by the hundred: an array operation each would cost more than the sums. Added in the same
        order, they are the same to the last bit.
        """
        lengths = np.fromiter(map(len, texts), np.intp, len(texts))
        flat = np.fromiter((row for pieces in texts for row in pieces), np.intp, int(lengths.sum()))
        starts = np.cumsum(lengths) - lengths
        found = np.zeros((len(texts), STATIC_DIMS), np.float32)
        for nth in range(int(lengths[0])):
            count = int(np.count_nonzero(lengths > nth))
            rows = flat[starts[:count] + nth]
            vectors = self._codes.take(rows, axis=0).astype(np.float32)
            vectors *= self._scales.take(rows)[:, None]
            found[:count] += vectors
        return found

    def total(self, pieces: Sequence[int]) -> Vectors:
        """The sum of the pieces' vectors, shape (STATIC_DIMS,)."""
        rows = np.array(pieces, np.intp)
        weights = self._scales.take(rows)
        if len(rows) > _LONG:
            rows, counts = np.unique(rows, return_counts=True)
            weights = self._scales.take(rows) * counts.astype(np.float32)
        # not a matrix product: those round differently from machine to machine
        return (self._codes.take(rows, axis=0) * weights[:, None]).sum(axis=0)


@functools.cache
def _static_table(table: Table) -> _StaticTable:
    path = resources.files("pointwork") / "vectors" / _STATIC[table][0]
    with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
        vocabulary = bytes(data["vocabulary"]).decode().split("\n")
        return _StaticTable(data["codes"], data["scales"].astype(np.float32), vocabulary)


@functools.cache
def default_embedder() -> Embedder:
    """The embedder of the default install, one for the whole process."""
    return StaticEmbedder()


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
