"""Learning: any order, any delay, parts, repetitions and corrections."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.errors import UsageError
from pointwork.router import Arm, Outcome, Router, Settings
from pointwork.router.core import Core
from pointwork.router.regression import COSTS, QUALITY

ARMS = [Arm("small", usd_per_mtok=(0.1, 0.4)), Arm("large", usd_per_mtok=(3, 15))]


def core_of(router: Router) -> Core:
    return router._core  # pyright: ignore[reportPrivateUsage]


def decided(count: int, **options: Any) -> tuple[Router, list[str]]:
    """A router that has made decisions and heard of none."""
    router = Router(ARMS, settings=Settings(exploration=0.5, gamma=0.98, adapt=False), **options)
    return router, [router.decide(f"text {i} {'of a table' * (i % 3)}").id for i in range(count)]


def assert_same_estimates(one: Router, other: Router) -> None:
    states: list[dict[str, Any]] = []
    for router in (one, other):
        core_of(router).estimates.refresh(core_of(router).clock)
        states.append(core_of(router).estimates.state())
    for name, mine in states[0].items():
        if name.split(".")[-1] in ("updates", "next", "noise"):  # histories
            continue
        np.testing.assert_allclose(mine, states[1][name], atol=1e-8, err_msg=name)


def some_outcomes(count: int) -> list[Outcome]:
    rng = np.random.default_rng(1)
    return [Outcome(float(rng.random()), float(rng.random()) * 1e-3, float(rng.random())) for _ in range(count)]


@given(st.permutations(range(12)))
@settings(max_examples=25, deadline=None)
def test_any_order_and_delay_gives_the_same_state(order: list[int]):
    (one, ids), (other, others) = decided(12), decided(12)
    outcomes = some_outcomes(12)
    for i in range(12):
        one.learn(ids[i], outcomes[i])
    for i in order:
        other.learn(others[i], outcomes[i])
    assert_same_estimates(one, other)


@given(st.permutations([(i, part) for i in range(5) for part in range(3)]))
@settings(max_examples=25, deadline=None)
def test_parts_in_any_order_make_the_whole(order: list[tuple[int, int]]):
    (one, ids), (other, others) = decided(5), decided(5)
    outcomes = some_outcomes(5)
    for i, outcome in enumerate(outcomes):
        one.learn(ids[i], outcome)
    for i, part in order:
        whole = outcomes[i]
        parts = (Outcome(quality=whole.quality), Outcome(usd=whole.usd), Outcome(seconds=whole.seconds))
        other.learn(others[i], parts[part])
    assert_same_estimates(one, other)


def test_saying_it_twice_changes_nothing():
    router, ids = decided(6, budget_per_request=1e-3)
    outcomes = some_outcomes(6)
    for id_, outcome in zip(ids, outcomes, strict=True):
        router.learn(id_, outcome)
    before = core_of(router).estimates.state()["regression.moments"].copy()
    pacer, health = core_of(router).pacer.state(), {k: v.copy() for k, v in core_of(router).health.state().items()}
    for id_, outcome in zip(ids, outcomes, strict=True):
        router.learn(id_, outcome)
        router.learn(id_, Outcome(quality=outcome.quality))
    assert (core_of(router).estimates.state()["regression.moments"] == before).all()
    assert core_of(router).pacer.state() == pacer
    for name, mine in core_of(router).health.state().items():
        assert (mine == health[name]).all()


def test_a_correction_is_as_if_it_had_been_said_at_first():
    (one, ids), (other, others) = decided(8), decided(8)
    outcomes = some_outcomes(8)
    for i, outcome in enumerate(outcomes):
        other.learn(others[i], Outcome(1.0 - (outcome.quality or 0.0), 5e-4, 3.0))
    grams = core_of(other).estimates.state()["regression.gram"].copy()
    for i, outcome in enumerate(outcomes):
        one.learn(ids[i], outcome)
        other.learn(others[i], outcome)
    assert (core_of(other).estimates.state()["regression.gram"] == grams).all()
    assert_same_estimates(one, other)


def test_a_failure_counts_as_worthless_until_its_quality_is_known():
    (one, ids), (other, others) = decided(3), decided(3)
    for i in range(3):
        one.learn(ids[i], Outcome(error="timeout"))
        one.learn(ids[i], Outcome(quality=0.25))
        other.learn(others[i], Outcome(quality=0.25))
    assert_same_estimates(one, other)


def test_cost_alone_says_nothing_about_quality_and_quality_nothing_about_cost():
    router, ids = decided(4)
    core = core_of(router)
    router.learn(ids[0], Outcome(usd=1e-3))
    assert not core.estimates.regression.mass[:, QUALITY].any()
    cost = core.estimates.regression.mass[:, COSTS].copy()
    assert cost.any()
    router.learn(ids[1], Outcome(quality=1.0))
    assert (core.estimates.regression.mass[:, COSTS] == cost).all()
    assert core.estimates.regression.mass[:, QUALITY].any()


def test_an_unknown_latency_leaves_the_prediction_of_latency_alone():
    router = Router([Arm("only", expected_seconds=10.0)], settings=Settings(gamma=1.0))
    for _ in range(40):
        router.learn(router.decide("a text").id, Outcome(usd=1e-3, seconds=0.1))
    before = router.decide("a text").scores["only"]["log_seconds"]
    for _ in range(200):
        router.learn(router.decide("a text").id, Outcome(usd=1e-3))
    after = router.decide("a text").scores["only"]["log_seconds"]
    assert float(after) == pytest.approx(float(before), abs=0.15)


def test_predicted_cost_is_the_mean_not_the_median():
    router = Router([Arm("only", usd_per_mtok=(1, 1))], settings=Settings(gamma=1.0))
    rng = np.random.default_rng(0)
    spent = rng.lognormal(math.log(1e-3), 0.9, 1500)
    for usd in spent:
        router.learn(router.decide(features=[0.0]).id, Outcome(usd=float(usd)))
    predicted = float(router.decide(features=[0.0]).scores["only"]["cost"])
    assert predicted == pytest.approx(spent.mean(), rel=0.08)
    assert math.exp(np.log(spent).mean()) < 0.75 * predicted


@pytest.mark.parametrize(
    "wrong",
    [
        {"quality": 1.1},
        {"quality": -0.1},
        {"quality": math.nan},
        {"usd": -1e-9},
        {"usd": math.inf},
        {"seconds": -1.0},
        {"quality": "good"},
        {"error": ValueError("it broke")},
    ],
)
def test_an_outcome_is_checked(wrong: dict[str, Any]):
    with pytest.raises(UsageError, match=f"outcome {next(iter(wrong))} "):
        Outcome(**wrong)


def test_an_unknown_decision_is_refused():
    router, _ = decided(1)
    with pytest.raises(UsageError, match="has no decision 'dec1' in memory"):
        router.learn("dec1", Outcome(quality=1.0))


def test_the_oldest_decisions_are_forgotten_when_there_are_too_many():
    router = Router(ARMS, settings=Settings(pending=50))
    ids = [router.decide(f"t{i}").id for i in range(120)]
    assert len(core_of(router).ledger) <= 50
    router.learn(ids[-1], Outcome(quality=1.0))
    with pytest.raises(UsageError, match="has no decision"):
        router.learn(ids[0], Outcome(quality=1.0))


def test_thousands_may_be_pending():
    router = Router(ARMS)
    ids = [router.decide(features=[0.1, 0.9]).id for _ in range(3000)]
    for id_ in reversed(ids):
        router.learn(id_, Outcome(quality=0.5))
    assert core_of(router).health.load.sum() == 0


def test_arms_come_and_go():
    router = Router(ARMS)
    for _ in range(20):
        router.learn(router.decide("t", ["small"]).id, Outcome(quality=0.9))
    router.add_arm(Arm("new", usd_per_mtok=(0.1, 0.4)))
    with pytest.raises(UsageError, match="already an arm called 'new'"):
        router.add_arm(Arm("new"))
    fresh = router.decide("t").scores["new"]
    assert 0.6 < float(fresh["mean"]) < 0.95  # like the others of its price
    pending = router.decide("t", ["small"])
    router.retire_arm("small")
    assert [arm.name for arm in router.arms] == ["large", "new"]
    assert all("small" not in router.decide("t").propensities for _ in range(5))
    assert router.decide("t", ["small", "new"]).arm == "new"
    before = core_of(router).estimates.regression.mass[0, QUALITY]
    router.learn(pending.id, Outcome(quality=1.0))
    assert core_of(router).estimates.regression.mass[0, QUALITY] > before
    with pytest.raises(UsageError, match="no arm is called 'none'"):
        router.retire_arm("none")
    router.retire_arm("large")
    with pytest.raises(UsageError, match="last arm"):
        router.retire_arm("new")


def test_labelled_requests_are_learnt_without_decisions():
    router = Router(ARMS, settings=Settings(gamma=0.99))
    for i in range(60):
        kind = i % 2
        router.teach(
            {"small": Outcome(float(kind), 1e-4), "large": Outcome(0.6, 5e-3)}, features=[kind, 1.0 - kind]
        )
    core = core_of(router)
    assert router.clock == 60  # one tick each, for two arms
    assert len(core.ledger) == 0
    assert core.pacer.state() == Router(ARMS).__dict__["_core"].pacer.state()  # nobody's money
    assert core.health.load.sum() == 0
    assert [router.decide(features=[k, 1.0 - k]).arm for k in (0.0, 1.0)] == ["large", "small"]
    assert router.decide(features=[1.0, 0.0]).scores["large"]["cost"] == pytest.approx(5e-3, rel=0.2)
    with pytest.raises(UsageError, match="huge"):
        router.teach({"huge": Outcome(1.0)}, features=[0.0, 1.0])
    with pytest.raises(UsageError, match="no outcome"):
        router.teach({}, features=[0.0, 1.0])
    with pytest.raises(UsageError, match="features"):
        router.teach({"small": Outcome(1.0)}, features=[1.0])


@given(st.integers(0, 50))
@settings(max_examples=10, deadline=None)
def test_teaching_one_arm_is_as_deciding_for_it_and_learning(seed: int):
    rng = np.random.default_rng(seed)
    taught, told = (Router(ARMS, settings=Settings(gamma=0.98, adapt=False)) for _ in range(2))
    for _ in range(15):
        x, name = rng.normal(size=3), ARMS[int(rng.integers(0, 2))].name
        outcome = Outcome(float(rng.random()), float(rng.random()) * 1e-3, float(rng.random()))
        taught.teach({name: outcome}, features=x)
        told.learn(told.decide(features=x, candidates=[name]).id, outcome)
    assert_same_estimates(taught, told)


def test_a_ledger_of_one_keeps_the_newest():
    router = Router([Arm("a"), Arm("b")], settings=Settings(pending=1))
    for _ in range(3):
        router.learn(router.decide("t").id, Outcome(1.0))
