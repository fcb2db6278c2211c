"""Decisions and outcomes: what the router hands out and what it is told back."""

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, SupportsFloat, cast

import numpy as np
import numpy.typing as npt

from pointwork.errors import UsageError

if TYPE_CHECKING:
    from pointwork.router.asking import Ask

Array = npt.NDArray[np.float64]
ArmScore = dict[str, float | str]

ID_PREFIX = "dec"
_ID_LENGTH = len(ID_PREFIX) + 28
# Of dollars and seconds: beyond, sums and products of them leave the range of floats.
MOST = 1e12
_TOPS = (("quality", 1.0), ("usd", MOST), ("seconds", MOST))


# random bits, asked for many at once: a call of the system costs more than all the rest
_drawn: list[str] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drawn.clear)  # else a child would use its parent's


def new_decision_id() -> str:
    """An id that sorts by time: milliseconds (12 hex digits) and 64 random bits, as the store's other ids."""
    try:
        bits = _drawn.pop()
    except IndexError:
        many = os.urandom(8 * 256).hex()
        bits, *others = (many[start : start + 16] for start in range(0, len(many), 16))
        _drawn.extend(others)
    return f"{ID_PREFIX}{time.time_ns() // 1_000_000:012x}{bits}"


def is_decision_id(text: str) -> bool:
    """Whether this has the form of a decision's id."""
    rest = text[len(ID_PREFIX) :]
    return len(text) == _ID_LENGTH and text.startswith(ID_PREFIX) and all(c in "0123456789abcdef" for c in rest)


@dataclass(frozen=True)
class Outcome:
    """What became of a decision; None where it is not known (yet).

    A later outcome of the same decision adds what it knows and replaces what it contradicts.

    Attributes:
        quality: how good the result was, 0 to 1.
        usd: what it cost, in US dollars.
        seconds: how long it took.
        error: why the arm failed, or None. A failure without a quality counts as quality 0.

    Raises:
        UsageError: a quality outside 0 to 1, money or time that is negative or above 10¹², anything NaN.
    """

    quality: float | None = None
    usd: float | None = None
    seconds: float | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        quality, usd, seconds, error = self.quality, self.usd, self.seconds, cast(object, self.error)
        if error is not None and not isinstance(error, str):
            raise UsageError(f"outcome error says in words why the arm failed, or is None; it is {error!r}")
        if (
            (type(quality) is float and 0.0 <= quality <= 1.0)
            and (type(usd) is float and 0.0 <= usd <= MOST)
            and (type(seconds) is float and 0.0 <= seconds <= MOST)
        ):
            return  # the usual case
        for name, top in _TOPS:
            value: object = getattr(self, name)
            if value is None or (type(value) is float and 0.0 <= value <= top):
                continue
            if not isinstance(value, SupportsFloat) or isinstance(value, str):
                raise UsageError(f"outcome {name} must be a number or None, not {value!r}")
            try:
                number = float(value)
            except (OverflowError, TypeError):  # an integer beyond all floats, an array
                number = math.inf
            if not 0.0 <= number <= top:
                shown = repr(value)[:80]
                raise UsageError(f"outcome {name} must be a number between 0 and {top:g}, not {shown}")
            object.__setattr__(self, name, number)

    def merged(self, later: "Outcome") -> "Outcome":
        """This outcome with what a later one knows in place of it."""
        known = {f.name: getattr(later, f.name) for f in fields(later) if getattr(later, f.name) is not None}
        return replace(self, **known)

    @property
    def target(self) -> float | None:
        """The quality to learn from: as given, or 0 for a failure."""
        if self.quality is None and self.error is not None:
            return 0.0
        return self.quality


# What is kept of each candidate, in the order of the columns of ``Decision.table``.
COLUMNS = ("mean", "log_cost", "log_seconds", "cost", "latency", "bonus", "price", "score")


@dataclass(eq=False)
class Decision:
    """One choice, with everything that was known when it was made. Not to be changed (freezing costs 2 µs).

    Attributes:
        id: to give to ``Router.learn``.
        arm: name of the chosen arm.
        propensity: the probability with which it was drawn.
        names: the candidates that could be drawn.
        probabilities: shape (n,), theirs; sums to 1.
        table: shape (n, len(COLUMNS)): quality (mean), predicted log(cost + c₀) and log seconds, cost (US dollars),
            latency (seconds), bonus, price (what the cost took off the score), score.
        health: state of each candidate's breaker.
        price_weight: λ, what spending the budget of one request costs in quality.
        ask: quality floor, cost weight and cap that held.
    """

    id: str
    arm: str
    propensity: float
    names: Sequence[str]
    probabilities: Array
    table: Array
    health: Sequence[str]
    price_weight: float
    ask: "Ask"

    @cached_property
    def propensities(self) -> dict[str, float]:
        """Probability of each candidate."""
        return dict(zip(self.names, self.probabilities.tolist(), strict=True))

    @cached_property
    def scores(self) -> dict[str, ArmScore]:
        """Per candidate: the columns of ``table``, health, λ; quality floor, cost weight and cap that held."""
        held = {"price_weight": self.price_weight, **self.ask.said}
        return {
            name: {**dict(zip(COLUMNS, row, strict=True)), "health": health, **held}
            for name, row, health in zip(self.names, self.table.tolist(), self.health, strict=True)
        }

    def __repr__(self) -> str:
        return f"Decision(id={self.id!r}, arm={self.arm!r}, propensity={self.propensity:.4g})"
