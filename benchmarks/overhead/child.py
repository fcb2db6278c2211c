"""One fresh process that measures one rival: ``python child.py NAME --url http://127.0.0.1:PORT`` prints JSON.

A rival is a module ``rival_*.py`` with ``SHAPES`` (name → shape) and ``async def open(name, url, folder)``, which
gives an object with ``async run() -> str`` (one job, its final text), ``tool_calls`` (how many so far) and
``async close() -> dict`` (what else there is to say). The module imports its framework at its top: that is the
import time.
"""

import argparse
import asyncio
import contextlib
import importlib
import importlib.metadata
import json
import os
import resource
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from typing import Any, Protocol

MODULES = {
    "pointwork": "rival_pointwork",
    "pointwork-6": "rival_pointwork",
    "pointwork-team": "rival_pointwork",
    "langgraph": "rival_langgraph",
    "langgraph-supervisor": "rival_langgraph_supervisor",
    "openai-agents": "rival_openai_agents",
    "crewai": "rival_crewai",
    "raw-httpx": "rival_httpx",
    "raw-httpx2": "rival_httpx2",
    "raw-httpx-seq": "rival_httpx",
    "raw-httpx2-seq": "rival_httpx2",
}
# whose versions are recorded
DISTRIBUTIONS = (
    *("pointwork", "langgraph", "langgraph-supervisor", "langchain-openai", "openai-agents", "openai", "crewai"),
    *("httpx", "httpx2", "sqlalchemy"),
)
NEEDED = ("alpha is 40", "beta is 2")


@dataclass(frozen=True)
class Shape:
    """What a job asks of the server.

    Attributes:
        name: ``fan`` (plan, two workers at once, answer) or ``sequential`` (a supervisor).
        calls: model calls of one job.
        path: how many of them follow one another.
    """

    name: str
    calls: int
    path: int


class Rival(Protocol):
    """An opened rival."""

    @property
    def tool_calls(self) -> int: ...
    async def run(self) -> str: ...
    async def close(self) -> dict[str, Any]: ...


class Unverified(Exception):
    """A job that did not do what it should have done: its time means nothing."""


async def _sequential(rival: Rival, tasks: int) -> list[float]:
    walls: list[float] = []
    for _ in range(tasks):
        started = time.perf_counter()
        _check(await rival.run())
        walls.append(time.perf_counter() - started)
    return walls


async def _at_once(rival: Rival, tasks: int, in_flight: int) -> None:
    todo = iter(range(tasks))

    async def one_after_another() -> None:
        for _ in todo:
            _check(await rival.run())

    await asyncio.gather(*(one_after_another() for _ in range(min(in_flight, tasks))))


def _check(text: str) -> None:
    if not all(part in text for part in NEEDED):
        raise Unverified(f"the final text is {text!r}")


async def _verified(rival: Rival, url: str, shape: Shape, tasks: int, work: Any) -> Any:
    """The work's result, if it made the calls it should."""
    _server(url, "/reset", b"{}")
    before = rival.tool_calls
    result = await work
    calls, tools = _server(url, "/stats")["calls"], rival.tool_calls - before
    if calls != shape.calls * tasks or tools != 2 * tasks:
        raise Unverified(f"{tasks} jobs made {calls} model and {tools} tool calls, not {shape.calls} and 2 each")
    return result


def _server(url: str, path: str, data: bytes | None = None) -> dict[str, Any]:
    with urllib.request.urlopen(url + path, data, timeout=60) as response:
        return json.load(response)


async def measure(module: Any, name: str, url: str, folder: str, given: argparse.Namespace) -> dict[str, Any]:
    """All figures of one rival in this process."""
    shape: Shape = module.SHAPES[name]
    rival: Rival = await module.open(name, url, folder)
    await _verified(rival, url, shape, given.warm, _sequential(rival, given.warm))
    cpu = time.process_time()
    walls = await _verified(rival, url, shape, given.tasks, _sequential(rival, given.tasks))
    cpu = time.process_time() - cpu
    many_cpu, many_wall = time.process_time(), time.perf_counter()
    await _verified(rival, url, shape, given.many, _at_once(rival, given.many, given.in_flight))
    many_cpu, many_wall = time.process_time() - many_cpu, time.perf_counter() - many_wall
    said = await rival.close()
    wall = sorted(walls)[len(walls) // 2]
    return {
        "shape": shape.name,
        "calls": shape.calls,
        "path": shape.path,
        "cpu_ms": 1000 * cpu / given.tasks,
        "wall_ms": 1000 * wall,
        "own_wall_ms": 1000 * (wall - shape.path * given.latency),
        "many_cpu_ms": 1000 * many_cpu / given.many,
        "many_per_s": given.many / many_wall,
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        **said,
    }


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in DISTRIBUTIONS:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def main() -> int:
    """Measure; exit 3 if the rival is not installed here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=MODULES)
    parser.add_argument("--url", required=True)
    parser.add_argument("--latency", type=float, default=0.02)
    parser.add_argument("--cpu", type=int)
    parser.add_argument("--warm", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--many", type=int, default=200)
    parser.add_argument("--in-flight", type=int, default=50)
    given = parser.parse_args()
    if given.cpu is not None:
        os.sched_setaffinity(0, {given.cpu})
    started = time.perf_counter()
    try:
        module = importlib.import_module(MODULES[given.name])
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
        return 3
    imported = 1000 * (time.perf_counter() - started)
    with tempfile.TemporaryDirectory(prefix="overhead-") as folder:
        figures = asyncio.run(measure(module, given.name, given.url, folder, given))
    print(json.dumps({"import_ms": imported, **figures, "versions": _versions()}))
    return 0


if __name__ == "__main__":
    sys.modules["child"] = sys.modules["__main__"]
    sys.exit(main())
