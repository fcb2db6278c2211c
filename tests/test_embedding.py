"""The hashing embedder: the same vectors everywhere, near for texts that share words."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.embedding import Embedder, HashingEmbedder
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
