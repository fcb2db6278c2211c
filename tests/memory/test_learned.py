"""The learned tier policy: different tiers for different questions, and a gate that equals do not pass."""

import random

import pytest

from pointwork.errors import UsageError
from pointwork.memory import Memory
from pointwork.memory.learned import ARMS, LearnedTiers, Outcome, gate
from pointwork.memory.modules import available_tiers
from pointwork.memory.policy import TierRequest


def request(question: str) -> TierRequest:
    return TierRequest(question, 10, 800, None, available_tiers(), 500)


def outcomes(count: int, seed: int = 0) -> list[Outcome]:
    """A world in which only questions with "why" gain from Mid."""
    chance = random.Random(seed)
    rows: list[Outcome] = []
    for number in range(count):
        why = number % 2 == 0
        asked = request("Why did Ada leave the harbour?" if why else "When did Ada leave the harbour?")
        rows.append(Outcome(asked, "low", 0.4 if why else 0.8 + chance.gauss(0, 0.05), 0.002))
        rows.append(Outcome(asked, "mid", 0.8 + chance.gauss(0, 0.05), 0.02))
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


def test_it_does_not_learn_from_nothing() -> None:
    with pytest.raises(UsageError, match="at least 100 outcomes"):
        LearnedTiers.trained(outcomes(40), price=1.0)


@pytest.mark.parametrize(("gain", "count", "passes"), [(0.1, 400, True), (0.0, 400, False), (0.1, 50, False)])
def test_the_gate_lets_only_proven_gains_pass(gain: float, count: int, passes: bool) -> None:
    chance = random.Random(1)
    live = [chance.random() for _ in range(count)]
    new = [value + gain + chance.gauss(0, 0.1) for value in live]
    new = [value - sum(n - v for n, v in zip(new, live, strict=True)) / count + gain for value in new]
    assert gate(new, live) == passes
