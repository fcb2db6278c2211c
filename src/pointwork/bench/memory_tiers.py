"""Quality against cost of memory's tiers: fixed ones, and a policy that learned to pick per question."""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pointwork.bench.memory_rows import Row, filled
from pointwork.bench.memory_sets import TRAINED, TRAINED_HOTPOT, Set, hotpot, locomo
from pointwork.extras import available
from pointwork.memory import Memory
from pointwork.memory.learned import ARMS, LearnedTiers, Measured, NetworkTiers, context, gate, usable
from pointwork.memory.policy import TierRequest

SEEDS = 5
PRICES = (1.0, 4.0, 16.0, 24.0, 32.0)  # for the curve; the gate and the network go by the one below
PRICE = 4.0  # quality that a second of processor time is worth: 10 ms are .04 of recall@10


@dataclass(slots=True)
class Asked:
    """A question with what each arm found, and took in seconds of processor time; ``looking``: the policy's own."""

    request: TierRequest
    quality: dict[str, float]
    seconds: dict[str, float]
    looking: float


def measure(data: Path, limit: int | None = None) -> Iterator[Row]:
    """Fixed tiers and the learned policy on questions that training has not seen."""
    dialogues, one = locomo(data), hotpot(data)
    seen = [q for s in dialogues[:TRAINED] for q in _asked(s, s.questions[: min(limit or 60, 60)])]
    seen += _asked(one, one.questions[:TRAINED_HOTPOT][:limit])
    new = [q for s in dialogues[TRAINED:] for q in _asked(s, s.questions[:limit])]
    new += _asked(one, one.questions[TRAINED_HOTPOT:][:limit])
    arms = usable(new[0].request.available)
    fixed = {arm: _row(f"all {arm}" if " " not in arm else arm, new, [arm] * len(new)) for arm in arms}
    yield from fixed.values()
    live = [q.quality[arms[-1]] - PRICE * q.seconds[arms[-1]] for q in new]
    for price in PRICES:
        for seed in range(SEEDS):
            some = random.Random(seed).sample(seen, len(seen) * 4 // 5)
            rows = [Measured(q.request, q.quality, q.seconds) for q in some]
            policies: dict[str, LearnedTiers | NetworkTiers] = {"learned": LearnedTiers.trained(rows, price)}
            if price == PRICE and available("torch"):
                policies["network"] = _network(rows, seed)
            for name, policy in policies.items():
                yield _learned(f"{name}, price {price:g}, seed {seed}", new, policy, list(fixed.values()), live)


def _learned(
    name: str,
    new: Sequence[Asked],
    policy: LearnedTiers | NetworkTiers,
    fixed: Sequence[Row],
    live: Sequence[float],
) -> Row:
    """What a policy reaches, by what it is above the frontier of the fixed ones, and what the gate says."""
    chosen = [policy.arm(q.request) for q in new]
    row = _row(name, new, chosen, looking=True)
    for arm in ARMS:
        row.values[f"share {arm}"] = chosen.count(arm) / len(chosen)
    points = [(one.values["cpu ms"], one.values["recall@10"]) for one in fixed]
    row.values["above"] = row.values["recall@10"] - frontier(points, row.values["cpu ms"])
    worth = [q.quality[a] - PRICE * (q.seconds[a] + q.looking) for q, a in zip(new, chosen, strict=True)]
    row.values["gate"] = float(gate(worth, live))
    return row


def frontier(points: Sequence[tuple[float, float]], cost: float) -> float:
    """The best quality that fixed choices, and drawing between two of them, reach at a mean cost.

    Args:
        points: cost and quality of each fixed choice.
        cost: below the cheapest, its quality counts.
    """
    within = [quality for its, quality in points if its <= cost]
    best = max(within, default=min(points)[1])
    for low, one in points:
        for high, other in points:
            if low < cost < high:
                best = max(best, one + (other - one) * (cost - low) / (high - low))
    return best


def _network(rows: Sequence[Measured], seed: int) -> NetworkTiers:
    """As ``pointwork train tiers`` makes it."""
    from pointwork.training.policies import Recipe
    from pointwork.training.tiers import train_tiers

    return train_tiers(rows, PRICE, Recipe(seed=seed))


def _asked(one: Set, questions: Sequence[object]) -> list[Asked]:
    from pointwork.bench.memory_sets import Question

    memory = filled(one)
    found: list[Asked] = []
    for question in questions:
        assert isinstance(question, Question)
        request = memory.request(question.text)
        one_asked = Asked(request, {}, {}, _looking(memory, question.text))
        for arm in usable(request.available):
            tiers = ARMS[arm]
            memory.recall(question.text, k=10, now=one.now, tiers=tiers)  # so that texts are read for none
            started = time.process_time()
            recall = memory.recall(question.text, k=10, now=one.now, tiers=tiers)
            one_asked.seconds[arm] = time.process_time() - started
            sources = {item.source for item in recall.items}
            one_asked.quality[arm] = len(question.gold & sources) / len(question.gold)
        found.append(one_asked)
    return found


class _Looking:
    """A policy that takes the time of what a learned one looks at, within a recall."""

    seconds = 0.0

    def choose(self, request: TierRequest) -> Mapping[str, str]:
        started = time.process_time()
        context(request)
        self.seconds = time.process_time() - started
        return ARMS["low"]


def _looking(memory: Memory, question: str) -> float:
    policy = _Looking()
    for _ in range(2):  # the second time as for the arms: words are read for none
        memory.recall(question, tiers=policy)
    return policy.seconds


def _row(system: str, asked: Sequence[Asked], arms: Sequence[str], *, looking: bool = False) -> Row:
    quality = np.array([q.quality[arm] for q, arm in zip(asked, arms, strict=True)])
    seconds = np.array([q.seconds[arm] + looking * q.looking for q, arm in zip(asked, arms, strict=True)])
    values = {
        "recall@10": float(quality.mean()),
        "cpu ms": float(seconds.mean() * 1e3),
        "worth": float(quality.mean() - PRICE * seconds.mean()),
    }
    return Row("tiers", system, "unseen questions", len(asked), values)
