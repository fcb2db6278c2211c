"""Matrix products in pieces, each so small that numpy's BLAS does it where it was called.

OpenBLAS spreads a larger one over threads. A recall has a dozen that take a tenth of a millisecond each: what the
threads save is less than what waiting for them costs as soon as other work has the cores (28 ms for the nearness of
words instead of 12, on two cores full of other work), and between products they spin, which doubles a recall's
processor time.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]

_VECTOR, _MATRIX = 9_000, 260_000  # multiplications up to which OpenBLAS uses one thread: 4 * 2304, 4 * 65536


def product(table: Floats, other: Floats) -> Floats:
    """``table @ other``, of a table with another or with one vector."""
    count, inner = table.shape
    most = max(1, _VECTOR // max(1, inner) if other.ndim == 1 else _MATRIX // max(1, inner * other.shape[1]))
    if count <= most:
        return table @ other
    whole = count - count % most
    # a stack of tables: numpy goes through it by itself, and asks BLAS for each
    found = (table[:whole].reshape(-1, most, inner) @ other).reshape(whole, *other.shape[1:])
    return np.concatenate([found, table[whole:] @ other]) if whole < count else found
