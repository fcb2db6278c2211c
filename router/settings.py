"""Numbers that hold for all arms of a router. The defaults are the same for every use of it."""

import math
from dataclasses import dataclass

from pointwork.errors import UsageError


@dataclass(frozen=True)
class Settings:
    """How a router learns and explores.

    Attributes:
        gamma: discount of what was learnt, per decision of the router, above 0 and at most 1.
        ridge: strength of the prior to begin with, above 0.
        adapt: whether the strength of the prior is learnt from what comes.
        exploration: ε, chance of a draw that does not ask the scores, 0 to 1. At 0, an arm that the policy does
            not prefer has propensity 0, and the logs can say nothing about it.
        exploration_share: κ, part of the budget that such draws may cost.
        latency_weight: quality that waiting for one ``deadline`` must be worth.
        deadline: seconds.
        screen: most candidates that are judged in full when texts can be compared with descriptions.
        pending: decisions kept in memory for their outcomes; older ones are read from the store.

    Raises:
        UsageError: a number out of its range.
    """

    gamma: float = 0.9998
    ridge: float = 0.5
    adapt: bool = True
    exploration: float = 0.005
    exploration_share: float = 0.02
    latency_weight: float = 0.0
    deadline: float = 60.0
    screen: int = 8
    pending: int = 20_000

    def __post_init__(self) -> None:
        bounds = {
            "gamma": (1e-6, 1.0),
            "ridge": (1e-9, math.inf),
            "exploration": (0.0, 1.0),
            "exploration_share": (0.0, 1.0),
            "latency_weight": (0.0, math.inf),
            "deadline": (1e-9, math.inf),
            "screen": (2, math.inf),
            "pending": (1, math.inf),
        }
        for name, (low, high) in bounds.items():
            value, whole = getattr(self, name), isinstance(low, int)
            kind = int if whole else int | float
            if not (isinstance(value, kind) and math.isfinite(value) and low <= value <= high):
                what = "a whole number " if whole else ""
                raise UsageError(f"router setting {name} must be {what}between {low:g} and {high:g}, not {value!r}")
