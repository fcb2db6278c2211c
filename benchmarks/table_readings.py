"""What is read of a question to tables without a model, and what a model trained to write queries adds.

    python benchmarks/table_readings.py --worlds 56-87           # 32 worlds of tables, some minutes
    python benchmarks/table_readings.py --worlds 56-87 --words   # the same without the parser
    python benchmarks/table_readings.py --worlds 56-87 --querier ADAPTER.gguf

Right is what finds just what the query finds that was written for the question. Of questions that the tables do not
answer it says how many are answered all the same. No model is asked without ``--querier``. Nothing was mended on
the worlds 56 to 87 or learnt from them; the parser's threshold was chosen on 242 to 255.
"""

import argparse
import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pointwork.agents import tabling
from pointwork.agents.loop import read_out
from pointwork.agents.preparing import CLEAR, prepare_tables
from pointwork.agents.querier import write_query
from pointwork.errors import ToolError
from pointwork.models.embedded import EmbeddedClient
from pointwork.tools import ToolContext, builtin_tools
from pointwork.training.recipes.querying import WORLDS, World

ROWS = Path(__file__).parents[1] / "training" / "recipes" / WORLDS


@dataclass
class Row:
    """A question, what it should find (None: nothing does), and what was found."""

    kind: str
    question: str
    gold: list[str] | None
    read: str = ""
    written: list[str] | None = None
    sure: float = 0.0

    def read_right(self) -> bool:
        """Whether the reading's short answer has the cells that it should."""
        return bool(self.gold) and sorted(map(_bare, self.read.split(", "))) == sorted(map(_bare, self.gold or ()))

    def written_right(self) -> bool:
        """Whether the model's query finds them."""
        return bool(self.gold) and self.written == self.gold


def _bare(text: str) -> str:
    """A number to four digits without its unit, a text in lower case."""
    number = re.match(r"-?\d+(?:\.\d+)?(?=\s|$)", text.strip())
    return f"{float(number[0]):.4g}" if number else text.strip().lower()


async def ask(world: dict[str, Any], client: EmbeddedClient | None) -> list[Row]:
    """All questions of a world."""
    tables = World(world["tables"])
    context = ToolContext(root=tables.root)
    rows: list[Row] = []
    for asked in world["qa"]:
        gold = None if asked["sql"] == "NONE" else tables.answer(asked["sql"])
        row = Row(asked["kind"], asked["q"], gold)
        prepared = await prepare_tables(row.question, context)
        if prepared.call is not None and prepared.sure >= CLEAR:
            tool, arguments = prepared.call
            try:
                row.read = read_out(prepared, await builtin_tools()[tool].call(arguments, context))
            except ToolError:
                row.read = ""
        shown = await prepared.tabled() if client is not None and prepared.tabled is not None else None
        if client is not None and shown is not None:
            written = await write_query(row.question, shown, client.chat)
            row.sure = written.sure
            row.written = tables.answer(written.query) if written.query else None
        rows.append(row)
    return rows


def table(rows: Sequence[Row], *, queried: bool) -> str:
    """Right answers by kind, and questions without an answer that were answered."""
    counts = Counter(row.kind for row in rows)
    lines = ["| questions | read | by the model |" if queried else "| questions | read |"]
    lines.append("|---|---|---|" if queried else "|---|---|")
    for kind in ("one", "two", "three"):
        of = [row for row in rows if row.kind == kind]
        told = f"| {kind}, {len(of)} | {sum(map(Row.read_right, of))} |"
        lines.append(f"{told} {sum(map(Row.written_right, of))} |" if queried else told)
    none = [row for row in rows if row.gold is None]
    told = f"| without an answer, {counts['none']}: answered | {sum(bool(row.read) for row in none)} |"
    lines.append(f"{told} {sum(row.written is not None for row in none)} |" if queried else told)
    return "\n".join(lines)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", default="0-87", help="lines of the file, the first 0")
    parser.add_argument("--words", action="store_true", help="only what the words say, without the parser")
    parser.add_argument("--querier", type=Path, help="adapter (GGUF) of a model that writes queries")
    parser.add_argument("--json", type=Path, help="write each question with what was found")
    given = parser.parse_args()
    if given.words:
        tabling._weighed = lambda _, found, __: found
    first, _, last = given.worlds.partition("-")
    worlds = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    client = EmbeddedClient(adapters=[given.querier]) if given.querier else None
    rows: list[Row] = []
    for world in worlds[int(first) : int(last or first) + 1]:
        rows += asyncio.run(ask(world, client))
        print(f"{len(rows):5} questions  {world['world'][:60]}", flush=True)
    print(f"\n{table(rows, queried=client is not None)}")
    if given.json:
        given.json.write_text(json.dumps([vars(row) for row in rows], indent=0), encoding="utf-8")


if __name__ == "__main__":
    main()
