"""A small GRPO run on policy, started by the tests in a process of its own: resuming.py FOLDER [KILL_AT]."""

import os
import random
import signal
import sys
from pathlib import Path

import torch

from pointwork.training.bases import tiny_llama
from pointwork.training.loop import Settings, Trainer
from pointwork.training.lora import Lora
from pointwork.training.model import LocalModel
from pointwork.training.objective import Objective
from pointwork.training.samples import Group, Rollout, Turn
from pointwork.training.sampling import sample
from pointwork.training.trainer import GRPOTrainer

PROMPTS = [(1, 2), (2, 3), (3, 1), (1, 1)]
GOOD = 5


class OnPolicy:
    """Draws with the model as it is; its seed is a state of its own, so that a checkpoint must carry it."""

    def __init__(self, model: LocalModel) -> None:
        self.model, self.drawn = model, 0

    def __call__(self, step: int) -> list[Group]:
        self.drawn += 1
        # the global random states are part of the trajectory too
        seed = self.drawn + random.randrange(1000) + int(torch.randint(1000, ()))
        groups: list[Group] = []
        answers = sample(self.model, PROMPTS, n=4, max_tokens=4, seed=seed)
        for place, (prompt, several) in enumerate(zip(PROMPTS, answers, strict=True)):
            rollouts = tuple(
                Rollout(
                    str(place), (Turn("worker", prompt, a.ids, a.logprobs),), float(GOOD in a.ids), GOOD in a.ids
                )
                for a in several
            )
            groups.append(Group(str(place), rollouts))
        return groups

    def state(self) -> dict[str, int]:
        return {"drawn": self.drawn}

    def restore(self, state: dict[str, int]) -> None:
        self.drawn = state["drawn"]


def trainer(folder: Path, steps: int = 12, kill_at: int = -1) -> GRPOTrainer:
    """The run of the tests. ``kill_at``: SIGKILL after this step, before its checkpoint."""
    torch.set_num_threads(1)
    random.seed(0)
    model = LocalModel(tiny_llama(8, hidden=32), name="tiny", lora=Lora(4), device="cpu")

    def after(run: Trainer[Group], metrics: dict[str, float]) -> None:
        run.versions.append(f"v{run.step}")
        if run.step == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def held_out(model: LocalModel) -> float:
        answers = sample(model, PROMPTS, max_tokens=4, temperature=0)
        return sum(GOOD in answer.ids for (answer,) in answers) / len(PROMPTS)

    return GRPOTrainer(
        model,
        OnPolicy(model),
        Settings(steps, lr=0.03, save_every=4, evaluate_every=3, width=64),
        folder,
        objective=Objective(kl=0.01),
        updates=2,
        callbacks=[after],
        evaluate=held_out,
        show=False,
    )


if __name__ == "__main__":
    trainer(Path(sys.argv[1]), kill_at=int(sys.argv[2]) if len(sys.argv) > 2 else -1).fit()
