"""The routing benchmark's own arithmetic, on a set made up here."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pointwork.bench.routing import sets
from pointwork.bench.routing.lines import apgr
from pointwork.bench.routing.parts import roles, unseen
from pointwork.bench.routing.sets import Full, mixes
from pointwork.bench.routing.streams import orders, stream
from pointwork.cli.app import app
from pointwork.errors import UsageError
from pointwork.router import Arm, Router


def test_the_best_mix_spends_the_budget_between_two_arms():
    quality, usd = np.array([[0.5, 0.9, 0.95]]), np.array([[1.0, 3.0, 10.0]])
    assert mixes(quality, usd, 2.0) == pytest.approx(0.7)
    assert mixes(quality, usd, 3.0) == pytest.approx(0.9)
    assert mixes(quality, usd, 100.0) == pytest.approx(0.95)


def test_a_perfect_order_recovers_more_of_the_gap_than_chance_and_the_worst_less():
    rng = np.random.default_rng(0)
    quality = (rng.random((4000, 2)) < [0.6, 0.8]).astype(float)
    need = quality[:, 1] - quality[:, 0]
    assert apgr(need, quality) > 0.9
    assert apgr(rng.random(4000), quality) == pytest.approx(0.5, abs=0.05)
    assert apgr(-need, quality) < 0.1


def test_a_stream_hears_only_of_the_arm_it_chose_and_notes_what_it_cost():
    quality, usd = np.tile([0.2, 0.9], (300, 1)), np.tile([1e-4, 2e-4], (300, 1))
    full = Full((Arm("a"), Arm("b")), quality, usd, features=np.ones((300, 2)))
    run = stream(full, Router(full.arms), orders(full, 1)[0])
    assert (run.quality == quality[0, run.chosen]).all()
    assert (run.usd == usd[0, run.chosen]).all()
    assert run.best.mean() == pytest.approx(0.9)
    assert run.chosen[-100:].mean() > 0.95


def test_the_role_shock_is_survived(tmp_path: Path):
    lines = roles(tmp_path, 3, "linucb")
    assert all(0 <= line.value < 40 for line in lines)


def test_held_out_prompts_are_judged_after_the_others_and_passed_over_where_they_are_not(tmp_path: Path):
    folder = tmp_path / "paretobandit"
    folder.mkdir()

    def write(name: str, rewards: tuple[float, float], count: int) -> None:
        arms = {arm: {"reward": reward, "cost": 1e-5} for arm, reward in zip("ab", rewards, strict=True)}
        rows = [json.dumps({"prompt": f"{name} {i}", "arms": arms}) for i in range(count)]
        (folder / name).write_text("\n".join(rows), encoding="utf-8")

    write("val.jsonl", (0.2, 0.9), 60)
    assert unseen(tmp_path, 1, "linucb") == []
    write(sets.UNSEEN, (0.6, 0.7), 20)
    assert sets.paretobandit(tmp_path, unseen=True).groups == ("val",) * 60 + ("test",) * 20
    assert len(sets.paretobandit(tmp_path)) == 60
    lines = unseen(tmp_path, 1, "linucb")
    assert len(lines) == 10
    # of the held-out prompts alone, and by then it knows which arm is good
    assert all(0.67 <= found.value <= 0.7 for found in lines if "quality" in found.what)


def test_sets_that_are_not_there_are_named(tmp_path: Path):
    with pytest.raises(UsageError, match=r"val.jsonl is not there"):
        sets.paretobandit(tmp_path)
    run = CliRunner().invoke(
        app, ["bench", "routing", "--data", str(tmp_path), "--part", "roles", "--seeds", "1", "--json"]
    )
    assert run.exit_code == 0
    assert {line["part"] for line in json.loads(run.stdout)} == {"role shock"}
