import statistics
from dataclasses import replace
from random import Random
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.errors import UsageError
from pointwork.training.advantages import EPSILON, advantages, normalised, returns
from pointwork.training.samples import Group, Kind, Rollout, Turn

KINDS: tuple[Kind, ...] = get_args(Kind)


def turn(agent: str = "", state: str = "", reward: float = 0.0) -> Turn:
    return Turn("worker", (1,), (2,), agent=agent, state=state, reward=reward)


def rollout(reward: float, *turns: Turn, correct: bool | None = None, calls: int = 0) -> Rollout:
    return Rollout("t", turns or (turn(),), reward, reward > 0.5 if correct is None else correct, calls)


def of(kind: Kind, *rollouts: Rollout, **options: float | bool) -> list[list[float]]:
    return advantages([Group("t", rollouts)], kind, **options).values[0]


turns = st.builds(
    turn,
    agent=st.sampled_from(["a", "b"]),
    state=st.sampled_from(["", "s", "r"]),
    reward=st.sampled_from([0.0, 0.25]),
)


def drawn(reward: float, turns: list[Turn], calls: int) -> Rollout:
    return rollout(reward, *turns, calls=calls)


rollouts = st.builds(
    drawn,
    st.floats(0, 1, width=32),
    st.lists(turns, min_size=1, max_size=4),
    st.integers(0, 6),
)
groups = st.lists(rollouts, min_size=1, max_size=8).map(lambda several: Group("t", tuple(several)))


def test_group_is_the_z_score_with_the_sample_deviation() -> None:
    rewards = [1.0, 0.0, 0.0, 0.5]
    mean, deviation = statistics.mean(rewards), statistics.stdev(rewards)
    found = of("group", *(rollout(r, turn(), turn()) for r in rewards))
    for reward, (first, second) in zip(rewards, found, strict=True):
        assert first == second == pytest.approx((reward - mean) / (deviation + EPSILON), abs=1e-12)


def test_dr_grpo_does_not_divide() -> None:
    assert of("dr_grpo", rollout(1.0), rollout(0.0), rollout(0.0), rollout(0.0)) == [
        [0.75],
        [-0.25],
        [-0.25],
        [-0.25],
    ]


def test_a_reward_of_a_step_counts_for_its_rollout() -> None:
    assert of("dr_grpo", rollout(0.5, turn(reward=0.5), turn()), rollout(0.0)) == [[0.5, 0.5], [-0.5]]


def test_per_agent_compares_an_agent_with_itself_and_each_rollout_once() -> None:
    # b takes part in two rollouts; how often it speaks in them must not move its mean
    found = of(
        "per_agent",
        rollout(1.0, turn("a"), turn("b"), turn("b"), turn("b")),
        rollout(0.0, turn("a"), turn("b")),
        rollout(0.0, turn("a")),
    )
    b = 0.5 / (statistics.stdev([1.0, 0.0]) + EPSILON)
    a = [z / (statistics.stdev([1.0, 0, 0]) + EPSILON) for z in (2 / 3, -1 / 3, -1 / 3)]
    assert np.concatenate(found) == pytest.approx([a[0], b, b, b, a[1], -b, a[2]])


def test_an_agent_seen_in_one_rollout_learns_nothing_from_it() -> None:
    assert of("per_agent", rollout(1.0, turn("a"), turn("lone")), rollout(0.0, turn("a")))[0][1] == 0.0


def test_gigpo_by_hand() -> None:
    # R_t with γ = ½: (1·½, 1) and (0, 0); both meet the state s, only the first meets r
    long = rollout(1.0, turn(state="s"), turn(state="r"))
    short = rollout(0.0, turn(state="s"), turn(state=""))
    found = of("gigpo", long, short, gamma=0.5, omega=2.0, scale=False)
    assert found == [[0.5 + 2 * 0.25, 0.5], [-0.5 - 2 * 0.25, -0.5]]


def test_gigpo_episode_mean_is_over_rollouts_not_steps() -> None:
    """The trap: a long failure must not lower the bar by its length."""
    found = of("gigpo", rollout(1.0), rollout(0.0, *(turn() for _ in range(9))), scale=False)
    assert found[0] == [0.5]


def test_returns_are_discounted_sums() -> None:
    several = rollout(1.0, turn(reward=0.1), turn(reward=0.2), turn(reward=0.0))
    assert returns(several, 0.5) == pytest.approx([0.1 + 0.5 * (0.2 + 0.5 * 1.0), 0.2 + 0.5 * 1.0, 1.0])


def test_hdpo_by_hand() -> None:
    several = [rollout(1.0, calls=1), rollout(1.0, calls=3), rollout(0.0, calls=0)]
    base = [z / (statistics.stdev([1, 1, 0]) + EPSILON) for z in (1 / 3, 1 / 3, -2 / 3)]
    thrift = 0.125 / (statistics.stdev([1 / 2, 1 / 4]) + EPSILON)
    assert np.concatenate(of("hdpo", *several)) == pytest.approx(
        [base[0] + 0.15 * thrift, base[1] - 0.15 * thrift, base[2]]
    )


def test_hdpo_keeps_an_all_correct_group_that_differs_in_calls() -> None:
    thrifty, wasteful = rollout(1.0, calls=1), rollout(1.0, calls=5)
    assert advantages([Group("t", (thrifty, wasteful))], "group").skipped == (0,)
    found = advantages([Group("t", (thrifty, wasteful))], "hdpo")
    assert found.skipped == ()
    assert found.values[0][0][0] > 0 > found.values[0][1][0]


def test_hdpo_does_not_reward_failing_cheaply() -> None:
    cheap, dear = rollout(0.0, calls=0), rollout(0.0, calls=6)
    found = of("hdpo", cheap, dear, rollout(1.0, calls=2), rollout(1.0, calls=2))
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", KINDS)
def test_equal_rollouts_are_skipped_and_counted(kind: Kind) -> None:
    # 0.1 + 0.2 ≠ 0.3 in floating point: rounding must not become an advantage
    equal = Group("t", (rollout(0.3, correct=True), rollout(0.1, turn(reward=0.2), correct=True)))
    mixed = Group("u", (rollout(1.0), rollout(0.0)))
    found = advantages([equal, mixed, equal], kind)
    assert found.skipped == (0, 2)
    assert found.kept == [1]
    assert all(value == 0.0 for several in found.values[0] for value in several)


@given(groups, st.sampled_from(KINDS), st.floats(-5, 5))
def test_a_shift_of_all_rewards_changes_nothing(group: Group, kind: Kind, shift: float) -> None:
    # with γ < 1 the returns of gigpo tell late rewards from early ones
    options: dict[str, float] = {"gamma": 1.0} if kind == "gigpo" else {}
    moved = Group("t", tuple(replace(r, reward=r.reward + shift) for r in group.rollouts))
    before, after = (advantages([of], kind, **options).values[0] for of in (group, moved))
    spread = [r.reward for r in group.rollouts]
    if np.ptp(spread) > 1e-3 or np.ptp(spread) == 0:  # else the deviation is rounding and ε
        for one, other in zip(before, after, strict=True):
            assert one == pytest.approx(other, abs=2e-3)


@given(groups)
def test_group_and_dr_grpo_have_mean_zero_over_rollouts(group: Group) -> None:
    for kind in ("group", "dr_grpo"):
        firsts = [values[0] for values in advantages([group], kind).values[0]]
        assert sum(firsts) == pytest.approx(0.0, abs=1e-6)


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12))
def test_normalised_is_in_order_and_bounded(rewards: list[float]) -> None:
    found = normalised(rewards)
    assert np.all(np.abs(found) <= (len(rewards) - 1) / np.sqrt(len(rewards)) + 1e-9)
    order = np.argsort(rewards, kind="stable")
    assert np.all(np.diff(found[order]) >= -1e-9)


@given(groups, st.sampled_from(KINDS), st.randoms(use_true_random=False))
def test_the_order_of_rollouts_does_not_matter(group: Group, kind: Kind, random: Random) -> None:
    order = list(range(len(group.rollouts)))
    random.shuffle(order)
    before = advantages([group], kind).values[0]
    after = advantages([Group("t", tuple(group.rollouts[i] for i in order))], kind).values[0]
    for place, i in enumerate(order):
        assert after[place] == pytest.approx(before[i], abs=1e-6)


def test_an_unknown_kind_or_option_is_named() -> None:
    with pytest.raises(UsageError, match="ppo"):
        advantages([], "ppo")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="omega"):
        advantages([], "group", omega=1.0)


@pytest.mark.parametrize("reward", [float("nan"), float("inf")])
def test_a_reward_that_is_no_number_is_refused(reward: float) -> None:
    with pytest.raises(UsageError, match="task 't'"):
        of("group", rollout(reward), rollout(0.0))
