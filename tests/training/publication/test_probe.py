"""The coefficient: what it says of servers whose truth is known, and how often it errs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.errors import UsageError
from pointwork.training.publication.probe import Scores, Verdict, judge, tokens_needed

TEXTS, TOKENS = 20, 25
Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def texts(flat: Array) -> Scores:
    return flat.reshape(TEXTS, TOKENS).tolist()


class World:
    """A trainer's numbers, and a server's that differ by an offset of its own and noise under an adapter."""

    def __init__(self, seed: int, *, noise: float, step: float, before: float) -> None:
        self.rng = np.random.default_rng(seed)
        count = TEXTS * TOKENS
        self.base = -self.rng.exponential(2, count)
        self.prev = self.base + before * self.rng.standard_normal(count)
        self.new = self.prev + step * self.rng.standard_normal(count)
        # offsets differ by token and by text, as seen on both servers
        self.noise = noise
        self.offset = self._offset()

    def _offset(self) -> Array:
        per_text = np.repeat(self.rng.standard_normal(TEXTS), TOKENS) * 0.3
        return self.noise * (self.rng.standard_normal(TEXTS * TOKENS) + per_text)

    def judged(self, truth: Array) -> Verdict:
        """What the probe says of a server that really serves ``truth``."""
        served = truth + self._offset()
        both = texts(served), texts(self.base + self.offset)
        return judge(*both, texts(self.new), texts(self.prev), texts(self.base))

    def another(self, size: float) -> Array:
        return self.base + size * self.rng.standard_normal(TEXTS * TOKENS)


SEEDS = st.integers(0, 2**32 - 1)
NOISE = st.floats(0.0, 0.2)


@settings(max_examples=200, deadline=None)
@given(SEEDS, NOISE, st.floats(0.0, 1.0))
def test_a_step_above_the_noise_is_told_from_no_step(seed: int, noise: float, before: float) -> None:
    world = World(seed, noise=noise, step=max(0.05, 2 * noise), before=before)
    assert world.judged(world.new).answer == "delivered"
    stale = world.judged(world.prev)
    assert stale.answer == "not delivered"
    assert stale.named == ("base model" if before == 0 else "previous version") or before < 2 * noise + 0.05


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.floats(0.0, 0.1), st.floats(0.0, 1.0))
def test_wrong_weights_are_named(seed: int, noise: float, before: float) -> None:
    world = World(seed, noise=noise, step=0.6, before=before)
    whole = world.new - world.base
    assert world.judged(world.base + 2 * whole).named == "wrong scale"
    assert world.judged(world.base + 0.5 * whole).named in ("wrong scale", "part of it", "previous version")
    assert world.judged(world.base + 2 * whole).answer == "not delivered"
    assert world.judged(world.base + 0.5 * whole).answer == "not delivered"
    other = world.judged(world.another(float(np.std(whole))))
    assert (other.answer, other.named) == ("not delivered", "another adapter")


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.floats(0.05, 0.2))
def test_a_step_far_below_the_noise_is_indistinguishable_whatever_serves(seed: int, noise: float) -> None:
    world = World(seed, noise=noise, step=noise / 50, before=0.5)
    for truth in (world.new, world.prev):
        verdict = world.judged(truth)
        assert verdict.answer == "indistinguishable"
        assert tokens_needed(verdict) > verdict.tokens


def test_the_standard_error_is_an_upper_bound_of_the_spread() -> None:
    verdicts = [
        world.judged(world.new) for world in (World(s, noise=0.1, step=0.1, before=0.3) for s in range(400))
    ]
    spread = float(np.std([verdict.coefficient for verdict in verdicts]))
    error = float(np.mean([verdict.error for verdict in verdicts]))
    assert abs(float(np.mean([verdict.coefficient for verdict in verdicts])) - 1) < 3 * spread / math.sqrt(400)
    assert 0.8 * spread < error < 2 * spread


def test_no_step_is_indistinguishable() -> None:
    world = World(0, noise=0.1, step=0.0, before=0.3)
    verdict = world.judged(world.new)
    assert verdict.answer == "indistinguishable"
    assert tokens_needed(verdict) == 0


def test_exact_stacks() -> None:
    world = World(0, noise=0.0, step=0.02, before=0.3)
    assert world.judged(world.new).coefficient == pytest.approx(1)
    assert world.judged(world.prev).coefficient == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("server", "message"),
    [([[-1.0]], "same tokens"), ([[-1.0, -2.0], [-1.0]], "same tokens"), ([[-1.0, math.nan]], "not finite")],
)
def test_what_can_not_be_compared_is_refused(server: Scores, message: str) -> None:
    base = [[-1.0, -2.0]]
    with pytest.raises(UsageError, match=message):
        judge(server, base, base, base, base)
