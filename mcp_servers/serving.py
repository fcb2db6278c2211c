"""Serving until there is nobody left to serve, or a signal says so: then in order, with all that was started."""

import io
import logging
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from pointwork.mcp_servers.server import AgentServer

log = logging.getLogger(__name__)

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class Ending:
    """Turns Ctrl-C, SIGTERM and SIGHUP into an orderly end, while it is entered.

    Left to themselves they end the process at once, or not at all while it waits for input: runs at work stay
    "running", and foreign servers that do not care for the end of their input go on.

    Attributes:
        told: the signal that came first; None if none has.
    """

    def __init__(self) -> None:
        self.told: int | None = None
        self._end: Callable[[], None] | None = None
        self._before: dict[int, Any] = {}

    def then(self, end: Callable[[], None]) -> None:
        """What the first signal does; without it, it interrupts."""
        self._end = end

    def __enter__(self) -> "Ending":
        if threading.current_thread() is threading.main_thread():
            for each in (getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)):
                if signal.getsignal(each) is not signal.SIG_IGN:  # as nohup has it
                    self._before[each] = signal.signal(each, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        for each, before in self._before.items():
            signal.signal(each, before)

    def _heard(self, number: int, _: FrameType | None) -> None:
        first = self.told is None
        self.told = self.told or number
        if self._end is None or (number == signal.SIGINT and not first):  # whoever presses it again is in a hurry
            raise KeyboardInterrupt
        if first:
            self._end()


async def serve_stdio(server: AgentServer, ending: Ending) -> None:
    """Serve one client on standard input and output, until its end or the signal; runs at work are stopped."""
    try:
        with _standard_input() as (given, end):
            ending.then(end)
            async with stdio_server(stdin=given) as (read, write):
                try:
                    await server.mcp.run(read, write, server.mcp.create_initialization_options())
                finally:
                    end()  # if it was the output that ended, the input is still waited for
                    await server.aclose()
    except* BrokenPipeError:
        log.info("the client closed standard output")


@contextmanager
def _standard_input() -> Generator[tuple[anyio.AsyncFile[str], Callable[[], None]], None, None]:
    """Standard input, which nobody else reads meanwhile (not what is started, either), and what ends it."""
    fd = sys.stdin.fileno()
    own = os.dup(fd)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, fd)
    os.close(nothing)
    raw = _Input(own)
    text = io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8", errors="replace")
    try:
        yield anyio.wrap_file(text), raw.end
    finally:
        os.dup2(own, fd)


class _Input(io.RawIOBase):
    """An input that ends when it does, or when it is told to: no thread that waits in ``read`` can be stopped."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd
        self._told, self._tell = os.pipe()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        ready, _, _ = select.select([self._fd, self._told], [], [])
        if self._told in ready:
            return 0
        got = os.read(self._fd, len(buffer))
        buffer[: len(got)] = got
        return len(got)

    def end(self) -> None:
        """End it; may be called from anywhere."""
        os.write(self._tell, b"\0")
