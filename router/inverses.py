"""Inverting without threads, and room for what changes an inverse."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# Rows of the largest block that is left to LAPACK.
BLOCK = 64


def inverted(matrix: Array) -> Array:
    """Inverse of a symmetric positive definite matrix, by blocks (Schur complement).

    As fast as LAPACK's on the whole, and no block is large enough for a threaded BLAS to start threads: where
    cores are busy, waiting for those took 100 times as long as the work.
    """
    size = len(matrix)
    if size <= BLOCK:
        return np.asarray(np.linalg.inv(matrix), np.float64)
    half = size // 2
    top, side = inverted(matrix[:half, :half]), matrix[:half, half:]
    through = top @ side
    bottom = inverted(matrix[half:, half:] - side.T @ through)
    corner = through @ bottom
    inverse = np.empty_like(matrix)
    inverse[:half, :half] = top + corner @ through.T
    inverse[:half, half:] = -corner
    inverse[half:, :half] = -corner.T
    inverse[half:, half:] = bottom
    return inverse


def room(blocks: int, dims: int) -> tuple[Array, Array, list[tuple[Array, Array, Array]]]:
    """Room for the gains P x of so many blocks: all in a row, stacked, and each as an array, a column and a row."""
    gains = np.empty((blocks, dims))
    return gains.reshape(-1), gains, [(gain, gain[:, None], gain[None]) for gain in gains]
