"""The embedded models: SmolLM2-135M-Instruct (or any GGUF file) through llama.cpp, in this process."""

import asyncio
import functools
import hashlib
import re
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pointwork.errors import ProviderError, ProviderTimeout, UsageError
from pointwork.models import requantizing, structured, weights
from pointwork.models.checks import check_request
from pointwork.models.engine import Chunk, Engine, EngineOptions, acquire, grammar, release
from pointwork.models.protocol import ChatRequest, Completion, Message, Price
from pointwork.models.weights import ModelFile, Progress

SYSTEM = "You are a helpful assistant."
"""Put first where a request has no system message. With its template's own default text ("named SmolLM, trained
by Hugging Face") this model answers clearly worse."""

_SPECIAL = re.compile(r"<\|(\w+)\|>")


SMALL, PLANS = 1_000_000_000, 3_000_000_000
"""Bytes of weights: below the first a model is small; from the second on it is taken to plan better than rules do.
With one of 1.5 billion weights in 1.1 GB, 2 of 15 plans for multi-step tasks led to the answer."""


class EmbeddedClient:
    """A ``ModelClient`` in this process. It costs nothing and leaves the machine alone.

    The model is loaded at first use (0.4 s for the default one; pulled before, if it is not there), once per
    process for the same file and adapters. ``await start()`` does it at a moment of your choice.

    Args:
        path: a GGUF file, or which one to pull.
        name: the model's name in logs and prices; default: that of the file.
        threads: of computation; default: all cores for prompts and for several answers at once, half of them for
            a single answer.
        context: tokens per request, prompt and answer together. Memory grows by 90 MB per 1,000 tokens for the
            default model with four slots.
        parallel: requests decoded at the same time; more wait in line.
        adapters: LoRA files (GGUF) to apply.
        version: of the adapters, stamped on every completion; default: their names and hashes.
        system: system message for requests without one; None: what the model's template says.
        progress: told bytes done and in all, if the weights must be pulled.

    Raises:
        UsageError: a number out of range.
    """

    schema_in_prompt = False
    gives_tokens = True

    def __init__(
        self,
        path: str | Path | ModelFile = weights.SMOLLM2_135M,
        *,
        name: str | None = None,
        threads: int | None = None,
        context: int = 4096,
        parallel: int = 4,
        adapters: Sequence[str | Path] = (),
        version: str | None = None,
        system: str | None = SYSTEM,
        progress: Progress | None = None,
    ) -> None:
        if context < 256 or parallel < 1 or (threads is not None and threads < 1):
            raise UsageError(
                f"context must be at least 256, parallel and threads at least 1, "
                f"not {context}, {parallel} and {threads}"
            )
        file = weights.path_of(path) if isinstance(path, ModelFile) else Path(path).expanduser().resolve()
        self._name = name or (path.name if isinstance(path, ModelFile) else file.stem)
        self._system = system
        self._options = EngineOptions(
            file, tuple(Path(adapter).expanduser().resolve() for adapter in adapters), threads, context, parallel
        )
        self._prepare: Callable[[], Path | None] = _nothing
        self._size = path.size if isinstance(path, ModelFile) else None
        if isinstance(path, ModelFile):
            self._prepare = functools.partial(requantizing.ready, path, progress=progress)
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._version = version

    def __repr__(self) -> str:
        return f"EmbeddedClient({self._name!r}, {str(self._options.path)!r})"

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    @property
    def price(self) -> Price:
        """Nothing."""
        return Price()

    @property
    def context_tokens(self) -> int:
        """Most tokens of prompt and answer together."""
        return self._options.context

    @property
    def small(self) -> bool:
        """Whether it is so small a model that what a question says outright is better not left to it."""
        return self._bytes() < SMALL

    @property
    def plans(self) -> bool:
        """Whether it is large enough to be asked for a plan where rules have one."""
        return self._bytes() >= PLANS

    def _bytes(self) -> int:
        file = self._options.path
        return self._size or (file.stat().st_size if file.is_file() else 0)

    @property
    def version(self) -> str:
        """As given, else the adapters by name and first 12 digits of their SHA-256; empty without adapters.

        Raises:
            OSError: an adapter can not be read.
        """
        if self._version is None:
            self._version = "+".join(map(_fingerprint, self._options.adapters))
        return self._version

    async def start(self) -> None:
        """Pull what is missing and load the model, without blocking the event loop.

        Raises:
            ProviderError: pulling or loading failed.
            ImportError: the extra ``local`` is not installed.
        """
        engine = self._get_engine()
        await asyncio.wrap_future(engine.submit(engine.start))

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """The prompt's exact tokens, by the model's own tokenizer and template. Takes about 1 ms.

        Loads (and pulls) the model if that has not been done: call ``start`` first where that must not block.

        Raises:
            ProviderError: pulling or loading failed.
        """
        return self._get_engine().count_tokens(self._messages(messages))

    async def chat(self, request: ChatRequest) -> Completion:
        """Answer once.

        With a schema, decoding is constrained to JSON without white space that satisfies it. Log-probabilities
        are the model's own, before temperature and constraint; the token that ends the answer is not among them.
        There are none for an answer with a character of several tokens, of which llama.cpp does not tell all.

        Raises:
            UsageError: the request makes no sense.
            ProviderTimeout: no answer within ``request.timeout``, time in line included; generation stops.
            SchemaViolation: the grammar could not express a part of the schema and the answer breaks that part.
            ProviderError: the prompt does not fit into the context, or llama.cpp failed.
            asyncio.CancelledError: passed on; generation stops within a token, or a batch of the prompt.
        """
        check_request(request)
        engine = self._get_engine()
        answer = _Answer()
        body = self._body(request)
        started = time.perf_counter()
        limit = asyncio.timeout(request.timeout)
        try:
            async with limit:
                await asyncio.wrap_future(engine.submit(functools.partial(_run, engine, body, request, answer)))
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ProviderTimeout(
                f"{self._name} did not answer within {request.timeout:g} s ({answer.tokens} tokens were "
                "generated); allow more seconds, fewer tokens, or fewer requests at a time"
            ) from error
        finally:
            # Also on cancellation: the thread sees it at the next token.
            answer.stop.set()
        completion = self._completion(answer, request, time.perf_counter() - started)
        if request.schema is None:
            return completion
        return structured.conform(completion, request.schema, retryable=request.temperature > 0)

    async def aclose(self) -> None:
        """Give the engine back; its last user unloads the model. The client can be used again."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            await asyncio.to_thread(release, engine)

    def _get_engine(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = acquire(self._options, self._prepare)
            return self._engine

    def _messages(self, messages: Sequence[Message]) -> list[Message]:
        # llama.cpp reads "<|im_end|>" in a text as the real thing: somebody else's text could end its message
        # and open one of the system's. A space takes the magic away.
        clean: list[Message] = [
            {"role": message["role"], "content": _SPECIAL.sub(r"< |\1| >", message["content"])}
            for message in messages
        ]
        if self._system is not None and not any(message["role"] == "system" for message in clean):
            clean.insert(0, {"role": "system", "content": self._system})
        return clean

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "messages": self._messages(request.messages),
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
        }
        if request.stop:
            body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed & 0xFFFFFFFF
        if request.logprobs:
            # With 0 there are none at all, without it there are twenty.
            body |= {"logprobs": True, "top_logprobs": 1}
        return body

    def _completion(self, answer: "_Answer", request: ChatRequest, seconds: float) -> Completion:
        if answer.error is not None:
            raise _failure(self._name, answer.error)
        if answer.finish is None or answer.usage is None:
            raise ProviderError(f"{self._name} ended without an answer; the engine was closed?", retryable=True)
        # llama.cpp leaves out tokens that are only a part of a character (÷ is two): better none than a gap. The
        # token that ends an answer is never among them.
        generated = int(answer.usage["completion_tokens"])
        whole = request.logprobs and generated - len(answer.ids) == (answer.finish == "stop")
        return Completion(
            text="".join(answer.parts),
            prompt_tokens=int(answer.usage["prompt_tokens"]),
            completion_tokens=generated,
            finish=answer.finish,
            model=self._name,
            version=self.version,
            token_ids=tuple(answer.ids) if whole else None,
            logprobs=tuple(answer.logprobs) if whole else None,
            prompt_ids=answer.prompt_ids,
            seconds=seconds,
        )


class _Answer:
    """Collects the pieces of one answer; used on an engine's thread."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.parts: list[str] = []
        self.ids: list[int] = []
        self.logprobs: list[float] = []
        self.tokens = 0
        self.finish: str | None = None
        self.usage: dict[str, Any] | None = None
        self.error: dict[str, Any] | None = None
        self.prompt_ids: tuple[int, ...] | None = None

    def take(self, chunk: Chunk) -> bool:
        """One piece; True stops the generation."""
        if "error" in chunk:
            self.error = chunk["error"]
            return True
        self.usage = chunk.get("usage") or self.usage
        for choice in chunk.get("choices", ()):
            text = choice["delta"].get("content")
            if text:
                self.parts.append(text)
                self.tokens += 1
            self.finish = choice["finish_reason"] or self.finish
            table: dict[str, Any] = choice.get("logprobs") or {}
            for token in table.get("content") or ():
                self.ids.append(token["id"])
                self.logprobs.append(token["logprob"])
        return self.stop.is_set()


def _run(engine: Engine, body: dict[str, Any], request: ChatRequest, answer: _Answer) -> None:
    if answer.stop.is_set():
        return
    if request.schema is not None:
        body = {**body, "grammar": grammar(request.schema)}
    engine.chat(body, answer.take)
    if request.logprobs and answer.usage is not None:
        # only if they are the ones it was shown: wrong ones would train the wrong thing
        ids = engine.prompt_ids(body["messages"])
        answer.prompt_ids = ids if len(ids) == answer.usage["prompt_tokens"] else None


def _failure(name: str, error: dict[str, Any]) -> ProviderError:
    if error.get("type") == "exceed_context_size_error":
        return ProviderError(
            f"the prompt has {error.get('n_prompt_tokens')} tokens, and {name} takes {error.get('n_ctx')} "
            "(prompt and answer together); shorten it, or open the model with a larger context"
        )
    message = str(error.get("message") or error)[:200]
    code = error.get("code")
    return ProviderError(f"{name} failed: {message}", retryable=isinstance(code, int) and code >= 500)


def _fingerprint(path: Path) -> str:
    with path.open("rb") as stream:
        return f"{path.stem}@{hashlib.file_digest(stream, 'sha256').hexdigest()[:12]}"


def _nothing() -> None:
    pass
