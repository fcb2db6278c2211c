"""Retries: only what can succeed, never past the deadline."""

import asyncio
import contextlib
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.errors import ConfigError, ProviderError, ProviderTimeout, RateLimited, UsageError
from pointwork.models.retry import with_retries

LATER = ProviderError("busy", retryable=True)


class World:
    """A clock that only sleeps and calls move."""

    def __init__(self, errors: list[Exception], takes: float = 0.0) -> None:
        self.now = 1000.0
        self.errors = list(errors)
        self.takes = takes
        self.starts: list[float] = []
        self.waits: list[float] = []

    async def call(self) -> str:
        self.starts.append(self.now)
        self.now += self.takes
        if self.errors:
            raise self.errors.pop(0)
        return "done"

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def run(self, seed: int = 0, **options: Any) -> str:
        rng = random.Random(seed)
        return asyncio.run(with_retries(self.call, clock=lambda: self.now, sleep=self.sleep, rng=rng, **options))


def test_succeeds_after_failures() -> None:
    world = World([LATER, LATER])
    assert world.run() == "done"
    assert len(world.starts) == 3
    assert 0 <= world.waits[0] <= 0.5
    assert 0 <= world.waits[1] <= 1.0


@pytest.mark.parametrize("error", [ProviderError("no"), ConfigError("no"), ValueError("no"), UsageError("no")])
def test_hopeless_errors_come_at_once(error: Exception) -> None:
    world = World([error])
    with pytest.raises(type(error)) as caught:
        world.run()
    assert caught.value is error
    assert world.waits == []


def test_attempts_are_bounded() -> None:
    world = World([LATER] * 9)
    with pytest.raises(ProviderError) as caught:
        world.run(attempts=3)
    assert caught.value is LATER
    assert len(world.starts) == 3


def test_retry_after_is_honoured() -> None:
    world = World([RateLimited("slow", retry_after=7.0)])
    world.run()
    assert world.waits == [7.0]


def test_too_long_a_pause_is_not_waited_for() -> None:
    world = World([RateLimited("slow", retry_after=3600.0)])
    with pytest.raises(RateLimited):
        world.run()
    assert world.waits == []


def test_pause_beyond_the_deadline_is_not_waited_for() -> None:
    world = World([RateLimited("slow", retry_after=5.0)])
    with pytest.raises(RateLimited):
        world.run(deadline=1004.0)
    assert world.waits == []


def test_deadline_already_over() -> None:
    world = World([])
    with pytest.raises(ProviderTimeout):
        world.run(deadline=1000.0)
    assert world.starts == []


def test_attempt_is_cut_at_the_deadline() -> None:
    async def hang() -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        await with_retries(hang, deadline=1000.05, clock=lambda: 1000.0)

    with pytest.raises(ProviderTimeout, match="deadline"):
        asyncio.run(main())


def test_the_callers_own_timeout_is_not_ours() -> None:
    async def late() -> None:
        raise TimeoutError("of the caller")

    with pytest.raises(TimeoutError, match="of the caller"):
        asyncio.run(with_retries(late))


def test_is_told_before_each_wait() -> None:
    told: list[tuple[int, float]] = []
    world = World([LATER, LATER])
    asyncio.run(
        with_retries(
            world.call, on_retry=lambda n, error, wait: told.append((n, wait)), clock=lambda: 0, sleep=world.sleep
        )
    )
    assert [n for n, _ in told] == [1, 2]
    assert [wait for _, wait in told] == world.waits


@pytest.mark.parametrize("options", [{"attempts": 0}, {"base": -1.0}, {"cap": -1.0}])
def test_senseless_policies(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        World([]).run(**options)


@given(
    st.lists(st.floats(0, 100), max_size=8),
    st.integers(1, 8),
    st.floats(0.1, 60),
    st.floats(0, 10),
    st.integers(0, 2**32),
)
def test_never_waits_past_the_deadline(
    pauses: list[float], attempts: int, seconds: float, takes: float, seed: int
) -> None:
    world = World([RateLimited("slow", retry_after=pause) for pause in pauses], takes)
    deadline = world.now + seconds
    with contextlib.suppress(ProviderError):
        world.run(seed, attempts=attempts, deadline=deadline)
    assert len(world.starts) <= attempts
    assert all(start < deadline for start in world.starts)
    assert all(wait >= pause for wait, pause in zip(world.waits, pauses, strict=False))
