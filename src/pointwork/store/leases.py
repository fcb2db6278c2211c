"""Renews the leases of the reservations that this process holds, so that only those of dead ones run out."""

import contextlib
import threading
import weakref
from collections.abc import Callable

from pointwork.errors import StoreError
from pointwork.store import books
from pointwork.store.store import Store


class Leases:
    """What a process holds. A thread of its own renews it, as a call may take longer than its lease.

    Args:
        store: where the reservations are.
        pause: seconds between two looks at what is held.
        clock: seconds since the epoch.
    """

    def __init__(self, store: Store, pause: float, clock: Callable[[], float]) -> None:
        self._store = store
        self._pause = pause
        self._clock = clock
        self._held: dict[str, tuple[weakref.ref[object], float, float]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        weakref.finalize(self, self._stop.set)

    def hold(self, reservation: str, holder: object, until: float, length: float) -> None:
        """Renew a lease from now on, until it is dropped or nobody has the holder any more."""
        with self._lock:
            self._held[reservation] = weakref.ref(holder), until, length
            if self._thread is None or not self._thread.is_alive():  # not alive: in a forked process
                self._thread = threading.Thread(
                    target=_keep, args=(weakref.ref(self), self._stop, self._pause), name="leases", daemon=True
                )
                self._thread.start()

    def drop(self, reservation: str) -> None:
        """It has ended."""
        with self._lock:
            self._held.pop(reservation, None)

    def renew(self) -> None:
        """Renew what has less than half of its time left.

        Raises:
            StoreError: the database refused.
        """
        now = self._clock()
        with self._lock:
            held = list(self._held.items())
        for reservation, (holder, until, length) in held:
            if holder() is None:
                self.drop(reservation)
            elif until - now < length / 2:
                renewed = books.renew(self._store, reservation, now + length)
                with self._lock:
                    if not renewed:
                        self._held.pop(reservation, None)
                    elif reservation in self._held:
                        self._held[reservation] = holder, now + length, length

    def open(self) -> bool:
        """Whether renewing makes sense."""
        return not self._store.closed


def _keep(leases: "weakref.ref[Leases]", stop: threading.Event, pause: float) -> None:
    while not stop.wait(pause):
        alive = leases()
        if alive is None or not alive.open():
            return
        # when the database can not be written now, there is time to try again
        with contextlib.suppress(StoreError):
            alive.renew()
        del alive
