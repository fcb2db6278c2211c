"""An event loop in a thread of its own, so that a team works from any code, with or without a loop."""

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

# Seconds that a run which is stopped has to store what it has come to.
STOPPING = 10.0

# What happens in a run, for whoever follows it; None ends it.
Events = queue.Queue[dict[str, Any] | None]


class AsyncEvents:
    """``Events`` for somebody on another event loop, who waits for them there."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    def put(self, event: dict[str, Any] | None) -> None:
        """From any thread."""
        with contextlib.suppress(RuntimeError):  # that loop is closed: nobody follows any more
            self._loop.call_soon_threadsafe(self._queue.put_nowait, event)

    async def get(self) -> dict[str, Any] | None:
        """The next; None ends it."""
        return await self._queue.get()


def put(events: "Events | AsyncEvents | None", event: dict[str, Any]) -> None:
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


def streamed(
    worker: BackgroundLoop, events: Events, work: Coroutine[Any, Any, Any]
) -> Generator[dict[str, Any], None, None]:
    """Do work on the loop and yield its events; closing the generator cancels the work."""

    def ended(_: object) -> None:
        events.put(None)

    job = worker.submit(work)
    job.add_done_callback(ended)
    try:
        while (event := events.get()) is not None:
            yield event
    finally:
        if not job.done():
            job.cancel()
            worker.drain()
    job.result()


async def followed(
    worker: BackgroundLoop, events: AsyncEvents, work: Coroutine[Any, Any, Any]
) -> AsyncGenerator[dict[str, Any], None]:
    """``streamed``, for somebody on another event loop."""
    begun = threading.Event()

    async def watched() -> Any:
        begun.set()
        try:
            return await work
        finally:
            events.put(None)

    job = worker.submit(watched())
    event: dict[str, Any] | None = {}
    try:
        while (event := await events.get()) is not None:
            yield event
    finally:
        if event is not None:
            job.cancel()
            # the run stores what it has come to before whoever stopped it goes on
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOPPING if begun.is_set() else 0):
                    while await events.get() is not None:
                        pass
            if not begun.is_set():
                work.close()
    await asyncio.wrap_future(job)
