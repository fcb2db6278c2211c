"""What a growing store costs: the same things done with 1,000, 10,000 and 100,000 runs in it.

    python benchmarks/growth.py --sizes 1000 10000 100000 --json growth.json

Runs are copies of one that a team really made (its rows of all tables, with new ids, times and task words), written
through ``Store.append``. Each figure is the median of several tries; ``scans`` names the queries that read a whole
table, by SQLite's own plan. See benchmarks/README.md.
"""

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from pointwork import Agent, Team, tool
from pointwork.agents.runs import list_runs, show_run
from pointwork.models import ChatRequest, ScriptedClient
from pointwork.models.scripted import Step
from pointwork.portable import export_runs
from pointwork.settings import PlannerSettings, Settings
from pointwork.store import Store, new_id, tables

# What a run leaves, parents before children.
OWNED = (
    *("runs", "accounts", "steps", "decisions", "outcomes", "ledger", "tool_calls", "memory_items"),
    "memory_usage",
)
FACTS = {"alpha": "alpha is 40", "beta": "beta is 2"}
TASK = "Look up alpha and look up beta, then report."
SYLLABLES = ["ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo"]

Row = dict[str, Any]


@tool
async def lookup(name: str) -> str:
    """Look something up.

    Args:
        name: of the thing.
    """
    return FACTS[name]


def _say(request: ChatRequest) -> str:
    """What a model would: a plan of three subtasks; a call, then an answer; the report."""
    last = request.messages[-1]["content"]
    schema = json.dumps(request.schema)
    if "subtasks" in schema:
        plan = [{"task": f"Look up {name}.", "capability": "probe", "answer": "text"} for name in FACTS]
        plan.append({"task": "Report that {s1} and {s2}.", "capability": "report", "answer": "text"})
        return json.dumps({"subtasks": plan})
    if request.schema is None:
        return "Found that alpha is 40 and beta is 2"
    if last.startswith("Result: "):
        said = next(fact for fact in FACTS.values() if fact in last)
        return json.dumps({"call": {"tool": "answer", "arguments": {"text": said}}})
    asked = last.rsplit("Task: ", 1)[-1]
    name = next(name for name in FACTS if name in asked)
    return json.dumps({"call": {"tool": "lookup", "arguments": {"name": name}}})


def open_team(store: Store) -> Team:
    """A team that answers by script: six model calls a run."""
    able = {"probe": "look up the value of a thing by its name"}
    agents = [
        Agent(name, f"You are agent {name}. You look things up.", able, (lookup,), modes=("agentic",))
        for name in ("first", "second")
    ]
    agents.append(Agent("reporter", "You report.", {"report": "write what was found"}, modes=("instant",)))
    client = ScriptedClient([Step(_say, times=None)])
    settings = Settings(planner=PlannerSettings(mode="model"))
    return Team(agents, settings, store=store, models={"planner": client}, root=tempfile.gettempdir())


def template(folder: Path) -> dict[str, list[Row]]:
    """All rows of one run."""
    store = Store(f"sqlite:///{folder / 'template.db'}")
    with open_team(store) as team:
        result = team.run(TASK)
        assert result.status == "ok", result
    rows = {name: store.rows(tables.metadata.tables[name].select()) for name in OWNED}
    store.close()
    return rows


def fill(store: Store, rows: dict[str, list[Row]], count: int, seed: int = 0) -> None:
    """Write copies of a run, the oldest first, one a minute until an hour ago."""
    rng = random.Random(seed)
    begun = rows["runs"][0]["created"]
    until = time.time() - 3600
    names = [row[key] for name in OWNED for row in rows[name] for key in _ids(name) if row[key] is not None]
    result = json.dumps(rows["runs"][0]["result"])
    for number in range(count):
        fresh = {name: new_id() for name in dict.fromkeys(names)}
        shift = until - 60 * (count - number) - begun
        words = " ".join(rng.choice(SYLLABLES) + rng.choice(SYLLABLES) + rng.choice(SYLLABLES) for _ in range(4))
        said = result
        for old, new in fresh.items():
            said = said.replace(old, new)
        for name in OWNED:
            copies = [_copy(name, row, fresh, shift, words) for row in rows[name]]
            if name == "runs":
                copies[0]["result"] = json.loads(said)
            store.append(tables.metadata.tables[name], *copies)
    store.flush()


def _ids(table: str) -> list[str]:
    wanted = ("id", "run_id", "parent_id", "decision_id", "account_id", "reservation_id")
    columns = tables.metadata.tables[table].columns
    return [column.name for column in columns if column.name in wanted and not _serial(table, column.name)]


def _serial(table: str, column: str) -> bool:
    return tables.metadata.tables[table].columns[column].autoincrement is True


def _copy(table: str, row: Row, fresh: dict[str, str], shift: float, words: str) -> Row:
    copy = {key: value for key, value in row.items() if not _serial(table, key)}
    for key in _ids(table):
        copy[key] = fresh.get(row[key], row[key])
    for key in ("created", "started", "finished"):
        if copy.get(key) is not None:
            copy[key] += shift
    if table == "runs":
        copy["task"] = f"{row['task']} {words}"
    if table == "memory_items":
        copy["text"], copy["title"] = f"{row['text']} {words}", f"{row['title']} {words}"
        copy["source"] = f"run:{fresh[row['source'].removeprefix('run:')]}"
    return copy


@contextmanager
def scans() -> Iterator[set[str]]:
    """Statements within the block that read a whole table, as SQLite plans them."""
    found: set[str] = set()

    def explain(connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if not statement.lstrip().upper().startswith(("SELECT", "UPDATE", "DELETE")):
            return
        for row in connection.connection.dbapi_connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters):
            if row[3].startswith("SCAN") and "USING" not in row[3] and "CONSTANT" not in row[3]:
                found.add(f"{row[3]}: {' '.join(statement.split())[:300]}")

    event.listen(Engine, "before_cursor_execute", explain)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", explain)


def timed(work: Callable[[], Any], tries: int) -> float:
    """Median milliseconds."""
    walls: list[float] = []
    for _ in range(tries):
        started = time.perf_counter()
        work()
        walls.append(1000 * (time.perf_counter() - started))
    return statistics.median(walls)


def measure(path: Path, tries: int) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Milliseconds of each thing, and the whole-table reads in it."""
    with open_team(Store(f"sqlite:///{path}")):
        pass  # the router takes in what was written, as it would have done run by run
    found: dict[str, float] = {}
    read: dict[str, list[str]] = {}

    def take(name: str, work: Callable[[], Any], tries: int = tries) -> None:
        found[name] = timed(work, tries)
        with scans() as statements:
            work()
        read[name] = sorted(statements)

    store = Store(f"sqlite:///{path}")
    ids = [row["run_id"] for row in list_runs(store, 10_000)]
    rng = random.Random(1)
    take("runs list", lambda: list_runs(store, 20))
    take("runs show", lambda: show_run(store, rng.choice(ids)))
    take("runs show, by its beginning", lambda: show_run(store, rng.choice(ids)[:20]))
    take("runs export, one", lambda: list(export_runs(store, ids=[rng.choice(ids)])))
    store.close()

    def opened() -> None:
        open_team(Store(f"sqlite:///{path}")).close()

    take("team opened and closed", opened)
    firsts: list[float] = []
    for _ in range(max(1, tries // 3)):
        with open_team(Store(f"sqlite:///{path}")) as team:
            firsts.append(timed(lambda team=team: team.run(TASK), 1))
    found["first run of a process"] = statistics.median(firsts)
    with open_team(Store(f"sqlite:///{path}")) as team:
        team.run(TASK)
        take("another run", lambda: team.run(TASK))
        take("feedback on an old run", lambda: team.feedback(rng.choice(ids), rng.random()))
    return found, read


def as_table(results: dict[int, dict[str, float]]) -> str:
    """Markdown: a row per thing, a column per size, and the growth from the first to the last."""
    sizes = sorted(results)
    lines = ["| ms | " + " | ".join(f"{size:,} runs" for size in sizes) + " | last ÷ first |"]
    lines.append("|---|" + "---|" * (len(sizes) + 1))
    for name in results[sizes[0]]:
        values = [results[size][name] for size in sizes]
        cells = " | ".join(f"{value:.1f}" for value in values)
        lines.append(f"| {name} | {cells} | {values[-1] / values[0]:.1f} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Fill, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--tries", type=int, default=9)
    parser.add_argument("--folder", type=Path, help="where the stores go; default: a temporary folder")
    parser.add_argument("--json", type=Path, help="write everything here")
    given = parser.parse_args(arguments)
    results: dict[int, dict[str, float]] = {}
    reads: dict[int, dict[str, list[str]]] = {}
    bytes_per_run = 0.0
    with tempfile.TemporaryDirectory(prefix="growth-", dir=given.folder) as name:
        folder = Path(name)
        rows = template(folder)
        print(", ".join(f"{len(rows[table])} {table}" for table in OWNED), "per run", flush=True)
        for size in given.sizes:
            path = folder / f"{size}.db"
            store = Store(f"sqlite:///{path}")
            started = time.perf_counter()
            fill(store, rows, size)
            store.close()
            bytes_per_run = path.stat().st_size / size
            spent = time.perf_counter() - started
            print(f"{size:,} runs written in {spent:.0f} s, {bytes_per_run:,.0f} bytes each", flush=True)
            results[size], reads[size] = measure(path, given.tries)
            for thing, statements in reads[size].items():
                for statement in statements:
                    print(f"  {thing}: {statement}", flush=True)
            path.unlink()
    print(as_table(results))
    if given.json is not None:
        value: dict[str, Any] = {"ms": results, "scans": reads, "bytes_per_run": bytes_per_run}
        value["rows_per_run"] = {name: len(found) for name, found in rows.items()}
        given.json.write_text(json.dumps({**value, "load": os.getloadavg()[0]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
