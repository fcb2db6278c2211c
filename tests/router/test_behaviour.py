"""What the router is for: on made-up and real data, it learns, does not lock in, and adapts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pointwork.router import Arm, Outcome, Router, Settings

Array = npt.NDArray[np.float64]
SEEDS = (0, 1, 2)


def regret(router: Router, contexts: Array, quality: Array, rng: np.random.Generator) -> float:
    """Mean regret per request of a router whose arms are named by number; outcomes are 0 or 1."""
    total = 0.0
    for context, means in zip(contexts, quality, strict=True):
        decision = router.decide(features=context)
        arm = int(decision.arm)
        router.learn(decision.id, Outcome(quality=float(rng.random() < means[arm])))
        total += float(means.max() - means[arm])
    return total / len(contexts)


def arms(count: int) -> list[Arm]:
    return [Arm(str(i)) for i in range(count)]


@pytest.mark.parametrize("seed", SEEDS)
def test_contexts_are_used(seed: int):
    """Each arm is good at something: better than random and than the best fixed arm."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(2500, 6))
    quality = 1 / (1 + np.exp(-2.5 * contexts @ rng.normal(size=(6, 4))))
    learnt = regret(Router(arms(4), seed=seed), contexts, quality, rng)
    chance = regret(Router(arms(4), "random", seed=seed), contexts, quality, rng)
    best_fixed = float((quality.max(axis=1) - quality[:, quality.mean(axis=0).argmax()]).mean())
    assert learnt < 0.3 * chance
    assert learnt < 0.5 * best_fixed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.2])
def test_it_does_not_lock_on_its_first_arm(seed: int, alpha: float):
    """All rewards above the prior and next to no bonus: without a floor, the first arm drawn would stay."""
    quality = np.tile([0.6, 0.65, 0.95, 0.7], (3000, 1))
    contexts = np.ones((3000, 2))
    rng = np.random.default_rng(seed)
    router = Router(arms(4), seed=seed, policy_options={"alpha": alpha})
    regret(router, contexts[:2000], quality[:2000], rng)
    assert regret(router, contexts[2000:], quality[2000:], rng) < 0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_an_arm_that_gets_worse_is_left_and_one_that_gets_better_is_found(seed: int):
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(2000, 4))
    before, after = np.array([0.9, 0.6, 0.3]), np.array([0.3, 0.6, 0.9])
    router = Router(arms(3), seed=seed, settings=Settings(exploration=0.05))
    regret(router, contexts[:600], np.tile(before, (600, 1)), rng)
    regret(router, contexts[600:1400], np.tile(after, (800, 1)), rng)
    assert regret(router, contexts[1400:], np.tile(after, (600, 1)), rng) < 0.12


@pytest.mark.parametrize("seed", SEEDS)
def test_an_arm_that_dies_costs_little(seed: int):
    rng = np.random.default_rng(seed)
    router, wasted, good = Router(arms(3), seed=seed), 0, list[float]()
    for i in range(1000):
        decision = router.decide("what is the sum of the column")
        if decision.arm == "0" and i >= 400:
            wasted += 1
            router.learn(decision.id, Outcome(error="connection refused"))
        else:
            quality = float(rng.random() < {"0": 0.95, "1": 0.8, "2": 0.3}[decision.arm])
            router.learn(decision.id, Outcome(quality=quality))
            good.append(float(decision.arm == "1"))
    assert wasted <= 5
    assert np.mean(good[-300:]) > 0.9


@pytest.mark.parametrize("seed", SEEDS)
def test_a_new_arm_is_tried_and_taken_up(seed: int):
    rng = np.random.default_rng(seed)
    router = Router(arms(2), seed=seed)
    quality = np.tile([0.5, 0.6, 0.95], (1000, 1))
    contexts = rng.normal(size=(1000, 3))
    regret(router, contexts[:400], quality[:400, :2], rng)
    router.add_arm(Arm("2"))
    regret(router, contexts[400:700], quality[400:700], rng)
    assert regret(router, contexts[700:], quality[700:], rng) < 0.06


@pytest.mark.parametrize("seed", SEEDS)
def test_kinds_of_text_are_told_apart(seed: int):
    rng = np.random.default_rng(seed)
    kinds = {
        "calculator": "What is {} times {}?",
        "tables": "Which row of the table sales{} has the most items, counting column {}?",
        "files": "Find the function parse_{} in the source folder, it calls main_{}()",
    }
    names = list(kinds)
    router, hits = Router([Arm(name) for name in names], seed=seed), list[bool]()
    for _ in range(600):
        kind = names[rng.integers(3)]
        decision = router.decide(kinds[kind].format(*rng.integers(1, 999, 2)))
        hits.append(decision.arm == kind)
        router.learn(decision.id, Outcome(quality=float(rng.random() < (0.9 if hits[-1] else 0.2))))
    assert np.mean(hits[-300:]) > 0.9


def digits() -> tuple[Array, npt.NDArray[np.intp]]:
    """scikit-learn's handwritten digits, centred: (1797, 64) and (1797,)."""
    from sklearn import datasets  # pyright: ignore[reportMissingTypeStubs]

    load: Callable[..., Any] = datasets.load_digits  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    pixels, labels = load(return_X_y=True)
    centred = np.asarray(pixels, np.float64) / 16
    centred -= centred.mean(axis=0)
    return centred / np.linalg.norm(centred, axis=1).mean(), np.asarray(labels, np.intp)


@pytest.mark.parametrize("seed", SEEDS)
def test_digits(seed: int):
    """Ten arms, reward 1 for the right digit. A plain LinUCB has 28 % of the uniform policy's regret."""
    contexts, labels = digits()
    order = np.random.default_rng(seed).permutation(len(labels))
    quality = np.eye(10)[labels[order]]
    share = regret(Router(arms(10), seed=seed), contexts[order], quality, np.random.default_rng(seed)) / 0.9
    assert share < 0.27
