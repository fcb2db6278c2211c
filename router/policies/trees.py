"""A forest of extremely randomised trees, grown from a log or from labels, served in numpy.

Geurts, Ernst and Wehenkel, "Extremely randomized trees", 2006: each node draws some features and one threshold
for each, and keeps the split that takes most of the variance away, here summed over all arms. It tells kinds of
requests apart by their form, which a linear model of an embedding can not. Grown offline (``grow``,
``write_forest``), it does not learn as it goes. It goes live like any other: ``router promote trees -o path=FILE``.
"""

import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pointwork.errors import UsageError
from pointwork.router.policies.base import Array
from pointwork.router.policies.served import TEMPERATURE, Served

Ints = npt.NDArray[np.intp]

TREES = 100
# Requests in a leaf at least, and the share of features that a node looks at: chosen by cross-validation inside
# the training parts of LLMRouter and RouteLLM.
LEAF = 15
SHARE = 0.3


@dataclass(frozen=True)
class Forest:
    """Trees as arrays over all their N nodes.

    Attributes:
        arms: what the K outputs stand for. inputs: length of what it reads (d).
        roots: (T,), first node of each tree.
        feature: (N,), which input a node asks about; -1: a leaf. threshold: (N,), at most this goes left.
        left, right: (N,), the nodes below. value: (N, K), mean quality of the requests that came here.
    """

    arms: tuple[str, ...]
    inputs: int
    roots: Ints
    feature: Ints
    threshold: Array
    left: Ints
    right: Ints
    value: Array

    def quality(self, contexts: Array) -> Array:
        """Predicted quality (n, K) of requests (n, d): the mean over the trees."""
        rows, nodes = np.arange(len(contexts))[:, None], np.tile(self.roots, (len(contexts), 1))
        while True:
            asked = self.feature[nodes]
            if (asked < 0).all():
                return self.value[nodes].mean(axis=1)
            left = contexts[rows, asked] <= self.threshold[nodes]
            nodes = np.where(asked < 0, nodes, np.where(left, self.left[nodes], self.right[nodes]))


def grow(
    arms: Sequence[str],
    contexts: Array,
    quality: Array,
    seed: int = 0,
    *,
    trees: int = TREES,
    leaf: int = LEAF,
    share: float = SHARE,
) -> Forest:
    """Grow a forest.

    Args:
        arms: names, K. contexts: (n, d), shared blocks as ``Features.of_text`` makes them.
        quality: (n, K), of every arm: known, or estimated (``offline.doubly_robust``).
        seed: of the splits. trees, leaf, share: how many, requests in a leaf, features that a node looks at.

    Raises:
        UsageError: shapes that do not fit together, or fewer than two requests.
    """
    if contexts.ndim != 2 or quality.shape != (len(contexts), len(arms)) or len(contexts) < 2:
        raise UsageError(
            f"a forest of {len(arms)} arms needs contexts (n, d) and qualities (n, {len(arms)}) of at least two "
            f"requests, not {contexts.shape} and {quality.shape}"
        )
    rng, nodes = np.random.default_rng(seed), _Nodes()
    looked = max(1, round(share * contexts.shape[1]))
    roots = [nodes.tree(contexts, quality, rng, leaf, looked) for _ in range(trees)]
    return Forest(
        tuple(arms),
        contexts.shape[1],
        np.array(roots, np.intp),
        np.array(nodes.feature, np.intp),
        np.array(nodes.threshold, np.float64),
        np.array(nodes.left, np.intp),
        np.array(nodes.right, np.intp),
        np.array(nodes.value, np.float64),
    )


class _Nodes:
    """Nodes as they grow."""

    def __init__(self) -> None:
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.value: list[Array] = []

    def _add(self, quality: Array) -> int:
        self.feature.append(-1)
        self.threshold.append(0.0)
        self.left.append(0)
        self.right.append(0)
        self.value.append(quality.mean(axis=0))
        return len(self.value) - 1

    def tree(self, contexts: Array, quality: Array, rng: np.random.Generator, leaf: int, looked: int) -> int:
        """Grow one tree. Returns its first node."""
        root = self._add(quality)
        waiting = [(root, np.arange(len(contexts)))]
        while waiting:
            node, rows = waiting.pop()
            found = _split(contexts, quality, rows, rng, leaf, looked)
            if found is None:
                continue
            feature, threshold, goes_left = found
            self.feature[node], self.threshold[node] = feature, threshold
            below = rows[goes_left], rows[~goes_left]
            self.left[node], self.right[node] = (self._add(quality[part]) for part in below)
            waiting += zip((self.left[node], self.right[node]), below, strict=True)
        return root


def _split(
    contexts: Array, quality: Array, rows: Ints, rng: np.random.Generator, leaf: int, looked: int
) -> tuple[int, float, npt.NDArray[np.bool_]] | None:
    """The best of some random splits: feature, threshold and who goes left; None where none is any good."""
    count = len(rows)
    if count < 2 * leaf:
        return None
    features = rng.permutation(contexts.shape[1])[:looked]
    x, y = contexts[rows[:, None], features], quality[rows]
    low, high = x.min(axis=0), x.max(axis=0)
    thresholds = low + rng.random(looked) * (high - low)
    left = x <= thresholds
    size = left.sum(axis=0)
    y = y - y.mean(axis=0)
    sums = left.T.astype(np.float64) @ y
    good = (size >= leaf) & (count - size >= leaf)
    if not good.any():
        return None
    # with y centred, what the split takes off the sum of squares: s²/n_left + s²/n_right, over all arms
    gains = np.where(good, (sums**2).sum(axis=1) * count / np.maximum(size * (count - size), 1), -np.inf)
    best = int(gains.argmax())
    if gains[best] <= 1e-12:
        return None
    return int(features[best]), float(thresholds[best]), left[:, best]


class Trees(Served):
    """``Served``: a forest's quality."""

    name = "trees"

    def __init__(self, path: str | None = None, temperature: float = TEMPERATURE) -> None:
        super().__init__(path, temperature)
        self._forest = None if self.path is None else read_forest(self.path)

    @property
    def version(self) -> str:
        forest = self._forest
        mark = "ungrown" if forest is None else f"{len(forest.roots)}x{len(forest.value)}:{forest.value.sum():.8g}"
        return f"trees-1({mark},temperature={self.temperature:g})"

    @property
    def inputs(self) -> int | None:
        return None if self._forest is None else self._forest.inputs

    def judged(self, context: Array) -> dict[str, float]:
        assert self._forest is not None
        return dict(zip(self._forest.arms, self._forest.quality(context[None])[0].tolist(), strict=True))


_ARRAYS = ("roots", "feature", "threshold", "left", "right", "value")


def write_forest(path: str | os.PathLike[str], forest: Forest) -> None:
    """Write a forest for ``Trees`` to read: one ``.npz`` file."""
    arrays = {name: getattr(forest, name) for name in _ARRAYS}
    with open(path, "wb") as file:
        np.savez_compressed(
            file,
            allow_pickle=False,
            **arrays,
            inputs=np.array(forest.inputs),
            arms=np.array(forest.arms, dtype=np.str_),
        )


def read_forest(path: str) -> Forest:
    """The forest in a file.

    Raises:
        UsageError: not there, or not of this form.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            roots, feature, threshold, left, right, value = (np.asarray(file[name]) for name in _ARRAYS)
            arms, inputs = tuple(str(arm) for arm in file["arms"]), int(file["inputs"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} does not hold a forest for the router: {error}") from error
    count = len(value)
    below = np.arange(count) * (feature >= 0)
    fits = (
        value.shape == (count, len(arms))
        and all(len(column) == count for column in (feature, threshold, left, right))
        and len(roots) > 0
        and (roots >= 0).all()
        and (roots < count).all()
        and (feature < inputs).all()
        # children come after their parents, so that every way ends
        and ((feature < 0) | ((left > below) & (right > below) & (left < count) & (right < count))).all()
        and np.isfinite(value).all()
    )
    if not fits:
        raise UsageError(f"{path} does not hold a forest for the router: its nodes do not fit together")
    return Forest(
        arms,
        inputs,
        roots.astype(np.intp),
        feature.astype(np.intp),
        threshold.astype(np.float64),
        left.astype(np.intp),
        right.astype(np.intp),
        value.astype(np.float64),
    )
