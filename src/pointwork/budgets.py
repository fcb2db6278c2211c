"""What a run may spend. Amounts are kept as integers (nano-USD, tokens); time is a deadline."""

import math
from dataclasses import dataclass, fields

from pointwork.errors import UsageError

NANO = 1_000_000_000


def to_nano(usd: float) -> int:
    """US dollars to nano-dollars, rounded up: what is reserved must cover what is spent."""
    return math.ceil(round(usd * NANO, 3))


def to_usd(nano: int) -> float:
    """Nano-dollars to US dollars."""
    return nano / NANO


@dataclass(frozen=True)
class Budget:
    """Limits of a run. None means no limit.

    Attributes:
        usd: money, in US dollars.
        seconds: wall time from the start of the run.
        tokens: prompt and completion tokens of all model calls together.
        tool_calls: calls of tools.
        turns: model turns.

    Raises:
        UsageError: a limit is negative, NaN, infinite or not a number; a count is not whole.
    """

    usd: float | None = None
    seconds: float | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    turns: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value: object = getattr(self, field.name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise UsageError(f"budget {field.name} must be a number, not {value!r}")
            if not math.isfinite(value) or value < 0:
                raise UsageError(f"budget {field.name} must be finite and not negative, not {value!r}")
            if field.name not in ("usd", "seconds") and value != int(value):
                raise UsageError(f"budget {field.name} is a count, so it must be whole, not {value!r}")
