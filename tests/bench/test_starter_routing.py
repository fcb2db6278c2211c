"""The replay of recorded tasks × arms: who serves what, at which price, and how the learned router compares."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SMALL, LARGE = "all/small/instant", "all/large/instant"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "starter_routing.py"
    spec = importlib.util.spec_from_file_location("starter_routing", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["starter_routing"] = module
    spec.loader.exec_module(module)
    return module


def row(number: int, arm: str) -> dict[str, Any]:
    """Sums are right with the large model only, look-ups with both, and the small one does those for nothing."""
    hard = number % 2 == 0
    text = f"Add {number} and {number + 3}, then double it." if hard else f"Who keeps the key of shed {number}?"
    large = arm == LARGE
    model = arm.split("/")[1]
    known = {"usd_per_mtok": [0.1, 0.4], "expected_tokens": [400.0, 60.0], "description": ""}
    return {
        "task": f"t{number}", "kind": "x", "text": text, "wanted": arm, "chosen": [arm], "right": large or not hard,
        "seconds": 0.1, "candidates": [SMALL, LARGE], "arms": {SMALL: known, LARGE: known},
        "tokens": {model: [300, 50] if large or hard else [0, 0]}, "usd": 0.0,
    }  # fmt: skip


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "table.jsonl"
    rows = [row(number, arm) for number in range(40) for arm in (SMALL, LARGE)]
    # one arm was asked for and another began: nothing is known of it. And a line that a kill cut off
    strange = row(99, LARGE) | {"chosen": [SMALL]}
    path.write_text("".join(json.dumps(each) + "\n" for each in [*rows, strange]) + '{"task": "t4')
    return path


def test_the_learned_router_wins_where_there_is_something_to_learn(script: ModuleType, recorded: Path) -> None:
    table = script.Table(recorded, {})
    assert len(table.tasks) == 40
    assert table.rivals == ["random", "static", "small", "large"]
    found = script.replayed(table, 3)
    assert found["static"]["right"] == pytest.approx(found["small"]["right"])
    assert found["oracle"]["right"] == found["large"]["right"] == 1.0
    for name in ("random", "static"):
        assert found[name]["gain"] > 0.1
        assert found[name]["learned usd"] <= found[name]["usd"]
    assert found["large"]["learned usd"] < found["large"]["usd"]


def test_tokens_are_priced_anew(script: ModuleType, recorded: Path) -> None:
    assert script.priced("1,2") == (1.0, 2.0)
    free = script.Table(recorded, {})
    dear = script.Table(recorded, {"large": (1.0, 4.0)})
    assert free.by_model("t0", "large").usd == pytest.approx(50e-6)
    assert dear.by_model("t0", "large").usd == pytest.approx(500e-6)
    assert dear.by_model("t0", "small").usd == pytest.approx(50e-6)
    assert dear.by_model("t1", "small").usd == 0.0
    assert {arm.name: arm.usd_per_mtok for arm in dear.arms} == {SMALL: (0.1, 0.4), LARGE: (1.0, 4.0)}
    assert dear.best("t1") == (1.0, 0.0)


def test_how_it_learns_is_drawn(script: ModuleType, recorded: Path, tmp_path: Path) -> None:
    script.plot(script.Table(recorded, {}), 2, tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
