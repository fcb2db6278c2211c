"""Memory's tier policy as a network: each question is asked at all tiers, so nothing has to be estimated.

The answers that count are those of a file (``labelled``) or of the log (``questions_of``): the remembered items
that a correct run's answer rests on. The second kind knows only what the live tiers found, so it can prove that
cheaper tiers are as good, and hardly ever that dearer ones are better.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import insert, select, update

from pointwork.errors import UsageError
from pointwork.memory import Memory
from pointwork.memory.learned import ARMS, LEAST, Measured, NetworkTiers, context, gate, usable
from pointwork.memory.policy import DEFAULT, ROLE
from pointwork.store import Store, new_id
from pointwork.store.tables import memory_usage, models, runs
from pointwork.training.policies import Array, Lessons, Recipe, train_policy

# Items that a recall shows, as agents ask for (the mean of what is wanted in use and in benchmarks).
K = 10
Tell = Callable[[int, int], None]


@dataclass(frozen=True)
class Labelled:
    """A question and what answers it: ids of items, or sources."""

    question: str
    ids: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TiersTrained:
    """What came of it.

    Attributes:
        trained, judged: questions. worth: quality less priced seconds on the judged ones, by policy.
        promoted: the network is live now. reason: why not.
    """

    trained: int
    judged: int
    worth: dict[str, float] = field(default_factory=dict[str, float])
    promoted: bool = False
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return dict(vars(self))


def labelled(file: Path) -> list[Labelled]:
    """Questions from lines of JSON with ``question`` and ``sources``.

    Raises:
        UsageError: the file can not be read, or a line is none.
    """
    found: list[Labelled] = []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"can not read the questions in {file}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            found.append(Labelled(str(row["question"]), sources=frozenset(map(str, row["sources"]))))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{file}:{number} needs a question and its sources: {error!r}") from error
    return found


def questions_of(store: Store) -> list[Labelled]:
    """Questions of correct runs whose answers rest on remembered items, oldest first."""
    rows = store.rows(
        select(memory_usage.c.question, runs.c.result)
        .join(runs, runs.c.id == memory_usage.c.run_id)
        .where(runs.c.status == "ok")
        .order_by(memory_usage.c.id)
    )
    found: list[Labelled] = []
    for row in rows:
        result: dict[str, Any] = row["result"] or {}
        sources = [str(piece["source"]) for piece in result.get("evidence", [])]
        ids = {source.removeprefix("memory:") for source in sources if source.startswith("memory:")}
        if ids and row["question"]:
            found.append(Labelled(row["question"], ids=frozenset(ids)))
    return found


def measure(
    memory: Memory, asked: Sequence[Labelled], *, k: int = K, tell: Tell = lambda _n, _of: None
) -> list[Measured]:
    """Ask every question at every arm's tiers."""
    found: list[Measured] = []
    for number, one in enumerate(asked):
        quality, seconds = dict[str, float](), dict[str, float]()
        request = memory.request(one.question, k)
        for arm in usable(request.available):
            tiers = ARMS[arm]
            memory.recall(one.question, k=k, tiers=tiers)  # so that texts are read for none
            started = time.process_time()
            items = memory.recall(one.question, k=k, tiers=tiers).items
            seconds[arm] = time.process_time() - started
            right = {item.id for item in items} & one.ids | {item.source for item in items} & one.sources
            quality[arm] = len(right) / max(1, len(one.ids or one.sources))
        found.append(Measured(request, quality, seconds))
        tell(number + 1, len(asked))
    return found


def train_tiers(measured: Sequence[Measured], price: float, recipe: Recipe | None = None) -> NetworkTiers:
    """A network over the arms, from what each found; ``price``: of a second, in quality.

    Raises:
        UsageError: too few questions.
    """
    contexts = np.array([context(one.request) for one in measured])
    quality = _table(measured, "quality")
    seconds = {arm: float(np.mean([one.seconds[arm] for one in measured])) for arm in measured[0].quality}
    prices = np.tile([price * each for each in seconds.values()], (len(measured), 1))
    trained = train_policy(Lessons.full(list(seconds), contexts, quality, prices), recipe)
    return NetworkTiers(trained.layers, seconds, price)


def _table(measured: Sequence[Measured], what: str) -> Array:
    return np.array([[getattr(one, what)[arm] for arm in measured[0].quality] for one in measured], np.float64)


def promote_tiers(
    store: Store,
    asked: Sequence[Labelled],
    *,
    price: float = 4.0,
    recipe: Recipe | None = None,
    tell: Tell = lambda _n, _of: None,
) -> TiersTrained:
    """Train on the older half of the questions, judge on the newer beside what is live, and make it live if better.

    Raises:
        UsageError: too few questions.
    """
    half = len(asked) // 2
    if len(asked) - half < LEAST or half < LEAST:
        raise UsageError(f"{len(asked)} questions whose answer is known are too few; {2 * LEAST} are needed")
    memory = Memory(store)
    measured = measure(memory, asked, tell=tell)
    policy, newer = train_tiers(measured[:half], price, recipe), measured[half:]
    live = memory.policy
    worth = {
        "network": _worth(newer, [policy.arm(one.request) for one in newer], price),
        "live": _worth(newer, [_arm_of(dict(live.choose(one.request))) for one in newer], price),
    }
    for arm in measured[0].quality:
        worth[f"all {arm}"] = _worth(newer, [arm] * len(newer), price)
    means = {name: float(values.mean()) for name, values in worth.items()}
    if not gate(worth["network"].tolist(), worth["live"].tolist()):
        gain = means["network"] - means["live"]
        why = f"its gain over what is live is {gain:+.4f}, which is not above 0 at a one-sided 99 % bound"
        return TiersTrained(half, len(newer), means, False, why)
    _make_live(store, policy, means)
    return TiersTrained(half, len(newer), means, True)


def _worth(measured: Sequence[Measured], arms: Sequence[str], price: float) -> Array:
    pairs = zip(measured, arms, strict=True)
    return np.array([one.quality[arm] - price * one.seconds[arm] for one, arm in pairs], np.float64)


def _arm_of(tiers: dict[str, str]) -> str:
    return next((arm for arm, its in ARMS.items() if dict(its) == tiers), DEFAULT)


def _make_live(store: Store, policy: NetworkTiers, worth: dict[str, float]) -> None:
    role = ROLE
    row = {
        "id": new_id("model"),
        "role": role,
        "version": f"{role}-{time.time_ns()}",
        "base": "tiers",
        "metrics": {**policy.as_json(), "worth": worth},
        "state": "live",
        "created": time.time(),
    }
    with store.write() as connection:
        mine = (models.c.role == role) & (models.c.state == "live")
        connection.execute(update(models).where(mine).values(state="retired"))
        connection.execute(insert(models).values(**row))
