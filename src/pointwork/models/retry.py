"""Trying again: only what can succeed later, never past a deadline."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import tenacity

from pointwork.errors import ProviderError, ProviderTimeout, RateLimited, UsageError

T = TypeVar("T")
Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]
OnRetry = Callable[[int, ProviderError, float], None]
"""Called before each wait with the attempts so far, the error, and the seconds to wait."""


async def with_retries(
    call: Callable[[], Awaitable[T]],
    *,
    attempts: int = 4,
    deadline: float | None = None,
    base: float = 0.5,
    cap: float = 20.0,
    patience: float = 60.0,
    on_retry: OnRetry | None = None,
    rng: random.Random | None = None,
    clock: Clock = time.time,
    sleep: Sleep = asyncio.sleep,
) -> T:
    """Call until it works, with exponential back-off and full jitter.

    Args:
        call: makes one attempt.
        attempts: most attempts in all; 1 means no retry.
        deadline: on ``clock`` (seconds since the epoch, as the ledger has it); an attempt that is still going on
            then is cancelled, and no wait ends after it.
        base: seconds; the first wait is drawn from [0, base], and the bound doubles each time.
        cap: seconds; most that a drawn wait can be.
        patience: seconds; a back end that asks for a longer pause than this is given up at once.
        on_retry: told before each wait.
        rng: for the jitter; seeded by the system if not given.
        clock, sleep: replaced in tests.

    Raises:
        ProviderError: the last error, once it is not retryable, or attempts or time are used up.
        ProviderTimeout: the deadline came during an attempt, or was over before the first.
        UsageError: a number out of range.
    """
    if attempts < 1 or min(base, cap, patience) < 0:
        raise UsageError(
            f"attempts must be at least 1 and seconds not negative, not {attempts}, {base}, {cap}, {patience}"
        )
    series = _Series(attempts, deadline, base, cap, patience, on_retry, rng or random.Random(), clock)
    controller = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(series.may_retry),
        stop=series.must_stop,
        wait=series.wait,
        before_sleep=series.tell,
        sleep=sleep,
        reraise=True,
    )
    return await controller(series.attempt, call)


@dataclass(frozen=True)
class _Series:
    """One series of attempts."""

    attempts: int
    deadline: float | None
    base: float
    cap: float
    patience: float
    on_retry: OnRetry | None
    rng: random.Random
    clock: Clock

    def remaining(self) -> float | None:
        return None if self.deadline is None else self.deadline - self.clock()

    async def attempt(self, call: Callable[[], Awaitable[T]]) -> T:
        left = self.remaining()
        if left is not None and left <= 0:
            raise ProviderTimeout("the deadline was over before the call began; allow more seconds")
        limit = asyncio.timeout(left)
        try:
            async with limit:
                return await call()
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ProviderTimeout("the deadline came before an answer; allow more seconds") from error

    def may_retry(self, error: BaseException) -> bool:
        return isinstance(error, ProviderError) and error.retryable

    def wait(self, state: tenacity.RetryCallState) -> float:
        bound = min(self.cap, self.base * 2.0 ** min(state.attempt_number - 1, 60))
        return max(self.rng.uniform(0, bound), _asked(state))

    def must_stop(self, state: tenacity.RetryCallState) -> bool:
        # tenacity has drawn the wait before it asks this
        left = self.remaining()
        return (
            state.attempt_number >= self.attempts
            or _asked(state) > self.patience
            or (left is not None and state.upcoming_sleep >= left)
        )

    def tell(self, state: tenacity.RetryCallState) -> None:
        error = _error(state)
        if self.on_retry is not None and isinstance(error, ProviderError):
            self.on_retry(state.attempt_number, error, state.upcoming_sleep)


def _error(state: tenacity.RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _asked(state: tenacity.RetryCallState) -> float:
    """Seconds that the back end asked to wait; 0 if it did not."""
    error = _error(state)
    return (error.retry_after or 0.0) if isinstance(error, RateLimited) else 0.0
