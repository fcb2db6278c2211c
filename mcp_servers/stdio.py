"""A foreign MCP server as a process of ours: bounded lines, captured errors, killed with all its children.

The SDK's own transport joins a line without bound, lets standard error through to the terminal and ends the
process group only; here a message has a size, what the server complains about is kept for error messages, and
children that left the group are found by a mark in their environment.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import anyio
import mcp_types as types
import psutil
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from pointwork.errors import ToolError
from pointwork.store import new_id

log = logging.getLogger(__name__)

MARK = "POINTWORK_MCP_SERVER"
STDERR_KEPT = 8_000
GRACE = 2.0  # seconds to end by itself, and again after SIGTERM
_CHUNK = 65_536
# Messages that a server may send beside one for each of ours: so many at once, so many a second over time. One that
# sends more keeps a processor busy for nothing, and whoever does not read our refusals fills the memory with them.
MOST_UNASKED, UNASKED_A_SECOND = 10_000, 200
_MOST_DIGITS = 4_000


class Process:
    """A server's process, from its start to the end of its last child.

    Attributes:
        fault: why it was ended from here, in words; empty if it was not.
    """

    def __init__(self, name: str, process: asyncio.subprocess.Process, mark: str) -> None:
        self.name, self.mark = name, mark
        self.process = process
        self.fault = ""
        self._errors: deque[bytes] = deque()
        self._kept = 0

    @property
    def alive(self) -> bool:
        """Whether the process itself is there."""
        return self.process.returncode is None

    def complaints(self) -> str:
        """The end of what it wrote to standard error."""
        return b"".join(self._errors).decode("utf-8", "replace")[-STDERR_KEPT:].strip()

    async def keep_errors(self) -> None:
        """Read standard error to its end, and keep the end of it."""
        assert self.process.stderr is not None
        while chunk := await self.process.stderr.read(_CHUNK):
            self._errors.append(chunk)
            self._kept += len(chunk)
            while self._kept > STDERR_KEPT + _CHUNK and len(self._errors) > 1:
                self._kept -= len(self._errors.popleft())

    async def watch(self, memory_mb: int) -> None:
        """End it when it and its children hold more memory than they may."""
        while self.alive:
            held = sum(_memory(process) for process in self._tree()) // 2**20
            if held > memory_mb:
                self.end(f"it held {held} MB of memory; it may hold {memory_mb} (memory_mb)")
                return
            await asyncio.sleep(0.25)

    def end(self, fault: str) -> None:
        """Kill it now, for a reason."""
        self.fault = self.fault or fault
        log.warning("MCP server %s ended: %s", self.name, fault)
        self.kill(signal.SIGKILL)

    def kill(self, what: signal.Signals) -> None:
        """Signal the group and every process that carries the mark."""
        tree = self._tree()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, what)
        for process in [*tree, *self._marked()]:
            with contextlib.suppress(psutil.Error):
                process.send_signal(what)

    async def stop(self) -> None:
        """Close its input, wait, then end it and all that is left of it."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        for what in (signal.SIGTERM, signal.SIGKILL):
            if await self._gone():
                break
            self.kill(what)
        await self._gone()
        self.kill(signal.SIGKILL)  # children that outlived it
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), GRACE)
        # a child that could not be ended may hold the pipes open: they are closed on this side
        transport: Any = getattr(self.process, "_transport", None)
        if transport is not None:
            transport.close()

    async def _gone(self) -> bool:
        until = time.monotonic() + GRACE
        while time.monotonic() < until:
            if not self.alive:
                return True
            await asyncio.sleep(0.02)
        return not self.alive

    def _tree(self) -> list[psutil.Process]:
        try:
            first = psutil.Process(self.process.pid)
            return [first, *first.children(recursive=True)]
        except psutil.Error:
            return []

    def _marked(self) -> list[psutil.Process]:
        found: list[psutil.Process] = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.environ().get(MARK) == self.mark:
                    found.append(process)
        return found


def _memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


async def start(
    name: str, command: str, args: Sequence[str], env: Mapping[str, str], cwd: str | Path | None
) -> Process:
    """Start a server's process, with nothing of this process's environment but what is harmless.

    Raises:
        ToolError: it can not be started.
    """
    mark = new_id()
    environment = {**get_default_environment(), **env, MARK: mark}
    try:
        process = await asyncio.create_subprocess_exec(
            command,
            *args,
            env=environment,
            cwd=cwd,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(f"MCP server {name!r}: {command!r} can not be started: {error.strerror}") from error
    return Process(name, process, mark)


@contextlib.asynccontextmanager
async def streams(process: Process, max_bytes: int, memory_mb: int) -> AsyncGenerator[Any, None]:
    """The process's messages, as the SDK's client takes them; ends the process when it is left."""
    to_client, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, from_client = anyio.create_memory_object_stream[SessionMessage](0)

    patience = Patience()

    async def reader() -> None:
        async with to_client:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for line in _lines(process, max_bytes):
                    if patience.ends():
                        process.end(f"it sent more than {MOST_UNASKED:,} messages that nobody asked for")
                        return
                    message = _parsed(line)
                    if message is not None:
                        await to_client.send(message)

    async def writer() -> None:
        stdin = process.process.stdin
        assert stdin is not None
        async with from_client:
            async for sent in from_client:
                patience.asked(sent)
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    stdin.write(text.encode() + b"\n")
                    await stdin.drain()
                except OSError:
                    await to_client.aclose()
                    return

    async with anyio.create_task_group() as group:
        for work in (reader, writer, process.keep_errors):
            group.start_soon(work)
        group.start_soon(process.watch, memory_mb)
        try:
            yield read, write
        finally:
            with anyio.CancelScope(shield=True):
                await process.stop()
                for stream in (read, write, to_client, from_client):
                    await stream.aclose()
            group.cancel_scope.cancel()


async def _lines(process: Process, max_bytes: int) -> AsyncGenerator[bytes, None]:
    stdout = process.process.stdout
    assert stdout is not None
    parts: list[bytes] = []
    size = 0
    while chunk := await stdout.read(_CHUNK):
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*parts, line])
            parts, size = [], 0
        parts.append(rest)
        size += len(rest)
        if size > max_bytes:
            process.end(f"it sent a message of more than {max_bytes:,} bytes (max_bytes)")
            return


class Patience:
    """How many more messages may come that answer nothing of ours."""

    def __init__(self) -> None:
        self._left, self._at = float(MOST_UNASKED), time.monotonic()

    def asked(self, sent: SessionMessage) -> None:
        """A message of ours: a request may be answered; an answer to one of its own earns it nothing."""
        if isinstance(sent.message, types.JSONRPCRequest):
            self._left += 1

    def ends(self, more: float = 1) -> bool:
        """Whether one more, or so many, is too many."""
        now = time.monotonic()
        grown = self._left + (now - self._at) * UNASKED_A_SECOND
        self._left, self._at = min(grown, float(MOST_UNASKED)) - more, now
        return self._left < 0


def _parsed(line: bytes) -> SessionMessage | None:
    if not line.strip():
        return None
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        found = _mended(line, error)
    if found is None:
        log.info("an MCP server wrote a line that is no message: %r", line[:200])
    return found


def _mended(line: bytes, error: ValueError) -> SessionMessage | None:
    """A message with letters that are none (half of an emoji, say, where a server cut a text), without these.

    An answer that can not be read at all becomes an error: whoever waits for it need not wait in vain.
    """
    try:
        value: Any = json.loads(line.decode("utf-8", "replace"), parse_int=_number)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    try:
        clean = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(clean, by_name=False))
    except (ValueError, RecursionError):
        pass
    whose: Any = cast(dict[str, Any], value).get("id")
    if isinstance(whose, bool) or not isinstance(whose, int | str) or "method" in value:
        return None
    said = types.ErrorData(code=types.PARSE_ERROR, message=f"its answer can not be read: {str(error)[:300]}")
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=whose, error=said))


def _number(digits: str) -> int | str:
    # a number of many thousand digits could be read, but not written again
    return int(digits) if len(digits) < _MOST_DIGITS else digits
