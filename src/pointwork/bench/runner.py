"""Asks each system each task, keeps what is done, and goes on where it was."""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, cast

from pointwork.bench.systems import Answer, Bench, Setup
from pointwork.bench.tasks import Task
from pointwork.errors import ProviderError, UsageError
from pointwork.memory.playbook import Bullet
from pointwork.settings import Settings

RECORDS, ABOUT = "records.jsonl", "run.json"

# Tasks that one system is asked before the next one's turn.
BLOCK = 12

# So many answers in a row that ended in an error of the model's back end: it is not there.
ERRORS_IN_A_ROW = 5


@dataclass(frozen=True)
class Record:
    """One answer of one system to one task, as it is kept.

    Attributes:
        task, kind, split: of the task.
        system: who was asked.
        right: whether the checker accepted ``text``.
        text: the short answer.
        status, author, steps, arms, missing, error: how it came about.
        usd, seconds, prompt_tokens, completion_tokens, calls: what it took.
    """

    task: str
    kind: str
    split: str
    system: str
    right: bool
    text: str
    status: str
    author: str
    steps: tuple[str, ...]
    arms: tuple[str, ...]
    missing: tuple[str, ...]
    error: str
    usd: float
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    calls: int

    @classmethod
    def of(cls, task: Task, system: str, answer: Answer) -> "Record":
        """From an answer; here it is checked."""
        return cls(
            task.id,
            task.kind,
            task.split,
            system,
            bool(answer.text.strip()) and task.checker.right(answer.text),
            answer.text,
            answer.status,
            answer.author,
            answer.steps,
            answer.arms,
            answer.missing,
            answer.error,
            answer.used.usd,
            round(answer.seconds, 3),
            answer.used.prompt_tokens,
            answer.used.completion_tokens,
            answer.used.calls,
        )

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Record":
        """The inverse of ``asdict``, after JSON."""
        known: dict[str, Any] = {name.name: row[name.name] for name in fields(cls)}
        for name in ("steps", "arms", "missing"):
            known[name] = tuple(known[name])
        return cls(**known)


class Folder:
    """The folder of one run: what was asked, and the answers, a line of JSON each.

    Raises:
        UsageError: it holds a run of something else, or can not be written.
    """

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._keep(dict(about))
        except OSError as error:
            raise UsageError(f"can not write to the folder {path}: {error.strerror}") from error
        self.records = read_records(path)

    def _keep(self, about: dict[str, Any]) -> None:
        file = self.path / ABOUT
        if not file.exists():
            file.write_text(json.dumps({"created": time.time(), **about}, indent=2) + "\n", encoding="utf-8")
            return
        kept = read_about(self.path)
        if isinstance(kept.get("settings"), dict):  # what the version that wrote it did not know has its default
            kept["settings"] = settings_of(Settings.model_validate(kept["settings"]))
        other = [name for name, value in about.items() if kept.get(name) != value]
        if other:
            raise UsageError(
                f"the folder {self.path} holds a run with another {', '.join(other)} "
                f"({other[0]}: {kept.get(other[0])!r}, now {about[other[0]]!r}); give another --out"
            )

    def add(self, record: Record) -> None:
        """Keep an answer: it is on disk when this returns."""
        line = json.dumps(asdict(record), ensure_ascii=False) + "\n"
        try:
            with (self.path / RECORDS).open("a", encoding="utf-8") as file:
                file.write(line)
        except OSError as error:
            raise UsageError(f"can not write to the folder {self.path}: {error.strerror}") from error
        self.records.append(record)


def about_run(setup: Setup, tasks: Sequence[Task], models: Mapping[str, str], source: str) -> dict[str, Any]:
    """What a run is of: only what is alike in all of this may be counted together."""
    asked = json.dumps([task.row for task in sorted(tasks, key=lambda task: task.id)], sort_keys=True)
    price = setup.price
    return {
        "tasks": source,
        "tasks_digest": _digest(asked),
        "models": dict(models),
        "price": None if price is None else [price.prompt, price.completion],
        "seed": setup.seed,
        "learn": setup.learn,
        "playbook": _of_playbook(setup.playbook),
        "settings": settings_of(setup.settings),
    }


def _of_playbook(bullets: Sequence[Bullet]) -> str | None:
    if not bullets:
        return None
    said = [[b.section, b.text, b.helpful, b.harmful, *b.sources] for b in bullets]
    return f"{len(bullets)} bullets, {_digest(json.dumps(said))}"


def settings_of(settings: Settings) -> dict[str, Any]:
    """What a run's answers depend on; models have a place of their own."""
    return settings.model_dump(mode="json", exclude={"store", "models"})


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run(bench: Bench, tasks: Sequence[Task], systems: Sequence[str], folder: Folder) -> Iterator[Record]:
    """Ask what was not asked before; yields each answer when it is kept.

    An answer that came to an error outside of any run (no model server, above all) is asked again.

    Raises:
        ProviderError: the model's back end failed many times in a row.
    """
    done = {(record.task, record.system) for record in latest(folder.records) if not record.error}
    errors = 0
    for task, system in in_blocks(tasks, systems):
        if (task.id, system) in done:
            continue
        record = Record.of(task, system, bench.ask(system, task))
        folder.add(record)
        yield record
        errors = errors + 1 if record.error.startswith(_BACK_END) else 0
        if errors == ERRORS_IN_A_ROW:
            raise ProviderError(f"stopped after {errors} errors in a row, the last: {record.error}")


def in_blocks(tasks: Sequence[Task], systems: Sequence[str]) -> Iterator[tuple[Task, str]]:
    """What to ask whom, in order: some tasks of one system, then the same ones of the next.

    Never the same task of two systems one after the other: a model that keeps the last prompts would answer the
    second at a third of the time, as both ask it much the same.
    """
    for first in range(0, len(tasks), BLOCK):
        for system in systems:
            for task in tasks[first : first + BLOCK]:
                yield task, system


_BACK_END = ("ProviderError", "ProviderTimeout", "RateLimited")


def latest(records: Sequence[Record]) -> list[Record]:
    """One record per task and system: the last."""
    return list({(record.task, record.system): record for record in records}.values())


def read_records(folder: Path) -> list[Record]:
    """The answers of a run.

    A last line that a killed process left half written is taken off, so that the next one begins a line of its own.

    Raises:
        UsageError: another line is broken; the message names it.
    """
    file = folder / RECORDS
    if not file.exists():
        return []
    raw = file.read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    if whole != raw:
        file.write_bytes(whole)
    found: list[Record] = []
    for number, line in enumerate(whole.decode("utf-8", errors="replace").splitlines(), 1):
        try:
            found.append(Record.from_json(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{file}:{number} is not an answer of a run: {error}") from error
    return found


def read_about(folder: Path) -> dict[str, Any]:
    """What a run's folder says it is of.

    Raises:
        UsageError: it is no run's folder.
    """
    try:
        about: Any = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder} is not the folder of a run: {ABOUT}: {error}") from error
    if not isinstance(about, dict):
        raise UsageError(f"{folder} is not the folder of a run: {ABOUT} is not a JSON object")
    return cast(dict[str, Any], about)
