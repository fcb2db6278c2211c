"""Spend per request ends at the budget, or just below."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pointwork.router import Arm, Outcome, Router, pacing
from pointwork.router.pacing import Pacer

# name: price per million tokens, quality on easy and on hard requests, US dollars per call
ARMS = {"small": (0.1, (0.8, 0.3), 5e-5), "middle": (0.6, (0.85, 0.6), 3e-4), "large": (5.0, (0.9, 0.9), 3e-3)}


def spend(budget: float | None, seed: int, requests: int = 2000, delay: int = 0) -> tuple[float, float]:
    """Mean cost and mean quality of a stream of requests, half of them hard."""
    rng = np.random.default_rng(seed)
    router = Router([Arm(name, (price, price)) for name, (price, _, _) in ARMS.items()], "linucb", budget, seed)
    costs, qualities, waiting = list[float](), list[float](), list[tuple[str, Outcome]]()
    for _ in range(requests):
        hard = int(rng.random() < 0.5)
        decision = router.decide(features=[float(hard), 1.0 - hard])
        _, quality, usd = ARMS[decision.arm]
        cost = float(usd * rng.lognormal(-0.18, 0.6))
        good = float(rng.random() < quality[hard])
        waiting.append((decision.id, Outcome(good, cost, 1.0)))
        if len(waiting) > delay:
            router.learn(*waiting.pop(0))
        costs.append(cost)
        qualities.append(quality[hard])
    return float(np.mean(costs)), float(np.mean(qualities))


@pytest.mark.parametrize("budget", [1.5e-4, 5e-4, 1.2e-3])
def test_mean_spend_ends_at_the_budget_or_just_below(budget: float):
    """Requests of two kinds only: the hardest case, as λ is a step."""
    for seed in range(3):
        mean, _ = spend(budget, seed)
        assert 0.85 <= mean / budget <= 1.02, (seed, mean / budget)


def test_outcomes_that_come_late_do_not_break_the_budget():
    for seed in range(2):
        mean, _ = spend(5e-4, seed, delay=300)
        assert 0.75 <= mean / 5e-4 <= 1.03  # nothing is known for the first 300, so that little is spent


def test_more_money_buys_more_quality():
    qualities = [spend(budget, 1)[1] for budget in (1e-4, 5e-4, 1.5e-3)]
    assert qualities[0] + 0.05 < qualities[1] < qualities[2] - 0.03
    unlimited = spend(None, 1)
    assert unlimited[1] > qualities[2] - 0.01
    assert unlimited[0] > 1.5e-3


def test_one_monstrous_bill_is_paid_back_and_does_not_stop_the_router():
    router = Router([Arm("small", (0.1, 0.1)), Arm("large", (5, 5))], budget_per_request=5e-4, seed=2)
    costs, rng = list[float](), np.random.default_rng(0)
    for i in range(3000):
        decision = router.decide(features=[1.0])
        usd = 5e-5 if decision.arm == "small" else 3e-3
        quality = 0.4 if decision.arm == "small" else 0.9
        if i == 300:
            usd = 0.5  # a thousand requests' worth
        costs.append(usd)
        router.learn(decision.id, Outcome(float(rng.random() < quality), usd, 1.0))
    assert np.mean(costs) < 1.1 * 5e-4
    assert np.mean(costs[-300:]) > 0.7 * 5e-4


def test_without_a_budget_money_has_no_price():
    pacer = Pacer(None)
    pacer.charge(1.0)
    assert pacer.weight == 0.0
    assert pacer.rate == pacer.weight == 0.0


@given(st.integers(0, 999), st.integers(2, 6), st.integers(1, 60))
@settings(max_examples=60, deadline=None)
def test_a_bisection_over_the_undecided_ends_where_one_over_all_does(seed: int, arms: int, count: int):
    rng = np.random.default_rng(seed)
    values, costs = rng.random((count, arms)), np.exp(rng.normal(size=(count, arms)))
    values[rng.random((count, arms)) < 0.2] = -np.inf  # not among the candidates
    values[:, 0] = rng.random(count)

    def spend(price: float) -> float:
        best = (values - price * costs).argmax(axis=1)
        return float(costs[np.arange(count), best].mean())

    low, high = 1e-3, 50.0
    target = 0.37 * spend(low) + 0.63 * spend(high)  # not just between two of its steps
    assume(spend(low) > target)
    found = pacing._narrowed(values, costs, target, low, high)  # pyright: ignore[reportPrivateUsage]
    while high > low * 1.03:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if spend(middle) > target else (low, middle)
    assert found == pytest.approx((low, high), rel=1e-9)
