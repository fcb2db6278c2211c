"""Memory shared between the parallel subtasks of a run, with a gate that learns what is worth sharing (after LTS).

A subtask offers what it found; the gate admits it or not; others read what was admitted. An item that a subtask
read, and whose words it used before it succeeded, earns credit. When the run ends, every admitted item is a lesson
for the gate: used to some good, or noise that cost tokens. The gate is a logistic model with a prior, so that it is
of use before it has learned, and admits a few of those it doubts, so that it can find out that it was wrong.
"""

import math
import random
import re
import threading
import time as clock
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import delete, insert, select

from pointwork.embedding import Embedder, default_embedder
from pointwork.memory.items import UNTRUSTED, check_trust
from pointwork.memory.suspicion import gives_orders
from pointwork.store import Store, new_id
from pointwork.store.tables import models
from pointwork.text import count_tokens_estimate, tokenize

FEATURES = ("bias", "near_task", "new", "facts", "long", "outsider", "orders")
# Before anything is learned: share what is near the task, new, holds figures or names, and is short.
PRIOR = (0.2, 1.5, 2.0, 0.8, -1.0, -0.5, -6.0)
_EXPLORE = 0.05
_STEP, _PULL = 0.3, 0.02  # learning rate, and pull towards the prior
_ROLE = "memory-gate"
_KEPT = 20  # versions of the gate
_FACT = re.compile(r"\d|(?<=[a-z,] )[A-Z]\w+")


@dataclass(slots=True)
class Shared:
    """What a subtask offered and the gate admitted."""

    text: str
    by: str
    trust: str
    features: tuple[float, ...]
    readers: set[str] = field(default_factory=set[str])
    credit: float = 0.0


class Gate:
    """How likely an offer will be of use: learned over runs, kept in the store."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self.weights: NDArray[np.float64] = np.array(PRIOR)
        self.lessons = 0
        self.refresh()

    def refresh(self) -> None:
        """Take over what others have learned meanwhile: the latest version in the store."""
        if self._store is None:
            return
        query = select(models.c.metrics).where(models.c.role == _ROLE, models.c.state == "live")
        row = self._store.row(query.order_by(models.c.created.desc(), models.c.id.desc()).limit(1))
        if row is not None:
            self.weights = np.array(row["metrics"]["weights"])
            self.lessons = int(row["metrics"]["lessons"])

    def probability(self, features: Sequence[float]) -> float:
        """That an offer with these features will be of use."""
        return 1 / (1 + math.exp(-float(np.clip(self.weights @ np.array(features), -30, 30))))

    def learn(self, features: Sequence[float], useful: float) -> None:
        """One lesson: ``useful`` from 0 to 1."""
        x = np.array(features)
        error = useful - self.probability(features)
        step = _STEP / math.sqrt(1 + self.lessons / 20)
        self.weights = self.weights + step * error * x + _PULL * step * (np.array(PRIOR) - self.weights)
        self.weights[-1] = min(self.weights[-1], PRIOR[-1])  # what gives orders is never worth learning to admit
        self.lessons += 1

    def save(self) -> None:
        """A new version in the store; of those before, the latest few stay."""
        if self._store is None:
            return
        metrics = {"weights": self.weights.tolist(), "lessons": self.lessons}
        number = new_id()
        latest = select(models.c.id).where(models.c.role == _ROLE)
        latest = latest.order_by(models.c.created.desc(), models.c.id.desc()).limit(_KEPT - 1)
        with self._store.write() as connection:
            kept = [row[0] for row in connection.execute(latest)]
            connection.execute(delete(models).where(models.c.role == _ROLE, models.c.id.not_in(kept)))
            values = {
                "id": number, "role": _ROLE, "version": number, "base": "logistic", "metrics": metrics,
                "state": "live", "created": clock.time(),
            }  # fmt: skip
            connection.execute(insert(models).values(**values))


class Board:
    """What the subtasks of one run share. Safe to use from several threads.

    Args:
        task: of the run.
        gate: decides what is admitted.
        seed: of its few random admissions.
        embedder: for nearness and novelty.
    """

    def __init__(self, task: str, gate: Gate, *, seed: int = 0, embedder: Embedder | None = None) -> None:
        self._embedder = embedder or default_embedder()
        self._task = self._embedder.embed([task])[0]
        self._gate = gate
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._items: list[Shared] = []
        self._vectors: list[NDArray[np.float32]] = []

    @property
    def items(self) -> list[Shared]:
        """What was admitted, in order."""
        return list(self._items)

    def offer(self, text: str, *, by: str, trust: str = "agent") -> bool:
        """Offer what a subtask found; True if it was admitted.

        Raises:
            UsageError: an unknown trust.
        """
        check_trust(trust)
        if not text.strip():
            return False
        with self._lock:
            vector = self._embedder.embed([text])[0]
            known = max((float(other @ vector) for other in self._vectors), default=0.0)
            features = (
                1.0,
                float(vector @ self._task),
                1 - max(known, 0.0) if known < 0.98 else -2.0,  # said already
                min(len(_FACT.findall(text)), 4) / 4,
                min(count_tokens_estimate(text) / 200, 3.0),
                float(trust in UNTRUSTED),
                float(trust != "user" and gives_orders(text)),
            )
            sure = self._gate.probability(features)
            if sure < 0.5 and (features[-1] or self._random.random() >= _EXPLORE):
                return False
            self._items.append(Shared(text, by, trust, features))
            self._vectors.append(vector)
            return True

    def read(
        self,
        question: str,
        *,
        by: str,
        k: int = 3,
        least: float = 0.2,
        without: Collection[str] = (),
        budget_tokens: int | None = None,
        fresh: bool = False,
    ) -> list[Shared]:
        """What others shared that fits a question, best first; remembered as read by this subtask.

        Args:
            question: of the subtask.
            by: the subtask that reads.
            k: how many at most.
            least: that it must fit: cosine and share of the question's words, together.
            without: subtasks whose answers it has anyway.
            budget_tokens: of all texts together.
            fresh: only what it has not read yet.
        """
        with self._lock:
            left = budget_tokens
            others = [
                n
                for n, item in enumerate(self._items)
                if item.by != by and item.by not in without and not (fresh and by in item.readers)
            ]
            vector, asked = self._embedder.embed([question])[0], set(tokenize(question))
            scored: list[tuple[float, int]] = []
            for n in others:
                shared = len(asked & set(tokenize(self._items[n].text))) / (len(asked) or 1)
                scored.append((float(self._vectors[n] @ vector) + shared, n))
            best: list[Shared] = []
            for score, n in sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:k]:
                cost = count_tokens_estimate(self._items[n].text)
                if score > least and (left is None or cost <= left):
                    left = None if left is None else left - cost
                    self._items[n].readers.add(by)
                    best.append(self._items[n])
            return best

    def finished(self, by: str, success: float, *, asked: str = "", said: str | None = None) -> None:
        """A subtask ended: what it had read, and used, shares the credit of its success.

        Args:
            by: the subtask.
            success: 0 to 1.
            asked: its question.
            said: its answer and what it called tools with. An item was used if a word of it that was not asked
                stands there; None: whatever was read was used.
        """
        words = None if said is None else set(tokenize(said)) - set(tokenize(asked))
        with self._lock:
            for item in self._items:
                if by in item.readers and (words is None or words & set(tokenize(item.text))):
                    item.credit = max(item.credit, success)

    def withdraw(self, by: str) -> None:
        """What a subtask offered has not passed its checks: nobody shall read it, and it is no lesson."""
        with self._lock:
            kept = [n for n, item in enumerate(self._items) if item.by != by]
            self._items = [self._items[n] for n in kept]
            self._vectors = [self._vectors[n] for n in kept]

    def close(self) -> None:
        """The run ended: teach the gate, and keep what it learned."""
        if not self._items:
            return
        with self._lock:
            self._gate.refresh()
            for item in self._items:
                self._gate.learn(item.features, item.credit)
        self._gate.save()
