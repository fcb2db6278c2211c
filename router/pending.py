"""Decisions that may still get an outcome, or a correction of one."""

import math
from collections import OrderedDict, deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pointwork.router.decisions import Decision, Outcome
from pointwork.router.estimates import Logs, log_cost, log_seconds

Array = npt.NDArray[np.float64]

# Decisions and seconds after which one without an outcome no longer counts as in flight.
FLIGHT_DECISIONS = 1000
FLIGHT_SECONDS = 600.0


@dataclass(slots=True)
class Pending:
    """What must be kept of a decision to learn its outcome, whenever it comes.

    Attributes:
        slot: of the chosen arm. clock, created: when the decision was made.
        context: x of the chosen arm, (d,).
        mean, log_cost, log_seconds: as predicted then.
        width: of the belief in the quality then. unsure: h of the quality regression then; ignorance: of costs'.
        charged: US dollars that the pacer has been charged.
        outcome: all that is known so far, None before the first.
        flying: counts as load.
        decision: as handed out, or None when it came from a file or the store.
        prices: of the arm then, US dollars per million prompt and completion tokens; None: not known.
        guessed: whether the cost, and the latency, predicted then were but what was expected of the arm.
    """

    slot: int
    clock: int
    created: float
    context: Array
    mean: float
    log_cost: float
    log_seconds: float
    width: float
    ignorance: float
    unsure: float
    charged: float
    outcome: Outcome | None = None
    flying: bool = True
    decision: Decision | None = None
    prices: tuple[float, float] | None = None
    guessed: tuple[bool, bool] = (False, False)


class Ledger:
    """Pending decisions by id, the oldest forgotten first.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.by_id: OrderedDict[str, Pending] = OrderedDict()
        self._flights: deque[Pending] = deque()

    def __len__(self) -> int:
        return len(self.by_id)

    def get(self, decision_id: str) -> Pending | None:
        """The decision, if it is still kept."""
        return self.by_id.get(decision_id)

    def put(self, decision_id: str, pending: Pending) -> None:
        """Keep a decision, after the newest."""
        self.by_id[decision_id] = pending
        if pending.flying:
            self._flights.append(pending)

    def full(self) -> bool:
        """Whether there are more than may stay."""
        return len(self.by_id) > self.most

    def trim(self) -> None:
        """Forget the oldest tenth: at once, as a router with a store looks there first."""
        while len(self.by_id) > max(1.0, 0.9 * self.most):
            self.by_id.popitem(last=False)

    def landed(self, clock: int, now: float) -> list[int]:
        """Slots of decisions that no longer count as in flight, once each; those with outcomes say nothing."""
        slots: list[int] = []
        while self._flights:
            oldest = self._flights[0]
            late = oldest.clock < clock - FLIGHT_DECISIONS or oldest.created < now - FLIGHT_SECONDS
            if oldest.flying and not late:
                break
            self._flights.popleft()
            if oldest.flying:
                oldest.flying = False
                slots.append(oldest.slot)
        return slots

    def state(self) -> dict[str, npt.NDArray[np.generic]]:
        """All decisions as arrays, to be kept."""
        records = list(self.by_id.values())
        numbers = [
            [p.slot, p.clock, p.created, float(p.flying), *(getattr(p, name) for name in _FLOATS)] for p in records
        ]
        outcomes = [_numbers(p.outcome) for p in records]
        errors = [("" if p.outcome is None else p.outcome.error) or "" for p in records]
        return {
            "ids": np.array(list(self.by_id), dtype=np.str_),
            "numbers": np.array(numbers, np.float64).reshape(len(records), 4 + len(_FLOATS)),
            "contexts": np.array([p.context for p in records], np.float64),
            "outcomes": np.array(outcomes, np.float64).reshape(len(records), 5),
            "errors": np.array(errors, dtype=np.str_),
            "prices": np.array([p.prices or _UNKNOWN for p in records], np.float64).reshape(len(records), 2),
            "guessed": np.array([p.guessed for p in records], np.float64).reshape(len(records), 2),
        }

    def restore(self, state: dict[str, npt.NDArray[np.generic]]) -> None:
        """Take ``state`` back."""
        self.by_id.clear()
        self._flights.clear()
        # states of older packages lack the last two
        pairs = (len(state["ids"]), 2)
        state = {"prices": np.full(pairs, np.nan), "guessed": np.zeros(pairs), **state}
        names = ("ids", "numbers", "contexts", "outcomes", "errors", "prices", "guessed")
        for decision_id, numbers, context, outcome, error, prices, guessed in zip(
            *map(state.get, names), strict=True
        ):
            slot, clock, created, flying, *floats = (float(n) for n in numbers)
            pending = Pending(
                slot=int(slot),
                clock=int(clock),
                created=created,
                context=np.asarray(context, np.float64),
                outcome=_outcome([float(n) for n in outcome], str(error)),
                flying=bool(flying),
                prices=prices_of(*(float(price) for price in prices)),
                guessed=(bool(guessed[0]), bool(guessed[1])),
                **dict(zip(_FLOATS, floats, strict=True)),
            )
            self.put(str(decision_id), pending)


_UNKNOWN = (math.nan, math.nan)
_FLOATS = ("mean", "log_cost", "log_seconds", "width", "ignorance", "unsure", "charged")


def _numbers(outcome: Outcome | None) -> tuple[float, ...]:
    if outcome is None:
        return (0.0, np.nan, np.nan, np.nan, 0.0)
    known = (np.nan if value is None else value for value in (outcome.quality, outcome.usd, outcome.seconds))
    return (1.0, *known, float(outcome.error is not None))


def _outcome(numbers: list[float], error: str) -> Outcome | None:
    there, *values, failed = numbers
    if not there:
        return None
    quality, usd, seconds = (None if np.isnan(value) else value for value in values)
    return Outcome(quality, usd, seconds, error if failed else None)


def prices_of(prompt: float, completion: float) -> tuple[float, float] | None:
    """Prices as they were kept, with NaN for what is not known."""
    return None if math.isnan(prompt + completion) else (prompt, completion)


def logs_of(pending: Pending, outcome: Outcome) -> Logs:
    """Log cost and log seconds of an outcome; where one is not known, what was predicted at the decision.

    A stand-in of 0 residual would pull the prediction to its prior; the decision's own does not depend on the
    order in which outcomes come. None where that was but the expectation, which may change.
    """
    cost = None if pending.guessed[0] else pending.log_cost
    seconds = None if pending.guessed[1] else pending.log_seconds
    return (
        cost if outcome.usd is None else log_cost(outcome.usd),
        seconds if outcome.seconds is None else log_seconds(outcome.seconds),
    )
