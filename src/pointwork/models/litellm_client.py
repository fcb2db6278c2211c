"""Hosted models through litellm: the only module that imports it, and not before the first call.

Importing litellm takes about two seconds; without ``LITELLM_LOCAL_MODEL_COST_MAP`` it also downloads its price
table.
"""

import asyncio
import importlib
import os
import re
import threading
import time
import warnings
import weakref
from collections.abc import Sequence
from typing import Any, Protocol, cast

from pointwork.errors import ConfigError, PointworkError, ProviderError, ProviderTimeout, RateLimited
from pointwork.models import counting, prices, structured
from pointwork.models.checks import check_request
from pointwork.models.openai_wire import Reader, retry_after
from pointwork.models.protocol import ChatRequest, Completion, Message, Price

FREE_PROVIDERS = ("ollama", "ollama_chat", "hosted_vllm", "vllm", "lm_studio", "llamafile", "xinference")
"""Providers that are servers of one's own: no price in the table means that they cost nothing."""
DEFAULT_CONTEXT = 8192
_lock = threading.Lock()


class _LiteLLM(Protocol):
    """The part of litellm that is used."""

    async def acompletion(self, **request: Any) -> Any: ...

    async def close_litellm_async_clients(self) -> None: ...

    def supports_response_schema(self, model: str) -> bool: ...


class LiteLLMClient:
    """A ``ModelClient`` for a litellm model string, such as ``anthropic/claude-haiku-4-5`` or ``gpt-4o-mini``.

    Args:
        model: the model string.
        price: what it costs; default: litellm's table.
        api_key: default: the provider's own environment variable, as litellm reads it.
        api_base: another address of the provider's API.
        context: most tokens of prompt and answer; default: the table's, or 8,192.
        constrain: send a schema as response format (True) or in the prompt (False); None: what the model supports.
        tokenizer: exact counter of a text's tokens; else an upper bound.
        concurrency: most requests in flight per event loop.
        options: passed to ``litellm.acompletion`` with every call.

    Raises:
        ConfigError: the price is not known and none is given: the budget could not be kept.
    """

    def __init__(
        self,
        model: str,
        *,
        price: Price | None = None,
        api_key: str | None = None,
        api_base: str | None = None,
        context: int | None = None,
        constrain: bool | None = None,
        tokenizer: counting.Tokenizer | None = None,
        concurrency: int = 64,
        **options: Any,
    ) -> None:
        if not model.strip() or concurrency < 1:
            raise ConfigError(f"a litellm model string and a concurrency of at least 1 are needed, not {model!r}")
        info = prices.lookup(model)
        self._name = model
        self._price = price or (info.price if info else _free(model))
        self._context = context or (info.context if info else None) or DEFAULT_CONTEXT
        self._constrain = constrain
        self._tokenizer = tokenizer or counting.bound
        self._concurrency = concurrency
        self._secret = api_key
        self._options = {**options, "model": model, "drop_params": True, "num_retries": 0, "max_retries": 0}
        self._options |= {"api_key": api_key} if api_key else {}
        self._options |= {"api_base": api_base} if api_base else {}
        self._turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]
        self._turns = weakref.WeakKeyDictionary()
        self._wire = Reader(model, api_key, chat_path="")

    def __repr__(self) -> str:
        return f"LiteLLMClient({self._name!r})"

    @property
    def name(self) -> str:
        """The model string."""
        return self._name

    @property
    def price(self) -> Price:
        """What it costs."""
        return self._price

    @property
    def context_tokens(self) -> int:
        """Most tokens of prompt and answer together."""
        return self._context

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """An upper bound."""
        return counting.bound_messages(messages, self._tokenizer)

    async def chat(self, request: ChatRequest) -> Completion:
        """Answer once.

        Raises:
            UsageError: the request makes no sense.
            ConfigError: litellm knows no provider for this model string.
            RateLimited, ProviderTimeout, ProviderError: as the provider failed.
            SchemaViolation: the answer does not satisfy the schema.
        """
        check_request(request)
        started = time.perf_counter()
        limit = asyncio.timeout(request.timeout)
        try:
            async with limit, self._turn():
                # The import would stop the event loop for two seconds.
                litellm = await asyncio.to_thread(_litellm)
                reply = await litellm.acompletion(**self._request(litellm, request))
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ProviderTimeout(f"{self._name} did not answer within {request.timeout:g} s") from error
        except PointworkError:
            raise
        except Exception as error:
            # litellm's classes derive from openai's and share no base of their own
            raise self._failure(error) from error
        completion = self._wire.completion(_plain(reply), request, self._name, "", time.perf_counter() - started)
        if request.schema is None:
            return completion
        return structured.conform(completion, request.schema, retryable=request.temperature > 0)

    async def aclose(self) -> None:
        """Close litellm's connections in this process; it opens new ones when needed."""
        if _loaded is not None:
            await _loaded.close_litellm_async_clients()

    def _turn(self) -> asyncio.Semaphore:
        # a semaphore belongs to the event loop that first waits for it
        loop = asyncio.get_running_loop()
        return self._turns.setdefault(loop, asyncio.Semaphore(self._concurrency))

    def _request(self, litellm: _LiteLLM, request: ChatRequest) -> dict[str, Any]:
        fields: dict[str, Any] = {
            **self._options,
            "messages": [dict(message) for message in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "timeout": request.timeout,
        }
        if request.stop:
            fields["stop"] = list(request.stop)
        if request.seed is not None:
            fields["seed"] = request.seed
        if request.logprobs:
            fields |= {"logprobs": True, "top_logprobs": 1}
        if request.schema is not None:
            if self._constrain is None:
                self._constrain = bool(litellm.supports_response_schema(model=self._name))
            if self._constrain:
                form = {"name": "answer", "schema": request.schema, "strict": True}
                fields["response_format"] = {"type": "json_schema", "json_schema": form}
            else:
                fields["messages"] = _told(fields["messages"], request.schema)
        return fields

    def _failure(self, error: Exception) -> PointworkError:
        # litellm appends tracebacks and links to its issue tracker
        told = re.split(r"Traceback \(most|This looks like a bug in LiteLLM", str(error))[0]
        text = f"{self._name}: {self._clean(told)[:400]}"
        kind = type(error).__name__
        status: object = getattr(error, "status_code", None)
        if "LLM Provider NOT provided" in text:
            return ConfigError(f"litellm knows no provider for the model {self._name!r}; write it provider/model")
        if "Missing credentials" in text or kind in ("AuthenticationError", "PermissionDeniedError"):
            return ProviderError(f"{text}. Check the provider's API key and what it may use")
        if kind == "Timeout" or status in (408, 504):
            return ProviderTimeout(text)
        if kind == "RateLimitError" or status == 429:
            response: Any = getattr(error, "response", None)
            headers: Any = getattr(response, "headers", None) or {}
            return RateLimited(text, retry_after=retry_after(headers.get("retry-after")))
        retryable = kind == "APIConnectionError" or (isinstance(status, int) and status >= 500)
        return ProviderError(f"{text} ({kind})", retryable=retryable)

    def _clean(self, text: str) -> str:
        # Providers repeat keys in their messages; litellm may have taken one from the environment.
        secrets = [value for name, value in os.environ.items() if name.endswith("_API_KEY") and len(value) > 7]
        for secret in (self._secret, *secrets):
            text = text.replace(secret, "***") if secret else text
        return " ".join(text.split())


_loaded: _LiteLLM | None = None


def _litellm() -> _LiteLLM:
    global _loaded
    with _lock:
        if _loaded is None:
            os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            with warnings.catch_warnings():
                # litellm's types warn when pydantic first builds them: let that be here, not in the user's call.
                warnings.simplefilter("ignore")
                module: Any = importlib.import_module("litellm")
                module.ModelResponse()
            module.telemetry = False
            module.suppress_debug_info = True  # else it prints advertising to the terminal
            _loaded = cast(_LiteLLM, module)
        return _loaded


def _free(model: str) -> Price:
    if model.split("/", 1)[0] in FREE_PROVIDERS:
        return Price()
    raise ConfigError(
        f"the price of {model!r} is not known, so no budget could be kept; give it in US dollars per million "
        "tokens (in pointwork.toml: usd_per_mtok = [prompt, completion]; 0 if it costs nothing)"
    )


def _plain(reply: Any) -> dict[str, Any]:
    return cast(dict[str, Any], reply.model_dump())


def _told(messages: list[dict[str, Any]], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages with the schema in the last one, which a model heeds best."""
    last = {**messages[-1], "content": f"{messages[-1]['content']}\n\n{structured.instructions(schema)}"}
    return [*messages[:-1], last]
