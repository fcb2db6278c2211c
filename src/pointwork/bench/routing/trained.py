"""The network of ``pointwork train router`` beside a ridge: taught on training prompts, judged on the test prompts.

Taught with every arm's outcome (full information), or with that of one arm per prompt, drawn uniformly (logged: the
other arms' doubly robust). The same recipe on all sets; seeds are those of the network, and of draws and splits.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pointwork.bench.routing import sets
from pointwork.bench.routing.lines import Line, apgr, line
from pointwork.bench.routing.sets import Full
from pointwork.router.features import Features
from pointwork.router.offline import Logged
from pointwork.router.policies.trees import grow
from pointwork.router.router import text_features

Array = npt.NDArray[np.float64]
Predict = Callable[[Array, Array, int], Callable[[Array], Array]]
"""From contexts (n, d), qualities (n, K) and a seed to a predictor of qualities."""

# Of the ridge beside it: a router's own to begin with, and its mean is not shrunk.
RIDGE = 0.5


def trained(data: Path, seeds: int, policy: str) -> list[Line]:
    """LLMRouter's nine models, and RouteLLM's two on MMLU; ``policy`` is not asked."""
    return [*_llmrouter(sets.llmrouter(data), seeds), *_mmlu(sets.mmlu(data), seeds)]


def _llmrouter(full: Full, seeds: int) -> list[Line]:
    contexts = contexts_of(full)
    train = np.array([group == "train" for group in full.groups])
    single, oracle = (
        float(v) for v in (full.quality[~train].mean(axis=0).max(), full.quality[~train].max(axis=1).mean())
    )
    lines = list[Line]()
    for name, taught, target in _TAUGHT:
        scores: list[float] = []
        for seed in range(seeds):
            chosen = taught(contexts[train], full.quality[train], seed)(contexts[~train]).argmax(axis=1)
            scores.append(float(full.quality[~train][np.arange(len(chosen)), chosen].mean()))
        goal = "≥ 0.585" if target else ""
        lines.append(line("trained", f"llmrouter, {name}", scores, goal, single=single, oracle=oracle))
    return lines


def _mmlu(full: Full, seeds: int) -> list[Line]:
    contexts, groups = contexts_of(full), np.array(full.groups)
    lines = list[Line]()
    for name, taught, target in _TAUGHT:
        found: dict[str, list[float]] = {"half": [], "domains": []}
        for seed in range(seeds):
            # the same splits as the part ``mmlu``
            rng = np.random.default_rng(seed)
            picked = set(rng.permutation(np.unique(groups))[: len(np.unique(groups)) // 2].tolist())
            splits = {"half": rng.random(len(full)) < 0.5, "domains": np.array([g in picked for g in full.groups])}
            for split, train in splits.items():
                means = taught(contexts[train], full.quality[train], seed)(contexts[~train])
                found[split].append(apgr(means[:, 1] - means[:, 0], full.quality[~train]))
        for split, goal in (("half", "≥ 0.69"), ("domains", "≥ 0.57")):
            lines.append(line("trained", f"mmlu APGR {split}, {name}", found[split], goal if target else ""))
    return lines


def contexts_of(full: Full) -> Array:
    """The shared block of the contexts that a router would have, (n, d)."""
    features = Features(text_features())
    return np.array([features.of_text(text) for text in full.texts])


def ridge(contexts: Array, quality: Array, seed: int) -> Callable[[Array], Array]:
    """A ridge per arm on every outcome."""
    usual: Array = quality.mean(axis=0)
    x = np.column_stack((np.ones(len(contexts)), contexts)).astype(np.float64)
    gram: Array = x.T @ x + RIDGE * np.eye(len(x.T))
    weights = np.linalg.solve(gram, x.T @ (quality - usual)).astype(np.float64)

    def predict(new: Array) -> Array:
        return np.column_stack((np.ones(len(new)), new)) @ weights + usual

    return predict


def trees(contexts: Array, quality: Array, seed: int) -> Callable[[Array], Array]:
    """The forest of the policy ``trees`` on every outcome."""
    return grow([str(arm) for arm in range(quality.shape[1])], contexts, quality, seed).quality


def network(contexts: Array, quality: Array, seed: int) -> Callable[[Array], Array]:
    """The network on every outcome."""
    from pointwork.training.policies import Lessons, Recipe, train_policy

    lessons = Lessons.full([str(arm) for arm in range(quality.shape[1])], contexts, quality)
    return train_policy(lessons, Recipe(seed=seed)).quality


def network_of_log(contexts: Array, quality: Array, seed: int) -> Callable[[Array], Array]:
    """The network on the outcome of one arm per request, drawn uniformly."""
    from pointwork.training.policies import Recipe, train_policy
    from pointwork.training.routing import lessons_of

    count, arms = len(quality), len(quality.T)
    chosen = np.random.default_rng(seed).integers(0, arms, count).astype(np.intp)
    names: Sequence[str] = [str(arm) for arm in range(arms)]
    seen = quality[np.arange(count), chosen]
    log = Logged(names, contexts, chosen, np.full((count, arms), 1.0 / arms), seen, np.full(count, np.nan))
    return train_policy(lessons_of(log, np.zeros((count, arms))), Recipe(seed=seed)).quality


_TAUGHT: tuple[tuple[str, Predict, bool], ...] = (
    ("ridge, full information", ridge, False),
    ("trees, full information", trees, True),
    ("network, full information", network, True),
    ("network, one arm logged per prompt", network_of_log, False),
)
