"""Rollouts in the flow: the runtime itself, under local models, makes the trajectories that its models learn from.

``rollout`` is a plain function of plain data, so that any executor can run it, on this machine or on others. It
runs a task with a team, a store and a memory of its own (else the second trial of a task would remember the answer
of the first) and gives the whole run back as a line of ``runs export``. ``Collector`` runs many of them.

After APRIL (Zhou et al., "Active Partial Rollouts in Reinforcement Learning", 2025) a round does not wait for its
longest: when its share is there, what is still on its way is carried over and counts in a later round, with the
version that it was begun with in its rows; truncated importance sampling against the serving log-probabilities
corrects for that in the loss.
"""

import hashlib
import io
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sqlalchemy import insert, select, update

from pointwork.agents import Team
from pointwork.budgets import Budget
from pointwork.errors import ConfigError, PointworkError, UsageError
from pointwork.models import ModelClient
from pointwork.models.engine import hold
from pointwork.portable import export_runs, import_runs
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.store.tables import decisions, models, runs, tool_calls
from pointwork.training.data import fault, mark
from pointwork.training.rewards import Checker

# What a rollout's routing decisions are filed under: the team's router must not take them for its own.
ROUTER = "rollout"

# Attempts of a trial that failed for no fault of a model.
TRIES = 2


@dataclass(frozen=True)
class Task:
    """Something to try.

    Attributes:
        id: trials of one id are a group.
        text: as a user would type it.
        checker: says whether an answer is right; None: a judge or feedback has to.
        root: the folder that agents may read; None: an empty one.
        split: ``train``, ``held-out``, or nothing.
    """

    id: str
    text: str
    checker: Checker | None = None
    root: str | None = None
    split: str = ""


@dataclass(frozen=True)
class Config:
    """How tasks are tried. Plain data.

    Attributes:
        settings: the team's; models by role stand in it.
        temperature: of every call to a local model. At 1 the serving log-probabilities are those of the draw. None
            leaves it to the agents, as in use: for evaluation.
        readings: as ``[run] readings``. ``never``: what a question says outright is left to the model too, which
            learns nothing where it is not asked.
        budget: of one trial.
        seed: of the router's draws, together with task and trial.
        purpose: what the runs are for; those of an evaluation are never trained on.
        clients: ready-made model clients by role (only where the executor need not send them elsewhere).
    """

    settings: Settings
    temperature: float | None = 1.0
    readings: Literal["auto", "always", "never"] = "never"
    budget: Budget = Budget()
    seed: int = 0
    purpose: Literal["training", "evaluation"] = "training"
    clients: Mapping[str, ModelClient] = field(default_factory=dict[str, ModelClient])

    def team_settings(self, seed: int) -> Settings:
        """Those of a trial's team."""
        mine = self.settings
        return mine.model_copy(
            update={
                "store": None,
                "training": mine.training.model_copy(update={"keep_tokens": True, "temperature": self.temperature}),
                "run": mine.run.model_copy(update={"readings": self.readings}),
                "router": mine.router.model_copy(update={"seed": seed}),
            }
        )


@dataclass(frozen=True)
class Trial:
    """What came of one try at a task.

    Attributes:
        task, trial: which. run_id: of its run; empty if none was begun.
        outcome: ``done``; ``environment``: it failed for no fault of a model, and counts for nothing.
        correct: by the task's checker; None: it has none.
        why: of a failure. seconds: wall time. line: the run, as ``runs export`` writes it.
    """

    task: str
    trial: int
    run_id: str
    outcome: Literal["done", "environment"]
    correct: bool | None = None
    text: str = ""
    calls: int = 0
    why: str = ""
    seconds: float = 0.0
    line: bytes = field(default=b"", repr=False)


Versions = tuple[Mapping[str, Any], ...]
"""The model version to try: rows of the table ``models`` that are live while it is tried; none: the base models."""


def rollout(config: Config, task: Task, versions: Versions = (), trial: int = 0) -> Trial:
    """Try a task once, under these model versions, in a world of its own.

    Args:
        config: how. task: what. versions: rows of ``models``.
        trial: number of the try; with the seed it decides what the router draws.

    Raises:
        ConfigError, UsageError: no try can work.
    """
    started = time.perf_counter()
    store = Store("sqlite://")
    try:
        with tempfile.TemporaryDirectory(prefix="pointwork-rollout-") as empty:
            said = _run(config, task, versions, trial, store, task.root or empty)
    finally:
        store.close()
    return replace(said, seconds=time.perf_counter() - started)


def _run(config: Config, task: Task, versions: Versions, trial: int, store: Store, root: str) -> Trial:
    settings = config.team_settings(seed_of(config.seed, task.id, trial))
    _make_live(store, versions)
    why, text = "", ""
    with Team.default(config=settings, store=store, models=config.clients or None) as team:
        try:
            text = team.run(task.text, root=root, budget=config.budget).text
        except (ConfigError, UsageError):
            raise
        except PointworkError as error:
            why = f"{type(error).__name__}: {error}"
        _hold(versions)
    row = store.row(select(runs.c.id))
    if row is None:
        return Trial(task.id, trial, "", "environment", why=why or "no run was begun")
    run_id = str(row["id"])
    correct = None if task.checker is None else bool(text.strip()) and task.checker.right(text)
    mark(store, run_id, task.id, trial=trial, checked=correct, purpose=config.purpose)
    with store.write() as connection:
        connection.execute(update(decisions).values(router=ROUTER))
    why = why or fault(store, run_id)
    calls = len(store.rows(select(tool_calls.c.id)))
    line = next(iter(export_runs(store)))
    outcome = "environment" if why else "done"
    return Trial(task.id, trial, run_id, outcome, correct, text, calls, why, line=line)


def seed_of(seed: int, task: str, trial: int) -> int:
    """A seed for one trial: another one for each, the same in every process."""
    return int.from_bytes(hashlib.sha256(f"{seed}\0{task}\0{trial}".encode()).digest()[:4], "big")


def _make_live(store: Store, versions: Versions) -> None:
    if versions:
        with store.write() as connection:
            connection.execute(insert(models), [{**row, "state": "live", "parent_id": None} for row in versions])


# Of this process: what keeps the last versions' models loaded between trials.
_held: dict[Any, Callable[[], None]] = {}


def _hold(versions: Versions) -> None:
    key = tuple((row["role"], row["version"]) for row in versions)
    if key not in _held:
        kept = hold()
        release()
        _held[key] = kept


def release() -> None:
    """Give back the models that this process keeps loaded between trials."""
    while _held:
        _held.popitem()[1]()


@dataclass
class Round:
    """What one round brought.

    Attributes:
        trials: that ended in it, carried ones among them.
        carried: trials of earlier rounds among them. late: trials of this round that are still on their way.
        environment: trials that failed for no fault of a model: reason -> how many.
        seconds: wall time.
    """

    trials: list[Trial] = field(default_factory=list[Trial])
    carried: int = 0
    late: int = 0
    environment: dict[str, int] = field(default_factory=dict[str, int])
    seconds: float = 0.0

    @property
    def run_ids(self) -> list[str]:
        """Of the trials that count."""
        return [trial.run_id for trial in self.trials]


@dataclass(frozen=True)
class _Ticket:
    """A trial on its way: of which round, and how often it was tried."""

    task: Task
    versions: Versions
    number: int
    begun: int
    tries: int = 1


class Collector:
    """Runs trials in worker processes and brings their runs into a store.

    Args:
        store: where runs go.
        config: how tasks are tried.
        workers: processes; the trainer's own process never loads a serving model.
        executor: another one (threads, Ray's, none of ours); it is not closed here.
        share: part of a round's trials that it waits for; the rest is carried over.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        *,
        workers: int = 1,
        executor: Executor | None = None,
        share: float = 1.0,
    ) -> None:
        if workers < 1 or not 0 < share <= 1:
            raise UsageError(f"workers must be at least 1 and the share above 0, not {workers} and {share!r}")
        self.store, self.config, self.share = store, config, share
        self._own = executor is None
        # spawned, not forked: threads and the database's connections do not survive a fork
        self._pool = executor or ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
        self._open: dict[Future[Trial], _Ticket] = {}
        self._round = 0
        self._next: dict[str, int] = {}

    def go_on(self, had: Mapping[str, int]) -> None:
        """Number trials on from those that tasks have had: an earlier process made them, each number one draw."""
        for task, count in had.items():
            self._next[task] = max(count, self._next.get(task, 0))

    def round(
        self,
        wanted: Sequence[tuple[Task, int]],
        versions: Versions = (),
        *,
        tell: Callable[[int, int], None] = lambda _done, _all: None,
        whole: bool = False,
    ) -> Round:
        """Try tasks, each so many times; returns when the share of these trials has ended.

        Args:
            wanted: tasks and numbers of trials.
            versions: the model version to try.
            tell: told trials done, of how many.
            whole: wait for all of them and for no others, numbered from 0: the same draws for each version.

        Raises:
            ConfigError, UsageError: no try can work.
            StoreError: the store refused.
        """
        started, now = time.perf_counter(), self._round
        self._round += 1
        waiting: set[Future[Trial]] = set() if whole else set(self._open)
        for task, count in wanted:
            first = 0 if whole else self._next.get(task.id, 0)
            for number in range(first, first + count):
                waiting.add(self._submit(_Ticket(task, versions, number, now)))
            if not whole:
                self._next[task.id] = first + count
        total = sum(count for _, count in wanted) or len(waiting)
        needed, done, found = total if whole else max(1, round(self.share * total)), 0, Round()
        while waiting and done < needed:
            ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ended:
                ticket, trial = self._open.pop(future), future.result()
                if trial.outcome == "environment":
                    found.environment[trial.why] = found.environment.get(trial.why, 0) + 1
                    if ticket.tries < TRIES:
                        waiting.add(self._submit(replace(ticket, tries=ticket.tries + 1)))
                        continue
                else:
                    self._take_in(trial)
                    found.trials.append(trial)
                    found.carried += ticket.begun < now
                done += ticket.begun == now or not wanted
                tell(min(done, needed), needed)
        found.late = sum(ticket.begun == now for ticket in self._open.values())
        found.seconds = time.perf_counter() - started
        return found

    def _submit(self, ticket: "_Ticket") -> Future[Trial]:
        future = self._pool.submit(rollout, self.config, ticket.task, ticket.versions, ticket.number)
        self._open[future] = ticket
        return future

    def _take_in(self, trial: Trial) -> None:
        """At once: what has ended is kept, whatever happens to the rest."""
        import_runs(self.store, io.BytesIO(trial.line.rstrip(b"\n") + b"\n"))

    def close(self) -> None:
        """Stop; what is on its way is given up."""
        for future in self._open:
            future.cancel()
        self._open.clear()
        if self._own:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> "Collector":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
