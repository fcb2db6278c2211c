"""A recipe end to end on a tiny model: trained, measured, taken up, shipped."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from pointwork.errors import TrainingError
from pointwork.models.adapters import packaged
from pointwork.training.recipes.making import make
from pointwork.training.recipes.shipping import ship


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


def test_a_folder_that_can_not_be_one_is_said(tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TrainingError, match="can not be written to"):
        make("planner", tmp_path / "file", base=str(tiny_folder), limit=4, show=False)
