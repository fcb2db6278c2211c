import json
from pathlib import Path

import pytest

from pointwork.errors import UsageError
from pointwork.training.curves import draw, read, thinned


def written(folder: Path, steps: int) -> Path:
    file = folder / "metrics.jsonl"
    rows = [{"step": step, "loss": 1 / step, "groups": 4, "skipped_groups": 1} for step in range(1, steps + 1)]
    rows[-1]["held_out"] = 0.5
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"step": 9')
    return file


def test_reading_leaves_out_what_a_kill_cut_off(tmp_path: Path) -> None:
    rows = read(written(tmp_path, 3))
    assert [row["step"] for row in rows] == [1, 2, 3]
    assert rows[0]["skipped_share"] == 0.25
    with pytest.raises(UsageError, match="no metrics"):
        read(tmp_path / "nothing")


def test_thinned_curves_are_means_and_keep_the_last_step(tmp_path: Path) -> None:
    found = thinned(read(written(tmp_path, 25)), points=10)
    assert len(found["loss"]) == 9
    assert found["loss"][0] == [3, pytest.approx((1 + 1 / 2 + 1 / 3) / 3)]
    assert found["loss"][-1] == [25, 1 / 25]
    assert found["held_out"] == [[25, 0.5]]
    assert "reward" not in found


def test_curves_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = draw(read(written(tmp_path, 5)), tmp_path / "plots" / "run.png", title="a run")
    assert file.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match="no steps"):
        draw([], file)
