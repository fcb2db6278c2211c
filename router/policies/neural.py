"""A small trained network, served in numpy.

The weights come from training (``training/``) as an ``.npz`` file: ``w0, b0, w1, b1, …`` with wᵢ of shape (inputs,
outputs), ReLU between layers, and ``arms``, the names that the last layer's outputs stand for. Its input is the
shared block of the context (everything but bias and arm state); an output is the logit of that arm's quality.
"""

import os
import zipfile
from collections.abc import Sequence

import numpy as np

from pointwork.errors import UsageError
from pointwork.router.policies.base import Array
from pointwork.router.policies.served import TEMPERATURE, Served


class Neural(Served):
    """``Served``: a network's quality."""

    name = "neural"

    def __init__(self, path: str | None = None, temperature: float = TEMPERATURE) -> None:
        super().__init__(path, temperature)
        self._layers: list[tuple[Array, Array]] = []
        self._outputs: dict[str, int] = {}
        self._mark = ""
        if self.path is not None:
            self._layers, arms, self._mark = read_network(self.path)
            self._outputs = {arm: output for output, arm in enumerate(arms)}

    @property
    def version(self) -> str:
        return f"neural-1({self._mark or 'untrained'},temperature={self.temperature:g})"

    @property
    def inputs(self) -> int | None:
        return len(self._layers[0][0]) if self._layers else None

    def judged(self, context: Array) -> dict[str, float]:
        hidden = context
        for number, (weights, bias) in enumerate(self._layers):
            hidden = hidden @ weights + bias
            if number < len(self._layers) - 1:
                hidden = np.maximum(hidden, 0.0)
        quality = 1.0 / (1.0 + np.exp(-np.clip(hidden, -30, 30)))
        return {arm: float(quality[output]) for arm, output in self._outputs.items()}


def write_network(path: str | os.PathLike[str], layers: Sequence[tuple[Array, Array]], arms: Sequence[str]) -> None:
    """Write a network for ``Neural`` to read.

    Args:
        path: ``.npz`` file.
        layers: weights (inputs, outputs) and bias (outputs,) of each.
        arms: what the last outputs stand for.
    """
    arrays = {f"w{i}": weights for i, (weights, _) in enumerate(layers)}
    arrays |= {f"b{i}": bias for i, (_, bias) in enumerate(layers)}
    with open(path, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays, arms=np.array(list(arms), dtype=np.str_))


def read_network(path: str) -> tuple[list[tuple[Array, Array]], list[str], str]:
    """Layers, arms and a mark that changes with the weights.

    Raises:
        UsageError: not there, or not of this form.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            count = sum(name.startswith("w") for name in file.files)
            layers = [
                (np.asarray(file[f"w{i}"], np.float64), np.asarray(file[f"b{i}"], np.float64)) for i in range(count)
            ]
            arms = [str(arm) for arm in file["arms"]]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} does not hold a network for the router: {error}") from error
    widths = [layers[0][0].shape[0] if layers else 0]
    for weights, bias in layers:
        if weights.ndim != 2 or weights.shape[0] != widths[-1] or bias.shape != (weights.shape[1],):
            raise UsageError(f"{path} does not hold a network for the router: its layers do not fit together")
        widths.append(weights.shape[1])
    if not layers or widths[-1] != len(arms):
        raise UsageError(f"{path} does not hold a network for the router: {widths[-1]} outputs, {len(arms)} arms")
    total = sum(float(np.abs(weights).sum() + np.abs(bias).sum()) for weights, bias in layers)
    return layers, arms, f"{'x'.join(str(width) for width in widths)}:{total:.8g}"
