"""How each arm has been doing: breaker, load, running latency and success.

The breaker opens after failures in a row, or when most recent calls failed; it then keeps the arm out for a number
of decisions or seconds, whichever ends first, lets one probe through (half-open), and closes when that succeeds
or waits four times as long when it fails. A failure is an outcome with an error, not one of low quality.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Slots = npt.NDArray[np.intp]

IN_A_ROW = 3
FAILURE_RATE = 0.6
COOL_DECISIONS = 100.0
COOL_SECONDS = 30.0
BACK_OFF = 4.0
LONGEST = 3.0  # back-off steps
RATE = 0.1  # of the running means
# Seconds that count as half slow, and decisions in flight that count as half loaded.
SLOW = 2.0
BUSY = 4.0

_CLOSED, _OPEN, _HALF = 0.0, 1.0, 2.0
_NAMES = {_CLOSED: "closed", _OPEN: "open", _HALF: "half-open"}
# row: failures in a row; failing: running share of failures; success: running mean of quality; grades, count: how
# many qualities and outcomes; trips: openings in a row; until_clock, until_time: when the next probe may go
_FIELDS = (
    "breaker",
    "row",
    "failing",
    "success",
    "grades",
    "seconds",
    "count",
    "load",
    "trips",
    "until_clock",
    "until_time",
)
_START = dict.fromkeys(_FIELDS, 0.0) | {"success": 0.5, "seconds": 1.0}


class Health:
    """State of all arms, as arrays of shape (K,) by slot.

    Args:
        seconds: expected latency of each arm, shape (K,).
    """

    breaker: Array
    row: Array
    failing: Array
    success: Array
    grades: Array
    seconds: Array
    count: Array
    load: Array
    trips: Array
    until_clock: Array
    until_time: Array

    def __init__(self, seconds: Array) -> None:
        for name in _FIELDS:
            setattr(self, name, np.full(len(seconds), _START[name]))
        self.seconds = np.array(seconds, np.float64)
        self._broken = 0
        self._signal()

    def _signal(self) -> None:
        """Make the table that ``features`` gives; from then on, single rows of it change."""
        self._signals = np.empty((len(self.load), 4))
        np.divide(self.load, self.load + BUSY, out=self._signals[:, 0])
        np.divide(self.seconds, self.seconds + SLOW, out=self._signals[:, 1])
        self._signals[:, 2] = self.success
        self._signals[:, 3] = self._remaining = 1.0

    def grow(self, seconds: float, success: float) -> None:
        """Add an arm."""
        for name in _FIELDS:
            setattr(self, name, np.append(getattr(self, name), _START[name]))
        self.seconds[-1] = seconds
        self.success[-1] = success
        self._signal()

    def usable(self, slots: Slots, clock: float, now: float) -> npt.NDArray[np.bool_] | None:
        """Which of these slots may be chosen, shape (n,); None: all (the usual case, at no cost)."""
        if not self._broken:
            return None
        waited = (self.until_clock[slots] <= clock) | (self.until_time[slots] <= now)
        return (self.breaker[slots] == _CLOSED) | waited

    def chosen(self, slot: int, clock: float, now: float) -> None:
        """A decision fell on this arm; on a broken one, it is the probe, and no other goes until it is back."""
        self._loaded(slot, self.load.item(slot) + 1.0)
        if self._broken and self.breaker[slot] != _CLOSED:
            self.breaker[slot] = _HALF
            self._wait(slot, clock, now)

    def settled(self, slot: int) -> None:
        """A decision is no longer in flight."""
        self._loaded(slot, max(0.0, self.load.item(slot) - 1.0))

    def _loaded(self, slot: int, load: float) -> None:
        self.load[slot] = load
        self._signals[slot, 0] = load / (load + BUSY)

    def grade(self, slot: int, quality: float) -> None:
        """A decision's quality became known."""
        grades, success = self.grades.item(slot), self.success.item(slot)
        success += max(RATE, 1.0 / (grades + 2.0)) * (quality - success)
        self.grades[slot] = grades + 1.0
        self.success[slot] = self._signals[slot, 2] = success

    def timed(self, slot: int, seconds: float) -> None:
        """A decision's latency became known."""
        mean = self.seconds.item(slot)
        self._takes(slot, mean + RATE * (seconds - mean))

    def expect(self, slot: int, by: float, timed: float) -> None:
        """An arm is expected to take so many seconds more: as if it had been before the first was ``timed``."""
        self._takes(slot, self.seconds.item(slot) + by * (1.0 - RATE) ** timed)

    def _takes(self, slot: int, seconds: float) -> None:
        self.seconds[slot] = seconds
        self._signals[slot, 1] = seconds / (seconds + SLOW)

    def record(self, slot: int, *, failed: bool, made: float, clock: float, now: float) -> None:
        """A decision, made at that time of the clock, came back, or turned out to have failed after all."""
        if self._broken and self._says_nothing(slot, made):
            return
        failing = self.failing.item(slot)
        self.count[slot] += 1
        self.failing[slot] = failing + RATE * (float(failed) - failing)
        if failed:
            self._fail(slot, clock, now)
            return
        self.row[slot] = 0
        if self._broken and self.breaker[slot] != _CLOSED:
            self.breaker[slot] = _CLOSED
            self.failing[slot] = 0.0
            self.trips[slot] = 0
            self._broken -= 1

    def _fail(self, slot: int, clock: float, now: float) -> None:
        self.row[slot] += 1
        bad = self.row[slot] >= IN_A_ROW or (self.count[slot] >= 10 and self.failing[slot] > FAILURE_RATE)
        if self.breaker[slot] == _CLOSED and not bad:
            return
        if self.breaker[slot] == _CLOSED:
            self._broken += 1
        self.breaker[slot] = _OPEN
        self._wait(slot, clock, now)
        self.trips[slot] += 1

    def _wait(self, slot: int, clock: float, now: float) -> None:
        longer = self._longer(slot)
        self.until_clock[slot] = clock + COOL_DECISIONS * longer
        self.until_time[slot] = now + COOL_SECONDS * longer

    def _longer(self, slot: int) -> float:
        return BACK_OFF ** min(self.trips.item(slot), LONGEST)

    def _says_nothing(self, slot: int, made: float) -> bool:
        """Whether a decision was under way when the breaker opened: well or ill, it is from before."""
        state = self.breaker[slot]
        probed = self.until_clock[slot] - COOL_DECISIONS * self._longer(slot)  # while half-open
        return state == _OPEN or (state == _HALF and made < probed)

    def names(self, slots: Slots) -> list[str]:
        """State of the breakers of these slots, in words."""
        if not self._broken:
            return ["closed"] * len(slots)
        return [_NAMES[float(state)] for state in self.breaker[slots]]

    def features(self, slots: Slots | None, remaining: float) -> Array:
        """Load, latency, success and remaining budget share, in [0, 1]: shape (n, 4). None: all slots, in order."""
        if remaining != self._remaining:
            self._signals[:, 3] = self._remaining = remaining
        return self._signals.copy() if slots is None else self._signals[slots]

    def stability(self, slots: Slots) -> Array:
        """0.4·(1 − load) + 0.4·(1 − latency) + 0.2·available (Symphony-Coord): shape (n,)."""
        state = self.features(slots, 0.0)
        return 0.4 * (1 - state[:, 0]) + 0.4 * (1 - state[:, 1]) + 0.2 * (self.breaker[slots] == _CLOSED)

    def state(self) -> dict[str, npt.NDArray[np.generic]]:
        """All arrays, by name, to be kept."""
        return {name: getattr(self, name) for name in _FIELDS}

    def restore(self, state: dict[str, npt.NDArray[np.generic]]) -> None:
        """Take the arrays of ``state`` back."""
        for name in _FIELDS:
            if state[name].shape != self.success.shape:
                raise ValueError(f"{name} has shape {state[name].shape}, not {self.success.shape}")
            setattr(self, name, state[name].astype(np.float64))
        self._signal()
        self._broken = int(np.count_nonzero(self.breaker != _CLOSED))
