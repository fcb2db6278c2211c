"""Time and memory of a training step as groups, prompts and sequences grow, prompts shared or each by itself.

    python benchmarks/grpo_growth.py --model DIR --json growth.json --png docs/training-step.png

Without a GPU each row runs in a process of its own. No row is started when less than ten of ``--seconds`` are left.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alone import alone
from grpo_memory import Peak

RANK, LR, SEED = 16, 1e-5, 0


def shapes(gpu: bool) -> list[list[Any]]:
    """[groups, rollouts of each, tokens of a prompt, of a completion, prompts shared]."""
    most, several = (7, 5) if gpu else (5, 2)
    found = [
        *((1, 2**power, 256, 64) for power in range(1, most + 1)),
        *((2**power, 8, 256, 64) for power in range(1, several + 1)),
        *((1, 8, prompt, 64) for prompt in (512, 1024)),
    ]
    return [[*shape, shared] for shape in found for shared in (True, False)]


def growth(source: str, seconds: float) -> list[dict[str, Any]]:
    """One optimiser step on made-up rollouts of each shape; without a GPU each in a process of its own."""
    import torch

    rows: list[dict[str, Any]] = []
    until, gpu = time.monotonic() + seconds, torch.cuda.is_available()
    model = loaded(source) if gpu else None
    for shape in shapes(gpu):
        left = until - time.monotonic()
        if left < 10:
            return rows
        if gpu:
            rows.append(one_step(model, shape))
        else:  # the peak of a process can not be measured anew
            command = [sys.executable, __file__, "--model", source, "--one-step", json.dumps(shape)]
            try:
                ran = subprocess.run(command, capture_output=True, text=True, timeout=left)
            except subprocess.TimeoutExpired:
                return rows
            if ran.returncode:
                raise SystemExit(ran.stderr[-2000:])
            rows.append(json.loads(ran.stdout.splitlines()[-1]))
        print(json.dumps(rows[-1]), flush=True)
    return rows


def loaded(source: str) -> Any:
    """The model with a new adapter."""
    from pointwork.training.lora import Lora
    from pointwork.training.model import LocalModel

    return LocalModel.load(source, lora=Lora(RANK, 2 * RANK))


def one_step(model: Any, shape: list[Any]) -> dict[str, Any]:
    """Seconds (the best of two or three) and memory of one training step; on a GPU that of torch's tensors."""
    import tempfile

    import torch

    from pointwork.training.loop import Settings
    from pointwork.training.memory import peak_bytes, reset_peak
    from pointwork.training.samples import Group, Rollout, Turn
    from pointwork.training.trainer import GRPOTrainer

    groups, size, prompt, completion, shared = shape
    draw = random.Random(SEED)

    def ids(count: int) -> tuple[int, ...]:
        return tuple(draw.randrange(5, min(model.vocabulary, 2000)) for _ in range(count))

    made: list[Group] = []
    for place in range(groups):
        asked = ids(prompt)
        # A first token of its own is all that it takes to keep a prompt from being shared.
        asks = [asked if shared else (*ids(1), *asked[1:]) for _ in range(size)]
        rollouts = tuple(
            Rollout("t", (Turn("p", ask, ids(completion)),), float(draw.random()), False) for ask in asks
        )
        made.append(Group(str(place), rollouts))
    with tempfile.TemporaryDirectory() as folder:
        gpu = torch.cuda.is_available()
        settings = Settings(2, lr=LR, width=2048)
        trainer = GRPOTrainer(model, lambda step: made, settings, folder)
        with Peak() as before:
            time.sleep(0.1)
        reset_peak()
        start = torch.cuda.memory_allocated() if gpu else 0
        found: list[float] = []
        with Peak() as peak:
            for _ in range(3 if gpu else 2):
                began = time.perf_counter()
                figures = trainer.update(made)
                if gpu:
                    torch.cuda.synchronize()
                found.append(time.perf_counter() - began)
    return {
        "groups": groups, "size": size, "prompt": prompt, "completion": completion, "shared": shared,
        "computed_tokens": figures["nodes"], "seconds": min(found),
        "memory_mb": peak_bytes() / 1e6 if gpu else peak.megabytes,
        "of_which_model_mb": start / 1e6 if gpu else before.megabytes,
    }  # fmt: skip


def draw_growth(rows: Sequence[dict[str, Any]], file: Path) -> None:
    """Seconds and memory over the size of the group."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
    for shared, label, colour in ((True, "prompts shared", "#1f5fa8"), (False, "each by itself", "#9aa5b1")):
        mine = [row for row in rows if row["shared"] == shared and row["groups"] == 1 and row["prompt"] == 256]
        sizes = [row["size"] for row in mine]
        axes[0].plot(sizes, [row["seconds"] for row in mine], marker="o", ms=3, color=colour, label=label)
        extra = [row["memory_mb"] - row["of_which_model_mb"] for row in mine]
        axes[1].plot(sizes, extra, marker="o", ms=3, color=colour, label=label)
    axes[0].set(xscale="log", yscale="log", xlabel="rollouts of one prompt (256 + 64 tokens)", ylabel="s per step")
    axes[1].set(xscale="log", xlabel="rollouts of one prompt (256 + 64 tokens)", ylabel="MB beside the model")
    for one in axes:
        one.grid(visible=True, lw=0.3)
        one.legend(fontsize=7, frameon=False)
    figure.tight_layout()
    figure.savefig(file, dpi=110)


def main() -> None:
    """All rows, then the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="embedded", help="Hugging Face directory, .gguf, or embedded")
    parser.add_argument("--seconds", type=float, default=450.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--png", type=Path)
    parser.add_argument("--one-step", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one_step:
        print(json.dumps(one_step(loaded(arguments.model), arguments.one_step)))
        return
    with alone():
        rows = growth(arguments.model, arguments.seconds)
    if arguments.png and rows:
        draw_growth(rows, arguments.png)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
