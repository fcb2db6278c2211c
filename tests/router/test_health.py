"""Breakers: closed, open, half-open."""

import numpy as np

from pointwork.router import Arm, Outcome, Router, Settings


class Clock:
    """Time that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = 1e9

    def __call__(self) -> float:
        return self.now


def router_of(clock: Clock, *names: str) -> Router:
    return Router([Arm(name) for name in names], "random", time_source=clock)


def break_arm(router: Router, name: str) -> None:
    for _ in range(3):
        router.learn(router.decide("t", [name]).id, Outcome(error="no answer"))


def test_a_dead_arm_costs_few_requests():
    for seed in range(3):
        router, wasted = Router([Arm("good"), Arm("dead"), Arm("other")], "random", seed=seed), 0
        for _ in range(500):
            decision = router.decide("t")
            dead = decision.arm == "dead"
            wasted += dead
            router.learn(decision.id, Outcome(error="refused") if dead else Outcome(quality=0.8))
        assert wasted <= 5


def test_it_opens_lets_one_probe_through_after_a_while_and_closes_when_that_succeeds():
    clock = Clock()
    router = router_of(clock, "a", "b")
    break_arm(router, "a")
    assert set(router.decide("t").propensities) == {"b"}
    assert next(row for row in router.explain("t") if row["arm"] == "a")["health"] == "open"
    clock.now += 31
    probe = next(d for d in (router.decide("t") for _ in range(50)) if d.arm == "a")
    assert set(router.decide("t").propensities) == {"b"}  # one probe at a time
    router.learn(probe.id, Outcome(quality=0.7))
    assert set(router.decide("t").propensities) == {"a", "b"}


def test_a_failed_probe_makes_it_wait_longer():
    clock = Clock()
    router = router_of(clock, "a", "b")
    break_arm(router, "a")
    clock.now += 31
    probe = next(d for d in (router.decide("t") for _ in range(50)) if d.arm == "a")
    router.learn(probe.id, Outcome(error="still dead"))
    clock.now += 100
    assert set(router.decide("t").propensities) == {"b"}
    clock.now += 30
    assert set(router.decide("t").propensities) == {"a", "b"}


def test_late_news_from_before_it_died_does_not_bring_an_arm_back():
    clock = Clock()
    router = router_of(clock, "a", "b")
    before = [router.decide("t", ["a"]).id for _ in range(3)]
    break_arm(router, "a")
    router.learn(before[0], Outcome(quality=1.0))
    assert set(router.decide("t").propensities) == {"b"}
    clock.now += 31
    probe = next(d for d in (router.decide("t") for _ in range(50)) if d.arm == "a")
    router.learn(before[1], Outcome(quality=1.0))
    router.learn(before[2], Outcome(error="no answer"))
    assert set(router.decide("t").propensities) == {"b"}
    assert next(row for row in router.show() if row["arm"] == "a")["health"] == "half-open"
    router.learn(probe.id, Outcome(quality=1.0))
    assert set(router.decide("t").propensities) == {"a", "b"}


def test_an_outcome_that_says_nothing_does_not_close_it():
    clock = Clock()
    router = router_of(clock, "a", "b")
    break_arm(router, "a")
    clock.now += 31
    probe = next(d for d in (router.decide("t") for _ in range(50)) if d.arm == "a")
    router.learn(probe.id, Outcome())
    assert set(router.decide("t").propensities) == {"b"}
    router.learn(probe.id, Outcome(error="still dead"))
    assert next(row for row in router.show() if row["arm"] == "a")["health"] == "open"


def test_decisions_end_the_wait_too():
    clock = Clock()
    router = router_of(clock, "a", "b")
    break_arm(router, "a")
    for _ in range(98):
        assert router.decide("t").arm == "b"
    for _ in range(3):
        router.decide("t", ["b"])
    assert set(router.decide("t").propensities) == {"a", "b"}


def test_when_all_are_broken_all_are_candidates():
    router = router_of(Clock(), "a", "b")
    break_arm(router, "a")
    break_arm(router, "b")
    assert set(router.decide("t").propensities) == {"a", "b"}
    assert set(router.decide("t", ["a"]).propensities) == {"a"}


def test_low_quality_is_no_failure():
    router = router_of(Clock(), "a", "b")
    for _ in range(20):
        router.learn(router.decide("t", ["a"]).id, Outcome(quality=0.0))
    assert set(router.decide("t").propensities) == {"a", "b"}


def test_load_rises_with_decisions_in_flight_and_ends_without_outcomes_too():
    clock = Clock()
    router = router_of(clock, "a")
    core = router._core  # pyright: ignore[reportPrivateUsage]
    ids = [router.decide("t").id for _ in range(5)]
    assert core.health.load.tolist() == [5]
    router.learn(ids[2], Outcome(quality=1.0))
    assert core.health.load.tolist() == [4]
    clock.now += 700
    router.decide("t")
    assert core.health.load.tolist() == [1]


def test_a_failing_arm_is_left_by_a_learning_router():
    for seed in range(3):
        router = Router([Arm("a"), Arm("b")], seed=seed, settings=Settings(exploration=0.02))
        rng, late = np.random.default_rng(seed), list[str]()
        for i in range(900):
            decision = router.decide("t")
            good = {"a": 0.9 if i < 400 else 0.2, "b": 0.6}[decision.arm]
            router.learn(decision.id, Outcome(quality=float(rng.random() < good)))
            if i >= 800:
                late.append(decision.arm)
        assert late.count("b") > 80
