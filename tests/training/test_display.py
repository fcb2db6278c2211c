import pytest

from pointwork.training.display import Display


def test_steps_and_an_alarm_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(steps=3, done=1, show=True) as display:
        display.step({"step": 2.0, "loss": 0.25, "reward": 0.5, "clip_rate": 0.125}, "")
        display.step({"step": 3.0, "loss": 0.125, "held_out": 0.75}, "the policy learns the reward")
    shown = capsys.readouterr().err
    for text in ("held-out", "0.750", "12.5%", "3/3", "learns the reward"):
        assert text in shown


def test_nothing_is_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(steps=3, done=0, show=None) as display:
        display.step({"step": 1.0, "loss": 0.25}, "")
    assert capsys.readouterr().err == ""
