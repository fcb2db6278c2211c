"""Rollouts: worlds of their own, whose failure is whose, and that nobody waits for the longest."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from pointwork.bench.checkers import Number
from pointwork.errors import ConfigError, ProviderError
from pointwork.models import ChatRequest, ScriptedClient, Step
from pointwork.settings import ModelSettings, PlannerSettings, RunSettings, Settings
from pointwork.store import Store, tables
from pointwork.training.data import collect
from pointwork.training.rollouts import ROUTER, Collector, Config, Task, rollout, seed_of

SETTINGS = Settings(planner=PlannerSettings(mode="rules"), run=RunSettings(max_replans=0))
TASK = Task("sum", "What is 17 times 23?", Number(391.0))


def scripted(say: Any) -> Config:
    return Config(SETTINGS, clients={"worker-small": ScriptedClient([Step(say, times=None)])})


def call(expression: str) -> str:
    return '{"tool": "calculate", "arguments": {"expression": "' + expression + '"}}'


def right(request: ChatRequest) -> str:
    return call("17*23")


def wrong(request: ChatRequest) -> str:
    return call("17+23")


def test_a_rollout_is_a_whole_run_with_the_checkers_word(store: Store) -> None:
    with Collector(store, scripted(right), executor=ThreadPoolExecutor(1)) as collector:
        done = collector.round([(TASK, 2)])
    assert [(trial.outcome, trial.correct, trial.trial) for trial in done.trials] == [
        ("done", True, 0),
        ("done", True, 1),
    ]
    (group,) = collect(store, run_ids=done.run_ids).groups
    assert group.task == "sum"
    assert [rollout.reward for rollout in group.rollouts] == [1.0, 1.0]
    assert store.rows(select(tables.steps).where(tables.steps.c.kind == "model"))


def test_the_second_trial_does_not_remember_the_first(store: Store) -> None:
    with Collector(store, scripted(right), executor=ThreadPoolExecutor(1)) as collector:
        collector.round([(TASK, 2)])
    assert store.rows(select(tables.memory_items)) == []
    for used in store.rows(select(tables.memory_usage)):
        assert used["items"] == []


def test_the_teams_router_does_not_learn_from_what_was_drawn_for_training(store: Store) -> None:
    with Collector(store, scripted(right), executor=ThreadPoolExecutor(1)) as collector:
        collector.round([(TASK, 1)])
    assert {row["router"] for row in store.rows(select(tables.decisions))} == {ROUTER}


def test_a_wrong_answer_is_the_models_and_a_broken_back_end_is_not(store: Store) -> None:
    said = rollout(scripted(wrong), TASK)
    assert (said.outcome, said.correct) == ("done", False)

    def broken(request: ChatRequest) -> str:
        raise ProviderError("the server is gone")

    said = rollout(scripted(broken), TASK)
    assert (said.outcome, said.why) == ("environment", "the back end failed (ProviderError)")
    with Collector(store, scripted(broken), executor=ThreadPoolExecutor(1)) as collector:
        done = collector.round([(TASK, 2)])
    assert done.trials == []
    # each is tried twice
    assert done.environment == {"the back end failed (ProviderError)": 4}
    assert store.rows(select(tables.runs)) == []


def test_a_configuration_that_can_not_work_is_said_at_once() -> None:
    with pytest.raises(ConfigError):
        rollout(Config(Settings(models={"worker-small": ModelSettings(model="no such model")})), TASK)


def test_stragglers_are_carried_over(store: Store) -> None:
    slow, free = threading.Event(), threading.Event()

    def say(request: ChatRequest) -> str:
        if "slow" in str(request.messages):
            slow.set()
            assert free.wait(30)
        return call("17*23")

    task = Task("slow", "What is 17 times 23, slow one?", Number(391.0))
    with Collector(store, scripted(say), executor=ThreadPoolExecutor(2), share=0.5) as collector:
        first = collector.round([(task, 1), (TASK, 1)])
        assert slow.wait(30)
        assert [trial.task for trial in first.trials] == ["sum"]
        assert (first.late, first.carried) == (1, 0)
        free.set()
        second = collector.round([])
        assert ([trial.task for trial in second.trials], second.carried) == (["slow"], 1)
    assert len(store.rows(select(tables.runs))) == 2


def test_a_trials_numbers_go_on_and_so_do_its_seeds(store: Store) -> None:
    with Collector(store, scripted(right), executor=ThreadPoolExecutor(1)) as collector:
        numbers = [trial.trial for _ in range(2) for trial in collector.round([(TASK, 2)]).trials]
    assert sorted(numbers) == [0, 1, 2, 3]
    assert len({seed_of(0, "sum", number) for number in numbers}) == 4


def test_numbers_go_on_from_what_an_earlier_process_has_tried(store: Store) -> None:
    with Collector(store, scripted(right), executor=ThreadPoolExecutor(1)) as collector:
        collector.go_on({TASK.id: 5})
        first = [trial.trial for trial in collector.round([(TASK, 1)]).trials]
        collector.go_on({TASK.id: 2})  # what it knows itself is more
        second = [trial.trial for trial in collector.round([(TASK, 1)]).trials]
    assert (first, second) == ([5], [6])


def test_runs_of_an_evaluation_are_never_trained_on(store: Store) -> None:
    config = replace(scripted(right), purpose="evaluation", temperature=None)
    with Collector(store, config, executor=ThreadPoolExecutor(1)) as collector:
        numbers = [[trial.trial for trial in collector.round([(TASK, 2)], whole=True).trials] for _ in range(2)]
    assert numbers == [[0, 1], [0, 1]]
    data = collect(store)
    assert data.groups == ()
    assert dict(data.report.dropped_runs) == {"drawn for an evaluation": 4}


def test_the_worker_is_plain_data_and_a_plain_function(tmp_path: Path) -> None:
    config = Config(SETTINGS, seed=3)
    again = pickle.loads(pickle.dumps((rollout, config, TASK, ({"role": "planner", "version": "v"},))))
    assert again[0] is rollout
    assert again[1:3] == (config, TASK)
