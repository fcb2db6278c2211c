"""Where Pointwork's time goes, by part, from a py-spy recording of the run with 50 in flight.

    py-spy record -r 400 -f raw --full-filenames --threads -o stacks.txt -- \\
        python child.py pointwork --url URL --many 400
    python parts.py stacks.txt --ms-per-task 20 [--deep ledger]

A sample counts for the first part, in the order below, of which a frame is in its stack. The shares are of the
samples inside the team's event loop and its helper threads; milliseconds are shares of the time per task that was
measured without the profiler.
"""

import argparse
import linecache
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

# name → pattern of a frame, "function (file:line)". The first that matches any frame of a stack takes the sample.
PARTS = {
    "import, open, close": r"_find_and_load |_?aclose \(.*/agents/|__init__ \(.*/agents/team|\bopen \(.*rival_",
    "checkpoints": r"/langgraph/checkpoint/|/aiosqlite/|/agents/checkpoints|_checkpointer_put|_prepare_checkpoint",
    "store: commit (fsync)": r"_do_commit \(|_commit_impl \(",
    "store: write buffered rows": r"\bflush \(.*/store/|/store/buffer",
    "ledger: reserve": r"\breserve \(.*/ledger",
    "ledger: settle, release": r"\b(_close|settle|release) \(.*/ledger",
    "ledger: open, child": r"\b(_insert|open|child|find|get) \(.*/ledger",
    "ledger: remaining, share, spent": r"/ledger\.py|/store/books|/store/leases",
    "router": r"/router/\w+\.py",
    "memory: add": r"\badd \(.*/memory/memory",
    "memory: recall": r"/memory/\w+\.py",
    "agents' fit to a subtask": r"\bfits \(.*/agents/",
    "token bounds": r"/models/counting",
    "JSON schema": r"/models/structured|/jsonschema/|/referencing/",
    "HTTP: httpx2, httpcore2, h11": r"/httpx2/|/httpcore2/|/h11/|/anyio/",
    "HTTP: openai_http, openai_wire": r"/models/openai_",
    "gateway: log, retries, time-outs": r"/models/",
    "graph built per run": r"\bbuild_graph \(",
    "runs table: begin, mark, find": r"\b(begin_run|_mark|find_run|build_result) \(",
    "tool call": r"\bcall_tool \(.*/agents/services|/agents/calling|/tools/spec",
    "our nodes and agents": r"/agents/(nodes|loop|plan|planner|verify|outcome|graph|splitter|services|s\w+)\.py",
    "langgraph, langchain-core": r"/langgraph/|/langchain_core/|/langsmith/",
    "event loop, rest": r"",
}

# Threads that wait in C look busy to py-spy: by their innermost frame, or by the line it stands on.
IDLE = re.compile(r"^_worker \(|EpollSelector\.select \(|^(\w+\.)?wait \(")
IDLE_LINE = re.compile(r"\.get\(\)")


def _waits(frame: str) -> bool:
    file, _, line = frame.rpartition(" (")[2].rstrip(")").rpartition(":")
    return bool(IDLE.search(frame)) or bool(file and IDLE_LINE.search(linecache.getline(file, int(line))))


def stacks(path: Path) -> Iterator[tuple[list[str], int]]:
    """The frames below the thread, and the samples, of what is Pointwork's."""
    for line in path.read_text().splitlines():
        stack, _, samples = line.rpartition(" ")
        thread, *frames = stack.split(";")
        # of the main thread: not this benchmark's own loop, nor the imports
        ours = "MainThread" not in thread or any("rival_" in frame for frame in frames)
        if ours and frames and not _waits(frames[-1]):
            yield frames, int(samples)


def counts(path: Path, parts: dict[str, str]) -> Counter[str]:
    """Samples by part."""
    found: Counter[str] = Counter()
    compiled = {name: re.compile(pattern) for name, pattern in parts.items()}
    for frames, samples in stacks(path):
        found[next(name for name, pattern in compiled.items() if any(map(pattern.search, frames)))] += samples
    return found


def deep(path: Path, part: str, depth: int) -> Counter[str]:
    """Samples of one part, by the functions deepest in this project's or a library's code."""
    found: Counter[str] = Counter()
    compiled = {name: re.compile(pattern) for name, pattern in PARTS.items()}
    for frames, samples in stacks(path):
        here = next(name for name, pattern in compiled.items() if any(map(pattern.search, frames)))
        if here.startswith(part):
            first = next(i for i, frame in enumerate(frames) if compiled[here].search(frame))
            below = frames[first : first + depth]
            found[" > ".join(re.sub(r" \(.*/([^/]+/[^/]+):\d+\)", r" \1", frame) for frame in below)] += samples
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stacks", type=Path)
    parser.add_argument("--ms-per-task", type=float, default=100.0)
    parser.add_argument("--deep", help="a part (or the beginning of its name) to open")
    parser.add_argument("--depth", type=int, default=4)
    given = parser.parse_args()
    found = counts(given.stacks, PARTS)
    found.pop("import, open, close", None)
    total = sum(found.values())
    shown = deep(given.stacks, given.deep, given.depth) if given.deep else found
    for name, samples in shown.most_common(40):
        print(f"{samples / total:7.1%} {given.ms_per_task * samples / total:7.2f} ms  {name}")


if __name__ == "__main__":
    main()
