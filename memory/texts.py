"""The texts of candidates, with what the ranker wants to know of each; those read lately are kept."""

import functools
import re
import threading
from collections.abc import Iterable, Sequence
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


@dataclass(slots=True)
class Known:
    """A row as the ranker sees it.

    Attributes:
        item: with its exact text.
        words: its different words that are no stop words, as written but in lower case.
        text: title and text.
        vector: of these; None until ``Texts.vectors`` was asked for it.
    """

    item: Item
    words: tuple[str, ...]
    text: str
    vector: Floats | None = None
    _tokens: tuple[str, ...] | None = None
    _bag: frozenset[str] | None = None
    _names: "Names | None" = None
    _suspect: bool | None = None

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
            self._bag = frozenset([*self.tokens, *tokenize(self.item.speaker or "")])
        return self._bag

    @property
    def suspect(self) -> bool:
        """Whether it reads like an order by somebody else than the user; found when first asked for."""
        if self._suspect is None:
            self._suspect = suspect(self.item)
        return self._suspect

    @property
    def names(self) -> "Names":
        """What names it has; found when first asked for."""
        if self._names is None:
            text = folded(self.item.text)
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
                text = body(row)
                self._kept[serial] = Known(item_of(row, exact_text(row)), content(text), text)
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
    return tuple(word for word in dict.fromkeys(_WORD.findall(text.lower())) if word not in STOP_WORDS)


class Words:
    """Vectors of single words, computed once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._row: dict[str, int] = {}
        self._table = self._empty(_WORDS)
        self._lock = threading.Lock()

    def rows(self, words: Sequence[str]) -> tuple[NDArray[Any], Floats]:
        """For each of different words its row in the table, and the table (later calls do not change those)."""
        with self._lock:
            missing = [word for word in words if word not in self._row]
            if len(self._row) + len(missing) > len(self._table):
                missing = list(words)
                self._row = {}
                self._table = self._empty(max(_WORDS, len(missing)))
            if missing:
                start = len(self._row)
                self._row.update(zip(missing, range(start, start + len(missing)), strict=True))
                self._table[start : start + len(missing)] = self._embedder.embed(missing)
            return np.array([self._row[word] for word in words], np.intp), self._table

    def _empty(self, count: int) -> Floats:
        """A table whose memory the system only gives where it is written: it never needs to grow."""
        return np.zeros((count, self._embedder.dims), np.float32)


@functools.cache
def words_of(embedder: Embedder) -> Words:
    """The words of an embedder, shared by all memories of the process."""
    return Words(embedder)
