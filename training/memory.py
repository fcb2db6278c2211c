"""Peak memory of a stretch of work: of the GPU if there is one, else of the process."""

import resource
import sys

import torch


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
