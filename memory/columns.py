"""What the index knows of each document besides its words: a few numbers in columns, as numpy arrays.

Documents are in the order of their serial numbers. A document that was deleted keeps its place with all its numbers
but the serial set to nothing, so that the places of the others stay.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Row = tuple[int, float, int, float, int, int]  # the fields of one document, in the order of ``Columns``

NONE = 0  # a document that is in no sequence, or has no title
_FIELDS: tuple[tuple[str, str], ...] = (
    ("serials", "<i8"),
    ("lengths", "<f4"),
    ("sequences", "<i8"),
    ("times", "<f8"),
    ("titles", "<i8"),
    ("threads", "<i8"),
)
WIDTH = sum(np.dtype(kind).itemsize for _, kind in _FIELDS)  # bytes per document


@dataclass(slots=True)
class Columns:
    """Arrays of one length, one entry per document.

    Attributes:
        serials: of the rows, ascending.
        lengths: in words, titles counted twice; 0 for a deleted document.
        sequences: a number for the dialogue or long text that a document is a part of; ``NONE``: of none.
        times: seconds since the epoch; NaN if not known.
        titles: a number for the title; ``NONE`` without one.
        threads: a number for the thread; ``NONE`` without one.
    """

    serials: Array
    lengths: Array
    sequences: Array
    times: Array
    titles: Array
    threads: Array

    def __len__(self) -> int:
        return len(self.serials)

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Columns":
        """From one tuple per document, in the order of the fields."""
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(_FIELDS)
        return cls(*(np.array(column, kind) for column, (_, kind) in zip(columns, _FIELDS, strict=True)))

    @classmethod
    def joined(cls, parts: Sequence["Columns"]) -> "Columns":
        """Several, one after the other."""
        if not parts:
            return cls.of([])
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name, _ in _FIELDS))

    def pack(self) -> bytes:
        """As bytes for the store."""
        return b"".join(getattr(self, name).astype(kind).tobytes() for name, kind in _FIELDS)

    @classmethod
    def unpack(cls, data: bytes) -> "Columns":
        """What ``pack`` gave."""
        count, at = len(data) // WIDTH, 0
        arrays: list[Array] = []
        for _, kind in _FIELDS:
            arrays.append(np.frombuffer(data, kind, count, at).copy())
            at += arrays[-1].nbytes
        return cls(*arrays)

    def erase(self, places: Array) -> None:
        """Forget all but the serial numbers of some documents."""
        for name, kind in _FIELDS[1:]:
            getattr(self, name)[places] = np.nan if name == "times" else np.zeros(1, kind)[0]


def name_key(name: str) -> int:
    """A number for a sequence or a title, the same in every process; never ``NONE``."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) or 1
