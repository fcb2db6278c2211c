"""The network over all arms: an exact gradient, what no ridge can learn, and live through the gate only."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.errors import UsageError
from pointwork.router import Arm, Outcome, Router
from pointwork.router.offline import Logged
from pointwork.router.policies import View, make
from pointwork.store import Store
from pointwork.training.policies import Lessons, Recipe, merged, objective, train_policy
from pointwork.training.routing import Learnt, lessons_of, promote_router, train_router

QUICK = Recipe(networks=2, hidden=16, epochs=25, patience=25, rate=1e-2, dropout=0.0)


def exclusive_or(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Contexts (n, 4) whose first two signs decide which of two arms is good: no linear model can tell."""
    rng = np.random.default_rng(seed)
    contexts = rng.choice([-0.5, 0.5], (count, 4))
    same = contexts[:, 0] * contexts[:, 1] > 0
    return contexts, np.where(same[:, None], [0.9, 0.1], [0.2, 0.8])


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 5), st.integers(0, 1000), st.floats(0.05, 1.0))
def test_the_gradient_is_that_of_the_expected_gain(count: int, seed: int, temperature: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    draw = lambda: torch.rand((3, count), generator=generator, dtype=torch.float64)  # noqa: E731
    logits, worth, prices = (4 * draw() - 2).requires_grad_(), draw(), 0.3 * draw()
    ours = torch.autograd.grad(objective(logits, worth, prices, temperature).sum(), logits)[0]
    policy = torch.softmax((torch.sigmoid(logits) - prices) / temperature, dim=1)
    plain = torch.autograd.grad((policy * (worth - prices)).sum(), logits)[0]
    assert torch.allclose(ours, plain, atol=1e-10)


def test_what_could_not_be_chosen_gets_no_gradient() -> None:
    logits = torch.zeros((1, 3), requires_grad=True)
    worth = torch.tensor([[1.0, 0.0, float("nan")]])
    gradient = torch.autograd.grad(objective(logits, worth, torch.zeros((1, 3)), 0.5).sum(), logits)[0]
    assert gradient[0, 2] == 0
    assert gradient[0, 0] > 0 > gradient[0, 1]
    assert torch.isfinite(gradient).all()


def test_arms_that_are_all_alike_teach_nothing() -> None:
    logits = torch.randn((4, 3), requires_grad=True)
    gradient = torch.autograd.grad(
        objective(logits, torch.full((4, 3), 0.7), torch.zeros((4, 3)), 0.1).sum(), logits
    )[0]
    assert gradient.abs().max() < 1e-6


def test_it_learns_what_no_linear_model_can() -> None:
    contexts, quality = exclusive_or(600)
    trained = train_policy(Lessons.full(("a", "b"), contexts, quality), QUICK)
    new, real = exclusive_or(200, 1)
    chosen = trained.quality(new).argmax(axis=1)
    assert real[np.arange(200), chosen].mean() > 0.8
    design = np.column_stack((np.ones(600), contexts))
    linear = np.column_stack((np.ones(200), new)) @ np.linalg.lstsq(design, quality, rcond=None)[0]
    assert real[np.arange(200), linear.argmax(axis=1)].mean() < 0.7


def test_the_same_seed_gives_the_same_network() -> None:
    contexts, quality = exclusive_or(200)
    one, two = (train_policy(Lessons.full(("a", "b"), contexts, quality), QUICK) for _ in range(2))
    for mine, yours in zip(one.layers, two.layers, strict=True):
        assert all((a == b).all() for a, b in zip(mine, yours, strict=True))


def test_the_router_serves_the_same_predictions(tmp_path: Path) -> None:
    contexts, quality = exclusive_or(200)
    trained = train_policy(Lessons.full(("a", "b"), contexts, quality), QUICK)
    trained.write(tmp_path / "net.npz")
    policy = make("neural", {"path": str(tmp_path / "net.npz")})
    for row in contexts[:5]:
        whole = np.tile(np.concatenate(([1.0], row, np.zeros(4))), (2, 1))
        view = View(("a", "b"), whole, np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2), 0)
        scores, _, _ = policy.propose(view, np.random.default_rng(0))
        assert scores == pytest.approx(trained.quality(row[None])[0])


def test_networks_are_averaged_in_their_logits() -> None:
    rng = np.random.default_rng(0)
    members = [
        [(rng.normal(size=(3, 4)), rng.normal(size=4)), (rng.normal(size=(4, 2)), rng.normal(size=2))]
        for _ in range(3)
    ]
    x = rng.normal(size=(5, 3))
    apart = [np.maximum(x @ w + b, 0) @ v + c for (w, b), (v, c) in members]
    (w, b), (v, c) = merged(members)
    assert np.maximum(x @ w + b, 0) @ v + c == pytest.approx(np.mean(apart, axis=0))


def test_a_price_moves_the_choice() -> None:
    contexts = np.random.default_rng(0).normal(size=(400, 3)) * 0.3
    quality = np.tile([0.8, 0.7], (400, 1))
    free = train_policy(Lessons.full(("dear", "cheap"), contexts, quality), QUICK)
    assert free.quality(contexts).argmax(axis=1).mean() < 0.1
    # the price is paid by the router where it serves; the quality stays a quality
    priced = train_policy(Lessons.full(("dear", "cheap"), contexts, quality, np.tile([0.3, 0.0], (400, 1))), QUICK)
    assert priced.quality(contexts).mean(axis=0) == pytest.approx([0.8, 0.7], abs=0.08)


def test_lessons_of_a_log_are_right_on_average_for_arms_that_were_not_drawn() -> None:
    rng = np.random.default_rng(0)
    contexts, quality = exclusive_or(4000)
    propensities = np.tile([0.8, 0.2], (4000, 1))
    chosen = (rng.random(4000) < 0.2).astype(np.intp)
    seen = (rng.random(4000) < quality[np.arange(4000), chosen]).astype(np.float64)
    log = Logged(("a", "b"), contexts, chosen, propensities, seen, np.full(4000, np.nan))
    lessons = lessons_of(log, np.zeros((4000, 2)))
    assert np.isnan(lessons.seen).sum() == 4000
    for same in (True, False):
        rows = (contexts[:, 0] * contexts[:, 1] > 0) == same
        assert lessons.worth[rows].mean(axis=0) == pytest.approx(quality[rows].mean(axis=0), abs=0.06)


def filled(store: Store, count: int, *, better: bool = True) -> Router:
    """A router with a log of uniform draws; which arm is good is what no linear model can tell, or chance."""
    contexts, quality = exclusive_or(count)
    rng = np.random.default_rng(5)
    router = Router([Arm("a"), Arm("b")], "linucb", store=store, name="r")
    logger = Router([Arm("a"), Arm("b")], "random", store=store, name="r")
    for x, q in zip(contexts, quality, strict=True):
        decision = logger.decide(features=x)
        chance = q[int(decision.arm == "b")] if better else 0.5
        logger.learn(decision.id, Outcome(quality=float(rng.random() < chance)))
    store.flush()
    return router


def test_a_network_that_is_better_goes_live_and_comes_back(store: Store, tmp_path: Path) -> None:
    router = filled(store, 1500)
    trained = train_router(router, tmp_path, recipe=QUICK)
    assert trained.decisions == 750
    assert trained.prediction < trained.usual
    trial = promote_router(router, trained)
    assert trial.verdict.passed, trial.verdict.reasons
    assert router.policy.name == "neural"
    # another process goes on with it
    assert Router([Arm("a"), Arm("b")], "linucb", store=store, name="r").policy.name == "neural"
    router.rollback()
    assert router.policy.name == "linucb"


def test_a_forest_goes_the_same_way_without_torch(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pointwork.training.policies", None)
    router = filled(store, 1500)
    trained = train_router(router, tmp_path, policy="trees", seed=3)
    assert (trained.policy, trained.decisions, sum(trained.seen.values())) == ("trees", 750, 750)
    assert trained.prediction < trained.usual
    again = train_router(router, tmp_path, policy="trees", seed=3)
    assert again.path == trained.path  # named by what is in it
    assert train_router(router, tmp_path, policy="trees", seed=4).path != trained.path
    assert len(list(tmp_path.glob("*.npz"))) == 2
    assert promote_router(router, trained).verdict.passed
    assert Router([Arm("a"), Arm("b")], "linucb", store=store, name="r").policy.name == "trees"
    router.rollback()


@pytest.mark.parametrize("policy", ["neural", "trees"])
def test_what_is_no_better_stays_outside(store: Store, tmp_path: Path, policy: Learnt) -> None:
    router = filled(store, 800, better=False)
    trial = promote_router(router, train_router(router, tmp_path, policy=policy, recipe=QUICK))
    assert not trial.verdict.passed
    assert router.policy.name == "linucb"


def test_it_learns_from_the_older_part_only(store: Store, tmp_path: Path) -> None:
    router = filled(store, 400)
    assert train_router(router, tmp_path, train=0.25, recipe=Recipe(networks=1, epochs=1)).decisions == 100
    with pytest.raises(UsageError, match="too few"):
        train_router(router, tmp_path, train=0.1)
    with pytest.raises(UsageError, match="no store"):
        Router([Arm("a")]).lessons()
