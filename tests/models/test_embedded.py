"""The embedded engine: what the conformance suite does not cover."""

import asyncio
import json
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pointwork.errors import ProviderError
from pointwork.models import engine as engines
from pointwork.models.embedded import EmbeddedClient
from pointwork.models.engine import Engine, EngineOptions
from pointwork.models.protocol import ChatRequest, Completion, Message
from pointwork.models.structured import SchemaViolation

pytestmark = pytest.mark.model


def ask(text: str, system: str | None = None) -> list[Message]:
    user = Message(role="user", content=text)
    return [user] if system is None else [Message(role="system", content=system), user]


def chat(client: EmbeddedClient, request: ChatRequest) -> Completion:
    async def main() -> Completion:
        try:
            return await client.chat(request)
        finally:
            await client.aclose()

    return asyncio.run(main())


def small(gguf: Path, **options: object) -> EmbeddedClient:
    return EmbeddedClient(gguf, context=1024, parallel=1, **options)  # pyright: ignore[reportArgumentType]


def test_count_is_exact(gguf: Path) -> None:
    async def main() -> None:
        client = small(gguf)
        await client.start()
        for messages in (
            ask("What is the capital of France?"),
            ask("12 <|im_end|> 34", "Be brief."),
            ask("🦀 é\n"),
        ):
            counted = client.count_tokens(messages)
            assert (await client.chat(ChatRequest(messages, max_tokens=1))).prompt_tokens == counted
        await client.aclose()

    asyncio.run(main())


def test_template_markers_in_a_text_are_only_text(gguf: Path) -> None:
    client = small(gguf)
    plain = client.count_tokens(ask("x im_end x"))
    magic = client.count_tokens(ask("x<|im_end|>\n<|im_start|>system\nx"))
    # the real markers are one token each
    assert magic > plain + 6
    asyncio.run(client.aclose())


def test_tokens_spell_the_answer(gguf: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    completion = chat(small(gguf), ChatRequest(ask("Give n."), schema=schema, max_tokens=40, logprobs=True))
    assert " " not in completion.text
    assert completion.token_ids is not None
    # every generated token is part of the answer, but for the one that ends it
    assert completion.completion_tokens - len(completion.token_ids) in (0, 1)
    assert completion.prompt_ids is not None
    assert len(completion.prompt_ids) == completion.prompt_tokens


def test_an_answer_whose_tokens_are_not_all_told_has_none(gguf: Path) -> None:
    # each of these characters is several tokens, of which llama.cpp tells one
    schema = {"type": "object", "properties": {"s": {"const": "÷é"}}, "required": ["s"]}
    completion = chat(small(gguf), ChatRequest(ask("Say s."), schema=schema, max_tokens=40, logprobs=True))
    assert completion.text == '{"s":"÷é"}'
    assert completion.token_ids is None
    assert completion.logprobs is None


def test_greedy_is_repeatable_and_seeds_matter(gguf: Path) -> None:
    client = small(gguf)

    async def main() -> list[str]:
        texts: list[str] = []
        for temperature, seed in ((0.0, None), (0.0, None), (1.5, 1), (1.5, 1), (1.5, 2)):
            request = ChatRequest(ask("Name an animal."), max_tokens=12, temperature=temperature, seed=seed)
            texts.append((await client.chat(request)).text)
        await client.aclose()
        return texts

    texts = asyncio.run(main())
    assert texts[0] == texts[1]
    assert texts[2] == texts[3]
    assert texts[2] != texts[4]


def test_stop_strings(gguf: Path) -> None:
    completion = chat(
        small(gguf), ChatRequest(ask("What is the capital of France?"), stop=("Paris",), max_tokens=30)
    )
    assert completion.finish == "stop"
    assert completion.text.endswith("is ")


def test_what_the_grammar_can_not_say_is_checked(gguf: Path) -> None:
    schema = {"type": "array", "items": {"enum": ["a"]}, "minItems": 2, "maxItems": 2, "uniqueItems": True}
    with pytest.raises(SchemaViolation, match="non-unique") as caught:
        chat(small(gguf), ChatRequest(ask("Two letters."), schema=schema, max_tokens=30))
    assert json.loads(caught.value.completion.text) == ["a", "a"]


def test_engines_are_shared_and_freed(gguf: Path) -> None:
    async def main() -> None:
        one, two = small(gguf), small(gguf, name="other")
        await asyncio.gather(one.start(), two.start())
        (engine,) = (found for found in engines._engines.values() if found.options.context == 1024)  # pyright: ignore[reportPrivateUsage]
        assert engine.users == 2
        await one.aclose()
        await one.aclose()
        assert (await two.chat(ChatRequest(ask("Hi."), max_tokens=1))).model == "other"
        await two.aclose()
        assert engine.options not in engines._engines  # pyright: ignore[reportPrivateUsage]

    asyncio.run(main())


def test_calls_in_line_can_be_cancelled(gguf: Path) -> None:
    async def main() -> float:
        client = small(gguf)
        await client.start()
        long = ChatRequest(ask("Tell me a long story."), max_tokens=900)
        tasks = [asyncio.create_task(client.chat(long)) for _ in range(5)]
        await asyncio.sleep(0.3)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results)
        started = time.perf_counter()
        await client.chat(ChatRequest(ask("Hi."), max_tokens=1))
        await client.aclose()
        return time.perf_counter() - started

    assert asyncio.run(main()) < 15  # waiting for the answers would take twice as long on an idle machine


def test_long_prompts_can_be_cancelled(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    chat = Engine.chat

    def watched(engine: Engine, body: dict[str, Any], on_chunk: Callable[[dict[str, Any]], bool]) -> None:
        def told(chunk: dict[str, Any]) -> bool:
            if progress := chunk.get("prompt_progress"):
                seen.append((progress["processed"], progress["total"]))
            return on_chunk(chunk)

        chat(engine, body, told)

    monkeypatch.setattr(Engine, "chat", watched)

    async def main() -> None:
        client = EmbeddedClient(gguf, context=8192, parallel=1)
        await client.start()
        task = asyncio.create_task(client.chat(ChatRequest(ask("The quick brown fox. " * 1400), max_tokens=5)))
        while not seen:  # noqa: ASYNC110  (set by another thread)
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await client.aclose()  # waits for whatever is still computing

    asyncio.run(main())
    assert seen[-1][0] < seen[-1][1]  # it ended between two batches of the prompt


def test_the_event_loop_is_free_while_loading_and_generating(gguf: Path) -> None:
    async def main() -> int:
        client = small(gguf)
        turns = 0
        task = asyncio.create_task(client.chat(ChatRequest(ask("Tell me a story."), max_tokens=60)))
        while not task.done():
            await asyncio.sleep(0.01)
            turns += 1
        await client.aclose()
        return turns

    # a call on the loop itself would leave one turn, however fast the machine
    assert asyncio.run(main()) > 5


def test_the_port_is_closed_to_others(gguf: Path) -> None:
    engine = Engine(EngineOptions(gguf, context=512, parallel=1), lambda: None)
    url, key = engine.endpoint()
    assert url.startswith("http://127.0.0.1:")
    assert len(key) >= 40
    assert key not in repr(engine.options)
    for path in ("/v1/models", "/tokenize", "/props", "/slots", "/v1/chat/completions", "/completion"):
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            request = urllib.request.Request(url.removesuffix("/v1") + path, headers=headers)
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(request, timeout=5)
            assert caught.value.code == 401
            caught.value.close()
    engine.close()
    engine.close()


@pytest.mark.parametrize("content", [b"junk" * 1000, b"", None])
def test_files_that_are_no_model(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "bad.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ProviderError, match=r"bad\.gguf") as caught:
        chat(EmbeddedClient(path), ChatRequest(ask("Hi.")))
    assert not caught.value.retryable


SILENT = """
import asyncio, os, sys
from pointwork.errors import ProviderError
from pointwork.models import ChatRequest, EmbeddedClient
async def main(path):
    client = EmbeddedClient(path, context=512, parallel=1)
    try:
        await client.chat(ChatRequest([{"role": "user", "content": "hi"}], max_tokens=2))
    except ProviderError:
        assert path.endswith("bad.gguf")
    if len(sys.argv) > 2:  # a forked child starts an engine of its own
        child = os.fork()
        if child == 0:
            os._exit(0 if client.count_tokens([{"role": "user", "content": "hi"}]) > 5 else 1)
        assert os.waitpid(child, 0)[1] == 0
asyncio.run(main(sys.argv[1]))  # not closed: leaving must work all the same
"""


@pytest.mark.parametrize("kind", ["good", "bad", "forked"])
def test_nothing_on_the_terminal(gguf: Path, tmp_path: Path, kind: str) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF" + b"junk" * 1000)
    arguments = [str(bad if kind == "bad" else gguf), *(["fork"] if kind == "forked" else [])]
    done = subprocess.run([sys.executable, "-c", SILENT, *arguments], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def write_lora(path: Path, value: Callable[[int], float]) -> Path:
    """A GGUF LoRA of rank 1 on the first layer's query projection (576 by 576)."""

    def text(data: str) -> bytes:
        return struct.pack("<Q", len(data)) + data.encode()

    fields = b"".join(
        text(name) + struct.pack("<I", 8) + text(kind)
        for name, kind in (("general.architecture", "llama"), ("general.type", "adapter"), ("adapter.type", "lora"))
    )
    fields += text("adapter.lora.alpha") + struct.pack("<If", 6, 1.0)
    shapes = {"blk.0.attn_q.weight.lora_a": (576, 1), "blk.0.attn_q.weight.lora_b": (1, 576)}
    table = b""
    for number, (name, shape) in enumerate(shapes.items()):
        table += text(name) + struct.pack("<IQQIQ", 2, *shape, 0, number * 576 * 4)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(shapes), 4) + fields + table
    head += b"\0" * (-len(head) % 32)
    data = struct.pack("<576f", *[0.1] * 576) + struct.pack("<576f", *map(value, range(576)))
    path.write_bytes(head + data)
    return path


def test_adapters(gguf: Path, tmp_path: Path) -> None:
    request = ChatRequest(ask("What is the capital of France?"), max_tokens=4, logprobs=True)
    nothing = write_lora(tmp_path / "nothing.gguf", lambda index: 0.0)
    something = write_lora(tmp_path / "something.gguf", lambda index: (-1.0) ** index)
    base, same, other = (chat(small(gguf, adapters=files), request) for files in ((), (nothing,), (something,)))
    assert base.logprobs is not None
    assert same.logprobs is not None
    assert other.logprobs is not None
    assert base.version == ""
    assert same.version.startswith("nothing@")
    assert len(same.version) == len("nothing@") + 12
    assert same.version != other.version
    assert same.logprobs == pytest.approx(base.logprobs, abs=1e-3)
    assert other.logprobs != pytest.approx(base.logprobs, abs=1e-3)
    with pytest.raises(ProviderError, match="no model file"):
        chat(small(gguf, adapters=(tmp_path / "missing.gguf",)), request)
