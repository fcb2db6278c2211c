"""A router's network from its own log: trained on the older part, judged on the newer by the gate of promotion."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pointwork.router import Router
from pointwork.router.offline import Logged, doubly_robust
from pointwork.router.trial import Trial
from pointwork.training.policies import Array, Lessons, Recipe, Trained, train_policy

# Most that one decision may weigh: at the exploration floor, 1/p goes to the hundreds.
MOST = 20.0


@dataclass(frozen=True)
class TrainedRouter:
    """A network for a router.

    Attributes:
        path: the file that the policy ``neural`` reads; it has to stay there while the policy is used.
        decisions: that were learnt from. trained: the network and its curve.
        seen: arm -> decisions on it. prediction: mean squared error of its predictions on the decisions that it
            learnt from; usual: that of each arm's mean.
    """

    path: Path
    decisions: int
    trained: Trained
    seen: Mapping[str, int]
    prediction: float
    usual: float

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        plain = {"path": str(self.path), "decisions": self.decisions, "seen": dict(self.seen)}
        epochs = [len(curve) for curve in self.trained.curve]
        return {**plain, "epochs": epochs, "squared_error": self.prediction, "squared_error_of_means": self.usual}


def lessons_of(logged: Logged, prices: Array, *, most: float = MOST) -> Lessons:
    """Logged decisions as lessons: R̂ doubly robust for every arm that could be drawn.

    Args:
        logged: n decisions, K arms. prices: (n, K).
        most: of a decision's weight 1/p.
    """
    seen = np.full(prices.shape, np.nan)
    seen[np.arange(len(logged)), logged.chosen] = logged.quality
    worth = doubly_robust(logged, logged.quality, most=most) if len(logged) else np.zeros(prices.shape)
    return Lessons(logged.names, logged.contexts, seen, np.where(logged.propensities > 0, worth, np.nan), prices)


def train_router(
    router: Router,
    folder: Path,
    *,
    train: float = 0.5,
    recipe: Recipe | None = None,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
) -> TrainedRouter:
    """Train a network on the older part of a router's log, and write it where the policy ``neural`` finds it.

    Args:
        router: with a store.
        folder: for the file; its name holds a digest of its content, so that nothing is overwritten.
        train: the part of the decisions, the oldest; give ``promote`` the same.
        recipe: how; None: the defaults. tell: told networks done, of how many.

    Raises:
        UsageError: the router has no store, or its log has too few decisions with a known quality.
    """
    learnt = router.lessons(train=train)
    lessons = lessons_of(learnt.logged, learnt.prices)
    trained = train_policy(lessons, recipe, tell=tell)
    path = write(trained, folder, router.name)
    rows = np.arange(len(learnt.logged))
    quality, chosen = learnt.logged.quality, learnt.logged.chosen
    means = np.array(
        [quality[chosen == arm].mean() if (chosen == arm).any() else 0.0 for arm in range(len(lessons.names))]
    )
    error = (trained.quality(lessons.contexts)[rows, chosen] - quality) ** 2
    counts = {name: int((chosen == arm).sum()) for arm, name in enumerate(lessons.names)}
    usual = float(((means[chosen] - quality) ** 2).mean())
    return TrainedRouter(path, len(rows), trained, counts, float(error.mean()), usual)


def promote_router(router: Router, trained: TrainedRouter, *, train: float = 0.5) -> Trial:
    """Make the network the router's policy if the newer part of the log proves it better: ``Router.promote``."""
    return router.promote("neural", {"path": str(trained.path)}, train=train)


def write(trained: Trained, folder: Path, name: str) -> Path:
    """Write a network under a name that holds its digest."""
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    for array in _arrays(trained):
        digest.update(np.ascontiguousarray(array).tobytes())
    safe = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in name)
    path = folder / f"{safe}-{digest.hexdigest()[:12]}.npz"
    trained.write(path)
    return path.resolve()


def _arrays(trained: Trained) -> Sequence[Array]:
    return [array for layer in trained.layers for array in layer]
