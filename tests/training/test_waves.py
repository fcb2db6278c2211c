"""Trials in waves: later ones go where the outcome is uncertain, nothing is tried twice, the budget holds."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pointwork.training.allotting import Allotment
from pointwork.training.rollouts import Round, Task, Trial
from pointwork.training.samples import Rollout
from pointwork.training.waves import tried


def task(name: str) -> Task:
    return Task(name, name)


class Played:
    """Tasks that end as they are told to: ``always``, ``never``, or in turns."""

    def __init__(self, outcomes: Mapping[str, str]) -> None:
        self.outcomes = outcomes
        self.counts = dict.fromkeys(outcomes, 0)
        self.waves: list[dict[str, int]] = []
        self.told: dict[str, int] = {}

    def go_on(self, had: Mapping[str, int]) -> None:
        self.told = dict(had)

    def play(self, wanted: Sequence[tuple[Task, int]]) -> Round:
        self.waves.append({task.id: count for task, count in wanted})
        found = Round()
        for one, count in wanted:
            for _ in range(count):
                self.counts[one.id] += 1
                how = self.outcomes[one.id]
                right = how == "always" or (how == "turns" and self.counts[one.id] % 2 == 0)
                found.trials.append(
                    Trial(one.id, self.counts[one.id], f"{one.id}-{self.counts[one.id]}", "done", right)
                )
        return found


def run(outcomes: Mapping[str, str], trials: int, most: int = 16, before: Sequence[Rollout] = ()) -> Any:
    played = Played(outcomes)
    kept = tried(
        [task(name) for name in outcomes],
        before,
        Allotment(),
        played.play,
        played.go_on,
        trials=trials,
        most=most,
    )
    return played, kept


def test_later_trials_go_where_the_outcome_is_uncertain() -> None:
    played, kept = run({"easy": "always", "hard": "never", "even": "turns"}, 36)
    assert len(kept["runs"]) <= 36
    assert played.counts["even"] > played.counts["easy"]
    assert played.counts["even"] > played.counts["hard"]
    assert len(played.waves) > 1


def test_a_small_budget_is_spent_in_waves_too() -> None:
    assert run({"even": "turns"}, 4)[0].waves == [{"even": 2}, {"even": 1}, {"even": 1}]


def test_what_an_earlier_process_brought_home_is_not_tried_again() -> None:
    before = [Rollout("even", (), float(n % 2), bool(n % 2), run_id=f"old-{n}") for n in range(6)]
    played, kept = run({"even": "turns", "other": "turns"}, 12, before=before)
    assert kept["runs"][:6] == [f"old-{n}" for n in range(6)]
    assert len(kept["runs"]) == 12
    assert played.told == {"even": 6, "other": 0}
    assert played.counts["other"] >= played.counts["even"]


def test_what_an_earlier_process_saw_says_where_trials_go() -> None:
    before = [Rollout("easy", (), 1.0, True, run_id=f"old-{n}") for n in range(5)]
    played, _ = run({"easy": "always", "even": "turns"}, 20, before=before)
    assert (played.counts["easy"], played.counts["even"]) == (0, 15)


def test_what_failed_is_added_up_and_what_is_late_is_told_last() -> None:
    told: list[tuple[int, dict[str, int]]] = [(2, {"down": 1}), (1, {"down": 2, "slow": 1}), (0, {})]
    rounds = iter(told)

    def play(wanted: Sequence[tuple[Task, int]]) -> Round:
        late, environment = next(rounds)
        return Round([Trial("a", 1, "run", "done", True)], late=late, environment=environment)

    kept = tried([task("a")], (), Allotment(), play, lambda _: None, trials=6, most=6)
    assert (kept["late"], kept["environment"]) == (0, {"down": 3, "slow": 1})


@given(
    st.lists(st.sampled_from(["always", "never", "turns"]), min_size=1, max_size=5),
    st.integers(0, 60),
    st.integers(2, 12),
)
def test_no_more_than_the_budget_and_no_more_than_most(outcomes: list[str], trials: int, most: int) -> None:
    played, kept = run({f"t{n}": how for n, how in enumerate(outcomes)}, trials, most)
    assert len(kept["runs"]) <= trials
    assert max(played.counts.values()) <= most
    assert len(set(kept["runs"])) == len(kept["runs"])
