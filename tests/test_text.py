import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.errors import UsageError
from pointwork.text import (
    chunks,
    content_words,
    count_tokens_estimate,
    sentence_spans,
    sentences,
    tokenize,
)

anything = st.text(st.characters(exclude_categories=[]))  # lone surrogates too


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("getUserName user_name", ["user", "name", "user", "name"]),
        ("HTTPServer parseJSON2 v2", ["http", "server", "pars", "json2", "v2"]),
        ("running runs RUN", ["run", "run", "run"]),
        ("Caroline's don’t it's", ["carolin"]),
        ("1,000 and 12,34", ["1000", "12", "34"]),
        ("ＦＵＬＬ ﬁne Café", ["full", "fine", "café"]),
        ("東京都", ["東京", "京都"]),
        ("what is the", []),
        ("", []),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


def test_stop_words_and_stems_can_be_kept() -> None:
    assert tokenize("The dogs", stop=False) == ["the", "dog"]
    assert tokenize("The dogs", stem=False) == ["dogs"]
    assert content_words("Dogs and cats and dogs") == ["dogs", "cats"]


@given(anything)
def test_any_text_has_tokens_that_are_lower_case_words(text: str) -> None:
    for token in tokenize(text):
        assert token
        assert not any(c.isspace() for c in token)
    assert sentences(text) == [s for s in sentences(text) if s.strip()]


@given(st.text("aB .!?\n\"'。\u2028", max_size=300))
def test_sentence_spans_cover_the_text(text: str) -> None:
    assert "".join(text[start:end] for start, end in sentence_spans(text)) == text


def test_sentences() -> None:
    assert sentences('One. "Two!" Three?\n\nFour\nfive') == ["One.", '"Two!"', "Three?", "Four", "five"]


@given(st.text("ab .\n", max_size=400) | anything, st.integers(1, 60), st.none() | st.integers(1, 20))
def test_chunks_cover_the_text_and_keep_their_limits(text: str, most: int, tokens: int | None) -> None:
    spans = chunks(text, max_chars=most, max_tokens=tokens)
    assert "".join(text[start:end] for start, end in spans) == text
    for start, end in spans:
        assert 0 < end - start <= most
        assert tokens is None or end - start == 1 or count_tokens_estimate(text[start:end]) <= tokens


def test_chunks_prefer_paragraphs() -> None:
    text = "One one one. Two two.\n\nThree three. Four four."
    assert [text[a:b] for a, b in chunks(text, max_chars=35)] == [
        "One one one. Two two.\n\n",
        "Three three. Four four.",
    ]


def test_chunks_need_room() -> None:
    with pytest.raises(UsageError, match="max_chars=0"):
        chunks("text", max_chars=0)


def test_the_estimate_of_prose_is_near_what_models_count() -> None:
    # 24 tokens in cl100k
    text = "Caroline went to the LGBTQ support group on 7 May 2023, and it was so powerful, she said."
    assert 22 <= count_tokens_estimate(text) <= 30


@pytest.mark.parametrize("big", ["x" * 10**6, "A" * 10**6, " " * 10**6, "." * 10**6, "\n" * 10**6, "a. " * 10**5])
def test_a_megabyte_takes_no_quadratic_time(big: str) -> None:
    started = time.perf_counter()
    assert sum(end - start for start, end in chunks(big)) == len(big)
    tokenize(big)
    assert time.perf_counter() - started < 60
