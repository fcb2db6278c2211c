"""Seal-Tools, in-domain test: supervised start, then GRPO, with the embedded model and an adapter.

    python benchmarks/seal_tools.py --data BENCH_DATA --folder /tmp/seal --seed 0 --json seal0.json
    python benchmarks/seal_tools.py --data BENCH_DATA --folder /tmp/seal --rehearse      # a handful of CPU steps
    python benchmarks/seal_tools.py --data BENCH_DATA --folder /tmp/seal --made 0 --epochs 2 --batch 8 --steps 0
                                              # dev alone, supervised alone: an hour and a half of two CPU cores

Trained on the 700 requests of dev, less 70 that are held out for early stopping, and on requests made from the
tools' schemas; the 700 of the test are answered greedily at the end, once. Resumable: each stage goes on from its
last checkpoint. Rollouts are drawn in-process, on a GPU too. Seeds are three runs of this command.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import torch

from pointwork.training.loop import Settings, Shuffled
from pointwork.training.model import LocalModel, Lora
from pointwork.training.recipes.seal_tools import Figures, Request, SealTools, reward
from pointwork.training.samples import Group, Rollout, Turn
from pointwork.training.sampling import sample
from pointwork.training.trainer import GRPOTrainer, SFTTrainer

LONGEST = 400


def figures(
    model: LocalModel, data: SealTools, requests: Sequence[Request], rows: int, longest: int
) -> dict[str, float]:
    """Of greedy answers."""
    found = Figures()
    asked = [model.chat_ids(data.prompt(request)) for request in requests]
    answers = sample(model, asked, max_tokens=longest, temperature=0, rows=rows)
    for request, (answer,) in zip(requests, answers, strict=True):
        found.add(model.decode(answer.ids), request.gold)
    return found.report()


def main() -> None:
    """Train, then measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--model", default="embedded")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--made", type=int, default=4000, help="requests made from schemas")
    parser.add_argument("--epochs", type=float, default=4)
    parser.add_argument("--batch", type=int, default=32, help="examples in a supervised step")
    parser.add_argument("--steps", type=int, default=150, help="of GRPO; 0: the supervised start only")
    parser.add_argument("--full", action="store_true", help="train all weights, not an adapter")
    parser.add_argument("--rehearse", action="store_true")
    arguments = parser.parse_args()
    gpu = torch.cuda.is_available()
    if not gpu:
        print("no GPU: on two CPU cores the whole recipe takes many hours; --help has shorter ones")
    data = SealTools(arguments.data / "sealtools")
    dev, test = data.requests("dev"), data.requests("test_in_domain")
    held_out, dev = dev[::10], [request for place, request in enumerate(dev) if place % 10]
    made = data.generated(arguments.made, seed=arguments.seed)
    batch, tasks, trials, sft_steps, steps, longest = arguments.batch, 32, 8, 0, arguments.steps, LONGEST
    if not gpu:
        held_out = held_out[::3]
    if arguments.rehearse:
        dev, held_out, test, made = dev[:12], held_out[:2], test[:4], made[:12]
        batch, tasks, trials, sft_steps, steps, longest = 4, 2, 2, 3, 2, 24
    sft_steps = sft_steps or int(arguments.epochs * (len(dev) + len(made)) / batch)
    rows, lora = (256 if gpu else 16), None if arguments.full else Lora(32, 64)
    folder = arguments.folder / f"seed{arguments.seed}"
    lr = 5e-5 if arguments.full else 5e-4

    def exact_and_f1(model: LocalModel) -> float:
        found = figures(model, data, held_out, rows, longest)
        return (found["tool_f1"] + found["parameter_f1"] + found["exact"]) / 3

    report: dict[str, object] = {"gpu": gpu, "rehearsal": arguments.rehearse, "seed": arguments.seed}
    model = LocalModel.load(arguments.model, lora=lora, seed=arguments.seed)
    examples = [data.example(request) for request in [*made, *dev]]
    settings = Settings(
        sft_steps, lr=lr, warmup=min(20, sft_steps), schedule="cosine", width=2048, budget=32768 if gpu else 2048,
        save_every=20, evaluate_every=max(1, sft_steps // (6 if gpu else 2)), seed=arguments.seed,
    )  # fmt: skip
    source = Shuffled(examples, batch, seed=arguments.seed)
    if SFTTrainer(model, source, settings, folder / "sft", evaluate=exact_and_f1).fit().stopped == "interrupted":
        return
    model.restore(folder / "sft" / "best")
    report["sft"] = figures(model, data, test, rows, longest)
    print(json.dumps(report), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1))
    if not steps:
        return

    shuffled = Shuffled(dev, tasks, seed=arguments.seed)

    def groups(step: int) -> list[Group]:
        requests = shuffled(step)
        asked = [model.chat_ids(data.prompt(request)) for request in requests]
        drawn = sample(model, asked, n=trials, max_tokens=longest, seed=arguments.seed * 10_000 + step, rows=rows)
        found: list[Group] = []
        for request, prompt, answers in zip(requests, asked, drawn, strict=True):
            earned = [reward(model.decode(answer.ids), request.gold) for answer in answers]
            rollouts = [
                Rollout(request.id, (Turn("caller", prompt, answer.ids, answer.logprobs),), value, value == 1.0)
                for answer, value in zip(answers, earned, strict=True)
            ]
            found.append(Group(request.id, tuple(rollouts)))
        return found

    settings = Settings(
        steps, lr=lr / 10, width=2048, budget=32768 if gpu else 2048, save_every=10,
        evaluate_every=10 if not arguments.rehearse else 1, patience=6, seed=arguments.seed,
    )  # fmt: skip
    ended = GRPOTrainer(model, groups, settings, folder / "grpo", evaluate=exact_and_f1).fit()
    if ended.stopped == "interrupted":
        return
    model.restore(folder / "grpo" / "best")
    report |= {"grpo": figures(model, data, test, rows, longest), "steps": ended.steps, "alarm": ended.alarm}
    print(json.dumps(report))
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
