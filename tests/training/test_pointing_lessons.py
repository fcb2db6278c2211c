"""What teaches pointing: a question beside sentences, where the words stand; the network is the one in use."""

import importlib
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pointwork.agents.parsing import encoder, nearness, pointing
from pointwork.agents.parsing.encoder import Encoder
from pointwork.agents.parsing.pointing import Pointer

ROOT = Path(__file__).parents[2]
PAGE = {
    "text": "# House rules\n\nDogs stay outside. The key hangs on hook 9.\n\n- **Plane**: lent to Bob Ray.\n",
    "qa": [
        {"q": "Where does the key hang?", "a": "hook 9"},
        {"q": "Who has the plane?", "a": "Bob Ray"},
        {"q": "Who has the axe?", "a": None},
    ],
}
OTHER = {"text": "# Boats\n\nThe Heron is lent to Bob Ray.", "qa": [{"q": "Which boat is lent?", "a": "Heron"}]}
PAGES = [("rules.md", PAGE), ("boats.md", OTHER)]


@pytest.fixture
def lessons(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))  # pyright: ignore[reportUnknownMemberType]
    yield importlib.import_module("parser_training.pointer")
    for name in [name for name in sys.modules if name.startswith("parser_training")]:
        del sys.modules[name]


def _words(lesson: Any, run: tuple[int, int, int]) -> list[int]:
    """The word pieces of a run."""
    shown = lesson.rows[run[0]]
    return shown.pieces[shown.begin + run[1] : shown.begin + run[2] + 1]


def test_right_is_where_its_own_page_says_it(lessons: Any) -> None:
    parser = encoder.shipped()
    key, plane, axe, boat = lessons.lessons(PAGES, parser)

    assert axe.right == []
    for lesson, answer in ((key, "hook 9"), (plane, "bob ray"), (boat, "heron")):
        assert len(lesson.right) == 1  # another page that has the words does not say it
        assert tuple(_words(lesson, lesson.right[0])) == parser.pieces.of(answer)
        assert all(row.pieces[:1] == lesson.rows[0].pieces[:1] for row in lesson.rows)


def test_the_sentence_that_answers_is_shown_however_far_it_is(
    lessons: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lessons, "READ", 1)
    made = list(
        lessons.lessons(
            [("rules.md", {**PAGE, "qa": [{"q": "Who has the Heron?", "a": "hook 9"}]})], encoder.shipped()
        )
    )

    assert [len(one.rows) for one in made] == [1]
    assert len(made[0].right) == 1


def test_an_answer_that_no_page_has_is_no_lesson(lessons: Any) -> None:
    page = {**PAGE, "qa": [{"q": "Who has the plane?", "a": "Carla"}]}

    assert list(lessons.lessons([("rules.md", page)], encoder.shipped())) == []


def test_it_learns_and_is_the_same_in_numpy(lessons: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    parser = encoder.shipped()
    made = list(lessons.lessons(PAGES, parser))
    network: Any = lessons.Points(parser, {})
    optimiser = torch.optim.Adam([p for p in network.parameters() if p.requires_grad], 1e-3)
    losses: list[float] = []
    network.train()
    for _ in range(12):
        optimiser.zero_grad()
        loss = network.loss(made)
        loss.backward()
        optimiser.step()  # pyright: ignore[reportUnknownMemberType]
        losses.append(float(loss.detach()))
    assert np.mean(losses[-3:]) < 0.7 * np.mean(losses[:3])

    network.eval()
    np.savez(
        tmp_path / "points.npz",
        allow_pickle=False,
        **importlib.import_module("parser_training.fitting").shrunk(network),
    )
    pointer = Pointer(Encoder(tmp_path / "points.npz", parser))
    for one in made:
        with torch.no_grad():
            theirs = float(network.loss([one]))
        chances, none = pointer._chances(one.rows)  # pyright: ignore[reportPrivateUsage]
        right: list[tuple[int, int, int]] = one.right
        ours = sum(chances[n].item(i, j) for n, i, j in right) if right else none
        assert math.exp(-theirs) == pytest.approx(ours, abs=0.03)  # 8 bits, and 16 in torch


def test_what_goes_on_begins_with_all_that_is_learnt(lessons: Any) -> None:
    parser, shipped = encoder.shipped(), pointing.shipped()
    made = list(lessons.lessons(PAGES, parser))
    network: Any = lessons.Points(parser, shipped.read.weights)
    network.eval()
    for one in made:
        with torch.no_grad():
            theirs = math.exp(-float(network.loss([one])))
        chances, none = shipped._chances(one.rows)  # pyright: ignore[reportPrivateUsage]
        right: list[tuple[int, int, int]] = one.right
        assert theirs == pytest.approx(sum(chances[n].item(i, j) for n, i, j in right) if right else none, abs=0.05)

    near = nearness.shipped().read.weights
    fresh = lessons.Points(parser, near).state_dict()
    assert np.array_equal(fresh["layers.3.up.weight"].numpy(), near["layers.3.up.weight"])
    assert fresh["mark.weight"].numpy().any()  # which of the two texts it is, an encoder of one text does not know
