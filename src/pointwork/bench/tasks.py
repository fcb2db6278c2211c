"""The tasks: the starter suite that comes with the package, and those of a user's own file."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from pointwork.bench.checkers import Checker, SpecError, from_row
from pointwork.errors import UsageError

Split = Literal["train", "held-out", "all"]

KINDS = ("arithmetic", "tables", "lookup", "dates-units", "two-step", "three-step")

# Tasks whose later step needs the answer of an earlier one.
MULTI_STEP = ("two-step", "three-step")

STARTER = Path(__file__).parent / "starter"

_FIELDS = {"id", "kind", "split", "task", "answer", "checker", "files", "tolerance", "aliases", "not", "ordered"}

# The longest task that a team takes. Refused here, as it would end a run in the middle.
MAX_CHARS = 20_000

# Lines of a broken file that one message tells of.
_SHOWN = 10


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        id: unique in its file.
        kind: what is counted together.
        text: as the user types it.
        checker: says whether an answer is right.
        root: the folder that may be read, or None for a task without files.
        split: ``train`` or ``held-out``; empty in a file that does not say.
        row: the line it was read from.
    """

    id: str
    kind: str
    text: str
    checker: Checker
    root: Path | None
    split: str
    row: dict[str, Any]


def starter_tasks(split: Split = "train") -> list[Task]:
    """The tasks of the starter suite."""
    wanted = ("train", "held-out") if split == "all" else (split,)
    return [task for name in wanted for task in load_tasks(STARTER / f"tasks.{name}.jsonl")]


def split_of(ids: Sequence[str]) -> dict[str, str]:
    """The half of each task of one kind, by the hash of its id.

    Of the first two ids one is held out, of the next two one, and so on: the halves are equal, and a pair that is
    added later moves no task from one half to the other.
    """
    found: dict[str, str] = {}
    ordered = sorted(ids)
    for pair in zip(ordered[::2], ordered[1::2], strict=True):
        train, held_out = sorted(pair, key=lambda id_: hashlib.sha256(id_.encode()).hexdigest())
        found |= {train: "train", held_out: "held-out"}
    return found


def load_tasks(path: Path) -> list[Task]:
    """Tasks from lines of JSON: ``task``, ``answer`` or ``checker``, and perhaps ``files``, ``id``, ``kind``.

    Raises:
        UsageError: the file can not be read, or lines are wrong; the message names file, line and field.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()  # other systems' editors put a mark at its start
    except OSError as error:
        raise UsageError(f"can not read the tasks in {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 at byte {error.start}") from error
    tasks: list[Task] = []
    problems: list[str] = []
    first_line: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            task = _read(line, number, path.parent)
            if task.id in first_line:
                raise SpecError("id", f"{task.id!r} stands in line {first_line[task.id]} too")
        except SpecError as error:
            problems.append(
                f"{path}:{number}: {error.field}: {error}" if error.field else f"{path}:{number}: {error}"
            )
            continue
        first_line[task.id] = number
        tasks.append(task)
    if problems:
        more = len(problems) - _SHOWN
        raise UsageError("\n".join(problems[:_SHOWN] + ([f"and {more} more lines"] if more > 0 else [])))
    if not tasks:
        raise UsageError(f"{path} has no tasks: write one JSON object per line, with 'task' and 'answer'")
    return tasks


def _read(line: str, number: int, folder: Path) -> Task:
    try:
        row: Any = json.loads(line)
    except ValueError as error:
        raise SpecError("", f"not valid JSON: {error}") from error
    if not isinstance(row, dict):
        raise SpecError("", "must be a JSON object")
    row = cast(dict[str, Any], row)
    unknown = sorted(row.keys() - _FIELDS)
    if unknown:
        raise SpecError(unknown[0], f"unknown field; known: {', '.join(sorted(_FIELDS))}")
    text = _text(row, "task", "")
    if not text.strip():
        raise SpecError("task", "is missing or empty")
    if len(text) > MAX_CHARS:
        raise SpecError(
            "task", f"has {len(text):,} characters, at most {MAX_CHARS:,} are taken; put it into a file"
        )
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise SpecError("task", "is no valid text: it holds half a surrogate pair")
    split = _text(row, "split", "")
    if split not in ("", "train", "held-out"):
        raise SpecError("split", f"must be train or held-out, not {split!r}")
    id_, kind = _text(row, "id", f"line-{number}"), _text(row, "kind", "own")
    return Task(id_, kind, text, from_row(row), _root(row, folder), split, row)


def _text(row: dict[str, Any], field: str, default: str) -> str:
    value = row.get(field, default)
    if not isinstance(value, str):
        raise SpecError(field, f"must be a text, not {value!r}")
    return value


def _root(row: dict[str, Any], folder: Path) -> Path | None:
    if row.get("files") is None:
        return None
    root = folder / Path(_text(row, "files", "")).expanduser()
    if not root.is_dir():
        raise SpecError("files", f"there is no folder {str(root)!r}")
    return root.resolve()


def choose(
    tasks: Iterable[Task], *, split: Split = "all", kinds: Sequence[str] = (), limit: int | None = None
) -> list[Task]:
    """Some of the tasks: of a split, of some kinds, and at most ``limit``, of each kind in turn.

    Raises:
        UsageError: a kind that no task has, or nothing is left.
    """
    tasks = list(tasks)
    there = list(dict.fromkeys(task.kind for task in tasks))
    unknown = [kind for kind in kinds if kind not in there]
    if unknown:
        raise UsageError(f"no task is of the kind {unknown[0]!r}; there are {', '.join(there)}")
    columns = [
        [task for task in tasks if task.kind == kind and split in ("all", task.split)]
        for kind in there
        if not kinds or kind in kinds
    ]
    # in turn, so that a run that is stopped early has seen something of each kind
    longest = max((len(column) for column in columns), default=0)
    chosen = [column[n] for n in range(longest) for column in columns if n < len(column)]
    if not chosen:
        raise UsageError(
            f"no task is in the split {split!r}: the tasks of this file name none" if tasks else "no task"
        )
    return chosen[:limit]
