"""The seam between Pointwork and whatever answers a prompt.

A ``ModelClient`` is one model behind one back end. It is deliberately *not* aware of budgets, roles, retries
or the store: ``pointwork.models.Models`` wraps every client with those. Implementations: the embedded engine
(llama.cpp in-process), OpenAI-compatible URLs, litellm, and the scripted model for tests.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypedDict, cast

from pointwork.errors import UsageError


class Message(TypedDict):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens.

    Attributes:
        prompt: per million prompt tokens.
        completion: per million generated tokens.

    Raises:
        UsageError: one is negative, not finite or no number: a call would give money back, or none knows its cost.
    """

    prompt: float = 0.0
    completion: float = 0.0

    def __post_init__(self) -> None:
        for value in cast(tuple[object, object], (self.prompt, self.completion)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise UsageError(f"a price is US dollars per million tokens, 0 or more, not {value!r}")

    def nano(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Cost of a call in nano-USD, rounded up."""
        # 1 USD per 1e6 tokens = 1_000 nano-USD per token
        return -int(-(prompt_tokens * self.prompt + completion_tokens * self.completion) * 1000 // 1)


@dataclass(frozen=True)
class ChatRequest:
    """What to ask.

    Attributes:
        messages: the conversation, system message first if there is one.
        max_tokens: most tokens to generate; the engine must stop there, the budget relies on it.
        temperature: 0 is greedy.
        schema: a JSON schema that the whole answer must satisfy; decoding is constrained where the back end can.
        stop: strings that end the answer (not included in it).
        seed: for sampling.
        timeout: seconds for one attempt.
        logprobs: ask for token ids and log-probabilities, where the back end has them.
    """

    messages: Sequence[Message]
    max_tokens: int = 256
    temperature: float = 0.0
    schema: dict[str, Any] | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    timeout: float = 120.0
    logprobs: bool = False


@dataclass(frozen=True)
class Completion:
    """What came back.

    Attributes:
        text: the answer. With a schema: JSON text that satisfies it.
        prompt_tokens, completion_tokens: as the back end counted them (estimated where it does not say).
        finish: ``stop``, ``length`` (the token limit cut it) or another word of the back end's.
        model: the model's own name; ``version``: adapter or weights version, empty for the base.
        token_ids, logprobs: of the generated tokens, one entry per token; None where the back end has none.
        prompt_ids: token ids of the whole prompt, chat template included, where log-probabilities were asked for;
            None where the back end does not say.
        seconds: wall time of the successful attempt.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    finish: str
    model: str
    version: str = ""
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    prompt_ids: tuple[int, ...] | None = None
    seconds: float = 0.0
    raw: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)


class ModelClient(Protocol):
    """One model behind one back end. Safe to use from several event loops and threads at once."""

    @property
    def name(self) -> str:
        """The model's name, as it stands in logs and prices."""
        ...

    @property
    def price(self) -> Price:
        """What it costs."""
        ...

    @property
    def context_tokens(self) -> int:
        """Most tokens of prompt and answer together."""
        ...

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """An upper bound on the prompt's tokens, cheap and without a network call.

        The budget reserves by it, so it may be too high but never too low.
        """
        ...

    async def chat(self, request: ChatRequest) -> Completion:
        """Answer once, without retries.

        Raises:
            ProviderError: the back end failed (``RateLimited``, ``ProviderTimeout`` where that is the reason).
            asyncio.CancelledError: passed on; generation stops.
        """
        ...

    async def aclose(self) -> None:
        """Give back connections and memory. Closing twice does nothing."""
        ...
