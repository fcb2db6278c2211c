"""Rewards: who is believed, what range a part has, and that efficiency never outweighs being right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.errors import UsageError
from pointwork.training.rewards import Checked, Efficiency, Facts, Part, Reward

unit = st.floats(0, 1)
facts = st.builds(
    Facts,
    checked=st.none() | st.booleans(),
    feedback=st.none() | unit,
    imported=st.none() | unit,
    judged=st.none() | st.sampled_from([0.0, 1.0]),
    calls=st.integers(0, 40),
    tokens=st.integers(0, 10_000),
)


def test_the_most_trusted_word_counts() -> None:
    everything = Facts(checked=False, feedback=1.0, imported=0.7, judged=1.0)
    said = Reward().of(everything)
    assert said is not None
    assert (said.reward, said.correct, said.parts[0].name) == (0.0, False, "checker")
    for known, name in (
        (Facts(feedback=0.5, imported=1.0), "feedback"),
        (Facts(imported=0.2, judged=1.0), "imported"),
    ):
        said = Reward().of(known)
        assert said is not None
        assert said.parts[0].name == name


def test_nothing_known_is_no_reward() -> None:
    assert Reward().of(Facts(calls=3, tokens=100)) is None
    assert Reward(outcomes=(Checked(),)).of(Facts(feedback=1.0)) is None


def test_a_judge_is_not_certain() -> None:
    yes, no = Reward().of(Facts(judged=1.0)), Reward().of(Facts(judged=0.0))
    assert yes is not None
    assert no is not None
    assert (yes.reward, yes.correct, no.reward, no.correct) == (pytest.approx(0.9), True, pytest.approx(0.1), False)


@given(known=facts, weight=st.floats(0, 5))
def test_rewards_stay_in_their_range(known: Facts, weight: float) -> None:
    said = Reward(weight=weight).of(known)
    if said is not None:
        assert -1e-12 <= said.reward <= 1 + 1e-12
        assert all(part.low <= part.value <= part.high for part in said.parts)


@given(one=facts, other=facts, weight=st.floats(0, 5))
def test_every_correct_run_earns_more_than_every_wrong_one(one: Facts, other: Facts, weight: float) -> None:
    reward = Reward(weight=weight)
    right, wrong = reward.of(one), reward.of(other)
    if right is not None and wrong is not None and right.correct and not wrong.correct:
        assert right.reward > wrong.reward


@given(calls=st.integers(0, 30), more=st.integers(1, 30))
def test_calls_count_among_the_correct_only(calls: int, more: int) -> None:
    reward = Reward(weight=0.5, efficiency=Efficiency(most=60))
    few, many = (reward.of(Facts(checked=True, calls=n)) for n in (calls, calls + more))
    wrong = [reward.of(Facts(checked=False, calls=n)) for n in (calls, calls + more)]
    assert few is not None
    assert many is not None
    assert few.reward > many.reward
    assert [said.reward for said in wrong if said is not None] == [0.0, 0.0]


def test_what_can_not_be_a_reward_is_refused() -> None:
    with pytest.raises(UsageError, match="outside 0 to 1"):
        Part("feedback", 1.5)
    with pytest.raises(UsageError, match="outside"):
        Part("feedback", float("nan"))
    with pytest.raises(UsageError, match="weight"):
        Reward(weight=-1)
    with pytest.raises(UsageError, match="source"):
        Reward(outcomes=())
    with pytest.raises(UsageError, match="at least 1"):
        Efficiency(most=0)
