"""Publish an adapter: load it under a name of its own, prove that it serves, then switch the role; else nothing.

The order is what makes it safe to be killed at any point: files and the candidate's row first, then the server,
then the probe, and at last one transaction that makes the version live. Who runs a model reads the live version at
the start of a run (``pointwork.models.adapters``); what was live stays loaded, so that runs which began with it end
with it, and a rollback is one transaction.
"""

import math
import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from pointwork.errors import PublicationError, UsageError
from pointwork.store import Store
from pointwork.store.store import Row
from pointwork.training.publication.gguf_lora import CONFIG, WEIGHTS, rescaled
from pointwork.training.publication.probe import Scores, Verdict, explained, judge, tokens_needed
from pointwork.training.publication.target import Probe, Target, Version, digest, file_digest
from pointwork.training.publication.versions import Versions, made_for

KEPT = 3
"""Versions that stay loaded: the live one and those before it."""
FIRST = 12
"""Probes that are asked first; all of them only where these can not tell."""


class Scorer(Protocol):
    """The trainer's side of the probe."""

    def __call__(self, adapter: Path | None, probes: Sequence[Probe]) -> Scores:
        """Log-probabilities (nat) of each probe's completion under the base with an adapter, or without."""
        ...


@dataclass(frozen=True)
class Publication:
    """What came of publishing or checking.

    Attributes:
        version: its name, as the ledger will have it.
        role: that it serves.
        parent: name of the version that was live before over the same base; None: the base.
        verdicts: of the probe, one per replica.
        seconds: of each part: ``prepare``, ``load``, ``probe``, ``switch``, ``whole``.
    """

    version: str
    role: str
    parent: str | None
    verdicts: tuple[Verdict, ...]
    seconds: dict[str, float]

    @property
    def worst(self) -> Verdict:
        """The verdict farthest from delivered."""
        order = ("delivered", "indistinguishable", "not delivered")
        return max(self.verdicts, key=lambda verdict: order.index(verdict.answer))

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "verdicts": [plain(verdict) for verdict in self.verdicts]}


class Publisher:
    """Publishes adapters of one base model to one target. Not for several threads at once.

    Args:
        store: the record, read by whoever runs the models.
        target: where to.
        scorer: the trainer's log-probabilities.
        probes: texts to compare, the most telling first; the role's own prompts and answers are best.
        folder: where versions are kept, a folder per role and version; a server of another machine must see it too.
    """

    def __init__(
        self, store: Store, target: Target, scorer: Scorer, probes: Sequence[Probe], *, folder: str | Path
    ) -> None:
        if not probes or not all(probe.prompt and probe.completion for probe in probes):
            raise UsageError("publishing needs probes, each with a prompt and a completion")
        self.versions, self.target = Versions(store), target
        self._probes = tuple(probes)
        self._folder = Path(folder).expanduser().resolve()
        self._trainer = _Remembered(scorer)
        self._served_base: dict[int, list[Scores]] = {}

    def publish(self, adapter: str | Path, role: str, *, metrics: Mapping[str, Any] | None = None) -> Publication:
        """Make an adapter the live version of a role, if it is proved to serve.

        Args:
            adapter: directory with peft's two files; it is copied, so training may go on in it.
            role: the model role.
            metrics: of the training, kept with the version.

        Raises:
            PublicationError: it could not be loaded, does not serve, or could not be told from the version before.
                The role is served as before.
            UsageError: the role's name can not be part of a file's.
        """
        started = time.perf_counter()
        live, parent = self.versions.live(role), self.versions.live_on(role, self.target.base)
        version, row = self._candidate(Path(adapter), role, parent, metrics or {})
        prepared = time.perf_counter()
        try:
            self.target.load(version)
            loaded = time.perf_counter()
            verdicts = self._prove(version, parent)
        except BaseException as error:
            self._withdraw(version, row, str(error))
            raise
        proved = time.perf_counter()
        seconds = {"prepare": prepared - started, "load": loaded - prepared, "probe": proved - loaded}
        done = Publication(version.name, role, None if parent is None else parent["version"], verdicts, seconds)
        if done.worst.answer != "delivered":
            self._withdraw(version, row, done.worst.why, done)
            raise PublicationError(_refusal(done, self.target))
        try:
            place = self.target.place(version)
            self.versions.switch(
                role,
                row["id"],
                expected=None if live is None else live["id"],
                metrics={"place": place, "probe": [plain(verdict) for verdict in verdicts]},
            )
        except BaseException as error:
            self._withdraw(version, row, str(error))
            raise
        seconds["switch"] = time.perf_counter() - proved
        seconds["whole"] = time.perf_counter() - started
        self._forget_old(role)
        return done

    def check(self, role: str, *, repair: bool = False) -> Publication:
        """Prove again that what is live serves: after a server's restart, or from time to time.

        Args:
            repair: load it again if it does not, and prove that.

        Raises:
            PublicationError: it does not serve (any more).
            UsageError: nothing is live for the role.
        """
        row = self._live(role)
        version = _version_of(row)
        started = time.perf_counter()
        if not self.target.lasting:
            self.target.load(version)
        try:
            verdicts = self._prove(version, None)
            failed = None
        except PublicationError as error:
            verdicts, failed = (), error
        if repair and (failed is not None or not all(verdict.delivered for verdict in verdicts)):
            self.target.unload(version.name)
            self.target.load(version)
            verdicts, failed = self._prove(version, None), None
        if failed is not None:
            raise failed
        seconds = {"probe": time.perf_counter() - started}
        done = Publication(version.name, role, None, verdicts, seconds)
        if done.worst.answer != "delivered":
            raise PublicationError(_refusal(done, self.target))
        return done

    def rollback(self, role: str) -> str | None:
        """Make the version before the live one live again, after proving that it serves; its name, None: the base.

        Raises:
            UsageError: nothing is live for the role.
            PublicationError: the version before does not serve. What is live stays so.
        """
        row = self._live(role)
        before = self.versions.by_id(row["parent_id"])
        if before is not None:
            version = _version_of(before)
            _intact(before, version)
            self.target.load(version)
            verdicts = self._prove(version, None)
            done = Publication(version.name, role, None, verdicts, {})
            if done.worst.answer != "delivered":
                raise PublicationError(_refusal(done, self.target))
        self.versions.roll_back(role, row["id"], None if before is None else before["id"])
        return None if before is None else str(before["version"])

    def _candidate(
        self, adapter: Path, role: str, parent: Row | None, metrics: Mapping[str, Any]
    ) -> tuple[Version, Row]:
        if not re.fullmatch(r"[\w.-]+", role):
            raise UsageError(f"a role's name is made of letters, digits, '-', '_' and '.', not {role!r}")
        found = digest(adapter)
        name = f"{role}-{self.versions.next_number(role)}-{found[:12]}"
        folder = self._folder / role / name
        folder.mkdir(parents=True, exist_ok=True)
        for file in (CONFIG, WEIGHTS):
            _copy(adapter / file, folder / file)
        version = Version(name, folder)
        if digest(folder) != found:
            raise PublicationError(f"{adapter} was changed while it was read; publish it when it has been saved")
        served = self.target.prepare(version)
        row = self.versions.add(
            role,
            name,
            base=self.target.base,
            folder=folder,
            sha256=file_digest(served),
            parent=None if parent is None else parent["id"],
            metrics={**metrics, "adapter_sha256": found},
        )
        return version, row

    def _prove(self, version: Version, parent: Row | None) -> tuple[Verdict, ...]:
        """The probe: a few texts, and all of them if they could not tell."""
        verdicts = self._asked(version, parent, self._probes[:FIRST])
        if len(self._probes) > FIRST and any(verdict.answer == "indistinguishable" for verdict in verdicts):
            verdicts = self._asked(version, parent, self._probes)
        return verdicts

    def _asked(self, version: Version, parent: Row | None, probes: Sequence[Probe]) -> tuple[Verdict, ...]:
        served_base = self._served_base.get(len(probes))
        if served_base is None:
            served_base = self._served_base[len(probes)] = self.target.score(None, probes)
        base = self._trainer(None, probes)
        new = self._trainer(version.folder, probes)
        previous = base if parent is None else self._trainer(Path(parent["path"]), probes)
        both = list(zip(self.target.score(version.name, probes), served_base, strict=True))
        verdicts = tuple(judge(seen, seen_base, new, previous, base) for seen, seen_base in both)
        if all(verdict.answer != "not delivered" for verdict in verdicts):
            return verdicts
        suspects = self._suspects(version, parent, probes)
        return tuple(
            explained(verdict, *pair, base, suspects) if verdict.answer == "not delivered" else verdict
            for verdict, pair in zip(verdicts, both, strict=True)
        )

    def _suspects(self, version: Version, parent: Row | None, probes: Sequence[Probe]) -> dict[str, Scores]:
        """What might serve instead, as the trainer computes it: the base, versions before, other scales."""
        found = {"base model": self._trainer(None, probes)}
        if parent is not None:
            found["previous version"] = self._trainer(Path(parent["path"]), probes)
            older = [
                row
                for row in self.versions.all(parent["role"])
                if row["state"] in ("retired", "rolled-back") and made_for(row, self.target.base)
            ]
            found |= {f"version {row['version']}": self._trainer(Path(row["path"]), probes) for row in older[:KEPT]}
        with tempfile.TemporaryDirectory(prefix="pointwork-") as folder:
            for times in (2.0, 0.5):
                copy = rescaled(version.folder, Path(folder) / str(times), times)
                found[f"wrong scale (× {times:g})"] = self._trainer(copy, probes)
                self._trainer.forget(copy)
        return found

    def _withdraw(self, version: Version, row: Row, why: str, done: Publication | None = None) -> None:
        self.target.unload(version.name)
        self._trainer.forget(version.folder)
        probe = [] if done is None else [plain(verdict) for verdict in done.verdicts]
        self.versions.note(row["id"], {"refused": why[:1000], "probe": probe})

    def _forget_old(self, role: str) -> None:
        rows = [row for row in self.versions.all(role) if row["state"] in ("live", "retired")]
        for row in rows[KEPT:]:
            self.target.unload(row["version"])
            self._trainer.forget(Path(row["path"]))

    def _live(self, role: str) -> Row:
        row = self.versions.live(role)
        if row is None:
            raise UsageError(f"no version of {role!r} is live: the base model serves it")
        if not made_for(row, self.target.base):
            raise UsageError(
                f"{row['version']} is live for {role!r}, but was made for {row['base']}: {self.target.base} serves "
                f"the role without it, until one is published for that; 'pointwork models rollback {role} "
                "--unproved' takes it back"
            )
        return row


class _Remembered:
    """A scorer that scores an adapter once per set of texts."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._known: dict[tuple[Path | None, int], Scores] = {}

    def __call__(self, adapter: Path | None, probes: Sequence[Probe]) -> Scores:
        key = (adapter, len(probes))
        if key not in self._known:
            self._known[key] = self._scorer(adapter, probes)
        return self._known[key]

    def forget(self, adapter: Path) -> None:
        for key in [key for key in self._known if key[0] == adapter]:
            del self._known[key]


def _refusal(done: Publication, target: Target) -> str:
    worst = done.worst
    text = f"{done.version} was not made live for {done.role!r}: on {target.kind} at {target.base}, {worst.why}. "
    if worst.answer == "indistinguishable":
        needed = tokens_needed(worst)
        more = f"about {needed} tokens of probes would tell, or" if needed else "the step changed nothing;"
        return text + f"Publish less often ({more} train on and publish the sum of the steps)"
    named = worst.named.partition(" (")[0]
    advice = {
        "base model": "the server ignores the adapter; see its log, and whether it runs with adapters enabled",
        "previous version": "the server kept the version before; load it under a new name, or restart the server",
        "wrong scale": "compare lora_alpha and rank there with those of the trainer",
        "part of it": "some of its matrices are missing there; compare the files and the modules that are adapted",
    }.get(named, "the server loaded another file than this one; compare the paths and who else publishes")
    return text + advice[0].upper() + advice[1:]


def _version_of(row: Row) -> Version:
    return Version(row["version"], Path(row["path"]))


def _intact(row: Row, version: Version) -> None:
    metrics: dict[str, Any] = row["metrics"] or {}
    known = metrics.get("adapter_sha256")
    if digest(version.folder) != known:
        raise PublicationError(
            f"{version.folder} is not what was published as {version.name}; it was changed since"
        )


def _copy(source: Path, target: Path) -> None:
    try:
        with source.open("rb") as stream, target.open("wb") as out:
            shutil.copyfileobj(stream, out, 1 << 20)
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise PublicationError(
            f"could not copy {source} to {target}: {error.strerror}; is the disk full?"
        ) from error


def plain(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON data: numbers that are none become None."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(verdict).items()
    }
