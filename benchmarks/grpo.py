"""GRPO steps of Pointwork and of TRL, side by side: same model, prompts, group size, lengths, adapter, reward.

    python benchmarks/grpo.py --folder /tmp/grpo                       # on a GPU: SmolLM2-135M
    python benchmarks/grpo.py --folder /tmp/grpo --rehearse            # no GPU: a tiny model, both in-process

A step is: the adapter reaches what draws, all completions are drawn, rewarded and learned from. TRL has vLLM in its
process, ours its own decoding (``fused``), and with ``--vllm`` vLLM beside the trainer in rows of their own. The
first steps of each are not counted.
Each part runs in a process of its own, which frees the GPU, and leaves its result in the folder: run the same
command again to go on. Engines start side by side, steps are measured one part after the other (``alone.py``).
Needs trl and, on a GPU, vllm. What has not ended after ``--seconds`` is ended.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from alone import VARIABLE, alone, wait_for
from grpo_memory import Peak, reserved

SIZES = {"64": (8, 8, 128), "512": (32, 16, 256)}  # prompts, completions of each, longest completion
REHEARSED = {"64": (2, 4, 16), "512": (4, 8, 24)}
TARGETS = {"64": 2.5, "512": 2.0}
RANK, LR, SEED = 16, 1e-5, 0
WARM, COUNTED = 2, 6
# Of the GPU's memory for TRL's vLLM, which counts what others take while it starts; GB of keys and values for ours.
SHARE, KEYS = 0.2, 10.0
BESIDE, VLLM = "POINTWORK_BESIDE", "POINTWORK_VLLM"  # parts that start together; whether ours has vLLM, too
NAMES = ["Ann", "Bo", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana"]
THINGS = ["apples", "books", "coins", "drums", "eggs", "flags", "gems", "hats"]


def prompts(count: int) -> list[str]:
    """Word problems, each another one."""
    draw = random.Random(SEED)
    found: list[str] = []
    for _ in range(count):
        one, other = draw.sample(NAMES, 2)
        thing, a, b, c = draw.choice(THINGS), draw.randint(3, 90), draw.randint(2, 60), draw.randint(2, 9)
        found.append(
            f"{one} has {a} {thing}. {other} has {b} more than {one}, and gives away every {c}th of them. "
            f"How many {thing} do {one} and {other} have together? Think in steps, then give the number."
        )
    return found


def reward(ids: Sequence[int]) -> float:
    """Costs nothing and differs between completions; what it is worth does not matter here."""
    return len(set(ids)) / max(1, len(ids))


def summary(seconds: list[float], tokens: list[int], memory: float, **more: Any) -> dict[str, Any]:
    """Figures of the counted steps. ``seconds`` and ``tokens``: of each step, warm-up included."""
    seconds, tokens = seconds[WARM:], tokens[WARM:]
    return {
        "steps": len(seconds),
        "seconds_per_step": statistics.median(seconds),
        "range": [min(seconds), max(seconds)],
        "steps_per_second": 1 / statistics.median(seconds),
        "new_tokens_per_step": statistics.mean(tokens),
        "tokens_per_second": sum(tokens) / sum(seconds),
        "peak_memory_mb": memory,
        **more,
    }


# ours


def ours(source: str, folder: Path, sizes: dict[str, tuple[int, int, int]], gpu: bool) -> dict[str, Any]:
    """All sizes, drawn in this process, and by vLLM if that is asked for."""
    from pointwork.training.bases import directory_of
    from pointwork.training.engine import VllmEngine
    from pointwork.training.lora import Lora
    from pointwork.training.model import LocalModel
    from pointwork.training.sampling import sample

    model = LocalModel.load(source, lora=Lora(RANK, 2 * RANK))
    draw = partial(sample, rows=512)
    if not gpu:
        return steps(model, draw, folder, sizes, gpu)
    model.compile()
    steps(model, draw, folder / "first", sizes, gpu, count=WARM)  # compiles
    up("pointwork", folder)
    with alone():
        found = steps(model, draw, folder / "fused", sizes, gpu)
        if VLLM in os.environ:
            engine = VllmEngine(directory_of(source), folder, memory=KEYS)
            rows = steps(model, engine, folder / "vllm", sizes, gpu)
            found |= {f"{name}-vllm": row for name, row in rows.items()}
        return found


def up(name: str, folder: Path) -> None:
    """Say that a part has started, and wait for those that start beside it: nobody starts while one measures."""
    (folder / f"{name}.up").touch()
    wait_for([folder / f"{other}.up" for other in os.environ.get(BESIDE, "").split(",") if other])


def steps(
    model: Any,
    draw: Any,
    folder: Path,
    sizes: dict[str, tuple[int, int, int]],
    gpu: bool,
    count: int = WARM + COUNTED,
) -> dict[str, Any]:
    """Steps of each size with one way to draw; figures if there are any to count."""
    import torch

    from pointwork.training.fused import Fused

    found: dict[str, Any] = {}
    for name, shape in sizes.items():
        run = folder / f"run-{name}"
        shutil.rmtree(run, ignore_errors=True)  # one that was cut off is measured anew
        Fused.forget(model)
        if gpu:
            torch.cuda.empty_cache()  # each size's own peak
            torch.cuda.reset_peak_memory_stats()
        rows = one_size(model, draw, run, shape, count)
        if count > WARM:
            found[name] = figures(*rows, trainer_memory_mb=reserved() if gpu else 0.0)
    return found


def one_size(
    model: Any, draw: Any, run: Path, shape: tuple[int, int, int], count: int
) -> tuple[list[dict[str, float]], list[int], list[float], float]:
    """So many steps: their metrics, new tokens and seconds of publication, and the peak of memory."""
    from pointwork.training.loop import Settings
    from pointwork.training.samples import Group, Rollout, Turn
    from pointwork.training.trainer import GRPOTrainer

    several, n, longest = shape
    asked = [model.chat_ids([{"role": "user", "content": text}]) for text in prompts(several)]
    tokens: list[int] = []
    published: list[float] = []

    def rollout(prompt: tuple[int, ...], answer: Any) -> Rollout:
        return Rollout("t", (Turn("p", prompt, answer.ids, answer.logprobs),), reward(answer.ids), False)

    def groups(step: int) -> list[Group]:
        drawn = draw(model, asked, n=n, max_tokens=longest, seed=step)
        published.append(getattr(draw, "published", 0.0))
        tokens.append(sum(len(answer.ids) for answers in drawn for answer in answers))
        return [
            Group(str(place), tuple(rollout(prompt, answer) for answer in answers))
            for place, (prompt, answers) in enumerate(zip(asked, drawn, strict=True))
        ]

    settings = Settings(count, lr=LR, save_every=1000, width=2048)
    rows: list[dict[str, float]] = []
    trainer = GRPOTrainer(model, groups, settings, run, callbacks=[lambda t, row: rows.append(dict(row))])
    with Peak() as peak:
        trainer.fit()
    return rows, tokens, published, peak.megabytes


def figures(
    rows: list[dict[str, float]], tokens: list[int], published: list[float], megabytes: float, **more: float
) -> dict[str, Any]:
    """Of the counted steps."""
    drawing = [row["rollout_seconds"] for row in rows][WARM:]
    learning = [row["seconds"] - row["rollout_seconds"] for row in rows][WARM:]
    return summary(
        [row["seconds"] for row in rows],
        tokens,
        megabytes,
        rollout_seconds=statistics.median(drawing),
        training_seconds=statistics.median(learning),
        rollout_tokens_per_second=sum(tokens[WARM:]) / sum(drawing),
        training_tokens_per_second=sum(row["nodes"] for row in rows[WARM:]) / sum(learning),
        publish_seconds=statistics.median(published[WARM:]),
        serving_gap=rows[-1].get("serving_gap", 0.0),
        skipped_groups=sum(row["skipped_groups"] for row in rows),
        **more,
    )


# TRL


def rival(name: str, source: str, folder: Path, shape: tuple[int, int, int], gpu: bool) -> dict[str, Any]:
    """TRL's trainer, at its own defaults but for what makes the work the same."""
    import datasets
    from peft import LoraConfig
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    from pointwork.training.bases import directory_of
    from pointwork.training.lora import PROJECTIONS

    count, n, longest = shape
    tokens: list[int] = []
    starts: list[float] = []

    def rewarded(completion_ids: list[list[int]], **rest: Any) -> list[float]:
        tokens.append(sum(len(ids) for ids in completion_ids))
        return [reward(ids) for ids in completion_ids]

    class Clock(TrainerCallback):
        def on_step_begin(self, *rest: Any, **more: Any) -> None:
            starts.append(time.perf_counter())

        def on_train_end(self, *rest: Any, **more: Any) -> None:
            starts.append(time.perf_counter())

    together = min(count * n, 64)
    config = GRPOConfig(
        output_dir=str(folder / name),
        per_device_train_batch_size=together,
        gradient_accumulation_steps=count * n // together,
        num_generations=n,
        max_completion_length=longest,
        max_steps=WARM + COUNTED,
        learning_rate=LR,
        lr_scheduler_type="constant",
        temperature=1.0,
        beta=0.0,
        loss_type="dapo",
        epsilon_high=0.28,
        bf16=gpu,
        use_cpu=not gpu,
        gradient_checkpointing=False,
        use_vllm=gpu,
        **({"vllm_mode": "colocate", "vllm_gpu_memory_utilization": SHARE} if gpu else {}),
        report_to=[],
        logging_strategy="no",
        save_strategy="no",
        disable_tqdm=True,
        seed=SEED,
    )
    chats = [[{"role": "user", "content": text}] for text in prompts(count)]
    trainer = GRPOTrainer(
        model=str(directory_of(source)),
        reward_funcs=rewarded,
        args=config,
        train_dataset=datasets.Dataset.from_dict({"prompt": chats * (WARM + COUNTED)}),
        peft_config=LoraConfig(
            r=RANK, lora_alpha=2 * RANK, target_modules=list(PROJECTIONS), task_type="CAUSAL_LM"
        ),
        callbacks=[Clock()],
    )
    up(name, folder)
    with alone(), Peak() as peak:
        trainer.train()
    seconds = [after - before for before, after in zip(starts, starts[1:], strict=False)]
    return summary(seconds, tokens[: len(seconds)], peak.megabytes, trainer_memory_mb=reserved() if gpu else 0.0)


# parts


def part(name: str, source: str, folder: Path, rehearse: bool) -> dict[str, Any]:
    import torch

    gpu = torch.cuda.is_available() and not rehearse
    sizes = REHEARSED if not gpu else SIZES
    if name == "pointwork":
        return ours(source, folder, sizes, gpu)
    return rival(name, source, folder, sizes[name.removeprefix("trl-")], gpu)


def main() -> None:
    """Run the parts that have no result yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--model", default="embedded", help="Hugging Face directory, .gguf, or embedded")
    parser.add_argument("--rehearse", action="store_true", help="small sizes, in-process generation")
    parser.add_argument("--vllm", action="store_true", help="ours with vLLM, too; a minute or two longer")
    parser.add_argument("--seconds", type=float, default=450.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.part:
        try:
            found = part(arguments.part, arguments.model, arguments.folder, arguments.rehearse)
        finally:  # nobody waits for one that has failed
            (arguments.folder / f"{arguments.part}.up").touch()
        (arguments.folder / f"{arguments.part}.json").write_text(json.dumps(found))
        return
    compare(arguments)


def compare(arguments: argparse.Namespace) -> None:
    """Parts in processes of their own, then the table."""
    import torch

    gpu = torch.cuda.is_available() and not arguments.rehearse
    if not gpu:
        print("no GPU (or --rehearse): small sizes, both generate in-process; the targets below are for a GPU")
    until = time.monotonic() + arguments.seconds
    if arguments.vllm:
        os.environ[VLLM] = "1"
    os.environ.setdefault(VARIABLE, str((arguments.folder / "alone").resolve()))
    # The two of TRL are one after the other: three engines and their trainers are too much for one GPU.
    for several in (("pointwork", "trl-64"), ("trl-512",)):
        left = [name for name in several if not (arguments.folder / f"{name}.json").exists()]
        for name in left:
            (arguments.folder / f"{name}.up").unlink(missing_ok=True)
        for name, process in [(name, start(name, left, arguments)) for name in left]:
            try:
                code: int | str = process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                code = "out of time: run the same command again"
            if code:
                end = (arguments.folder / f"{name}.log").read_text()[-2000:]
                print(f"{name}: {code}; the end of its log:\n{end}", flush=True)
    report(arguments, gpu)


def start(name: str, several: Sequence[str], arguments: argparse.Namespace) -> "subprocess.Popen[bytes]":
    """One part, in a process of its own."""
    command = [sys.executable, __file__, "--folder", str(arguments.folder), "--model", arguments.model]
    command += ["--part", name, *(["--rehearse"] if arguments.rehearse else [])]
    with (arguments.folder / f"{name}.log").open("w") as log:
        env = {**os.environ, "HF_HUB_OFFLINE": "1", BESIDE: ",".join(several)}
        return subprocess.Popen(command, stdout=log, stderr=log, env=env)


def report(arguments: argparse.Namespace, gpu: bool) -> None:
    """What there is, with ratios where both sides are there."""
    found: dict[str, Any] = {"gpu": gpu, "model": arguments.model}
    for name in ("pointwork", "trl-64", "trl-512"):
        file = arguments.folder / f"{name}.json"
        if file.exists():
            found[name] = json.loads(file.read_text())
    for size in SIZES:
        mine, theirs = found.get("pointwork", {}).get(size), found.get(f"trl-{size}")
        engine = found.get("pointwork", {}).get(f"{size}-vllm")
        for who, row in (("pointwork", mine), ("  (vLLM)", engine), ("TRL", theirs)):
            if row:
                low, high = row["range"]
                print(
                    f"{size:>4} {who:10s} {row['seconds_per_step']:8.3f} s/step ({low:.3f}–{high:.3f})  "
                    f"{row['tokens_per_second']:9,.0f} new tok/s  {row['peak_memory_mb']:8,.0f} MB"
                )
        if mine and theirs:
            ratio = theirs["seconds_per_step"] / mine["seconds_per_step"]
            found[f"ratio-{size}"] = ratio
            print(
                f"{size:>4} ratio      {ratio:.2f} ×"
                + (f" (target {TARGETS[size]})" if gpu else " (no target here)")
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
