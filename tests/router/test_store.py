"""The store as the one record: rows, other processes, going on."""

import math
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import func, select

from pointwork.embedding import HashingEmbedder
from pointwork.errors import StoreError, UsageError
from pointwork.router import Arm, Outcome, Router, Settings
from pointwork.router.core import Core
from pointwork.router.log import Log
from pointwork.router.regression import LEVEL
from pointwork.store import Store, tables

ARMS = [Arm("small", usd_per_mtok=(0.1, 0.4)), Arm("large", usd_per_mtok=(3, 15))]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.db'}"


def core_of(router: Router) -> Core:
    return router._core  # pyright: ignore[reportPrivateUsage]


def opened(url: str, **options: Any) -> Router:
    """A router as another process would open it: with a ``Store`` of its own."""
    return Router(ARMS, budget_per_request=1e-3, store=Store(url), settings=Settings(gamma=0.99), **options)


def flush(router: Router) -> None:
    link = router._link  # pyright: ignore[reportPrivateUsage]
    assert link is not None
    link.log.store.flush()


def live(router: Router, rounds: int, seed: int = 0) -> list[str]:
    """Decisions, outcomes late and in parts, failures, corrections."""
    rng, ids = np.random.default_rng(seed), list[str]()
    for i in range(rounds):
        ids.append(router.decide(f"text {i} of {seed}", run_id="r1", subtask=str(i)).id)
        if i % 9 == 4:
            router.learn(ids[-1], Outcome(error="refused"))
        elif i % 3:
            router.learn(ids[-1], Outcome(usd=float(rng.random()) * 2e-3, seconds=float(rng.random())))
        if i % 4 == 3:
            router.learn(ids[i - 3], Outcome(quality=float(rng.random())), source="judge")
        if i % 10 == 9:
            router.learn(ids[i - 6], Outcome(quality=1.0), source="feedback")
    return ids


def assert_close(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    for name in set(one) - {"regression.updates", "regression.next"}:
        np.testing.assert_allclose(one[name], other[name], atol=1e-8, err_msg=name)


def assert_learnt_alike(router: Router, again: Router) -> None:
    mine, yours = core_of(router), core_of(again)
    assert mine.clock == yours.clock
    for core in (mine, yours):
        core.estimates.refresh(core.clock)
    states = [
        {k: v for k, v in core.estimates.state().items() if k not in ("noise", "usual")} for core in (mine, yours)
    ]
    assert_close(*states)


def assert_same(one: Router, other: Router) -> None:
    assert_learnt_alike(one, other)
    mine, yours = core_of(one), core_of(other)
    assert_close(mine.health.state(), yours.health.state())
    np.testing.assert_allclose(mine.drift.sums, yours.drift.sums, atol=1e-9)
    assert mine.pacer.state() == pytest.approx(yours.pacer.state(), abs=1e-9)


def test_rows_hold_all_that_was_known(url: str):
    store = Store(url)
    router = Router(ARMS, store=store, name="main")
    decision = router.decide("count the rows", run_id="r1", subtask="s1", remaining=0.5)
    router.learn(decision.id, Outcome(quality=0.5, usd=1e-4, seconds=2.0), source="check")
    row = store.row(select(tables.decisions))
    assert row is not None
    assert (row["id"], row["run_id"], row["subtask"], row["router"]) == (decision.id, "r1", "s1", "main")
    assert (row["clock"], row["policy"], row["text"]) == (0, "linucb", "count the rows")
    assert row["propensities"] == decision.propensities
    assert row["candidates"] == ["small", "large"]
    assert row["scores"]["large"]["mean"] == decision.scores["large"]["mean"]
    assert set(row["context"]) == {"text", "arms"}
    outcome = store.row(select(tables.outcomes))
    assert outcome is not None
    assert (outcome["decision_id"], outcome["quality"], outcome["source"]) == (decision.id, 0.5, "check")


def test_what_the_store_can_not_take_is_neither_decided_nor_learnt(url: str) -> None:
    router = opened(url)
    decision = router.decide("t")
    with pytest.raises(StoreError, match="source"):
        router.learn(decision.id, Outcome(quality=1.0), source="s" * 65)
    router.learn(decision.id, Outcome(quality=1.0), source="judge")
    with pytest.raises(StoreError, match="characters"):
        router.decide("t", run_id="r" * 500)
    with pytest.raises(StoreError, match="characters"):
        router.decide("t", subtask="s" * 65)
    assert router.clock == 1
    flush(router)
    assert opened(url).show()[0]["graded"] + opened(url).show()[1]["graded"] == 1
    with pytest.raises(StoreError, match="policy_version"):
        Router(ARMS, "static", policy_options={"arm": "a" * 200}, store=url).decide("t")
    with pytest.raises(StoreError, match="129 characters"):
        opened(url, name="n" * 129)
    with pytest.raises(UsageError, match="257 characters"):
        Arm("a" * 257)


def test_an_outcome_said_twice_is_one_row(url: str):
    store = Store(url)
    router = Router(ARMS, store=store)
    decision = router.decide("t")
    for _ in range(3):
        router.learn(decision.id, Outcome(quality=0.5))
    router.learn(decision.id, Outcome(quality=0.7))
    count = store.row(select(func.count().label("n")).select_from(tables.outcomes))
    assert count == {"n": 2}


def test_a_user_who_agrees_with_the_check_is_heard(url: str):
    """Training trusts feedback more than checks, so a word that changes no estimate is kept too, once."""
    router = opened(url)
    decision = router.decide("one")
    for source in ("check", "feedback", "feedback"):
        router.learn(decision.id, Outcome(quality=1.0), source=source)
    router.learn(decision.id, Outcome(usd=1e-4), source="caller")
    flush(router)
    rows = Store(url).rows(select(tables.outcomes).order_by(tables.outcomes.c.id))
    assert [(row["source"], row["quality"]) for row in rows] == [("check", 1), ("feedback", 1), ("caller", None)]


def test_replaying_the_log_gives_the_live_state(url: str):
    router = opened(url)
    live(router, 60)
    flush(router)
    again = opened(url)
    assert_same(again, router)
    for i in range(10):
        mine, yours = router.decide(f"next {i}"), again.decide(f"next {i}")
        assert mine.arm == yours.arm
        assert mine.propensities == pytest.approx(yours.propensities, abs=1e-9)


def test_a_router_goes_on_from_the_live_version_and_what_came_after(url: str):
    router = opened(url)
    ids = live(router, 40)
    assert router.checkpoint() == 2  # the first was written when the router was new
    live(router, 25, seed=1)
    router.learn(ids[0], Outcome(quality=0.123))  # of before the version, corrected after it
    router.learn(ids[6], Outcome(usd=9e-3))
    flush(router)
    again = opened(url)
    assert_same(again, router)
    assert again.checkpoint() == 3
    versions = Store(url).rows(select(tables.router_versions).order_by(tables.router_versions.c.version))
    assert [version["live"] for version in versions] == [False, False, True]
    assert [version["parent_id"] for version in versions[1:]] == [version["id"] for version in versions[:2]]
    assert_same(opened(url), router)


def test_a_version_is_kept_only_if_there_is_something_new(url: str):
    """Each command that looked at a team wrote a version of 14 MB, eight of which are kept."""

    def versions() -> int:
        return len(Store(url).rows(select(tables.router_versions.c.version)))

    router = opened(url)
    ids = live(router, 40)
    router.keep()
    assert versions() == 2
    router.keep()
    for _ in range(3):
        again = opened(url)
        again.explain("text")
        again.keep()
    assert versions() == 2
    router.learn(ids[0], Outcome(quality=0.123))
    router.keep()
    assert versions() == 3
    opened(url).keep()
    assert versions() == 3
    again = opened(url)
    again.teach({"small": Outcome(quality=1.0)}, "text")
    again.keep()
    assert versions() == 4
    opened(url, policy="thompson").keep()
    assert versions() == 5
    assert_same(opened(url, policy="thompson"), again)


def test_an_outcome_reaches_a_decision_of_another_process(url: str):
    one = opened(url)
    decision = one.decide("t")
    flush(one)
    other = opened(url)
    late = one.decide("later")
    flush(one)
    other.learn(decision.id, Outcome(quality=1.0, usd=1e-4))
    other.learn(late.id, Outcome(quality=0.0))
    other.learn(late.id, Outcome(quality=0.25))
    flush(other)
    one.sync()
    assert_learnt_alike(one, other)  # breakers and means see one final outcome, not its history
    assert one.sync() == 0
    with pytest.raises(UsageError, match="or in the store"):
        other.learn("dec" + "0" * 28, Outcome(quality=1.0))


def test_an_outcome_without_a_quality_asks_the_store_for_none(monkeypatch: pytest.MonkeyPatch, url: str):
    """It is never news, so nobody has to look."""
    router = opened(url)
    decision = router.decide("t")
    router.learn(decision.id, Outcome(usd=1e-4))
    asked: list[str] = []

    def outcomes(_: Log, decision_id: str) -> list[dict[str, Any]]:
        asked.append(decision_id)
        return []

    monkeypatch.setattr(Log, "outcomes", outcomes)
    router.learn(decision.id, Outcome(usd=1e-4))
    assert not asked
    router.learn(decision.id, Outcome(quality=1.0))
    router.learn(decision.id, Outcome(quality=1.0))
    assert asked == [decision.id]


def test_what_is_forgotten_in_memory_can_still_be_corrected(url: str):
    small = opened(url)
    core_of(small).ledger.most = 20
    whole = Router(ARMS, budget_per_request=1e-3, settings=Settings(gamma=0.99))
    pairs = [(small.decide(f"t{i}").id, whole.decide(f"t{i}").id) for i in range(15)]
    for mine, yours in pairs:
        small.learn(mine, Outcome(quality=0.2))
        whole.learn(yours, Outcome(quality=0.2))
    for i in range(30):
        small.decide(f"more {i}")
        whole.decide(f"more {i}")
    assert core_of(small).ledger.get(pairs[0][0]) is None
    small.learn(pairs[0][0], Outcome(quality=0.9))
    whole.learn(pairs[0][1], Outcome(quality=0.9))
    for router in (small, whole):
        core_of(router).estimates.refresh(45)
    for name in ("gram", "moments"):
        mine, yours = (getattr(core_of(router).estimates.regression, name) for router in (small, whole))
        np.testing.assert_allclose(mine, yours, atol=1e-9)


def test_routers_of_other_names_do_not_meet(url: str):
    store = Store(url)
    one, other = (Router(ARMS, store=store, name=name) for name in ("one", "other"))
    decision = one.decide("t")
    one.learn(decision.id, Outcome(quality=1.0))
    other.decide("u")
    assert other.sync() == 0
    with pytest.raises(UsageError, match="router 'other' has no decision"):
        other.learn(decision.id, Outcome(quality=0.0))


def test_arms_added_and_retired_are_remembered(url: str):
    router = opened(url)
    live(router, 20)
    router.add_arm(Arm("new"))
    router.retire_arm("small")
    decision = router.decide("t")
    flush(router)
    again = Router([Arm("large", usd_per_mtok=(3, 15)), Arm("new")], store=Store(url))
    assert [arm.name for arm in again.arms] == ["large", "new"]
    assert set(again.decide("t").propensities) == set(decision.propensities)
    back = Router([*ARMS, Arm("newest")], store=Store(url))
    assert [arm.name for arm in back.arms] == ["small", "large", "newest"]


def test_new_text_features_learn_from_the_logged_texts(url: str):
    router = opened(url)
    live(router, 30)
    router.checkpoint()
    again = opened(url, embedder=HashingEmbedder(16))
    core = core_of(again)
    assert core.clock == 30
    assert core.estimates.regression.dims == core_of(router).estimates.regression.dims - 112
    # every observation has the same bias, so its weight in both is the same
    for one in (core, core_of(router)):
        one.estimates.refresh(30)
    for one in (core, core_of(router)):
        one.estimates.state()  # brings the Gram matrices up to date
    mine, yours = (one.estimates.regression.gram[:, 0, 0, 0] for one in (core, core_of(router)))
    np.testing.assert_allclose(mine, yours, atol=1e-9)


def test_texts_are_read_by_the_table_of_words(url: str):
    # by the table of texts, which is the default elsewhere, it routes worse (docs/memory.md)
    router = opened(url)
    router.decide("a text")
    flush(router)
    rows = Store(url).rows(select(tables.decisions.c.features_version))
    assert [row["features_version"] for row in rows] == ["static128-1+shape1"]


def test_another_ridge_is_taken_over(url: str):
    router = opened(url)
    live(router, 20)
    router.checkpoint()
    again = Router(ARMS, store=Store(url), settings=Settings(gamma=0.99, ridge=5.0))
    regression = core_of(again).estimates.regression
    prior = np.diag([LEVEL, *[5.0] * (regression.dims - 1)])
    grams = regression.state()["gram"]
    for block in (0, 1):
        product = regression.inverse[0, block] @ (grams[0, block] + prior)
        np.testing.assert_allclose(product, np.eye(regression.dims), atol=1e-9)


def test_a_version_needs_a_store():
    with pytest.raises(UsageError, match="no store"):
        Router(ARMS).checkpoint()
    assert Router(ARMS).sync() == 0


def test_importing_the_router_loads_nothing_heavy():
    script = (
        "import sys, pointwork.router;"
        "heavy = ('torch', 'sklearn', 'scipy', 'sqlalchemy', 'litellm', 'langgraph');"
        "print([module for module in heavy if module in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("kept", [True, False])
def test_a_new_price_moves_the_predicted_cost_at_once(url: str, kept: bool):
    router = opened(url)
    for i in range(20):
        router.learn(router.decide(f"text {i}", ["large"]).id, Outcome(quality=0.5, usd=4e-3))
    before = float(router.decide("next").scores["large"]["cost"])
    if kept:
        router.checkpoint()
    flush(router)  # a process that was killed has logged, but kept no version
    cheaper = [ARMS[0], Arm("large", usd_per_mtok=(0.3, 1.5))]
    again = Router(cheaper, store=Store(url), settings=Settings(gamma=0.99))
    assert float(again.decide("next").scores["large"]["cost"]) == pytest.approx(before / 10, rel=0.05)


def cost_of_large(router: Router) -> float:
    return float({row["arm"]: row["cost"] for row in router.explain("text")}["large"])


CHEAPER = [ARMS[0], Arm("large", usd_per_mtok=(0.3, 1.5))]


@pytest.mark.parametrize("early", [20, 40])
def test_what_was_paid_at_the_old_price_says_nothing_against_the_new_one(url: str, early: int):
    """The money was spent before: it is heard of late, or corrected."""
    costs: list[float] = []
    for name, arms in (("changed", CHEAPER), ("as it was", ARMS)):
        router = opened(url, name=name)
        ids = [router.decide("text", ["large"]).id for _ in range(40)]
        for decision_id in ids[:early]:
            router.learn(decision_id, Outcome(quality=0.5, usd=4e-3))
        flush(router)
        again = Router(arms, store=Store(url), name=name, settings=Settings(gamma=0.99), budget_per_request=1e-3)
        for decision_id in ids[20:]:
            again.learn(decision_id, Outcome(quality=0.5, usd=5e-3))
        costs.append(cost_of_large(again))
    assert costs[0] == pytest.approx(costs[1] / 10, rel=0.01)


def test_a_way_back_over_a_change_of_price_knows_what_was_paid_when(url: str):
    """What was logged since was paid at the new price: learnt against the old one it would count twice."""
    router = opened(url)
    for _ in range(20):
        router.learn(router.decide("text", ["large"]).id, Outcome(quality=0.5, usd=4e-3))
    router.checkpoint()
    router = Router(CHEAPER, store=Store(url), settings=Settings(gamma=0.99), budget_per_request=1e-3)
    for _ in range(40):
        router.learn(router.decide("text", ["large"]).id, Outcome(quality=0.5, usd=4e-4))
    flush(router)
    link = router._link  # pyright: ignore[reportPrivateUsage]
    assert link is not None
    link.log.make_live(2, link.log.head()[0])
    again = Router(CHEAPER, store=Store(url), settings=Settings(gamma=0.99), budget_per_request=1e-3)
    assert cost_of_large(again) == pytest.approx(4e-4, rel=0.1)


def told(url: str, name: str, arms: list[Arm]) -> Router:
    return Router(arms, store=Store(url), name=name, settings=Settings(gamma=0.99), budget_per_request=1e-3)


@pytest.mark.parametrize(("before", "after"), [(ARMS, CHEAPER), (CHEAPER, ARMS)])
def test_the_price_of_money_follows_a_new_price_at_once(url: str, before: list[Arm], after: list[Arm]):
    """It is solved for over the last requests, by what they would cost now; what was spent stays spent."""
    router = told(url, "default", before)
    usd = {arm.name: arm.expected_usd for arm in before}
    for number in range(300):
        decision = router.decide(f"text {number}")
        router.learn(decision.id, Outcome(0.9 if decision.arm == "large" else 0.2, usd[decision.arm]))
    router.checkpoint()
    debt = core_of(router).pacer.debt
    again = told(url, "default", after)
    assert core_of(again).pacer.debt == debt
    weights = [float(one.decide("next").scores["large"]["price_weight"]) for one in (router, again)]
    assert [weight > 0 for weight in weights] == [before is ARMS, after is ARMS]


def test_what_is_expected_of_an_arm_that_was_not_tried_counts_in_the_price_of_money(url: str):
    arms = [Arm("small", usd_per_mtok=(0.1, 0.4)), Arm("large", usd_per_mtok=(3, 15), expected_tokens=(8, 2))]
    router = told(url, "default", arms)
    for number in range(300):
        router.decide(f"text {number}")
    router.checkpoint()
    again = told(url, "default", expecting(800, arms))
    weights = [float(one.decide("next").scores["large"]["price_weight"]) for one in (router, again)]
    assert [weight > 0 for weight in weights] == [False, True]


def expecting(tokens: float, arms: list[Arm] = ARMS, seconds: float = 1.0) -> list[Arm]:
    return [replace(arm, expected_tokens=(4 * tokens, tokens), expected_seconds=seconds) for arm in arms]


@pytest.mark.parametrize("kept", [True, False])
def test_another_expectation_does_not_change_what_calls_were_seen_to_cost(url: str, kept: bool):
    """Nobody pays more because more tokens are expected: it is where nothing was seen that it counts."""
    router = opened(url)
    for _ in range(40):
        router.learn(router.decide("text", ["large"]).id, Outcome(quality=0.5, usd=4e-3, seconds=2.0))
    if kept:
        router.checkpoint()
    flush(router)
    again = told(url, router.name, expecting(2000, seconds=9.0))
    rows, before = ({row["arm"]: row for row in one.explain("text")} for one in (again, router))
    for column in ("cost", "latency"):
        assert rows["large"][column] == pytest.approx(before["large"][column], rel=0.15)
    assert rows["small"]["cost"] == pytest.approx((8000 * 0.1 + 2000 * 0.4) / 1e6, rel=0.01)
    assert rows["small"]["latency"] == pytest.approx(9.0, rel=0.01)


def test_what_was_decided_under_another_expectation_was_paid_at_the_same_price(url: str):
    """And a change of both moves costs by the price alone."""
    costs: list[float] = []
    for name, arms in (("both", expecting(2000, CHEAPER)), ("expectation", expecting(2000)), ("as it was", ARMS)):
        router = opened(url, name=name)
        ids = list[str]()
        for number in range(40):
            ids.append(router.decide("text", ["large"]).id)
            if number < 30:
                router.learn(ids[-1], Outcome(quality=0.5, usd=4e-3))
        flush(router)
        again = told(url, name, arms)
        for decision_id in ids[20:]:  # some are corrected, some are heard of late
            again.learn(decision_id, Outcome(quality=0.5, usd=4.1e-3))
        again.checkpoint()
        costs.append(cost_of_large(told(url, name, arms)))
    assert costs[1] == pytest.approx(costs[2], rel=0.1)
    assert costs[0] == pytest.approx(costs[2] / 10, rel=0.1)


def test_another_expectation_is_as_if_it_had_been_the_first(url: str):
    """The sums that the regression keeps are those of a router that had expected so from the start."""
    found: list[Core] = []
    settings = Settings(gamma=0.99, adapt=False)
    for name, first in (("changed", ARMS), ("from the start", expecting(2000))):
        router = Router(first, store=Store(url), name=name, settings=settings)
        rng = np.random.default_rng(0)
        for number in range(60):
            seconds = float(rng.lognormal())
            router.learn(router.decide(f"text {number}", ["large"]).id, Outcome(0.5, seconds * 1e-3, seconds))
        router.checkpoint()
        found.append(core_of(Router(expecting(2000), store=Store(url), name=name, settings=settings)))
    changed, first = (core.estimates.regression for core in found)
    for one, other in (
        (changed.moments, first.moments),
        (changed.weights, first.weights),
        (changed.squares, first.squares),
        (found[0].estimates.prior, found[1].estimates.prior),
    ):
        np.testing.assert_allclose(one, other, atol=1e-8)


@pytest.mark.parametrize("timed", [0, 3])
def test_how_long_an_arm_seems_to_take_follows_the_expectation(url: str, timed: int):
    """Its running mean begins with what was expected, and is part of each context."""
    found: list[tuple[Any, Any]] = []
    for name, first in (("changed", ARMS), ("from the start", expecting(200, seconds=9.0))):
        router = Router(first, store=Store(url), name=name)
        for number in range(5):
            decision = router.decide(f"text {number}", ["large"])
            if number < timed:
                router.learn(decision.id, Outcome(0.5, 1e-3, 2.0))
        router.checkpoint()
        again = Router(expecting(200, seconds=9.0), store=Store(url), name=name)
        found.append(([row["seconds"] for row in again.show()], core_of(again).health.features(None, 1.0)[:, 1]))
    for changed, start in zip(*found, strict=True):
        np.testing.assert_allclose(changed, start, atol=1e-12)


@pytest.mark.parametrize("what", ["usd", "seconds"])
def test_what_callers_do_not_tell_follows_the_expectation(url: str, what: str):
    """They say what calls cost, or how long they took, and never the other: nothing was seen of that."""
    router = opened(url)
    outcome = Outcome(0.5, usd=4e-3) if what == "usd" else Outcome(0.5, seconds=2.0)
    for number in range(60):
        router.learn(router.decide(f"text {number % 3}", ["large"]).id, outcome)
    router.checkpoint()
    again = told(url, "default", expecting(2000, seconds=9.0))
    row, before = ({row["arm"]: row for row in one.explain("text 1")}["large"] for one in (again, router))
    expected = expecting(2000)[1].expected_usd
    assert row["cost"] == pytest.approx(before["cost"] if what == "usd" else expected, rel=0.15)
    assert row["latency"] == pytest.approx(9.0 if what == "usd" else before["latency"], rel=0.15)
    window = core_of(again).pacer.costs[:60, 1]
    np.testing.assert_allclose(window[-20:], row["cost"], rtol=0.15)


def test_what_is_told_late_is_as_if_it_had_been_expected_so_from_the_start(url: str):
    found: list[Core] = []
    settings = Settings(gamma=0.99, adapt=False)
    for name, arms in (("changed", ARMS), ("from the start", expecting(2000))):
        router = Router(arms, store=Store(url), name=name, settings=settings)
        ids = [router.decide(f"text {number}", ["large"]).id for number in range(40)]
        for number, decision_id in enumerate(ids[:30]):
            router.learn(decision_id, Outcome(0.5, 1e-3 if number > 25 else None, 2.0))
        router.checkpoint()
        again = Router(expecting(2000), store=Store(url), name=name, settings=settings)
        for decision_id in ids[20:40]:  # some were learnt before, some are in flight
            again.learn(decision_id, Outcome(seconds=2.5))
        for decision_id in ids[10:35]:
            again.learn(decision_id, Outcome(usd=3e-3))
        found.append(core_of(again))
    names = ("prior", "told", "regression.moments", "regression.weights", "regression.squares")
    assert_close(*({name: core.estimates.state()[name] for name in names} for core in found))


def test_other_words_for_an_arm_are_no_other_price(url: str):
    router = opened(url)
    for number in range(120):  # it becomes ten times as dear, unannounced
        usd = 4e-3 if number < 60 else 4e-2
        router.learn(router.decide("text", ["large"]).id, Outcome(quality=0.5, usd=usd))
    router.checkpoint()
    described = [ARMS[0], Arm("large", usd_per_mtok=(3, 15), description="writes well")]
    again = Router(described, store=Store(url), settings=Settings(gamma=0.99))
    assert cost_of_large(again) == pytest.approx(cost_of_large(router), rel=0.01)


def test_showing_says_how_arms_are_doing(url: str):
    router = opened(url)
    live(router, 20)
    router.retire_arm("small")
    rows = router.show()
    assert [(row["arm"], row["in_use"]) for row in rows] == [("small", False), ("large", True)]
    assert all(0 <= row["success"] <= 1 for row in rows)


def test_to_look_at_a_router_from_outside_changes_nothing(url: str):
    router = opened(url)
    live(router, 20)
    router.retire_arm("small")
    before = router.versions()
    again = Router.of_log(Store(url), "default")
    assert again.arms == router.arms
    assert again.policy.name == "linucb"
    assert again.versions() == before


def test_a_cost_beyond_all_sense_in_the_store_stops_nobody(url: str):
    router = opened(url)
    decision = router.decide("t")
    flush(router)
    store = Store(url)  # of an older package
    store.append(tables.outcomes, {"decision_id": decision.id, "created": 1e9, "usd": 1e300, "source": "caller"})
    store.flush()
    router.sync()
    router.checkpoint()
    assert math.isfinite(float(opened(url).decide("t").scores["large"]["cost"]))


def test_a_checkpoint_that_can_not_get_in_gives_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    router = Router(ARMS, store=store, name="r")

    def late(*_: Any) -> None:  # another is always first
        return None

    monkeypatch.setattr(Log, "publish", late)
    with pytest.raises(StoreError, match="others wrote a version first"):
        router.checkpoint()


def test_outcomes_of_decisions_from_before_the_store_are_learnt(tmp_path: Path):
    """The store has no row of such a decision, and would refuse its outcome when it writes the next batch."""
    url = f"sqlite:///{tmp_path / 'new.db'}"
    before = Router(ARMS, seed=1)
    early, late = before.decide("a").id, before.decide("b").id
    before.save(tmp_path / "router.npz")
    store = Store(url)
    router = Router.load(tmp_path / "router.npz", store=store)
    router.learn(early, Outcome(1.0, 1e-4))
    decision = router.decide("c")
    router.learn(decision.id, Outcome(1.0))
    store.flush()
    assert [row["decision_id"] for row in store.rows(select(tables.outcomes))] == [decision.id]
    router.checkpoint()
    again = Router(ARMS, store=url, name=router.name)
    again.learn(late, Outcome(1.0))
    store.flush()
    assert sum(row["graded"] for row in again.show()) == 3
