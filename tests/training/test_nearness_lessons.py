"""What teaches nearness: pages become places with questions; the trained network is the one in use."""

import importlib
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pointwork.agents.parsing import encoder, nearness
from pointwork.agents.parsing.encoder import Encoder
from pointwork.agents.parsing.nearness import Nearness

ROOT = Path(__file__).parents[2]
PAGE = {
    "text": "# House rules\n\nDogs stay outside. The key hangs on hook 9.\n\n"
    "- **Saw**: lent to Ann.\n- **Plane**: lent to Bob.\n",
    "qa": [
        {"q": "Where is the key?", "a": "hook 9"},
        {"q": "Who has the plane?", "a": "Bob"},
        {"q": "Who has the axe?", "a": None},
    ],
}
OTHER = {"text": "# Boats\n\nThe Heron is lent to Bob.", "qa": [{"q": "Which boat has Bob got?", "a": "Heron"}]}
PAGES = [("rules.md", PAGE), ("boats.md", OTHER)]


@pytest.fixture
def lessons(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))  # pyright: ignore[reportUnknownMemberType]
    yield importlib.import_module("parser_training.nearer")
    for name in [name for name in sys.modules if name.startswith("parser_training")]:
        del sys.modules[name]


def test_the_sentences_of_its_own_page_that_hold_an_answer_are_right(lessons: Any) -> None:
    place = lessons.place(PAGES)
    right = {one.question: [place.sentences[at] for at in one.right] for one in place.asked}

    assert right == {
        "Where is the key?": ["House rules. The key hangs on hook 9."],
        "Who has the plane?": ["House rules. Plane: lent to Bob."],
        "Which boat has Bob got?": ["Boats. The Heron is lent to Bob."],
    }
    for one in place.asked:
        assert len(one.words) == len(place.sentences)
    key = place.asked[0]
    assert max(key.words) == key.words[key.right[0]] > 0


def test_a_step_keeps_what_is_right(lessons: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lessons, "READ", 4)
    places = [lessons.place([("rules.md", PAGE)]), lessons.place([("boats.md", OTHER)])]
    texts, asked = lessons.some_of(places, random.Random(1))

    assert len(texts) == 4
    said = {one.question: [texts[at] for at in one.right] for one in asked}
    assert said["Which boat has Bob got?"] == ["Boats. The Heron is lent to Bob."]
    assert said["Where is the key?"] == ["House rules. The key hangs on hook 9."]
    for one in asked:  # words count within one place only
        assert len(one.words) == 4
        page = "Boats" if one.question == "Which boat has Bob got?" else "House rules"
        assert all(words == 0.0 or page in texts[at] for at, words in enumerate(one.words))
        assert any(one.words)


def test_it_learns_and_is_the_same_in_numpy(lessons: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    parser = encoder.shipped()
    network: Any = lessons.Near(parser, {})
    optimiser = torch.optim.Adam([p for p in network.parameters() if p.requires_grad], 1e-3)
    place, chance, losses = lessons.place(PAGES), random.Random(0), list[float]()
    network.train()
    for _ in range(12):
        optimiser.zero_grad()
        loss = network.loss([place], chance)
        loss.backward()
        optimiser.step()  # pyright: ignore[reportUnknownMemberType]
        losses.append(float(loss.detach()))
    assert np.mean(losses[-3:]) < 0.7 * np.mean(losses[:3])

    np.savez(tmp_path / "near.npz", allow_pickle=False, **lessons.stored(network))
    near = Nearness(Encoder(tmp_path / "near.npz", parser))
    network.eval()
    with torch.no_grad():
        theirs = (network(place.sentences) @ network(["Who has the plane?"]).T)[:, 0].numpy()
    assert np.allclose(near.of("Who has the plane?", place.sentences), theirs, atol=0.02)  # 8 bits, and 16 in torch


def test_what_is_given_learns_at_its_own_rate(lessons: Any) -> None:
    first, second, still = (torch.nn.Parameter(torch.ones(2)) for _ in range(3))
    fit = importlib.import_module("parser_training.fitting").fit
    fit(lambda: -(first + second + still).sum(), [([first], 0.1), ([second], 0.01)], 0.01)

    assert first[0].item() > second[0].item() > still[0].item() == 1.0


def test_matrices_of_layers_are_stored_in_8_bits_and_others_in_16(lessons: Any) -> None:
    network = lessons.Near(encoder.shipped(), {})
    arrays = lessons.stored(network)

    assert arrays["layers.0.up.weight.int8"].dtype == np.int8
    assert arrays["pos"].dtype == np.float16
    assert arrays["n0.bias"].dtype == np.float32
    assert not {"word.weight", "near", "shared"} & set(arrays)


def test_what_goes_on_begins_with_all_that_is_learnt(lessons: Any) -> None:
    texts = lessons.place(PAGES).sentences
    network: Any = lessons.Near(encoder.shipped(), nearness.shipped().read.weights)
    network.eval()
    with torch.no_grad():
        theirs = (network(texts) @ network(["Where is the loo?"]).T)[:, 0].numpy()

    assert np.allclose(nearness.shipped().of("Where is the loo?", texts), theirs, atol=0.02)


def test_a_script_says_what_may_be_asked_of_it(
    lessons: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = importlib.import_module("parser_training.fitting").options
    monkeypatch.setattr(sys, "argv", ["train", "--minutes", "3", "--begin", "shipped", "--write"])
    given = options("Remake it.", 25.0, 4e-5)
    assert (given.minutes, given.rate, given.begin, given.write) == (3.0, 4e-5, "shipped", True)
    assert not given.measure

    monkeypatch.setattr(sys, "argv", ["train", "--begin", "somewhere"])
    with pytest.raises(SystemExit):
        options("Remake it.", 25.0, 4e-5)
    assert "invalid choice: 'somewhere'" in capsys.readouterr().err
