"""What teaches how likely words that are pointed at are right: questions as agents ask them, and a regression."""

import importlib
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pointwork.agents import pointed
from pointwork.agents.readings.linear import stored_in

ROOT = Path(__file__).parents[2]
RULES = "# House rules\n\nDogs stay outside.\n\nThe key of the boat house hangs on the hook by the blue door.\n"


@pytest.fixture
def lessons(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))  # pyright: ignore[reportUnknownMemberType]
    yield importlib.import_module("train_calibration")
    sys.modules.pop("train_calibration", None)


@pytest.mark.parametrize(
    ("text", "answer", "right"),
    [
        ("The rear door", "rear door", True),
        ("through the rear door", "the rear door", True),
        ("rear", "the rear door", True),
        ("the rear door of the old blue railcar", "the rear door", False),  # too much beside it
        ("9", "1909", False),
        ("the front door", "the rear door", False),
        ("", "the rear door", False),
    ],
)
def test_words_are_right_with_little_beside_the_answer(lessons: Any, text: str, answer: str, right: bool) -> None:
    assert lessons.holds(text, answer) == right


def test_a_place_is_asked_as_agents_ask_it(lessons: Any) -> None:
    asked = [("Where does the key of the boat house hang?", "the hook by the blue door"), ("Who built it?", None)]
    found = lessons.seen(lessons.Place("rules", True, {"rules.md": RULES}, asked))

    assert found[0].answered
    assert any(words.right for words in found[0].words)
    assert all(not words.right for one in found[1:] for words in one.words)
    assert {"pointed", "unsaid", "fits", "absent", "agreed"} <= set(found[0].words[0].features)


def test_the_regression_is_stored_for_features_as_they_come(lessons: Any, tmp_path: Path) -> None:
    made = np.random.default_rng(0)
    every: list[Any] = []
    for _ in range(4000):
        own, other = made.normal(2, 3), made.normal(-1, 0.1)
        words = lessons.Example(bool(made.random() < 1 / (1 + math.exp(1 - own))), {"pointed": own, "fits": other})
        every.append(lessons.Pointed("made up", True, True, [words]))
    weights = lessons.fitted(every)
    lessons.store(tmp_path / "it.npz", {"right": weights})
    read = stored_in(tmp_path / "it.npz")["right"]

    for own in (-2.0, 1.0, 4.0):
        assert read.logits({"pointed": own, "fits": -1.0})[0] == pytest.approx(own - 1, abs=0.4)


def test_what_ships_knows_all_that_is_seen(lessons: Any) -> None:
    asked = [("Where does the key of the boat house hang?", "the hook by the blue door")]
    (one,) = lessons.seen(lessons.Place("rules", True, {"rules.md": RULES}, asked))

    assert set(one.words[0].features) == set(pointed.shipped().rows)


def test_the_likeliest_words_are_measured_by_either_scale(lessons: Any, capsys: pytest.CaptureFixture[str]) -> None:
    weights = lessons.Linear({"fits": 0}, np.array([[2.0]]), np.array([0.0]))
    words = [
        lessons.Example(False, {"pointed": 3.0, "fits": -1.0}),
        lessons.Example(True, {"pointed": -3.0, "fits": 1.0}),
    ]
    lessons.told([lessons.Pointed("made up", False, True, words)], weights)

    said = capsys.readouterr().out
    assert "the encoder's own, from 0.5: 0 right, 1 wrong" in said
    assert "weighed, from 0.5: 1 right, 0 wrong" in said
