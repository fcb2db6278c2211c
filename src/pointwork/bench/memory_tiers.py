"""Quality against cost of memory's tiers: fixed ones, and a policy that learned to pick per question."""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pointwork.bench.memory_rows import Row, filled
from pointwork.bench.memory_sets import TRAINED, TRAINED_HOTPOT, Set, hotpot, locomo
from pointwork.extras import available
from pointwork.memory.learned import ARMS, LearnedTiers, NetworkTiers, Outcome, gate
from pointwork.memory.modules import available_tiers
from pointwork.memory.policy import TierRequest

SEEDS = 5
PRICE = 4.0  # quality that a second of processor time is worth: 10 ms are .04 of recall@10


@dataclass(slots=True)
class Asked:
    """A question with what each arm found, and took in seconds of processor time."""

    request: TierRequest
    quality: dict[str, float]
    seconds: dict[str, float]


def measure(data: Path, limit: int | None = None) -> Iterator[Row]:
    """Fixed tiers and the learned policy on questions that training has not seen."""
    dialogues, one = locomo(data), hotpot(data)
    seen = [q for s in dialogues[:TRAINED] for q in _asked(s, s.questions[: min(limit or 60, 60)])]
    seen += _asked(one, one.questions[:TRAINED_HOTPOT][:limit])
    new = [q for s in dialogues[TRAINED:] for q in _asked(s, s.questions[:limit])]
    new += _asked(one, one.questions[TRAINED_HOTPOT:][:limit])
    for arm in ARMS:
        yield _row(f"all {arm}" if " " not in arm else arm, new, [arm] * len(new))
    for seed in range(SEEDS):
        some = random.Random(seed).sample(seen, len(seen) * 4 // 5)
        rows = [Outcome(q.request, arm, q.quality[arm], q.seconds[arm]) for q in some for arm in ARMS]
        policies: dict[str, LearnedTiers | NetworkTiers] = {"learned": LearnedTiers.trained(rows, PRICE)}
        if available("torch"):
            policies["network"] = _network(some, seed)
        for name, policy in policies.items():
            chosen = [policy.arm(q.request) for q in new]
            row = _row(f"{name}, seed {seed}", new, chosen)
            for arm in ARMS:
                row.values[f"share {arm}"] = chosen.count(arm) / len(chosen)
            worth = [q.quality[a] - PRICE * q.seconds[a] for q, a in zip(new, chosen, strict=True)]
            static = [q.quality["mid"] - PRICE * q.seconds["mid"] for q in new]
            row.values["gate"] = float(gate(worth, static))
            yield row


def _network(some: Sequence[Asked], seed: int) -> NetworkTiers:
    """As ``pointwork train tiers`` makes it."""
    from pointwork.training.policies import Recipe
    from pointwork.training.tiers import Measured, train_tiers

    return train_tiers([Measured(q.request, q.quality, q.seconds) for q in some], PRICE, Recipe(seed=seed))


def _asked(one: Set, questions: Sequence[object]) -> list[Asked]:
    from pointwork.bench.memory_sets import Question

    memory = filled(one)
    found: list[Asked] = []
    for question in questions:
        assert isinstance(question, Question)
        request = TierRequest(question.text, 10, 800, None, available_tiers(), len(memory))
        one_asked = Asked(replace(request), {}, {})
        for arm, tiers in ARMS.items():
            memory.recall(question.text, k=10, now=one.now, tiers=tiers)  # so that texts are read for none
            started = time.process_time()
            recall = memory.recall(question.text, k=10, now=one.now, tiers=tiers)
            one_asked.seconds[arm] = time.process_time() - started
            sources = {item.source for item in recall.items}
            one_asked.quality[arm] = len(question.gold & sources) / len(question.gold)
        found.append(one_asked)
    return found


def _row(system: str, asked: Sequence[Asked], arms: Sequence[str]) -> Row:
    quality = np.array([q.quality[arm] for q, arm in zip(asked, arms, strict=True)])
    seconds = np.array([q.seconds[arm] for q, arm in zip(asked, arms, strict=True)])
    values = {
        "recall@10": float(quality.mean()),
        "cpu ms": float(seconds.mean() * 1e3),
        "worth": float(quality.mean() - PRICE * seconds.mean()),
    }
    return Row("tiers", system, "unseen questions", len(asked), values)
