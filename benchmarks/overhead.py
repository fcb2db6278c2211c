"""What orchestration costs: one job, Pointwork beside others, against a fake model server with a fixed latency.

    python benchmarks/overhead.py --quick
    python benchmarks/overhead.py --rival-python crewai=/path/to/venv/bin/python --json overhead.json

Each measurement is a fresh process pinned to one core, the server on another; rounds are interleaved; the figures
are medians over rounds, ratios are medians of the ratios within a round. See benchmarks/README.md.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "overhead"
RIVALS = (
    *("pointwork", "pointwork-6", "pointwork-team", "langgraph", "raw-httpx2", "raw-httpx"),
    *("langgraph-supervisor", "openai-agents", "crewai", "raw-httpx2-seq", "raw-httpx-seq"),
)
BASE = "langgraph"
MISSING = 3  # exit status of a child whose rival is not installed
COLUMNS = (
    *(("shape", "shape"), ("calls", "calls"), ("cpu_ms", "CPU ms"), ("own_wall_ms", "own wall ms")),
    *(("many_cpu_ms", "CPU ms @50"), ("ratio", "× langgraph"), ("many_per_s", "tasks/s @50")),
    *(("import_ms", "import ms"), ("rss_mb", "RSS MB")),
)

Figures = dict[str, Any]


def start_server(latency: float, cpu: int | None) -> tuple["subprocess.Popen[str]", str]:
    """The fake server as a process of its own, and its address."""
    command = [sys.executable, str(HERE / "fake_server.py"), "--latency", str(latency)]
    command += [] if cpu is None else ["--cpu", str(cpu)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    return server, f"http://127.0.0.1:{int(server.stdout.readline())}"


def measure(name: str, python: str, url: str, given: argparse.Namespace) -> Figures:
    """One rival in one fresh process; ``{"missing": why}`` if it is not installed.

    Raises:
        SystemExit: it failed, or did not do the job.
    """
    command = [python, str(HERE / "child.py"), name, "--url", url, "--latency", str(given.latency)]
    command += ["--tasks", str(given.tasks), "--many", str(given.many), "--in-flight", str(given.in_flight)]
    command += [] if given.cpus is None else ["--cpu", str(given.cpus[0])]
    environment = {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    except FileNotFoundError:
        return {"missing": f"there is no {python}"}
    lines = done.stdout.strip().splitlines()
    if done.returncode == MISSING and lines:
        return json.loads(lines[-1])
    if done.returncode or not lines:
        raise SystemExit(f"{name} failed with status {done.returncode}:\n{done.stderr[-3000:]}")
    return json.loads(lines[-1])


def run(given: argparse.Namespace, pythons: dict[str, str]) -> dict[str, Any]:
    """All rounds: rival → its figures per round, or why it was left out."""
    rounds: dict[str, list[Figures]] = {}
    skipped: dict[str, str] = {}
    loads: list[float] = []
    server, url = start_server(given.latency, None if given.cpus is None else given.cpus[1])
    try:
        for number in range(given.rounds):
            names = [name for name in given.only if name not in skipped]
            turn = number % max(1, len(names))  # another one is first in each round
            for name in names[turn:] + names[:turn]:
                loads.append(os.getloadavg()[0])
                figures = measure(name, pythons.get(name, sys.executable), url, given)
                if "missing" in figures:
                    skipped[name] = figures["missing"]
                    print(f"{name}: skipped, not installed here ({figures['missing']})", file=sys.stderr)
                    continue
                rounds.setdefault(name, []).append(figures)
                line = f"{figures['many_cpu_ms']:.1f} ms CPU per task, {figures['many_per_s']:.0f} tasks/s"
                print(f"round {number + 1}/{given.rounds} {name}: {line}", file=sys.stderr)
    finally:
        server.terminate()
        server.wait()
    return {"rounds": rounds, "skipped": skipped, "load": {"median": statistics.median(loads), "most": max(loads)}}


def summary(rounds: dict[str, list[Figures]]) -> dict[str, Figures]:
    """Medians over the rounds, lowest and highest CPU, and the median of the ratios to LangGraph's in a round."""
    found: dict[str, Figures] = {}
    for name, rows in rounds.items():
        numbers = [key for key, value in rows[0].items() if isinstance(value, int | float)]
        found[name] = {
            "shape": rows[0]["shape"],
            **{key: statistics.median(row[key] for row in rows) for key in numbers},
            "many_cpu_range": [min(r["many_cpu_ms"] for r in rows), max(r["many_cpu_ms"] for r in rows)],
            "ratio": None,
            **{key: rows[0][key] for key in ("rows_per_task", "versions") if key in rows[0]},
        }
        if BASE in rounds:
            pairs = zip(rows, rounds[BASE], strict=False)
            found[name]["ratio"] = statistics.median(a["many_cpu_ms"] / b["many_cpu_ms"] for a, b in pairs)
    return found


def as_table(found: dict[str, Figures]) -> str:
    """The medians as Markdown, one block per shape."""
    lines = ["| |" + "|".join(title for _, title in COLUMNS) + "|", "|---|" + "---|" * len(COLUMNS)]
    for name, row in sorted(found.items(), key=lambda item: (item[1]["shape"], item[1]["many_cpu_ms"])):
        cells = [_cell(key, row[key]) for key, _ in COLUMNS]
        lines.append(f"| {name} |" + "|".join(cells) + "|")
    return "\n".join(lines)


def _cell(key: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or "–"
    if key == "ratio":
        return f"{value:.2f}"
    return f"{value:.0f}" if key in ("calls", "import_ms", "rss_mb", "many_per_s") else f"{value:.1f}"


def wait_for_quiet(load: float, minutes: float) -> None:
    """Wait until the machine's load is below a bound, or the time is up."""
    until = time.monotonic() + 60 * minutes
    while os.getloadavg()[0] >= load and time.monotonic() < until:
        time.sleep(5)
    if os.getloadavg()[0] >= load:
        print(f"the load is still {os.getloadavg()[0]:.1f}: trust ratios, not times", file=sys.stderr)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=20, help="one after the other")
    parser.add_argument("--many", type=int, default=200, help="tasks for the run with many in flight")
    parser.add_argument("--in-flight", type=int, default=50)
    parser.add_argument("--latency", type=float, default=0.02, help="of the fake server, seconds")
    parser.add_argument("--cpus", type=int, nargs=2, metavar=("CLIENT", "SERVER"), help="default: the first two")
    parser.add_argument("--only", nargs="+", choices=RIVALS, default=list(RIVALS))
    parser.add_argument("--rival-python", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--json", type=Path, help="write everything here")
    parser.add_argument("--quick", action="store_true", help="one short round, to see that all work")
    parser.add_argument("--wait-load", type=float, help="begin when the machine's load is below this")
    parser.add_argument("--wait-minutes", type=float, default=10.0)
    given = parser.parse_args()
    if given.quick:
        given.rounds, given.tasks, given.many = 1, 3, 20
    if given.cpus is None and hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) > 1:
        given.cpus = sorted(os.sched_getaffinity(0))[:2]
    return given


def main() -> None:
    """Measure, print, write."""
    given = _arguments()
    pythons = dict(pair.split("=", 1) for pair in given.rival_python)
    if unknown := set(pythons) - set(RIVALS):
        raise SystemExit(f"--rival-python: unknown {', '.join(sorted(unknown))}; there are {', '.join(RIVALS)}")
    if given.wait_load is not None:
        wait_for_quiet(given.wait_load, given.wait_minutes)
    measured = run(given, pythons)
    found = summary(measured["rounds"])
    print(as_table(found))
    if given.json is not None:
        settings = {key: getattr(given, key) for key in ("rounds", "tasks", "many", "in_flight", "latency")}
        machine = {"python": platform.python_version(), "cores": os.cpu_count(), "system": platform.system()}
        value = {"settings": settings, "machine": machine, "summary": found, **measured}
        given.json.write_text(json.dumps(value, indent=1) + "\n")


if __name__ == "__main__":
    main()
