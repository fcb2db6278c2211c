"""What all parts of the memory benchmark share: lines of the report, and a memory filled with a set."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pointwork.bench.memory_sets import Set
from pointwork.memory import Entry, Memory


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


def filled(one: Set, extra: Sequence[Entry] = ()) -> Memory:
    """A memory in memory with the entries of a set, those that are besides spread among them."""
    memory = Memory()
    entries = list(one.entries)
    places = random.Random(0)
    for entry in extra:
        entries.insert(places.randrange(len(entries) + 1), entry)
    memory.add_many(entries)
    return memory
