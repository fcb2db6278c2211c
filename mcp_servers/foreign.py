"""One foreign MCP server: started when it is needed, watched, restarted with back-off, believed in nothing."""

import asyncio
import contextlib
import logging
import os
import time
import warnings
from collections.abc import Callable
from typing import Any, cast

import anyio
import mcp_types as types
from mcp import Client, MCPError
from pydantic import ValidationError

from pointwork.errors import ConfigError, PointworkError, ToolDenied, ToolError
from pointwork.mcp_servers import remote, stdio
from pointwork.mcp_servers.listings import refused_of, sifted
from pointwork.mcp_servers.offers import Offer, offer_of, result_of
from pointwork.settings import McpSettings
from pointwork.tools import ToolResult

log = logging.getLogger(__name__)

START_SECONDS = 30.0
PING_SECONDS = 10.0
IDLE = 30.0  # seconds without a call after which a server is asked whether it is there
MOST_TOOLS = 2_000
MOST_PAGES = 100
FIRST_BACKOFF, LONGEST_BACKOFF = 1.0, 120.0

Progress = Callable[[str, float, float | None, str | None], None]
Owner = asyncio.Task[None]


class _Ended(Exception):
    """The connection is gone."""


class ForeignServer:
    """A connection to one server, made at first use. All methods belong to one event loop.

    Args:
        name: of the section ``[mcp.<name>]``.
        settings: of that section.
        on_progress: told (tool, progress, total, message) of calls at work.
        clock: seconds, for the back-off.

    Attributes:
        refused: tools of the last listing that can not be used, and why.
    """

    def __init__(
        self,
        name: str,
        settings: McpSettings,
        on_progress: Progress | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self.settings = name, settings
        self.starts = 0
        self.failures = 0
        self.changed = False
        self.refused: list[tuple[str, str]] = []
        self._on_progress, self._clock = on_progress, clock
        self._not_before = 0.0
        self._last_fault = ""
        self._used = 0.0
        self._lock = asyncio.Lock()
        self._client: Client | None = None
        self._process: stdio.Process | None = None
        self._link: remote.CappedTransport | None = None
        self._stop = asyncio.Event()
        self._owner: Owner | None = None

    @property
    def connected(self) -> bool:
        """Whether it is there, as far as is known."""
        return self._client is not None and (self._process is None or self._process.alive)

    @property
    def pid(self) -> int | None:
        """Of its process, if it has one."""
        return None if self._process is None else self._process.process.pid

    async def offers(self) -> list[Offer]:
        """All its tools, page by page.

        Raises:
            ToolError: it does not answer, or lists without end.
        """
        client, owner = await self._ready()
        self.changed = False
        try:
            return await self._pages(client, owner)
        except BaseException:
            self.changed = True  # what is known is still out of date
            raise

    async def _pages(self, client: Client, owner: Owner) -> list[Offer]:
        found: dict[str, Offer] = {}
        refused: list[tuple[str, str]] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page: types.ListToolsResult = await self._asked(
                client.list_tools(cursor=cursor, cache_mode="bypass"), owner, "list its tools", START_SECONDS
            )
            refused += refused_of(page)
            for tool in page.tools:
                offer = offer_of(tool)
                if isinstance(offer, str):
                    refused.append((tool.name, offer))
                elif self._wanted(offer.name) and found.setdefault(offer.name, offer) != offer:
                    refused.append((offer.name, "there is another of this name before it, which is used"))
            cursor = page.next_cursor
            if len(found) > MOST_TOOLS:
                break
            if not cursor:  # some send an empty one with the last page
                self.refused = [pair for pair in refused if self._wanted(pair[0])]
                return list(found.values())
        raise ToolError(
            f"MCP server {self.name!r} lists its tools without end; the first {len(found)} are not used"
        )

    def _wanted(self, tool: str) -> bool:
        return self.settings.tools is None or tool in self.settings.tools

    async def call(self, offer: Offer, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool. Cancelling tells the server.

        Raises:
            ToolDenied: it is not offered like this any more.
            ToolError: it failed, does not answer, answers what its schema does not allow, or ended.
        """
        client, owner = await self._ready()
        if self.changed:  # it was started again, or says so: it may be another version, which nobody agreed to
            now = {other.name: other for other in await self.offers()}
            self.changed = True  # so that it is judged, too
            if now.get(offer.name) != offer:
                raise ToolDenied(
                    f"tool {offer.name!r} of MCP server {self.name!r} is not the one that was agreed to"
                )
        alive = asyncio.Event()

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            alive.set()
            if self._on_progress is not None:
                self._on_progress(offer.name, progress, total, message)

        # not ``call_tool``: it checks the result against the server's schema without bounds
        work = client.session.send_request(
            types.CallToolRequest(params=types.CallToolRequestParams(name=offer.name, arguments=arguments)),
            types.CallToolResult,
            request_read_timeout_seconds=self.settings.max_seconds,
            progress_callback=heard,
        )
        result = await self._asked(work, owner, f"do {offer.name!r}", self.settings.timeout, alive)
        self._used = self._clock()
        return result_of(self.name, offer, result)

    # -- the connection ------------------------------------------------------------------------------------

    async def _asked(
        self, work: Any, owner: Owner, what: str, silence: float, alive: asyncio.Event | None = None
    ) -> Any:
        """Wait for an answer as long as there are signs of life; what goes wrong is told in one kind of error."""
        task = asyncio.ensure_future(work)
        signs = alive or asyncio.Event()
        until = self._clock() + self.settings.max_seconds
        try:
            while True:
                signs.clear()
                sign = asyncio.ensure_future(signs.wait())
                wait = min(silence, max(0.0, until - self._clock()))
                done, _ = await asyncio.wait({task, owner, sign}, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
                sign.cancel()
                if task in done:
                    return task.result()
                if owner in done:
                    raise _Ended
                if sign not in done or self._clock() >= until:
                    raise TimeoutError
        except TimeoutError as error:
            raise ToolError(
                f"MCP server {self.name!r} gave no sign for {silence:g} s (at most {self.settings.max_seconds:g} s "
                f"in all) when asked to {what}; raise timeout or max_seconds of [mcp.{self.name}]"
            ) from error
        except (_Ended, OSError, anyio.ClosedResourceError, anyio.BrokenResourceError, EOFError) as error:
            raise await self._lost(owner, f"ended while it was asked to {what}") from error
        except MCPError as error:
            if not self.connected or error.error.code == types.CONNECTION_CLOSED:
                raise await self._lost(owner, f"ended while it was asked to {what}") from error
            answered = f" ({self._link.fault})" if self._link and self._link.fault else ""
            raise ToolError(
                f"MCP server {self.name!r} refused to {what}: {error.error.message[:1000]}{answered}"
            ) from error
        except (ValidationError, RuntimeError, ValueError) as error:
            raise ToolError(
                f"MCP server {self.name!r} answered against the protocol when asked to {what}: {str(error)[:500]}"
            ) from error
        finally:
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await asyncio.wait({task}, timeout=2)
            if task.done() and not task.cancelled():
                task.exception()  # that of an answer nobody waits for any more is not worth a word

    async def _lost(self, owner: Owner, what: str) -> ToolError:
        async with self._lock:
            if self._owner is not owner:  # another call noticed first; by now it may have been started again
                return ToolError(f"MCP server {self.name!r} {self._last_fault or what}")
            why = self._why()
            await self._end()
            self._failed(f"{what}{why}")
            return ToolError(f"MCP server {self.name!r} {what}{why}")

    def _why(self) -> str:
        process = self._process
        if process is None:
            said = (self._link.fault if self._link else "") or self._last_fault
            return f": {said}" if said else ""
        parts = [process.fault] if process.fault else []
        if complaints := process.complaints():
            parts.append(f"its last words: {complaints[-600:]}")
        return f": {'; '.join(parts)}" if parts else ""

    def _failed(self, what: str) -> None:
        self.failures += 1
        wait = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** (self.failures - 1))
        self._not_before = self._clock() + wait
        self._last_fault = what

    async def _ready(self) -> tuple[Client, Owner]:
        """The client, connected and known to be alive, and the task that holds its connection.

        Raises:
            ToolError: it can not be started, or failed so lately that it is not tried again yet.
        """
        async with self._lock:
            if self.connected and self._clock() - self._used > IDLE and not await self._answers():
                await self._end()
            if not self.connected:
                await self._end()
                wait = self._not_before - self._clock()
                if wait > 0:
                    raise ToolError(
                        f"MCP server {self.name!r} failed {self.failures} times, last: {self._last_fault[:500]}. "
                        f"It is tried again in {wait:.0f} s"
                    )
                await self._start()
            assert self._client is not None
            assert self._owner is not None
            return self._client, self._owner

    async def _answers(self) -> bool:
        assert self._client is not None
        try:
            async with asyncio.timeout(PING_SECONDS):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    pinging = self._client.send_ping()  # pyright: ignore[reportDeprecated]
                await pinging
        except MCPError as error:  # an error is an answer too; the newest protocol has no ping
            return error.error.code not in (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT)
        except Exception:
            return False
        self._used = self._clock()
        return True

    async def _start(self) -> None:
        self.starts += 1
        self._stop = asyncio.Event()
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        ready.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may wait for it by then
        self._owner = asyncio.ensure_future(self._own(ready))
        try:
            async with asyncio.timeout(START_SECONDS):
                await asyncio.shield(ready)
        except TimeoutError:
            why = self._why()
            await self._end()
            self._failed(f"did not start within {START_SECONDS:g} s{why}")
            raise ToolError(f"MCP server {self.name!r} did not start within {START_SECONDS:g} s{why}") from None
        except (PointworkError, ConfigError) as error:
            await self._end()
            self._failed(str(error))
            raise
        except Exception as error:
            why = self._why()
            await self._end()
            said = f"could not be spoken to: {_innermost(error)}{why}"
            self._failed(said)
            raise ToolError(f"MCP server {self.name!r} {said}") from error
        self.failures = 0
        self.changed = True
        self._used = self._clock()

    async def _own(self, ready: "asyncio.Future[None]") -> None:
        """Hold the connection open: the SDK's client is entered and left in one task."""
        try:
            async with contextlib.AsyncExitStack() as stack:
                transport: Any = sifted(await self._transport(), self._version)
                client = Client(transport, message_handler=self._heard)
                self._client = await stack.enter_async_context(client)
                if not ready.done():
                    ready.set_result(None)
                await self._until_it_ends()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error if isinstance(error, Exception) else ToolError("it was stopped"))
                return
            if isinstance(error, asyncio.CancelledError):
                raise
            self._last_fault = _innermost(error)
            log.info("MCP server %s: connection ended: %s", self.name, self._last_fault)
        finally:
            self._client = None
            if not ready.done():
                ready.set_exception(ToolError(f"MCP server {self.name!r} ended at once"))

    def _version(self) -> str | None:
        return None if self._client is None else self._client.session.protocol_version

    async def _until_it_ends(self) -> None:
        stop = asyncio.ensure_future(self._stop.wait())
        waiting: set[asyncio.Future[Any]] = {stop}
        if self._process is not None:
            waiting.add(asyncio.ensure_future(self._process.process.wait()))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()

    async def _transport(self) -> Any:
        given = self.settings
        if given.command is not None:
            env = {name: _expanded(self.name, value) for name, value in given.env.items()}
            self._process = await stdio.start(self.name, given.command, given.args, env, given.cwd)
            return stdio.streams(self._process, given.max_bytes, given.memory_mb)
        assert given.url is not None
        token = None if given.token_env is None else _variable(self.name, given.token_env)
        self._link = remote.CappedTransport(given.max_bytes, given.max_seconds)
        return remote.streams(given.url, token, self._link, given.max_seconds)

    async def _heard(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.changed = True

    async def _end(self) -> None:
        owner, self._owner = self._owner, None
        if owner is not None:
            self._stop.set()
            if self._client is None:  # it is still being connected
                owner.cancel()
            try:
                await asyncio.wait_for(asyncio.shield(owner), 15)
            except TimeoutError:
                owner.cancel()
                await asyncio.wait({owner})
            except asyncio.CancelledError:
                if not owner.cancelled():
                    raise
            except Exception:
                log.debug("MCP server %s ended with an error", self.name, exc_info=True)
        if self._process is not None and self._process.alive:
            await self._process.stop()
        self._process = None
        self._client = None

    async def aclose(self) -> None:
        """End the connection, and the process with its children."""
        async with self._lock:
            await self._end()


def _variable(server: str, name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise ConfigError(f"[mcp.{server}]: the environment variable {name} is not set")
    return value


def _expanded(server: str, value: str) -> str:
    return _variable(server, value[1:]) if value.startswith("$") and len(value) > 1 else value


def _innermost(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = cast(BaseExceptionGroup[BaseException], error).exceptions[0]
    return f"{type(error).__name__}: {str(error)[:300]}"
