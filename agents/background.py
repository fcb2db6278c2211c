"""An event loop in a thread of its own, so that a team works from any code, with or without a loop."""

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from pointwork.errors import RunError, UsageError

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
        self._works: dict[Future[Any], Coroutine[Any, Any, Any]] = {}
        self._ending = False

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start work on the loop.

        Raises:
            UsageError: it is closed.
        """
        with self._lock:
            if self._ending:
                work.close()
                raise UsageError("this team is closed; make a new one")
            job = self._start(work)
            self._works[job] = work
        job.add_done_callback(self._works.pop)
        return job

    def _start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_serve, args=(self._loop,), name="pointwork", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def dropping(self, work: Coroutine[Any, Any, Any]) -> "Future[None]":
        """Cancel one piece of work, if it has begun; done as soon as that has cleaned up.

        It is found by itself and not by what ``submit`` returns: Ctrl-C may come before anybody has that.
        """
        tasks: list[asyncio.Task[Any]] = []

        def drop() -> None:
            tasks.extend(task for task in asyncio.all_tasks() if task.get_coro() is work)
            for task in tasks:
                if not task.cancelling():  # a second time would end its cleaning up
                    task.cancel()

        async def dropped() -> None:
            await asyncio.wait(tasks, timeout=STOPPING) if tasks else work.close()

        with self._lock:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(drop)  # before the work's next step
                return self._start(dropped())
        work.close()
        nothing: Future[None] = Future()
        nothing.set_result(None)
        return nothing

    def drop(self, work: Coroutine[Any, Any, Any]) -> None:
        """Cancel one piece of work and wait until it has cleaned up."""
        with contextlib.suppress(Exception):
            self.dropping(work).result(timeout=STOPPING + 5)

    def drain(self) -> None:
        """Wait until all cancelled work has cleaned up."""

        async def others() -> None:
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            await asyncio.wait(tasks, timeout=STOPPING) if tasks else None

        with self._lock:
            job = self._start(others()) if self._loop is not None else None
        with contextlib.suppress(Exception):
            job.result(timeout=STOPPING + 5) if job is not None else None

    def cancel(self) -> None:
        """Take no more work, cancel what goes on, and wait until that has cleaned up."""
        with self._lock:
            self._ending = True
            works = list(self._works.values())
        for work in works:
            self.dropping(work)
        self.drain()

    def finish(self, last: Coroutine[Any, Any, None]) -> None:
        """Do one last thing and stop."""
        try:
            with self._lock:
                job = self._start(last)
            job.result()
        finally:
            self.stop()

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


def result_of(worker: BackgroundLoop, work: Coroutine[Any, Any, T]) -> T:
    """Do work on the loop and wait for it; Ctrl-C cancels it."""
    try:
        return worker.submit(work).result()
    except KeyboardInterrupt:
        # let the run store that it was interrupted before the process goes
        worker.drop(work)
        raise
    except CancelledError:
        raise _closed() from None


async def awaited(worker: BackgroundLoop, work: Coroutine[Any, Any, T]) -> T:
    """``result_of``, for somebody on another event loop; cancelling what awaits it cancels the work."""
    job = asyncio.wrap_future(worker.submit(work))
    try:
        return await asyncio.shield(job)
    except asyncio.CancelledError:
        if not _cancelled():
            raise _closed() from None
        # the run stores what it has come to before whoever stopped it goes on
        await asyncio.wrap_future(worker.dropping(work))
        raise


def _cancelled() -> bool:
    """Whether somebody cancelled what runs here, and not only the work that it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _closed() -> RunError:
    return RunError(
        "the team was closed while it worked on this; a run that was going on is stored as interrupted: "
        "pointwork runs resume ID"
    )


def streamed(
    worker: BackgroundLoop, events: Events, work: Coroutine[Any, Any, Any]
) -> Generator[dict[str, Any], None, None]:
    """Do work on the loop and yield its events; closing the generator cancels the work."""

    def ended(_: object) -> None:
        events.put(None)

    job: Future[Any] | None = None
    try:
        job = worker.submit(work)
        job.add_done_callback(ended)
        while (event := events.get()) is not None:
            yield event
    finally:
        if job is None or not job.done():
            worker.drop(work)
    assert job is not None  # else it was raised why not
    try:
        job.result()
    except CancelledError:
        raise _closed() from None


async def followed(
    worker: BackgroundLoop, events: AsyncEvents, work: Coroutine[Any, Any, Any]
) -> AsyncGenerator[dict[str, Any], None]:
    """``streamed``, for somebody on another event loop."""

    def ended(_: object) -> None:
        events.put(None)

    job = worker.submit(work)
    job.add_done_callback(ended)
    try:
        while (event := await events.get()) is not None:
            yield event
    finally:
        if not job.done():
            # the run stores what it has come to before whoever stopped it goes on
            await asyncio.wrap_future(worker.dropping(work))
    try:
        job.result()
    except CancelledError:
        raise _closed() from None
