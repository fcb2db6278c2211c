"""Estimates from logs: right on average, honest about what they can not say; the gate and the way back."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pointwork.errors import UsageError
from pointwork.portable import import_decisions
from pointwork.router import Arm, Outcome, Router, offline
from pointwork.router.offline import Logged, compare, evaluate
from pointwork.store import Store

Array = npt.NDArray[np.float64]
NAMES = ("a", "b", "c")


def world(count: int, seed: int) -> tuple[Array, Array, Array]:
    """Contexts (n, 3), true quality (n, 3) and cost (n, 3) of three arms."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(count, 3))
    quality = 1 / (1 + np.exp(-contexts - np.array([0.0, 0.3, -0.3])))
    return contexts, quality, np.tile([1e-4, 2e-4, 4e-4], (count, 1))


def logged(count: int, seed: int, probabilities: Array) -> tuple[Logged, Array, Array]:
    contexts, quality, cost = world(count, seed)
    rng = np.random.default_rng(seed + 1000)
    chosen = (rng.random(count)[:, None] > np.cumsum(probabilities, axis=1)).sum(axis=1)
    rows = np.arange(count)
    seen = (rng.random(count) < quality[rows, chosen]).astype(np.float64)
    return Logged(NAMES, contexts, chosen, probabilities, seen, cost[rows, chosen]), quality, cost


def spread(count: int, floor: float = 0.1) -> Array:
    rows = np.full((count, 3), floor)
    rows[:, 1] += 1 - 3 * floor
    return rows


def best(quality: Array) -> Array:
    return np.eye(3)[quality.argmax(axis=1)]


def test_intervals_hold_the_truth():
    hits = {"ips": 0, "snips": 0, "dr": 0}
    errors = {name: list[float]() for name in hits}
    for seed in range(60):
        log, quality, _ = logged(1500, seed, spread(1500))
        target = best(quality)
        truth = float((target * quality).sum(axis=1).mean())
        report = evaluate(log, target, seed=seed, resamples=300)
        assert not report.refused
        for name, interval in report.quality.items():
            hits[name] += interval.low <= truth <= interval.high
            errors[name].append(interval.value - truth)
    for name, count in hits.items():
        assert count >= 0.85 * 60, name
        assert abs(np.mean(errors[name])) < 0.01, name
    assert np.std(errors["dr"]) < np.std(errors["ips"])


@pytest.mark.parametrize("tiny", [1e-9, 1e-200, 5e-324])
def test_one_decision_that_could_hardly_be_drawn_is_refused_in_words(tiny: float):
    """Its weight is all there is; the square of it is no float."""
    log, _, _ = logged(200, 1, spread(200))
    log.propensities[7, log.chosen[7]] = tiny
    report = evaluate(log, spread(200))
    assert "worth 1 of its own" in report.refused


def test_resamples_do_not_follow_a_caller_who_uses_the_same_seed():
    # else a log that was drawn with seed s would be judged, with seed s, by its own draws
    log, _, _ = logged(400, 3, spread(400))
    target = np.tile([0.2, 0.6, 0.2], (400, 1))
    found = evaluate(log, target, seed=3, resamples=99).quality["ips"]
    weights = target[np.arange(400), log.chosen] / log.propensities[np.arange(400), log.chosen]
    drawn = np.random.default_rng(3).integers(0, 400, (99, 400))
    low, high = np.quantile((weights * log.quality)[drawn].mean(axis=1), (0.025, 0.975), method="weibull")
    assert (found.low, found.high) != (low, high)
    assert abs(found.low - low) < 0.03


def test_bounds_are_order_statistics_that_hold_a_fresh_draw_as_often_as_they_say():
    # with B draws and a fresh one, all of one distribution: P(fresh < the k-th of B) = k / (B + 1)
    rng, hits, repetitions = np.random.default_rng(0), 0, 4000
    for _ in range(repetitions):
        fresh, *draws = rng.random(40)
        interval = offline._between(0.5, np.array(draws), 0.1)  # pyright: ignore[reportPrivateUsage]
        hits += interval.low <= fresh <= interval.high
    assert abs(hits / repetitions - 0.8) < 0.02  # numpy's own interpolation has .76


def test_a_long_log_is_resampled_in_blocks(monkeypatch: pytest.MonkeyPatch):
    columns = np.random.default_rng(0).random((50, 2))
    whole = offline.resampled(columns, np.random.default_rng(1), 30)
    monkeypatch.setattr(offline, "_BLOCK", 120)
    assert (offline.resampled(columns, np.random.default_rng(1), 30) == whole).all()
    assert whole.shape == (30, 2)
    assert np.allclose(whole.mean(axis=0), columns.mean(axis=0), atol=0.05)


def test_a_better_policy_passes_and_an_equal_or_worse_one_does_not():
    passed = dict.fromkeys(("better", "equal", "worse"), 0)
    for seed in range(20):
        log, quality, _ = logged(2000, seed, spread(2000, 0.2))
        fixed = np.tile([0.0, 1.0, 0.0], (2000, 1))
        shuffled = fixed[np.random.default_rng(seed).permutation(2000)]
        passed["better"] += compare(log, best(quality), fixed, seed=seed).passed
        passed["equal"] += compare(log, shuffled, fixed, seed=seed).passed
        passed["worse"] += compare(log, np.tile([0.0, 0.0, 1.0], (2000, 1)), fixed, seed=seed).passed
    assert passed == {"better": 0, "equal": 0, "worse": 0} | {"better": passed["better"]}


def test_what_costs_more_does_not_pass_however_good():
    log, quality, _ = logged(2000, 1, spread(2000, 0.2))
    verdict = compare(log, best(quality), np.tile([1.0, 0.0, 0.0], (2000, 1)))
    assert not verdict.passed
    assert verdict.gain.low > 0
    assert "USD" in verdict.reasons[0]


def test_a_cost_that_is_not_known_does_not_open_the_gate():
    log, quality, _ = logged(3000, 6, spread(3000, 0.3))
    dear = 0.5 * best(quality) + 0.5 * np.array([0.0, 0.0, 1.0])
    log.usd[:] = np.array([1e-4, 2e-4, 4e-3])[log.chosen]
    assert "costs" in " ".join(compare(log, dear, log.propensities).reasons)
    log.usd[11] = np.nan  # as of a call that failed
    verdict = compare(log, dear, log.propensities)
    assert "costs" in " ".join(verdict.reasons)
    assert verdict.new.usd["dr"].value > verdict.live.usd["dr"].value
    log.usd[20:] = np.nan
    assert "what it costs is known of 19 decisions; 50 are needed" in compare(log, dear, log.propensities).reasons
    log.usd[:] = np.nan
    assert compare(log, dear, log.propensities).passed


def test_it_says_when_the_log_can_not_answer():
    count = 400
    never = np.tile([0.5, 0.5, 0.0], (count, 1))
    log, _, _ = logged(count, 0, never)
    wants = np.tile([0.0, 0.0, 1.0], (count, 1))
    assert "could not draw" in evaluate(log, wants).refused
    rare, _, _ = logged(count, 0, np.tile([0.98, 0.01, 0.01], (count, 1)))
    assert "unlike" in evaluate(rare, wants).refused
    few, _, _ = logged(20, 0, spread(20))
    assert "too few" in evaluate(few, spread(20)).refused
    assert not compare(log, wants, never).passed
    with pytest.raises(UsageError, match="shape"):
        evaluate(log, np.ones((3, 3)))
    with pytest.raises(UsageError, match="sum to 1"):
        evaluate(log, np.ones((count, 3)))


ARMS = [Arm("small", usd_per_mtok=(0.1, 0.4)), Arm("large", usd_per_mtok=(0.1, 0.4))]


def served(url: str, rounds: int, policy: str = "random") -> Router:
    router = Router(ARMS, policy, store=Store(url), seed=1)
    rng = np.random.default_rng(0)
    for i in range(rounds):
        kind = i % 2
        decision = router.decide(("add the numbers", "write a poem on the sea")[kind])
        good = 0.9 if decision.arm == ("small", "large")[kind] else 0.2
        router.learn(decision.id, Outcome(float(rng.random() < good), 1e-4, 1.0))
    return router


def test_a_policy_that_proves_better_is_promoted_and_can_be_rolled_back(tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'store.db'}"
    router = served(url, 400)
    trial = router.replay("linucb")
    assert (trial.trained, trial.judged) == (200, 200)
    assert trial.report.quality["dr"].low > 0.7
    assert router.promote("static").verdict.passed is False
    assert router.policy.name == "random"
    trial = router.promote("linucb")
    assert trial.verdict.passed, trial.verdict.reasons
    assert router.policy.name == "linucb"
    assert router.clock == 400
    assert router.decide("add the numbers").propensities["small"] > 0.9
    router.checkpoint()
    again = Router(ARMS, "random", store=Store(url))  # what was promoted stays, also after a restart
    assert again.policy.name == "linucb"
    again.rollback()
    assert again.policy.name == "random"
    assert again.clock == 401
    assert Router(ARMS, "random", store=Store(url)).policy.name == "random"
    with pytest.raises(UsageError, match="nothing to roll back"):
        again.rollback()


def test_a_process_that_runs_on_does_not_undo_a_promotion_or_a_way_back(tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'store.db'}"
    router = served(url, 400)
    running = Router(ARMS, "random", store=Store(url))
    assert router.promote("linucb").verdict.passed
    decision = running.decide("add the numbers")
    running.checkpoint()
    assert running.policy.name == "linucb"
    running.learn(decision.id, Outcome(1.0))
    assert Router(ARMS, "random", store=Store(url)).policy.name == "linucb"
    router.rollback()
    running.checkpoint()
    assert running.policy.name == "random"
    assert Router(ARMS, "random", store=Store(url)).policy.name == "random"


def test_the_way_back_keeps_the_arms_of_today(tmp_path: Path):
    router = served(f"sqlite:///{tmp_path / 'store.db'}", 400)
    assert router.promote("linucb").verdict.passed
    router.add_arm(Arm("new"))
    router.retire_arm("small")
    decision = router.decide("add the numbers", ["new"])
    router.rollback()
    assert [arm.name for arm in router.arms] == ["large", "new"]
    router.learn(decision.id, Outcome(1.0))
    assert router.show()[2]["graded"] == 1


def test_a_trial_asks_what_the_router_asks(tmp_path: Path):
    arms = [ARMS[0], Arm("dear", usd_per_mtok=(3, 15))]
    router = Router(arms, store=f"sqlite:///{tmp_path / 'store.db'}", quality_floor=0.5)
    for i in range(120):
        decision = router.decide(f"text {i % 5}")
        good = 0.75 if decision.arm == "small" else 0.95
        router.learn(decision.id, Outcome(good, 1e-4 if decision.arm == "small" else 5e-3))
    trial = router.replay("linucb")
    assert trial.report.refused == ""
    assert trial.report.usd["dr"].value < 1e-3  # the cheapest that is good enough, not the best


@pytest.mark.parametrize("ask", [{"max_usd": 1e-3}, {"quality_floor": 0.5}, {"cost_weight": 1e3}])
def test_a_trial_asks_what_each_request_asked_for(tmp_path: Path, ask: dict[str, float]):
    """Else it judges a policy by arms that a request could not be given: the log has nothing to say of them."""
    arms = [Arm("small", usd_per_mtok=(0.1, 0.1)), Arm("dear", usd_per_mtok=(30, 30))]
    router = Router(arms, "random", store=f"sqlite:///{tmp_path / 'store.db'}")
    for i in range(300):
        asked = ask if i % 2 else {}
        decision = router.decide(f"text {i % 5}", **asked)  # pyright: ignore[reportArgumentType]
        good = 0.75 if decision.arm == "small" else 0.95
        router.learn(decision.id, Outcome(good, 1e-4 if decision.arm == "small" else 5e-3))
    usd = router.replay("linucb").report.usd["dr"].value
    assert usd == pytest.approx((1e-4 + 5e-3) / 2, rel=0.1)  # the dear one where nothing was asked for


def test_a_trial_knows_what_was_left_of_the_budget(tmp_path: Path):
    router = Router(ARMS, "random", store=f"sqlite:///{tmp_path / 'store.db'}")
    for i in range(400):
        left = (0.0, 1.0)[i % 2]
        decision = router.decide("text", remaining=left)
        router.learn(decision.id, Outcome(0.9 if decision.arm == ("small", "large")[i % 2] else 0.1, 1e-4))
    assert router.replay("linucb").report.quality["dr"].value > 0.8


def imported(count: int, **more: Any) -> Router:
    """A router of a foreign log: two arms drawn evenly, ``large`` right in 80 %, ``small`` in 40 %."""
    rng, lines = np.random.default_rng(0), list[str]()
    for i in range(count):
        arm = ("small", "large")[int(rng.random() < 0.5)]
        quality = float(rng.random() < (0.8 if arm == "large" else 0.4))
        line = {"prompt": f"text {i}", "choice": arm, "propensity": 0.5, "outcome": quality, "time": 1e9 + i}
        lines.append(json.dumps({name: value for name, value in (line | more).items() if value is not None}))
    store = Store("sqlite://")
    import_decisions(store, io.BytesIO("\n".join(lines).encode()), router="log")
    return Router.of_log(store, "import:log")


@pytest.mark.parametrize(("arm", "truth"), [("large", 0.8), ("small", 0.4)])
def test_a_log_that_says_only_what_was_chosen_can_answer(arm: str, truth: float):
    """The candidates are those that the log names, not those whose propensity it tells."""
    router = imported(1200, candidates=["small", "large"])
    report = router.replay("static", {"arm": arm}).report
    assert report.refused == ""
    for interval in report.quality.values():
        assert interval.value == pytest.approx(truth, abs=0.1)
    learnt = router.lessons().logged
    assert np.allclose(learnt.propensities, 0.5)


def test_a_log_whose_time_is_0_can_answer():
    trial = imported(200, candidates=["small", "large"], time=0).replay("random")
    assert (trial.trained, trial.judged) == (100, 100)


def test_decisions_that_do_not_name_their_candidates_are_not_used():
    trial = imported(200).replay("static", {"arm": "large"})
    assert "100 more do not name all the candidates" in trial.report.refused
    assert not trial.verdict.passed


def test_a_log_without_prompts_and_features_is_refused_in_words():
    router = imported(120, prompt=None, candidates=["small", "large"])
    for ask in (lambda: router.replay("random"), router.lessons):
        with pytest.raises(UsageError, match="has a prompt or features"):
            ask()


def test_old_versions_are_dropped(tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'store.db'}"
    router = served(url, 400)
    before = router.checkpoint()
    router.promote("linucb")
    for _ in range(15):
        router.checkpoint()
    kept = [row["version"] for row in router.versions()]
    assert len(kept) <= 11
    assert before in kept or before + 1 in kept  # what rollback returns to
    assert router.rollback() < kept[0]


def test_without_a_store_there_is_nothing_to_replay():
    with pytest.raises(UsageError, match="no store"):
        Router(ARMS).replay("random")
    with pytest.raises(UsageError, match="logged no decisions"):
        Router(ARMS, store="sqlite://").replay("random")
