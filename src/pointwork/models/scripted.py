"""A model that says what a test tells it to say.

    client = ScriptedClient(["four", {"answer": 4}, RateLimited("later", retry_after=1.0)])
    with client:                       # leaving the block checks that every step was used
        team.run(...)

A call for which no step is left (or matches) raises ``UnexpectedCall``, an ``AssertionError``. The runtime may
catch it like any failure of a model, so it is also recorded, and ``assert_consumed`` raises it again.
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from pointwork.errors import ProviderTimeout
from pointwork.models import structured
from pointwork.models.checks import check_request
from pointwork.models.protocol import ChatRequest, Completion, Message, Price

Said = str | dict[str, Any] | list[Any] | Callable[[ChatRequest], str]
Reply = Said | Exception
Matcher = str | Callable[[ChatRequest], bool]


class UnexpectedCall(AssertionError):
    """The model was asked something that the script does not provide for."""


@dataclass(frozen=True)
class Step:
    """One scripted reply.

    Attributes:
        reply: text, data (sent as JSON), an exception to raise, or a function of the request.
        match: a part of the prompt's text, or a test of the request; None takes any.
        delay: seconds to wait first.
        times: how many calls it answers; None: any number, also none.
    """

    reply: Reply
    match: Matcher | None = None
    delay: float = 0.0
    times: int | None = 1

    def fits(self, request: ChatRequest) -> bool:
        """Whether this step may answer the request."""
        if self.match is None:
            return True
        if isinstance(self.match, str):
            return any(self.match in message["content"] for message in request.messages)
        return self.match(request)


class ScriptedClient:
    """A ``ModelClient`` that follows a script. Token counts are words, so that tests can predict them.

    Args:
        steps: the replies, in order. With matchers, a step may answer out of order (see ``ordered``).
        ordered: True: call n must fit step n. False (default): a call takes the first unused step that fits it,
            whatever the order, as parallel subtasks need.
        name, price, context: what the client says about itself.
    """

    schema_in_prompt = False

    def __init__(
        self,
        steps: Sequence[Step | Reply],
        *,
        ordered: bool = False,
        name: str = "scripted",
        price: Price | None = None,
        context: int = 8192,
    ) -> None:
        self._steps = [step if isinstance(step, Step) else Step(step) for step in steps]
        self._used = [0] * len(self._steps)
        self._ordered = ordered
        self._name, self._price, self._context = name, price or Price(), context
        self._lock = threading.Lock()
        self.requests: list[ChatRequest] = []
        self.unexpected: list[UnexpectedCall] = []

    @property
    def name(self) -> str:
        """The model's name."""
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
        """Words of all messages, plus one per message."""
        return sum(1 + len(message["content"].split()) for message in messages)

    async def chat(self, request: ChatRequest) -> Completion:
        """The next reply.

        Raises:
            UnexpectedCall: no step is left that fits; recorded in ``unexpected`` too.
            UsageError: the request makes no sense.
            ProviderTimeout: the step's delay is longer than ``request.timeout``.
            SchemaViolation: the step's reply does not satisfy the request's schema.
            Exception: whatever the step says.
        """
        check_request(request)
        started = time.perf_counter()
        step = self._take(request)
        # Even without a delay: other tasks get their turn, as with a real model.
        await asyncio.sleep(min(step.delay, request.timeout))
        if step.delay > request.timeout:
            raise ProviderTimeout(f"{self._name} did not answer within {request.timeout:g} s")
        if isinstance(step.reply, Exception):
            raise step.reply
        completion = self._complete(request, _text(step.reply, request), time.perf_counter() - started)
        return completion if request.schema is None else structured.conform(completion, request.schema)

    async def aclose(self) -> None:
        """Nothing to give back."""

    def assert_consumed(self) -> None:
        """Check that the script was followed to its end.

        Raises:
            UnexpectedCall: there was a call without a step.
            AssertionError: steps are left.
        """
        if self.unexpected:
            raise self.unexpected[0]
        left = [
            f"{number}: {_shown(step)}"
            for number, (step, used) in enumerate(zip(self._steps, self._used, strict=True), 1)
            if step.times is not None and used < step.times
        ]
        if left:
            raise AssertionError(
                f"{len(left)} of {len(self._steps)} scripted steps were not used: {'; '.join(left)}"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An error on its way out says more than unused steps do, unless the script itself was left.
        if error is None or self.unexpected:
            self.assert_consumed()

    def _take(self, request: ChatRequest) -> Step:
        with self._lock:
            self.requests.append(request)
            for number, step in enumerate(self._steps):
                if step.times is not None and self._used[number] >= step.times:
                    continue
                if step.fits(request):
                    self._used[number] += 1
                    return step
                if self._ordered:
                    break
            last = request.messages[-1]["content"] if request.messages else ""
            error = UnexpectedCall(
                f"call {len(self.requests)} of {self._name} fits no step that is left of {len(self._steps)}; "
                f"the last message was {last[:300]!r}"
            )
            self.unexpected.append(error)
            raise error

    def _complete(self, request: ChatRequest, text: str, seconds: float) -> Completion:
        words = text.split(" ")
        cut = len(words) > request.max_tokens
        kept = " ".join(words[: request.max_tokens])
        tokens = tuple(range(min(len(words), request.max_tokens)))
        return Completion(
            text=kept,
            prompt_tokens=self.count_tokens(request.messages),
            completion_tokens=len(tokens),
            finish="length" if cut else "stop",
            model=self._name,
            token_ids=tokens if request.logprobs else None,
            logprobs=(0.0,) * len(tokens) if request.logprobs else None,
            seconds=seconds,
        )


def _text(reply: Said, request: ChatRequest) -> str:
    if isinstance(reply, str):
        return reply
    return reply(request) if callable(reply) else json.dumps(reply, ensure_ascii=False)


def _shown(step: Step) -> str:
    match = f" for {step.match!r}" if step.match is not None else ""
    return f"{str(step.reply)[:80]!r}{match}"
