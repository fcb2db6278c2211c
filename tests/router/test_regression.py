"""Discounted ridges: lazy arithmetic against the recursion written out."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.router.inverses import inverted
from pointwork.router.regression import COSTS, LEVEL, Regression

Array = npt.NDArray[np.float64]
DIMS = 4
RIDGE = 0.7
PRIOR = np.diag([LEVEL, RIDGE, RIDGE, RIDGE])  # the bias stays uncertain

clocks = st.lists(st.integers(0, 300), min_size=1, max_size=40)
gammas = st.sampled_from([1.0, 0.999, 0.98, 0.9])


def observations(count: int, seed: int, heads: int = 2) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(count, DIMS))
    contexts /= np.maximum(1.0, np.linalg.norm(contexts, axis=1))[:, None]
    return contexts, rng.normal(size=(count, heads))


def fixed(arms: int, gamma: float) -> Regression:
    return Regression(arms, DIMS, ridge=RIDGE, gamma=gamma, adapt=False)


def fed(order: list[int], times: list[int], gamma: float, seed: int) -> Regression:
    regression = fixed(1, gamma)
    contexts, residuals = observations(len(times), seed)
    for i in order:
        regression.add("costs", 0, contexts[i], times[i], residuals[i])
    return regression


def widest(regression: Regression, x: Array, now: int) -> float:
    """The bound of xᵀ(G + ρI)⁻¹x of the first arm's quality, from what ``Estimates.predict`` takes it from."""
    growth = regression.growth(now)
    return float(regression.of_quality[0] @ x @ x) * (1.0 if growth is None else float(growth[0]))


def written_out(times: list[int], gamma: float, seed: int, now: int) -> tuple[Array, Array]:
    """G ← γ^Δt G + xxᵀ and b ← γ^Δt b + r x, decision by decision."""
    contexts, residuals = observations(len(times), seed)
    gram, moments, before = np.zeros((DIMS, DIMS)), np.zeros((2, DIMS)), 0
    for i in sorted(range(len(times)), key=lambda i: times[i]):
        decay = gamma ** (times[i] - before)
        gram = decay * gram + np.outer(contexts[i], contexts[i])
        moments = decay * moments + np.outer(residuals[i], contexts[i])
        before = times[i]
    return gram * gamma ** (now - before), moments * gamma ** (now - before)


@given(clocks, gammas, st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_lazy_discounting_is_the_recursion(times: list[int], gamma: float, seed: int):
    now = max(times) + 5
    regression = fed(list(range(len(times))), times, gamma, seed)
    regression.refresh(0, now)
    gram, moments = written_out(times, gamma, seed, now)
    np.testing.assert_allclose(regression.gram[0, COSTS], gram, atol=1e-8)
    np.testing.assert_allclose(regression.moments[0, 1:], moments, atol=1e-8)
    exact = np.linalg.inv(gram + PRIOR)
    np.testing.assert_allclose(regression.inverse[0, COSTS], exact, atol=1e-8)
    np.testing.assert_allclose(regression.weights[0, 1:], moments @ exact, atol=1e-8)


@given(clocks, gammas, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_any_order_gives_the_same_state(times: list[int], gamma: float, shuffler: Any):
    order = list(range(len(times)))
    shuffler.shuffle(order)
    one, other = fed(sorted(order), times, gamma, 3), fed(order, times, gamma, 3)
    for regression in (one, other):
        regression.refresh(0, 400)
    np.testing.assert_allclose(one.gram, other.gram, atol=1e-9)
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-8)


@given(clocks, gammas, st.integers(0, 200), st.integers(0, 99))
@settings(max_examples=80, deadline=None)
def test_the_bound_bounds_between_refreshes(times: list[int], gamma: float, later: int, seed: int):
    times = sorted(times)
    now = times[-1] + later
    regression = fixed(1, gamma)
    seen, residuals = observations(len(times), seed)
    for i, clock in enumerate(times):
        regression.add("quality", 0, seen[i], clock, residuals[i, :1])
    gram, _ = written_out(times, gamma, seed, now)
    contexts, _ = observations(20, seed + 1)
    exact = np.einsum("nd,de,ne->n", contexts, np.linalg.inv(gram + PRIOR), contexts)
    bound = np.array([widest(regression, x, now) for x in contexts])
    assert (bound >= exact - 1e-9).all()


def test_between_refreshes_the_inverse_is_exact_for_a_smaller_ridge():
    gamma = 0.99
    regression = fed([0, 1, 2], [0, 20, 40], gamma, 1)
    assert regression.since[0] == 0  # no refresh yet
    gram, moments = written_out([0, 20, 40], gamma, 1, 40)
    smaller = np.linalg.inv(gram + gamma**40 * PRIOR)
    np.testing.assert_allclose(regression.inverse[0, COSTS] * gamma**-40, smaller, atol=1e-9)
    np.testing.assert_allclose(regression.weights[0, 1:], moments @ smaller, atol=1e-9)


@given(gammas, st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_a_correction_is_as_if_learnt_so_at_first(gamma: float, seed: int):
    times = [0, 3, 50, 51, 120]
    contexts, residuals = observations(5, seed)
    right, wrong = (fixed(1, gamma) for _ in range(2))
    for i, time in enumerate(times):
        right.add("costs", 0, contexts[i], time, residuals[i])
        wrong.add("costs", 0, contexts[i], time, residuals[i] + (i == 1))
    gram = wrong.state()["gram"].copy()
    for head in (1, 2):
        wrong.correct(head, 0, contexts[1], times[1], -1.0, float(residuals[1, head - 1]) + 1.0)
    assert (wrong.state()["gram"] == gram).all()
    np.testing.assert_allclose(wrong.squares, right.squares, atol=1e-9)
    np.testing.assert_allclose(wrong.moments, right.moments, atol=1e-9)
    np.testing.assert_allclose(wrong.weights, right.weights, atol=1e-9)


def test_an_idle_arm_forgets_towards_its_prior():
    regression = fixed(2, 0.9)
    x = np.array([1.0, 0, 0, 0])
    for time in range(20):
        regression.add("quality", 0, x, time, np.array([1.0]))
    taught = regression.by_head[0, 0] @ x
    for time in range(20, 400):
        regression.tidy(time)
    assert taught > 0.8
    assert abs(regression.by_head[0, 0] @ x) < 1e-3
    for arm in range(2):
        regression.refresh(arm, 400)
    assert widest(regression, x, 400) == pytest.approx(1 / LEVEL, rel=1e-3)


@pytest.mark.parametrize("size", [1, 3, 64, 65, 150])
def test_the_inverse_by_blocks_is_the_inverse(size: int):
    rng = np.random.default_rng(size)
    root = rng.normal(size=(size, size))
    matrix = root @ root.T / size + np.eye(size)
    np.testing.assert_allclose(inverted(matrix) @ matrix, np.eye(size), atol=1e-9)


@pytest.mark.parametrize(("noise", "low", "high"), [(0.01, 0.0, 0.2), (1.0, 2.0, 100.0)])
def test_the_ridge_follows_noise_over_signal(noise: float, low: float, high: float):
    """Rewards that say much about the features need little shrinking, noisy ones much."""
    rng = np.random.default_rng(0)
    regression = Regression(3, 20, ridge=0.5, gamma=1.0)
    truth = rng.normal(size=(3, 20)) * 0.3
    for clock in range(900):
        arm, x = clock % 3, np.concatenate(([1.0], rng.normal(size=19) / 19**0.5))
        reward = truth[arm] @ x + noise * rng.normal()
        regression.add("quality", arm, x, clock, np.array([reward]))
        regression.tidy(clock)
    assert low <= regression.goal[0] <= high
    assert regression.noise[0] == pytest.approx(noise**2, rel=0.4, abs=1e-4)
    prior = np.full(20, float(regression.ridges[1, 0]))
    prior[0] = min(prior[0], LEVEL)
    product = regression.inverse[1, 0] @ (regression.state()["gram"][1, 0] + np.diag(prior))
    np.testing.assert_allclose(product, np.eye(20), atol=1e-8)
