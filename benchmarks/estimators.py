"""The advantage estimators on one multi-step tool environment, with the same budget of rollouts.

    python benchmarks/estimators.py --folder /tmp/estimators --json estimators.json

**Environment.** A task names a key; a hidden table maps keys to keys and, at the end of a chain of one to three,
to a digit. The agent ``caller`` writes ``look KEY`` and is shown the value, as often as it likes (at most 9 times),
then ``done``; the agent ``answerer`` reads what was found and writes the digit. Reward 1 if it is right. Nothing
but ``hdpo`` is told that a call costs anything; two calls a task are enough on average.

**Start.** A Llama of two layers is made from nothing and taught on demonstrations that look up most keys twice,
now and then a key that is none of the task's business, and are wrong now and then. That is the common start of all;
each estimator then has the same number of rollouts, with seeds for tasks and draws that it shares with the others.
Measured on tasks that none has seen, by sampling (as in training) and greedily. Resumable: what is done is read
from the folder.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from pointwork.training.bases import tiny_llama
from pointwork.training.loop import Settings
from pointwork.training.model import LocalModel
from pointwork.training.packing import Sample
from pointwork.training.samples import Group, Kind, Rollout, Turn
from pointwork.training.sampling import sample
from pointwork.training.sources import Shuffled
from pointwork.training.trainer import GRPOTrainer, SFTTrainer

# Label: estimator and options. hdpo's weight is the paper's 0.15; where few groups are all correct, that is little.
KINDS: dict[str, tuple[Kind, dict[str, float | bool]]] = {
    "group": ("group", {}),
    "hdpo": ("hdpo", {}),
    "gigpo": ("gigpo", {}),
    "per_agent": ("per_agent", {}),
    "dr_grpo": ("dr_grpo", {}),
    "hdpo w=1": ("hdpo", {"weight": 1.0}),
}
END, LOOK, DONE, TASK, SEEN, CALLER, ANSWERER = range(7)
KEYS = list(range(7, 19))
DIGITS = list(range(19, 25))
VOCABULARY = 25
MOST_CALLS = 9
# Two-sided 95 % quantiles of Student's t by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776}


@dataclass
class Episode:
    """A task and what was done about it so far."""

    name: str
    start: int
    table: dict[int, int]
    answer: int
    said: list[int] = field(default_factory=list[int])
    turns: list[Turn] = field(default_factory=list[Turn])
    known: set[int] = field(default_factory=set[int])
    calls: int = 0
    agent: str = "caller"
    over: bool = False
    right: bool = False

    def prompt(self) -> tuple[int, ...]:
        return (CALLER if self.agent == "caller" else ANSWERER, TASK, self.start, *self.said)

    def step(self, ids: tuple[int, ...], logprobs: tuple[float, ...]) -> None:
        state = f"{self.agent} {sorted(self.known)}"
        self.turns.append(Turn("policy", self.prompt(), ids, logprobs, agent=self.agent, state=state))
        if self.agent == "answerer":
            self.over, self.right = True, ids == (self.answer, END)
        elif ids == (DONE, END):
            self.agent = "answerer"
        elif (
            len(ids) == 3 and ids[0] == LOOK and ids[1] in self.table and ids[2] == END and self.calls < MOST_CALLS
        ):
            self.calls += 1
            self.known.add(ids[1])
            self.said += [*ids, SEEN, self.table[ids[1]]]
        else:  # no such command, or one call too many
            self.over = True

    def rollout(self) -> Rollout:
        return Rollout(self.name, tuple(self.turns), float(self.right), self.right, self.calls)


def task(seed: int) -> Episode:
    """A chain of one to three keys that ends in a digit, among keys that have nothing to do with it."""
    draw = random.Random(seed)
    chain = draw.sample(KEYS, draw.choice([1, 2, 3]))
    answer = draw.choice(DIGITS)
    table = {key: draw.choice(KEYS + DIGITS) for key in KEYS}
    table |= dict(zip(chain, [*chain[1:], answer], strict=True))
    return Episode(str(seed), chain[0], table, answer)


def demonstration(seed: int) -> Episode:
    """How a cautious, not quite reliable person would do it."""
    draw, episode = random.Random(-seed - 1), task(seed)

    def look(key: int) -> int:
        if episode.calls < MOST_CALLS:
            episode.step((LOOK, key, END), (0.0,) * 3)
        return episode.table[key]

    at = episode.start
    while at in KEYS:
        if draw.random() < 0.1:
            look(draw.choice(KEYS))
        value = look(at)
        if draw.random() < 0.7:
            look(at)
        at = value
    episode.step((DONE, END), (0.0,) * 2)
    episode.step((at if draw.random() < 0.85 else draw.choice(DIGITS), END), (0.0,) * 2)
    return episode


def play(model: LocalModel, episodes: Sequence[Episode], seed: int, temperature: float = 1.0) -> None:
    """Play all to their ends, in step, so that every model call is a batch."""
    for turn in range(MOST_CALLS + 3):
        going = [episode for episode in episodes if not episode.over]
        if not going:
            return
        prompts = [episode.prompt() for episode in going]
        drawn = sample(model, prompts, max_tokens=3, temperature=temperature, seed=seed * 100 + turn, rows=256)
        for episode, (answer,) in zip(going, drawn, strict=True):
            episode.step(answer.ids, answer.logprobs)


class Rollouts:
    """``tasks`` new tasks a step, ``trials`` rollouts of each."""

    def __init__(self, model: LocalModel, tasks: int, trials: int, seed: int) -> None:
        self.model, self.tasks, self.trials, self.seed = model, tasks, trials, seed

    def __call__(self, step: int) -> list[Group]:
        names = [1_000_000 * (self.seed + 1) + step * self.tasks + place for place in range(self.tasks)]
        episodes = [task(name) for name in names for _ in range(self.trials)]
        play(self.model, episodes, seed=self.seed * 10_000 + step)
        groups: list[Group] = []
        for place, name in enumerate(names):
            members = episodes[place * self.trials : (place + 1) * self.trials]
            groups.append(Group(str(name), tuple(episode.rollout() for episode in members)))
        return groups


def measured(model: LocalModel, count: int, temperature: float, seed: int) -> dict[str, float]:
    """Success, and tool calls per success, on tasks of their own."""
    episodes = [task(900_000_000 + place) for place in range(count)]
    play(model, episodes, seed=77_000 + seed, temperature=temperature)
    successes = [episode for episode in episodes if episode.right]
    return {
        "success": len(successes) / count,
        "calls": sum(episode.calls for episode in episodes) / count,
        "calls_per_success": sum(episode.calls for episode in episodes) / max(1, len(successes)),
    }


def fresh() -> LocalModel:
    module = tiny_llama(VOCABULARY, hidden=64, layers=2, positions=256)
    model = LocalModel(module, name="tiny", device="cpu")
    model.stop_ids = frozenset({END})
    return model


def taught(folder: Path, seed: int, steps: int) -> LocalModel:
    """The common start of all."""
    model = fresh()
    items = [
        Sample(turn.prompt_ids, turn.completion_ids)
        for place in range(3000)
        for turn in demonstration(10_000_000 * (seed + 1) + place).turns
    ]
    random.Random(seed).shuffle(items)
    settings = Settings(
        steps, lr=3e-3, schedule="cosine", warmup=10, width=256, budget=4096, seed=seed, save_every=100
    )
    SFTTrainer(model, Shuffled(items, 128, seed=seed), settings, folder).fit()
    return model


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    start = arguments.folder / "start"
    taught(start, 0, arguments.sft_steps)
    for kind in ("start", *KINDS):
        for seed in range(arguments.seeds):
            folder = arguments.folder / kind / f"seed{seed}"
            file = folder / "measured.json"
            if not file.exists():
                folder.mkdir(parents=True, exist_ok=True)
                model = fresh()
                model.restore(start / "final")
                began = time.perf_counter()
                if kind != "start":
                    settings = Settings(
                        arguments.steps, lr=arguments.lr, width=256, budget=4096, seed=seed, save_every=25
                    )
                    source = Rollouts(model, arguments.tasks, arguments.trials, seed)
                    GRPOTrainer(model, source, settings, folder, kind=KINDS[kind][0], options=KINDS[kind][1]).fit()
                row = {"seed": seed, "kind": kind, "seconds": time.perf_counter() - began}
                row["sampled"] = measured(model, arguments.held_out, 1.0, seed)
                row["greedy"] = measured(model, arguments.held_out, 0.0, seed)
                file.write_text(json.dumps(row))
            rows.append(json.loads(file.read_text()))
            print(json.dumps(rows[-1]), flush=True)
    return {"settings": {k: str(v) for k, v in vars(arguments).items()}, "rows": rows, "table": table(rows)}


def table(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over seeds with 95 % intervals (Student's t)."""
    found: list[dict[str, Any]] = []
    for kind in ("start", *KINDS):
        mine = [row for row in rows if row["kind"] == kind]
        line: dict[str, Any] = {"kind": kind}
        for way in ("sampled", "greedy"):
            for name in ("success", "calls_per_success"):
                values = [row[way][name] for row in mine]
                spread = 0.0
                if len(values) > 1:
                    spread = STUDENT[len(values) - 1] * statistics.stdev(values) / len(values) ** 0.5
                line[f"{way} {name}"] = [statistics.mean(values), spread]
        found.append(line)
    return found


def main() -> None:
    """Train and measure all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--sft-steps", type=int, default=500)
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--held-out", type=int, default=500)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found = run(arguments)
    for line in found["table"]:
        cells = [f"{mean:.3f} ± {spread:.3f}" for mean, spread in list(line.values())[1:]]
        print(f"{line['kind']:10s} " + "   ".join(cells))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
