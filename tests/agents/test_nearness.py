"""Which sentence answers a question in other words, by an encoder; what comes of it where sentences are ranked."""

import asyncio
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.agents import quoting, reaching
from pointwork.agents.parsing import encoder, nearness
from pointwork.agents.parsing.encoder import WIDTH, Encoder
from pointwork.agents.parsing.nearness import LONGEST, Nearness
from pointwork.agents.readings import sentences
from pointwork.tools import ToolContext, ToolResult
from pointwork.tools.passages import Passage, cut

HOUSE = """# The boat house

The toilets are behind the sail loft. In the loft hangs a picture of the Marten.

Hanne Vogt runs the house; Odile Marchand is her deputy. The head of the kitchen is Greta Pohl.

Guests may bring bicycles. Animals have to stay outside.

The roof was struck by lightning in 1969 and nothing was left of it.
"""


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("Where's the loo?", "The toilets are"),
        ("May I come in with my dog?", "Animals have"),
        ("Who stands in for the boss?", "Hanne Vogt runs"),
        ("What burned down?", "The roof was"),
    ],
)
def test_the_sentence_that_says_it_in_other_words_is_first(tmp_path: Path, question: str, says: str) -> None:
    (tmp_path / "house.md").write_text(HOUSE)
    found = asyncio.run(quoting.sentences_about(question, ToolContext(root=tmp_path)))

    assert found[0].text.startswith(says)


def test_a_page_of_the_web_is_read_with_the_same_eyes() -> None:
    parts = [part for part in HOUSE.split("\n\n") if not part.startswith("#")]
    page = tuple((f"https://house.example/#{n}", part.strip()) for n, part in enumerate(parts))
    read = reaching.read_out("What burned down?", ToolResult(None, HOUSE, evidence=page))

    assert read.evidence[0] == (
        "https://house.example/#3",
        "The roof was struck by lightning in 1969 and nothing was left of it.",
    )


def test_shared_words_still_count(tmp_path: Path) -> None:
    """An encoder alone does not tell one number from another."""
    (tmp_path / "hooks.md").write_text(
        "".join(f"The key of house {n} hangs on hook {n + 20}.\n\n" for n in range(9))
    )
    found = asyncio.run(quoting.sentences_about("Where does the key of house 7 hang?", ToolContext(root=tmp_path)))

    assert found[0].text == "The key of house 7 hangs on hook 27."


def _sentences(count: int) -> list[sentences.Sentence]:
    passage = Passage("a.md", 1, 1, "")
    return [sentences.Sentence(f"Number {n}.", "file:a.md", passage, score=2 - n / count) for n in range(count)]


def test_all_that_was_found_is_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Backwards:
        def of(self, question: str, texts: list[str]) -> np.ndarray:
            return np.arange(len(texts), dtype=np.float32) / len(texts) + 0.5

    monkeypatch.setattr(nearness, "shipped", Backwards)
    found = _sentences(2 * quoting.COMPARED)
    ranked = quoting.nearest("Which?", found)

    assert sorted(one.text for one in ranked) == sorted(one.text for one in found)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    assert ranked[0].text == f"Number {quoting.COMPARED - 1}."  # near counts more than a word more or less
    # those that were not compared are as far as the farthest: what fits less by its words stays behind it
    assert [one.text for one in ranked[-quoting.COMPARED :]] == [one.text for one in found[quoting.COMPARED :]]
    far = quoting.WORDS * found[-1].score + quoting.NEARNESS * 0.5 - quoting.FAR
    assert ranked[-1].score == pytest.approx(far)
    assert quoting.nearest("Which?", []) == []


def test_a_sentence_is_read_behind_its_heading() -> None:
    passage = cut("prices.md", "# Prices of the ferry\n\nAdults pay 4 euros.\n")[0]
    (said,) = [one for one in sentences.sentences(passage) if "Adults" in one.text]

    assert said.headed == "Prices of the ferry. Adults pay 4 euros."


@given(texts=st.lists(st.text(max_size=40), max_size=6), question=st.text(max_size=40))
@settings(deadline=None, max_examples=40)
def test_cosines_do_not_depend_on_what_else_is_read(texts: list[str], question: str) -> None:
    near = nearness.shipped().of(question, texts)
    alone = [float(Nearness(nearness.shipped().read).of(question, [text])[0]) for text in texts]

    assert near.shape == (len(texts),)
    assert np.all(np.abs(near) <= 1 + 1e-5)
    assert np.allclose(near, alone, atol=1e-4)
    assert math.isclose(float(nearness.shipped().of(question, [question])[0]), 1.0, abs_tol=1e-5)


def test_long_texts_are_read_as_far_as_it_can(tmp_path: Path) -> None:
    long = "word " * 2 * LONGEST
    (cosine,) = nearness.shipped().of("word " * (LONGEST - 2), [long])

    assert cosine == pytest.approx(1.0, abs=1e-5)


def test_what_it_remembers_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    class Counting(Encoder):
        def see(self, ids: object, marks: object, lengths: object = ()) -> np.ndarray:
            read.append(len(lengths))  # pyright: ignore[reportArgumentType]
            return np.ones((len(ids), WIDTH), np.float32)  # pyright: ignore[reportArgumentType]

        def __init__(self) -> None:
            self.pieces = encoder.shipped().pieces

    monkeypatch.setattr(nearness, "_REMEMBERED", 5)
    near = Nearness(Counting())
    near.of("a", ["b", "c", "b"])
    near.of("a", ["b", "c"])
    assert read == [3]
    near.of("a", ["d", "e", "f"])  # more than five: begins anew
    near.of("d", ["e"])
    assert read == [3, 4]


def test_several_texts_in_one_row_do_not_see_each_other() -> None:
    parser = encoder.shipped()
    first, second = (parser.pieces.of(text) for text in ("how many kilos of tea", "who keeps the bees at the mill"))
    together = parser.see([*first, *second], [0] * (len(first) + len(second)), [len(first), len(second)])

    assert np.allclose(together[: len(first)], parser.see(first, [0] * len(first)), atol=1e-4)
    assert np.allclose(together[len(first) :], parser.see(second, [0] * len(second)), atol=1e-4)


SETTINGS = "[radio]\nchannel = 14\n\n[backup]  # each night\nhour = '02:30'\n"
PROGRAM = """LIMIT = 3


class TooLarge(Exception):
    '''More people than one train can take.'''


class NoAdult(Exception):
    '''Children under 10 may not ride alone.'''


def fare(ages):
    '''What they pay.

    Together.
    '''
    return 3
"""


def test_lines_of_programs_are_read_behind_what_they_stand_in() -> None:
    told = [
        one.headed
        for name, text in (("mill.toml", SETTINGS), ("fares.py", PROGRAM))
        for passage in cut(name, text)
        for one in sentences.sentences(passage)
    ]

    assert told == [
        "[radio]",
        "radio. channel = 14",
        "[backup]  # each night",
        "backup. hour = '02:30'",
        "LIMIT = 3",
        "class TooLarge(Exception):",
        "class TooLarge(Exception). TooLarge: More people than one train can take.",
        "class NoAdult(Exception):",
        "class NoAdult(Exception). NoAdult: Children under 10 may not ride alone.",
        "def fare(ages):",
        "def fare(ages). fare: What they pay.",
        "def fare(ages). Together.",
        "def fare(ages). return 3",
    ]


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Which error comes when there are too many people?", "TooLarge: More people than one train can take."),
        ("When does the backup run?", "hour = '02:30'"),
    ],
)
def test_what_a_program_says_of_itself_is_found(tmp_path: Path, question: str, line: str) -> None:
    (tmp_path / "mill.toml").write_text(SETTINGS)
    (tmp_path / "fares.py").write_text(PROGRAM)
    found = asyncio.run(quoting.sentences_about(question, ToolContext(root=tmp_path)))

    assert found[0].text == line
