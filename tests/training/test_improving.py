"""The loop: what ends it, what goes live, and that nothing does without the proof of its gain."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.errors import PublicationError, TrainingError, UsageError
from pointwork.models.adapters import base_of
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.training.data import mark
from pointwork.training.improving import Loop, Outcome, Plan
from pointwork.training.proving import compare
from pointwork.training.publication.versions import Versions as Kept
from pointwork.training.rollouts import Config, Round, Task, Trial, Versions
from pointwork.training.samples import Group

sys.path.append(str(Path(__file__).parent))
from test_data import World

Rule = Callable[[str, int, bool], bool]
"""Whether a trial is correct: task, number, by the candidate?"""


class Stub:
    """A collector whose trials end as a rule says."""

    def __init__(self, store: Store, rule: Rule) -> None:
        self.world, self.rule = World(store, temperature=1.0), rule
        self.config = Config(Settings())
        self.asked: list[tuple[str, int]] = []
        self.had: dict[str, int] = {}

    def go_on(self, had: Mapping[str, int]) -> None:
        self.had = dict(had)

    def round(
        self, wanted: Sequence[tuple[Task, int]], versions: Versions = (), *, tell: Any = None, whole: bool = False
    ) -> Round:
        found = Round()
        for task, count in wanted:
            self.asked.append((task.id, count))
            first = 0 if whole else self.had.get(task.id, 0)
            self.had[task.id] = first + count
            for number in range(first, first + count):
                run, correct = self.world.run(task.text), self.rule(task.id, number, bool(versions))
                mark(self.world.store, run, task.id, trial=number, checked=correct, purpose=self.config.purpose)
                found.trials.append(Trial(task.id, number, run, "done", correct))
        return found

    def close(self) -> None:
        raise AssertionError("not ours to close")


class Quick(Loop):
    """The loop without torch: the adapter is an empty folder."""

    fits = 0

    def _fit(self, groups: Sequence[Group], outcome: Outcome) -> Path:
        self.fits += 1
        outcome.training = {"tokens": 1.0}
        adapter = self.folder / "adapter"
        adapter.mkdir(exist_ok=True)
        return adapter


def publisher(error: str = "") -> Any:
    """Publishes everything, or nothing."""

    class Fake:
        def __init__(self, store: Store) -> None:
            self.versions = Kept(store)

        def publish(self, adapter: Path, role: str, *, metrics: Any = None) -> Any:
            if error:
                raise PublicationError(error)
            before = self.versions.live(role)
            name = f"{role}-{self.versions.next_number(role)}"
            kept: dict[str, Any] = {"sha256": "0" * 64, "parent": None, "metrics": metrics or {}}
            row = self.versions.add(role, name, base=base_of("local:"), folder=adapter, **kept)
            expected = None if before is None else before["id"]
            self.versions.switch(role, row["id"], expected=expected, metrics={})
            return SimpleNamespace(version=name)

    def make(store: Store, groups: Sequence[Group]) -> Any:
        return Fake(store)

    return make


TRAIN = [Task(f"t{n}", f"task {n}") for n in range(3)]
HELD = [Task(f"h{n}", f"held {n}") for n in range(20)]


def loop(store: Store, folder: Path, rule: Rule, **more: Any) -> Quick:
    plan = Plan(trials=12, evaluations=1)
    made: dict[str, Any] = {"collector": Stub(store, rule), **more}
    held = made.pop("held_out", HELD)
    return Quick(store, Config(Settings()), TRAIN, held, plan, folder, made.pop("publisher", publisher()), **made)


def better(task: str, number: int, candidate: bool) -> bool:
    return candidate if task.startswith("h") else number % 2 == 0


def test_what_is_better_goes_live(store: Store, tmp_path: Path) -> None:
    done = loop(store, tmp_path / "l", better).turn()
    assert done.promoted, done.reason
    assert done.live == done.version == "worker-small-1"
    assert done.verdict is not None
    assert (done.verdict.before, done.verdict.after) == (0.0, 1.0)
    assert json.loads((tmp_path / "l" / "report.json").read_text())["promoted"] is True


def no_better(task: str, number: int, candidate: bool) -> bool:
    return number % 2 == 0


def always(task: str, number: int, candidate: bool) -> bool:
    return True


def half(task: str, number: int, candidate: bool) -> bool:
    return task.startswith("h") or number % 2 == 0


@pytest.mark.parametrize(
    ("rule", "more", "why"),
    [
        (no_better, {}, "but may be"),
        (better, {"held_out": HELD[:5]}, "too few to prove a gain, 20 are needed"),
        (better, {"held_out": []}, "no held-out tasks"),
        (better, {"publisher": publisher("it does not serve")}, "it does not serve"),
    ],
)
def test_what_is_not_proved_does_not(store: Store, tmp_path: Path, rule: Rule, more: Any, why: str) -> None:
    done = loop(store, tmp_path, rule, **more).turn()
    assert not done.promoted
    assert why in done.reason
    assert done.live is None
    assert Kept(store).all("worker-small") == []
    assert why in json.loads((tmp_path / "refused.json").read_text())["reason"]


def test_the_second_version_is_measured_beside_the_first(store: Store, tmp_path: Path) -> None:
    assert loop(store, tmp_path / "1", better).turn().promoted
    # now a version is live in both halves of the comparison, so the stub can not tell them apart: no gain
    again = loop(store, tmp_path / "2", half).turn()
    assert not again.promoted
    assert again.live == "worker-small-1"
    assert again.version == "worker-small-2"


def of_another_base(store: Store, folder: Path) -> None:
    kept: dict[str, Any] = {"sha256": "", "parent": None, "metrics": {}}
    row = Kept(store).add("worker-small", "worker-small-1-old", base="/old.gguf", folder=folder / "gone", **kept)
    Kept(store).switch("worker-small", row["id"], expected=None, metrics={})


def test_a_version_of_the_roles_model_before_is_no_parent(store: Store, tmp_path: Path, tiny_folder: Path) -> None:
    """Training went on from an adapter of other weights, and ended there, or in nonsense if their shapes agree."""
    of_another_base(store, tmp_path)
    stub = Stub(store, better)
    ids = stub.round([(task, 2) for task in TRAIN]).run_ids
    plan = Plan(steps=1, groups=2, rank=2)
    more: dict[str, Any] = {"base": tiny_folder, "runs": ids, "collector": stub}
    made = Loop(store, Config(Settings()), [], [], plan, tmp_path / "l", publisher(), **more)
    done = made.turn(only_train=True)
    assert done.training["steps"] == 1
    assert done.live is None


def test_it_is_replaced_by_what_is_proved_over_the_new_one(store: Store, tmp_path: Path) -> None:
    of_another_base(store, tmp_path)
    stub = Stub(store, better)
    done = loop(store, tmp_path / "l", better, collector=stub).turn()
    assert done.promoted
    assert done.live == done.version == "worker-small-2"
    assert [row["state"] for row in Kept(store).all("worker-small")] == ["live", "retired"]


def test_a_loop_that_was_killed_does_not_collect_again(store: Store, tmp_path: Path) -> None:
    first = loop(store, tmp_path, better)

    def killed(groups: Sequence[Group], outcome: Outcome) -> Path:
        raise KeyboardInterrupt

    first._fit = killed  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(KeyboardInterrupt):
        first.turn()
    stub = Stub(store, better)
    assert loop(store, tmp_path, better, collector=stub).turn().promoted
    assert {task for task, _ in stub.asked} == {task.id for task in HELD}


def test_trials_that_had_ended_before_a_kill_are_not_made_again(store: Store, tmp_path: Path) -> None:
    class Killed(Stub):
        def round(self, wanted: Any, versions: Versions = (), *, tell: Any = None, whole: bool = False) -> Round:
            super().round([(TRAIN[0], 3)], versions)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loop(store, tmp_path, better, collector=Killed(store, better)).turn()
    stub = Stub(store, better)
    done = loop(store, tmp_path, better, collector=stub).turn()
    assert done.promoted
    assert done.collected["rollouts"] == 12
    assert sum(count for task, count in stub.asked if task.startswith("t")) == 9


def test_a_turn_that_was_promoted_is_not_made_again(store: Store, tmp_path: Path) -> None:
    """After a kill in round 2, round 1 was proved again, found no step beside itself, and was "rolled back"."""
    first = loop(store, tmp_path, better).turn()
    stub, again = Stub(store, better), publisher("new and previous look alike")
    assert loop(store, tmp_path, better, collector=stub, publisher=again).turn() == first
    assert stub.asked == []
    assert json.loads((tmp_path / "report.json").read_text())["promoted"] is True
    other = Store("sqlite://")  # the folder in hand, but nothing published: it goes on
    assert not loop(other, tmp_path, better, publisher=again).turn().promoted
    other.close()


def test_runs_of_the_store_can_be_learnt_from(store: Store, tmp_path: Path) -> None:
    stub = Stub(store, better)
    ids = stub.round([(task, 2) for task in TRAIN]).run_ids
    stub.asked.clear()
    done = loop(store, tmp_path, better, collector=stub, runs=ids).turn(only_train=True)
    assert stub.asked == []
    assert done.collected["mixed"] == 3
    assert "nothing was published" in done.reason


def test_another_models_runs_are_not_learnt_from(store: Store, tmp_path: Path) -> None:
    stub = Stub(store, better)
    ids = stub.round([(task, 2) for task in TRAIN]).run_ids
    others = {"worker-small": {"another"}}
    done = loop(store, tmp_path, better, collector=stub, runs=ids, models=others).turn(only_train=True)
    assert done.reason == "no rollout can be used (the work of another model: 6)"


def test_a_role_whose_turns_have_no_tokens_learns_nothing(store: Store, tmp_path: Path) -> None:
    """It was said not to have been asked."""
    stub = Stub(store, better)
    stub.world = World(store, keep_tokens=False)
    done = loop(store, tmp_path, better, collector=stub).turn()
    assert done.reason.endswith("(no token ids from the server: 12)")


def test_a_role_that_was_not_asked_learns_nothing(store: Store, tmp_path: Path) -> None:
    made = loop(store, tmp_path, better)
    made.plan = replace(made.plan, role="planner")
    assert "'planner' wrote nothing" in made.turn().reason


def test_a_folder_that_refuses_is_found_before_anything_is_tried(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "there" / "begun.json.part").mkdir(parents=True)  # as a folder that may not be written
    for folder in (tmp_path / "file", tmp_path / "there"):
        collector = Stub(store, better)
        with pytest.raises(TrainingError, match="can not be written to"):
            loop(store, folder, better, collector=collector).turn()
        assert not collector.asked


def test_tasks_to_judge_by_are_not_learnt_from(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'t0' is among those to learn from"):
        loop(store, tmp_path, better, held_out=[TRAIN[0]])


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=20, max_size=60),
    st.integers(0, 5),
)
def test_nothing_passes_whose_mean_is_not_better(pairs: list[tuple[bool, bool]], seed: int) -> None:
    before = {str(n): [float(b)] for n, (b, _) in enumerate(pairs)}
    after = {str(n): [float(a)] for n, (_, a) in enumerate(pairs)}
    verdict = compare(before, after, seed=seed)
    if verdict.passed:
        assert verdict.after > verdict.before
        assert verdict.low > 0
    assert not compare(before, before, seed=seed).passed


def test_equals_seldom_pass() -> None:
    import numpy as np

    passed = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        before, after = ({str(n): [float(v)] for n, v in enumerate(rng.random(40) < 0.5)} for _ in range(2))
        passed += compare(before, after, seed=seed).passed
    assert passed <= 8
