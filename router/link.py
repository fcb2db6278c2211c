"""A router's tie to the store: what it has logged, and what others have."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sqlalchemy import select

from pointwork.errors import UsageError
from pointwork.router import kept, persistence
from pointwork.router.arms import Arm
from pointwork.router.asking import MODES
from pointwork.router.core import Core
from pointwork.router.log import BEFORE, Log, look_back, outcome_of, pending_of
from pointwork.router.pending import Pending
from pointwork.router.policies import POLICIES
from pointwork.router.replay import take_in
from pointwork.router.settings import Settings
from pointwork.store import Store, open_store, tables

# Seconds in which a process has surely stored what it decided; decisions that a version remembers, at most.
LATE = 600.0
MOST_KEPT = 10_000
# Ids in one query.
AT_ONCE = 500


class Link:
    """Reads what other processes wrote into a core, each row once.

    Args:
        store: URL or open store. router: the name.

    Attributes:
        log: the rows. cursor: newest outcome row taken in; synced: when decisions were last looked for;
        seen: the newest that were made or taken in here, and when they were made: a process stores some time
        after it has decided, so the last ``LATE`` seconds before ``synced`` are looked through again;
        floor: but nothing that was made until then;
        doubtful: decisions out of a file, which the store may not have;
        version, promotion: the live one that was last looked at, and the one whose promotion it comes from, 0 if
        none.
    """

    def __init__(self, store: str | Store, router: str) -> None:
        self.log = Log(open_store(store), router)
        self.cursor = 0
        self.synced = self.floor = BEFORE
        self.seen: dict[str, float] = {}
        self.doubtful: set[str] = set()
        self.version = self.promotion = 0

    def at_the_end(self, now: float) -> None:
        """Nothing that the store holds already shall be learnt."""
        self.cursor, self.synced, self.floor = self.log.tail(), now, now
        self.version, self.promotion = self.log.head()

    def place(self) -> dict[str, Any]:
        """Where it is in the log, to be kept with a version of the core."""
        newest = sorted(self.seen.items(), key=lambda item: item[1])[-MOST_KEPT:]
        floor = self.floor if len(newest) == len(self.seen) else newest[0][1]
        return {"cursor": self.cursor, "synced": self.synced, "seen": dict(newest), "floor": floor}

    def resume(self, place: Mapping[str, Any]) -> None:
        """Go on in the log from where a version of the core was."""
        self.cursor, self.synced = int(place["cursor"]), float(place["synced"])
        # versions of older packages do not say what they had seen
        self.seen, self.floor = dict(place.get("seen", {})), float(place.get("floor", self.synced))

    @property
    def _since(self) -> float:
        return max(self.floor, self.synced - LATE)

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
        if pending.created > self._since and decision_id not in self.seen:  # made by another
            self.seen[decision_id] = pending.created
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
        newer = [row for row in self.log.decisions_after(self.synced) if row["id"] not in self.seen]
        decisions = [*self._stored_late(), *newer]
        outcomes = self.log.outcomes_after(self.cursor)
        new = take_in(core, decisions, outcomes, lambda decision_id: self.fetch(core, decision_id))
        self.seen |= {row["id"]: float(row["created"]) for row in decisions}
        self.synced = now if not newer else max(now, float(newer[-1]["created"]))
        since = self._since
        self.seen = {name: created for name, created in self.seen.items() if created > since}
        self.cursor = int(outcomes[-1]["id"]) if outcomes else self.cursor
        return new

    def _stored_late(self) -> list[dict[str, Any]]:
        """Decisions made before they were last looked for, but not in the store then."""
        table = tables.decisions
        mine = (table.c.router == self.log.router, table.c.created > self._since, table.c.created <= self.synced)
        made = self.log.store.rows(select(table.c.id).where(*mine))  # without what they hold: most are known
        late = [row["id"] for row in made if row["id"] not in self.seen]
        rows: list[dict[str, Any]] = []
        for start in range(0, len(late), AT_ONCE):
            rows += self.log.store.rows(select(table).where(table.c.id.in_(late[start : start + AT_ONCE])))
        return sorted(rows, key=lambda row: (row["created"], row["clock"]))


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
