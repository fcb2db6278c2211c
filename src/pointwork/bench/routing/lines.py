"""What is measured, as figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """One measured figure: mean over seeds with the half-width of its 95 % interval, and what stands beside it."""

    part: str
    what: str
    value: float
    margin: float
    target: str = ""
    beside: Mapping[str, float] = field(default_factory=dict[str, float])


def line(part: str, what: str, values: Sequence[float], target: str = "", **beside: float) -> Line:
    """A figure from its values by seed."""
    numbers = np.array(values, np.float64)
    margin = 1.96 * float(numbers.std(ddof=1)) / len(numbers) ** 0.5 if len(numbers) > 1 else 0.0
    return Line(part, what, float(numbers.mean()), margin, target, beside)


def apgr(need: Array, quality: Array) -> float:
    """Average recovered gap between weak and strong (n, 2), as requests go to the strong one by ``need`` (n,)."""
    weak, strong = quality.T
    order = np.argsort(-need, kind="stable")
    reached = (weak.sum() + np.concatenate(([0.0], np.cumsum((strong - weak)[order])))) / len(weak)
    return float(((reached - weak.mean()) / (strong.mean() - weak.mean())).mean())
