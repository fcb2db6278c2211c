"""The optional sentence encoder."""

import numpy as np
import pytest

from pointwork.extras import encoder_installed

pytestmark = [
    pytest.mark.encoder,
    pytest.mark.skipif(not encoder_installed(), reason="the extra 'embed' is not installed"),
]


def test_likeness_is_of_meaning_and_vectors_are_unit() -> None:
    from pointwork.sentences import DIMS, SentenceEmbedder

    embedder = SentenceEmbedder()
    seat, ticket, cat, nothing = embedder.embed(
        ["reserve a seat on the train", "book a railway ticket", "the cat sleeps on the mat", ""]
    )
    assert seat.shape == (DIMS,)
    assert np.allclose([seat @ seat, ticket @ ticket, nothing @ nothing], [1, 1, 0], atol=1e-5)
    assert seat @ ticket > 0.5 > 0.2 > seat @ cat
    # in a batch of others, and padded by them, a text has the vector that it has alone, but for halves' rounding
    alone = SentenceEmbedder().embed(["book a railway ticket"])[0]
    assert alone @ ticket > 0.9995
    assert (embedder.embed(["book a railway ticket"])[0] == ticket).all(), "a text read lately is not read again"


def test_known_vectors() -> None:
    """The cosines that the sentence-transformers library gives (float32), to the rounding of halves."""
    from pointwork.sentences import SentenceEmbedder

    one, two, three = SentenceEmbedder().embed(
        ["That is a happy person", "That is a happy dog", "Today is a sunny day"]
    )
    assert one @ two == pytest.approx(0.695, abs=0.01)
    assert one @ three == pytest.approx(0.257, abs=0.02)


def test_a_tool_index_takes_it() -> None:
    from pointwork.sentences import SentenceEmbedder
    from pointwork.tools import ToolIndex

    tools = [
        {"name": "rail", "description": "Reserve seats on trains"},
        {"name": "purr", "description": "Facts about cats"},
    ]
    for embedder in (None, "auto", "minilm", SentenceEmbedder()):
        [hit] = ToolIndex(tools, embedder=embedder).search("book a railway ticket", k=1)
        assert hit.name == "rail"


def test_half_an_emoji_is_no_obstacle() -> None:
    from pointwork.sentences import SentenceEmbedder

    [half, whole] = SentenceEmbedder().embed(["book a ticket \ud83d", "book a ticket ?"])
    assert half @ whole > 0.99
