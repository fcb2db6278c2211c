"""A router's tie to the store: what it has logged, and what others have."""

from contextlib import suppress
from typing import Any

from pointwork.errors import UsageError
from pointwork.router import persistence
from pointwork.router.arms import Arm
from pointwork.router.core import Core
from pointwork.router.log import Log, look_back, outcome_of, pending_of
from pointwork.router.pending import Pending
from pointwork.router.policies import POLICIES
from pointwork.router.replay import take_in
from pointwork.router.settings import Settings
from pointwork.store import Store, open_store


class Link:
    """Reads what other processes wrote into a core, each row once.

    Args:
        store: URL or open store. router: the name.

    Attributes:
        log: the rows. cursor: newest outcome row taken in; synced: decisions made until then were taken in;
        own: decisions made here since; version, promotion: the live one that was last looked at, and the one whose
        promotion it comes from, 0 if none.
    """

    def __init__(self, store: str | Store, router: str) -> None:
        self.log = Log(open_store(store), router)
        self.cursor = 0
        self.synced = 0.0
        self.own: set[str] = set()
        self.version = self.promotion = 0

    def at_the_end(self, now: float) -> None:
        """Nothing that the store holds already shall be learnt."""
        self.cursor, self.synced = self.log.tail(), now
        self.version, self.promotion = self.log.head()

    def fetch(self, core: Core, decision_id: str) -> Pending | None:
        """A decision that another process made, or that was forgotten here, from the store."""
        row = self.log.decision(decision_id)
        pending = None if row is None else pending_of(row, core)
        if row is None or pending is None:
            return None
        pending.flying = False
        if pending.created > self.synced and decision_id not in self.own:  # never seen here
            self.own.add(decision_id)
            look_back(row, core)
            core.note(decision_id, pending, pending.created)
        rows = self.log.outcomes(decision_id)
        for row in rows:
            if row["id"] <= self.cursor:  # has been learnt
                said = outcome_of(row)
                pending.outcome = said if pending.outcome is None else pending.outcome.merged(said)
        if pending.outcome is not None and pending.outcome.usd is not None:
            pending.charged = pending.outcome.usd
        if core.ledger.get(decision_id) is None:
            core.ledger.put(decision_id, pending)
        for row in rows:
            if row["id"] > self.cursor:
                core.learn(pending, outcome_of(row), row["created"])
        return pending

    def sync(self, core: Core, now: float) -> int:
        """Take in what is new. Returns how many rows were."""
        decisions = [row for row in self.log.decisions_after(self.synced) if row["id"] not in self.own]
        outcomes = self.log.outcomes_after(self.cursor)
        new = take_in(core, decisions, outcomes, lambda decision_id: self.fetch(core, decision_id))
        self.own.clear()
        self.synced = now if not decisions else max(now, float(decisions[-1]["created"]))
        self.cursor = int(outcomes[-1]["id"]) if outcomes else self.cursor
        return new


def as_kept(store: str | Store, router: str) -> dict[str, Any]:
    """Arguments for a router by what a store holds of it: looking at one must not change its arms or prices.

    Raises:
        UsageError: the store has no decisions of this router.
    """
    log = Log(open_store(store), router)
    names, live = log.arms(), log.live()
    if not names:
        raise UsageError(f"the store has no decisions of a router {router!r}")
    found: dict[str, Any] = {"policy": "static"}
    arms: list[Arm] = []
    if live is not None:
        meta: dict[str, Any] = {"arms": [], "active": [], "policy": ""}
        with suppress(persistence.OtherFormatError):
            meta, _ = persistence.read(live["state"], f"version {live['version']} of router {router!r}")
        arms = [Arm(**arm) for arm, active in zip(meta["arms"], meta["active"], strict=True) if active]
        known: set[str] = {arm["name"] for arm in meta["arms"]}
        names = [name for name in names if name not in known]
        if meta["policy"] in POLICIES:
            found = {"policy": meta["policy"], "policy_options": meta["policy_options"]}
            found |= {"budget_per_request": meta["budget"], "settings": Settings(**meta["settings"])}
    return {**found, "arms": [*arms, *(Arm(name) for name in names)]}
