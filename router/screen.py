"""The first stage, when there are many candidates: a cheap look that leaves a few (Symphony-Coord)."""

import numpy as np
import numpy.typing as npt

from pointwork.router.health import Health

Array = npt.NDArray[np.float64]
Slots = npt.NDArray[np.intp]


class Screen:
    """Keeps the ``keep`` best by 0.5·similarity + 0.35·success + 0.15·stability.

    One of the seats goes to the candidate that has waited longest for one: an arm that is never a candidate can
    neither be learnt about nor evaluated from the logs.

    Args:
        keep: L, and the number of candidates up to which all stay.
    """

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.seen: Array = np.zeros(0)

    def select(
        self, slots: Slots, text: Array, arms: Array, health: Health, clock: float, look_only: bool
    ) -> npt.NDArray[np.intp]:
        """Positions in ``slots`` that stay, ascending.

        Args:
            slots: candidates, shape (n,).
            text: unit vector of the text, shape (m,).
            arms: unit vectors of all arms' descriptions, shape (K, m), 0 where there is none.
            health: of the arms.
            clock: of the router.
            look_only: nobody will be drawn, so nobody had a seat.
        """
        if len(self.seen) < len(arms):
            self.seen = np.append(self.seen, np.zeros(len(arms) - len(self.seen)))
        similarity = (1.0 + arms[slots] @ text) / 2.0
        score = 0.5 * similarity + 0.35 * health.success[slots] + 0.15 * health.stability(slots)
        order = np.argsort(-score, kind="stable")
        kept, rest = order[: self.keep - 1], order[self.keep - 1 :]
        waiting = rest[np.argmin(self.seen[slots[rest]])]
        chosen = np.sort(np.append(kept, waiting))
        if not look_only:
            self.seen[slots[chosen]] = clock + 1.0
        return chosen
