"""How much memory something takes: of the GPU if there is one, else of this process."""

import subprocess
import threading
from contextlib import suppress

EVERY = 1.0  # seconds between two looks at the GPU, whose allocators give nothing back


def in_use() -> float | None:
    """MB on the GPU of this process and of those that it started; None where the driver does not say."""
    import psutil

    mine = {process.pid for process in (psutil.Process(), *psutil.Process().children(recursive=True))}
    command = ["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
    found = 0.0
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        for line in subprocess.run(command, capture_output=True, text=True, timeout=10).stdout.splitlines():
            number, used = line.split(",")
            found += float(used) * 1.048576 if int(number) in mine else 0.0
    return found or None


def reserved() -> float:
    """MB on the GPU that torch has taken in this process."""
    import torch

    return torch.cuda.max_memory_reserved() / 1e6


class Peak:
    """The most memory that was used while inside (MB): on a GPU by this process and its children, else its own."""

    def __enter__(self) -> "Peak":
        import torch

        self._gpu, self.megabytes, self._stop = torch.cuda.is_available(), 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        import psutil

        while not self._stop.wait(EVERY if self._gpu else 0.02):
            used = (in_use() or reserved()) if self._gpu else psutil.Process().memory_info().rss / 1e6
            self.megabytes = max(self.megabytes, used)

    def __exit__(self, *rest: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._gpu:
            self.megabytes = max(self.megabytes, in_use() or reserved())
