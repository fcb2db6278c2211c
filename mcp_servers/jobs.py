"""Runs that go on while a client waits for them, leaves, or comes back."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

from sqlalchemy import select

from pointwork.agents.result import Result
from pointwork.budgets import to_usd
from pointwork.errors import RunError
from pointwork.mcp_servers.principals import Accounts, Grant
from pointwork.store import Store
from pointwork.store.tables import accounts

Stream = AsyncGenerator[dict[str, Any], None]


class Job:
    """One run at work. It goes on without anybody who follows it, until it ends or is stopped."""

    def __init__(self, stream: Stream, grant: Grant, run_id: str = "") -> None:
        self.run_id = run_id
        self.grant = grant
        self.result: Result | None = None
        self.error: BaseException | None = None
        self.begun, self.ended = asyncio.Event(), asyncio.Event()
        if run_id:
            self.begun.set()
        self._stream = stream
        self._events: list[dict[str, Any]] = []
        self._more = asyncio.Event()
        self.followers = 0
        self.task: asyncio.Task[None] | None = None

    async def work(self, begun: Callable[[str], None]) -> None:
        """Take the run's events as they come; ``begun`` is told the run's id."""
        try:
            async with contextlib.aclosing(self._stream) as stream:
                async for event in stream:
                    if event["event"] == "run":
                        self.run_id = event["run_id"]
                        begun(self.run_id)
                        self.begun.set()
                    if event["event"] == "answer":
                        self.result = Result.from_json(event["result"])
                    else:
                        self._events.append(event)
                    self._more.set()
        except asyncio.CancelledError as error:
            self.error = error
        except Exception as error:
            self.error = error

    def end(self) -> None:
        """Wake all who wait."""
        self.begun.set()
        self.ended.set()
        self._more.set()

    async def follow(self) -> Stream:
        """What has happened so far, and what happens from now on, until the run ends."""
        seen = 0
        while True:
            while seen < len(self._events):
                seen += 1
                yield self._events[seen - 1]
            if self.ended.is_set():
                return
            self._more.clear()
            await self._more.wait()

    async def stop(self) -> None:
        """Stop the run; it stores what it has come to and can be resumed."""
        if self.task is not None and not self.ended.is_set():
            self.task.cancel()
            await self.ended.wait()


class Jobs:
    """The runs of a server.

    Args:
        store: where runs are.
        books: of the callers.
        most: runs at work at once; more are refused.
    """

    def __init__(self, store: Store, books: Accounts, most: int) -> None:
        self._store, self._books, self._most = store, books, most
        self._at_work: set[Job] = set()

    def find(self, run_id: str) -> Job | None:
        """The job of a run that is at work here."""
        return next((job for job in self._at_work if job.run_id == run_id), None)

    def begin(self, make: Callable[[], Stream], grant: Grant, tool: str, run_id: str = "") -> Job:
        """Start a run, or go on with one.

        Raises:
            RunError: too many are at work.
        """
        if len(self._at_work) >= self._most:
            self._books.settle(grant, 0.0, 0)
            raise RunError(f"{self._most} runs are at work on this server; try again when one has ended")
        job = Job(make(), grant, run_id)
        before = self._spent(run_id) if run_id else (0.0, 0)
        self._at_work.add(job)

        def begun(found: str) -> None:
            if not run_id:
                self._books.note_run(grant.caller, found, tool)

        async def whole() -> None:
            try:
                await job.work(begun)
            finally:
                usd, tokens = self._spent(job.run_id) if job.run_id else (0.0, 0)
                self._books.settle(grant, usd - before[0], tokens - before[1])
                self._at_work.discard(job)
                job.end()

        job.task = asyncio.ensure_future(whole())
        return job

    def _spent(self, run_id: str) -> tuple[float, int]:
        found = select(accounts.c.spent_usd_nano, accounts.c.spent_tokens).where(
            accounts.c.run_id == run_id, accounts.c.parent_id.is_(None)
        )
        row = self._store.row(found)
        return (0.0, 0) if row is None else (to_usd(row["spent_usd_nano"]), row["spent_tokens"])

    async def aclose(self) -> None:
        """Stop all; what they have come to is stored."""
        for job in list(self._at_work):
            await job.stop()
