"""Trials in waves: what a task has shown in one decides what it gets in the next (``allotting``)."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pointwork.training.allotting import Allotment
from pointwork.training.rollouts import Round, Task
from pointwork.training.samples import Rollout

WAVES = 3


def tried(
    tasks: Sequence[Task],
    before: Sequence[Rollout],
    allotment: Allotment,
    play: Callable[[Sequence[tuple[Task, int]]], Round],
    go_on: Callable[[Mapping[str, int]], None],
    *,
    trials: int,
    most: int,
) -> dict[str, Any]:
    """Have tasks tried, so many times in all.

    Args:
        tasks: of the round.
        before: trials of it that an earlier process brought home.
        allotment: told of every trial that ends.
        play: has tasks tried, each so many times.
        go_on: told how many trials each task has had, so that numbers, and with them draws, go on from there.
        trials: in all, those of before among them.
        most: of one task.

    Returns:
        JSON types: ids of the ``runs``; how many trials are ``late``; what failed by its ``environment``.
    """
    have = dict.fromkeys((task.id for task in tasks), 0)
    for rollout in before:
        have[rollout.task] += 1
        allotment.add(rollout.task, rollout.correct)
    go_on(have)
    runs, late, failed = [rollout.run_id for rollout in before], 0, Counter[str]()
    for wave in range(1, WAVES + 1):
        budget = max(0, math.ceil(trials * wave / WAVES) - sum(have.values()))
        planned = allotment.plan([task.id for task in tasks], budget, most=most, have=have)
        wanted = [(task, planned[task.id]) for task in tasks if planned[task.id]]
        if not wanted:
            continue
        done = play(wanted)
        for trial in done.trials:
            allotment.add(trial.task, bool(trial.correct))
        have = {name: count + planned[name] for name, count in have.items()}
        runs += done.run_ids
        late = done.late
        failed.update(done.environment)
    return {"runs": runs, "late": late, "environment": dict(failed)}
