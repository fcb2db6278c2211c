"""The embedded model as it is pulled (4 bits) and as it is loaded (8 bits): tokens read and written a CPU second.

    taskset -c 0 python benchmarks/embedded.py [--prompts 16] [--json]

Prompts are those of tasks over files with what these say, some 500 tokens each; both forms take turns. On one core
the figures depend least on what else the machine does.
"""

import argparse
import asyncio
import json
import random
import time
from importlib import resources
from pathlib import Path
from typing import Any

from pointwork.agents.prompts import decomposer_prompt
from pointwork.models import ChatRequest, EmbeddedClient, requantizing, weights

WRITTEN = 64
ROUNDS = 3


async def measured(client: EmbeddedClient, prompts: list[Any], tokens: int) -> tuple[int, float]:
    """Tokens read and written, and CPU seconds."""
    start, count = time.process_time(), 0
    for prompt in prompts:
        said = await client.chat(ChatRequest(prompt, max_tokens=tokens))
        count += said.prompt_tokens if tokens == 1 else said.completion_tokens
    return count, time.process_time() - start


async def main(prompts: int) -> list[dict[str, Any]]:
    """A row for each form, the best of some rounds."""
    held = resources.files("pointwork") / "training" / "recipes" / "task_steps_facts_unseen.jsonl"
    rows = [json.loads(line) for line in held.read_text(encoding="utf-8").splitlines()]
    random.Random(0).shuffle(rows)
    asked = [decomposer_prompt(row["task"], row["around"]) for row in rows[:prompts]]
    story = [{"role": "user", "content": "Tell a long story about a lighthouse keeper and a storm."}]
    requantizing.ready(weights.SMOLLM2_135M)
    found: dict[Path, dict[str, float]] = {}
    for _ in range(ROUNDS):
        for path in (weights.path_of(weights.SMOLLM2_135M), requantizing.path_of(weights.SMOLLM2_135M)):
            client = EmbeddedClient(path)
            await client.start()
            best = found.setdefault(path, {"read": 0.0, "written": 0.0})
            # a prompt that was read already is not read again: each round has a client of its own
            read, seconds = await measured(client, asked, 1)
            best["read"] = max(best["read"], read / seconds)
            written, seconds = await measured(client, [story], WRITTEN)
            best["written"] = max(best["written"], written / seconds)
            await client.aclose()
    return [{"file": path.name, "MB": path.stat().st_size / 1e6, **best} for path, best in found.items()]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    results = asyncio.run(main(given.prompts))
    if given.json:
        print(json.dumps(results, indent=1))
    else:
        for row in results:
            print(
                "{file:44} {MB:4.0f} MB  {read:6.1f} tokens read, {written:5.1f} written a CPU second".format(**row)
            )
