"""Which words of some sentences answer a question, or that none do, by an encoder that reads both together.

Each sentence is read behind the question; each run of words is as likely as its first and its last piece make it,
among all runs of all sentences and that there is no answer (Devlin et al., "BERT", NAACL 2019, §4.3).
``benchmarks/train_pointing.py`` teaches it.
"""

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pointwork.agents.parsing import encoder
from pointwork.agents.parsing.encoder import Encoder

Array = npt.NDArray[np.float32]

LONGEST, ASKED, RUN = 192, 48, 20
"""Word pieces of a row, of its question, and of an answer, at most."""

_REMEMBERED = 256  # questions with their sentences
_NEVER = np.float32(-1e9)

_lock = threading.Lock()


@dataclass(frozen=True)
class Pointed:
    """An answer.

    Attributes:
        sentence: its number.
        first, last: word pieces of it, both included.
        start, end: the characters of it, as a slice.
        sure: how likely that run is.
    """

    sentence: int
    first: int
    last: int
    start: int
    end: int
    sure: float


@dataclass(frozen=True)
class Row:
    """A question and a sentence as word pieces; the sentence's begin at ``begin``, each with its characters."""

    pieces: list[int]
    begin: int
    places: list[tuple[int, int]]


def row(question: str, sentence: str, read: Encoder) -> Row:
    """As the network sees them."""
    first, last = read.pieces.special("[CLS]"), read.pieces.special("[SEP]")
    asked = list(read.pieces.of(question))[:ASKED]
    pieces, places = read.pieces.placed(sentence)
    most = LONGEST - len(asked) - 3
    return Row([first, *asked, last, *pieces[:most], last], len(asked) + 2, places[:most])


class Pointer:
    """Finds answers. Safe to use from several threads.

    Args:
        read: the encoder with its heads ``ends`` (first and last piece) and ``none``.
    """

    def __init__(self, read: Encoder) -> None:
        self.read = read
        self._of = functools.lru_cache(maxsize=_REMEMBERED)(self._said)

    def of(self, question: str, sentences: Sequence[str], most: int = 5) -> tuple[tuple[Pointed, ...], float]:
        """The likeliest answers, none within another, and how likely it is that there is none.

        Who plans asks before who answers, so what was asked is remembered.
        """
        return self._of(question, tuple(sentences), most)

    def _said(self, question: str, sentences: tuple[str, ...], most: int) -> tuple[tuple[Pointed, ...], float]:
        return self.within([row(question, sentence, self.read) for sentence in sentences], most)

    def within(self, rows: Sequence[Row], most: int) -> tuple[tuple[Pointed, ...], float]:
        """The same of rows that are made."""
        if not rows:
            return (), 1.0
        chances, none = self._chances(rows)
        found: list[Pointed] = []
        for place in np.argsort(-np.concatenate([one.ravel() for one in chances]), kind="stable")[: 20 * most]:
            number, first, last = _which(int(place), chances)
            sure = float(chances[number][first, last])
            places = rows[number].places
            one = Pointed(number, first, last, places[first][0], places[last][1], sure)
            if sure > 0 and not any(_overlap(one, other) for other in found):
                found.append(one)
            if len(found) == most:
                break
        return tuple(found), none

    def _chances(self, rows: Sequence[Row]) -> tuple[list[Array], float]:
        """Of each sentence those of its runs, by first and last piece; that none is it. Together 1."""
        lengths = [len(one.pieces) for one in rows]
        ids = np.concatenate([one.pieces for one in rows])
        marks = np.concatenate([np.arange(len(one.pieces)) >= one.begin for one in rows]).astype(np.intp)
        seen = np.split(self.read.see(ids, marks, lengths), np.cumsum(lengths)[:-1])
        weights = self.read.weights
        logits: list[Array] = []
        for one, x in zip(rows, seen, strict=True):
            ends = x[one.begin : -1] @ weights["ends.weight"].T + weights["ends.bias"]
            runs = ends[:, 0][:, None] + ends[:, 1][None]
            near = np.triu(np.ones_like(runs, bool)) & np.tril(np.ones_like(runs, bool), RUN - 1)
            logits.append(np.where(near, runs, _NEVER))
        nones = np.array([float((x[0] @ weights["none.weight"].T + weights["none.bias"])[0]) for x in seen])
        none = float(np.logaddexp.reduce(nones) - np.log(len(nones)))
        top = max(none, *(float(one.max(initial=_NEVER)) for one in logits))
        runs, unsaid = [np.exp(one - top) for one in logits], float(np.exp(none - top))
        total = unsaid + sum(float(one.sum()) for one in runs)
        return [np.asarray(one / total, np.float32) for one in runs], unsaid / total


def _which(place: int, chances: Sequence[Array]) -> tuple[int, int, int]:
    for number, one in enumerate(chances):
        if place < one.size:
            first, last = divmod(place, one.shape[1])
            return number, first, last
        place -= one.size
    raise IndexError(place)


def _overlap(one: Pointed, other: Pointed) -> bool:
    return one.sentence == other.sentence and one.start < other.end and other.start < one.end


@functools.cache
def _shipped() -> Pointer:
    return Pointer(Encoder(Path(__file__).with_name("pointing.npz"), encoder.shipped()))


def shipped() -> Pointer:
    """The one that comes with the package, read at its first use."""
    with _lock:
        return _shipped()
