"""Noticing that an arm is no longer what it was.

Per arm and per kind of outcome (quality, log cost) a two-sided cumulative sum (Page, "Continuous inspection
schemes", 1954) of what was above or below the prediction made at the decision. Each is weighted by how much the
regression knew then, so that learning is not taken for change. At an alarm the router ages what it knows (older
observations count a tenth, so uncertainty widens) and moves the arm's level by the mean residual since the sum
left zero: the best estimate of a sudden change (Hinkley, 1971).

Residuals are in units of their noise. With a slack of 0.35 and a limit of 14, a fall of 0.7 of an arm whose
outcomes are 0 or 1 (noise 0.45) is noticed after some 12 of them; under a judge with noise 0.15, one of 0.17 after
some 20. A limit of 10 gave false alarms while seven classes were being learnt (segment: 15.7 % instead of 14.8 %).
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

SLACK = (0.35, 1.0)
LIMIT = (14.0, 12.0)
# Largest step of a sum: one outlier is not a change.
STEP = (2.5, 5.0)
# Least noise: a model that fits perfectly is not to cry wolf at the first surprise.
LEAST = 0.1
# What observations from before an alarm still count.
KEEP = 0.1


class Drift:
    """The sums of ``arms`` arms.

    Attributes:
        cells: by arm and kind (quality, cost): the sum of what was above, and since it left zero the sum of
            residuals and how many; then the same of what was below. Python's numbers: single ones are touched.
    """

    def __init__(self, arms: int) -> None:
        self.cells = [[[0.0] * 6, [0.0] * 6] for _ in range(arms)]

    @property
    def sums(self) -> Array:
        """The cells as an array, (K, 2, 6), to be kept."""
        return np.array(self.cells, np.float64).reshape(len(self.cells), 2, 6)

    @sums.setter
    def sums(self, kept: Array) -> None:
        self.cells = kept.reshape(-1, 2, 6).tolist()

    def grow(self) -> None:
        """Add an arm."""
        self.cells.append([[0.0] * 6, [0.0] * 6])

    def changed(self, slot: int, kind: int, residual: float, known: float, unit: float = 1.0) -> float | None:
        """Take in one outcome.

        Args:
            slot: of the arm. kind: 0 quality, 1 log cost.
            residual: what it was less what was predicted.
            known: 0 to 1, how much the regression knew of this context.
            unit: that residuals are measured in.

        Returns:
            None, or at an alarm by how much the arm's level has moved; its sums start anew.
        """
        cell, step, moved = self.cells[slot][kind], residual / unit, None
        for start, signed in ((0, step), (3, -step)):
            total = cell[start] + known * (min(STEP[kind], signed) - SLACK[kind])
            if total <= 0.0:
                if cell[start]:
                    cell[start : start + 3] = (0.0, 0.0, 0.0)
                continue
            cell[start] = total
            cell[start + 1] += residual
            cell[start + 2] += 1.0
            if total > LIMIT[kind]:
                moved = cell[start + 1] / cell[start + 2]
        if moved is not None:
            self.cells[slot][kind] = [0.0] * 6
        return moved
