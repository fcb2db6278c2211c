"""What ``pointwork bench routing`` measures: one function per part. The router's settings are its defaults."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pointwork.bench.routing import labelled, sets
from pointwork.bench.routing.lines import Line, line
from pointwork.bench.routing.sets import Full
from pointwork.bench.routing.streams import Remembered, Stream, orders, stream
from pointwork.router import Arm, Outcome, Router
from pointwork.router.offline import Logged, compare, evaluate

Array = npt.NDArray[np.float64]
BUDGETS = (8.3e-5, 2.3e-4, 6.6e-4, 1.9e-3, 5.3e-3)
_UNSEEN = (0.818, 0.874, 0.921, 0.923, 0.926)
_OVER_MIX = (0.012, 0.025, -0.002, -0.002, -0.002)


def pareto(data: Path, seeds: int, policy: str) -> list[Line]:
    """Quality and spend under five budgets, second half of the stream."""
    full, embedder, lines = sets.paretobandit(data), Remembered(), list[Line]()
    for budget, over in zip(BUDGETS, _OVER_MIX, strict=True):
        runs = [
            stream(full, Router(full.arms, policy, budget, seed, embedder=embedder), order)
            for seed, order in enumerate(orders(full, seeds))
        ]
        lines += _budget_lines(full, budget, over, runs)
    return lines


def _budget_lines(full: Full, budget: float, over: float, runs: Sequence[Stream]) -> list[Line]:
    mix = sets.mixes(full.quality, full.usd, budget)
    affordable = full.usd.mean(axis=0) <= budget
    single = float(np.where(affordable, full.quality.mean(axis=0), 0.0).max())
    oracle = float(full.quality.max(axis=1).mean())
    quality = [float(run.quality[run.half()].mean()) for run in runs]
    spent = [float(run.usd[run.half()].mean() / budget) for run in runs]
    return [
        line(
            "paretobandit",
            f"quality, B={budget:g}",
            quality,
            f"≥ {mix + over:.4f}",
            mix=mix,
            single=single,
            oracle=oracle,
        ),
        line("paretobandit", f"cost/B, B={budget:g}", spent, "≤ 1.02"),
    ]


def unseen(data: Path, seeds: int, policy: str) -> list[Line]:
    """Its authors' protocol: learn online from the validation prompts, then all of the held-out ones.

    Nothing where their file is not in the folder (it is in the wheel of paretobandit on PyPI, under data/examples).
    """
    if not (data / "paretobandit" / sets.UNSEEN).exists():
        return []
    full, embedder, lines = sets.paretobandit(data, unseen=True), Remembered(), list[Line]()
    seen, test = (np.flatnonzero([group == name for group in full.groups]) for name in ("val", "test"))
    judged = slice(len(seen), None)
    for budget, goal in zip(BUDGETS, _UNSEEN, strict=True):
        quality, spent = list[float](), list[float]()
        for seed in range(seeds):
            rng = np.random.default_rng(1000 + seed)
            order = np.concatenate((rng.permutation(seen), rng.permutation(test)))
            run = stream(full, Router(full.arms, policy, budget, seed, embedder=embedder), order)
            quality.append(float(run.quality[judged].mean()))
            spent.append(float(run.usd[judged].mean() / budget))
        mix = sets.mixes(full.quality[test], full.usd[test], budget)
        lines += [
            line("paretobandit unseen", f"quality, B={budget:g}", quality, f"≥ {goal:g}", mix=mix),
            line("paretobandit unseen", f"cost/B, B={budget:g}", spent, "≤ 1.02"),
        ]
    return lines


def classic(data: Path, seeds: int, policy: str) -> list[Line]:
    """Cumulative regret as a share of the uniform policy's."""
    goals = {"mushroom": (sets.mushroom, 1.5), "digits": (sets.digits, 18.0), "segment": (sets.segment, 15.0)}
    lines = list[Line]()
    for name, (read, goal) in goals.items():
        full = read(data)
        uniform = 1.0 - 1.0 / len(full.arms)
        shares = [
            100 * float((run.best - run.quality).mean()) / uniform
            for seed, order in enumerate(orders(full, seeds))
            for run in [stream(full, Router(full.arms, policy, seed=seed), order)]
        ]
        lines.append(line("classic", f"{name}, % of uniform regret", shares, f"≤ {goal:g}"))
    return lines


def shocks(data: Path, seeds: int, policy: str) -> list[Line]:
    """ParetoBandit's stream with a change at its middle, beside a router that knew of it from the start.

    Figures are mean quality from 150 requests after the change on; ``knew``: the router that has only ever seen
    the changed world, over the same requests.
    """
    full, embedder, lines = sets.paretobandit(data), Remembered(), list[Line]()
    budget, half = BUDGETS[2], len(full) // 2
    best = 1  # the middle arm is the best for this budget
    cheaper, worse, dead = full.usd.copy(), full.quality.copy(), full.quality.copy()
    cheaper[:, 2] *= 0.1
    worse[:, best] *= 0.75 / worse[:, best].mean()
    dead[:, best] = np.nan

    def make(seed: int) -> Router:
        return Router(full.arms, policy, budget, seed, embedder=embedder)

    worlds = {
        "the dearest arm's price × 0.1": replace(full, usd=cheaper),
        "the best arm falls to .75": replace(full, quality=worse),
        "the best arm dies": replace(full, quality=dead),
    }
    for name, world in worlds.items():
        found, knew, wasted = list[float](), list[float](), list[float]()
        for seed, order in enumerate(orders(full, seeds)):

            def switch(now: int, router: Router, world: Full = world) -> Full | None:
                return world if now == half else None

            run, informed = stream(full, make(seed), order, switch), stream(world, make(seed), order)
            after = slice(half + 150, None)
            found.append(float(run.quality[after].mean()))
            knew.append(float(informed.quality[after].mean()))
            wasted.append(float(np.isnan(world.quality[order[half:], run.chosen[half:]]).sum()))
        gap = [mine - theirs for mine, theirs in zip(found, knew, strict=True)]
        lines.append(line("shocks", f"{name}: to one that knew", gap, "≥ -0.01", knew=float(np.mean(knew))))
        if "dies" in name:
            lines.append(line("shocks", f"{name}: wasted requests", wasted, "≤ 5"))
    return [*lines, _added(full, embedder, seeds, policy, budget, half)]


def _added(full: Full, embedder: Remembered, seeds: int, policy: str, budget: float, half: int) -> Line:
    gaps, knew = list[float](), list[float]()
    few = (full.arms[0], full.arms[2])
    for seed, order in enumerate(orders(full, seeds)):

        def add(now: int, router: Router) -> Full | None:
            if now == half:
                router.add_arm(full.arms[1])
            return None

        run = stream(full, Router(few, policy, budget, seed, embedder=embedder), order, add)
        informed = stream(full, Router(full.arms, policy, budget, seed, embedder=embedder), order)
        after = slice(half + 150, None)
        knew.append(float(informed.quality[after].mean()))
        gaps.append(float(run.quality[after].mean()) - knew[-1])
    return line("shocks", "an arm is added: to one that knew", gaps, "≥ -0.01", knew=float(np.mean(knew)))


def roles(data: Path, seeds: int, policy: str) -> list[Line]:
    """Two roles, 1,000 tasks, 70 % hard; at 500 the good one fails or degrades. Regret to the best arm, after that.

    Re-created from Symphony-Coord's description (the authors' own numbers come from other code): the good arm is
    right on 95 % of tasks, the other on 90 % of easy and 31 % of hard ones; afterwards the good one on none, or on
    45 %.
    """
    before, other = np.array([0.95, 0.95]), np.array([0.9, 0.31])
    cases = {"fails": (np.array([0.0, 0.0]), 30.0), "degrades": (np.array([0.45, 0.45]), 40.0)}
    lines = list[Line]()
    for name, (after, goal) in cases.items():
        regrets = [_role_regret(before, after, other, seed, policy) for seed in range(seeds)]
        lines.append(line("role shock", f"the good arm {name}: regret", regrets, f"≤ {goal:g}"))
    return lines


def _role_regret(before: Array, after: Array, other: Array, seed: int, policy: str) -> float:
    rng, regret = np.random.default_rng(seed), 0.0
    router = Router([Arm("other"), Arm("good")], policy, seed=seed)
    for now in range(1000):
        hard = int(rng.random() < 0.7)
        chances = np.array([other[hard], (before if now < 500 else after)[hard]])
        decision = router.decide(features=[float(hard), 1.0 - hard])
        arm = int(decision.arm == "good")
        router.learn(decision.id, Outcome(float(rng.random() < chances[arm])))
        if now >= 500:
            regret += float(chances.max() - chances[arm])
    return regret


def truth(data: Path, seeds: int, policy: str) -> list[Line]:
    """Off-policy estimates against the truth: 3,000 logged decisions, ``50 × seeds`` repetitions."""
    full, embedder = sets.paretobandit(data), Remembered()
    contexts = np.asarray(embedder.embed(full.texts), np.float64)[:, :32]
    count, repetitions, arms = 3000, 50 * seeds, len(full.arms)
    covered = {name: 0 for name in ("ips", "snips", "dr")}
    passed = {name: 0 for name in ("better", "equal", "worse")}
    for repetition in range(repetitions):
        rng = np.random.default_rng(repetition)
        rows = rng.integers(0, len(full), count)
        quality, noise = full.quality[rows], rng.random((count, arms))
        logging = 0.4 / arms + 0.6 * np.eye(arms)[noise.argmax(axis=1)]
        chosen = (rng.random(count)[:, None] > logging.cumsum(axis=1)).sum(axis=1).clip(0, arms - 1)
        picked = np.arange(count)
        log = Logged(
            [arm.name for arm in full.arms],
            contexts[rows],
            chosen.astype(np.intp),
            logging,
            quality[picked, chosen],
            np.full(count, 1e-4),
        )
        live = np.tile([0.5, 0.5, 0.0], (count, 1))
        shift = 0.03 / float(full.quality[:, 1].mean() - full.quality[:, 0].mean())
        targets = {
            "better": live + shift * np.array([-1.0, 1.0, 0.0]),
            "equal": np.eye(arms)[rng.integers(0, 2, count)],
            "worse": live - shift * np.array([-1.0, 1.0, 0.0]),
        }
        report = evaluate(log, targets["better"], seed=repetition)
        real = float((targets["better"] * full.quality.mean(axis=0)).sum(axis=1).mean())
        for name, interval in report.quality.items():
            covered[name] += interval.low <= real <= interval.high
        for name, target in targets.items():
            passed[name] += compare(log, target, live, seed=repetition).passed
    lines = [
        Line("off-policy", f"{name}: 95 % intervals that hold the truth", hits / repetitions, 0.0, "≥ 0.93")
        for name, hits in covered.items()
    ]
    wanted = {"better": "≥ 0.80", "equal": "≤ 0.02", "worse": "≤ 0.02"}
    return lines + [
        Line("off-policy", f"promoted: {name} (by .03)", hits / repetitions, 0.0, wanted[name])
        for name, hits in passed.items()
    ]


def trained(data: Path, seeds: int, policy: str) -> list[Line]:
    """The network of ``pointwork train router``; with torch, so only where it is asked for."""
    from pointwork.bench.routing import trained as part

    return part.trained(data, seeds, policy)


PARTS: dict[str, Callable[[Path, int, str], list[Line]]] = {
    "paretobandit": pareto,
    "unseen": unseen,
    "shocks": shocks,
    "classic": classic,
    "roles": roles,
    "llmrouter": labelled.llmrouter,
    "mmlu": labelled.mmlu,
    "truth": truth,
    "trained": trained,
}
