"""Deciding: distributions, candidates, wrong input, screening, explaining."""

import math
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.errors import UsageError
from pointwork.router import Arm, Decision, Outcome, Router, Settings

ARMS = [
    Arm("small", usd_per_mtok=(0.1, 0.4)),
    Arm("middle", usd_per_mtok=(0.5, 1.5)),
    Arm("large", usd_per_mtok=(3, 15)),
]


def taught(policy: str = "linucb", budget: float | None = None, seed: int = 0, rounds: int = 30) -> Router:
    router = Router(ARMS, policy, budget, seed)
    rng = np.random.default_rng(seed)
    for i in range(rounds):
        decision = router.decide(f"question {i} about rivers")
        router.learn(decision.id, Outcome(float(rng.random()), float(rng.random()) * 1e-3, float(rng.random())))
    return router


@given(
    st.sampled_from(["linucb", "static", "random"]),
    st.one_of(st.none(), st.floats(1e-7, 1.0)),
    st.lists(st.sampled_from(["small", "middle", "large"]), min_size=1),
    st.text(min_size=1).filter(lambda t: bool(t.strip())),
    st.one_of(st.none(), st.floats(0, 1)),
)
@settings(max_examples=60, deadline=None)
def test_the_distribution_is_one(
    policy: str, budget: float | None, candidates: list[str], text: str, remaining: float | None
):
    decision = taught(policy, budget, rounds=5).decide(text, candidates, remaining=remaining)
    assert set(decision.propensities) == set(candidates)
    assert math.fsum(decision.propensities.values()) == pytest.approx(1, abs=1e-12)
    assert all(p > 0 for p in decision.propensities.values())
    assert decision.propensity == decision.propensities[decision.arm]
    assert set(decision.scores) == set(candidates)
    wanted = {"mean", "bonus", "cost", "latency", "score", "price", "health", "price_weight"}
    assert wanted <= set(decision.scores[decision.arm])


@pytest.mark.parametrize("policy", ["linucb", "random"])
def test_arms_are_drawn_as_often_as_logged(policy: str):
    router = Router(ARMS, policy, settings=Settings(exploration=0.3))
    expected, drawn = np.zeros(3), np.zeros(3)
    names = [arm.name for arm in ARMS]
    for _ in range(6000):
        decision = router.decide(features=[1.0, 0.0])  # nothing is learnt
        expected += [decision.propensities[name] for name in names]
        drawn[names.index(decision.arm)] += 1
    np.testing.assert_allclose(drawn / 6000, expected / 6000, atol=4 * math.sqrt(0.25 / 6000))


def test_the_floor_spares_a_tight_budget():
    router = Router(ARMS, budget_per_request=1e-4, settings=Settings(exploration=0.05, exploration_share=0.02))
    decision = router.decide("anything")
    cost = {name: float(row["cost"]) for name, row in decision.scores.items()}
    assert decision.propensities["large"] == pytest.approx(0.02 * 1e-4 / cost["large"] / 3, rel=1e-6)
    spent = sum(decision.propensities[name] * cost[name] for name in ("middle", "large"))
    assert spent < 0.02 * 1e-4 * 1.01


def test_the_same_seed_gives_the_same_choices():
    one, two = taught(seed=5), taught(seed=5)
    assert [one.decide(f"t{i}").arm for i in range(20)] == [two.decide(f"t{i}").arm for i in range(20)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"text": "t", "candidates": ["small", "gigantic"]},
            "no arm is called 'gigantic'; there are small, middle",
        ),
        ({"text": "t", "candidates": []}, "no arm to choose from"),
        ({"text": "t", "exclude": ["small", "middle", "large"]}, "no arm to choose from"),
        ({"text": "t", "exclude": ["gigantic"]}, "no arm is called 'gigantic'"),
        ({"text": "  "}, "needs the text"),
        ({"text": "t", "remaining": 1.5}, "between 0 and 1"),
        ({"text": "t", "remaining": math.nan}, "between 0 and 1"),
        ({"text": "t", "remaining": "half"}, "between 0 and 1"),
        ({"text": None}, "needs the text"),
        ({"text": "t", "quality_floor": "high"}, "quality_floor must be a number from 0 to 1"),
        ({"text": "t", "max_usd": 10**400}, "max_usd must be a number from 0"),
        ({"features": [1.0, math.nan]}, "finite"),
        ({"features": [[1.0]]}, "one dimension"),
        ({"features": ["x"]}, "must be numbers"),
    ],
)
def test_wrong_input_is_refused_and_changes_nothing(arguments: dict[str, Any], message: str):
    router = Router(ARMS)
    with pytest.raises(UsageError, match=message):
        router.decide(**arguments)
    assert router.clock == 0
    router.decide("still works")


def test_texts_and_features_do_not_mix():
    router = Router(ARMS)
    router.decide(features=[0.1, 0.2])
    with pytest.raises(UsageError, match="features that are given"):
        router.decide("a text")
    with pytest.raises(UsageError, match="learns from 2 features, but 3"):
        router.decide(features=[0.1, 0.2, 0.3])


def test_a_router_needs_sound_arms():
    with pytest.raises(UsageError, match="at least one arm"):
        Router([])
    with pytest.raises(UsageError, match="twice: a"):
        Router([Arm("a"), Arm("a"), Arm("b")])
    with pytest.raises(UsageError, match="no policy is called 'best'; there are linucb, neural, random"):
        Router(ARMS, "best")
    with pytest.raises(UsageError, match="budget_per_request"):
        Router(ARMS, budget_per_request=0.0)
    with pytest.raises(UsageError, match="seed"):
        Router(ARMS, seed=-1)
    with pytest.raises(UsageError, match="gamma"):
        Settings(gamma=1.5)


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": " "},
        {"name": "a", "usd_per_mtok": (1.0, -1.0)},
        {"name": "a", "usd_per_mtok": (1.0, math.nan)},
        {"name": "a", "usd_per_mtok": (1.0,)},
        {"name": "a", "expected_tokens": (math.inf, 1.0)},
        {"name": "a", "expected_seconds": 0.0},
        {"name": "a", "context_tokens": 0},
    ],
)
def test_an_arm_is_checked(arguments: dict[str, Any]):
    with pytest.raises(UsageError):
        Arm(**arguments)


def test_many_arms_are_screened_by_what_they_say_they_do_and_all_get_a_turn():
    topics = re.findall(r"\w+", "sums dates rivers poems tables files code music chess plants stars law")
    arms = [Arm(topic, description=f"knows about {topic}") for topic in topics]
    router = Router(arms, settings=Settings(screen=4))
    seen: set[str] = set()
    for _ in range(20):
        decision = router.decide("which rivers and which rivers cross")
        assert len(decision.propensities) == 4
        assert "rivers" in decision.propensities
        seen |= set(decision.propensities)
    assert seen == set(topics)
    explained = router.explain("which rivers and which rivers cross")
    assert len(explained) == len(topics)
    assert sum(row["propensity"] for row in explained) == pytest.approx(1)


def test_arms_that_say_nothing_are_not_screened():
    router = Router([Arm(f"a{i}") for i in range(12)])
    assert len(router.decide("any text").propensities) == 12
    assert len(router.decide("any text", [f"a{i}" for i in range(9)]).propensities) == 9


def test_explaining_a_text_changes_nothing():
    one, two = taught(seed=3), taught(seed=3)
    rows = one.explain("a text to route")
    assert {row["arm"] for row in rows} == {"small", "middle", "large"}
    assert rows[0]["propensity"] == max(row["propensity"] for row in rows)
    decisions = [(a.arm, a.propensities) for a in (one.decide(f"t{i}") for i in range(10))]
    assert decisions == [(a.arm, a.propensities) for a in (two.decide(f"t{i}") for i in range(10))]


def test_explaining_a_decision_says_what_was_known_then():
    router = Router(ARMS)
    decision = router.decide("first of all")
    for _ in range(20):
        router.learn(router.decide("first of all").id, Outcome(0.0, 1e-3, 1.0))
    rows = router.explain(decision.id)
    assert [row["arm"] for row in rows if row["chosen"]] == [decision.arm]
    assert all(row["mean"] == 0.5 for row in rows)
    with pytest.raises(UsageError, match="no decision"):
        router.explain("dec" + "0" * 28)


def test_threads_share_a_router():
    router, errors = Router(ARMS, budget_per_request=1e-3), list[Exception]()

    def work() -> None:
        try:
            for i in range(60):
                decision = router.decide(f"text {i}")
                router.learn(decision.id, Outcome(0.5, 1e-4, 0.1))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert router.clock == 240


def test_a_decision_reads_well():
    decision: Decision = Router(ARMS).decide("x")
    assert decision.arm in repr(decision)


def test_the_order_of_candidates_does_not_mix_up_arms():
    one, two = taught(seed=1), taught(seed=1)
    forwards = one.decide("some text", ["small", "middle", "large"])
    backwards = two.decide("some text", ["large", "middle", "small"])
    assert list(backwards.scores) == ["large", "middle", "small"]
    for name, row in forwards.scores.items():
        assert row == pytest.approx(backwards.scores[name], abs=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Router(ARMS, budget_per_request=1e-300),
        lambda: Router(ARMS, "thompson", policy_options={"draws": 2.5}),
        lambda: Arm("dear", usd_per_mtok=(1e308, 1e308)),
        lambda: Arm("dear", usd_per_mtok=(10**400, 1)),
        lambda: Outcome(usd=1e300),
        lambda: Outcome(quality=10**400),
        lambda: Router(ARMS).decide(features=[10**400]),
    ],
)
def test_numbers_beyond_all_sense_are_refused(make: Callable[[], object]):
    with pytest.raises(UsageError):
        make()


@pytest.mark.filterwarnings("ignore:overflow")
def test_features_of_any_length_keep_their_direction():
    router = Router(ARMS)
    near, far = (router.decide(features=np.array([3.0, 4.0]) * size) for size in (1.0, 1e300))
    contexts = [router._core.ledger.by_id[each.id].context for each in (near, far)]  # pyright: ignore[reportPrivateUsage]
    np.testing.assert_allclose(contexts[0][:3], contexts[1][:3])  # what follows is the state of the arm


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Router("ab"),  # pyright: ignore[reportArgumentType]
        lambda: Router(None),  # pyright: ignore[reportArgumentType]
        lambda: Router(["a", "b"]),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")], seed="a"),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")], seed=1.5),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")], policy=5),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")], budget_per_request="x"),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")], name=5),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")], settings={"screen": 4}),  # pyright: ignore[reportArgumentType]
        lambda: Settings(screen=2.5),  # pyright: ignore[reportArgumentType]
        lambda: Arm(5),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")]).add_arm("c"),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")]).decide("x", candidates="a"),
        lambda: Router([Arm("a")]).decide("x", candidates=5),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")]).decide("x", exclude="a"),
        lambda: Router([Arm("a")]).teach([Outcome(1.0)], "x"),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")]).explain(None),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")]).decide("x", candidates=[[]]),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")]).decide("x", exclude=[[]]),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")]).learn([], Outcome(1.0)),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")]).retire_arm([]),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")]).teach({(): Outcome(1.0)}, "x"),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")]).save(None),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")]).save("a\0b"),
        lambda: Router.load(7),  # pyright: ignore[reportArgumentType]
        lambda: Router([Arm("a")], store="sqlite://").replay("linucb", train="x"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_the_wrong_kind_of_thing_is_a_usage_error(wrong: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        wrong()


@pytest.mark.filterwarnings("error")
def test_features_of_any_length_are_taken_without_a_warning() -> None:
    router = Router([Arm("a"), Arm("b")])
    router.learn(router.decide(features=[1e300, 1e300]).id, Outcome(1.0))
    assert router.decide(features=[1e-300, 1.0]).arm in ("a", "b")


def test_what_is_no_outcome_leaves_the_router_as_it_was(tmp_path: Path) -> None:
    router = Router([Arm("a"), Arm("b")])
    decision = router.decide("x")
    with pytest.raises(UsageError, match="no Outcome"):
        router.learn(decision.id, "good")  # pyright: ignore[reportArgumentType]
    router.save(tmp_path / "r")  # it was kept among the pending ones, and saving failed from then on
    router.learn(decision.id, Outcome(quality=1.0))


def test_a_lesson_is_learnt_whole_or_not_at_all(tmp_path: Path) -> None:
    router = Router([Arm("a"), Arm("b")], seed=1)
    before = router.explain("x")
    with pytest.raises(UsageError, match=r"0\.4 is no Outcome"):
        router.teach({"a": Outcome(1.0), "b": 0.4}, "x")  # pyright: ignore[reportArgumentType]
    assert router.explain("x") == before
