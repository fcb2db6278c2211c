"""How much memory something takes: of the GPU if there is one, else of this process."""

import threading


class Peak:
    """The most memory that was used on the device while inside; without a GPU, of this process (MB)."""

    def __enter__(self) -> "Peak":
        import torch

        self._gpu, self.megabytes, self._stop = torch.cuda.is_available(), 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        import psutil
        import torch

        while not self._stop.wait(0.02):
            if self._gpu:
                free, total = torch.cuda.mem_get_info()
                used = total - free
            else:
                used = psutil.Process().memory_info().rss
            self.megabytes = max(self.megabytes, used / 1e6)

    def __exit__(self, *rest: object) -> None:
        self._stop.set()
        self._thread.join()
