"""The few functions of torch and safetensors whose own types say too little, with types."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

_torch: Any = torch


def floats(tensor: Tensor) -> list[float]:
    """The numbers of a vector."""
    return tensor.tolist()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def integers(tensor: Tensor) -> list[int]:
    """The whole numbers of a vector."""
    return tensor.tolist()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def of_array(array: npt.NDArray[np.generic]) -> Tensor:
    """The same numbers, in the same memory."""
    return _torch.from_numpy(array)


def backward(loss: Tensor) -> None:
    """Add the gradient of a scalar to what is there."""
    loss.backward()  # pyright: ignore[reportUnknownMemberType]


def seed(number: int) -> None:
    """Set torch's global random state."""
    _torch.manual_seed(number)


@contextmanager
def seeded(number: int) -> Generator[None, None, None]:
    """Torch's random state from a seed inside, and as it was afterwards."""
    with _torch.random.fork_rng():
        seed(number)
        yield


def recomputed(function: Callable[..., Any], *inputs: Any) -> Any:
    """``function(*inputs)``, its inner tensors made again in the backward pass instead of kept."""
    from torch.utils import checkpoint

    library: Any = checkpoint
    return library.checkpoint(function, *inputs, use_reentrant=False)


def write_safetensors(tensors: dict[str, Tensor], file: Path) -> None:
    """Write tensors by name."""
    from safetensors import torch as safetensors

    library: Any = safetensors
    library.save_file(tensors, file, metadata={"format": "pt"})


def read_safetensors(file: Path) -> dict[str, Tensor]:
    """Tensors by name, on the CPU."""
    from safetensors import torch as safetensors

    library: Any = safetensors
    return library.load_file(file)


def broken_file() -> type[Exception]:
    """What safetensors raises of a file that it can not read or write."""
    import safetensors

    library: Any = safetensors
    return library.SafetensorError
