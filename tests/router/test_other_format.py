"""A store that another version of pointwork wrote: what was learned is learned again from the log."""

from pathlib import Path

import pytest

from pointwork.errors import StoreError
from pointwork.router import Arm, Outcome, Router, persistence

ARMS = [Arm("small"), Arm("large")]


def test_a_state_of_another_version_is_learned_anew_from_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    router = Router(ARMS, store=url)
    for number in range(40):
        decision = router.decide(f"task {number}")
        router.learn(decision.id, Outcome(quality=1.0 if decision.arm == "large" else 0.0))
    router.checkpoint()
    before = float(router.decide("task").scores["large"]["mean"])
    assert before > 0.6
    monkeypatch.setattr(persistence, "FORMAT", persistence.FORMAT + 1)
    again = Router(ARMS, store=url).decide("task")
    assert float(again.scores["large"]["mean"]) == pytest.approx(before, abs=0.1)


def test_a_file_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Router(ARMS).save(tmp_path / "router.npz")
    monkeypatch.setattr(persistence, "FORMAT", persistence.FORMAT + 1)
    with pytest.raises(StoreError, match="another format"):
        Router.load(tmp_path / "router.npz")
