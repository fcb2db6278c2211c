"""All arms at once against arm by arm: the stacked arithmetic of a decision and of an update."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.router import Arm, Outcome, Router, Settings
from pointwork.router.decisions import new_decision_id
from pointwork.router.estimates import COST_FLOOR, Estimates, Sheet
from pointwork.router.features import STATE
from pointwork.router.policies.base import best_of
from pointwork.router.regression import ARRAYS, COSTS, HEADS, QUALITY, Regression

DIMS = 3 + 1 + STATE


def taught(arms: int, gamma: float, seed: int, rounds: int = 60) -> tuple[Estimates, np.random.Generator]:
    """Estimates of arms that have seen this and that, some of them nothing."""
    rng = np.random.default_rng(seed)
    made = [Arm(f"a{i}", (float(rng.random()), 1.0)) for i in range(arms)]
    estimates = Estimates(made, DIMS, ridge=0.5, gamma=gamma, adapt=True)
    for clock in range(rounds):
        slot = int(rng.integers(0, max(1, arms - 1)))  # the last one is never tried
        quality = float(rng.random()) if rng.random() < 0.8 else None
        logs = (float(rng.normal() - 8), float(rng.normal())) if quality is None or rng.random() < 0.8 else None
        estimates.learn(slot, rng.normal(size=DIMS) / 3, clock, quality, logs)
        estimates.learn_smear(slot, clock, float(rng.normal()), 0.7, None)
        if quality is not None:
            estimates.learn_noise(quality - 0.5, 0.1)
            estimates.hope(quality)
    return estimates, rng


@given(st.integers(1, 6), st.sampled_from([1.0, 0.999, 0.97]), st.integers(0, 99), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_sheet_says_what_each_arm_by_itself_would(arms: int, gamma: float, seed: int, some: bool):
    estimates, rng = taught(arms, gamma, seed)
    slots = np.flatnonzero(rng.random(arms) < 0.6) if some else np.arange(arms)
    slots = slots if len(slots) else np.array([0])
    sheet, clock = Sheet(len(slots), DIMS, 0.5), 75
    sheet.shared[:] = rng.normal(size=3) / 3
    sheet.state[:] = rng.random((len(slots), STATE)) / 3
    estimates.predict(sheet, clock, slots if some else None)
    regression, prior = estimates.regression, estimates.prior
    for place, slot in enumerate(slots.tolist()):
        x = sheet.contexts[place]
        said = [float(prior[slot, head] + regression.weights[slot, head] @ x) for head in range(len(HEADS))]
        assert sheet.heads[:, place] == pytest.approx(said, abs=1e-12)
        assert sheet.seconds[place] == pytest.approx(math.exp(said[2]))
        cost = max(0.0, math.exp(said[1]) * float(estimates.smear[slot]) - COST_FLOOR)
        assert sheet.cost[place] == pytest.approx(cost, abs=1e-15)
        growth = gamma ** min(0.0, float(regression.since[slot]) - clock)
        variance = float(x @ regression.inverse[slot, QUALITY] @ x) * growth * estimates.noise[0]
        assert sheet.width[place] == pytest.approx(math.sqrt(variance), rel=1e-9)


@given(st.sampled_from([1.0, 0.99]), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_quality_and_costs_learnt_together_are_as_if_learnt_one_by_one(gamma: float, seed: int):
    rng = np.random.default_rng(seed)
    together, apart = (Regression(2, 5, ridge=0.5, gamma=gamma) for _ in range(2))
    for clock in range(40):
        arm, x, residuals = int(rng.integers(0, 2)), rng.normal(size=5) / 2, rng.normal(size=3).tolist()
        apart.add("quality", arm, x, clock, residuals[:1])
        if rng.random() < 0.3:  # the blocks come to differ
            together.add("quality", arm, x, clock, residuals[:1])
            continue
        together.add("both", arm, x, clock, residuals)
        apart.add("costs", arm, x, clock, residuals[1:])
    for name in set(ARRAYS) - {"updates"}:
        np.testing.assert_allclose(getattr(together, name), getattr(apart, name), atol=1e-9, err_msg=name)


@given(st.integers(0, 99), st.sampled_from([1.0, 0.99]))
@settings(max_examples=40, deadline=None)
def test_what_waits_is_seen_whenever_it_is_asked_for(seed: int, gamma: float):
    """The same sums, read after every observation or only once."""
    rng = np.random.default_rng(seed)
    often, once = (Regression(2, 4, ridge=0.5, gamma=gamma) for _ in range(2))
    for clock in range(30):
        x, residuals = rng.normal(size=4) / 2, rng.normal(size=3).tolist()
        for regression in (often, once):
            regression.add("both", clock % 2, x, clock, residuals)
        mass = float(often.mass[clock % 2, COSTS])
        assert mass > 0.0
    for name in ("gram", "moments", "squares", "mass"):
        np.testing.assert_allclose(getattr(often, name), getattr(once, name), atol=1e-9)


@given(st.lists(st.sampled_from([0.0, 0.25, 1.0, -3.0]), min_size=1, max_size=8))
def test_the_best_share_alike(scores: list[float]):
    target = best_of(np.array(scores))
    best = [score == max(scores) for score in scores]
    assert target.tolist() == [1.0 / sum(best) if is_best else 0.0 for is_best in best]


def test_a_decision_stays_as_it_was_when_others_follow():
    router = Router([Arm("a"), Arm("b", (1, 2))], budget_per_request=1e-3, settings=Settings(exploration=0.2))
    first = router.decide(features=[1.0, 0.0])
    scores, chances = {k: dict(v) for k, v in first.scores.items()}, dict(first.propensities)
    table, probabilities = first.table.copy(), first.probabilities.copy()
    for _ in range(20):
        router.learn(router.decide(features=[0.0, 1.0]).id, Outcome(1.0, 2e-3, 1.0))
    assert (first.table == table).all()
    assert (first.probabilities == probabilities).all()
    assert router.explain(first.id)[0]["arm"] in chances
    assert {k: dict(v) for k, v in first.scores.items()} == scores


def test_ids_do_not_come_twice():
    ids = [new_decision_id() for _ in range(2000)]
    assert len(set(ids)) == 2000
    assert {len(each) for each in ids} == {31}
