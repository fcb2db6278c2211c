"""The time, and ids that sort by it.

The wall clock may be set back while a process runs. ``now`` never goes back, and goes on at the speed of the
monotonic clock until the wall clock has caught up. So within a process ids sort by creation, and deadlines and
leases end no later than they should. Between processes, if the clock was set back by d in between: deadlines and
leases end d later in the younger one, never earlier; set forward by d, d earlier.
"""

import secrets
import threading
import time
from collections.abc import Callable


class Clock:
    """Seconds since the epoch that never go back.

    Args:
        wall, steady: what to read; others only in tests.
    """

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._steady = wall, steady
        self._last, self._at = wall(), steady()
        self._lock = threading.Lock()

    def __call__(self) -> float:
        with self._lock:
            at = self._steady()
            self._last = max(self._wall(), self._last + (at - self._at))
            self._at = at
            return self._last


now = Clock()

_lock = threading.Lock()
_newest = (0, 0)


def new_id(prefix: str = "") -> str:
    """A new id that sorts after all that this process made before: milliseconds (12 hex digits) and 64 bits.

    The 64 bits are random in the first id of a millisecond and grow by a random step in the next ones.
    """
    global _newest
    millis = int(now() * 1000)
    with _lock:
        before, bits = _newest
        # 2**63 / 2**40: room for eight million ids in a millisecond, which take longer than that to make
        more = bits + 1 + secrets.randbits(40)
        _newest = (millis, secrets.randbits(63)) if millis > before else (before, more)
        millis, bits = _newest
    return f"{prefix}{millis:012x}{bits:016x}"
