"""What one request asks for, and what was thought of its candidates."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np
import numpy.typing as npt

from pointwork.errors import UsageError
from pointwork.router.decisions import MOST
from pointwork.router.estimates import Sheet
from pointwork.router.policies.base import best_of

# What a request can ask for in place of the router's own, and where ``Ask`` has it.
MODES = {"quality_floor": "least", "cost_weight": "weight", "max_usd": "most"}

Array = npt.NDArray[np.float64]
Slots = npt.NDArray[np.intp]


@dataclass(slots=True)
class Ask:
    """What one request asks for.

    Attributes:
        remaining: share of the run's budget that is left.
        least: quality to reach at the least cost, or None.
        weight: what money is worth to this request, in trade-off mode, or None.
        most: US dollars that it may cost, or None.
    """

    remaining: float = 1.0
    least: float | None = None
    weight: float | None = None
    most: float | None = None

    @property
    def paced(self) -> bool:
        """Whether the budget per request prices cost."""
        return self.least is None and self.weight is None

    @property
    def said(self) -> dict[str, float]:
        """What is asked for, by the names of ``MODES``."""
        values = {mode: getattr(self, name) for mode, name in MODES.items()}
        return {mode: value for mode, value in values.items() if value is not None}


@dataclass(slots=True)
class Judged:
    """The candidates of one decision and what was thought of them: arrays over the n candidates.

    ``inner``: the shared block of the contexts; ``state``: (n, STATE); ``table``: columns as ``decisions.COLUMNS``;
    ``sheet``: contexts and widths, until the next decision; ``ask``: what the request asks for.
    """

    slots: Slots
    names: Sequence[str]
    inner: Array
    state: Array
    table: Array
    sheet: Sheet
    probabilities: Array
    ask: Ask


def asked(remaining: float, least: float | None, weight: float | None, most: float | None) -> Ask:
    """What a request asks for.

    Raises:
        UsageError: two modes at once, or a number out of its range.
    """
    if least is not None and weight is not None:
        raise UsageError("a request has a quality_floor or a cost_weight, not both")
    tops = {"quality_floor": (least, 1.0), "cost_weight": (weight, math.inf), "max_usd": (most, math.inf)}
    for name, (value, top) in tops.items():
        given: object = value
        if value is not None and not (isinstance(given, SupportsFloat) and 0.0 <= value <= min(top, MOST)):
            raise UsageError(
                f"{name} must be a number from 0{' to 1' if top == 1.0 else ''}, not {repr(value)[:80]}"
            )
    floats = (None if value is None else float(value) for value in (least, weight, most))
    return Ask(remaining, *floats)


def asked_over(mine: Ask, remaining: float, own: Mapping[str, float | None]) -> Ask:
    """What a request asks for: its own where it says something, else the router's.

    Args:
        mine: the router's. remaining: share of the run's budget that is left. own: by the names of ``MODES``.

    Raises:
        UsageError: two modes at once, or a number out of its range.
    """
    least, weight, most = (own.get(mode) for mode in MODES)
    if least is None and weight is None:
        least, weight = mine.least, mine.weight
    return asked(remaining, least, weight, mine.most if most is None else most)


def capped(most: float, cost: Array, scores: Array, target: Array, floor: Array) -> tuple[Array, Array]:
    """Target and floor without the arms that are predicted to cost too much; if all do, the cheapest."""
    allowed = cost <= max(most, float(cost.min()))
    target = target * allowed
    total = float(target.sum())
    if total <= 0.0:
        target = best_of(np.where(allowed, scores, -np.inf))
        total = 1.0
    return target / total, floor * allowed
