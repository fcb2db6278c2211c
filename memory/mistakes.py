"""Mistake notes: what goes wrong alike becomes one note, kept only if a replay with it goes better (after MNL)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pointwork.embedding import Embedder, default_embedder
from pointwork.errors import UsageError
from pointwork.memory.playbook import PROOF, Playbook

_ALIKE = 0.6  # cosine to the first of a cluster
_LEAST = 2  # failures of a cluster; one alone is chance
SECTION = "mistakes"


@dataclass(frozen=True, slots=True)
class Failure:
    """A task that went wrong.

    Attributes:
        task: what was asked.
        mistake: what went wrong, in words: the error, or what the check said.
        source: where that is recorded, for example ``run:ID``.
    """

    task: str
    mistake: str
    source: str


@dataclass(frozen=True, slots=True)
class Trial:
    """A note and what its replay showed: mean success without and with it, on how many tasks."""

    note: str
    failures: tuple[Failure, ...]
    before: float
    after: float
    kept: str | None  # id of its bullet


Write = Callable[[Sequence[Failure]], str]
Replay = Callable[[Sequence[Failure], str | None], Sequence[float]]


def clusters(failures: Sequence[Failure], embedder: Embedder | None = None) -> list[list[Failure]]:
    """Failures whose mistakes are alike, largest cluster first; each failure is in one.

    Leader clustering: a failure joins the first cluster whose first member is near enough, else begins one.
    """
    if not failures:
        return []
    vectors = (embedder or default_embedder()).embed([failure.mistake for failure in failures])
    leaders: list[int] = []
    members: list[list[Failure]] = []
    for number, failure in enumerate(failures):
        near = vectors[leaders] @ vectors[number] if leaders else np.zeros(0)
        best = int(np.argmax(near)) if len(near) else -1
        if best >= 0 and near[best] >= _ALIKE:
            members[best].append(failure)
        else:
            leaders.append(number)
            members.append([failure])
    return sorted(members, key=len, reverse=True)


def learn(
    playbook: Playbook,
    failures: Sequence[Failure],
    *,
    write: Write,
    replay: Replay,
    least_gain: float = 0.0,
    most: int | None = None,
    embedder: Embedder | None = None,
) -> list[Trial]:
    """Write a note for each cluster, replay its tasks with and without it, and keep what helped.

    Args:
        playbook: where kept notes go, in section ``mistakes``.
        failures: what went wrong.
        write: failures of a cluster -> one note of at most two sentences (a model, or a rule).
        replay: tasks and a note (None: without one) -> the success of each, 0 to 1.
        least_gain: the mean success must rise by more than this.
        most: failures of a cluster that are replayed, the first; None: all.
        embedder: for the clustering.

    Raises:
        UsageError: a replay gave another number of results than tasks.
    """
    trials: list[Trial] = []
    for cluster in clusters(failures, embedder):
        if len(cluster) < _LEAST:
            break
        cluster = cluster[:most]
        note = write(cluster)
        before, after = (np.array(replay(cluster, some), float) for some in (None, note))
        if len(before) != len(cluster) or len(after) != len(cluster):
            raise UsageError(f"the replay of {len(cluster)} tasks gave {len(before)} and {len(after)} results")
        gain = float(after.mean() - before.mean())
        kept = None
        if gain > least_gain:
            proof = f"{PROOF}{before.mean():.2f} to {after.mean():.2f} on {len(cluster)}"
            sources = [*dict.fromkeys(failure.source for failure in cluster), proof]
            kept = playbook.add(SECTION, note, sources=sources)
        trials.append(Trial(note, tuple(cluster), float(before.mean()), float(after.mean()), kept))
    return trials
