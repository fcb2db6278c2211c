"""A router's network or forest from its own log: of the older part, judged on the newer by promotion's gate."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from pointwork.router import Router
from pointwork.router.offline import Logged, doubly_robust, enough
from pointwork.router.policies.base import Array
from pointwork.router.policies.trees import grow, write_forest
from pointwork.router.trial import Trial

if TYPE_CHECKING:  # torch comes with the network, and only with it
    from pointwork.training.policies import Lessons, Recipe

Learnt = Literal["neural", "trees"]
# Most that one decision may weigh: at the exploration floor, 1/p goes to the hundreds.
MOST = 20.0


class Judge(Protocol):
    """What was learnt: it says the quality (n, K) of contexts (n, d)."""

    def quality(self, contexts: Array) -> Array:
        """Predicted quality of every arm."""
        ...


@dataclass(frozen=True)
class TrainedRouter:
    """A network or a forest for a router.

    Attributes:
        policy: that reads it, ``neural`` or ``trees``.
        path: the file that the policy reads; it has to stay there while the policy is used.
        decisions: that were learnt from. epochs: of each network.
        seen: arm -> decisions on it. prediction: mean squared error of its predictions on the decisions that it
            learnt from (of a forest grown on the older four fifths, on the last fifth); usual: of each arm's mean.
    """

    policy: Learnt
    path: Path
    decisions: int
    epochs: tuple[int, ...]
    seen: Mapping[str, int]
    prediction: float
    usual: float

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        plain = {
            "policy": self.policy,
            "path": str(self.path),
            "decisions": self.decisions,
            "seen": dict(self.seen),
        }
        errors = {"squared_error": self.prediction, "squared_error_of_means": self.usual}
        return {**plain, "epochs": list(self.epochs), **errors}


def lessons_of(logged: Logged, prices: Array, *, most: float = MOST) -> "Lessons":
    """Logged decisions as lessons: R̂ doubly robust for every arm that could be drawn.

    Args:
        logged: n decisions, K arms. prices: (n, K).
        most: of a decision's weight 1/p.
    """
    from pointwork.training.policies import Lessons

    seen = np.full(prices.shape, np.nan)
    seen[np.arange(len(logged)), logged.chosen] = logged.quality
    worth = doubly_robust(logged, logged.quality, most=most) if len(logged) else np.zeros(prices.shape)
    return Lessons(logged.names, logged.contexts, seen, np.where(logged.propensities > 0, worth, np.nan), prices)


def train_router(
    router: Router,
    folder: Path,
    *,
    policy: Learnt = "neural",
    train: float = 0.5,
    seed: int = 0,
    recipe: "Recipe | None" = None,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
) -> TrainedRouter:
    """Train a network on the older part of a router's log, or grow a forest, and write it for its policy to read.

    Args:
        router: with a store.
        folder: for the file; its name holds a digest of its content, so that nothing is overwritten.
        policy: ``neural``, by the exact gradient (torch), or ``trees``, of doubly robust qualities (numpy alone).
        train: the part of the decisions, the oldest; give ``promote`` the same.
        seed: of everything drawn. recipe: of the network, with a seed of its own; None: the defaults.
        tell: told networks done, of how many.

    Raises:
        UsageError: the router has no store, or its log has too few decisions with a known quality.
    """
    learnt = router.lessons(train=train)
    logged = learnt.logged
    epochs: tuple[int, ...] = ()
    if policy == "trees":
        enough(len(logged))
        worth = doubly_robust(logged, logged.quality, most=MOST)
        forest = grow(logged.names, logged.contexts, worth, seed)
        path = _named(folder, router.name, lambda file: write_forest(file, forest))
        # a forest knows what it has seen by heart, so its error there says nothing
        older = len(logged) * 4 // 5
        judge = grow(logged.names, logged.contexts[:older], worth[:older], seed)
    else:
        older = 0
        from pointwork.training.policies import Recipe, train_policy

        network = train_policy(lessons_of(logged, learnt.prices), recipe or Recipe(seed=seed), tell=tell)
        judge, epochs = network, tuple(len(curve) for curve in network.curve)
        path = _named(folder, router.name, network.write)
    return TrainedRouter(policy, path, len(logged), epochs, *_compared(logged, judge, older))


def _compared(logged: Logged, judge: Judge, first: int) -> tuple[dict[str, int], float, float]:
    """Decisions on each arm; the squared errors of what was learnt, and of each arm's mean, from ``first`` on."""
    quality, chosen = logged.quality, logged.chosen
    counts = np.bincount(chosen, minlength=len(logged.names))
    means = np.bincount(chosen, weights=quality, minlength=len(counts)) / np.maximum(counts, 1)
    said = judge.quality(logged.contexts)[np.arange(len(logged)), chosen]
    errors = [float(((guess - quality)[first:] ** 2).mean()) for guess in (said, means[chosen])]
    return dict(zip(logged.names, counts.tolist(), strict=True)), errors[0], errors[1]


def promote_router(router: Router, trained: TrainedRouter, *, train: float = 0.5) -> Trial:
    """Make it the router's policy if the newer part of the log proves it better: ``Router.promote``."""
    return router.promote(trained.policy, {"path": str(trained.path)}, train=train)


def _named(folder: Path, name: str, write: Callable[[str], None]) -> Path:
    """Write a file of arrays under a name that holds their digest."""
    folder.mkdir(parents=True, exist_ok=True)
    handle, written = tempfile.mkstemp(suffix=".npz", dir=folder)
    os.close(handle)
    try:
        write(written)
        digest = hashlib.sha256()
        with np.load(written, allow_pickle=False) as arrays:
            for array in arrays.files:
                digest.update(np.ascontiguousarray(arrays[array]).tobytes())
        safe = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in name)
        path = folder / f"{safe}-{digest.hexdigest()[:12]}.npz"
        os.replace(written, path)
    finally:
        Path(written).unlink(missing_ok=True)
    return path.resolve()
