"""A recipe end to end on a tiny model: trained, measured, taken up, shipped."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from pointwork.errors import TrainingError, UsageError
from pointwork.models.adapters import packaged
from pointwork.training.model import LocalModel
from pointwork.training.publication.gguf_lora import read_lora
from pointwork.training.recipes import making
from pointwork.training.recipes.making import Bundled, Made, make
from pointwork.training.recipes.pages import SHARING
from pointwork.training.recipes.roles import Role, Task
from pointwork.training.recipes.shipping import ship
from pointwork.training.samples import Example, Group
from pointwork.training.trainer import GRPOTrainer


@pytest.fixture(autouse=True)
def short_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "ANSWER_TOKENS", 16)


def test_a_recipe_is_made_and_shipped(tiny_folder: Path, tmp_path: Path) -> None:
    made = make("planner", tmp_path / "run", base=str(tiny_folder), epochs=1.0, limit=4, show=False)
    assert (made.stopped, made.examples, made.held_out) == ("finished", 4, 4)
    assert json.loads((tmp_path / "run" / "made.json").read_text())["after"] == made.after
    # the same again finds it done, and says the same
    assert make("planner", tmp_path / "run", base=str(tiny_folder), epochs=1.0, limit=4, show=False) == made
    # its adapter was taken for that of the other role, and said to be right
    with pytest.raises(TrainingError, match="holds the training of planner, not of worker-small"):
        make("worker-small", tmp_path / "run", base=str(tiny_folder), epochs=1.0, limit=4, show=False)
    card = json.loads(ship(made, tmp_path / "adapters", {"starter": 0.5}, base=str(tiny_folder)).read_text())
    adapter = packaged("planner", tmp_path / "adapters")
    assert adapter is not None
    assert adapter.version == card["version"]
    assert adapter.checked().read_bytes()[:4] == b"GGUF"
    assert card["measured"] == {"starter": 0.5}
    assert card["training"]["examples"] == 4


def test_a_recipe_goes_on_from_an_adapter(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = str(tiny_folder)
    first = make("planner", tmp_path / "first", base=base, epochs=1.0, limit=4, lr=1e-2, show=False)
    card = json.loads(ship(first, tmp_path / "adapters", base=base).read_text())
    shipped = tmp_path / "adapters" / "planner" / "adapter.gguf"
    # a step too small to move anything: what comes out is what it went on from, whichever form that has
    for parent in (shipped, Path(first.folder)):
        folder = tmp_path / f"from {parent.name}"
        second = make("planner", folder, base=base, epochs=1.0, limit=4, lr=1e-12, parent=parent, show=False)
        for one, other in zip(read_lora(second.folder), read_lora(first.folder), strict=True):
            whole = other.scale * other.b @ other.a
            np.testing.assert_allclose(one.scale * one.b @ one.a, whole, atol=np.abs(whole).max() * 2e-3)
    with pytest.raises(TrainingError, match="went on from planner-.*, not from nothing"):
        make("planner", tmp_path / f"from {shipped.name}", base=base, limit=4, show=False)
    (tmp_path / "broken.gguf").write_text("no adapter")
    with pytest.raises(TrainingError, match="is not a GGUF adapter"):
        make("planner", tmp_path / "third", base=base, limit=4, parent=tmp_path / "broken.gguf", show=False)
    with pytest.raises(UsageError, match="no adapter to go on from"):
        make("planner", tmp_path / "third", base=base, limit=4, parent=tmp_path / "none", show=False)
    second = make("planner", tmp_path / "third", base=base, epochs=1.0, limit=4, parent=shipped, show=False)
    assert second.parent == card["version"]
    made_by = json.loads(ship(second, tmp_path / "adapters", base=base).read_text())["made_by"]
    assert made_by.endswith("--parent shipped --ship")
    # what ships is another by now; one that is taken up keeps its own
    monkeypatch.setattr(making, "adapters_dir", lambda: tmp_path / "adapters")
    third = make("planner", tmp_path / "fourth", base=base, epochs=1.0, limit=4, parent="shipped", show=False)
    ship(third, tmp_path / "adapters", base=base)
    again = make("planner", tmp_path / "fourth", base=base, epochs=1.0, limit=4, parent="shipped", show=False)
    assert again == third
    assert third.parent != second.parent
    assert json.loads(ship(first, tmp_path / "others", base=base).read_text())["form"].startswith(
        "LoRA, rank 16, alpha 32"
    )


def test_a_recipe_learns_from_which_of_its_own_answers_are_right(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def even(text: str) -> bool:
        return len(text) % 2 == 0

    def some(*_: object, **__: object) -> tuple[list[Task], list[Task]]:
        asked = ({"role": "user", "content": f"Task {number}"} for number in range(4))
        taught = [Task(Example((one, {"role": "assistant", "content": ""}), "planner"), even) for one in asked]
        return taught[:3], taught[3:]

    monkeypatch.setattr(making, "tasks", some)
    drawn: list[Group] = []
    given = GRPOTrainer.samples_of

    def seen(trainer: GRPOTrainer, groups: Sequence[Group]) -> Any:
        drawn.extend(groups)
        return given(trainer, groups)

    monkeypatch.setattr(GRPOTrainer, "samples_of", seen)
    base, folder = str(tiny_folder), tmp_path / "run"

    def again(**other: Any) -> Made:
        return make("planner", folder, base=base, epochs=2.0, batch=3, trials=4, show=False, **other)

    made = again()
    assert (made.stopped, made.trials, made.lr, made.batch) == ("finished", 4, 1e-4, 3)
    assert [len(group.rollouts) for group in drawn] == [4] * 6  # two steps of three tasks
    assert len({group.task for group in drawn}) == 6
    model = LocalModel.load(base)
    for group in drawn:
        texts = [model.decode(rollout.turns[0].completion_ids) for rollout in group.rollouts]
        ended = [rollout.turns[0].completion_ids[-1] in model.stop_ids for rollout in group.rollouts]
        right = [so and even(text) for so, text in zip(ended, texts, strict=True)]
        assert [rollout.reward for rollout in group.rollouts] == [*map(float, right)]
    assert {rollout.reward for group in drawn for rollout in group.rollouts} == {0.0, 1.0}
    assert again() == made
    card = json.loads(ship(made, tmp_path / "adapters", base=base).read_text())
    assert "--batch 3 --seed 0 --trials 4 --ship" in card["made_by"]
    with pytest.raises(UsageError, match="trials must be 0 or from 2, not 1"):
        make("planner", tmp_path / "one", base=base, trials=1, show=False)


@pytest.mark.parametrize(("role", "epochs"), [("planner", 2.0), ("reckoner", 1.0)])
def test_a_role_has_its_own_number_of_passes(role: Role, epochs: float, tiny_folder: Path, tmp_path: Path) -> None:
    made = make(role, tmp_path / "run", base=str(tiny_folder), limit=2, show=False)
    assert (made.role, made.epochs, made.examples) == (role, epochs, 2)


def test_a_folder_that_can_not_be_one_is_said(tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for parent in (None, "shipped"):
        with pytest.raises(TrainingError, match="can not be written to"):
            make("decomposer", tmp_path / "file", base=str(tiny_folder), limit=4, parent=parent, show=False)


def test_questions_to_a_page_are_one_item_of_a_batch() -> None:
    def task(page: str, said: str) -> Task:
        return Task(Example(({"role": "assistant", "content": said},), "reader"), bool, page)

    taught = [task("a", "1"), task("a", "2"), task("b", "3"), task("", "4"), task("", "5")]
    taught += [task("c", str(number)) for number in range(SHARING + 1)]
    batches = Bundled(taught, 1, seed=0)
    found = [[one.messages[0]["content"] for one in batches(k) if isinstance(one, Example)] for k in range(6)]
    assert batches.steps_per_epoch == 6
    assert sorted(map(len, found)) == [1, 1, 1, 1, 2, SHARING]
    assert ["1", "2"] in found
