"""A BERT of six layers in numpy, as small as it can be stored: word pieces in 4 bits, the rest in 8.

Its first form is all-MiniLM-L6-v2 (Apache-2.0); what it became by training is package data.
"""

import functools
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pointwork.agents.parsing.layout import Pieces

Array = npt.NDArray[np.float32]

LAYERS, HEADS, WIDTH = 6, 12, 384
GROUP = 32  # numbers of a word piece's vector that share a scale
_TINY = 1e-12

_lock = threading.Lock()


def packed(vectors: Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float16]]:
    """Vectors in 4 bits a number, -7 to 7 times a scale a ``GROUP``: shapes (n, d / 2) and (n, d / GROUP)."""
    grouped = vectors.reshape(len(vectors), -1, GROUP)
    scales = (np.abs(grouped).max(2) / 7 + _TINY).astype(np.float16)
    codes = np.clip(np.rint(grouped / np.maximum(scales[:, :, None].astype(np.float32), _TINY)), -7, 7) + 8
    flat = codes.reshape(len(vectors), -1).astype(np.uint8)
    return flat[:, 0::2] | (flat[:, 1::2] << 4), scales


def unpacked(codes: npt.NDArray[np.uint8], scales: npt.NDArray[np.float16]) -> Array:
    """The vectors that ``packed`` made so: shape (n, d)."""
    flat = np.empty((len(codes), 2 * codes.shape[1]), np.float32)
    flat[:, 0::2] = (codes & 15).astype(np.float32) - 8
    flat[:, 1::2] = (codes >> 4).astype(np.float32) - 8
    grouped = flat.reshape(len(codes), -1, GROUP) * scales[:, :, None].astype(np.float32)
    return np.asarray(grouped.reshape(len(codes), -1), np.float32)


def rounded(matrix: Array) -> tuple[npt.NDArray[np.int8], Array]:
    """A matrix in 8 bits a number with a scale for each row."""
    scales = np.maximum(np.abs(matrix).max(1) / 127, _TINY).astype(np.float32)
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales


class Encoder:
    """Reads rows of word pieces. Safe to use from several threads.

    Args:
        path: what a training script in ``benchmarks`` wrote.
        words: another that has the vectors of word pieces, if the file has none.
    """

    def __init__(self, path: Path, words: "Encoder | None" = None) -> None:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        if words is None:
            self._codes, self._scales = arrays.pop("word.codes"), arrays.pop("word.scales")
            self.pieces = Pieces(str(arrays.pop("vocabulary")).split("\n"))
        else:
            self._codes, self._scales, self.pieces = words._codes, words._scales, words.pieces
        self.weights: Mapping[str, Array] = {
            name.removesuffix(".int8"): _full(name, array, arrays)
            for name, array in arrays.items()
            if not name.endswith(".scale")
        }

    def vectors(self, ids: npt.ArrayLike) -> Array:
        """Of word pieces: shape (pieces, ``WIDTH``)."""
        rows = np.asarray(ids)
        return unpacked(self._codes[rows], self._scales[rows])

    def see(self, ids: npt.ArrayLike, marks: npt.ArrayLike, lengths: Sequence[int] = ()) -> Array:
        """The last layer: shape (pieces, ``WIDTH``).

        Args:
            ids, marks: of the word pieces of a text.
            lengths: of several texts in one row, none of which sees another; empty: it is one text.
        """
        weights, x = self.weights, self.vectors(ids)
        lengths = lengths or (len(x),)
        places = np.concatenate([np.arange(length) for length in lengths])
        x = self._norm(x + weights["pos"][places] + weights["mark.weight"][np.asarray(marks)], "n0")
        for number in range(LAYERS):
            at = f"layers.{number}."
            x = self._norm(x + self._attended(x, lengths, at), f"{at}n1")
            x = self._norm(x + self._linear(gelu(self._linear(x, f"{at}up")), f"{at}down"), f"{at}n2")
        return x

    def _attended(self, x: Array, lengths: Sequence[int], at: str) -> Array:
        parts = self._linear(x, f"{at}qkv").reshape(len(x), 3, HEADS, WIDTH // HEADS)
        cuts = np.cumsum(lengths)[:-1]
        return self._linear(np.concatenate([_seen(part) for part in np.split(parts, cuts)]), f"{at}out")

    def _linear(self, x: Array, name: str) -> Array:
        return np.asarray(x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"])

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(1, keepdims=True) + np.float32(1e-12))
        return np.asarray(centred / spread * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"])


def _seen(parts: Array) -> Array:
    """What each piece of a text sees of the others: of shape (pieces, 3, heads, n) that of (pieces, ``WIDTH``)."""
    query, key, value = parts.transpose(1, 2, 0, 3)
    logits = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(WIDTH // HEADS))
    logits = np.exp(logits - logits.max(2, keepdims=True))
    seen = (logits / logits.sum(2, keepdims=True)) @ value
    return np.asarray(seen.transpose(1, 0, 2).reshape(len(parts), WIDTH), np.float32)


def _full(name: str, array: npt.NDArray[np.generic], arrays: Mapping[str, npt.NDArray[np.generic]]) -> Array:
    if not name.endswith(".int8"):
        return array.astype(np.float32)
    scale = arrays[f"{name.removesuffix('.int8')}.scale"].astype(np.float32)
    return np.asarray(array.astype(np.float32) * scale[:, None])


def gelu(x: Array) -> Array:
    """``x·Φ(x)``, Φ by Abramowitz and Stegun 7.1.26 (error below 1.5e-7)."""
    z = np.abs(x) * np.float32(0.7071067811865476)
    t = 1 / (1 + np.float32(0.3275911) * z)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = 1 - poly * np.exp(-z * z)
    return np.asarray(0.5 * x * (1 + np.sign(x) * erf), np.float32)


@functools.cache
def _shipped() -> Encoder:
    return Encoder(Path(__file__).with_name("parser.npz"))


def shipped() -> Encoder:
    """The one that comes with the package, read at its first use."""
    with _lock:
        return _shipped()
