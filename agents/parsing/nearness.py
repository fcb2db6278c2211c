"""How near sentences are to a question, by an encoder that learnt which sentence answers what.

The vector of a text is the mean of its word pieces' (Reimers and Gurevych, "Sentence-BERT", EMNLP 2019, §3),
its first form all-MiniLM-L6-v2; ``benchmarks/train_nearness.py`` teaches it. Words that two texts share are for
others to count.
"""

import functools
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pointwork.agents.parsing import encoder
from pointwork.agents.parsing.encoder import Encoder

Array = npt.NDArray[np.float32]

LONGEST = 128
"""Word pieces of a text that are read, with the first and the last, which only say where it begins and ends."""

_REMEMBERED, _AT_ONCE = 20_000, 64  # texts

_lock = threading.Lock()


class Nearness:
    """Vectors of texts; those it has read it remembers. Safe to use from several threads.

    Args:
        read: the encoder.
    """

    def __init__(self, read: Encoder) -> None:
        self.read = read
        self._ends = read.pieces.special("[CLS]"), read.pieces.special("[SEP]")
        self._vectors: dict[str, Array] = {}

    def of(self, question: str, texts: Sequence[str]) -> Array:
        """The cosine of a question and each text: shape (texts,)."""
        vectors = self._vectors  # another thread may begin anew
        if unread := [text for text in dict.fromkeys([question, *texts]) if text not in vectors]:
            if len(vectors) + len(unread) > _REMEMBERED:
                vectors = self._vectors = {}
                unread = list(dict.fromkeys([question, *texts]))
            for start in range(0, len(unread), _AT_ONCE):
                some = unread[start : start + _AT_ONCE]
                vectors.update(zip(some, self._encoded(some), strict=True))
        return np.array([vectors[text] @ vectors[question] for text in texts], np.float32)

    def _encoded(self, texts: Sequence[str]) -> list[Array]:
        first, last = self._ends
        rows = [[first, *self.read.pieces.of(text)[: LONGEST - 2], last] for text in texts]
        lengths = [len(row) for row in rows]
        ids = np.concatenate(rows)
        seen = self.read.see(ids, np.zeros(len(ids), np.intp), lengths)
        means = (part.mean(0) for part in np.split(seen, np.cumsum(lengths)[:-1]))
        return [np.asarray(mean / np.linalg.norm(mean), np.float32) for mean in means]


@functools.cache
def _shipped() -> Nearness:
    return Nearness(Encoder(Path(__file__).with_name("nearness.npz"), encoder.shipped()))


def shipped() -> Nearness:
    """The one that comes with the package, read at its first use."""
    with _lock:
        return _shipped()
