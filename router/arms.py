"""Arms: what the router chooses between."""

import math
from dataclasses import dataclass

from pointwork.errors import UsageError

# What a call is taken to cost before any was seen, where an arm does not say: prompt and completion tokens.
EXPECTED_TOKENS = (800.0, 200.0)
# Of prices and tokens: their product stays within the range of floats.
_MOST = 1e12
# Characters of a name that the store's column takes.
LONGEST = 256


@dataclass(frozen=True)
class Arm:
    """One thing the router can choose: an agent, a model and a mode, under one name that the caller made.

    Attributes:
        name: unique in a router; the router reads nothing out of it.
        usd_per_mtok: US dollars per million prompt and per million completion tokens.
        description: what it is good at, in words; compared with the text when there are many arms.
        capabilities: what it can do; the caller filters by them.
        context_tokens: the longest context it takes, or None.
        expected_tokens: prompt and completion tokens of a typical call, or None for a general guess.
        expected_seconds: how long a typical call takes.
        tags: the caller's own labels.

    Raises:
        UsageError: an empty name, one that is too long, or a number that is negative, NaN or beyond 10¹².
    """

    name: str
    usd_per_mtok: tuple[float, float] = (0.0, 0.0)
    description: str = ""
    capabilities: tuple[str, ...] = ()
    context_tokens: int | None = None
    expected_tokens: tuple[float, float] | None = None
    expected_seconds: float = 1.0
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"an arm needs a name, a text; not {self.name!r}")
        if len(self.name) > LONGEST:  # else no decision for it could be stored
            raise UsageError(f"the name of arm {self.name[:40]!r}… has {len(self.name)} characters; {LONGEST} fit")
        object.__setattr__(self, "usd_per_mtok", self._pair("usd_per_mtok", self.usd_per_mtok))
        if self.expected_tokens is not None:
            object.__setattr__(self, "expected_tokens", self._pair("expected_tokens", self.expected_tokens))
        object.__setattr__(self, "capabilities", tuple(self.capabilities))
        object.__setattr__(self, "tags", tuple(self.tags))
        try:
            seconds = float(self.expected_seconds)
        except (TypeError, ValueError, OverflowError):
            seconds = math.nan
        if not 0 < seconds <= _MOST:
            raise UsageError(f"arm {self.name!r}: expected_seconds must be above 0, not {self.expected_seconds!r}")
        object.__setattr__(self, "expected_seconds", seconds)
        if self.context_tokens is not None and self.context_tokens < 1:
            raise UsageError(f"arm {self.name!r}: context_tokens must be at least 1, not {self.context_tokens!r}")

    def _pair(self, field: str, value: tuple[float, ...]) -> tuple[float, float]:
        try:
            prompt, completion = (float(part) for part in value)
        except (TypeError, ValueError, OverflowError) as error:
            raise UsageError(
                f"arm {self.name!r}: {field} must be two numbers (prompt, completion), not {value!r}"
            ) from error
        if not all(0 <= part <= _MOST for part in (prompt, completion)):
            raise UsageError(f"arm {self.name!r}: {field} must be from 0 to {_MOST:g}, not {value!r}")
        return prompt, completion

    @property
    def expected_usd(self) -> float:
        """US dollars of a typical call, by price and expected tokens."""
        return self.usd_at(self.usd_per_mtok)

    def usd_at(self, prices: tuple[float, float]) -> float:
        """US dollars of a typical call, if a million prompt and a million completion tokens cost this."""
        tokens = self.expected_tokens or EXPECTED_TOKENS
        return sum(price * count for price, count in zip(prices, tokens, strict=True)) / 1e6

    @property
    def words(self) -> str:
        """What stands for the arm when it is compared with a text."""
        return " ".join((self.description, *self.capabilities)).strip()
