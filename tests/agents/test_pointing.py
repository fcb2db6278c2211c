"""Which words of sentences answer a question, or that none do, by an encoder that reads both together."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.agents import pointed, quoting
from pointwork.agents.parsing import pointing
from pointwork.agents.parsing.encoder import Encoder
from pointwork.agents.parsing.pointing import LONGEST, RUN, Pointer
from pointwork.agents.readings.extracting import Extract
from pointwork.agents.readings.sentences import Sentence
from pointwork.agents.readings.spans import Span
from pointwork.agents.readings.wanting import wanted
from pointwork.agents.spec import FITTING
from pointwork.tools import ToolContext
from pointwork.tools.passages import Passage

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


def test_what_was_asked_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pointer, read = Pointer(pointing.shipped().read), list[str]()

    def row(question: str, sentence: str, encoder: Encoder) -> pointing.Row:
        read.append(sentence)
        return made(question, sentence, encoder)

    made = pointing.row
    monkeypatch.setattr(pointing, "row", row)
    first = pointer.of("Where is the key?", NOTES)
    assert pointer.of("Where is the key?", list(NOTES)) == first
    assert read == NOTES
    pointer.of("Where is the key?", NOTES[:2])
    assert read == [*NOTES, *NOTES[:2]]


DOOR = "Anna painted the door dark green in 1931."


def _quoted(
    monkeypatch: pytest.MonkeyPatch, words: str, sure: float, unsaid: float, known: float, question: str
) -> tuple[str, bool, float]:
    """What is said where those words are pointed at, and the learned choice has "dark green" so surely."""
    passage = Passage("a.md", 1, 1, DOOR)
    one = Sentence(DOOR, "file:a.md:1", passage, score=1.5)
    read = Span(words, sure, one) if words else None

    def extract(*_: object) -> Extract:
        return Extract((Span("dark green", 1.0, one),), 0.9, known)

    def said(*_: object) -> tuple[Span | None, float]:
        return read, unsaid

    monkeypatch.setattr("pointwork.agents.quoting.extracting.extract", extract)
    monkeypatch.setattr("pointwork.agents.pointed.read", said)
    answer, _, _, firm, sure = quoting.quoted(question, [one], lambda _: 1.0)
    return answer, firm, sure


COLOUR = "What colour is the door?"


@pytest.mark.parametrize(
    ("words", "sure", "said"),
    [
        ("green", quoting.POINTED + 0.01, ("green", True, quoting.POINTED + 0.01)),
        ("Anna", quoting.POINTED + 0.01, ("Anna", True, quoting.POINTED + 0.01)),
        ("Anna", quoting.LIKELY + 0.01, ("Anna", False, quoting.LIKELY + 0.01)),  # the page is read
        ("Anna", quoting.LIKELY - 0.01, ("dark green", True, 0.6)),
    ],
)
def test_from_how_sure_it_is_said(
    words: str, sure: float, said: tuple[str, bool, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _quoted(monkeypatch, words, sure, 0.1, 0.6, COLOUR) == said


@pytest.mark.parametrize(
    ("unsaid", "known", "question", "said"),
    [
        (quoting.SILENT + 0.01, quoting.KNOWN - 0.01, COLOUR, ""),
        (quoting.SILENT - 0.01, quoting.KNOWN - 0.01, COLOUR, "dark green"),
        (quoting.SILENT + 0.01, quoting.KNOWN + 0.01, COLOUR, "dark green"),
        (quoting.SILENT + 0.01, quoting.KNOWN - 0.01, "What was painted in 1931?", "dark green"),
    ],
)
def test_what_nobody_points_at_is_said_where_it_is_known_or_numbered(
    unsaid: float, known: float, question: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _quoted(monkeypatch, "", 0.0, unsaid, known, question)[0] == said


NOTHING = Extract((Span("dark green", 1.0, Sentence(DOOR, "file:a.md:1", Passage("a.md", 1, 1, DOOR))),), 0.5, 0.5)


def _read(
    monkeypatch: pytest.MonkeyPatch,
    question: str,
    likely: list[tuple[str, float]],
    text: str = DOOR,
    score: float = 1.5,
    extract: Extract = NOTHING,
) -> tuple[str, float, float]:
    """Those words that have the form, how likely they are, and that there are none, where the encoder says so."""
    one = Sentence(text, "file:a.md:1", Passage("a.md", 1, 1, text), score=score)

    class Sure:
        def of(self, *_: object) -> tuple[list[pointing.Pointed], float]:
            starts = [(text.index(words), words, sure) for words, sure in likely]
            return [pointing.Pointed(0, 0, 0, at, at + len(words), sure) for at, words, sure in starts], 0.1

    monkeypatch.setattr(pointing, "shipped", Sure)
    read, unsaid = pointed.read(question, wanted(question), [one], extract, 0.0)
    return (read.text, read.score, unsaid) if read is not None else ("", 0.0, unsaid)


@pytest.mark.parametrize(
    ("question", "words", "said"),
    [
        ("Why was the door painted?", "Anna", ""),  # no reason
        ("When was the door painted?", "dark green", ""),  # no date
        ("When was the door painted?", "in 1931", "in 1931"),
        ("Which two colours has the door?", "dark green", ""),  # one
        ("What colour is the door?", "**dark green**", "dark green"),
    ],
)
def test_words_have_the_form_that_is_asked_for(
    question: str, words: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = DOOR.replace("dark green", "**dark green**") if "*" in words else DOOR
    text, _, unsaid = _read(monkeypatch, question, [(words, 0.9)], text)

    assert text == said
    assert unsaid == 0.1


def test_the_likeliest_of_that_form_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    likely = [("dark green", 0.5), ("1931", 0.3), ("in 1931", 0.1)]

    assert _read(monkeypatch, "When was the door painted?", likely)[0] == "1931"
    assert _read(monkeypatch, COLOUR, likely)[0] == "dark green"


def test_words_are_likelier_where_more_speaks_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def sure(words: str = "dark green", own: float = 0.8, question: str = COLOUR, known: float = 0.5) -> float:
        extract = replace(NOTHING, sure=known)
        return _read(monkeypatch, question, [(words, own)], extract=extract)[1]

    assert 0 < sure(own=0.1) < sure(own=0.8) < sure(own=0.99) < 1
    assert sure("Anna") < sure()  # the learned choice has others
    assert sure(question="Is it so that the roof was blue before 1920, and what colour is the door since?") < sure()


def test_who_reads_the_page_decides_what_is_not_likely_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    for score, firm, fits in (
        (quoting.POINTED, True, FITTING),
        (quoting.POINTED - 0.01, False, FITTING),
        (quoting.SURELY, True, FITTING - 0.01),
    ):
        one = Sentence(DOOR, "file:a.md:1", Passage("a.md", 1, 1, DOOR), score=fits)

        def read(*_: object, score: float = score, one: Sentence = one) -> tuple[Span, float]:
            return Span("Anna", score, one), 0.0

        monkeypatch.setattr(pointed, "read", read)
        said = quoting.quoted(COLOUR, [one], lambda _: 1.0)
        assert (said.answer, said.firm, said.sure) == ("Anna", firm, score)


def test_where_no_sentence_fits_words_have_to_be_surer(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Sentence(DOOR, "file:a.md:1", Passage("a.md", 1, 1, DOOR), score=FITTING - 0.01)

    def read(*_: object) -> tuple[Span, float]:
        return Span("Anna", quoting.SURELY - 0.01, one), 0.0

    monkeypatch.setattr(pointed, "read", read)
    assert quoting.quoted(COLOUR, [one], lambda _: 1.0).answer == ""


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("Lower Sorrel: Agnes keeps a goose.", "Sorrel", "Lower Sorrel"),
        ("Lower Sorrel: Agnes keeps a goose.", "Lower", "Lower Sorrel"),
        ("Lower Sorrel: Agnes keeps a goose.", "Agnes", "Agnes"),
        ("Lower sorrel: Agnes keeps a goose.", "Lower", "Lower"),  # no name
        ("Lower Sorrel keeps a goose.", "Sorrel", "Sorrel"),  # no entry
    ],
)
def test_of_a_part_of_an_entry_s_name_the_name_is_said(
    text: str, words: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _read(monkeypatch, "Which customer has a goose?", [(words, 0.9)], text)[0] == said
    row = Sentence(
        "Name Sorrel: animal goose.", "file:a.md:1", Passage("a.md", 1, 1, "| Name | animal |\n| Sorrel | goose |")
    )
    assert pointed._whole("Sorrel", row) == "Sorrel"  # pyright: ignore[reportPrivateUsage]


def test_who_plans_and_who_answers_ask_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else how well files fit would say nothing of their answer, and it would be read twice."""
    (tmp_path / "a.md").write_text(f"# The shed\n\n{DOOR}\n")
    question, context = "Who painted the door of the brewery?", ToolContext(root=tmp_path)
    asked: list[tuple[str, float]] = []
    quoted = quoting.quoted

    def noted(text: str, found: list[Sentence], idf: Any, nowhere: float = 0.0) -> quoting.Quoted:
        asked.append((text, nowhere))
        return quoted(text, found, idf, nowhere)

    monkeypatch.setattr(quoting, "quoted", noted)
    asyncio.run(quoting.fits_files(question, context))
    asyncio.run(quoting.prepare_files(question, context))

    assert asked[0] == asked[1]
    assert asked[0][1] > 0


@pytest.mark.parametrize(("sure", "fits"), [(quoting.SURELY, True), (quoting.SURELY - 0.01, False)])
def test_words_that_are_sure_enough_fit_their_question(
    sure: float, fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few of its words their sentence holds: else a small model would make its answer up."""
    (tmp_path / "a.md").write_text(f"{DOOR}\n")
    one = Sentence(DOOR, "file:a.md:1", Passage("a.md", 1, 1, DOOR), score=FITTING - 0.1)

    async def about(*_: object) -> list[Sentence]:
        return [one]

    def read(*_: object) -> tuple[Span, float]:
        return Span("Anna", sure, one), 0.0

    monkeypatch.setattr(quoting, "sentences_about", about)
    monkeypatch.setattr(pointed, "read", read)
    prepared = asyncio.run(quoting.prepare_files(COLOUR, ToolContext(root=tmp_path)))

    assert (prepared.answer == "Anna") is fits
    assert (prepared.fit >= FITTING) is fits
