"""What a new arm is taken to be worth before it was tried."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pointwork.router.arms import Arm
from pointwork.router.health import Health

Array = npt.NDArray[np.float64]

# Observations' worth of belief in ½, and the most that one known arm can say.
_HALF_WEIGHT = 2.0
_MOST = 10.0
_PRICE_FLOOR = 1e-7


def inherited_quality(arm: Arm, vector: Array, arms: Sequence[Arm], vectors: Array, health: Health) -> float:
    """Mean success of the known arms, weighted by likeness of price and description, and drawn towards ½.

    The likeness is exp(−(log price ratio)²/2) · (1 + cosine of the descriptions)/2; an arm counts as often as it
    was graded, at most ``_MOST`` times.

    Args:
        arm: the new one. vector: unit vector of its description, (m,).
        arms: the known ones, K. vectors: theirs, (K, m).
        health: of the known ones.
    """
    price = math.log(arm.expected_usd + _PRICE_FLOOR)
    prices = np.array([math.log(known.expected_usd + _PRICE_FLOOR) for known in arms])
    alike = np.exp(-((prices - price) ** 2) / 2) * (1 + vectors @ vector) / 2
    weights = alike * np.minimum(health.grades, _MOST)
    return float((_HALF_WEIGHT * 0.5 + weights @ health.success) / (_HALF_WEIGHT + weights.sum()))
