"""Contexts: bounded, of one version, quick on hostile texts."""

import re
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


PLAIN = [
    re.compile(r"```|\bdef \w+\(|\bclass \w+|\breturn\b|[{};][ \t]{0,8}$|=>|==|\w\(\w*\)|</\w+>|\bSELECT\b", re.M),
    re.compile(
        r"\d ?[-+*/^=%<>] ?\d|\\frac|\bsum\b|\bpercent|\baverage\b|\bsolve\b",
        re.I,
    ),
    re.compile(r"\bhow (?:many|much|long|far|old)\b|\bcalculate\b|\bcompute\b|\bcount\b", re.I),
    re.compile(r"\b(?:who|when|where|which|what)\b", re.I),
    re.compile(r"\b(?:why|how|explain|compare|prove|analy[sz]e)\b", re.I),
    re.compile(r"\b(?:write|summari[sz]e|translate|rewrite|draft|list|generate|create)\b", re.I),
    re.compile(r"^[ \t]{0,8}\(?[A-D][).:]\s", re.M),
]
PIECES = [
    *(
        "def ",
        "f(x)",
        "f(",
        "()",
        "class ",
        "class A",
        "return",
        " SELECT",
        "select",
        "```",
        "=>",
        "==",
        "=",
        "</a>",
        "</",
    ),
    *(
        "{",
        ";",
        " \t\n",
        "\n",
        " ",
        "a",
        "_",
        "?",
        "1 + 2",
        "3",
        "-",
        "4",
        "\\frac",
        "\\FRAC",
        "Sum",
        "percent",
        "solve",
    ),
    *(
        "how many",
        "How  many",
        "How old",
        "count",
        "dis",
        "s",
        "who",
        "WHAT",
        "why",
        "How",
        "Analyze",
        "write",
        "rewrite",
    ),
    *("A.", "B) x", "(C: ", "é", "ſum", "lİst", "lıst", "٣", "K"),
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=7).map("".join))
def test_kinds_found_by_parts_are_those_of_one_pattern_each(text: str):
    assert shape_of(text)[3:-1].tolist() == [float(plain.search(text) is not None) for plain in PLAIN]


@pytest.mark.parametrize(
    "text",
    [
        "x" * 300_000,
        "1 " * 100_000,
        "; " * 100_000,
        "f(" * 100_000,
        "(f" * 100_000,
        "how manydef x" * 50_000,
        "\n" * 200_000 + "a",
    ],
)
def test_hostile_texts_take_no_long_time(text: str):
    features = Features(HashingEmbedder(32))
    started = time.process_time()  # a bound that only a mistake can reach: it is milliseconds
    features.of_text(text)
    assert time.process_time() - started < 20


def test_features_must_be_finite():
    with pytest.raises(UsageError, match="finite"):
        as_features([1.0, np.inf])
