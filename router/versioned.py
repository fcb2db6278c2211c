"""A router's versions in the store: checkpoints, trials of other policies, promotion and the way back."""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import numpy.typing as npt

from pointwork.errors import StoreError, UsageError
from pointwork.router import persistence
from pointwork.router.arms import Arm
from pointwork.router.asking import Ask
from pointwork.router.core import Core
from pointwork.router.decisions import Outcome
from pointwork.router.features import Array
from pointwork.router.inputs import checked_names, checked_outcome
from pointwork.router.policies import Policy

if TYPE_CHECKING:
    from pointwork.router.kept import Back
    from pointwork.router.link import Link
    from pointwork.router.trial import Lessons, Trial
    from pointwork.store import Store

_log = logging.getLogger("pointwork.router")

# How often another process may be first with a version before something must be wrong.
TRIES = 20


class Versioned(ABC):
    """The part of ``Router`` that deals with versions."""

    name: str
    _core: Core
    _ask: Ask
    _lock: threading.RLock
    _link: "Link | None"
    _unpublished: int
    _kept: tuple[object, ...] | None

    @abstractmethod
    def _now(self) -> float: ...

    @abstractmethod
    def _inner(self, text: str, features: npt.ArrayLike | None) -> Array: ...

    @abstractmethod
    def sync(self) -> int:
        """Take in what the store has that this router has not seen."""

    def teach(self, outcomes: Mapping[str, Outcome], text: str = "", features: npt.ArrayLike | None = None) -> None:
        """Learn from a labelled request that no router decided: a benchmark, another system's records.

        It becomes part of the state (``save``, ``checkpoint``), not of the log: nothing was drawn, so it says
        nothing about what a policy would have earned. Give requests in random order: sorted ones look like drift.

        Args:
            outcomes: what is known, by the name of the arm.
            text, features: of the request, as for ``decide``.

        Raises:
            UsageError: an unknown name, what is no outcome, neither text nor features, features that do not fit.
        """
        if not isinstance(cast(object, outcomes), Mapping):
            raise UsageError(f"outcomes maps names of arms to Outcomes, it is {outcomes!r}")
        for outcome in outcomes.values():
            checked_outcome(outcome)
        with self._lock:
            checked_names(outcomes.keys())
            unknown = [name for name in outcomes if name not in self._core.slots]
            if unknown or not outcomes:
                raise UsageError(f"no arm is called {unknown[0]!r}" if unknown else "no outcome was given")
            inner = self._inner(text, features)
            self._core.teach(inner, {self._core.slots[name]: o for name, o in outcomes.items()}, self._now())

    def checkpoint(self) -> int:
        """Write the state to the store as a new version and make it the live one.

        Returns:
            Its number.

        Raises:
            UsageError: the router has no store.
            StoreError: the store refused, or others were first each time.
        """
        link = self._link
        if link is None:
            raise UsageError(f"router {self.name!r} has no store to write a version to")
        with self._lock:
            for _ in range(TRIES):
                self.sync()
                extra = {**link.place(), "ask": asdict(self._ask)}
                state = persistence.dump(self._core, extra, flying_only=True)
                metrics = {"decisions": self._core.clock}
                version = link.log.publish(state, self._core, self._now(), metrics, link.version)
                if version is not None:
                    self._unpublished, link.version, self._kept = 0, version, self._known(link)
                    return version
        raise StoreError(f"router {self.name!r}: others wrote a version first, {TRIES} times in a row")

    def keep(self) -> None:
        """``checkpoint``, unless the live version knows all that this router does: it may have many megabytes."""
        with self._lock:
            self.sync()
            if self._link is None or self._known(self._link) != self._kept:
                self._checkpoint_if_writable()

    def _checkpoint_if_writable(self) -> None:
        """In a store that may only be read one can look at a router; what is decided there can not be stored."""
        from pointwork.store.faults import Unwritable

        with suppress(Unwritable):
            self.checkpoint()

    def _known(self, link: "Link") -> tuple[object, ...]:
        """What a version of now would know, other than arms: those are kept when they change."""
        return self._core.clock, link.heard, persistence.asked_of(self._core), self._ask

    def replay(
        self, policy: str | Policy, policy_options: Mapping[str, object] | None = None, *, train: float = 0.5
    ) -> "Trial":
        """What another policy would have earned, by what this router has logged.

        Args:
            policy, policy_options: as for a router.
            train: the part of the decisions, the oldest, that it learns from; it is judged on the others.

        Raises:
            UsageError: the router has no store, or has logged nothing.
        """
        from pointwork.router.trial import run_trial

        link = self._stored("to replay")
        with self._lock:
            self.sync()
            return run_trial(link.log, self._core, self._ask, policy, policy_options, train)

    def lessons(self, *, train: float = 0.5) -> "Lessons":
        """The older part of what this router has logged, for whoever trains a policy that ``promote`` shall judge.

        Args:
            train: the part of the decisions; ``promote`` must be given the same.

        Raises:
            UsageError: the router has no store, or has logged nothing.
        """
        from pointwork.router.trial import lessons

        link = self._stored("to learn from")
        with self._lock:
            self.sync()
            return lessons(link.log, self._core, train)

    def promote(
        self, policy: str | Policy, policy_options: Mapping[str, object] | None = None, *, train: float = 0.5
    ) -> "Trial":
        """Make another policy live, if the log proves it better: see ``offline.compare``. Arguments as ``replay``.

        Returns:
            The trial; ``trial.verdict.passed`` says whether it is live now, ``trial.verdict.reasons`` why not.

        Raises:
            UsageError: the router has no store, or has logged nothing.
            StoreError: another process promoted a version, or went back from one, during the trial.
        """
        link = self._stored("to promote")
        with self._lock:
            trial = self.replay(policy, policy_options, train=train)
            if trial.verdict.passed:
                judged_against, done = link.promotion, None
                self.sync()
                if link.promotion == judged_against:
                    self.checkpoint()  # what rollback returns to
                    gain = trial.verdict.gain
                    metrics = {"gain": gain.value, "gain_low": gain.low, "judged": trial.judged}
                    done = link.log.propose(
                        trial.state, trial.policy, trial.trained, self._now(), metrics, judged_against
                    )
                if done is None:
                    self.sync()
                    raise StoreError(
                        f"router {self.name!r}: another version was promoted meanwhile, or gone back to, and the "
                        f"trial was against the one before: {trial.policy} was not made live, and this router goes "
                        "on with that version; try it again"
                    )
                self._reload(link)
        return trial

    def rollback(self) -> int:
        """Return to the version from before the last promotion, or from before a live one that is damaged.

        Returns:
            Its number.

        Raises:
            UsageError: the router has no store, or nothing was promoted and the live version is in order.
            StoreError: that version is damaged, or another was made live meanwhile; nothing was changed.
        """
        from pointwork.router import kept

        link = self._stored("to roll back")
        with self._lock:
            back = kept.way_back(link.log)
            self._built(back.row)  # what can not be used here is refused before anything is changed
            link.log.make_live(int(back.row["version"]), back.live)
            self._reload(link)
            return _said(back)

    @staticmethod
    def rollback_of(store: "str | Store", name: str) -> int:
        """``rollback`` of a router by name, without opening it: its live version may be damaged.

        Args:
            store: URL or open store. name: of the router; a team's is ``team``.

        Returns:
            Number of the version that is live now.

        Raises:
            UsageError, StoreError: as ``rollback``.
        """
        from pointwork.router import kept
        from pointwork.router.log import Log
        from pointwork.store import open_store

        return _said(kept.go_back(Log(open_store(store), name)))

    def versions(self) -> list[dict[str, Any]]:
        """Versions in the store, newest first: number, policy, clock, live, when, metrics."""
        return self._stored("to list").log.versions()

    def _stored(self, what: str) -> "Link":
        if self._link is None:
            raise UsageError(f"router {self.name!r} has no store, so there is nothing {what}")
        return self._link

    def _add(self, arms: Sequence[Arm]) -> bool:
        """Add the arms that are not known. Returns whether there were any."""
        added = [arm for arm in arms if arm.name not in self._core.slots]
        for arm in added:
            self._core.add_arm(arm)
        return bool(added)

    def _reconcile(self, arms: Sequence[Arm]) -> bool:
        """Use these arms, as they are now, and no others. Returns whether anything changed."""
        core, named = self._core, {arm.name for arm in arms}
        changed = [arm for arm in arms if core.arms[core.slots[arm.name]] != arm]
        for arm in changed:
            core.reprice(arm)
        wanted = [arm.name in named for arm in core.arms]
        switched, core.active = wanted != core.active, wanted
        core.arms_changed()
        return bool(changed) or switched

    def _follow(self, link: "Link") -> None:
        """Go over to what another process has promoted, or rolled back to, and know the arms that it added."""
        version, promotion = link.log.head()
        if version == link.version:
            return
        # of other text features or another package: not for this process
        with suppress(persistence.OtherFormatError, UsageError):
            if promotion != link.promotion:
                self._reload(link)
            else:
                self._adopt(link)
        link.version, link.promotion = version, promotion

    def _adopt(self, link: "Link") -> None:
        """Learn about arms of others too, though this router does not choose them: its versions are for all."""
        from pointwork.router import kept

        live, core = link.log.live(), self._core
        assert live is not None
        meta, _ = kept.opened(live)
        for arm in meta["arms"]:
            if arm["name"] not in core.slots:
                core.add_arm(Arm(**arm))
                core.active[-1] = False
        core.arms_changed()

    def _reload(self, link: "Link") -> None:
        from pointwork.router.log import promotion_of

        live, before = link.log.live(), self._core
        assert live is not None
        self._core, meta = self._built(live)
        link.resume(meta["extra"])
        link.doubtful |= set(self._core.ledger.by_id)
        link.version, link.promotion = int(live["version"]), promotion_of(live)
        # a version brings what was learnt; which arms there are has been said since
        self._add(before.arms)
        self.sync()
        self._reconcile([arm for arm, active in zip(before.arms, before.active, strict=True) if active])

    def _built(self, version: Mapping[str, Any]) -> tuple[Core, dict[str, Any]]:
        """A version of this router as a core of its own, with the settings and the budget of this one."""
        from pointwork.router import kept

        (meta, arrays), mine = kept.opened(version), self._core
        said = {**meta, "settings": asdict(mine.settings), "budget": mine.pacer.budget}
        return persistence.build(said, arrays, kept.called(version), mine.embedder, None), meta

    def decisions_of(self, run_id: str) -> list[str]:
        """Ids of this router's decisions for a run, in order; none without a store."""
        return [] if self._link is None else self._link.log.decisions_of(run_id)


def _said(back: "Back") -> int:
    """The number of a version that was returned to; what was wrong with the one before goes to the log."""
    if back.damage:
        _log.warning("%s; version %d is live again", back.damage, back.row["version"])
    return int(back.row["version"])
