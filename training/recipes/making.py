"""Trains an adapter of a recipe and says what it is worth on the examples that it never saw."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pointwork.errors import TrainingError, UsageError
from pointwork.models import Message
from pointwork.models.adapters import FILE, adapters_dir
from pointwork.training import notes
from pointwork.training.bases import directory_of
from pointwork.training.loop import Settings
from pointwork.training.lora import Lora
from pointwork.training.model import LocalModel, native_bf16
from pointwork.training.packing import Sample
from pointwork.training.publication.gguf_lora import WEIGHTS, write_peft
from pointwork.training.publication.target import file_digest
from pointwork.training.recipes.pages import SHARING
from pointwork.training.recipes.roles import Role, Task, accuracy, tasks
from pointwork.training.samples import Example, Group, Rollout, Turn
from pointwork.training.sampling import sample
from pointwork.training.sources import Shuffled
from pointwork.training.trainer import GRPOTrainer, SFTTrainer

# In an optimiser step: pages, or views of tables, with up to ``SHARING`` questions each; examples of other roles.
BATCH = {"reader": 12, "querier": 4}
EXAMPLES = 16
# Passes over the examples, where nothing else is asked for; a reckoner's tasks are among them in several tellings.
EPOCHS, ONCE = 2.0, {"reckoner": 1.0}
# Tasks of a step of which several answers are drawn.
TASKS = 8
ANSWER_TOKENS = 200
NOTE = "made.json"
SHIPPED, PARENT = "shipped", "parent"


@dataclass(frozen=True)
class Made:
    """What a recipe came to.

    Attributes:
        role: of the adapter. base: the model that it belongs to. folder: where it is (peft's form).
        examples: trained on; held_out: not. epochs, seed, lr, batch: of the training.
        before, after: share of the held-out examples that are answered right: without an adapter or with the
            parent, and with it.
        stopped: ``finished``, or ``interrupted``: the same command goes on.
        parent: version of the adapter that it went on from; empty: a new one.
        trials: answers that were drawn of each task; 0: examples were imitated.
    """

    role: Role
    base: str
    folder: str
    examples: int
    held_out: int
    epochs: float
    seed: int
    lr: float
    before: float
    after: float
    stopped: str
    batch: int = EXAMPLES
    parent: str = ""
    trials: int = 0


def make(
    role: Role,
    folder: Path,
    *,
    data: Path | None = None,
    base: str = "embedded",
    epochs: float | None = None,
    lr: float | None = None,
    seed: int = 0,
    most: int = 1500,
    limit: int | None = None,
    batch: int | None = None,
    parent: str | Path | None = None,
    trials: int = 0,
    show: bool | None = None,
) -> Made:
    """Train a role's adapter; Ctrl-C keeps what is done, and the same call goes on.

    Args:
        role, data, seed, most: see ``tasks``.
        folder: gets checkpoints, curves, the adapter (``final``) and ``made.json``.
        base: the model (``LocalModel.load``).
        epochs: passes over the examples; None: 2, for a reckoner, whose tasks are told three times, 1.
        lr: peak learning rate; None: 6e-4 to imitate, 1e-4 with ``trials``.
        limit: only so many examples, and so many held out: to see that it works.
        batch: examples of a step, or pages and views of tables; None: as many as two cores do in seconds.
        parent: an adapter to go on from, peft's folder or a ``.gguf`` file; ``shipped``: the package's.
        trials: instead of imitating the examples, draw so many answers to each task and learn from which of them
            are right (GRPO; Shao et al., "DeepSeekMath", 2024). What can do nothing yet learns nothing so.
        show: a progress bar; None: on a terminal.

    Raises:
        UsageError: GSM8K is not in ``data``; there is no such parent; one trial has none to be compared with.
        TrainingError: the folder is of another recipe, or can not be written to; see ``Trainer.fit``.
    """
    if trials == 1 or trials < 0:
        raise UsageError(
            f"answers to a task are compared with each other: trials must be 0 or from 2, not {trials}"
        )
    kept: dict[str, Any] = notes.read(folder, NOTE) or {}
    found, version = _parent(role, parent, folder, kept)
    _same(kept, role, version, folder)
    taught, held_out = tasks(role, data, seed=seed, most=most, limit=limit)
    if not kept:
        # a folder that refuses is found before anything is computed
        notes.write(folder, NOTE, {"role": role, "parent": version})
    model = _model(base, found, folder, seed)
    lr = (1e-4 if trials else 6e-4) if lr is None else lr
    epochs = ONCE.get(role, EPOCHS) if epochs is None else epochs
    batch = batch or (TASKS if trials else BATCH.get(role, EXAMPLES))
    source = Drawn(model, taught, batch, trials, seed) if trials else Bundled(taught, batch, seed)
    # a run that is taken up has its first figure already: the model is no longer what it was
    before = kept["before"] if "before" in kept else accuracy(held_out, _answers(model))
    notes.write(folder, NOTE, {"role": role, "parent": version, "before": before})
    report = _trainer(model, source, folder, epochs, lr, seed, show).fit()
    after = accuracy(held_out, _answers(model))
    made = Made(
        role,
        model.name,
        str(folder / "final"),
        len(taught),
        len(held_out),
        epochs,
        seed,
        lr,
        before,
        after,
        report.stopped,
        batch,
        version,
        trials,
    )
    notes.write(folder, NOTE, {**asdict(made), "machine": platform.machine()})
    return made


def _trainer(
    model: LocalModel,
    source: "Drawn | Bundled",
    folder: Path,
    epochs: float,
    lr: float,
    seed: int,
    show: bool | None,
) -> GRPOTrainer | SFTTrainer:
    steps = max(1, round(epochs * source.steps_per_epoch))
    settings = Settings(
        steps=steps, lr=lr, warmup=min(20, steps // 10), schedule="cosine", save_every=20, seed=seed
    )
    if isinstance(source, Drawn):
        return GRPOTrainer(model, source, settings, folder, show=show)
    return SFTTrainer(model, source, settings, folder, show=show)


class Bundled:
    """Batches of examples; those of one page are one item, so that it is computed once."""

    def __init__(self, taught: Sequence[Task], size: int, seed: int) -> None:
        bundles: list[list[Example]] = []
        for place, task in enumerate(taught):
            last = taught[place - 1].page if place else ""
            if not task.page or task.page != last or len(bundles[-1]) == SHARING:
                bundles.append([])
            bundles[-1].append(task.example)
        self._batches = Shuffled(bundles, size, seed=seed)

    @property
    def steps_per_epoch(self) -> int:
        """As of ``Shuffled``."""
        return self._batches.steps_per_epoch

    def __call__(self, step: int) -> list[Example | Sample]:
        """The batch of a step."""
        return [example for bundle in self._batches(step) for example in bundle]


class Drawn:
    """Groups of answers to tasks, drawn by the model as it is, each worth 1 if it is right."""

    def __init__(self, model: LocalModel, taught: Sequence[Task], size: int, trials: int, seed: int) -> None:
        self._model, self._trials, self._seed = model, trials, seed
        self._batches = Shuffled(taught, size, seed=seed)

    @property
    def steps_per_epoch(self) -> int:
        """As of ``Shuffled``."""
        return self._batches.steps_per_epoch

    def __call__(self, step: int) -> list[Group]:
        """The groups of a step."""
        tasks = self._batches(step)
        asked = [self._model.chat_ids([dict(m) for m in task.example.messages[:-1]]) for task in tasks]
        seed, rows = self._seed * 1_000_003 + step, _rows(self._model, on_cpu=64)
        drawn = sample(self._model, asked, n=self._trials, max_tokens=ANSWER_TOKENS, seed=seed, rows=rows)
        found: list[Group] = []
        for place, (task, prompt, answers) in enumerate(zip(tasks, asked, drawn, strict=True)):
            name = f"{step}.{place}"
            texts = [self._model.decode(answer.ids) if answer.ended else None for answer in answers]
            worth = {text: text is not None and task.right(text) for text in set(texts)}  # many are the same
            right = [worth[text] for text in texts]
            turns = [Turn(task.example.role, prompt, answer.ids, answer.logprobs) for answer in answers]
            rollouts = [Rollout(name, (turn,), float(so), so) for turn, so in zip(turns, right, strict=True)]
            found.append(Group(name, tuple(rollouts)))
        return found


def _parent(role: Role, given: str | Path | None, folder: Path, kept: dict[str, Any]) -> tuple[Path | None, str]:
    """Where the adapter to go on from is, and its version: role and digest, as of what ships.

    A training that is taken up keeps its copy: what ships may be another by then.
    """
    if given is None:
        return None, ""
    if str(given) == SHIPPED and kept.get("parent") and (folder / PARENT / WEIGHTS).is_file():
        return folder / PARENT, str(kept["parent"])
    place = adapters_dir() / role / FILE if str(given) == SHIPPED else Path(given)
    file = place / WEIGHTS if place.is_dir() else place
    if not file.is_file():
        raise UsageError(f"there is no adapter to go on from at {file}; give peft's folder or a .gguf file")
    return place, f"{role}-{file_digest(file)[:12]}"


def _model(base: str, parent: Path | None, folder: Path, seed: int) -> LocalModel:
    bf16 = native_bf16() or None
    if parent is None:
        return LocalModel.load(base, lora=Lora(rank=16, alpha=32), seed=seed, bf16=bf16)
    if parent.is_file():
        parent = write_peft(parent, directory_of(base), folder / PARENT)
    return LocalModel.load(base, adapter=parent, seed=seed, bf16=bf16)


def _same(kept: dict[str, Any], role: Role, parent: str, folder: Path) -> None:
    """Whether what an earlier call noted in the folder is this training; else it is said."""
    if kept.get("role", role) != role:
        raise TrainingError(f"{folder} holds the training of {kept['role']}, not of {role}; give another folder")
    # one that was refused before it computed anything leaves the folder free
    if "before" in kept and kept.get("parent", "") != parent:
        raise TrainingError(
            f"{folder} holds a training that went on from {kept.get('parent') or 'nothing'}, not from "
            f"{parent or 'nothing'}; give another folder"
        )


def _rows(model: LocalModel, on_cpu: int) -> int:
    """Answers that are drawn at once."""
    return 256 if model.device.type == "cuda" else on_cpu


def _answers(model: LocalModel) -> Callable[[Sequence[Sequence[Message]]], list[str]]:
    def answer(prompts: Sequence[Sequence[Message]]) -> list[str]:
        ids = [model.chat_ids([dict(m) for m in messages]) for messages in prompts]
        drawn = sample(model, ids, max_tokens=ANSWER_TOKENS, temperature=0.0, rows=_rows(model, on_cpu=16))
        return [model.decode(completions[0].ids) for completions in drawn]

    return answer
