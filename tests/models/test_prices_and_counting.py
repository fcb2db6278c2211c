"""Prices and token bounds."""

import importlib.util
import random
import string
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.errors import ConfigError
from pointwork.models import counting, prices
from pointwork.models.openai_http import OpenAIClient
from pointwork.models.protocol import ChatRequest, Price
from pointwork.models.scripted import ScriptedClient


def ask(text: str, **more: Any) -> ChatRequest:
    return ChatRequest([{"role": "user", "content": text}], **more)


dollars = st.floats(0, 1000).map(lambda value: round(value, 6))
tokens = st.integers(0, 10_000_000)


@given(dollars, dollars, tokens, tokens)
def test_cost_is_rounded_up_and_no_further(prompt: float, completion: float, n: int, m: int) -> None:
    exact = (Fraction(prompt) * n + Fraction(completion) * m) * 1000
    cost = Price(prompt, completion).nano(n, m)
    assert cost >= exact * (1 - Fraction(1, 10**12))
    assert cost < exact * (1 + Fraction(1, 10**12)) + 1


@given(dollars, dollars, tokens, tokens, tokens, tokens)
def test_cost_of_more_tokens_is_not_less(p: float, c: float, n: int, m: int, more: int, most: int) -> None:
    assert Price(p, c).nano(n + more, m + most) >= Price(p, c).nano(n, m)


def test_known_prices() -> None:
    info = prices.lookup("gpt-4o-mini")
    assert info is not None
    assert info.price == Price(0.15, 0.6)
    assert info.context == 128_000
    assert info.schema
    assert prices.price_of("openai/gpt-4o-mini") == info.price
    assert prices.price_of("nobody/knows-this") is None
    # the sample row of the table is documentation, and rows without a price are of no use
    assert prices.lookup("sample_spec") is None or prices.lookup("sample_spec") is not info


def test_context_ends_where_the_price_rises(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {
        "input_cost_per_token": 3e-06,
        "output_cost_per_token": 1.5e-05,
        "input_cost_per_token_above_200k_tokens": 6e-06,
        "max_input_tokens": 1_000_000,
    }
    monkeypatch.setattr(prices, "_table", lambda: {"big": row, "free": {"mode": "chat"}})
    info = prices.lookup("provider/big")
    assert info is not None
    assert (info.price, info.context) == (Price(3.0, 15.0), 200_000)
    assert prices.lookup("free") is None


@given(st.text(max_size=300))
def test_bound_never_exceeds_the_bytes(text: str) -> None:
    assert counting.bound(text) <= len(text.encode("utf-8", "replace"))


def test_bound_is_not_far_above_the_truth_for_english() -> None:
    text = "The quick brown fox jumps over the lazy dog, and nobody is surprised. " * 20
    assert counting.bound(text) < len(text) / 2.4  # about 4.5 characters per token in truth


def other_tokenizer() -> Callable[[str], int]:
    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0]) / "litellm_core_utils" / "tokenizers"
    return counting.load_tokenizer(folder / "anthropic_tokenizer.json")


def test_bound_holds_for_another_tokenizer() -> None:
    count = other_tokenizer()
    rng = random.Random(0)
    source = Path(counting.__file__).read_text(encoding="utf-8")
    texts = [
        source,
        source.upper(),
        "人人生而自由。🦀" * 30,
        "Straßenbahnhaltestelle żółć " * 30,
        "1234567890" * 50,
    ]
    for alphabet in (string.ascii_letters, string.digits, string.punctuation, string.printable, string.hexdigits):
        texts += ["".join(rng.choices(alphabet, k=500)) for _ in range(5)]
    for text in texts:
        assert count(text) <= counting.bound(text)


def test_bound_without_litellms_data_is_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_p50k", lambda: None)
    counting.bound.cache_clear()
    assert counting.bound("añb") == 4
    counting.bound.cache_clear()


def test_bad_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="tokenizer"):
        counting.load_tokenizer(tmp_path)


def test_schema_is_counted_where_the_model_reads_it() -> None:
    request = ask("hi", schema={"type": "object"})
    hosted = OpenAIClient("http://127.0.0.1:1/v1", "m")
    assert counting.request_tokens(hosted, request) > hosted.count_tokens(request.messages)
    local = ScriptedClient([])
    assert counting.request_tokens(local, request) == local.count_tokens(request.messages)
