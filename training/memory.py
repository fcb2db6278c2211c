"""Memory: the peak of a stretch of work, of the GPU if there is one, else of the process; what fits at once."""

import resource
import sys
from typing import Any

import torch

# Bytes that training an adapter keeps of a token, by layers × hidden size: 1.1 MB in SmolLM2-135M, measured.
BYTES_PER_TOKEN = 64
# Of a GPU's memory, for what is kept of tokens: weights, buffers of drawing and the allocator need some, too.
SHARE = 0.25
LEAST, MOST = 1024, 65536


def tokens_at_once(config: Any, total: int) -> int:
    """Tokens of a micro-batch that should fit a GPU: the same for each step on the same machine.

    A small model's micro-batch costs a quarter of a second in launches however little is in it, so few are best.

    Args:
        config: of transformers, of a decoder.
        total: bytes of the GPU's memory.
    """
    found = int(SHARE * total / (BYTES_PER_TOKEN * config.num_hidden_layers * config.hidden_size))
    return min(max(found // LEAST * LEAST, LEAST), MOST)


def gpu_bytes(device: torch.device) -> int:
    """All memory of a GPU."""
    cuda: Any = torch.cuda
    return int(cuda.get_device_properties(device).total_memory)


def reset_peak() -> None:
    """Start measuring anew (a GPU only: the process's peak can not be reset)."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def peak_bytes() -> int:
    """Largest memory since ``reset_peak``: of tensors on the GPU; without one, of the process since its start."""
    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
