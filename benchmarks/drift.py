"""The router's own change detector beside river's ADWIN and Page–Hinkley, in the router's place for one.

    PYTHONPATH=src:RIVER/site-packages python benchmarks/drift.py --data DIR [--seeds 5] [--json]

Each detector is put into a router and hears of every residual as ours does. Counted are alarms on arms that have
not changed (per 1,000 outcomes), the outcomes of the changed arm until the first alarm, how often there was none,
and what it comes to: regret after a role shock, regret on the classic sets (where nothing changes, so that every
alarm is false), quality after a fall of ParetoBandit's best arm. River's detectors get the residual in units of its
noise, as ours; ``weighed`` ones get it multiplied by how much the regression knew, as ours.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pointwork.bench.routing import sets
from pointwork.bench.routing.streams import Remembered, orders, stream
from pointwork.router import Arm, Outcome, Router
from pointwork.router.drift import Drift


class Heard:
    """A detector in the router's place for one, which notes its alarms on quality."""

    def __init__(self, make: Callable[[], Any] | None, weighed: bool) -> None:
        self.make, self.weighed, self.own = make, weighed, Drift(0)
        self.cells: dict[tuple[int, int], Any] = {}
        self.recent: dict[tuple[int, int], list[float]] = {}
        self.seen: list[tuple[int, bool]] = []  # arm, alarm

    def grow(self) -> None:
        self.own.grow()

    def changed(self, slot: int, kind: int, residual: float, known: float, unit: float = 1.0) -> float | None:
        while len(self.own.cells) <= slot:
            self.own.grow()
        moved = (self._river if self.make else self.own.changed)(slot, kind, residual, known, unit)
        if kind == 0:
            self.seen.append((slot, moved is not None))
        return moved

    def _river(self, slot: int, kind: int, residual: float, known: float, unit: float) -> float | None:
        assert self.make is not None
        key = (slot, kind)
        cell = self.cells.get(key) or self.cells.setdefault(key, self.make())
        recent = self.recent.setdefault(key, [])
        recent.append(residual)
        del recent[:-30]
        cell.update(residual / unit * (known if self.weighed else 1.0))
        if not cell.drift_detected:
            return None
        del self.cells[key]
        return float(np.mean(recent[-15:]))

    def false_alarms(self, until: int) -> float:
        """Per 1,000 outcomes, of the first ``until``."""
        return 1000 * sum(alarm for _, alarm in self.seen[:until]) / max(1, len(self.seen[:until]))

    def delay(self, since: int, slot: int) -> float:
        """Outcomes of this arm from ``since`` on until an alarm on it; NaN: none came."""
        alarms = [alarm for arm, alarm in self.seen[since:] if arm == slot]
        return float(alarms.index(True) + 1) if True in alarms else float("nan")


def heard(router: Router, make: Callable[[], Any] | None, weighed: bool) -> Heard:
    """The router with another detector."""
    detector = Heard(make, weighed)
    router._core.drift = detector  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    return detector


def roles(make: Callable[[], Any] | None, weighed: bool, seeds: int, after: float) -> dict[str, float]:
    """Two roles, 1,000 tasks; at 500 the good arm's chance falls from .95."""
    regrets, delays, false = list[float](), list[float](), list[float]()
    for seed in range(seeds):
        rng, regret = np.random.default_rng(seed), 0.0
        router = Router([Arm("other"), Arm("good")], seed=seed)
        detector = heard(router, make, weighed)
        for now in range(1000):
            hard = int(rng.random() < 0.7)
            chances = (0.31 if hard else 0.9, 0.95 if now < 500 else after)
            decision = router.decide(features=[float(hard), 1.0 - hard])
            arm = int(decision.arm == "good")
            router.learn(decision.id, Outcome(float(rng.random() < chances[arm])))
            regret += (max(chances) - chances[arm]) * (now >= 500)
        regrets.append(regret)
        false.append(detector.false_alarms(500))
        delays.append(detector.delay(500, 1))
    return summary(regrets, delays, false)


def classic(make: Callable[[], Any] | None, weighed: bool, seeds: int, data: Path, name: str) -> dict[str, float]:
    """Regret in % of the uniform policy's; nothing changes."""
    full = {"segment": sets.segment, "digits": sets.digits}[name](data)
    regrets, false = list[float](), list[float]()
    for seed, order in enumerate(orders(full, seeds)):
        router = Router(full.arms, seed=seed)
        detector = heard(router, make, weighed)
        run = stream(full, router, order)
        regrets.append(100 * float((run.best - run.quality).mean()) / (1 - 1 / len(full.arms)))
        false.append(detector.false_alarms(len(order)))
    return summary(regrets, [], false)


def fall(make: Callable[[], Any] | None, weighed: bool, seeds: int, data: Path) -> dict[str, float]:
    """ParetoBandit at 6.6e-4 USD; at the middle the best arm falls to .75. For regret: quality lost to .92."""
    full, embedder = sets.paretobandit(data), Remembered()
    worse, half = full.quality.copy(), len(full) // 2
    worse[:, 1] *= 0.75 / worse[:, 1].mean()
    world = replace(full, quality=worse)
    lost, delays, false = list[float](), list[float](), list[float]()
    for seed, order in enumerate(orders(full, seeds)):
        router = Router(full.arms, budget_per_request=6.6e-4, seed=seed, embedder=embedder)
        detector = heard(router, make, weighed)
        run = stream(full, router, order, lambda now, _: world if now == half else None)
        lost.append(100 * (0.92 - float(run.quality[half + 150 :].mean())))
        false.append(detector.false_alarms(half))
        delays.append(detector.delay(half, 1))
    return summary(lost, delays, false)


def summary(regrets: list[float], delays: list[float], false: list[float]) -> dict[str, float]:
    """Means over seeds; ``missed``: share of seeds without an alarm."""
    found = {"regret": float(np.mean(regrets)), "false": float(np.mean(false))}
    if delays:
        missed = float(np.isnan(delays).mean())
        found |= {"delay": float(np.nanmedian(delays)) if missed < 1 else float("nan"), "missed": missed}
    return found


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    from river.drift import ADWIN, PageHinkley

    detectors: dict[str, tuple[Callable[[], Any] | None, bool]] = {
        "ours": (None, False),
        "ADWIN": (ADWIN, False),
        "ADWIN, weighed": (ADWIN, True),
        "Page-Hinkley": (PageHinkley, False),
        "Page-Hinkley, 14, weighed": (lambda: PageHinkley(min_instances=5, delta=0.35, threshold=14.0), True),
    }
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, (make, weighed) in detectors.items():
        rows = found.setdefault(name, {})
        rows["role fails"] = roles(make, weighed, options.seeds, 0.0)
        rows["role degrades"] = roles(make, weighed, options.seeds, 0.45)
        rows["segment"] = classic(make, weighed, max(1, options.seeds // 2), options.data, "segment")
        rows["paretobandit falls"] = fall(make, weighed, max(1, options.seeds // 2), options.data)
        if not options.json:
            for what, row in rows.items():
                print(f"{name:28}{what:22}", *(f"{key} {value:7.2f}" for key, value in row.items()), flush=True)
    if options.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
