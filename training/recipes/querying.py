"""Questions about tables of our own with the query that answers each, as the querier is asked them."""

import atexit
import csv
import io
import random
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pointwork.agents.prompts import UNANSWERED
from pointwork.agents.querying import TABLES, tables_text, values_named
from pointwork.errors import ToolError
from pointwork.tools.catalog import TableInfo, catalog
from pointwork.tools.duck import Database, open_database

WORLDS = "table_questions.jsonl"
HELD_OUT = 9  # of each ten worlds the last is never trained on
VARIANTS = 2  # orders of tables, columns and rows that a world is shown in
MISSING = 0.15  # bundles that lack a table, so that what needs it can not be answered
SHARING = 8  # questions to one view of a world in a bundle at most
_ROWS = 50


@dataclass(frozen=True)
class Asked:
    """A question to some tables: what is shown of them, the cells it names, and what should be written."""

    question: str
    tables: str
    named: tuple[str, ...]
    said: str


class World:
    """Tables in a folder that lasts as long as the process."""

    def __init__(self, tables: dict[str, str]) -> None:
        self._tables = tables

    @cached_property
    def root(self) -> Path:
        """Where they lie."""
        root = Path(tempfile.mkdtemp(prefix="pointwork-world-")).resolve()
        atexit.register(shutil.rmtree, root, ignore_errors=True)
        for name, text in self._tables.items():
            (root / f"{name}.csv").write_text(text.strip("\n") + "\n", encoding="utf-8")
        return root

    @cached_property
    def infos(self) -> dict[str, TableInfo]:
        """The tables by name."""
        return {info.name: info for info in catalog(self.root)}

    @property
    def database(self) -> Database:
        """All of them."""
        return open_database(self.root, tuple(info.source for info in self.infos.values()))

    def answer(self, query: str) -> list[str] | None:
        """The first cells of what a query finds, sorted; None: it does not run."""
        try:
            found = self.database.query(query, _ROWS)
        except ToolError:
            return None
        return sorted(_plain(row[0]) for row in found.rows)


def _plain(cell: Any) -> str:
    """A cell to be compared: numbers to six digits."""
    return f"{float(cell):.6g}" if isinstance(cell, int | float) and not isinstance(cell, bool) else str(cell)


def parted(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Worlds to train on, and those that are never trained on."""
    taught = [row for number, row in enumerate(rows) if number % 10 != HELD_OUT]
    return taught, list(rows[HELD_OUT::10])


def bundles(world: dict[str, Any], seed: int, variants: int = VARIANTS) -> list[list[Asked]]:
    """A world's questions in several views of it, those of one view together, so that it is computed once."""
    made: list[list[Asked]] = []
    for variant in range(variants):
        chance = random.Random(f"{seed} {variant} {world['world']}")
        shown = World({name: shuffled(text, chance) for name, text in world["tables"].items()})
        questions = list(world["qa"])
        chance.shuffle(questions)
        for start in range(0, len(questions), SHARING):
            names = sorted(shown.infos)
            chance.shuffle(names)
            if len(names) > 1 and chance.random() < MISSING:
                names.pop()
            made.append(_bundle(shown, questions[start : start + SHARING], names[:TABLES]))
    return made


def _bundle(world: World, rows: Sequence[dict[str, Any]], names: Sequence[str]) -> list[Asked]:
    tables = [world.infos[name] for name in names]
    text = tables_text(world.root, tables)
    missing = set(world.infos) - set(names)
    return [
        Asked(
            row["q"],
            text,
            tuple(values_named(world.root, tables, row["q"])),
            UNANSWERED if row["sql"] == "NONE" or _needs(row["sql"], missing) else row["sql"],
        )
        for row in rows
    ]


def _needs(query: str, names: set[str]) -> bool:
    words = query.replace("(", " ").replace(")", " ").split()
    return any(before in ("FROM", "JOIN") and name in names for before, name in zip(words, words[1:], strict=False))


def shuffled(text: str, chance: random.Random) -> str:
    """The same table with columns and rows in another order; keys and names stay first half of the time."""
    head, *rows = list(csv.reader(io.StringIO(text.strip("\n"))))
    order = list(range(len(head)))
    rest = order[1:] if chance.random() < 0.5 else order
    chance.shuffle(rest)
    order = [number for number in order if number not in rest] + rest
    chance.shuffle(rows)
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([[row[k] for k in order] for row in [head, *rows]])
    return buffer.getvalue()
