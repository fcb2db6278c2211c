"""Any server that speaks OpenAI's chat API: vLLM, Ollama, llama.cpp, LM Studio, a gateway.

Straight through httpx2: the openai SDK costs twice the CPU per call and needs httpx too.
"""

import asyncio
import json
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2

from pointwork.errors import ConfigError, ProviderError, ProviderTimeout
from pointwork.models import counting, openai_wire, structured
from pointwork.models.checks import check_request
from pointwork.models.protocol import ChatRequest, Completion, Message, Price

MAX_BYTES = 8_000_000
"""Most bytes of one response: an answer is kilobytes, log-probabilities a few hundred bytes per token."""
DEFAULT_CONTEXT = 8192
"""Tokens assumed where the server does not say."""
_CONNECT_SECONDS = 10.0
_IDLE_SECONDS = 4.0  # uvicorn (vLLM) and llama.cpp hang up after 5: a call must not meet them doing it


class OpenAIClient:
    """A ``ModelClient`` for one model behind an OpenAI-compatible URL.

    Args:
        base_url: up to and including ``/v1``.
        model: the model's name there; None: the first that the server lists, asked at first use.
        api_key: sent as bearer token; shows in no message and no repr.
        price: what it costs; default: nothing, as a server of one's own.
        context: most tokens of prompt and answer; None: what the server lists, or 8,192.
        version: of the adapter or weights, stamped on every completion.
        adapter: name of an adapter that the server has loaded over the model; it is asked instead of the model.
        tokenizer: exact counter of a text's tokens, or the path of a ``tokenizer.json``; else an upper bound.
        concurrency: most requests in flight per event loop; more wait in line. For llama.cpp's own server, not more
            than its ``--threads-http``.
        max_bytes: most bytes of one response.
        headers, extra: sent with every request; ``extra`` goes into the JSON body.

    Raises:
        ConfigError: the URL is not one, or the tokenizer can not be read.
    """

    gives_tokens = True

    def __init__(
        self,
        base_url: str,
        model: str | None = None,
        *,
        api_key: str | None = None,
        price: Price | None = None,
        context: int | None = None,
        version: str = "",
        adapter: str | None = None,
        tokenizer: counting.Tokenizer | str | Path | None = None,
        concurrency: int = 64,
        max_bytes: int = MAX_BYTES,
        headers: dict[str, str] | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        if concurrency < 1 or max_bytes < 1:
            raise ConfigError(f"concurrency and max_bytes must be at least 1, not {concurrency} and {max_bytes}")
        self._url = _url(base_url)
        self._wire = openai_wire.Reader(openai_wire.shown(self._url), api_key)
        self._model, self._context, self._version = model or None, context, version
        self._adapter = adapter or None
        self._price = price or Price()
        self._tokenizer = _tokenizer(tokenizer)
        self._concurrency, self._max_bytes = concurrency, max_bytes
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._extra = dict(extra or {})
        self._token_ids = self._logprobs = True  # until the server refuses the parameter
        # A connection belongs to the event loop it was opened in.
        self._pools: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = weakref.WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"OpenAIClient({openai_wire.shown(self._url)!r}, {self._model!r})"

    @property
    def name(self) -> str:
        """The model's name; the server's address until it is known."""
        return self._model or openai_wire.shown(self._url)

    @property
    def price(self) -> Price:
        """What it costs."""
        return self._price

    @property
    def context_tokens(self) -> int:
        """Most tokens of prompt and answer together."""
        return self._context or DEFAULT_CONTEXT

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """An upper bound (exact but for the template, if a tokenizer was given)."""
        return counting.bound_messages(messages, self._tokenizer)

    async def chat(self, request: ChatRequest) -> Completion:
        """Answer once.

        Raises:
            UsageError: the request makes no sense.
            RateLimited: status 429.
            ProviderTimeout: no complete answer within ``request.timeout``, time in line included.
            SchemaViolation: the server did not keep to the schema.
            ProviderError: not reachable, another status, or an answer that is none; the message names URL,
                status, the first 200 characters and what to do.
        """
        check_request(request)
        started = time.perf_counter()
        limit = asyncio.timeout(request.timeout)
        try:
            async with limit, self._pool().turn:
                model = self._model or await self._discover()
                reply = await self._ask(self._adapter or model, request)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ProviderTimeout(
                f"{self._wire.url} did not answer within {request.timeout:g} s; "
                "allow more seconds or fewer tokens, or see whether the server is overloaded"
            ) from error
        completion = self._wire.completion(reply, request, model, self._version, time.perf_counter() - started)
        if request.schema is None:
            return completion
        return structured.conform(completion, request.schema, retryable=request.temperature > 0)

    async def models(self) -> list[dict[str, Any]]:
        """What the server lists: one dict per model, ``id`` among its keys.

        Raises:
            ProviderError: as ``chat``.
        """
        return self._wire.models(await self._send("GET", "/models", None))

    async def aclose(self) -> None:
        """Close the connections of the running event loop. The client can be used again."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.client.aclose()

    def _pool(self) -> "_Pool":
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            limits = httpx2.Limits(
                max_connections=self._concurrency,
                max_keepalive_connections=self._concurrency,
                keepalive_expiry=_IDLE_SECONDS,
            )
            # asyncio.timeout bounds the whole attempt; httpx2's own time-outs are per read.
            timeout = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
            client = httpx2.AsyncClient(headers=self._headers, limits=limits, timeout=timeout)
            pool = self._pools[loop] = _Pool(client, asyncio.Semaphore(self._concurrency))
        return pool

    async def _discover(self) -> str:
        rows = await self.models()
        self._model, listed = openai_wire.first_model(rows, self._wire.url)
        self._context = self._context or listed
        return self._model

    async def _ask(self, model: str, request: ChatRequest) -> dict[str, Any]:
        wanted = replace(request, logprobs=request.logprobs and self._logprobs)
        body = {**openai_wire.body(model, wanted), **self._extra}
        if not wanted.logprobs:
            return await self._send("POST", self._wire.chat_path, body)
        try:
            more = {"return_token_ids": True} if self._token_ids else {}
            return await self._send("POST", self._wire.chat_path, {**body, **more})
        except ProviderError as error:
            # the first is vLLM's own: others ignore it, or refuse it by name; some refuse both
            if self._token_ids and "return_token_ids" in str(error):
                self._token_ids = False
            elif "logprobs" in str(error):
                self._logprobs = False
            else:
                raise
        return await self._ask(model, request)

    async def _send(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        address = self._url + path
        try:
            async with self._pool().client.stream(method, address, content=data) as response:
                content = bytearray()
                async for piece in response.aiter_bytes():
                    content += piece
                    if len(content) > self._max_bytes:
                        raise self._wire.too_long(path, self._max_bytes)
                return self._wire.parse(path, response.status_code, response.headers, bytes(content))
        except httpx2.TimeoutException as error:
            raise ProviderTimeout(f"no connection to {self._wire.url} within {_CONNECT_SECONDS:g} s") from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise self._wire.broken(path, error) from error


@dataclass
class _Pool:
    """What belongs to one event loop."""

    client: httpx2.AsyncClient = field(repr=False)
    turn: asyncio.Semaphore


def _url(base_url: str) -> str:
    try:
        url = httpx2.URL(base_url.strip())
    except httpx2.InvalidURL as error:
        raise ConfigError(f"not a URL: {base_url!r} ({error}); it should look like http://host:8000/v1") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigError(f"not the URL of a model server: {base_url!r}; it should look like http://host:8000/v1")
    return str(url).rstrip("/")


def _tokenizer(given: counting.Tokenizer | str | Path | None) -> counting.Tokenizer:
    if given is None:
        return counting.bound
    return counting.load_tokenizer(given) if isinstance(given, str | Path) else given
