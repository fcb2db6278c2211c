"""The model that follows a script."""

import asyncio
import json
from typing import Any

import pytest

from pointwork.errors import RateLimited
from pointwork.models.protocol import ChatRequest
from pointwork.models.scripted import ScriptedClient, Step, UnexpectedCall

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def ask(text: str, **more: Any) -> ChatRequest:
    return ChatRequest([{"role": "user", "content": text}], **more)


def test_script_in_order_and_out_of_order() -> None:
    async def main() -> None:
        free = ScriptedClient([Step("A", match="first"), Step("B", match="second"), "rest"])
        texts = [(await free.chat(ask(text))).text for text in ("second", "other", "first")]
        assert texts == ["B", "rest", "A"]
        free.assert_consumed()
        strict = ScriptedClient([Step("A", match="first"), Step("B", match="second")], ordered=True)
        with pytest.raises(UnexpectedCall):
            await strict.chat(ask("second"))

    asyncio.run(main())


def test_unexpected_calls_are_not_swallowed() -> None:
    client = ScriptedClient(["one"], name="tester")

    async def main() -> None:
        await client.chat(ask("first"))
        with pytest.raises(UnexpectedCall, match="call 2 of tester.*surprise"):
            await client.chat(ask("surprise"))

    def whole() -> None:
        with client:
            asyncio.run(main())

    pytest.raises(UnexpectedCall, whole)
    assert [request.messages[0]["content"] for request in client.requests] == ["first", "surprise"]


def test_unused_steps_fail_the_test() -> None:
    with (
        pytest.raises(AssertionError, match="1 of 1 scripted steps were not used: 1: 'one'"),
        ScriptedClient(["one"]),
    ):
        pass
    with ScriptedClient([Step("any", times=None)]):
        pass


def test_an_error_on_its_way_is_not_hidden() -> None:
    with pytest.raises(ValueError, match="mine"), ScriptedClient(["unused"]):
        raise ValueError("mine")


def test_replies_of_every_kind() -> None:
    async def main() -> None:
        client = ScriptedClient(
            [
                {"n": 1},
                RateLimited("later", retry_after=1.0),
                lambda request: request.messages[0]["content"].upper(),
                "a b c",
            ]
        )
        assert json.loads((await client.chat(ask("x", schema=SCHEMA))).text) == {"n": 1}
        with pytest.raises(RateLimited):
            await client.chat(ask("x"))
        assert (await client.chat(ask("echo"))).text == "ECHO"
        cut = await client.chat(ask("x", max_tokens=2))
        assert (cut.text, cut.finish, cut.completion_tokens) == ("a b", "length", 2)
        client.assert_consumed()

    asyncio.run(main())
