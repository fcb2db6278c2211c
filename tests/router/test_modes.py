"""Quality floor, trade-off weight, cap; changes of price and quality; networks served in numpy."""

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from pointwork.cli.app import run_app
from pointwork.errors import UsageError
from pointwork.router import Arm, Outcome, Router
from pointwork.router.policies.neural import Neural, write_network
from pointwork.store import Store, tables

PRICES = {"small": (1e-4, 0.5), "middle": (5e-4, 0.75), "large": (4e-3, 0.95)}
ARMS = [Arm(name, usd_per_mtok=(usd * 1e3, usd * 1e3)) for name, (usd, _) in PRICES.items()]


def run(router: Router, rounds: int, seed: int = 0, **ask: float) -> list[str]:
    rng, chosen = np.random.default_rng(seed), list[str]()
    for _ in range(rounds):
        decision = router.decide(features=[1.0], **ask)  # pyright: ignore[reportArgumentType]
        usd, good = PRICES[decision.arm]
        router.learn(decision.id, Outcome(float(rng.random() < good), usd * float(rng.lognormal(0, 0.2)), 1.0))
        chosen.append(decision.arm)
    return chosen


@pytest.mark.parametrize(("floor", "arm"), [(0.3, "small"), (0.65, "middle"), (0.85, "large")])
def test_a_quality_floor_takes_the_cheapest_that_reaches_it(floor: float, arm: str):
    chosen = run(Router(ARMS, quality_floor=floor, seed=1), 800)
    assert chosen[-200:].count(arm) > 180


def test_a_floor_that_nobody_reaches_takes_the_best():
    router = Router([arm for arm in ARMS if arm.name != "large"], quality_floor=0.99)
    assert run(router, 800)[-200:].count("middle") > 150


def test_the_weight_of_a_request_trades_quality_for_money():
    router = Router(ARMS, cost_weight=0.5, seed=2)
    run(router, 600)
    free, dear = (router.decide(features=[1.0], cost_weight=weight) for weight in (0.0, 50.0))
    assert free.propensities["large"] > 0.9
    assert dear.propensities["small"] > 0.9
    assert float(dear.scores["large"]["price"]) > float(dear.scores["small"]["price"])
    assert router.decide(features=[1.0], quality_floor=0.65).propensities["middle"] > 0.9


def test_arms_that_all_cost_the_same_have_no_price_to_trade():
    router = Router([Arm("a", (1, 1)), Arm("b", (1, 1))], cost_weight=5.0)
    for _ in range(60):
        router.learn(router.decide(features=[1.0]).id, Outcome(0.5, 1e-3))
    assert all(abs(float(row["price"])) < 10 for row in router.decide(features=[1.0]).scores.values())


def test_a_cap_is_never_passed_and_the_cheapest_stays():
    router = Router(ARMS, max_usd=1e-3, seed=3)
    assert "large" not in run(router, 300)[20:]
    decision = router.decide(features=[1.0], max_usd=1e-9)
    assert decision.propensities["small"] == pytest.approx(1.0)
    assert sum(decision.propensities.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [{"quality_floor": 1.5}, {"cost_weight": -1.0}, {"max_usd": float("nan")}])
def test_modes_are_checked(wrong: dict[str, float]):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Router(ARMS, **wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="not both"):
        Router(ARMS, quality_floor=0.5, cost_weight=1.0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_tenth_of_the_price_is_noticed(seed: int):
    router = Router(ARMS, budget_per_request=6e-4, seed=seed)
    run(router, 600, seed)
    prices = dict(PRICES)
    try:
        PRICES["large"] = (4e-4, 0.95)
        chosen = run(router, 400, seed + 10)
    finally:
        PRICES.update(prices)
    assert chosen[-150:].count("large") > 130


def test_a_network_is_served_in_numpy(tmp_path: Path):
    path = tmp_path / "network.npz"
    layers = [(np.array([[1.0, -1.0]]), np.zeros(2)), (np.array([[4.0, -4.0], [-4.0, 4.0]]), np.zeros(2))]
    write_network(path, layers, ["small", "large"])
    router = Router(ARMS, "neural", policy_options={"path": str(path)})
    assert router.decide(features=[1.0]).propensities["small"] > 0.9
    assert router.decide(features=[-1.0]).propensities["large"] > 0.9
    assert Neural(str(path)).version != Neural().version
    router.save(tmp_path / "router.npz")
    again = Router.load(tmp_path / "router.npz")
    assert again.decide(features=[1.0]).propensities["small"] > 0.9
    with pytest.raises(UsageError, match="reads 1 features"):
        Router(ARMS, "neural", policy_options={"path": str(path)}).decide(features=[1.0, 2.0])
    write_network(path, layers, ["only one"])
    with pytest.raises(UsageError, match="2 outputs, 1 arms"):
        Neural(str(path))
    path.write_bytes(b"no network")
    with pytest.raises(UsageError, match="does not hold a network"):
        Neural(str(path))


def test_the_command_that_explains_says_what_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = Store(url)
    decision = Router(ARMS, store=store, name="team").decide("a text", quality_floor=0.5, max_usd=1e-3)
    store.flush()
    assert run_app(["--store", url, "router", "explain", decision.id]) == 0
    assert "held: quality_floor 0.5, max_usd 0.001" in capsys.readouterr().out


def asked(rows: list[dict[str, object]]) -> dict[str, object]:
    names = ("quality_floor", "cost_weight", "max_usd")
    found = [{name: row[name] for name in names if name in row} for row in rows]
    assert all(one == found[0] for one in found)
    return found[0]


@pytest.mark.parametrize("kept", [True, False])
def test_what_a_request_asked_for_is_explained(tmp_path: Path, kept: bool):
    url = f"sqlite:///{tmp_path / 'store.db'}" if kept else None
    router = Router(ARMS, max_usd=1.0, store=url)
    plain = router.decide("a text")
    floor = router.decide("a text", quality_floor=0.5, max_usd=np.float64(1e-3))
    weight = router.decide("a text", cost_weight=2, remaining=0.5)
    for _ in range(2):
        assert asked(router.explain(plain.id)) == {"max_usd": 1.0}
        assert asked(router.explain(floor.id)) == {"quality_floor": 0.5, "max_usd": 1e-3}
        assert asked(router.explain(weight.id)) == {"cost_weight": 2.0, "max_usd": 1.0}
        assert asked(router.explain("a text")) == {"max_usd": 1.0}
        if url is None:
            return
        router = Router(ARMS, max_usd=1.0, store=Store(url))
    rows = Store(str(url)).rows(select(tables.decisions.c.context).order_by(tables.decisions.c.clock))
    asks = [row["context"].get("ask") for row in rows]
    assert asks == [None, {"quality_floor": 0.5, "max_usd": 1e-3}, {"cost_weight": 2.0}]  # its own, no other
