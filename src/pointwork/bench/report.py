"""Success with its interval, money, time, tokens and calls: per kind of task and in all."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pointwork.bench.runner import ABOUT, Record, latest, read_about, read_records
from pointwork.bench.tasks import KINDS, MULTI_STEP
from pointwork.errors import UsageError

ALL, MULTI = "all", "multi-step"

# 95 %, two-sided.
_Z = 1.959963984540054


@dataclass(frozen=True)
class Row:
    """One system on one kind of task. Money, seconds, tokens and calls are means per task.

    Attributes:
        tasks, right: how many were asked, and answered rightly.
        success: the share; ``low`` and ``high`` are its 95 % interval.
        cost_of_pass: money per right answer; None if there is none.
        planned: of the right answers, the share whose plan a model wrote; None if there is none.
    """

    kind: str
    system: str
    tasks: int
    right: int
    success: float
    low: float
    high: float
    usd: float
    cost_of_pass: float | None
    seconds: float
    tokens: float
    calls: float
    planned: float | None

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


def wilson(right: int, tasks: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson): it holds for few tasks, and near 0 and 1, too."""
    if tasks == 0:
        return 0.0, 1.0
    share, z2 = right / tasks, _Z * _Z
    middle = (share + z2 / (2 * tasks)) / (1 + z2 / tasks)
    half = _Z * math.sqrt(share * (1 - share) / tasks + z2 / (4 * tasks * tasks)) / (1 + z2 / tasks)
    # at the ends rounding would leave a hair that is not there
    return (middle - half if right else 0.0), (middle + half if right < tasks else 1.0)


def summarise(records: Sequence[Record]) -> list[Row]:
    """Rows per kind (in the suite's order), of the multi-step kinds together, and of all tasks."""
    records = latest(records)
    kinds = sorted({record.kind for record in records}, key=lambda kind: (*KINDS, kind).index(kind))
    groups: list[tuple[str, list[Record]]] = [(kind, [r for r in records if r.kind == kind]) for kind in kinds]
    if len(set(kinds) & set(MULTI_STEP)) > 1:
        groups.append((MULTI, [r for r in records if r.kind in MULTI_STEP]))
    if len(kinds) > 1:
        groups.append((ALL, records))
    systems = list(dict.fromkeys(record.system for record in records))
    rows = [
        (kind, system, [r for r in group if r.system == system]) for kind, group in groups for system in systems
    ]
    return [_row(*row) for row in rows if row[2]]


def _row(kind: str, system: str, records: Sequence[Record]) -> Row:
    count = len(records)
    right = [record for record in records if record.right]
    success, usd = len(right) / count, sum(r.usd for r in records) / count
    learned = ("model", "repaired", "program", "decomposer", "calculation")
    by_model = sum(record.author in learned for record in right)
    has_plans = any(record.author for record in records)
    return Row(
        kind,
        system,
        count,
        len(right),
        success,
        *wilson(len(right), count),
        usd=usd,
        cost_of_pass=usd / success if right else None,
        seconds=sum(r.seconds for r in records) / count,
        tokens=sum(r.prompt_tokens + r.completion_tokens for r in records) / count,
        calls=sum(r.calls for r in records) / count,
        planned=by_model / len(right) if right and has_plans else None,
    )


COLUMNS = (
    "kind",
    "system",
    "right",
    "success",
    "95 %",
    "$/1000",
    "$/1000 right",
    "s",
    "tokens",
    "calls",
    "model's plan",
)


def cells(row: Row) -> tuple[str, ...]:
    """A row as it is printed; whose plan it was is said of multi-step tasks."""
    return (
        row.kind,
        row.system,
        f"{row.right}/{row.tasks}",
        f"{row.success:.0%}",
        f"{row.low:.0%}-{row.high:.0%}",
        _usd(row.usd),
        "-" if row.cost_of_pass is None else _usd(row.cost_of_pass),
        f"{row.seconds:.1f}",
        f"{row.tokens:.0f}",
        f"{row.calls:.1f}",
        f"{row.planned:.0%}" if row.planned is not None and row.kind in (*MULTI_STEP, MULTI) else "",
    )


def _usd(value: float) -> str:
    """Of a thousand: a small model's answer costs less than a hundredth of a cent."""
    return f"{value * 1000:.3g}" if value else "0"


@dataclass(frozen=True)
class Run:
    """A run that was kept: its folder's name, what it is of, its rows, and the answers that they sum up."""

    name: str
    about: dict[str, Any]
    rows: list[Row]
    records: list[Record] = field(default_factory=list[Record])

    @property
    def models(self) -> str:
        """The models that it was asked with."""
        return ", ".join(dict.fromkeys(self.about["models"].values()))

    def total(self, system: str) -> Row | None:
        """All tasks of one system: the last of its rows."""
        return next((row for row in reversed(self.rows) if row.system == system), None)


def runs_in(folder: Path) -> list[Run]:
    """The runs kept in a folder, oldest first: the folder may be one itself, or hold several.

    Raises:
        UsageError: there is none.
    """
    places = [folder, *sorted(folder.glob("*"))] if folder.is_dir() else []
    found: list[Run] = []
    for place in places:
        if (place / ABOUT).is_file():
            records = read_records(place)
            if records:
                found.append(Run(place.name, read_about(place), summarise(records), records))
    if not found:
        raise UsageError(
            f"there is no run in {folder}: start one with pointwork bench starter --out {folder}/first"
        )
    return sorted(found, key=lambda run: run.about.get("created", 0.0))
