"""How long training will take, from what this store has seen and this machine can do. No torch here."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sqlalchemy import select

from pointwork.store import Store
from pointwork.store.tables import runs
from pointwork.training.data import collect
from pointwork.training.rollouts import ROUTER

# Where nothing was seen yet: seconds and trained tokens (prompt prefixes once) of a trial.
SECONDS, TOKENS = 10.0, 1500.0
# Share of a matrix product's speed that a training step reaches, measured on two cores with SmolLM2-135M.
REACHED = 0.5
_LATEST = 200


@dataclass(frozen=True)
class Estimate:
    """Seconds of each part.

    Attributes:
        collect, train, verify, evaluate: of each stage. seen: trials in the store that the first and last rest on.
    """

    collect: float
    train: float
    verify: float
    evaluate: float
    seen: int

    @property
    def whole(self) -> float:
        """All of it."""
        return self.collect + self.train + self.verify + self.evaluate

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types, in whole seconds."""
        return {name: round(value) for name, value in {**asdict(self), "whole": self.whole}.items()}


def estimate(
    store: Store,
    *,
    trials: int,
    evaluations: int,
    steps: int,
    groups: int,
    most: int,
    parameters: float,
    workers: int,
) -> Estimate:
    """How long a turn of the loop takes.

    Args:
        store: whose earlier trials are asked. trials: to collect. evaluations: trials of the evaluation.
        steps, groups, most: optimiser steps, groups of each, trials of a group at most.
        parameters: of the model. workers: that try tasks.
    """
    seconds, tokens, seen = _seen(store)
    per_step = tokens * min(groups * most, trials or groups * most)
    flops = 4.0 * parameters * per_step * steps  # an adapter's base has no gradient of its own
    return Estimate(
        collect=seconds * trials / workers,
        train=20.0 + flops / (REACHED * matrix_speed()),
        verify=30.0,
        evaluate=seconds * evaluations / workers,
        seen=seen,
    )


def _seen(store: Store) -> tuple[float, float, int]:
    from pointwork.store.tables import decisions

    drawn = select(decisions.c.run_id).where(decisions.c.router == ROUTER)
    rows = store.rows(
        select(runs.c.id, runs.c.created, runs.c.finished)
        .where(runs.c.id.in_(drawn), runs.c.finished.is_not(None))
        .order_by(runs.c.created.desc())
        .limit(_LATEST)
    )
    if not rows:
        return SECONDS, TOKENS, 0
    report = collect(store, run_ids=[row["id"] for row in rows]).report
    tokens = report.distinct_tokens / report.rollouts if report.rollouts else TOKENS
    return float(np.mean([row["finished"] - row["created"] for row in rows])), tokens, len(rows)


def matrix_speed(size: int = 512, seconds: float = 0.2) -> float:
    """Floating-point operations per second of float32 matrix products, measured for a moment."""
    a = np.random.default_rng(0).random((size, size), np.float32)
    product = a @ a
    started, count = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        np.matmul(a, a, out=product)
        count += 1
    return 2.0 * size**3 * count / (time.perf_counter() - started)


def shown(seconds: Mapping[str, float]) -> str:
    """Seconds by stage, in words."""
    return ", ".join(f"{name} {_short(value)}" for name, value in seconds.items())


def _short(seconds: float) -> str:
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
