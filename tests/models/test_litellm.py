"""LiteLLMClient over litellm's own mock."""

import asyncio
import json
from typing import Any

import pytest

from pointwork.errors import ConfigError, ProviderError, RateLimited
from pointwork.models import structured
from pointwork.models.litellm_client import LiteLLMClient
from pointwork.models.protocol import ChatRequest, Completion, Price

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def ask(text: str, **more: Any) -> ChatRequest:
    return ChatRequest([{"role": "user", "content": text}], **more)


def mocked(reply: object, request: ChatRequest, **options: Any) -> Completion:
    async def main() -> Completion:
        client = LiteLLMClient("gpt-4o-mini", mock_response=reply, **options)
        try:
            return await client.chat(request)
        finally:
            await client.aclose()

    return asyncio.run(main())


def test_litellm_mock() -> None:
    assert mocked("hello there", ask("hi")).text == "hello there"


@pytest.mark.parametrize(
    ("reply", "kind", "retryable"),
    [
        ("litellm.RateLimitError", RateLimited, True),
        ("litellm.InternalServerError", ProviderError, True),
        ("litellm.ContextWindowExceededError", ProviderError, False),
    ],
)
def test_litellm_errors(reply: str, kind: type[ProviderError], retryable: bool) -> None:
    with pytest.raises(kind, match="gpt-4o-mini") as caught:
        mocked(reply, ask("hi"))
    assert caught.value.retryable is retryable


def test_litellm_missing_key_is_hopeless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    async def main() -> None:
        client = LiteLLMClient("gpt-4o-mini")
        try:
            await client.chat(ask("hi"))
        finally:
            await client.aclose()

    with pytest.raises(ProviderError, match="API key") as caught:
        asyncio.run(main())
    assert not caught.value.retryable


def test_litellm_unknown_provider() -> None:
    async def main() -> None:
        await LiteLLMClient("nonsense/model", price=Price()).chat(ask("hi"))

    with pytest.raises(ConfigError, match="provider/model"):
        asyncio.run(main())


def test_litellm_schema_in_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    import litellm

    sent: list[dict[str, Any]] = []
    real: Any = litellm.acompletion

    async def spy(**fields: Any) -> Any:
        sent.append(fields)
        return await real(**fields)

    monkeypatch.setattr(litellm, "acompletion", spy)
    request = ask("how many?", schema=SCHEMA)
    assert mocked('```json\n{"n": 2}\n```', request, constrain=False).text == '{"n": 2}'
    assert mocked('{"n": 3}', request).text == '{"n": 3}'
    told, formed = sent
    assert "response_format" not in told
    assert json.dumps(SCHEMA, separators=(",", ":")) in told["messages"][-1]["content"]
    assert formed["response_format"]["json_schema"]["schema"] == SCHEMA
    assert formed["messages"] == [{"role": "user", "content": "how many?"}]
    with pytest.raises(structured.SchemaViolation):
        mocked("two", request)
