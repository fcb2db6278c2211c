"""Always the same arm."""

import numpy as np

from pointwork.errors import UsageError
from pointwork.router.policies.base import Array, View, scores_of


class Static:
    """A fixed arm; where it is not among the candidates, the first (or the cheapest) of them.

    Args:
        arm: name of the arm, or None.
        by: ``first`` or ``cheapest``, when there is no ``arm`` to take.
    """

    name = "static"

    def __init__(self, arm: str | None = None, by: str = "first") -> None:
        if by not in ("first", "cheapest"):
            raise UsageError(f"the static policy chooses by 'first' or 'cheapest', not {by!r}")
        self.arm = arm
        self.by = by

    @property
    def version(self) -> str:
        return f"static-1({self.arm or self.by})"

    def propose(self, view: View, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        if self.arm is not None and self.arm in view.names:
            chosen = view.names.index(self.arm)
        else:
            chosen = int(np.argmin(view.cost)) if self.by == "cheapest" else 0
        target = np.zeros(len(view.names))
        target[chosen] = 1.0
        return scores_of(view, view.mean), np.zeros(len(view.names)), target
