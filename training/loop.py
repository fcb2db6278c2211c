"""The loop that all trainers share: steps, checkpoints, evaluation, early stop, alarm, interruption, display."""

import json
import math
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Generic, Literal, TypeVar

import torch

from pointwork.errors import TrainingError, UsageError
from pointwork.extras import available
from pointwork.training import checkpoint, curves, tensors
from pointwork.training.display import Display
from pointwork.training.memory import gpu_bytes, peak_bytes, reset_peak, tokens_at_once
from pointwork.training.model import LocalModel
from pointwork.training.packing import Batch, Sample, pack
from pointwork.training.sources import Source, Stateful
from pointwork.training.watch import Watch

METRICS = "metrics.jsonl"
T = TypeVar("T")


# Tokens computed at once on a CPU. On two cores 17 turns of 1,080 take 2.6 GB and 37 s; with 8,192 13.3 and 51.
BUDGET = 2048


# Steps on a GPU from which on compiling the model pays: it takes a minute, beside others that do so two or three.
LONG = 500


@dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes:
        steps: optimiser steps (batches of the source) in all.
        lr: peak learning rate of AdamW; ``warmup``: steps over which it rises from 0.
        schedule: what it does then, until ``steps``.
        weight_decay: of AdamW.
        clip: largest norm of the gradient.
        width, budget: of ``packing.pack``; budget None: ``BUDGET``, on a GPU what fits its memory. Memory grows
            with it, and the step is the same.
        longest: calls with more tokens than this are left out, and counted.
        save_every: steps between checkpoints; ``keep``: how many are kept.
        evaluate_every: steps between held-out evaluations; 0: never.
        patience: evaluations without a new best after which to stop; 0: never.
        tolerance: differences of the held-out metric up to this are noise.
        seed: of torch.
        compiled: compile the model (``LocalModel.compile``); None: on a GPU, where there are steps enough.
    """

    steps: int
    lr: float = 1e-4
    warmup: int = 0
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    weight_decay: float = 0.0
    clip: float = 1.0
    width: int = 1024
    budget: int | None = None
    longest: int = 4096
    save_every: int = 10
    keep: int = 2
    evaluate_every: int = 0
    patience: int = 0
    tolerance: float = 0.0
    seed: int = 0
    compiled: bool | None = None

    def __post_init__(self) -> None:
        if self.steps < 1 or not 0 < self.lr < math.inf or self.save_every < 1 or self.keep < 1:
            raise UsageError("steps, save_every and keep must be from 1, and the learning rate a number above 0")

    def rate(self, step: int) -> float:
        """Learning rate of step ``step`` (from 0) as a share of ``lr``."""
        if step < self.warmup:
            return (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        if self.schedule == "linear":
            return max(0.0, 1.0 - done)
        return 0.5 * (1.0 + math.cos(math.pi * min(1.0, done))) if self.schedule == "cosine" else 1.0


@dataclass(frozen=True)
class Report:
    """How a training run ended.

    Attributes:
        steps: done in all, those before a resume included.
        stopped: ``finished``, ``early`` (no better on the held-out metric) or ``interrupted`` (``fit`` goes on).
        best, best_step: best held-out metric and the step that it was measured after; its weights are in ``best/``.
        alarm: what is wrong if the training reward rose while the held-out metric fell; else empty.
        metrics: of the last step.
        folder: where checkpoints, metrics and weights are.
    """

    steps: int
    stopped: Literal["finished", "early", "interrupted"]
    best: float | None
    best_step: int
    alarm: str
    metrics: dict[str, float]
    folder: Path

    def curves(self, points: int = 100) -> dict[str, list[list[float]]]:
        """Curves of the run for the store: [[step, value], …] by metric."""
        return curves.thinned(curves.read(self.folder / METRICS), points)


class Trainer(ABC, Generic[T]):
    """One training run in one folder; ``fit`` starts it or takes it up where it was.

    Args:
        model: is trained in place.
        source: gives the batches.
        settings: how to.
        folder: of this run: ``checkpoints/``, ``metrics.jsonl``, ``curves.png``, weights ``best/`` and ``final/``.
        evaluate: held-out metric of the model as it is, higher is better; must not draw from global random states.
        callbacks: called after each step with the trainer and the step's metrics, before the checkpoint.
        show: progress bar and live table on stderr; None: if it is a terminal.

    Attributes:
        step: steps done. versions: published versions, oldest first; callbacks append, checkpoints keep.
        watch: held-out figures so far.
    """

    def __init__(
        self,
        model: LocalModel,
        source: Source[T],
        settings: Settings,
        folder: str | Path,
        *,
        evaluate: Callable[[LocalModel], float] | None = None,
        callbacks: Sequence["Callable[[Trainer[T], dict[str, float]], None]"] = (),
        show: bool | None = None,
    ) -> None:
        self.model, self.source, self.settings = model, source, settings
        self.folder = Path(folder)
        self.step = 0
        self.versions: list[str] = []
        self.watch = Watch(settings.patience, settings.tolerance)
        self._evaluate, self._callbacks, self._show = evaluate, list(callbacks), show
        self._metrics: dict[str, float] = {}
        parameters = list(model.trained().values())
        self._optimiser: Any = torch.optim.AdamW(parameters, lr=settings.lr, weight_decay=settings.weight_decay)

    def packed(self, samples: Sequence[Sample]) -> list[Batch]:
        """Rows that share prefixes, in micro-batches that fit the device."""
        return pack(samples, width=self.settings.width, budget=self.settings.budget or self._fitting())

    def _fitting(self) -> int:
        if self.model.device.type != "cuda":
            return BUDGET
        return tokens_at_once(self.model.causal.config, gpu_bytes(self.model.device))

    @abstractmethod
    def update(self, batch: Sequence[T]) -> dict[str, float]:
        """Learn from one batch; figures of it, ``reward`` among them if there is one."""

    def described(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to be taken up, as JSON types."""
        same = asdict(self.settings)
        # These do not change what a step does; a longer run is the same run unless the rate depends on its length.
        for name in ("save_every", "keep", "evaluate_every", "patience", "tolerance", "compiled"):
            del same[name]
        if self.settings.schedule == "constant":
            del same["steps"]
        form = asdict(self.model.lora) if self.model.lora else None
        return json.loads(json.dumps({**same, "base": self.model.fingerprint, "adapter": form}))

    def fit(self) -> Report:
        """Train until the steps are done, the held-out metric says stop, or Ctrl-C; always leaves a checkpoint.

        Raises:
            TrainingError: the loss is not finite, the disk refuses, or the folder's checkpoint is of another run.
        """
        with self._writing("the run"):
            self.folder.mkdir(parents=True, exist_ok=True)
        tensors.seed(self.settings.seed)
        self._resume()
        if self._compiles():
            self.model.compile()
        stopped: Literal["finished", "early", "interrupted"] = "finished"
        if self.step == 0 and self._due(0):
            self._hold_out({})
        with _interruptible() as interrupted, Display(self.settings.steps, self.step, self._show) as display:
            stopped = "early" if self.watch.exhausted else stopped  # before a resume: not a step more
            while self.step < self.settings.steps and stopped == "finished":
                self._one_step(display)
                if self.watch.exhausted:
                    stopped = "early"
                elif interrupted.is_set() and self.step < self.settings.steps:
                    stopped = "interrupted"
                if stopped != "finished" or self.step in (self.settings.steps,) or self._saves():
                    self._save()
        with self._writing("weights and curves"):
            if stopped != "interrupted":
                self.model.save(self.folder / "final")
            if available("matplotlib"):
                curves.draw(curves.read(self.metrics_file), self.folder / "curves.png", title=self.folder.name)
        watch = self.watch
        return Report(
            self.step, stopped, watch.best, watch.best_step, watch.alarm, dict(self._metrics), self.folder
        )

    def _compiles(self) -> bool:
        if self.settings.compiled is not None:
            return self.settings.compiled
        return self.model.device.type == "cuda" and self.settings.steps - self.step >= LONG

    def _one_step(self, display: Display) -> None:
        started = time.perf_counter()
        reset_peak()
        batch = self.source(self.step)
        sourced = time.perf_counter()
        metrics = {"step": float(self.step + 1), **self.update(batch)}
        self.step += 1
        metrics |= {"rollout_seconds": sourced - started, "seconds": time.perf_counter() - started}
        metrics["memory_mb"] = peak_bytes() / 1e6
        if "reward" in metrics:
            self.watch.train(self.step, metrics["reward"])
        if self._due(self.step):
            self._hold_out(metrics)
        self._metrics = metrics
        for callback in self._callbacks:
            callback(self, metrics)
        self._log(metrics)
        display.step(metrics, self.watch.alarm)

    def _due(self, step: int) -> bool:
        every = self.settings.evaluate_every
        return self._evaluate is not None and bool(every) and (step % every == 0 or step == self.settings.steps)

    def _hold_out(self, metrics: dict[str, float]) -> None:
        assert self._evaluate is not None
        value = self._evaluate(self.model)
        metrics["held_out"] = value
        if self.step == 0:
            self._log({"step": 0.0, "held_out": value})
        if self.watch.evaluate(self.step, value):
            with self._writing("the best weights"):
                self.model.save(self.folder / "best")
        metrics["alarm"] = float(bool(self.watch.alarm))

    def backward(self, loss: torch.Tensor) -> None:
        """Gradient of a part of the step's loss, added to what is there.

        Raises:
            TrainingError: the loss is not a finite number.
        """
        if not bool(torch.isfinite(loss)):
            raise self._diverged(f"the loss of step {self.step + 1} is {loss.item()}")
        tensors.backward(loss)

    def advance(self) -> dict[str, float]:
        """One optimiser step with the gradient that is there; its norm before clipping, and the learning rate."""
        rate = self.settings.lr * self.settings.rate(self.step)
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        norm = torch.nn.utils.clip_grad_norm_(list(self.model.trained().values()), self.settings.clip)
        if not bool(torch.isfinite(norm)):
            raise self._diverged(f"the gradient of step {self.step + 1} is not finite")
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)
        return {"grad_norm": float(norm), "lr": rate}

    def _diverged(self, what: str) -> TrainingError:
        return TrainingError(f"{what}: lower the learning rate; the last checkpoint in {self.folder} is sound")

    # what stays on the disk

    @property
    def metrics_file(self) -> Path:
        """One JSON object per step."""
        return self.folder / METRICS

    def _writing(self, what: str) -> AbstractContextManager[None]:
        return checkpoint.writing(what, self.folder)

    def _log(self, metrics: Mapping[str, float]) -> None:
        with self._writing("metrics"), self.metrics_file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({name: _short(value) for name, value in metrics.items()}) + "\n")

    def _saves(self) -> bool:
        return self.step % self.settings.save_every == 0

    def _save(self) -> None:
        meta = {
            "described": self.described(),
            "versions": self.versions,
            "watch": self.watch.state(),
            "metrics": self._metrics,
            "source": self.source.state() if isinstance(self.source, Stateful) else None,
        }
        checkpoint.save(
            self.folder / "checkpoints", self.step, self.model, self._optimiser, meta, keep=self.settings.keep
        )

    def _resume(self) -> None:
        found = checkpoint.checkpoints(self.folder / "checkpoints")
        if not found:
            self._truncate(-1)
            return
        meta = checkpoint.described(found[-1])
        if meta["described"] != self.described():
            mine, was = self.described(), dict(meta["described"])
            other = ", ".join(f"{n} was {was.get(n)}" for n in {**was, **mine} if was.get(n) != mine.get(n))
            raise TrainingError(
                f"the checkpoint {found[-1]} is of another run ({other}); use the same settings to go on with it, "
                "or another folder"
            )
        saved = checkpoint.load(found[-1], self.model)
        self._optimiser.load_state_dict(saved.optimiser)
        self.step = int(saved.meta["step"])
        self.versions = list(saved.meta["versions"])
        self._metrics = dict(saved.meta["metrics"])
        self.watch.restore(saved.meta["watch"])
        if isinstance(self.source, Stateful):
            self.source.restore(saved.meta["source"])
        self._truncate(self.step)

    def _truncate(self, step: int) -> None:
        """Forget the lines of steps that will be done again."""
        if not self.metrics_file.exists():
            return
        kept: list[str] = []
        for line in self.metrics_file.read_text(encoding="utf-8").splitlines():
            try:
                done = json.loads(line)["step"]
            except ValueError:  # cut off by a kill
                continue
            if done <= step:
                kept.append(line + "\n")
        temp = self.metrics_file.with_suffix(".tmp")
        with self._writing("metrics"):
            temp.write_text("".join(kept), encoding="utf-8")
            temp.replace(self.metrics_file)


def tokens_of(batches: Sequence[Batch]) -> dict[str, float]:
    """Size of packed batches: nodes computed, and the same with nothing shared."""
    nodes = sum(int((batch.ends > 0).sum()) for batch in batches)
    return {"nodes": float(nodes), "padded": float(sum(batch.ids.numel() for batch in batches))}


def _short(value: float) -> float:
    return int(value) if math.isfinite(value) and value == int(value) else value  # steps as 3, not 3.0


@contextmanager
def _interruptible() -> Generator[threading.Event, None, None]:
    """Ctrl-C (once) lets the step end and be saved; a second one ends at once, the last checkpoint being whole."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
