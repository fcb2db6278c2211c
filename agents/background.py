"""An event loop in a thread of its own, so that a team works from any code, with or without a loop."""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

# What happens in a run, for whoever follows it; None ends it.
Events = queue.Queue[dict[str, Any] | None]


def put(events: Events | None, event: dict[str, Any]) -> None:
    """Tell whoever follows, if anybody does."""
    if events is not None:
        events.put(event)


class BackgroundLoop:
    """Runs coroutines for callers of any thread; starts with the first of them."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start work on the loop."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(self._loop,), name="pointwork", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def drain(self) -> None:
        """Wait until cancelled work has cleaned up."""

        async def others() -> None:
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            await asyncio.wait(tasks, timeout=10) if tasks else None

        if self._loop is not None:
            with contextlib.suppress(Exception):
                asyncio.run_coroutine_threadsafe(others(), self._loop).result(timeout=15)

    def stop(self) -> None:
        """End the loop and its thread; stopping twice does nothing."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
