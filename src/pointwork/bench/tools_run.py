"""How well ``ToolIndex`` finds tools, on public sets; how fast it is with a hundred thousand."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from pointwork.bench.tools_data import Asked, Tools, live_mcp_bench, meta_tool, seal_tools
from pointwork.sentences import encoder as sentence_encoder
from pointwork.tools import ToolIndex

PAST = 2_000
SINGLE = 3_000  # requests for one tool that are asked, of those that are not past
LARGE = 100_000
SEED = 0

# What the default install should reach, and one with the sentence encoder; see docs/mcp.md.
TARGETS: dict[str, dict[str, float]] = {
    "Seal-Tools in-domain": {"R@5": 0.965, "C@5": 0.91},
    "LiveMCPBench": {"R@5": 0.38, "R@20": 0.62},
    "MetaTool, two tools": {"C@5": 0.48, "C@10": 0.67},
    "MetaTool, single": {"R@5": 0.72},
    "MetaTool, single, 2,000 past": {"R@5": 0.87},
}
ENCODED_TARGETS: dict[str, dict[str, float]] = {
    "Seal-Tools in-domain": {"R@5": 0.967, "C@5": 0.917},
    "LiveMCPBench": {"R@5": 0.45, "R@20": 0.68},
    "MetaTool, two tools": {"C@5": 0.53, "C@10": 0.74},
    "MetaTool, single": {"R@5": 0.81},
    "MetaTool, single, 2,000 past": {"R@5": 0.90},
}


@dataclass(frozen=True)
class Row:
    """One set's figures.

    Attributes:
        name: of the set.
        tools, requests: how many.
        figures: R@k (share of what is needed among the first k) and C@k (share of requests with all of it).
        half_width: of the 95 % interval of the first figure (bootstrap over requests).
        tokens_shown, tokens_all: about what 5 found tools, and all tools, cost to show to a model.
        p50_ms, p99_ms: of a search.
    """

    name: str
    tools: int
    requests: int
    figures: dict[str, float]
    half_width: float
    tokens_shown: float
    tokens_all: int
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Large:
    """The index with many tools: seconds to build, bytes it holds, milliseconds of a search."""

    tools: int
    build_seconds: float
    bytes_held: int
    p50_ms: float
    p99_ms: float


Tell = Callable[[str], None]


def run(folder: Path, *, large: bool = True, encoder: str = "auto", tell: Tell = lambda _: None) -> dict[str, Any]:
    """All sets, with the same settings.

    Args:
        folder: of the data sets.
        large: whether the index is also built with 100,000 tools.
        encoder: ``auto`` takes the install's, ``static`` and ``minilm`` insist on theirs.
        tell: told what is being done.

    Raises:
        UsageError: a file is missing.
        ImportError: ``minilm`` without the extra ``embed``.
    """
    rows: list[Row] = []
    targets = TARGETS if sentence_encoder(encoder) is None else ENCODED_TARGETS
    tell("Seal-Tools")
    tools, asked = seal_tools(folder, "test_in_domain")
    rows.append(_measured("Seal-Tools in-domain", ToolIndex(tools, embedder=encoder), asked))
    tell("LiveMCPBench")
    live, tasks = live_mcp_bench(folder)
    rows.append(_measured("LiveMCPBench", ToolIndex(live, embedder=encoder), tasks))
    tell("MetaTool")
    plugins, one, two = meta_tool(folder)
    random.Random(SEED).shuffle(one)
    past, asked_one = one[:PAST], one[PAST : PAST + SINGLE]
    index = ToolIndex(plugins, embedder=encoder)
    rows.append(_measured("MetaTool, two tools", index, two))
    rows.append(_measured("MetaTool, single", index, asked_one))
    for request, wanted in past:
        index.learn(request, [names[0] for names in wanted])
    rows.append(_measured("MetaTool, single, 2,000 past", index, asked_one))
    found: dict[str, Any] = {"sets": [{**asdict(row), "targets": targets.get(row.name, {})} for row in rows]}
    if large:
        tell("100,000 tools")
        found["large"] = asdict(_large(tools, [request for request, _ in asked]))
    return found


def _measured(name: str, index: ToolIndex, asked: Sequence[Asked]) -> Row:
    counts = {"R@1": 1, "R@5": 5, "C@5": 5, "R@10": 10, "C@10": 10, "R@20": 20}
    recall: dict[int, list[float]] = {k: [] for k in counts.values()}
    shown: list[int] = []
    times: list[float] = []
    index.search(asked[0][0], k=1)  # what is loaded at the first search is not its time
    for request, wanted in asked:
        started = time.perf_counter()
        hits = index.search(request, k=20)
        times.append(time.perf_counter() - started)
        shown.append(index.schema_tokens(hits[:5]))
        for k, values in recall.items():
            top = {hit.name for hit in hits[:k]}
            values.append(sum(any(n in top for n in names) for names in wanted) / len(wanted))
    figures: dict[str, float] = {}
    for figure, k in counts.items():
        values = recall[k] if figure[0] == "R" else [float(value >= 1) for value in recall[k]]
        figures[figure] = round(float(np.mean(values)), 4)
    return Row(
        name,
        len(index),
        len(asked),
        figures,
        round(_half_width(recall[5]), 4),
        round(float(np.mean(shown)), 1),
        index.all_tokens,
        _milliseconds(times, 50),
        _milliseconds(times, 99),
    )


def _half_width(values: Sequence[float]) -> float:
    drawn = np.random.default_rng(SEED).choice(np.array(values), (1000, len(values))).mean(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(high - low) / 2


def _large(tools: Tools, requests: Sequence[str]) -> Large:
    """Tools of Seal-Tools with the words of their descriptions mixed, until there are enough."""
    draw = random.Random(SEED)
    many: Tools = [dict(tool) for tool in tools]
    while len(many) < LARGE:
        one, other = draw.choice(tools), draw.choice(tools)
        words = f"{one['description']} {other['description']}".split()
        draw.shuffle(words)
        half = " ".join(words[: max(4, len(words) // 2)])
        schema = draw.choice((one, other))["input_schema"]
        name = f"{one['name']}_{len(many)}"
        many.append({"name": name, "description": half, "input_schema": schema})
    process = psutil.Process()
    before = process.memory_info().rss
    started = time.perf_counter()
    index = ToolIndex(many, embedder="static")
    built = time.perf_counter() - started
    held = process.memory_info().rss - before
    times: list[float] = []
    for request in requests[:20]:
        index.search(request)
    for request in requests:
        started = time.perf_counter()
        index.search(request)
        times.append(time.perf_counter() - started)
    return Large(len(many), round(built, 2), held, _milliseconds(times, 50), _milliseconds(times, 99))


def _milliseconds(times: Sequence[float], percentile: int) -> float:
    return round(1000 * float(np.percentile(times, percentile)), 2)
