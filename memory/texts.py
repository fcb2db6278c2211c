"""The texts of candidates, with what the ranker wants to know of each; those read lately are kept."""

import functools
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwork.embedding import Embedder
from pointwork.memory.episodic import Episodic, exact_text
from pointwork.memory.items import Item, item_of
from pointwork.memory.names import names
from pointwork.memory.suspicion import suspect
from pointwork.memory.words import body, folded
from pointwork.text import STOP_WORDS, tokenize

Floats = NDArray[np.float32]

_KEPT = 8000  # texts
_WORDS = 32_768  # words whose vectors are kept: 32 MB
_PLAIN = re.compile(r"\w+")
_WORD = re.compile(r"[^\W_]+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")  # the same in lower case, quicker
_STOP = -1  # the row of a stop word


@dataclass(slots=True)
class Known:
    """A row as the ranker sees it.

    Attributes:
        row: of ``memory_items``.
        exact: its text as it was added.
        text: title and text.
        vector: of these; None until ``Texts.vectors`` was asked for it.
        rows: of its words in a table of ``Words``, with that table's number; None until ``Words.of`` was asked.
        marks: what its form tells whatever is asked; None until ``features`` looked.
    """

    row: Mapping[str, Any]
    exact: str
    text: str
    vector: Floats | None = None
    rows: "tuple[int, NDArray[np.int32]] | None" = None
    marks: tuple[float, ...] | None = None
    _item: Item | None = None
    _tokens: tuple[str, ...] | None = None
    _bag: frozenset[str] | None = None
    _names: "Names | None" = None
    _suspect: bool | None = None

    @property
    def item(self) -> Item:
        """The row, with its exact text; made when first asked for, which is of the best only."""
        if self._item is None:
            self._item = item_of(self.row, self.exact)
        return self._item

    @property
    def tokens(self) -> tuple[str, ...]:
        """Of title and text, in order. Most candidates are ranked without: ``View.held`` asks the index."""
        if self._tokens is None:
            self._tokens = tuple(tokenize(self.text))
        return self._tokens

    @property
    def bag(self) -> frozenset[str]:
        """The tokens of title, text and speaker."""
        if self._bag is None:
            self._bag = frozenset([*self.tokens, *tokenize(self.row["speaker"] or "")])
        return self._bag

    @property
    def suspect(self) -> bool:
        """Whether it reads like an order by somebody else than the user; found when first asked for."""
        if self._suspect is None:
            # the user's own words are not looked at, and need no item made of them
            self._suspect = suspect(self.item) if self.row["trust"] != "user" else False
        return self._suspect

    @property
    def names(self) -> "Names":
        """What names it has; found when first asked for."""
        if self._names is None:
            text = folded(self.exact)
            words = _PLAIN.findall(text.lower())
            self._names = Names(text, names(text), f" {' '.join(words)} ", frozenset(words))
        return self._names


@dataclass(frozen=True, slots=True)
class Names:
    """A text's names.

    Attributes:
        folded: the text without accents.
        names: as ``names.names`` gives them.
        plain: its words in lower case with a space between, before and after.
        words: the same as a set.
    """

    folded: str
    names: frozenset[str]
    plain: str
    words: frozenset[str]


class Texts:
    """Rows by serial number; what was read lately is kept, until something is deleted."""

    def __init__(self, rows: Episodic, embedder: Embedder) -> None:
        self._rows = rows
        self._embedder = embedder
        self._kept: dict[int, Known] = {}
        self._dropped = 0

    def expect(self, dropped: int) -> None:
        """Keep nothing of before the latest deletion, of which the index counts ``dropped``."""
        if dropped != self._dropped or len(self._kept) > _KEPT:
            self._kept.clear()
        self._dropped = dropped

    def get(self, serials: Iterable[int]) -> dict[int, Known]:
        """What is known of rows; those deleted meanwhile are left out."""
        wanted = list(dict.fromkeys(serials))
        missing = [serial for serial in wanted if serial not in self._kept]
        if missing:
            rows = self._rows.by_serial(missing)
            for serial, row in rows.items():
                self._kept[serial] = Known(row, exact_text(row), body(row))
        return {serial: known for serial in wanted if (known := self._kept.get(serial)) is not None}

    def vectors(self, some: Sequence[Known]) -> Floats:
        """The vectors of texts, shape (len(some), dims); each is computed once."""
        missing = [known for known in some if known.vector is None]
        if missing:
            for known, vector in zip(missing, self._embedder.embed([k.text for k in missing]), strict=True):
                known.vector = vector
        found = [known.vector for known in some if known.vector is not None]
        return np.array(found, np.float32).reshape(len(some), self._embedder.dims)


def content(text: str) -> tuple[str, ...]:
    """The different words of a text that are no stop words, in lower case."""
    return tuple(word for word in dict.fromkeys(_words(text)) if word not in STOP_WORDS)


def _words(text: str) -> list[str]:
    lower = text.lower()
    return (_ASCII_WORD if lower.isascii() else _WORD).findall(lower)


class Words:
    """Vectors of single words, computed once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._row: dict[str, int] = dict.fromkeys(STOP_WORDS, _STOP)
        self._filled = 0
        self._number = 0  # of the table: a full one is given up for a new one
        self._table = self._empty(_WORDS)
        self._lock = threading.Lock()

    def of(self, asked: Sequence[str], some: Sequence[Known]) -> tuple[NDArray[Any], list[NDArray[Any]], Floats]:
        """Rows of a question's words, rows of each text's words that are no stop words, and the table they are in.

        Later calls do not change what the rows hold.
        """
        with self._lock:
            new = [known for known in some if known.rows is None or known.rows[0] != self._number]
            lists = [_words(known.text) for known in new]
            missing = self._missing([asked, *lists])
            if self._filled + len(missing) > len(self._table):
                self._row = dict.fromkeys(STOP_WORDS, _STOP)
                self._number, self._filled = self._number + 1, 0
                new, lists = list(some), [_words(known.text) for known in some]
                missing = self._missing([asked, *lists])
                self._table = self._empty(max(_WORDS, len(missing)))
            if missing:
                end = self._filled + len(missing)
                self._table[self._filled : end] = self._embedder.embed(missing)
                self._row.update(zip(missing, range(self._filled, end), strict=True))
                self._filled = end
            rows = np.array([self._row[word] for words in lists for word in words], np.int32)
            kept = np.concatenate([[0], np.cumsum(rows != _STOP)])
            rows = rows[rows != _STOP]
            ends: list[int] = kept[np.cumsum([0, *map(len, lists)])].tolist()
            for known, start, end in zip(new, ends, ends[1:], strict=False):
                known.rows = self._number, rows[start:end]
            found = [known.rows[1] for known in some if known.rows is not None]
            return np.array([self._row[word] for word in asked], np.intp), found, self._table

    def _missing(self, lists: Sequence[Sequence[str]]) -> list[str]:
        return list(dict.fromkeys([word for words in lists for word in words if word not in self._row]))

    def _empty(self, count: int) -> Floats:
        """A table whose memory the system only gives where it is written: it never needs to grow."""
        return np.zeros((count, self._embedder.dims), np.float32)


@functools.cache
def words_of(embedder: Embedder) -> Words:
    """The words of an embedder, shared by all memories of the process."""
    return Words(embedder)
