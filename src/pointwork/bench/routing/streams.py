"""A router on a full-information set: it decides, and hears only of the arm that it chose."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pointwork.bench.routing.sets import Full
from pointwork.embedding import Embedder, Vectors
from pointwork.router import Outcome, Router
from pointwork.router.core import as_ints
from pointwork.router.router import text_features

Array = npt.NDArray[np.float64]
Slots = npt.NDArray[np.intp]


class Remembered:
    """The router's own text features, each text embedded once for all seeds."""

    def __init__(self, inner: Embedder | None = None) -> None:
        self._inner = inner or text_features()
        self._known: dict[str, Vectors] = {}

    @property
    def version(self) -> str:
        return self._inner.version

    @property
    def dims(self) -> int:
        return self._inner.dims

    def embed(self, texts: Sequence[str]) -> Vectors:
        """As the embedder behind it."""
        for text in texts:
            if text not in self._known:
                self._known[text] = self._inner.embed([text])[0]
        return np.array([self._known[text] for text in texts], np.float32).reshape(len(texts), self.dims)


@dataclass(frozen=True)
class Stream:
    """What happened: (T,) each. ``best``: quality of the best arm for each request."""

    chosen: Slots
    quality: Array
    usd: Array
    best: Array
    router: Router

    def half(self) -> slice:
        """The second half."""
        return slice(len(self.quality) // 2, None)


def stream(
    full: Full,
    router: Router,
    order: Slots,
    change: Callable[[int, Router], Full | None] = lambda _now, _router: None,
) -> Stream:
    """Serve the requests in this order, with bandit feedback only.

    Args:
        full: the set. router: a new one. order: (T,), indices of requests.
        change: called before each request with how many were served; another set replaces the present one.
    """
    slots = {arm.name: i for i, arm in enumerate(full.arms)}
    chosen, quality, usd, best = (np.zeros(len(order)) for _ in range(4))
    for now, index in enumerate(as_ints(order)):
        changed = change(now, router)
        if changed is not None:
            full, slots = changed, {arm.name: i for i, arm in enumerate(changed.arms)}
        if full.features is None:
            decision = router.decide(full.texts[index])
        else:
            decision = router.decide(features=full.features[index])
        arm = slots[decision.arm]
        quality[now], usd[now], chosen[now] = full.quality[index, arm], full.usd[index, arm], arm
        best[now] = full.quality[index].max()
        if np.isnan(quality[now]):  # the arm is dead
            quality[now] = 0.0
            router.learn(decision.id, Outcome(usd=0.0, error="no answer"))
        else:
            router.learn(decision.id, Outcome(float(quality[now]), float(usd[now])))
    return Stream(chosen.astype(np.intp), quality, usd, best, router)


def orders(full: Full, seeds: int, most: int = 5000) -> list[Slots]:
    """Shuffles of the set, one per seed."""
    return [
        np.random.default_rng(1000 + seed).permutation(len(full))[:most].astype(np.intp) for seed in range(seeds)
    ]
