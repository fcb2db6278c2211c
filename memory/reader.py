"""The model that tier High asks: a short prompt, and an answer under a JSON schema.

A ``Reader`` is asked from the threads that recall. Two there are: ``ClientReader`` here, for a memory by itself,
and the team's, which pays from the run's budget and logs the call as a step of it (``agents.remembering``).
"""

import asyncio
import json
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from pointwork.errors import ConfigError, PointworkError, StoreError, UsageError
from pointwork.memory.items import Cost
from pointwork.models.protocol import ChatRequest, Completion, ModelClient

_ATTEMPTS = 3
_MOST = 8  # questions of one recall: three, and some more where memory changed in between


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    Attributes:
        text: the answer; it may fail to satisfy the schema.
        tokens: of prompt and answer together; ``usd``: US dollars.
        seconds: that it took.
    """

    text: str
    tokens: int
    usd: float
    seconds: float = 0.0


@runtime_checkable
class Reader(Protocol):
    """A model as memory asks it. Safe to use from several threads."""

    def ask(self, request: ChatRequest) -> Reply:
        """Answer, and wait for it.

        Raises:
            PointworkError: there is no answer; what asked goes on without one.
        """
        ...


class ClientReader:
    """A client by itself: retries, no budget, no log but the cost of the recall.

    Args:
        client: what makes it, at the first question.
    """

    def __init__(self, client: Callable[[], ModelClient]) -> None:
        self._make = client
        self._client: ModelClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def ask(self, request: ChatRequest) -> Reply:
        client, loop = self._opened()
        # whoever recalls may have an event loop of their own in their thread
        job = asyncio.run_coroutine_threadsafe(_answered(client, request), loop)
        try:
            answer = job.result()
        except BaseException:  # Ctrl-C above all
            job.cancel()
            raise
        spent = client.price.nano(answer.prompt_tokens, answer.completion_tokens) / 1e9
        return Reply(answer.text, answer.prompt_tokens + answer.completion_tokens, spent)

    def _opened(self) -> tuple[ModelClient, asyncio.AbstractEventLoop]:
        """The client, and one loop for all its calls, as connections belong to a loop."""
        with self._lock:
            if self._client is None:
                self._client = self._make()
            if self._loop is None:
                self._loop = loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(loop,), name="pointwork-reader", daemon=True).start()
                weakref.finalize(self, loop.call_soon_threadsafe, loop.stop).atexit = False
            return self._client, self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


class Wanted(Exception):
    """A module needs an answer of the model to go on."""

    def __init__(self, request: ChatRequest) -> None:
        super().__init__("memory's model has to be asked")
        self.request = request


class Answers:
    """What a model said in one recall: the ``Reader`` that modules see.

    They work under the lock of the index, in which a model must not be waited for: others want it too, perhaps
    those who let the model go on. So a new question ends their work with ``Wanted``; the recall asks it outside the
    lock (``fetch``) and begins anew, which takes some milliseconds and finds the answer here.
    """

    def __init__(self, reader: Reader | None) -> None:
        self._reader = reader
        self._known: dict[str, Reply | PointworkError] = {}
        self._used: set[str] = set()  # what was answered since the modules last began

    @property
    def there(self) -> bool:
        """Whether there is a model."""
        return self._reader is not None

    def unused(self) -> Cost:
        """What was paid for answers that the modules did not take in the end: memory had changed."""
        left = [known for key, known in self._known.items() if isinstance(known, Reply) and key not in self._used]
        return Cost(sum(reply.tokens for reply in left), sum(reply.usd for reply in left))

    def ask(self, request: ChatRequest) -> Reply:
        """What was said; raises ``Wanted`` if that was not asked yet, and what asking raised."""
        known = self._known.get(_key(request))
        if known is None:
            if self._reader is None:
                raise UsageError("there is no model to ask")
            if len(self._known) >= _MOST:
                raise StoreError("memory changed each time while its model was answering")
            raise Wanted(request)
        self._used.add(_key(request))
        if isinstance(known, Reply):
            return known
        raise known

    def fetch(self, request: ChatRequest) -> None:
        """Ask the model."""
        self._used.clear()
        started = time.perf_counter()
        assert self._reader is not None
        try:
            reply = self._reader.ask(request)
            self._known[_key(request)] = replace(reply, seconds=time.perf_counter() - started)
        except PointworkError as error:
            self._known[_key(request)] = error


def _key(request: ChatRequest) -> str:
    return json.dumps([request.messages, request.schema, request.max_tokens])


async def _answered(client: ModelClient, request: ChatRequest) -> Completion:
    from pointwork.models.checks import checked_chat
    from pointwork.models.retry import with_retries

    return await with_retries(lambda: checked_chat(client, request), attempts=_ATTEMPTS)


def reader(choice: "Reader | ModelClient | str | None") -> Reader | None:
    """What tier High is to ask.

    Args:
        choice: a ``Reader``; a client; or a model as ``pointwork.models.open_client`` takes it (opened at the first
            question).

    Raises:
        UsageError: it is none of these.
    """
    if choice is None or isinstance(choice, Reader):
        return choice
    if isinstance(choice, str):
        return ClientReader(lambda: _open(choice))
    if not hasattr(choice, "chat"):
        raise UsageError(f"model={choice!r} is no model; give one as open_client takes it, such as 'local:'")
    return ClientReader(lambda: choice)


def _open(spec: str) -> ModelClient:
    from pointwork.models import open_client

    if not spec.strip():
        raise ConfigError("model='' names no model")
    return open_client(spec)
