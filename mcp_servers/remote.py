"""A foreign MCP server over HTTP: responses have a size."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

# A stream that a server keeps open for its notifications may carry this many messages' bytes.
_STREAM = 64


class TooLong(httpx2.StreamError):
    """A response was longer than it may be."""


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: Any, most: int) -> None:
        self._inner, self._most = inner, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > self._most:
                raise TooLong(f"a response of more than {self._most:,} bytes (max_bytes)")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class CappedTransport(httpx2.AsyncHTTPTransport):
    """Ends a response that is longer than ``max_bytes``, before it is decompressed or kept."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(retries=0)
        self._most = max_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # a compressed response could be small on the wire and large here
        request.headers["accept-encoding"] = "identity"
        response = await super().handle_async_request(request)
        most = self._most if request.method == "POST" else self._most * _STREAM
        return httpx2.Response(
            response.status_code,
            headers=[(k, v) for k, v in response.headers.raw if k.lower() != b"content-encoding"],
            stream=_Counted(response.stream, most),
            extensions=response.extensions,
            request=request,
        )


@contextlib.asynccontextmanager
async def streams(url: str, token: str | None, max_bytes: int, seconds: float) -> AsyncGenerator[Any, None]:
    """The server's messages, as the SDK's client takes them."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    timeout = httpx2.Timeout(30.0, read=seconds)
    async with (
        httpx2.AsyncClient(
            transport=CappedTransport(max_bytes), headers=headers, timeout=timeout, trust_env=False
        ) as http,
        streamable_http_client(url, http_client=http) as pair,
    ):
        yield pair
