"""What policies share whose quality was learned offline and is served in numpy from a file."""

import math
import os
from abc import ABC, abstractmethod

import numpy as np

from pointwork.errors import UsageError
from pointwork.router.features import STATE
from pointwork.router.policies.base import Array, View, softened

TEMPERATURE = 0.02


class Served(ABC):
    """A softmax over a quality less price.

    Candidates that the file does not know are judged by the regressions' mean; without a file, all are. What is
    read is the shared block of the context: everything but bias and arm state.

    Args:
        path: the file, or None.
        temperature: of the softmax, in units of quality, above 0.

    Raises:
        UsageError: the file is not there or not of this form, or a temperature that makes no sense.
    """

    name: str

    def __init__(self, path: str | None, temperature: float) -> None:
        if not (math.isfinite(temperature) and temperature > 0):
            raise UsageError(f"temperature must be above 0, not {temperature!r}")
        self.path = None if path is None else os.fspath(path)
        self.temperature = float(temperature)

    @property
    @abstractmethod
    def inputs(self) -> int | None:
        """How many features are read; None without a file."""

    @abstractmethod
    def judged(self, context: Array) -> dict[str, float]:
        """Quality of each arm that the file knows, from the shared block of the context (inputs,)."""

    def propose(self, view: View, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        return softened(view, self.values(view), self.temperature)

    def values(self, view: View) -> Array:
        """Quality of the candidates, (n,).

        Raises:
            UsageError: the file was made for other contexts.
        """
        values = view.mean.copy()
        if self.inputs is None:
            return values
        context = view.contexts[0, 1:-STATE]
        if len(context) != self.inputs:
            raise UsageError(
                f"{self.name}: {self.path} reads {self.inputs} features, but contexts have {len(context)}"
            )
        said = self.judged(context)
        for index, name in enumerate(view.names):
            values[index] = said.get(name, values[index])
        return values
