"""Sets with a training and a test part: what a router knows after so many requests, and what could be known.

Each is learnt in two ways: *taught*, all arms' outcomes of each request (full information), and *online*, from
nothing, one pass in which only the chosen arm's outcome is heard. The ceiling is a ridge fitted at once on all of
the training part, on the same features, its strength chosen by leaving one out.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pointwork.bench.routing import sets
from pointwork.bench.routing.lines import Line, apgr, line
from pointwork.bench.routing.sets import Full
from pointwork.bench.routing.streams import Remembered, stream
from pointwork.errors import UsageError
from pointwork.extras import require
from pointwork.router import Outcome, Router
from pointwork.router.core import as_ints
from pointwork.router.features import Features

Array = npt.NDArray[np.float64]
Slots = npt.NDArray[np.intp]
Judge = Callable[[Array, Array], float]  # predicted and real quality (n, K) to a figure

# Requests of the training part after which the test part is asked about.
POINTS = (0, 50, 100, 200, 500, 1000, 2000, 4000)
_RIDGES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
# US dollars per request at which half of RouteLLM's questions can go to GPT-4 (800 and 200 tokens).
_HALF = (8e-4 + 1.4e-2) / 2


def llmrouter(data: Path, seeds: int, policy: str) -> list[Line]:
    """Nine models, taught all outcomes of the training prompts or one arm's of each; judged on the test prompts."""
    full, embedder = sets.llmrouter(data), Remembered()
    train, test = _groups(full, "train"), _groups(full, "test")
    beside = {
        "single": float(full.quality[test].mean(axis=0).max()),
        "oracle": float(full.quality[test].max(axis=1).mean()),
        "ceiling": ceiling(full, train, test, embedder, greedy),
    }
    known, online = list[float](), list[float]()
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(train)  # the file is sorted by task
        known.append(taught(full, Router(full.arms, policy, seed=seed, embedder=embedder), order, test, greedy)[-1])
        run = stream(full, Router(full.arms, policy, seed=seed, embedder=embedder), order)
        online.append(greedy(means(run.router, full, test), full.quality[test]))
    return [
        line("llmrouter", "full information", known, "≥ 0.585", **beside),
        line("llmrouter", "bandit, one pass", online, "≥ 0.57", **beside),
    ]


def mmlu(data: Path, seeds: int, policy: str) -> list[Line]:
    """Mixtral or GPT-4: area under the curve of recovered gap against the share of GPT-4 calls (APGR)."""
    full, embedder = _priced(sets.mmlu(data)), Remembered()
    lines = list[Line]()
    for name, goal in (("half split", "≥ 0.69"), ("held-out domains", "≥ 0.57")):
        known, ceilings = list[float](), list[float]()
        for seed in range(seeds):
            train, test = split(full, seed, domains=name != "half split")
            router = Router(full.arms, policy, seed=seed, embedder=embedder)
            known.append(taught(full, router, train, test, gap)[-1])
            ceilings.append(ceiling(full, train, test, embedder, gap))
        lines.append(line("routellm mmlu", f"APGR, {name}", known, goal, ceiling=float(np.mean(ceilings))))
    curves = [_mmlu_online(full, embedder, policy, seed) for seed in range(seeds)]
    for place, count in enumerate(POINTS):
        if count in (0, 200, 1000, 4000):
            lines.append(
                line("routellm mmlu", f"APGR, online, after {count} labels", [curve[place] for curve in curves])
            )
    return lines


def split(full: Full, seed: int, *, domains: bool) -> tuple[Slots, Slots]:
    """Training and test requests, in random order: half of them, or half of the subjects."""
    rng, groups = np.random.default_rng(seed), np.array(full.groups)
    kinds = np.unique(groups)
    picked = set(rng.permutation(kinds)[: len(kinds) // 2].tolist())
    half = rng.random(len(full)) < 0.5
    trained = np.array([group in picked for group in full.groups]) if domains else half
    return rng.permutation(np.flatnonzero(trained)), np.flatnonzero(~trained)


def taught(
    full: Full, router: Router, order: Slots, test: Slots, judge: Judge, points: Sequence[int] = ()
) -> list[float]:
    """The figure after so many requests with all their outcomes, and after the last."""
    found = list[float]()
    for number, index in enumerate(as_ints(order)):
        if number in points:
            found.append(judge(means(router, full, test), full.quality[test]))
        outcomes = {arm.name: Outcome(float(full.quality[index, slot])) for slot, arm in enumerate(full.arms)}
        router.teach(outcomes, full.texts[index])
    found.append(judge(means(router, full, test), full.quality[test]))
    return found


def served(
    full: Full, router: Router, order: Slots, test: Slots, judge: Judge, points: Sequence[int]
) -> list[float]:
    """The same online, hearing of the chosen arm only; ``points`` within the order."""
    found = list[float]()

    def look(now: int, router: Router) -> None:
        if now in points:
            found.append(judge(means(router, full, test), full.quality[test]))

    stream(full, router, order, look)
    return found


def means(router: Router, full: Full, rows: Slots) -> Array:
    """Predicted quality (n, K) of these requests, which the router forgets at once."""
    core = router._core  # pyright: ignore[reportPrivateUsage]
    features = core.prepare(None)
    state = core.health.features(None, 1.0)
    weights, found = core.estimates.regression.weights[:, 0], np.empty((len(rows), len(full.arms)))
    for number, index in enumerate(as_ints(rows)):
        contexts = features.contexts(features.of_text(full.texts[index]), state)
        found[number] = core.estimates.prior[:, 0] + (weights * contexts).sum(axis=1)
    return found


def greedy(predicted: Array, quality: Array) -> float:
    """Mean quality when each request goes to the arm that is predicted to be best."""
    return float(quality[np.arange(len(quality)), predicted.argmax(axis=1)].mean())


def gap(predicted: Array, quality: Array) -> float:
    """APGR, as requests go to the strong one of two models by predicted gain."""
    return apgr(predicted[:, 1] - predicted[:, 0], quality)


def ceiling(full: Full, train: Slots, test: Slots, embedder: Remembered, judge: Judge) -> float:
    """The figure of a ridge fitted at once on the router's features and all outcomes of the training part."""
    features = Features(embedder)

    def rows(which: Slots) -> Array:
        inner = np.array([features.of_text(full.texts[index]) for index in as_ints(which)])
        return np.column_stack((np.full(len(which), features.bias), inner))

    x, y = rows(train), full.quality[train]
    usual = y.mean(axis=0)
    values, vectors = np.linalg.eigh(x.T @ x)
    turned = x @ vectors
    moments = turned.T @ (y - usual)
    best, chosen = np.inf, np.zeros_like(moments)
    for ridge in _RIDGES:
        fit = moments / (values + ridge)[:, None]
        known = (turned**2 / (values + ridge)).sum(axis=1)
        left_out = ((((y - usual) - turned @ fit) / (1 - known)[:, None]) ** 2).mean()
        if left_out < best:
            best, chosen = float(left_out), fit
    return judge(usual + rows(test) @ (vectors @ chosen), full.quality[test])


def draw(data: Path, seeds: int, policy: str, path: Path) -> None:
    """Learning curves on both sets, with what is best without learning and the ceiling.

    Raises:
        ImportError: matplotlib is not installed; the message names the extra.
        UsageError: the data are not there, or the picture can not be written.
    """
    backend: Any = require("matplotlib.backends.backend_agg")
    figures: Any = require("matplotlib.figure")
    figure: Any = figures.Figure(figsize=(11, 4.2), layout="constrained")
    backend.FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    full, embedder = sets.llmrouter(data), Remembered()
    train, test = _groups(full, "train"), _groups(full, "test")
    single = {"best single": float(full.quality[test].mean(axis=0).max())}
    top = {"ridge, all at once": ceiling(full, train, test, embedder, greedy)}
    _curves(left, full, embedder, policy, seeds, greedy, single | top, lambda _: (train, test), None)
    left.set(title="LLMRouter, 9 models, test prompts", ylabel="quality of the predicted best")
    full = _priced(sets.mmlu(data))
    top = {"ridge, all at once": ceiling(full, *split(full, 0, domains=False), embedder, gap)}

    def halves(seed: int) -> tuple[Slots, Slots]:
        return split(full, seed, domains=False)

    _curves(right, full, embedder, policy, seeds, gap, {"random": 0.5} | top, halves, _HALF)
    right.set(title="RouteLLM MMLU, half split", ylabel="APGR")
    try:
        figure.savefig(path, dpi=130, format="png")
    except OSError as error:
        raise UsageError(f"can not write {path}: {error.strerror}") from error


def _curves(
    axes: Any,
    full: Full,
    embedder: Remembered,
    policy: str,
    seeds: int,
    judge: Judge,
    levels: dict[str, float],
    parts: Callable[[int], tuple[Slots, Slots]],
    budget: float | None,
) -> None:
    known, online = list[list[float]](), list[list[float]]()
    points = [point for point in POINTS if point < len(parts(0)[0]) - 100]
    for seed in range(seeds):
        train, test = parts(seed)
        order = np.random.default_rng(seed).permutation(train)
        routers = (Router(full.arms, policy, limit, seed, embedder=embedder) for limit in (None, budget))
        known.append(taught(full, next(routers), order[: points[-1] + 1], test, judge, points)[:-1])
        online.append(served(full, next(routers), order[: points[-1] + 1], test, judge, points))
    shown = np.maximum(np.array(points, np.float64), 25.0)
    for name, curves in (("all arms' outcomes", known), ("online, one arm's outcome", online)):
        each = np.array(curves)
        mean, margin = each.mean(axis=0), 1.96 * each.std(axis=0) / len(each) ** 0.5
        axes.plot(shown, mean, "o-", label=name, markersize=3)
        axes.fill_between(shown, mean - margin, mean + margin, alpha=0.2)
    for style, (name, level) in zip(("--", ":"), levels.items(), strict=False):
        axes.axhline(level, color="grey", linestyle=style, label=f"{name} {level:.3f}")
    axes.set(xlabel="requests seen (first point: none)", xscale="log")
    axes.legend(fontsize=8)


def _mmlu_online(full: Full, embedder: Remembered, policy: str, seed: int) -> list[float]:
    train, test = split(full, seed, domains=False)
    router = Router(full.arms, policy, _HALF, seed, embedder=embedder)
    return served(full, router, train[: POINTS[-1] + 1], test, gap, POINTS)


def _priced(full: Full) -> Full:
    """With what each answer costs by list price, so that a budget sends half of the questions to each."""
    usd = np.tile([arm.expected_usd for arm in full.arms], (len(full), 1))
    return Full(full.arms, full.quality, usd, full.texts, groups=full.groups)


def _groups(full: Full, name: str) -> Slots:
    return np.flatnonzero([group == name for group in full.groups])
