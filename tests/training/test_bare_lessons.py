"""What teaches whether a task needs no files: tasks without their lines, and a regression stored in a network."""

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pointwork.agents.parsing import calculating, encoder
from pointwork.agents.parsing.encoder import Encoder

ROOT = Path(__file__).parents[2]
CRATES: dict[str, Any] = {
    "task": "How many eggs are in 3 crates?",
    "around": "stock: crates 8; eggs a crate 30",
    "steps": ["eggs a crate = 30", "3 * {s1}"],
    "answer": "90",
}
BOXES: dict[str, Any] = {
    "task": "How many eggs are 3 boxes of 12?",
    "around": "",
    "steps": ["3 * 12"],
    "answer": "36",
}


@pytest.fixture
def lessons(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))  # pyright: ignore[reportUnknownMemberType]
    yield importlib.import_module("train_bare")
    for name in [name for name in sys.modules if name.startswith(("parser_training", "train_"))]:
        del sys.modules[name]


def test_tasks_are_shown_without_their_lines(lessons: Any) -> None:
    found = lessons.tasks([CRATES, BOXES], encoder.shipped())

    assert sorted(needs_none for _, needs_none in found) == [False, True]
    assert all(amount.line == 0 for shown, _ in found for amount in shown.amounts)


def test_what_has_no_amount_is_no_lesson(lessons: Any) -> None:
    plain = lessons.plain(["Who has the key?", "Who has 3 keys?"], encoder.shipped(), False)

    assert [[amount.written for amount in shown.amounts] for shown, _ in plain] == [["3"]]


def test_one_wrongly_refused_counts_more(lessons: Any) -> None:
    """Of what looks the same and is as often so as not, it is said that it needs none."""
    wholes, needs_none = np.zeros((200, 4), np.float32), np.arange(200) % 2 == 0
    weights = lessons.fitted(wholes, needs_none)

    assert 1 / (1 + np.exp(-weights["bare.bias"][0])) == pytest.approx(5 / 6, abs=0.01)


def test_a_task_without_lines_is_judged_by_these_weights(lessons: Any, tmp_path: Path) -> None:
    path = tmp_path / "it.npz"
    with np.load(ROOT / "agents/parsing/calculations.npz") as stored:
        before = {name: stored[name] for name in stored.files}
    np.savez_compressed(path, allow_pickle=False, **before)
    lessons.put(path, {"bare.weight": np.zeros((1, 384), np.float16), "bare.bias": np.array([1.0], np.float32)})
    with np.load(path) as stored:
        assert set(stored.files) == set(before)
        assert all(np.array_equal(stored[name], before[name]) for name in before if not name.startswith("bare."))
    network, task = Encoder(path, words=encoder.shipped()), CRATES["task"]

    assert calculating.calculations(task, [], network=network).answered == pytest.approx(0.731, abs=1e-3)
    lines = [CRATES["around"]]
    assert calculating.calculations(task, lines, network=network) == calculating.calculations(task, lines)


def test_without_such_weights_those_for_lines_judge() -> None:
    """A network that learnt only tasks that need no files has none."""
    alone = calculating.shipped(alone=True)

    assert "bare.weight" not in alone.weights
    assert 0 < calculating.calculations(BOXES["task"], [], network=alone).answered <= 1
