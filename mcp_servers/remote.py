"""A foreign MCP server over HTTP: its answers have a size and a time, and so has what nobody asked for.

The SDK follows redirects within the server's own origin alone: neither the token nor a message goes elsewhere.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from http import HTTPStatus
from typing import Any, cast

import httpx2
from mcp.client.streamable_http import streamable_http_client

from pointwork.mcp_servers.stdio import MOST_UNASKED, Patience

# A stream that a server keeps open for its notifications may carry this many messages' bytes.
_STREAM = 64
# Seconds for the server to take what has no answer: a notification, the end of the session.
_TAKES = 5.0
# Seconds from one stream to the next: a server may ask for none, and end each at once.
_AGAIN = 1.0
_LINES_OF_AN_EVENT = 4


class TooLong(httpx2.StreamError):
    """A response was longer than it may be, or took longer."""


class _Counted(httpx2.AsyncByteStream):
    """A response's body, up to a size and a time (of the event loop; None: while it lasts)."""

    def __init__(self, inner: Any, most: int, until: float | None, patience: Patience | None, tell: Any) -> None:
        self._inner, self._most, self._until, self._patience = inner, most, until, patience
        self._tell: Callable[[str], None] = tell

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        chunks = aiter(self._inner)
        while True:
            try:
                async with asyncio.timeout_at(self._until):
                    chunk = await anext(chunks, None)
            except TimeoutError:
                raise self._ended("a response that did not end within max_seconds") from None
            except httpx2.HTTPError as error:
                self._tell(_told(error))
                raise
            if chunk is None:
                return
            size += len(chunk)
            if size > self._most:
                raise self._ended(f"a response of more than {self._most:,} bytes (max_bytes)")
            lines = chunk.count(b"\n") + chunk.count(b"\r")
            if self._patience is not None and lines and self._patience.ends(lines / _LINES_OF_AN_EVENT):
                raise self._ended(f"more than {MOST_UNASKED:,} messages that nobody asked for")
            yield chunk

    def _ended(self, why: str) -> TooLong:
        self._tell(f"it sent {why}")
        return TooLong(why)

    async def aclose(self) -> None:
        await self._inner.aclose()


class CappedTransport(httpx2.AsyncHTTPTransport):
    """Ends a response that is longer than ``max_bytes``, before it is decompressed or kept, or takes too long.

    Args:
        max_bytes: of a response.
        seconds: for the answer to a request, from its first byte to its last.

    Attributes:
        fault: what was wrong with the last response, in words; empty if nothing was.
    """

    def __init__(self, max_bytes: int, seconds: float) -> None:
        super().__init__(retries=0)
        self.fault = ""
        self._most, self._seconds = max_bytes, seconds
        self._patience = Patience()
        self._next = 0.0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # a compressed response could be small on the wire and large here
        request.headers["accept-encoding"] = "identity"
        listens = request.method == "GET"
        if listens:
            await self._turn()
        takes = self._seconds if listens or _asks(request) else min(_TAKES, self._seconds)
        until = asyncio.get_running_loop().time() + takes
        try:
            async with asyncio.timeout_at(until):
                response = await super().handle_async_request(request)
        except TimeoutError:
            raise httpx2.ReadTimeout(f"no answer within {takes:g} s", request=request) from None
        except httpx2.HTTPError as error:
            self._tell(_told(error))
            raise
        if not listens:
            self.fault = _refusal(response.status_code)
        events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        return httpx2.Response(
            response.status_code,
            headers=[(k, v) for k, v in response.headers.raw if k.lower() != b"content-encoding"],
            stream=_Counted(
                response.stream,
                self._most * _STREAM if listens else self._most,
                None if listens else until,
                self._patience if events else None,
                self._tell,
            ),
            extensions=response.extensions,
            request=request,
        )

    async def _turn(self) -> None:
        """Wait for the next stream's turn."""
        now = time.monotonic()
        wait, self._next = self._next - now, max(self._next, now) + _AGAIN
        if wait > 0:
            await asyncio.sleep(wait)

    def _tell(self, fault: str) -> None:
        self.fault = fault


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:300]}"


def _asks(request: httpx2.Request) -> bool:
    """Whether a message is a request, which has an answer."""
    try:
        message: Any = json.loads(request.content)
    except httpx2.RequestNotRead:  # one that was redirected
        return True
    except ValueError:
        return False
    return isinstance(message, dict) and {"id", "method"} <= cast(dict[str, Any], message).keys()


def _refusal(status: int) -> str:
    if status < HTTPStatus.BAD_REQUEST:
        return ""
    try:
        said = f"it answered {status} {HTTPStatus(status).phrase}"
    except ValueError:
        said = f"it answered {status}"
    wants = status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
    return f"{said}: it wants a token, or another one (token_env)" if wants else said


@contextlib.asynccontextmanager
async def streams(
    url: str, token: str | None, transport: CappedTransport, seconds: float
) -> AsyncGenerator[Any, None]:
    """The server's messages, as the SDK's client takes them."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    timeout = httpx2.Timeout(30.0, read=seconds)
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers, timeout=timeout, trust_env=False) as http,
        streamable_http_client(url, http_client=http) as pair,
    ):
        yield pair
