"""Four pictures of one policy: regret, the cost–quality frontier, reliability, spend against the budget."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pointwork.bench.routing import sets
from pointwork.bench.routing.parts import BUDGETS
from pointwork.bench.routing.sets import Full
from pointwork.bench.routing.streams import Remembered, Stream, orders, stream
from pointwork.errors import UsageError
from pointwork.extras import require
from pointwork.router import Outcome, Router
from pointwork.router.core import as_ints

Array = npt.NDArray[np.float64]


def draw(data: Path, seeds: int, policy: str, path: Path) -> None:
    """Serve ParetoBandit's prompts and draw what came of it.

    Raises:
        ImportError: matplotlib is not installed; the message names the extra.
        UsageError: the data are not there, or the picture can not be written.
    """
    require("matplotlib")
    backend: Any = require("matplotlib.backends.backend_agg")
    figures: Any = require("matplotlib.figure")
    full, embedder = sets.paretobandit(data), Remembered()
    runs = {
        budget: [
            stream(full, Router(full.arms, policy, budget, seed, embedder=embedder), order)
            for seed, order in enumerate(orders(full, seeds))
        ]
        for budget in BUDGETS
    }
    figure: Any = figures.Figure(figsize=(11, 8), layout="constrained")
    backend.FigureCanvasAgg(figure)
    axes: Any = figure.subplots(2, 2)
    _regret(axes[0][0], full, runs)
    _frontier(axes[0][1], full, runs)
    _reliability(axes[1][0], full, policy, embedder)
    _spend(axes[1][1], runs)
    try:
        figure.savefig(path, dpi=130, format="png")
    except OSError as error:
        raise UsageError(f"can not write {path}: {error.strerror}") from error


def _regret(axes: Any, full: Full, runs: dict[float, list[Stream]]) -> None:
    for budget, streams in runs.items():
        mix = sets.mixes(full.quality, full.usd, budget)
        lost = np.array([np.cumsum(mix - run.quality) for run in streams])
        mean, margin = lost.mean(axis=0), 1.96 * lost.std(axis=0) / max(1, len(lost)) ** 0.5
        steps = np.arange(len(mean))
        axes.plot(steps, mean, label=f"B = {budget:g}")
        axes.fill_between(steps, mean - margin, mean + margin, alpha=0.2)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set(title="regret to the best fixed mix (95 % interval)", xlabel="requests", ylabel="quality lost")
    axes.legend(fontsize=8)


def _frontier(axes: Any, full: Full, runs: dict[float, list[Stream]]) -> None:
    grid = np.geomspace(BUDGETS[0] / 3, BUDGETS[-1] * 4, 200)
    cheapest = float(full.usd.mean(axis=0).min())
    axes.plot(
        grid[grid >= cheapest],
        [sets.mixes(full.quality, full.usd, b) for b in grid if b >= cheapest],
        "--",
        label="best fixed mix",
    )
    axes.plot(full.usd.mean(axis=0), full.quality.mean(axis=0), "ks", label="fixed arms")
    axes.axhline(float(full.quality.max(axis=1).mean()), color="grey", linestyle=":", label="oracle")
    spent = [np.mean([run.usd[run.half()].mean() for run in streams]) for streams in runs.values()]
    reached = [[run.quality[run.half()].mean() for run in streams] for streams in runs.values()]
    margin = [1.96 * np.std(each) / len(each) ** 0.5 for each in reached]
    axes.errorbar(spent, [np.mean(each) for each in reached], yerr=margin, fmt="o-", label="router", capsize=3)
    axes.set(title="second half of the stream", xlabel="US dollars per request", ylabel="quality", xscale="log")
    axes.legend(fontsize=8)


def _reliability(axes: Any, full: Full, policy: str, embedder: Remembered) -> None:
    order = orders(full, 1)[0]
    router = Router(full.arms, policy, BUDGETS[1], 0, embedder=embedder)
    said, real = list[float](), list[float]()
    names = [arm.name for arm in full.arms]
    for number, index in enumerate(as_ints(order)):
        decision = router.decide(full.texts[index])
        if number >= len(order) // 2:
            for slot, name in enumerate(names):
                said.append(float(decision.scores[name]["mean"]))
                real.append(float(full.quality[index, slot]))
        slot = names.index(decision.arm)
        router.learn(decision.id, Outcome(float(full.quality[index, slot]), float(full.usd[index, slot])))
    predicted, true = np.array(said), np.array(real)
    edges = np.quantile(predicted, np.linspace(0, 1, 11))
    bins = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, 9)
    shown = [(predicted[bins == b].mean(), true[bins == b].mean()) for b in range(10) if (bins == b).any()]
    axes.plot([0.4, 1], [0.4, 1], color="grey", linewidth=0.8)
    axes.plot(*zip(*shown, strict=True), "o-")
    axes.set(title="reliability of predicted quality (all arms, second half)", xlabel="predicted", ylabel="real")


def _spend(axes: Any, runs: dict[float, list[Stream]]) -> None:
    for budget, streams in runs.items():
        steps = np.arange(1, len(streams[0].usd) + 1)
        shares = np.array([np.cumsum(run.usd) / steps / budget for run in streams])
        axes.plot(steps[20:], shares.mean(axis=0)[20:], label=f"B = {budget:g}")
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set(title="mean spend so far / budget", xlabel="requests", ylim=(0, 2))
    axes.legend(fontsize=8)
