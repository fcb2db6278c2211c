"""Which words of sentences answer a question, or that none do, by an encoder that reads both together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.agents.parsing import pointing
from pointwork.agents.parsing.pointing import LONGEST, RUN

NOTES = [
    "Café. The terrace gets four new sunshades, in burgundy.",
    "Edelweiss. The nickname among staff is “the Kettle”.",
    "People. The guest book was signed in 1979 by the film actress Lotte Marwitz.",
    "Shed. The key hangs in the ticket office, on the hook with the blue tag.",
]


def said(question: str, sentences: list[str]) -> tuple[str, float, float]:
    found, none = pointing.shipped().of(question, sentences)
    best = found[0]
    return sentences[best.sentence][best.start : best.end], best.sure, none


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which colour did we choose for the sunshades?", "burgundy"),
        ("What do the employees call the Edelweiss?", "the Kettle"),
        ("Which film star wrote in the visitors' book?", "Lotte Marwitz"),
        ("Where is the key?", "the ticket office"),
    ],
)
def test_words_that_answer_in_other_words(question: str, answer: str) -> None:
    text, sure, none = said(question, NOTES)

    assert answer in text
    assert len(text.split()) <= len(answer.split()) + 2
    assert sure > none


@pytest.mark.parametrize(
    "question", ["How long is the tunnel?", "Who repaired the boiler?", "What does a ticket cost?"]
)
def test_what_no_sentence_says_is_not_said(question: str) -> None:
    _, sure, none = said(question, NOTES)

    assert none > sure


@given(question=st.text(max_size=30), sentences=st.lists(st.text(max_size=60), max_size=4), most=st.integers(1, 6))
@settings(deadline=None, max_examples=50)
def test_answers_are_words_of_their_sentence(question: str, sentences: list[str], most: int) -> None:
    found, none = pointing.shipped().of(question, sentences, most)

    assert len(found) <= most
    assert sum(one.sure for one in found) + none <= 1 + 1e-4
    assert [one.sure for one in found] == sorted((one.sure for one in found), reverse=True)
    for one in found:
        assert 0 <= one.start < one.end <= len(sentences[one.sentence])
    if not any(text.strip() for text in sentences):
        assert none == pytest.approx(1.0, abs=1e-4)


def test_chances_of_all_that_may_be_said_are_one() -> None:
    pointer = pointing.shipped()
    rows = [pointing.row("Who has the key?", text, pointer.read) for text in NOTES]
    chances, none = pointer._chances(rows)  # pyright: ignore[reportPrivateUsage]

    assert sum(float(one.sum()) for one in chances) + none == pytest.approx(1.0, abs=1e-4)
    for one, row in zip(chances, rows, strict=True):
        assert one.shape == (len(row.places), len(row.places))
        assert np.all(np.tril(one, -1) == 0)  # no run ends before it begins
        assert np.all(np.triu(one, RUN) == 0)


def test_long_sentences_are_read_as_far_as_it_can() -> None:
    long = "the shed is green and " * LONGEST
    row = pointing.row("What colour is the shed?", long, pointing.shipped().read)

    assert len(row.pieces) == LONGEST
    assert len(row.places) == len(row.pieces) - row.begin - 1
    assert pointing.shipped().of("What colour is the shed?", [long, *NOTES])[0]
