"""The router: chooses an arm for each request, and learns from what becomes of it."""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import numpy.typing as npt

from pointwork.embedding import Embedder, StaticEmbedder
from pointwork.errors import UsageError
from pointwork.router import persistence
from pointwork.router.arms import Arm
from pointwork.router.asking import Ask, asked, asked_over
from pointwork.router.core import Core, as_ints
from pointwork.router.decisions import Decision, Outcome, is_decision_id
from pointwork.router.explain import rows_now, rows_of_arms, rows_then
from pointwork.router.features import Array, as_features, share
from pointwork.router.inputs import (
    checked_arm,
    checked_arms,
    checked_name,
    checked_outcome,
    checked_path,
    checked_start,
)
from pointwork.router.pending import Pending
from pointwork.router.policies import Policy, make
from pointwork.router.settings import Settings
from pointwork.router.versioned import Versioned

if TYPE_CHECKING:
    from pointwork.router.link import Link
    from pointwork.store import Store

# Logged decisions after which opening a router writes a version, so that the next opening is quick.
REPLAY_LONG = 500
# Of the text embedding: more tell more, but every arm has a matrix of this size squared.
TEXT_DIMS = 128


class Router(Versioned):
    """Chooses among arms by a contextual bandit.

    Every decision is drawn from a distribution that is kept whole. Safe to share between threads; routers of the
    same name in several processes share what they learn through the store (``sync``).

    Args:
        arms: what to choose from. With a store that knows this router, new ones are added to those it knows, and
            those it knows that are not named here are retired.
        policy: ``linucb``, ``static``, ``random``, or a ``Policy``.
        budget_per_request: US dollars that a request may cost on average; None: cost has no price.
        seed: of the draws.
        store: URL, ``Store``, or None to keep nothing.
        name: several routers share a store by name.
        policy_options: arguments of the policy, such as ``{"alpha": 0.5}``.
        settings: discount, exploration and the like.
        embedder: text features.
        time_source: seconds since the epoch.
        quality_floor: take the cheapest arm whose predicted quality reaches this, 0 to 1, in place of the budget.
        cost_weight: what money is worth beside quality, each in units of its own spread, in place of the budget.
        max_usd: most that a request may be predicted to cost, in any mode; if all arms cost more, the cheapest.

    Raises:
        UsageError: no arms, two of one name, an unknown policy, a budget that is not above 0, two modes at once.
        StoreError: the store can not be read.
    """

    def __init__(
        self,
        arms: Sequence[Arm],
        policy: str | Policy = "linucb",
        budget_per_request: float | None = None,
        seed: int = 0,
        store: "str | Store | None" = None,
        name: str = "default",
        *,
        policy_options: Mapping[str, object] | None = None,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        time_source: Callable[[], float] = time.time,
        quality_floor: float | None = None,
        cost_weight: float | None = None,
        max_usd: float | None = None,
    ) -> None:
        checked_arms(arms)
        checked_start(name, seed, budget_per_request, settings)
        made = make(policy, policy_options)
        embedder = embedder or text_features()
        core = Core(arms, made, budget_per_request, seed, settings or Settings(), embedder)
        self._setup(core, name, time_source)
        self._ask = asked(1.0, quality_floor, cost_weight, max_usd)
        if store is not None:
            self._continue(self._open(store), arms)

    def _setup(self, core: Core, name: str, time_source: Callable[[], float]) -> None:
        self.name = name
        self._core = core
        self._lock = threading.RLock()
        self._time = time_source
        self._last = 0.0
        self._link = None
        self._unpublished = 0
        self._kept: tuple[object, ...] | None = None
        self._ask = Ask()

    def _open(self, store: "str | Store") -> "Link":
        from pointwork.router.link import Link

        self._link = Link(store, self.name)
        return self._link

    def _continue(self, link: "Link", arms: Sequence[Arm]) -> None:
        """Go on from the live version in the store and what was logged after it."""
        from pointwork.router import kept
        from pointwork.router.log import promotion_of

        live, fresh = link.log.live(), self._core
        if live is not None:
            link.version, link.promotion = int(live["version"]), promotion_of(live)
            try:
                meta, arrays = kept.opened(live)
            except persistence.OtherFormatError:
                meta, arrays = None, {}
            if meta is not None and meta["embedder"] == fresh.embedder.version:
                # what was promoted brings its own policy; else the one that was asked for goes on
                promoted = link.promotion > 0
                self._core = persistence.build(
                    {**meta, "settings": asdict(fresh.settings), "budget": fresh.pacer.budget},
                    arrays,
                    kept.called(live),
                    fresh.embedder,
                    None if promoted else fresh.policy,
                )
                if meta["settings"]["ridge"] != fresh.settings.ridge and meta["prepared"]:
                    self._core.estimates.regression.goal[:] = fresh.settings.ridge
                    self._core.estimates.refresh(self._core.clock)
                link.resume(meta["extra"])
                link.doubtful = set(self._core.ledger.by_id)
                asks = meta["extra"].get("ask") == asdict(self._ask)
                if asks and all(meta.get(k) == value for k, value in persistence.asked_of(self._core).items()):
                    self._kept = self._known(link)
            # else: other text features, or written by another version: start anew and learn from the log
        changed = self._add(arms)
        self._unpublished = self.sync()  # what was logged is learnt at the prices of then
        changed = self._reconcile(arms) or changed
        new = live is None and not self._unpublished  # what is logged from now on is understood by these prices
        if new or changed or self._unpublished > REPLAY_LONG:
            self._checkpoint_if_writable()

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms in use."""
        with self._lock:
            return tuple(self._core.arms[slot] for slot in as_ints(self._core.all_slots))

    @property
    def policy(self) -> Policy:
        """The policy in use."""
        return self._core.policy

    @property
    def clock(self) -> int:
        """Decisions made so far."""
        return self._core.clock

    def decide(
        self,
        text: str = "",
        candidates: Sequence[str] | None = None,
        features: npt.ArrayLike | None = None,
        *,
        run_id: str | None = None,
        subtask: str | None = None,
        exclude: Sequence[str] = (),
        remaining: float | None = None,
        quality_floor: float | None = None,
        cost_weight: float | None = None,
        max_usd: float | None = None,
    ) -> Decision:
        """Choose an arm.

        Args:
            text: of the request.
            candidates: names to choose from; None: all arms in use. Retired ones are passed over.
            features: what to learn from in place of the text, one dimension, the same length each time.
            run_id, subtask: what this is for, to find it again.
            exclude: names not to choose, such as those that have just failed.
            remaining: share of the run's budget that is left, 0 to 1.
            quality_floor, cost_weight, max_usd: for this request, in place of the router's own.

        Raises:
            UsageError: an unknown name, nothing to choose from, neither text nor features, features that do not
                fit, ``remaining`` outside 0 to 1, a mode's number out of its range.
            StoreError: a name is too long for the store; nothing was decided.
        """
        with self._lock:
            now = self._now()
            slots, ask = self._core.named(candidates, exclude), self._ask
            own: dict[str, float | None] = {}
            if not (remaining is quality_floor is cost_weight is max_usd is None):
                own = {"quality_floor": quality_floor, "cost_weight": cost_weight, "max_usd": max_usd}
                ask = asked_over(ask, share(remaining), own)
            inner = self._inner(text, features)
            if self._link is not None:
                self._link.log.fits(self._core, text, run_id, subtask)
            judged = self._core.judge(slots, inner, features is None, ask, now)
            decision, pending = self._core.commit(judged, now)
            if self._link is not None:
                self._link.log.decided(
                    self._core, judged, decision, pending, own, text=text, run_id=run_id, subtask=subtask
                )
                self._link.seen.add(decision.id)
                pending.decision = None  # the store has it
            if self._core.ledger.full():
                self._forget()
            return decision

    def _inner(self, text: str, features: npt.ArrayLike | None) -> Array:
        if features is not None:
            given = as_features(features)
            return self._core.prepare(len(given)).of_values(given)
        if not isinstance(text, str) or not text.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError("a decision needs the text of the request, or features")
        return self._core.prepare(None).of_text(text)

    def _now(self) -> float:
        """The time, later than at any call before: rows keep their order."""
        self._last = max(self._time(), self._last + 1e-6)
        return self._last

    def _forget(self) -> None:
        if self._link is not None:
            self.sync()  # what is forgotten must be behind the cursor
        self._core.ledger.trim()

    def learn(self, decision_id: str, outcome: Outcome, source: str = "caller") -> None:
        """Learn what became of a decision: at any time, in any order, in parts, as often as it is said.

        Args:
            decision_id: ``Decision.id``.
            outcome: what is known. It adds to and corrects what was said before about this decision.
            source: who says so: ``check``, ``judge``, ``feedback``, ``caller``.

        Raises:
            UsageError: no decision of this router has this id, or it was forgotten; no outcome was given.
            StoreError: the source is too long for the store; nothing was learnt.
        """
        checked_outcome(outcome)
        checked_name("the id of a decision", decision_id)
        with self._lock:
            pending = self._find(decision_id)
            if self._link is not None:
                self._link.log.outcome_fits(outcome, source)
            now = self._now()
            new = self._core.learn(pending, outcome, now)
            if self._link is None or not self._link.has(decision_id):
                return
            if new or self._link.log.unsaid(decision_id, outcome, source):
                self._link.log.learnt(decision_id, outcome, source, now)

    def _find(self, decision_id: str) -> Pending:
        pending = self._core.ledger.get(decision_id)
        if pending is None and self._link is not None:
            pending = self._link.fetch(self._core, decision_id)
        if pending is None:
            where = "in memory" if self._link is None else "in memory or in the store"
            raise UsageError(f"router {self.name!r} has no decision {decision_id!r} {where}")
        return pending

    def sync(self) -> int:
        """Take in what is new in the store: decisions and outcomes of other processes, and what they promoted.

        Returns:
            How many rows were new.
        """
        if self._link is None:
            return 0
        with self._lock:
            self._follow(self._link)
            return self._link.sync(self._core)

    def add_arm(self, arm: Arm) -> None:
        """Add an arm; what it is worth is first guessed from arms of like price and description.

        Raises:
            UsageError: the name is taken, or it is no arm.
        """
        checked_arm(arm)
        with self._lock:
            self._core.add_arm(arm)
            if self._link is not None:
                self.checkpoint()

    def retire_arm(self, name: str) -> None:
        """Choose this arm no more. Outcomes of its decisions are still learnt.

        Raises:
            UsageError: no arm has this name, or it is the last.
        """
        checked_name("the name of an arm", name)
        with self._lock:
            self._core.retire_arm(name)
            if self._link is not None:
                self.checkpoint()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, whole or not at all.

        Raises:
            UsageError: it can not be written.
        """
        file = checked_path(path)
        with self._lock:
            data = persistence.dump(self._core, {"name": self.name, "last": self._last, "ask": asdict(self._ask)})
        persistence.write_file(file, data)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        policy: str | Policy | None = None,
        store: "str | Store | None" = None,
        embedder: Embedder | None = None,
        time_source: Callable[[], float] = time.time,
    ) -> "Router":
        """A router from ``save``: it goes on with the same decisions.

        Args:
            path: the file.
            policy: another one than it was saved with.
            store: where to log from here on; what it holds already is not learnt.
            embedder: text features, the same as before.
            time_source: seconds since the epoch.

        Raises:
            UsageError: there is no such file, or it needs another embedder or a policy of the caller's own.
            StoreError: the file is damaged.
        """
        meta, arrays = persistence.read(persistence.read_file(checked_path(path)), str(path))
        core = persistence.build(meta, arrays, str(path), embedder or text_features(), policy)
        router = cls.__new__(cls)
        router._setup(core, str(meta["extra"]["name"]), time_source)
        router._last = float(meta["extra"]["last"])
        router._ask = Ask(**meta["extra"].get("ask", {}))
        if store is not None:
            link = router._open(store)
            link.at_the_end()
            link.doubtful = set(core.ledger.by_id)
        return router

    @classmethod
    def of_log(cls, store: "str | Store", name: str) -> "Router":
        """A router as its live version has it, or else of the arms that a log names, such as one that was imported.

        Raises:
            UsageError: the store has no decisions of this router.
        """
        from pointwork.router.link import as_kept

        return cls(**as_kept(store, name), store=store, name=name)

    def explain(self, what: str) -> list[dict[str, Any]]:
        """Why: one row per arm, best first.

        Args:
            what: id of a decision, for what was known when it was made; or a text, for what is known now.

        Returns:
            Rows of ``arm``, ``propensity``, ``chosen`` (for a decision) and the columns of ``Decision.scores``.

        Raises:
            UsageError: it is no text, or has the form of a decision's id, but there is none.
        """
        if not isinstance(cast(object, what), str):
            raise UsageError(f"a decision's id or a request is text, not {what!r}")
        with self._lock:
            if is_decision_id(what):
                return self._explain_decision(what)
            return rows_now(self._core, self._inner(what, None), self._ask, self._now())

    def show(self) -> list[dict[str, Any]]:
        """State of each arm, retired ones too: in use, health, success, seconds, load, prices."""
        with self._lock:
            return rows_of_arms(self._core)

    def _explain_decision(self, decision_id: str) -> list[dict[str, Any]]:
        pending = self._core.ledger.get(decision_id)
        if pending is not None and pending.decision is not None:
            decision = pending.decision
            return rows_then(decision.arm, decision.propensities, decision.scores)
        row = None if self._link is None else self._link.log.decision(decision_id)
        if row is None:
            raise UsageError(f"router {self.name!r} has kept no decision {decision_id!r}")
        return rows_then(row["arm"], row["propensities"], row["scores"])


def text_features() -> Embedder:
    """The default embedding of texts: static, of words, the leading 128 components, unit vectors."""
    return StaticEmbedder(TEXT_DIMS, "words")
