"""What all parts of the memory benchmark share: lines of the report, and a memory filled with a set."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pointwork.bench.memory_sets import Set
from pointwork.memory import Entry, Memory
from pointwork.memory.bm25 import BM25
from pointwork.memory.reader import Reader
from pointwork.text import tokenize


@dataclass(slots=True)
class Row:
    """One line of the report: what was measured, of which system, and its numbers with 95 % intervals."""

    part: str
    system: str
    what: str
    n: int
    values: dict[str, float]
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "part": self.part,
            "system": self.system,
            "what": self.what,
            "n": self.n,
            **self.values,
            "interval_95": {name: list(bounds) for name, bounds in self.intervals.items()},
        }


def filled(one: Set, extra: Sequence[Entry] = (), encoder: str = "auto", model: Reader | None = None) -> Memory:
    """A memory in memory with the entries of a set, those that are besides spread among them."""
    memory = Memory(encoder=encoder, model=model)
    entries = list(one.entries)
    places = random.Random(0)
    for entry in extra:
        entries.insert(places.randrange(len(entries) + 1), entry)
    memory.add_many(entries)
    return memory


def plain_bm25(one: Set) -> "BM25[str]":
    """The baseline: BM25 over the entries' texts, titles in them, our tokens."""
    index: BM25[str] = BM25(k1=0.9, b=0.4)
    for entry in one.entries:
        index.add(entry.source, tokenize(entry.text))
    return index


def held(gold: frozenset[str], found: Sequence[str]) -> float:
    """The share of the evidence that was found."""
    return len(gold & set(found)) / len(gold)


def row_of(part: str, system: str, what: str, names: Sequence[str], values: Sequence[Sequence[float]]) -> Row:
    """Means over questions with 95 % intervals by bootstrap."""
    table = np.array(values, float)
    random_ = np.random.default_rng(0)
    means = table[random_.integers(0, len(table), (1000, len(table)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    return Row(
        part,
        system,
        what,
        len(table),
        dict(zip(names, table.mean(axis=0).tolist(), strict=True)),
        dict(zip(names, zip(low.tolist(), high.tolist(), strict=True), strict=True)),
    )
