"""How much memory something takes: of the GPU if there is one, else of this process."""

import threading


def in_use() -> float:
    """MB in use on the GPU, by whomever; 0 without one."""
    import torch

    if not torch.cuda.is_available():
        return 0.0
    free, total = torch.cuda.mem_get_info()
    return (total - free) / 1e6


class Peak:
    """The most memory that was used on the device while inside; without a GPU, of this process (MB).

    Args:
        others: MB of the GPU that are not to be counted: ``in_use`` before anything was loaded.
    """

    def __init__(self, others: float = 0.0) -> None:
        self._others = others

    def __enter__(self) -> "Peak":
        import torch

        self._gpu, self.megabytes, self._stop = torch.cuda.is_available(), 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        import psutil

        while not self._stop.wait(0.02):
            used = in_use() - self._others if self._gpu else psutil.Process().memory_info().rss / 1e6
            self.megabytes = max(self.megabytes, used)

    def __exit__(self, *rest: object) -> None:
        self._stop.set()
        self._thread.join()
