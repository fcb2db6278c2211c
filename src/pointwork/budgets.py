"""What a run may spend. Amounts are kept as integers (nano-USD, tokens); time is a deadline."""

import math
from dataclasses import dataclass, fields

from pointwork.errors import UsageError

NANO = 1_000_000_000

UNITS = ("usd_nano", "tokens", "tool_calls", "turns")
"""What accounts hold, in whole numbers."""

_MOST = 2**60


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


@dataclass(frozen=True)
class Amount:
    """What a call takes: nano-USD, tokens, tool calls, model turns."""

    usd_nano: int = 0
    tokens: int = 0
    tool_calls: int = 0
    turns: int = 0

    def __post_init__(self) -> None:
        for unit in UNITS:
            value: object = getattr(self, unit)
            if type(value) is not int or not 0 <= value <= _MOST:
                raise UsageError(f"an amount is a whole number, 0 to 2**60: {unit}={value!r}")


@dataclass(frozen=True)
class Remaining:
    """What an account can still give; None is no limit.

    Attributes:
        usd_nano, tokens, tool_calls, turns: the least over the account and its ancestors.
        seconds: until the deadline, never negative.
    """

    usd_nano: int | None
    tokens: int | None
    tool_calls: int | None
    turns: int | None
    seconds: float | None

    def describe(self) -> str:
        """For an agent's prompt: ``0.0431 USD, 1200 tokens, 3 tool calls, 12 s`` (limits only)."""
        parts: list[str] = []
        if self.usd_nano is not None:
            parts.append(f"{to_usd(self.usd_nano):.4g} USD")
        parts += [
            f"{value} {word}"
            for value, word in ((self.tokens, "tokens"), (self.tool_calls, "tool calls"), (self.turns, "turns"))
            if value is not None
        ]
        if self.seconds is not None:
            parts.append(f"{self.seconds:.0f} s")
        return ", ".join(parts) or "no limit"
