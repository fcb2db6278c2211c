"""The embedders: the same vectors everywhere, near for texts that share words, or meaning."""

import functools
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from pointwork.embedding import (
    STATIC_DIMS,
    Embedder,
    HashingEmbedder,
    StaticEmbedder,
    _static_table,  # pyright: ignore[reportPrivateUsage]
    default_embedder,
)
from pointwork.errors import UsageError


def test_it_is_an_embedder():
    embedder: Embedder = HashingEmbedder(32)
    assert embedder.dims == 32
    assert embedder.version == "hash32-1"


@given(st.lists(st.text(), max_size=4), st.sampled_from([1, 7, 32, 64]))
def test_vectors_have_length_one_or_zero(texts: list[str], dims: int):
    vectors = HashingEmbedder(dims).embed(texts)
    assert vectors.shape == (len(texts), dims)
    assert vectors.dtype == np.float32
    for length in np.linalg.norm(vectors, axis=1):
        assert length == 0 or length == pytest.approx(1, abs=1e-5)


def test_a_text_keeps_its_vector_beside_others_and_after_many():
    embedder = HashingEmbedder(32)
    alone = embedder.embed(["how many rows has the table"])[0]
    embedder.embed([f"word{i} other{i}" for i in range(500)])
    assert (embedder.embed(["x", "how many rows has the table"])[1] == alone).all()


def test_another_process_gets_the_same_vector():
    script = (
        "from pointwork.embedding import HashingEmbedder;"
        "print(HashingEmbedder(16).embed(['Sum the third column'])[0].tobytes().hex())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"}
    )
    assert done.stdout.strip() == HashingEmbedder(16).embed(["Sum the third column"])[0].tobytes().hex()


def test_texts_that_share_words_are_nearer():
    embed = HashingEmbedder(256).embed
    sums, summing, poem = embed(
        ["add the prices in the column", "adding prices of each column", "write a poem about autumn rain"]
    )
    assert sums @ summing > sums @ poem + 0.3


def test_an_embedding_needs_a_dimension():
    with pytest.raises(UsageError, match="at least 1 dimension"):
        HashingEmbedder(0)


def test_hostile_text_is_only_text():
    vectors = HashingEmbedder(8).embed(["\ud800 broken", "x" * 1_000_000, "\x00"])
    assert np.isfinite(vectors).all()


# -- the static one ----------------------------------------------------------------------------------------

any_text = st.text(st.characters(exclude_categories=[]))


# characters that every version of Unicode classes alike
stable = st.one_of(
    st.characters(max_codepoint=0x4FF, exclude_categories=["Cn"]),
    st.characters(min_codepoint=0x2010, max_codepoint=0x20AC, exclude_categories=["Cn"]),
    st.characters(min_codepoint=0x3041, max_codepoint=0x30FF, exclude_categories=["Cn"]),
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5),
)


@functools.cache
def library() -> Tokenizer:
    vocabulary: dict[str, int] = _static_table("texts")._begins  # pyright: ignore[reportPrivateUsage]
    tokenizer = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def library_pieces(texts: list[str]) -> list[list[str]]:
    """What the library's BERT tokeniser makes of texts, with the same vocabulary; unknown words left out."""
    return [[piece for piece in library().encode(text).tokens if piece != "[UNK]"] for text in texts]


def our_pieces(text: str) -> list[str]:
    return [library().id_to_token(row) or "" for row in _static_table("texts").pieces(text)]


def test_its_tokens_are_berts():
    texts = [
        "The Café's 1,000 naïve façades; re-tokenisation isn't embarrassing!",
        "camelCaseWord snake_case_word https://example.com/a?b=c#d e-mail@host.org",
        "\u4eca\u65e5 is \u4eca\u65e5\u306f, \u041f\u0440\u0438\u0432\u0435\u0442",
        "\u20ac5 \u00a35 \u201cquoted\u201d\u2026 \u00bd \u2126 \ufb01ne",
        "tab\there\nand\rthere\x00gone\u200bzero\ufffd width\u00a0space",
        "x" * 100 + " " + "x" * 101 + " antidisestablishmentarianism",
        "",
    ]
    for text, expected in zip(texts, library_pieces(texts), strict=True):
        assert our_pieces(text) == expected


@given(st.text(stable))
def test_its_tokens_are_berts_for_any_text(text: str):
    assert our_pieces(text) == library_pieces([text])[0]


@given(st.lists(any_text, max_size=5), st.sampled_from([1, 32, STATIC_DIMS]))
def test_static_vectors_have_length_one_or_zero(texts: list[str], dims: int):
    vectors = StaticEmbedder(dims).embed(texts)
    assert vectors.shape == (len(texts), dims)
    assert vectors.dtype == np.float32
    for length in np.linalg.norm(vectors, axis=1):
        assert length == 0 or length == pytest.approx(1, abs=1e-5)


def test_a_static_vector_does_not_depend_on_its_neighbours():
    embedder = default_embedder()
    texts = [f"turn {n} about train number {n * 7}" for n in range(3000)]
    together = embedder.embed(texts)
    assert (together[1234] == embedder.embed([texts[1234]])[0]).all()
    assert (embedder.embed(["", texts[5], "", "", texts[6], ""])[[1, 4]] == together[5:7]).all()


@settings(deadline=None)
@given(st.lists(st.one_of(any_text, st.text("abz19 ", max_size=80)), min_size=17, max_size=40))
def test_many_short_texts_have_the_vectors_that_each_has_alone(texts: list[str]):
    together = StaticEmbedder().embed(texts)
    assert (together == np.concatenate([StaticEmbedder().embed([text]) for text in texts])).all()


def test_a_very_long_text_has_the_vector_of_its_words():
    embedder = StaticEmbedder()
    once, often = embedder.embed(["the train leaves at nine", "the train leaves at nine " * 20_000])
    assert once @ often == pytest.approx(1, abs=1e-3)


def test_meaning_is_near_without_shared_words():
    book, ticket, soup = StaticEmbedder().embed(
        ["reserve a seat on the train", "book railway tickets", "boil onions for soup"]
    )
    assert book @ ticket > book @ soup + 0.2


def test_texts_without_anything_in_common_are_far_apart():
    """The table of texts has no direction that all share, as that of single words has."""
    some = ["the ferry leaves at nine", "boil onions for soup", "a parser for XML files", "her brother plays chess"]
    vectors = StaticEmbedder().embed(some)
    near = (vectors @ vectors.T)[np.triu_indices(len(some), 1)]
    assert np.abs(near).max() < 0.25


def test_the_tables_are_told_apart():
    assert StaticEmbedder(32, "words").version == "static32-1"
    texts, words = StaticEmbedder().embed(["goods wagon"]), StaticEmbedder(table="words").embed(["goods wagon"])
    assert float((texts @ words.T)[0, 0]) < 0.9
    with pytest.raises(UsageError, match="texts and words"):
        StaticEmbedder(table="sentences")  # pyright: ignore[reportArgumentType]


def test_leading_components_come_first():
    short, whole = StaticEmbedder(32), StaticEmbedder()
    assert (short.version, whole.version) == ("static32-2", "static256-2")
    vector = whole.embed(["goods wagon"])[0][:32]
    assert short.embed(["goods wagon"])[0] == pytest.approx(vector / np.linalg.norm(vector), abs=1e-5)


@pytest.mark.parametrize("dims", [0, -1, STATIC_DIMS + 1])
def test_a_static_embedding_has_only_so_many_dimensions(dims: int):
    with pytest.raises(UsageError, match="1 to 256"):
        StaticEmbedder(dims)


def test_threads_get_the_same_vectors():
    texts = [f"word{n} railway {n}" for n in range(200)]
    expected = StaticEmbedder().embed(texts)
    found: list[bool] = []

    def work() -> None:
        found.append(bool((StaticEmbedder().embed(texts) == expected).all()))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 6


def test_the_table_is_read_when_it_is_needed():
    code = (
        "import pointwork.embedding as e; e.default_embedder();"
        "before = e._static_table.cache_info().currsize; e.default_embedder().embed(['x']);"
        "print(before, e._static_table.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1"]
