"""Saving and loading: the same next decisions; damage is found."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.embedding import HashingEmbedder
from pointwork.errors import StoreError, UsageError
from pointwork.router import Arm, Outcome, Router, Settings

ARMS = [Arm("small", usd_per_mtok=(0.1, 0.4), description="sums"), Arm("large", usd_per_mtok=(3, 15), tags=("x",))]


def lived(seed: int, features: bool, budget: float | None) -> tuple[Router, list[str]]:
    router = Router(ARMS, budget_per_request=budget, seed=seed, settings=Settings(gamma=0.99), name="kept")
    rng, late = np.random.default_rng(seed), list[str]()
    for i in range(80):
        decision = router.decide(features=rng.normal(size=3)) if features else router.decide(f"text {i}")
        if i % 7 == 0:
            late.append(decision.id)
        elif i % 11 == 0:
            router.learn(decision.id, Outcome(error="time-out", seconds=3.0))
        else:
            router.learn(decision.id, Outcome(float(rng.random()), float(rng.random()) * 1e-3))
    return router, late


@given(st.integers(0, 50), st.booleans(), st.sampled_from([None, 1e-4, 1e-2]))
@settings(max_examples=12, deadline=None)
def test_a_loaded_router_decides_as_the_saved_one_would(
    tmp_path_factory: pytest.TempPathFactory, seed: int, features: bool, budget: float | None
):
    router, late = lived(seed, features, budget)
    path = tmp_path_factory.mktemp("router") / "router.npz"
    router.save(path)
    again = Router.load(path)
    assert (again.name, again.clock) == ("kept", 80)
    for i in range(30):
        given = {"features": [0.1 * i, 1.0, -1.0]} if features else {"text": f"new {i}"}
        mine, yours = router.decide(**given), again.decide(**given)  # pyright: ignore[reportArgumentType]
        assert (mine.arm, mine.propensities) == (yours.arm, yours.propensities)
        assert mine.scores == yours.scores
        if i < len(late):  # decisions from before the file
            for one in (router, again):
                one.learn(late[i], Outcome(quality=0.3, usd=2e-4))


@pytest.mark.parametrize("mode", [{"quality_floor": 0.0}, {"cost_weight": 1e3}, {"max_usd": 1e-3}])
def test_what_a_router_asks_of_every_request_is_kept(tmp_path: Path, mode: dict[str, Any]):
    """A cap that is gone after a restart is no cap."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    router = Router(ARMS, store=url, name="kept", settings=Settings(exploration=0.0), **mode)
    for _ in range(40):
        for arm, quality in (("small", 0.2), ("large", 0.9)):
            router.learn(router.decide("text", [arm]).id, Outcome(quality, 1e-4 if arm == "small" else 5e-3))
    assert router.decide("text").propensities["small"] == 1.0
    router.save(tmp_path / "router.npz")
    assert Router.load(tmp_path / "router.npz").decide("text").propensities["small"] == 1.0
    router.checkpoint()
    assert Router.of_log(url, "kept").decide("text").propensities["small"] == 1.0


@pytest.mark.parametrize("number", [Decimal, Fraction, np.float32, np.float64])
def test_numbers_of_any_kind_are_learnt_with_and_kept(tmp_path: Path, number: Callable[[float], Any]):
    arms = [Arm("small", usd_per_mtok=(0.1, 0.4), expected_seconds=number(0.5)), ARMS[1]]
    alpha = {"policy_options": {"alpha": number(0.25)}}
    for more in ({"budget_per_request": number(0.5)}, {"cost_weight": number(0.5)}, {"quality_floor": number(0.5)}):
        router = Router(arms, **alpha, max_usd=number(0.5), **more)
        for _ in range(3):
            router.learn(router.decide("text").id, Outcome(1.0, number(0.5), number(0.5)))
        router.save(tmp_path / "router.npz")
        again = Router.load(tmp_path / "router.npz")
        assert again.policy.version == "linucb-2(alpha=0.25)"
        assert again.decide("text").propensities == router.decide("text").propensities


@pytest.mark.parametrize("wrong", [np.array([1.0, 2.0]), 10**400, "1", math.nan])
def test_a_budget_or_a_time_that_is_no_number_is_refused_in_words(wrong: Any):
    with pytest.raises(UsageError, match="budget_per_request"):
        Router(ARMS, budget_per_request=wrong)
    if not isinstance(wrong, str):
        with pytest.raises(UsageError, match="expected_seconds"):
            Arm("a", expected_seconds=wrong)


def test_arms_that_were_never_chosen_take_little_room(tmp_path: Path):
    arms = [Arm(f"a{n}") for n in range(12)]
    router = Router(arms, seed=0)
    router.decide("How long is the jetty?")
    router.save(tmp_path / "router.npz")
    with np.load(tmp_path / "router.npz", allow_pickle=False) as file:
        whole = sum(file[name].nbytes for name in file.files)
    assert (tmp_path / "router.npz").stat().st_size < whole / 5


def test_the_file_is_neither_pickle_nor_half_written(tmp_path: Path):
    router, _ = lived(0, False, None)
    path = tmp_path / "router.npz"
    router.save(path)
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)
    assert [p.name for p in tmp_path.iterdir()] == ["router.npz"]
    with pytest.raises(UsageError, match="can not be written"):
        router.save(tmp_path / "missing" / "router.npz")


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_file_is_refused_in_words(tmp_path: Path, seed: int):
    router, _ = lived(1, False, 1e-3)
    path = tmp_path / "router.npz"
    router.save(path)
    whole, rng = path.read_bytes(), np.random.default_rng(seed)
    broken = bytearray(whole)
    if seed % 3 == 0:
        broken = broken[: int(rng.integers(0, len(whole) - 1))]
    elif seed % 3 == 1:
        start = int(rng.integers(200, len(whole) - 400))
        broken[start : start + 200] = bytes(200 - len(range(0)))
        broken[start + 100] ^= 0xFF
    else:
        broken = bytearray(rng.bytes(500))
    path.write_bytes(broken)
    if bytes(broken) == whole:
        return
    with pytest.raises(StoreError, match="router.npz"):
        Router.load(path)


@pytest.mark.parametrize("newer", ["ledger/prices", "ledger/guessed", "estimates/told", "regression.assumed"])
def test_a_state_of_an_older_package_is_read(tmp_path: Path, newer: str):
    router, _ = lived(1, False, 1e-3)
    path = tmp_path / "router.npz"
    router.save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if not name.endswith(newer)}
        assert len(arrays) == len(file.files) - 1
    np.savez_compressed(path, **arrays)
    again = Router.load(path)
    assert again.clock == router.clock
    for decision_id in again._core.ledger.by_id:  # pyright: ignore[reportPrivateUsage]
        again.learn(decision_id, Outcome(usd=1e-4))


def test_nobody_is_advised_to_unpickle_what_is_no_router(tmp_path: Path):
    (tmp_path / "router.npz").write_bytes(b"something else")
    with pytest.raises(StoreError, match="not a saved router") as refused:
        Router.load(tmp_path / "router.npz")
    assert "pickle" not in str(refused.value)


def test_a_missing_file_and_other_text_features_are_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="no saved router"):
        Router.load(tmp_path / "nothing.npz")
    router, _ = lived(1, False, None)
    router.save(tmp_path / "router.npz")
    with pytest.raises(UsageError, match="static128-1"):
        Router.load(tmp_path / "router.npz", embedder=HashingEmbedder(16))


def test_an_empty_router_can_be_kept(tmp_path: Path):
    Router(ARMS, seed=4).save(tmp_path / "router.npz")
    again = Router.load(tmp_path / "router.npz")
    assert again.decide("t").propensities == Router(ARMS, seed=4).decide("t").propensities
    assert again.arms == tuple(ARMS)
