r"""Seal-Tools, in-domain test: supervised start, then GRPO, with the embedded model and an adapter.

    python benchmarks/seal_tools.py --data BENCH_DATA --folder /tmp/seal --seed 0 --json seal0.json
    python benchmarks/seal_tools.py --data BENCH_DATA --folder /tmp/seal --rehearse      # a handful of CPU steps
    python benchmarks/seal_tools.py --data BENCH_DATA --folder /tmp/seal --made 0 --varied 0 --batch 8 --steps 0 \
        --epochs 1            # dev alone, supervised alone: 78 steps and 700 answers, an hour or more each on two
                              # CPU cores (docs/training.md)

Trained on the 700 requests of dev, less 70 that are held out for early stopping, on others made of them (other
candidates, other values) and on requests made from the tools' schemas; the 700 of the test are answered greedily
after the supervised start and at the end. Resumable: each stage goes on from its last checkpoint. Answers are
drawn in-process, or by a vLLM server (``--server``), which takes the adapter as it is before each drawing. Seeds
are three runs of this command.
"""

import argparse
import json
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch

from pointwork.training.loop import Settings
from pointwork.training.lora import Lora
from pointwork.training.model import LocalModel, native_bf16
from pointwork.training.recipes.seal_tools import Figures, Request, SealTools, reward
from pointwork.training.samples import Group, Rollout, Turn
from pointwork.training.sampling import Sampler, sample
from pointwork.training.served import ServedSampler
from pointwork.training.sources import Shuffled
from pointwork.training.trainer import GRPOTrainer, SFTTrainer

LONGEST = 400


@dataclass(frozen=True)
class Recipe:
    """What is trained on and how long; a rehearsal has a handful of each."""

    data: SealTools
    dev: Sequence[Request]
    held_out: Sequence[Request]
    test: Sequence[Request]
    made: Sequence[Request]
    fresh: Sequence[Request]
    draw: Sampler
    folder: Path
    seed: int
    gpu: bool
    rehearsal: bool
    batch: int
    sft_steps: int
    lr: float
    grpo_lr: float
    steps: int
    tasks: int
    trials: int
    until: float
    longest: int = LONGEST

    def figures(self, model: LocalModel, requests: Sequence[Request]) -> dict[str, float]:
        """Of greedy answers."""
        found = Figures()
        asked = [model.chat_ids(self.data.prompt(request)) for request in requests]
        answers = self.draw(model, asked, max_tokens=self.longest, temperature=0)
        for request, (answer,) in zip(requests, answers, strict=True):
            found.add(model.decode(answer.ids), request.gold)
        return found.report()

    def evaluate(self, model: LocalModel) -> float:
        """The mean of three figures on what is held out, for early stopping."""
        found = self.figures(model, self.held_out)
        return (found["tool_f1"] + found["parameter_f1"] + found["exact"]) / 3


def planned(arguments: argparse.Namespace) -> Recipe:
    """The recipe that the command line asks for."""
    gpu = torch.cuda.is_available()
    data = SealTools(arguments.data / "sealtools")
    dev, test = data.requests("dev"), data.requests("test_in_domain")
    held_out, dev = dev[::10], [request for place, request in enumerate(dev) if place % 10]
    varied = [data.varied(dev, seed=100 * arguments.seed + number) for number in range(arguments.varied + 2)]
    made = data.generated(arguments.made, seed=arguments.seed)
    made += [request for several in varied[2:] for request in several]
    folder = arguments.folder / f"seed{arguments.seed}"
    draw: Sampler = partial(sample, rows=256 if gpu else 16)  # answers that are drawn at once
    if arguments.server:
        where = (folder / "served").resolve()
        draw = ServedSampler(arguments.server, where, name=f"seal-{arguments.seed}", patience=300)
    lr = 5e-5 if arguments.full else 5e-4
    recipe = Recipe(
        data, dev, held_out if gpu else held_out[::3], test, made, [*varied[0], *varied[1]], draw, folder,
        arguments.seed, gpu, arguments.rehearse, batch=arguments.batch,
        sft_steps=int(arguments.epochs * (len(dev) + len(made)) / arguments.batch),
        lr=lr, grpo_lr=arguments.rate or lr / 5, steps=arguments.steps, tasks=arguments.tasks,
        trials=arguments.trials, until=time.monotonic() + arguments.seconds,
    )  # fmt: skip
    if not arguments.rehearse:
        return recipe
    return replace(
        recipe, dev=dev[:12], held_out=held_out[:2], test=test[:4], made=made[:12], fresh=varied[0][:12], batch=4,
        sft_steps=3, steps=2, tasks=2, trials=2, longest=24,
    )  # fmt: skip


def supervised(model: LocalModel, recipe: Recipe) -> bool:
    """Train on worked examples; False: interrupted."""
    steps, folder = recipe.sft_steps, recipe.folder / "sft"
    examples = [recipe.data.example(request) for request in [*recipe.made, *recipe.dev]]
    settings = Settings(
        steps, lr=recipe.lr, warmup=min(20, steps), schedule="cosine", width=2048,
        save_every=50 if recipe.gpu else 20, seed=recipe.seed,
    )  # fmt: skip
    source = Shuffled(examples, recipe.batch, seed=recipe.seed)
    return SFTTrainer(model, source, settings, folder).fit().stopped != "interrupted"


def drawn_groups(model: LocalModel, recipe: Recipe) -> Callable[[int], list[Group]]:
    """What GRPO learns from at a step: some requests, each answered several times by the model as it is.

    They are those of dev with values that the supervised start has not seen: what it knows by heart has nothing
    to teach.
    """
    shuffled = Shuffled(recipe.fresh, recipe.tasks, seed=recipe.seed)

    def groups(step: int) -> list[Group]:
        requests = shuffled(step)
        asked = [model.chat_ids(recipe.data.prompt(request)) for request in requests]
        seed = recipe.seed * 10_000 + step
        drawn = recipe.draw(model, asked, n=recipe.trials, max_tokens=recipe.longest, seed=seed)
        found: list[Group] = []
        for request, prompt, answers in zip(requests, asked, drawn, strict=True):
            earned = [reward(model.decode(answer.ids), request.gold) for answer in answers]
            rollouts = [
                Rollout(request.id, (Turn("caller", prompt, answer.ids, answer.logprobs),), value, value == 1.0)
                for answer, value in zip(answers, earned, strict=True)
            ]
            found.append(Group(request.id, tuple(rollouts)))
        return found

    return groups


def reinforced(model: LocalModel, recipe: Recipe) -> dict[str, object] | None:
    """GRPO from the weights as they are, and the figures of the best ones; None: interrupted."""
    settings = Settings(
        recipe.steps, lr=recipe.grpo_lr, width=2048, save_every=10,
        evaluate_every=1 if recipe.rehearsal else 10, patience=6, seed=recipe.seed,
    )  # fmt: skip
    groups, folder = drawn_groups(model, recipe), recipe.folder / "grpo"
    late: list[bool] = []

    def on_time(trainer: object, row: object) -> None:
        if time.monotonic() > recipe.until and not late:
            late.append(True)
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C: the step is saved, and the same command goes on

    ended = GRPOTrainer(model, groups, settings, folder, evaluate=recipe.evaluate, callbacks=[on_time]).fit()
    if ended.stopped == "interrupted" and not late:
        return None
    model.restore(folder / "best")
    found = recipe.figures(model, recipe.test)
    return {"grpo": found, "steps": ended.steps, "best_step": ended.best_step, "alarm": ended.alarm}


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
    parser.add_argument("--rate", type=float, help="learning rate of GRPO; default: a fifth of that before")
    parser.add_argument("--tasks", type=int, default=32, help="requests in a step of GRPO")
    parser.add_argument("--trials", type=int, default=8, help="answers to each")
    parser.add_argument("--varied", type=int, default=6, help="times that dev is made anew with other values")
    parser.add_argument("--server", help="vLLM server that draws the answers, up to /v1; default: in-process")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="GRPO ends after so many, and is measured"
    )
    parser.add_argument("--full", action="store_true", help="train all weights, not an adapter")
    parser.add_argument("--rehearse", action="store_true")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("no GPU: on two CPU cores the whole recipe takes many hours; --help has shorter ones")
    recipe = planned(arguments)
    report: dict[str, object] = {"gpu": recipe.gpu, "rehearsal": recipe.rehearsal, "seed": recipe.seed}
    if arguments.json and arguments.json.exists():
        report |= json.loads(arguments.json.read_text())

    def note(more: dict[str, object]) -> None:
        report.update(more)
        print(json.dumps(report), flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(report, indent=1))

    lora = None if arguments.full else Lora(32, 64)
    # On a CPU that can, an adapter over a bf16 base trains about twice as fast.
    bf16 = recipe.gpu or (lora is not None and native_bf16())
    model = LocalModel.load(arguments.model, lora=lora, seed=recipe.seed, bf16=bf16)
    if not supervised(model, recipe):
        return
    if "sft" not in report:
        note({"sft": recipe.figures(model, recipe.test)})
    if recipe.steps and (found := reinforced(model, recipe)) is not None:
        note(found)


if __name__ == "__main__":
    main()
