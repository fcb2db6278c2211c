"""A router's tie to the store: what it has logged, and what others have."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pointwork.errors import UsageError
from pointwork.router import kept, persistence
from pointwork.router.arms import Arm
from pointwork.router.asking import MODES
from pointwork.router.core import Core
from pointwork.router.log import BEFORE, Log
from pointwork.router.pending import Pending
from pointwork.router.policies import POLICIES
from pointwork.router.replay import take_in
from pointwork.router.rows import look_back, outcome_of, pending_of
from pointwork.router.settings import Settings
from pointwork.store import Store, open_store

# Versions of older packages say when decisions were last looked for, and not which had been stored by then: what
# was made in so many seconds before may have come after.
LATE = 600.0


class Link:
    """Reads what other processes wrote into a core, each row once.

    Args:
        store: URL or open store. router: the name.

    Attributes:
        log: the rows.
        cursor, arrived: numbers of the newest outcome and the newest decision, of any router, that was stored when
        this last looked: all up to them are taken in. The store counts decisions as they are stored, which may be
        long after they were made;
        heard: the newest outcome of this router;
        seen: ids of decisions that were made or taken in here and may have a higher one;
        doubtful: decisions out of a file, which the store may not have;
        version, promotion: the live one that was last looked at, and the one whose promotion it comes from, 0 if
        none.
    """

    def __init__(self, store: str | Store, router: str) -> None:
        self.log = Log(open_store(store), router)
        self.cursor, self.arrived, self.heard = 0, BEFORE, 0
        self.seen: set[str] = set()
        self.doubtful: set[str] = set()
        self.version = self.promotion = 0

    def at_the_end(self) -> None:
        """Nothing that the store holds already shall be learnt."""
        self.cursor, self.arrived = self.log.tail()
        self.heard = self.cursor
        self.version, self.promotion = self.log.head()

    def place(self) -> dict[str, Any]:
        """Where it is in the log, to be kept with a version of the core."""
        numbers = {"cursor": self.cursor, "arrived": self.arrived, "heard": self.heard}
        return {**numbers, "seen": sorted(self.seen)}

    def resume(self, place: Mapping[str, Any]) -> None:
        """Go on in the log from where a version of the core was."""
        self.cursor, self.seen = int(place["cursor"]), set(place.get("seen", ()))
        self.heard = int(place.get("heard", self.cursor))
        self.arrived = int(place.get("arrived", BEFORE))
        if "arrived" not in place:
            synced = float(place["synced"])
            # the oldest of them do not say what they had seen
            self.seen |= self.log.made_until(max(float(place.get("floor", synced)), synced - LATE))

    def has(self, decision_id: str) -> bool:
        """Whether the store has a decision: no outcome of another can be kept there."""
        if decision_id in self.doubtful:
            if self.log.decision(decision_id) is None:
                return False
            self.doubtful.discard(decision_id)
        return True

    def fetch(self, core: Core, decision_id: str) -> Pending | None:
        """A decision that another process made, or that was forgotten here, from the store."""
        row = self.log.decision(decision_id)
        pending = None if row is None else pending_of(row, core)
        if row is None or pending is None:
            return None
        pending.flying = False
        if (row["number"] or 0) > self.arrived and decision_id not in self.seen:  # made by another
            self.seen.add(decision_id)
            look_back(row, core)
            pending.clock = max(pending.clock, core.clock)
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

    def sync(self, core: Core) -> int:
        """Take in what is new. Returns how many rows were."""
        outcome, decision = self.log.tail()  # before all else: what is stored from here on is for the next time
        if outcome <= self.cursor and decision <= self.arrived:
            return 0
        stored = self.log.stored_after(self.arrived)
        decisions = self.log.named([name for name in stored if name not in self.seen])
        outcomes = self.log.outcomes_after(self.cursor)
        new = take_in(core, decisions, outcomes, lambda decision_id: self.fetch(core, decision_id))
        # past the rows of others too, which would else be read again each time
        self.arrived = max(self.arrived, decision, *stored.values())
        self.seen -= stored.keys()
        self.heard = int(outcomes[-1]["id"]) if outcomes else self.heard
        self.cursor = max(self.cursor, outcome, self.heard)
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
            meta, _ = kept.opened(live)
        arms = [Arm(**arm) for arm, active in zip(meta["arms"], meta["active"], strict=True) if active]
        known: set[str] = {arm["name"] for arm in meta["arms"]}
        names = [name for name in names if name not in known]
        if meta["policy"] in POLICIES:
            found = {"policy": meta["policy"], "policy_options": meta["policy_options"]}
            found |= {"budget_per_request": meta["budget"], "settings": Settings(**meta["settings"])}
            ask = meta["extra"].get("ask", {})
            found |= {mode: ask.get(name) for mode, name in MODES.items()}
    return {**found, "arms": [*arms, *(Arm(name) for name in names)]}
