"""Runs beside each other on the same tasks: what a setting, a model or a change is worth."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from pointwork.bench.report import ALL, MULTI, Run
from pointwork.bench.runner import Record, latest
from pointwork.bench.tasks import KINDS, MULTI_STEP
from pointwork.errors import UsageError

_Z = 1.959963984540054


@dataclass(frozen=True)
class Pair:
    """One run beside the base on one kind of task: only tasks that both were asked count.

    Attributes:
        kind, run, system: what is counted.
        tasks: that both were asked.
        base, right: right answers of the base and of the run.
        gained, lost: tasks that only the run, only the base answered rightly.
        difference: of the success, run minus base; ``low`` and ``high`` are its 95 % interval.
        usd, seconds: means per task of the run; ``base_usd``, ``base_seconds`` of the base.
    """

    kind: str
    run: str
    system: str
    tasks: int
    base: int
    right: int
    gained: int
    lost: int
    difference: float
    low: float
    high: float
    usd: float
    base_usd: float
    seconds: float
    base_seconds: float

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


def paired_interval(gained: int, lost: int, tasks: int) -> tuple[float, float]:
    """The 95 % interval of a difference of two shares of the same tasks.

    Bonett and Price, "Adjusted Wald Confidence Interval for a Difference of Binomial Proportions Based on Paired
    Data" (2012): one more task is taken to be gained and one to be lost, so that it holds for few tasks too.
    """
    if tasks == 0:
        return -1.0, 1.0
    up, down = (gained + 1) / (tasks + 2), (lost + 1) / (tasks + 2)
    half = _Z * math.sqrt((up + down - (up - down) ** 2) / (tasks + 2))
    return max(-1.0, up - down - half), min(1.0, up - down + half)


def beside(runs: Sequence[Run], base: str, system: str) -> tuple[list[Pair], list[str]]:
    """Each run beside the base, per kind of task, of the multi-step ones together, and in all; and remarks.

    Args:
        runs: the base among them.
        base: its name.
        system: whose answers are compared.

    Raises:
        UsageError: there is no such run, or nothing to compare it with.
    """
    found = [run for run in runs if run.name == base]
    if not found:
        raise UsageError(f"there is no run {base!r}; there are {', '.join(run.name for run in runs)}")
    ours = _answers(found[0], system)
    if not ours:
        raise UsageError(f"the run {base!r} has no answer of the system {system!r}; choose one with --system")
    pairs: list[Pair] = []
    remarks: list[str] = []
    for run in runs:
        if run is found[0]:
            continue
        if run.about.get("tasks_digest") != found[0].about.get("tasks_digest"):
            remarks.append(f"{run.name} was asked other tasks")
            continue
        theirs = _answers(run, system)
        common = [task for task in ours if task in theirs]
        if not common:
            remarks.append(f"{run.name} has no answer of {system} to the same tasks")
            continue
        if len(common) < max(len(ours), len(theirs)):
            shared = f"{len(common)} tasks (of {len(theirs)} and {len(ours)})"
            remarks.append(f"{run.name} and {base} share {shared}; only they count")
        pairs += _pairs(run.name, system, [(ours[task], theirs[task]) for task in common])
    if not pairs:
        raise UsageError("; ".join([f"there is no run to compare {base!r} with", *remarks]))
    return pairs, remarks


def _answers(run: Run, system: str) -> dict[str, Record]:
    return {record.task: record for record in latest(run.records) if record.system == system}


def _pairs(run: str, system: str, answers: Sequence[tuple[Record, Record]]) -> list[Pair]:
    kinds = sorted({ours.kind for ours, _ in answers}, key=lambda kind: (*KINDS, kind).index(kind))
    groups = [(kind, [pair for pair in answers if pair[0].kind == kind]) for kind in kinds]
    if len(set(kinds) & set(MULTI_STEP)) > 1:
        groups.append((MULTI, [pair for pair in answers if pair[0].kind in MULTI_STEP]))
    if len(kinds) > 1:
        groups.append((ALL, list(answers)))
    return [_pair(kind, run, system, group) for kind, group in groups]


def _pair(kind: str, run: str, system: str, answers: Sequence[tuple[Record, Record]]) -> Pair:
    count = len(answers)
    gained = sum(theirs.right and not ours.right for ours, theirs in answers)
    lost = sum(ours.right and not theirs.right for ours, theirs in answers)
    low, high = paired_interval(gained, lost, count)
    return Pair(
        kind,
        run,
        system,
        count,
        sum(ours.right for ours, _ in answers),
        sum(theirs.right for _, theirs in answers),
        gained,
        lost,
        (gained - lost) / count,
        low,
        high,
        usd=sum(theirs.usd for _, theirs in answers) / count,
        base_usd=sum(ours.usd for ours, _ in answers) / count,
        seconds=sum(theirs.seconds for _, theirs in answers) / count,
        base_seconds=sum(ours.seconds for ours, _ in answers) / count,
    )


def changes(base: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """What is different about two runs, in words: ``run.judge: false → true``."""
    names = ("models", "price", "seed", "learn", "playbook", "settings")
    before, after = ({name: about.get(name) for name in names} for about in (base, other))
    for about in (before, after):  # one model in all roles is one change
        served: dict[str, str] = about["models"] or {}
        about["models"] = next(iter(served.values())) if len(set(served.values())) == 1 else served
    return [f"{path}: {_said(old)} → {_said(new)}" for path, old, new in _changed("", before, after)]


def _changed(path: str, old: Any, new: Any) -> list[tuple[str, Any, Any]]:
    if old == new:
        return []
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return [(path.removeprefix("settings."), old, new)]
    before, after = cast(Mapping[str, Any], old), cast(Mapping[str, Any], new)
    return [
        found
        for name in dict.fromkeys([*before, *after])
        for found in _changed(f"{path}.{name}".strip("."), before.get(name), after.get(name))
    ]


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
