"""Where the batches of a training come from."""

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import torch

from pointwork.errors import UsageError
from pointwork.training.tensors import integers

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Source(Protocol[T_co]):
    """Where the batches come from: called with the number of the step, from 0.

    What it gives may depend on the step and on the model's weights; one with a state beyond that is ``Stateful``.
    """

    def __call__(self, step: int, /) -> Sequence[T_co]:
        """The batch of a step."""
        ...


@runtime_checkable
class Stateful(Protocol):
    """A source with a state that belongs in the checkpoints."""

    def state(self) -> Any:
        """JSON types."""
        ...

    def restore(self, state: Any) -> None:
        """Take up what ``state`` gave."""
        ...


class Shuffled(Generic[T]):
    """Batches of ``size`` out of ``items``, each epoch in another order: a function of seed and step alone."""

    def __init__(self, items: Sequence[T], size: int, *, seed: int = 0) -> None:
        if not items or size < 1:
            raise UsageError("there is nothing to train on" if not items else f"a batch of {size} is no batch")
        self._items, self._size, self._seed = items, min(size, len(items)), seed

    @property
    def steps_per_epoch(self) -> int:
        """Steps after which every item was seen, but for a rest that is smaller than a batch."""
        return max(1, len(self._items) // self._size)

    def __call__(self, step: int) -> list[T]:
        """The batch of a step."""
        epoch, place = divmod(step, self.steps_per_epoch)
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + epoch)
        order = integers(torch.randperm(len(self._items), generator=generator))
        return [self._items[index] for index in order[place * self._size : (place + 1) * self._size]]
