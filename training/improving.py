"""The loop: collect → train → verify → publish → evaluate → promote, or roll back for a stated reason.

A candidate is proved to serve (the probe of ``publication``) and measured on tasks that it was not trained on,
beside what is live, before the role is switched to it. Until then it is live only in a store of its own, from which
the trials of its evaluation read it: nothing goes live without the proof of its gain.

Everything lies in one folder: what was collected (run ids), the trainer's checkpoints, the report. A loop that was
killed goes on there: what was collected is not collected again, training resumes at its last checkpoint.
"""

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointwork.errors import PublicationError, TrainingError, UsageError
from pointwork.roles import ROLES
from pointwork.store import Store
from pointwork.training import notes, waves
from pointwork.training.allotting import Allotment
from pointwork.training.data import collect
from pointwork.training.origins import live_on
from pointwork.training.proving import Verdict, compare
from pointwork.training.reading import Tokenizer
from pointwork.training.rollouts import Collector, Config, Task, Trial, Versions
from pointwork.training.samples import Group, Kind

if TYPE_CHECKING:
    from pointwork.training.publication.publisher import Publisher

Tell = Callable[[str, int, int], None]
"""Told a stage, what is done of it, of how much."""


@dataclass(frozen=True)
class Plan:
    """What one turn of the loop does.

    Attributes:
        role: whose turns are trained. kind: the advantage estimator.
        trials: to collect. most: of one task.
        steps: optimiser steps. groups: of a step. rate: learning rate. rank: of the adapter.
        evaluations: of each held-out task, by the candidate and by what is live.
        least: held-out tasks below which no gain can be proved.
        share: part of a round's trials that it waits for.
        seed: of everything drawn.
    """

    role: str = "worker-small"
    kind: Kind = "group"
    trials: int = 64
    most: int = 8
    steps: int = 8
    groups: int = 8
    rate: float = 1e-4
    rank: int = 16
    evaluations: int = 1
    least: int = 20
    share: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.rate < math.inf:  # said now, not after hours of trials
            raise UsageError(f"the learning rate must be a number above 0, not {self.rate}")


@dataclass
class Outcome:
    """How a turn of the loop ended.

    Attributes:
        promoted: the candidate is live. reason: why, or why not.
        version: its name, where it came so far. live: what serves the role now; None: the base.
        collected: the report of the data. training: figures of the last step. verdict: of the evaluation.
        seconds: of each stage.
    """

    promoted: bool = False
    reason: str = ""
    version: str = ""
    live: str | None = None
    collected: dict[str, Any] = field(default_factory=dict[str, Any])
    training: dict[str, Any] = field(default_factory=dict[str, Any])
    verdict: Verdict | None = None
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


class Interrupted(TrainingError):
    """Ctrl-C ended the training after a step that is saved; the message says how to go on."""


class NotPromoted(Exception):
    """The turn ends here; the message is the reason."""


class Loop:
    """Turns of the loop for one role.

    Args:
        store: the record; runs go there, and the version that passes.
        config: how tasks are tried.
        train, held_out: tasks to learn from, and to judge by; no id may be in both.
        plan: what a turn does.
        folder: of this loop; one that exists is taken up.
        publisher: makes the publisher of a store, from the turns that were collected.
        base: the weights that are trained, as ``LocalModel.load`` takes them.
        runs: ids of runs that are in the store already, to learn from instead of collecting.
        workers: processes for trials. collector: a ready-made one, which is not closed here.
        tokenizer: for turns of which no server gave the tokens; None leaves those out.
        models: role -> names of the model that serves it, as ``collect`` takes them: others' turns are left out.
        tell: told what goes on.

    Raises:
        UsageError: a task is in both sets, or there are none to learn from.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        train: Sequence[Task],
        held_out: Sequence[Task],
        plan: Plan,
        folder: Path,
        publisher: "Callable[[Store, Sequence[Group]], Publisher]",
        *,
        base: str | Path = "embedded",
        runs: Sequence[str] | None = None,
        workers: int = 1,
        collector: Collector | None = None,
        tokenizer: Tokenizer | None = None,
        models: Mapping[str, Collection[str]] | None = None,
        tell: Tell = lambda _stage, _done, _all: None,
    ) -> None:
        both = {task.id for task in train} & {task.id for task in held_out}
        if both or (not train and runs is None):
            raise UsageError(
                f"task {min(both)!r} is among those to learn from and among those to judge by"
                if both
                else "there are no tasks to learn from"
            )
        self.store, self.config, self.plan, self.folder = store, config, plan, folder
        self._train, self._held_out = list(train), list(held_out)
        self._publisher, self._base, self._tell = publisher, base, tell
        self._runs = None if runs is None else {"runs": list(runs), "late": 0, "environment": dict[str, int]()}
        self._tokenizer, self._models = tokenizer, models
        self._own = collector is None
        self._collector = collector or Collector(store, config, workers=workers, share=plan.share)
        self.allotment = Allotment()

    def close(self) -> None:
        """Stop the workers."""
        if self._own:
            self._collector.close()

    def __enter__(self) -> "Loop":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def turn(self, *, only_train: bool = False) -> Outcome:
        """One turn.

        Args:
            only_train: end with the trained adapter, ``training/final`` in the folder; publish nothing.

        Raises:
            TrainingError, StoreError, ConfigError: it could not be ended. Nothing was switched; the same folder
                goes on where it was.
        """
        before = None if only_train else self._ended()
        if before is not None:
            return before
        outcome = Outcome()
        try:
            groups = self._timed(outcome, "collect", lambda: self._collect(outcome))
            adapter = self._timed(outcome, "train", lambda: self._fit(groups, outcome))
            if only_train:
                raise NotPromoted(
                    f"the adapter is in {adapter}; nothing was published ('pointwork models publish' does that)"
                )
            staged = self._timed(outcome, "verify", lambda: self._stage(adapter, groups, outcome))
            verdict: Verdict = self._timed(outcome, "evaluate", lambda: self._evaluate(staged))
            outcome.verdict = verdict
            if not verdict.passed:
                raise NotPromoted(verdict.reason)
            self._timed(outcome, "publish", lambda: self._go_live(adapter, groups, outcome))
        except (NotPromoted, PublicationError) as why:
            outcome.reason = str(why)
            self._keep_refused(outcome)
        else:
            outcome.promoted = True
            outcome.reason = verdict.reason
        live = self._live()
        outcome.live = None if live is None else str(live["version"])
        self._write("report.json", outcome.as_json())
        return outcome

    def _ended(self) -> Outcome | None:
        """What this folder has come to, if it was promoted: there is no step to prove a second time."""
        from sqlalchemy import select

        from pointwork.store.tables import models

        kept: dict[str, Any] = self._read("report.json") or {}
        query = select(models).where(models.c.role == self.plan.role, models.c.version == kept.get("version"))
        if not kept.get("promoted") or self.store.row(query) is None:
            return None
        kept["verdict"] = Verdict(**kept["verdict"])
        return Outcome(**kept)

    def _timed(self, outcome: Outcome, stage: str, work: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        self._tell(stage, 0, 0)
        try:
            return work()
        finally:
            outcome.seconds[stage] = round(time.perf_counter() - started, 2)

    # collect

    def _collect(self, outcome: Outcome) -> tuple[Group, ...]:
        kept: dict[str, Any] = self._runs or self._read("collected.json") or self._tried_now()
        data = collect(
            self.store,
            roles=[self.plan.role],
            run_ids=kept["runs"],
            tokenizer=self._tokenizer,
            imported_as=self.plan.role,
            models=self._models,
        )
        outcome.collected = {**data.report.as_json(), "late": kept["late"], "environment": kept["environment"]}
        useless = data.report.useless(self.plan.role)
        if useless:
            raise NotPromoted(useless)
        return data.groups

    def _tried_now(self) -> dict[str, Any]:
        """Trials of the tasks, less those that an earlier process of this folder has brought home."""
        begun = self._read("begun.json")
        if begun is None:
            begun = {"at": time.time()}
            self._write("begun.json", begun)
        own = {task.id for task in self._train}
        there = [group for group in collect(self.store, since=begun["at"]).groups if group.task in own]
        before = [rollout for group in there for rollout in group.rollouts]
        kept = waves.tried(
            self._train,
            before,
            self.allotment,
            lambda wanted: self._collector.round(
                wanted, self._versions(), tell=lambda n, of: self._tell("collect", n, of)
            ),
            self._collector.go_on,
            trials=self.plan.trials,
            most=self.plan.most,
        )
        if not kept["runs"]:
            raise NotPromoted("every task always ends alike: there is nothing to learn from")
        self._write("collected.json", kept)
        return kept

    def _versions(self) -> Versions:
        """What serves now, of all roles."""
        rows = (live_on(self.store, self.config.settings, role) for role in ROLES)
        return tuple(row for row in rows if row is not None)

    def _live(self) -> Mapping[str, Any] | None:
        return live_on(self.store, self.config.settings, self.plan.role)

    # train

    def _fit(self, groups: Sequence[Group], outcome: Outcome) -> Path:
        from pointwork.training.advantages import advantages
        from pointwork.training.loop import Settings
        from pointwork.training.lora import Lora
        from pointwork.training.model import LocalModel
        from pointwork.training.sources import Shuffled
        from pointwork.training.trainer import GRPOTrainer

        plan, live = self.plan, self._live()
        # a step on tasks that always end alike would be an empty one
        useful = [groups[index] for index in advantages(groups, plan.kind).kept]
        if not useful:
            raise NotPromoted(
                f"no task has trials that {plan.kind!r} can tell apart: there is nothing to learn from"
            )
        lora = Lora(plan.rank, 2 * plan.rank)
        parent = None if live is None else Path(live["path"])
        model = LocalModel.load(self._base, lora=None if parent else lora, adapter=parent, seed=plan.seed)
        trainer = GRPOTrainer(
            model,
            Shuffled(useful, plan.groups, seed=plan.seed),
            Settings(steps=plan.steps, lr=plan.rate, save_every=max(1, plan.steps // 4), seed=plan.seed),
            self.folder / "training",
            kind=plan.kind,
            roles=[plan.role],
            temperature=self.config.temperature or 1.0,
            callbacks=[lambda trainer, _: self._tell("train", trainer.step, plan.steps)],
            show=False,
        )
        report = trainer.fit()
        outcome.training = {"steps": report.steps, "stopped": report.stopped, **report.metrics}
        if report.stopped == "interrupted":
            raise Interrupted(
                f"interrupted after {report.steps} steps; the same command with --out {self.folder} goes on"
            )
        if report.alarm:
            raise NotPromoted(report.alarm)
        return report.folder / "final"

    # verify, evaluate, publish

    def _stage(self, adapter: Path, groups: Sequence[Group], outcome: Outcome) -> Versions:
        """The candidate, proved to serve, as it would be live: in a store of its own."""
        staging = Store("sqlite://")
        try:
            others = [row for row in self._versions() if row["role"] != self.plan.role]
            live = self._live()
            if live is not None:
                self._copy(staging, live)
            publisher = self._publisher(staging, groups)
            done = publisher.publish(adapter, self.plan.role)
            outcome.version = done.version
            row = publisher.versions.live(self.plan.role)
            assert row is not None
            return (*others, row)
        finally:
            staging.close()

    @staticmethod
    def _copy(staging: Store, row: Mapping[str, Any]) -> None:
        from sqlalchemy import insert

        from pointwork.store.tables import models

        with staging.write() as connection:
            connection.execute(insert(models), [{**row, "parent_id": None}])

    def _evaluate(self, staged: Versions) -> Verdict:
        if not self._held_out:
            return Verdict(False, "there are no held-out tasks to judge it by")
        # as in use: greedy, with the readings that the configuration allows
        config = replace(
            self.config, temperature=None, readings=self.config.settings.run.readings, purpose="evaluation"
        )
        found: list[dict[str, list[float]]] = []
        for versions in (self._versions(), staged):
            with_it = [(task, self.plan.evaluations) for task in self._held_out]
            trials = self._tried(config, with_it, versions)
            scores: dict[str, list[float]] = {}
            for trial in trials:
                scores.setdefault(trial.task, []).append(float(bool(trial.correct)))
            found.append(scores)
        return compare(found[0], found[1], least=self.plan.least, seed=self.plan.seed)

    def _tried(self, config: Config, wanted: Sequence[tuple[Task, int]], versions: Versions) -> list[Trial]:
        before = self._collector.config
        self._collector.config = config
        try:
            trials = self._collector.round(
                wanted, versions, tell=lambda n, of: self._tell("evaluate", n, of), whole=True
            ).trials
        finally:
            self._collector.config = before
        return trials

    def _go_live(self, adapter: Path, groups: Sequence[Group], outcome: Outcome) -> None:
        assert outcome.verdict is not None
        metrics = {"verdict": asdict(outcome.verdict), "training": outcome.training}
        outcome.version = (
            self._publisher(self.store, groups).publish(adapter, self.plan.role, metrics=metrics).version
        )
        self.allotment.age()

    def _keep_refused(self, outcome: Outcome) -> None:
        verdict = None if outcome.verdict is None else asdict(outcome.verdict)
        self._write("refused.json", {"version": outcome.version, "reason": outcome.reason, "verdict": verdict})

    # what stays on the disk

    def _write(self, name: str, value: Any) -> None:
        notes.write(self.folder, name, value)

    def _read(self, name: str) -> Any:
        return notes.read(self.folder, name)
