"""Reading comprehension: words and runs of a sentence, features, and what is said, not said, or not clear."""

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.agents.quoting import QUOTED, absent, besides, prepare_files, quoted, sentences_about
from pointwork.agents.readings.extracting import Extract, Weights, describe, extract, form_of, shipped
from pointwork.agents.readings.linear import Linear, store, stored_in
from pointwork.agents.readings.pieces import LONGEST, runs, tokens
from pointwork.agents.readings.sentences import Sentence
from pointwork.agents.readings.spans import Span, candidates
from pointwork.agents.readings.wanting import wanted
from pointwork.tools import ToolContext
from pointwork.tools.passages import Passage

MILL = """# The mill
The wheel was built by Oskar Brandt in 1931. His sister Anna painted the door dark green.

The key hangs behind the boiler. Flour costs 2 euros a bag, bran 80 cents. Guests must not feed the geese.
"""


def sentence(text: str, score: float = 1.5) -> Sentence:
    return Sentence(text, "file:a.md:1", Passage("a.md", 1, 1, text), score=score)


def read(question: str, *texts: str, weights: Weights | None = None) -> Extract | None:
    found = [sentence(text) for text in texts]
    return extract(question, found, candidates(question, wanted(question), found), lambda _: 1.0, weights=weights)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("The key hangs behind it.", ["art", "w", "w", "prep", "pron", "."]),
        ("Oskar paid $1,250.50 on 4 June 1932,", ["Cap0", "w", "money", "prep", "num", "month", "year", ","]),
        ("It cost $5, then $1,250.", ["pron", "w", "money", ",", "stop", "money", "."]),
        ("Voigt & Sohn, 3kg, 15% not", ["Cap0", "w", "Cap", ",", "numw", ",", "num", "neg"]),
        ("", []),
    ],
)
def test_words_by_category(text: str, kinds: list[str]) -> None:
    assert [token.kind for token in tokens(text)] == kinds


def test_runs_that_can_be_an_answer() -> None:
    text = "The key hangs behind the old boiler; Anna has it."
    words = tokens(text)
    found = {text[words[i].start : words[j - 1].end] for i, j in runs(words)}
    assert {"key", "behind the old boiler", "old boiler", "Anna"} <= found
    assert not {run for run in found if ";" in run or run.startswith(("The", "the ")) or run.endswith(" the")}


def test_marks_and_signs_within_an_answer() -> None:
    text = "Voigt & Sohn came on 4 June, 1932, when it rained"
    words = tokens(text)
    found = {text[words[i].start : words[j - 1].end] for i, j in runs(words)}
    assert {"Voigt & Sohn", "4 June, 1932"} <= found
    assert not {run for run in found if run.startswith("&") or run.endswith("&") or "1932," in run}


@given(st.text(alphabet="abAB 0123456789.,;%$&'’()-—\n", max_size=120))
def test_no_sentence_is_too_odd(text: str) -> None:
    words = tokens(text)
    assert all(text[word.start : word.end] == word.text for word in words)
    assert all(0 <= i < j <= len(words) and j - i <= LONGEST for i, j in runs(words))
    found = read("Who has the key of 3 boats?", text) if text.strip() else None
    if found is not None:
        assert 0 <= found.said <= 1
        assert 0 <= found.sure <= 1
        assert all(np.isfinite(piece.score) for piece in found.pieces)


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("Who has it?", "who"),
        ("To whom does it belong?", "who"),
        ("How many are there?", "how-many"),
        ("How do I open it?", "how-manner"),
        ("What is the door made of?", "what-be"),
        ("What did she say?", "what-do"),
        ("Which boat is it?", "what-noun"),
        ("Name the boat.", "order"),
    ],
)
def test_forms_of_questions(question: str, form: str) -> None:
    assert form_of(question) == form


def test_the_likeliest_piece_comes_first_and_each_text_once() -> None:
    found = read("Who built the wheel?", "The wheel was built by Oskar Brandt in 1931.", "The door is green.")
    assert found is not None
    assert found.pieces[0].text == "Oskar Brandt"
    assert len({piece.text for piece in found.pieces}) == len(found.pieces)
    assert [p.score for p in found.pieces] == sorted((p.score for p in found.pieces), reverse=True)


def test_what_says_nothing_is_less_likely_said() -> None:
    says = read("Where does the key hang?", "The key hangs behind the boiler.")
    silent = read("Where does the key hang?", "The key was cut by Anna in May.")
    assert says is not None
    assert silent is not None
    assert says.said > silent.said


def test_nothing_to_read_is_nothing() -> None:
    assert extract("Who?", [], [], lambda _: 1.0) is None
    assert read("Who?", "…") is None


def test_features_are_numbers_and_the_same_each_time() -> None:
    texts = [sentence("The wheel was built by Oskar Brandt in 1931."), sentence("He sold it.", 1.0)]
    once, again = (describe("Who built the wheel?", texts, [], lambda _: 1.0) for _ in range(2))
    assert once == again
    assert all(np.isfinite(value) for one in once for value in one.features.values())


def test_what_is_denied_and_what_is_another_number() -> None:
    def features(question: str) -> dict[str, float]:
        return describe(question, [sentence("Anna did not sing in 1932.")], [], lambda _: 1.0)[0].features

    assert features("Who sang?")["denies"] == 1.0
    assert "denies" not in features("Who did not sing?")
    assert (features("1931?")["own"], features("1932?")["own"]) == (0.0, 1.0)  # numbers are not alike


def test_only_what_does_not_stand_there_is_made() -> None:
    question, found = "Who built the wheel?", [sentence("The wheel was built by Oskar Brandt in 1931.")]
    rated = candidates(question, wanted(question), found)
    assert rated
    assert not any("made" in one.features for one in describe(question, found, rated, lambda _: 1.0))


def _unread(*_: object) -> tuple[None, float]:
    """Nobody reads question and sentences together."""
    return None, 0.0


def _bias(value: float) -> Linear:
    return Linear({}, np.zeros((0, 1)), np.array([value]))


@pytest.mark.parametrize(
    ("said", "sure", "answer", "speaks"),
    [(-5.0, 5.0, "", False), (5.0, 5.0, "piece", True), (5.0, -5.0, "sentence", True)],
)
def test_the_piece_the_sentence_or_nothing(
    said: float, sure: float, answer: str, speaks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = Weights(shipped().piece, _bias(said), _bias(sure))
    monkeypatch.setattr("pointwork.agents.readings.extracting.shipped", lambda: weights)
    monkeypatch.setattr("pointwork.agents.pointed.read", _unread)
    text = "Anna painted the door dark green."
    long = f"{text[:-1]}, {'and again ' * QUOTED}in the end."
    found, pieces, says, *_ = quoted("What colour is the door?", [sentence(text)], lambda _: 1.0)
    assert says == speaks
    assert found == {"": "", "piece": pieces[0].text, "sentence": text}[answer]
    if answer == "sentence":  # one that is too long to be an answer is not given as one
        assert len(quoted("What colour is the door?", [sentence(long)], lambda _: 1.0)[0].split()) < QUOTED


def test_the_share_of_words_that_stand_nowhere(tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text(MILL)
    context = ToolContext(root=tmp_path)
    assert asyncio.run(absent("Who built the wheel?", context)) == 0
    assert asyncio.run(absent("Who built the planetarium?", context)) == 0.5
    assert asyncio.run(absent("Who?", context)) == 0
    assert asyncio.run(absent("Who built the wheel?", ToolContext())) == 0


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who built the wheel?", "Oskar Brandt"),
        ("When was the wheel built?", "1931"),
        ("Where does the key hang?", "behind the boiler"),
    ],
)
def test_questions_that_a_file_answers(question: str, answer: str, tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text(MILL)
    prepared = asyncio.run(prepare_files(question, ToolContext(root=tmp_path)))
    assert answer in prepared.answer
    assert prepared.fit > 0


@pytest.mark.parametrize(
    "question",
    ["Who sold the wheel to the brewery?", "How long is the wheel?", "What did the roof of the barn cost?"],
)
def test_questions_that_no_file_answers(question: str, tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text(MILL)
    context = ToolContext(root=tmp_path)
    assert asyncio.run(sentences_about(question, context))
    assert asyncio.run(prepare_files(question, context)).answer == ""


def test_what_speaks_of_none_of_the_question_s_words_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = Weights(shipped().piece, _bias(5.0), _bias(5.0))
    monkeypatch.setattr("pointwork.agents.readings.extracting.shipped", lambda: weights)
    monkeypatch.setattr("pointwork.agents.pointed.read", _unread)
    dinner = sentence("Dinner is at seven in the blue room.")
    assert quoted("What colour is the piano?", [dinner], lambda _: 1.0)[:3:2] == ("", False)
    assert quoted("What colour is the room?", [dinner], lambda _: 1.0)[2]
    behind = replace(dinner, before="The piano was sold.")
    below = replace(dinner, passage=replace(dinner.passage, heading="The piano"))
    assert all(quoted("What colour is the piano?", [one], lambda _: 1.0)[2] for one in (behind, below))


def _weighing(
    monkeypatch: pytest.MonkeyPatch, piece: float | None = None, said: float = 5.0, sure: float = 5.0
) -> None:
    """What was learnt says the same of everything (of pieces, if one is given)."""
    weights = Weights(shipped().piece if piece is None else _bias(piece), _bias(said), _bias(sure))
    monkeypatch.setattr("pointwork.agents.readings.extracting.shipped", lambda: weights)
    monkeypatch.setattr("pointwork.agents.pointed.read", _unread)


def _says(question: str, text: str) -> str:
    return quoted(question, [sentence(text)], lambda _: 1.0)[0]


def test_lines_of_tables_and_code_are_read_by_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    _weighing(monkeypatch, said=-5.0)
    assert _says("How many geese may stay?", "At most 12 geese may stay.") == ""
    assert _says("How many geese may stay?", "| geese that may stay | 12 |") == "12"
    assert _says("What is the maximum of geese?", "MAX_GEESE = 12") == "12"


def test_what_may_be_said_in_another_unit_needs_less(monkeypatch: pytest.MonkeyPatch) -> None:
    _weighing(monkeypatch, said=-1.2)  # between both bounds
    assert _says("How many minutes does the walk take?", "The walk takes 2 hours.") == "2 hours"
    assert _says("How many minutes does the walk take?", "The walk takes 50 minutes.") == ""


def test_where_a_kind_is_asked_for_only_a_piece_of_that_kind_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    _weighing(monkeypatch, piece=0.0)  # all runs are alike
    assert _says("What did the bran cost?", "A sack of bran cost 2.50 euros.") == "2.50 euros"
    assert quoted("What did the key cost?", [sentence("The key hangs there.")], lambda _: 1.0)[:4] == (
        "",
        [],
        False,
        False,
    )


def test_several_are_given_where_several_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    _weighing(monkeypatch)
    text = "The boats Tern, Gull and Skua were sold."
    said = _says("Which two boats were sold?", text).split(", ")
    assert len(said) == 2
    assert all(one in text for one in said)


@pytest.mark.parametrize(
    ("pieces", "said"),
    [(["Tern", "Tern and Gull", "Gull", "Skua"], "Tern, Gull"), (["Tern", "Tern and Gull"], "")],
)
def test_of_several_none_is_part_of_another(pieces: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = sentence("The boats Tern and Gull were sold.")
    found = Extract(tuple(Span(text, 1.0, one) for text in pieces), 0.9, 0.9)

    def extract(*_: object) -> Extract:
        return found

    monkeypatch.setattr("pointwork.agents.quoting.extracting.extract", extract)
    monkeypatch.setattr("pointwork.agents.pointed.read", _unread)
    assert quoted("Which two boats were sold?", [one], lambda _: 1.0)[0] == said


def test_what_hardly_speaks_of_the_question_answers_no_yes_or_no() -> None:
    close, far = (sentence("The mill is not open on Monday.", score) for score in (1.5, 0.1))
    assert quoted("Is the mill open on Monday?", [close], lambda _: 1.0)[0] == "no"
    assert quoted("Is the mill open on Monday?", [far], lambda _: 1.0)[0] == ""


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Do I ride for nothing on my birthday?", "On a birthday everybody rides for nothing.", "yes"),
        ("Is the shop closed on Mondays?", "The shop is closed on Mondays.", "yes"),
        ("Is the shop shut on Mondays?", "The shop is closed on Mondays.", "yes"),
        ("Is fishing banned at the shop?", "At the shop fishing is forbidden.", "yes"),
        ("Is the shop open on Mondays?", "The shop is closed on Mondays.", "no"),
        ("Is the shop open on Mondays?", "The shop is shut on Mondays.", "no"),
        ("Can't dogs ride for nothing?", "Dogs can't ride for nothing.", "no"),
    ],
)
def test_a_word_of_the_question_denies_nothing(question: str, text: str, answer: str) -> None:
    assert quoted(question, [sentence(text, 1.5)], lambda _: 1.0)[0] == answer


def test_besides_what_is_shown_come_others_that_speak_of_it() -> None:
    found = [sentence("Shown.", 0.9), sentence("As good.", 0.6), sentence("Something else.", 0.4)]
    assert asyncio.run(besides("What?", ToolContext(), found, ["Shown."])) == [("file:a.md:1", "As good.")]


def test_a_person_or_a_number_is_never_a_whole_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    _weighing(monkeypatch, sure=-5.0)
    assert _says("Who painted the door?", "The door was painted by Anna Berg.") == "Anna Berg"
    assert _says("How many geese live at the mill?", "At the mill live 12 geese.") == "12"


def test_a_sentence_that_leans_on_the_one_before_is_shown_with_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "The Palm House followed on 9 May 1926. Its architect was Casimir Voll of Ostrey.\n"
    )
    prepared = asyncio.run(prepare_files("who was the architect of the palm house", ToolContext(root=tmp_path)))
    assert prepared.answer == "Casimir Voll"
    assert "Palm House" in prepared.context[0][1]


def test_regressions_are_stored_as_they_are(tmp_path: Path) -> None:
    linear = Linear({"a": 0, "b": 1}, np.array([[1.0], [0.5]]), np.array([0.25]))
    store(tmp_path / "one.npz", {"said": linear})
    read_back = stored_in(tmp_path / "one.npz")["said"]
    assert read_back.rows == linear.rows
    assert read_back.logits({"a": 1.0, "b": 2.0, "c": 9.0}) == linear.logits({"a": 1.0, "b": 2.0})


def test_why_asks_for_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    _weighing(monkeypatch, sure=-5.0)  # the sentence is the answer
    assert _says("Why was the pond dug?", "The pond was dug by Anna Weiss in 1931.") == ""
    assert _says("Who dug the pond?", "The pond was dug by Anna Weiss in 1931.") != ""
    dry = "The pond was dug because the wells ran dry."
    assert _says("Why was the pond dug?", dry) == dry
    _weighing(monkeypatch)  # a piece is: the word that stands before it counts
    assert _says("Why was the pond dug?", dry) in dry
    assert _says("Why was the pond dug?", dry)


def test_a_name_a_hundred_words_from_its_clue_holds_nothing_up(tmp_path: Path) -> None:
    houses = ", ".join(f"house {number}" for number in range(1, 60))
    (tmp_path / "notes.md").write_text(
        f"The watchman of the north gate walks past {houses} and then goes home to Ilse Brandt.\n"
    )

    async def read() -> object:
        return await asyncio.wait_for(prepare_files("Who is the watchman?", ToolContext(root=tmp_path)), 60)

    assert asyncio.run(read()) is not None
