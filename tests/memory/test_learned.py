"""The learned tier policy: different tiers for different questions, and a gate that equals do not pass."""

import random
from dataclasses import replace

import numpy as np
import pytest

from pointwork.bench.memory_tiers import frontier
from pointwork.errors import UsageError
from pointwork.memory import Memory
from pointwork.memory.learned import ARMS, CONTEXT, LearnedTiers, Measured, NetworkTiers, gate, usable
from pointwork.memory.modules import MODULES, Module, Tier, available_tiers
from pointwork.memory.policy import Glance, TierRequest


def request(question: str) -> TierRequest:
    return TierRequest(question, 10, 800, None, available_tiers(), 500)


def outcomes(count: int, seed: int = 0) -> list[Measured]:
    """A world in which only questions with "why" gain from Mid."""
    chance = random.Random(seed)
    rows: list[Measured] = []
    for number in range(count):
        why = number % 2 == 0
        asked = request("Why did Ada leave the harbour?" if why else "When did Ada leave the harbour?")
        quality = {"low": 0.4 if why else 0.8 + chance.gauss(0, 0.05), "mid": 0.8 + chance.gauss(0, 0.05)}
        rows.append(Measured(asked, quality, {"low": 0.002, "mid": 0.02}))
    return rows


def test_it_picks_the_dear_tiers_where_they_gain() -> None:
    policy = LearnedTiers.trained(outcomes(300), price=4.0)
    assert policy.arm(request("Why did Bob come?")) == "mid"
    assert policy.arm(request("When did Bob come?")) == "low"
    assert LearnedTiers.trained(outcomes(300), price=1000.0).arm(request("Why did Bob come?")) == "low"


def test_it_works_as_a_policy_of_a_memory() -> None:
    memory = Memory(tiers=LearnedTiers.trained(outcomes(300), price=4.0))
    memory.add("Bob came at four.")
    assert memory.recall("Why did Bob come?").tiers == ARMS["mid"]
    assert memory.recall("When did Bob come?").tiers == ARMS["low"]
    assert memory.recall("When did Bob come?").items[0].text == "Bob came at four."


def glancing(best: float) -> TierRequest:
    return TierRequest("Where is it?", 10, 800, None, available_tiers(), 500, look=lambda: Glance(best=best))


def test_a_glance_at_what_the_words_find_decides_where_the_question_can_not() -> None:
    """The same words ask for what Low finds and for what it does not."""
    rows: list[Measured] = []
    for number in range(300):
        sure = number % 2 == 0
        quality = {"low": 0.9 if sure else 0.3, "mid": 0.9}
        rows.append(Measured(glancing(0.9 if sure else 0.2), quality, {"low": 0.002, "mid": 0.02}))
    policy = LearnedTiers.trained(rows, price=4.0)
    assert [policy.arm(glancing(best)) for best in (0.9, 0.2)] == ["low", "mid"]


def test_a_glance_tells_how_sure_the_words_are() -> None:
    memory = Memory()
    assert memory.request("Where is the anchor?").look is not None
    for number in range(20):
        memory.add(f"The lantern number {number} hangs in shed {number}.")
    memory.add("The anchor lies in shed 3.")
    looks = [memory.request(question).look for question in ("The anchor?", "The lantern?", "Any zebra?")]
    sure, unsure, unknown = (look() for look in looks if look is not None)
    assert sure.best > 0
    assert (sure.gap, sure.many) == (pytest.approx(sure.best), pytest.approx(1 / 21))
    assert unsure.gap == pytest.approx(0, abs=1e-6)
    assert (unsure.known, unknown.known, unknown.best) == (1, 0, 0)
    assert unsure.spread > 0.9 > sure.spread


def test_only_arms_that_can_work_here_are_chosen() -> None:
    """What was trained where there is a sentence encoder works where there is none."""
    there: dict[Module, tuple[Tier, ...]] = {module: ("low", "mid", "high") for module in MODULES}
    rows = [Measured(request("Why?"), QUALITY, dict.fromkeys(QUALITY, 0.01))] * 120
    policy = LearnedTiers.trained(rows, price=1.0)
    assert policy.arm(replace(request("Why?"), available=there)) == "high"
    without: dict[Module, tuple[Tier, ...]] = {module: ("low", "mid") for module in MODULES}
    assert usable(without) == ("low", "mid without topic", "mid")
    assert policy.arm(replace(request("Why?"), available=without)) == "mid"


QUALITY = {"low": 0.2, "mid without topic": 0.4, "mid": 0.6, "high": 0.8}


def test_a_step_that_nothing_foretells_is_taken_by_its_mean_and_spoils_no_other() -> None:
    """What topic adds is chance; whether more than Low is needed shows in the question."""
    chance = random.Random(3)
    rows: list[Measured] = []
    for number in range(240):
        why = number % 2 == 0
        low, without = (0.2 if why else 0.7), 0.7
        quality = {"low": low, "mid without topic": without, "mid": without + chance.choice((-0.3, 0.32))}
        who = ("Ada", "Bo", "Cy", "Di")[number % 4]
        asked = request(f"{'Why' if why else 'When'} did {who} {'go ' * (number % 7)}out?")
        rows.append(Measured(asked, quality, dict(zip(quality, (0.002, 0.006, 0.02), strict=True))))
    policy = LearnedTiers.trained(rows, price=4.0)
    chosen = [policy.arm(row.request) for row in rows]
    assert chosen == ["mid without topic" if n % 2 == 0 else "low" for n in range(len(rows))]


def test_an_arm_that_few_were_asked_at_is_never_chosen() -> None:
    few = [Measured(request("Why?"), QUALITY, dict.fromkeys(QUALITY, 0.01))] * 50
    low = {"low": 0.2, "mid": 0.6}
    many = [Measured(request("Why?"), low, dict.fromkeys(low, 0.01))] * 100
    policy = LearnedTiers.trained(few + many, price=1.0)
    assert policy.arm(request("Why?")) == "mid"  # not High, though it found more


def test_a_network_of_another_version_is_not_used() -> None:
    arms = {"low": 0.01, "mid": 0.02}
    layers = [(np.zeros((CONTEXT, 2)), np.array([0.0, 3.0]))]
    policy = NetworkTiers(layers, arms, 1.0)
    again = NetworkTiers.from_json(policy.as_json())
    assert again is not None
    assert again.arm(request("Why?")) == policy.arm(request("Why?")) == "mid"
    assert NetworkTiers.from_json({**policy.as_json(), "arms": ["low", "best"]}) is None
    old = NetworkTiers([(np.zeros((CONTEXT - 6, 2)), np.zeros(2))], arms, 1.0)
    assert NetworkTiers.from_json(old.as_json()) is None
    with pytest.raises(UsageError, match="an output and seconds of each arm"):
        NetworkTiers(layers, {"low": 0.01}, 1.0)


def test_the_frontier_of_fixed_choices() -> None:
    points = [(3.0, 0.6), (11.0, 0.7), (12.0, 0.8)]
    assert frontier(points, 7.5) == pytest.approx(0.7)  # half of the questions each: 0.6 and 0.8
    assert (frontier(points, 20.0), frontier(points, 1.0)) == (0.8, 0.6)


def test_it_does_not_learn_from_nothing() -> None:
    with pytest.raises(UsageError, match="at least 100 questions"):
        LearnedTiers.trained(outcomes(40), price=1.0)


@pytest.mark.parametrize(("gain", "count", "passes"), [(0.1, 400, True), (0.0, 400, False), (0.1, 50, False)])
def test_the_gate_lets_only_proven_gains_pass(gain: float, count: int, passes: bool) -> None:
    chance = random.Random(1)
    live = [chance.random() for _ in range(count)]
    new = [value + gain + chance.gauss(0, 0.1) for value in live]
    new = [value - sum(n - v for n, v in zip(new, live, strict=True)) / count + gain for value in new]
    assert gate(new, live) == passes
