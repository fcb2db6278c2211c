"""Contexts: bounded, of one version, quick on hostile texts."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pointwork.embedding import HashingEmbedder
from pointwork.errors import UsageError
from pointwork.router.features import SHAPE, STATE, Features, as_features, shape_of


@given(st.text(), hnp.arrays(np.float64, (3, STATE), elements=st.floats(0, 1)))
def test_contexts_of_texts_are_no_longer_than_one(
    text: str, state: np.ndarray[tuple[int, int], np.dtype[np.float64]]
):
    features = Features(HashingEmbedder(16))
    contexts = features.contexts(features.of_text(text), state)
    assert contexts.shape == (3, features.dims)
    assert (np.linalg.norm(contexts, axis=1) <= 1 + 1e-6).all()


@given(st.lists(st.floats(-1e6, 1e6), min_size=5, max_size=5))
def test_contexts_of_given_features_are_no_longer_than_one(values: list[float]):
    features = Features(None, 5)
    contexts = features.contexts(features.of_values(as_features(values)), np.ones((2, STATE)))
    assert (np.linalg.norm(contexts, axis=1) <= 1 + 1e-9).all()


def test_the_version_names_what_a_context_is_made_of():
    assert Features(HashingEmbedder(16)).version == "hash16-1+shape1"
    assert Features(None, 5).version == "given5-1"


def test_the_shape_tells_kinds_of_request_apart():
    kinds = [
        "How many rows?",
        "def f(x):\n    return x",
        "12 * 4 = ?",
        "Write a poem",
        "Why is it so?",
        "A) one\nB) two",
    ]
    shapes = [tuple(shape_of(text)[3:]) for text in kinds]
    assert len(set(shapes)) == len(kinds)
    assert all(len(shape_of(text)) == SHAPE for text in kinds)


@pytest.mark.parametrize(
    "text", ["x" * 300_000, "1 " * 100_000, "; " * 100_000, "f(" * 100_000, "\n" * 200_000 + "a"]
)
def test_hostile_texts_take_no_long_time(text: str):
    features = Features(HashingEmbedder(32))
    started = time.process_time()  # a bound that only a mistake can reach: it is milliseconds
    features.of_text(text)
    assert time.process_time() - started < 20


def test_features_must_be_finite():
    with pytest.raises(UsageError, match="finite"):
        as_features([1.0, np.inf])
