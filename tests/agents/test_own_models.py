"""Models of the user's own: whatever they do, a run ends with a result, and its money is known."""

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from pointwork import Agent, Budget, Team
from pointwork.errors import UsageError
from pointwork.models import ChatRequest, Completion, Message, Price
from pointwork.settings import ModelSettings


class Own:
    """The documented protocol and nothing else."""

    context_tokens = 4096

    def __init__(self, answer: Callable[[], Any], counted: Any = 20, name: str = "own") -> None:
        self.name, self.price = name, Price(1, 1)
        self._answer, self._counted = answer, counted

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return cast(int, self._counted() if callable(self._counted) else self._counted)

    async def chat(self, request: ChatRequest) -> Completion:
        return self._answer()

    async def aclose(self) -> None: ...


def raising(error: BaseException) -> Callable[[], Any]:
    def answer() -> Any:
        raise error

    return answer


def saying(text: Any = "7", prompt: Any = 10, completion: Any = 1) -> Callable[[], Any]:
    return lambda: Completion(text, prompt, completion, "stop", "own")


def answered(model: Own) -> Any:
    agent = Agent("meteo", "You know the weather.", {"weather": "the weather of a city"}, modes=("instant",))
    with Team([agent], store="sqlite://", models={"worker-small": model}) as team:
        return team.run("What is the weather in Bonn?", budget=Budget(seconds=60, usd=1))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (raising(ValueError("no key")), "own failed: ValueError: no key"),
        (raising(SystemExit(2)), "own failed: SystemExit: 2"),
        (raising(asyncio.CancelledError("its own")), "own failed: CancelledError: its own"),
        (lambda: "seven", "chat gave str, not a Completion"),
        (saying(None), "the text of its completion is None"),
        (saying(prompt=None), "prompt_tokens of its completion is None"),
        (saying(completion=-5), "completion_tokens of its completion is -5"),
        (saying(completion=1.5), "completion_tokens of its completion is 1.5"),
        (saying(prompt=10**19), "no number of tokens"),
    ],
)
def test_a_failure_in_words_of_its_own_is_a_failed_call(answer: Callable[[], Any], why: str) -> None:
    """``SystemExit`` ended the team's event loop, and whoever waited for the run waited for ever."""
    result = answered(Own(answer))
    assert result.status == "failed"
    assert why in result.missing[0]
    assert result.cost.usd == 0


@pytest.mark.parametrize("counted", [raising(ZeroDivisionError("by zero")), -3, "many", math.nan])
def test_a_prompt_that_can_not_be_counted_is_a_failed_call(counted: Any) -> None:
    result = answered(Own(saying(), counted))
    assert result.status == "failed"
    assert "count_tokens" in result.missing[0]


def test_a_connection_that_fails_is_tried_again() -> None:
    replies = iter([raising(ConnectionError("reset")), raising(TimeoutError()), saying()])
    result = answered(Own(lambda: next(replies)()))
    assert (result.text, result.status, result.cost.calls) == ("7", "ok", 1)


@pytest.mark.parametrize("price", [-1, math.nan, math.inf, "1", None, True])
def test_a_price_is_money(price: Any) -> None:
    """With a negative price each call gave money back."""
    with pytest.raises(UsageError, match="price"):
        Price(price, 1)
    with pytest.raises(UsageError, match="price"):
        Price(1, price)


@pytest.mark.parametrize("name", ["", None])
def test_a_model_has_a_name(name: Any) -> None:
    with pytest.raises(UsageError, match="name must be text"):
        answered(Own(saying(), name=cast(str, name)))


@pytest.mark.parametrize("prices", [(-0.1, 1), (0.1, math.inf), (math.nan, 1)])
def test_a_configured_price_is_money(prices: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="usd_per_mtok"):
        ModelSettings(model="local:", usd_per_mtok=prices)
