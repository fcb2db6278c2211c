"""Noticing that an arm is no longer what it was.

A two-sided cumulative sum per arm (Page, "Continuous inspection schemes", 1954) of what its quality was above or
below the prediction made at the decision. Each is weighted by how much the regression knew then, so that learning
is not taken for change. At an alarm the router ages what it knows of the arm's quality: older observations count a
tenth, and its uncertainty widens.

With a slack of 0.15 and a limit of 4.7, an arm whose outcomes are 0 or 1 gives a false alarm about once in ten
thousand outcomes, a fall of 0.7 is noticed after 9 outcomes, one of 0.3 after some 30.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

SLACK = 0.15
LIMIT = 4.7
# What observations from before an alarm still count.
KEEP = 0.1


class Drift:
    """The sums of ``arms`` arms: shape (K, 2), risen and fallen."""

    def __init__(self, arms: int) -> None:
        self.sums: Array = np.zeros((arms, 2))

    def grow(self) -> None:
        """Add an arm."""
        self.sums = np.vstack((self.sums, np.zeros(2)))

    def changed(self, slot: int, residual: float, known: float) -> bool:
        """Take in one outcome; whether the arm has changed, after which its sums start anew.

        Args:
            slot: of the arm.
            residual: quality less what was predicted.
            known: 0 to 1, how much the regression knew of this context.
        """
        rise, fall = (float(value) for value in self.sums[slot])
        rise = max(0.0, rise + known * (residual - SLACK))
        fall = max(0.0, fall + known * (-residual - SLACK))
        alarm = max(rise, fall) > LIMIT
        self.sums[slot] = (0.0, 0.0) if alarm else (rise, fall)
        return alarm
