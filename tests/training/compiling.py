"""Trains a tiny model with and without compiling, in a process of its own: the compiler brings setuptools along.

Arguments: a folder, and what the graphs become (torch.compile's backend).
"""

import json
import sys
from functools import partialmethod
from pathlib import Path
from typing import Any

import torch
from torch import _dynamo

from pointwork.training.bases import tiny_llama
from pointwork.training.loop import METRICS, Settings
from pointwork.training.lora import Lora
from pointwork.training.model import LocalModel
from pointwork.training.samples import Group, Rollout, Turn
from pointwork.training.sampling import sample
from pointwork.training.trainer import GRPOTrainer

folder, backend = Path(sys.argv[1]), sys.argv[2]
modules: Any = torch.nn.Module
modules.compile = partialmethod(modules.compile, backend=backend)
answers = [((3, 4), 1.0), ((5, 4), 0.0), ((6, 4), 0.0)]
group = Group("t", tuple(Rollout("t", (Turn("w", (1, 2), ids),), reward, reward > 0) for ids, reward in answers))


def trainer(name: str, steps: int, compiled: bool) -> GRPOTrainer:
    model = LocalModel(tiny_llama(32, seed=1), lora=Lora(4, 8), device="cpu", seed=1)
    return GRPOTrainer(
        model, lambda step: [group], Settings(steps, lr=1e-2, compiled=compiled), folder / name, show=False
    )


def losses(name: str) -> list[float]:
    return [json.loads(line)["loss"] for line in (folder / name / METRICS).read_text().splitlines()]


found: dict[str, Any] = {}
for name in ("plain", "compiled"):
    made = trainer(name, 3, name == "compiled")
    made.fit()
    found[name] = losses(name)
counters: Any = _dynamo.utils.counters
found["graphs"] = int(counters["stats"]["unique_graphs"])
(drawn,) = sample(made.model, [(1, 2)], max_tokens=5, temperature=0)  # not by the graphs of training
found["drawn"] = [answer.ids for answer in drawn]
found["graphs after"] = int(counters["stats"]["unique_graphs"])
taken_up = trainer("compiled", 5, False)  # a run may be taken up with or without
found["steps"] = taken_up.fit().steps
again = trainer("plain", 3, False)
again.fit()
(drawn,) = sample(again.model, [(1, 2)], max_tokens=5, temperature=0)
found["drawn plainly"] = [answer.ids for answer in drawn]
print(json.dumps(found))
