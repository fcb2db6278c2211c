"""The loop in which the networks that read sentences learn, what may be asked of it, and how they are stored."""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.progress import Progress
from torch import nn

from parser_training.network import rate
from pointwork.agents.parsing.encoder import rounded


def options(what: str | None, minutes: float, rate: float) -> argparse.Namespace:
    """Those of the command line.

    Args:
        what: the script does.
        minutes, rate: as it shipped.
    """
    parser = argparse.ArgumentParser(description=what, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=minutes)
    parser.add_argument("--rate", type=float, default=rate, help="at which the encoder learns, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--begin", choices=("anew", "shipped"), default="anew", help="or go on from what ships")
    parser.add_argument("--measure", action="store_true", help="only measure what ships")
    parser.add_argument("--write", action="store_true", help="into the package")
    return parser.parse_args()


def fit(
    loss: Callable[[], torch.Tensor], groups: Sequence[tuple[list[nn.Parameter], float]], minutes: float
) -> None:
    """Learns for some minutes.

    Args:
        loss: of a next step.
        groups: weights, each with the rate at which they learn.
        minutes: how long.
    """
    optimiser = torch.optim.AdamW([{"params": weights} for weights, _ in groups], weight_decay=0.01)
    began, losses = time.monotonic(), list[float]()
    with Progress() as progress:
        bar = progress.add_task("training", total=1.0)
        while (spent := (time.monotonic() - began) / 60 / minutes) < 1:
            for group, (_, each) in zip(optimiser.param_groups, groups, strict=True):
                group["lr"] = each * rate(spent)
            optimiser.zero_grad()
            one = loss()
            one.backward()
            torch.nn.utils.clip_grad_norm_([weight for weights, _ in groups for weight in weights], 1.0)
            optimiser.step()
            losses.append(float(one.detach()))
            progress.update(bar, completed=spent)
            if len(losses) % 50 == 0:
                progress.console.print(f"step {len(losses)}: {np.mean(losses[-50:]):.3f}")


def shrunk(network: nn.Module, without: Sequence[str] = ("word.weight",)) -> dict[str, Any]:
    """What ``Encoder`` reads: matrices of the layers in 8 bits, the rest in 16 or 32."""
    arrays: dict[str, Any] = {}
    for name, tensor in network.state_dict().items():
        array = tensor.float().numpy()
        if name in without:
            continue
        if name.startswith("layers.") and array.ndim == 2:
            arrays[f"{name}.int8"], arrays[f"{name}.scale"] = rounded(array)
        else:
            arrays[name] = array.astype(np.float16 if array.ndim > 1 else np.float32)
    return arrays


def written(out: Path, arrays: dict[str, Any]) -> None:
    """Stores a network's arrays, and says how large they are."""
    np.savez_compressed(out, allow_pickle=False, **arrays)
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")
