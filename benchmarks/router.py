"""Decision and update of the router beside others, on the same vectors: CPU µs per request, one thread.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/router.py [--rounds 2000] [--json]

mabwiser, vowpalwabbit and paretobandit are measured where they are installed (they are no dependencies: put them
in an environment of their own, and its ``site-packages`` into PYTHONPATH after ``src``). ``numpy floor`` is plain
LinUCB: no forgetting, no log, no cost; the last column is decide + update as a multiple of it, round by round, so
that a busy machine counts for both. Ours draws the arm from a distribution, keeps it with everything that was
known, paces a budget of 1e-3 USD, and learns quality, cost and latency. ``+ store`` also writes every decision and
outcome to SQLite. Each figure is the median over ``--repeat`` rounds in which all take turns.
"""

import argparse
import importlib.util
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

SIZES = ((10, 32), (50, 128))
Pair = tuple[float, float]


def measured(
    decide: Callable[[np.ndarray], object],
    learn: Callable[[object, np.ndarray, float], None],
    contexts: np.ndarray,
    rewards: np.ndarray,
) -> Pair:
    """Median CPU µs of a decision and of an update over five blocks, the first of which is left out."""
    blocks, spent = np.array_split(np.arange(len(contexts)), 5), []
    for block in blocks:
        decided, clock = [], time.process_time()
        for i in block:
            decided.append(decide(contexts[i]))
        middle = time.process_time()
        for i, what in zip(block, decided, strict=True):
            learn(what, contexts[i], float(rewards[i]))
        end = time.process_time()
        spent.append(((middle - clock) / len(block) * 1e6, (end - middle) / len(block) * 1e6))
    return tuple(np.median(np.array(spent[1:]), axis=0).tolist())


def floor(arms: int, dims: int, contexts: np.ndarray, rewards: np.ndarray) -> Pair:
    """LinUCB in as little numpy as there is."""
    inverse, moments, weights = np.tile(np.eye(dims), (arms, 1, 1)), np.zeros((arms, dims)), np.zeros((arms, dims))

    def decide(x: np.ndarray) -> int:
        return int((weights @ x + 0.5 * np.sqrt((inverse @ x) @ x)).argmax())

    def learn(arm: object, x: np.ndarray, reward: float) -> None:
        a = int(arm)
        gain = inverse[a] @ x
        inverse[a] -= np.outer(gain, gain) / (1 + x @ gain)
        moments[a] += reward * x
        weights[a] = inverse[a] @ moments[a]

    return measured(decide, learn, contexts, rewards)


def ours(arms: int, dims: int, contexts: np.ndarray, rewards: np.ndarray, store: str | None = None) -> Pair:
    """This package's router, with its defaults."""
    from pointwork.router import Arm, Outcome, Router

    router = Router([Arm(f"a{i}", (1, 2)) for i in range(arms)], budget_per_request=1e-3, store=store)
    return measured(
        lambda x: router.decide(features=x).id,
        lambda what, x, reward: router.learn(str(what), Outcome(reward, 5e-4, 1.0)),
        contexts,
        rewards,
    )


def mabwiser(arms: int, dims: int, contexts: np.ndarray, rewards: np.ndarray) -> Pair:
    """MABWiser's LinUCB, updated one by one."""
    from mabwiser.mab import MAB, LearningPolicy

    bandit = MAB(list(range(arms)), LearningPolicy.LinUCB(alpha=0.5))
    bandit.fit(list(range(arms)), [0.0] * arms, contexts[:arms])
    return measured(
        lambda x: bandit.predict(x[None]),
        lambda what, x, reward: bandit.partial_fit([what], [reward], x[None]),
        contexts,
        rewards,
    )


def vowpal(arms: int, dims: int, contexts: np.ndarray, rewards: np.ndarray) -> Pair:
    """Vowpal Wabbit, ε-greedy with action-dependent features, from text."""
    import vowpalwabbit

    work = vowpalwabbit.Workspace("--cb_explore_adf --epsilon 0.05 -q sa --quiet")
    actions = "\n".join(f"|a arm{i}" for i in range(arms))

    def lines(x: np.ndarray) -> str:
        return "shared |s " + " ".join(f"{i}:{value:.5f}" for i, value in enumerate(x))

    def decide(x: np.ndarray) -> tuple[int, float]:
        odds = np.array(work.predict(f"{lines(x)}\n{actions}"))
        arm = int(np.random.default_rng(0).choice(arms, p=odds / odds.sum()))
        return arm, float(odds[arm])

    def learn(what: object, x: np.ndarray, reward: float) -> None:
        arm, chance = what
        rows = [f"0:{1 - reward}:{chance} |a arm{i}" if i == arm else f"|a arm{i}" for i in range(arms)]
        work.learn("\n".join((lines(x), *rows)))

    return measured(decide, learn, contexts, rewards)


def paretobandit(arms: int, dims: int, contexts: np.ndarray, rewards: np.ndarray) -> Pair:
    """ParetoBandit's policy alone, with the forgetting its router uses: no pacer, no store, no features."""
    from pareto_bandit import DisjointLinUCBPolicy

    policy = DisjointLinUCBPolicy([f"a{i}" for i in range(arms)], dims, forgetting_factor=0.9998, seed=0)

    def decide(x: np.ndarray) -> str:
        model, _ = policy.select_arm(x)
        policy.mark_selected(model)
        return model

    return measured(
        decide,
        lambda what, x, reward: policy.update(str(what), x, reward, advance_time=False),
        contexts,
        rewards,
    )


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = compared(options.rounds, options.repeat)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for size, rows in found.items():
        print(size)
        for name, (decide, update, ratio) in rows.items():
            print(f"  {name:20}{decide:8.1f} +{update:8.1f} ={decide + update:8.1f}   {ratio:6.2f} x floor")


def compared(rounds: int, repeat: int) -> dict[str, dict[str, tuple[float, float, float]]]:
    """By size and system: µs of a decision, of an update, and their sum as a multiple of the floor."""
    systems: dict[str, Callable[[int, int, np.ndarray, np.ndarray], Pair]] = {
        "numpy floor": floor,
        "pointwork": ours,
        "pointwork + store": stored,
    }
    rivals = (("mabwiser", mabwiser), ("vowpalwabbit", vowpal), ("pareto_bandit", paretobandit))
    systems |= {name: rival for name, rival in rivals if importlib.util.find_spec(name)}
    found: dict[str, dict[str, tuple[float, float, float]]] = {}
    for arms, dims in SIZES:
        rng = np.random.default_rng(0)
        contexts, rewards = rng.normal(size=(rounds, dims)), rng.random(rounds)
        taken: dict[str, list[Pair]] = {name: [] for name in systems}
        for number in range(repeat):
            for name, system in systems.items():
                if name == "mabwiser" and number:  # milliseconds: once is enough
                    continue
                taken[name].append(system(arms, dims, contexts, rewards))
        least = np.array(taken["numpy floor"]).sum(axis=1)
        rows = found.setdefault(f"K={arms} d={dims}", {})
        for name, pairs in taken.items():
            times = np.array(pairs)
            ratio = float(np.median(times.sum(axis=1) / least[: len(times)]))
            rows[name] = (*np.median(times, axis=0).tolist(), ratio)
    return found


def stored(arms: int, dims: int, contexts: np.ndarray, rewards: np.ndarray) -> Pair:
    """Ours, with every decision and outcome in SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        return ours(arms, dims, contexts, rewards, f"sqlite:///{Path(folder) / 'store.db'}")


if __name__ == "__main__":
    main()
