"""A router's rows in the store: decisions, outcomes, versions."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
from sqlalchemy import Connection, Executable, delete, exists, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from pointwork.errors import StoreError
from pointwork.router.asking import Judged
from pointwork.router.core import Core
from pointwork.router.decisions import MOST, Decision, Outcome
from pointwork.router.pending import Pending
from pointwork.router.policies import Policy
from pointwork.store import Store, new_id, tables
from pointwork.store.types import JsonText

Array = npt.NDArray[np.float64]
Row = dict[str, Any]

# Newest versions that are kept.
KEPT = 8
# Earlier than any decision: a log may count its seconds from 0.
BEFORE = -1.0
# Load, latency, success and remaining budget where a log does not say.
UNKNOWN_STATE = (0.0, 0.33, 0.5, 1.0)


class Log:
    """What one router, by name, has in a store. It does not know what the rows mean to the regressions.

    Args:
        store: an open one.
        router: the name; several routers share a store.
    """

    def __init__(self, store: Store, router: str) -> None:
        self.store = store
        self.router = router
        self._checked: Policy | None = None  # the policy whose labels are known to fit

    def fits(self, core: Core, text: str, run_id: str | None, subtask: str | None) -> None:
        """Look whether a decision could be stored, before it is made.

        Raises:
            StoreError: one of these, or a name or version of the router's, is too long for its column.
        """
        given: Row = {"text": text, "run_id": run_id, "subtask": subtask}
        if core.policy is not self._checked:
            given |= self._labels(core)
        self.store.check(tables.decisions, given)
        self._checked = core.policy

    def _labels(self, core: Core) -> Row:
        assert core.features is not None
        return {
            "router": self.router,
            "policy": core.policy.name,
            "policy_version": core.policy.version,
            "features_version": core.features.version,
        }

    def outcome_fits(self, outcome: Outcome, source: str) -> None:
        """Look whether an outcome can be stored, before it is learnt.

        Raises:
            StoreError: who says it, or the error, is not a text that fits.
        """
        self.store.check(tables.outcomes, {"error": outcome.error, "source": source})

    def decided(
        self,
        core: Core,
        judged: Judged,
        decision: Decision,
        pending: Pending,
        own: Mapping[str, float | None],
        *,
        text: str,
        run_id: str | None,
        subtask: str | None,
    ) -> None:
        """Append a decision, buffered; its row is put together when it is written.

        Args:
            own: what the request itself asked for, by the names of ``asking.MODES``.
        """
        fixed: Row = {"run_id": run_id, "subtask": subtask, "text": text or None, **self._labels(core)}
        numbers = len(judged.inner) + 16 * len(judged.names)
        self.store.append_later(
            tables.decisions,
            {},  # ``fits`` has looked
            partial(_row, fixed, judged, decision, pending, own),
            20 * numbers + len(text),
        )

    def learnt(self, decision_id: str, outcome: Outcome, source: str, now: float) -> None:
        """Append an outcome, buffered."""
        row: Row = {"decision_id": decision_id, "created": now, "quality": outcome.quality, "source": source}
        told = {"usd": outcome.usd, "seconds": outcome.seconds, "error": outcome.error}
        self.store.append(tables.outcomes, row | told)

    def unsaid(self, decision_id: str, outcome: Outcome, source: str) -> bool:
        """Whether a quality is news from this source, though others may have said the same before it."""
        said = [row["quality"] for row in self.outcomes(decision_id) if row["source"] == source]
        return outcome.quality not in (None, *[quality for quality in said if quality is not None][-1:])

    def decision(self, decision_id: str) -> Row | None:
        """A decision of this router."""
        table = tables.decisions
        return self.store.row(select(table).where(table.c.id == decision_id, table.c.router == self.router))

    def outcomes(self, decision_id: str) -> list[Row]:
        """All outcomes of a decision, in the order they came."""
        table = tables.outcomes
        return self.store.rows(select(table).where(table.c.decision_id == decision_id).order_by(table.c.id))

    def decisions_after(self, created: float) -> list[Row]:
        """Decisions of this router made after a time, oldest first."""
        table = tables.decisions
        return self.store.rows(
            select(table)
            .where(table.c.router == self.router, table.c.created > created)
            .order_by(table.c.created, table.c.clock)
        )

    def decisions_of(self, run_id: str) -> list[str]:
        """Ids of this router's decisions for a run, in order."""
        table = tables.decisions
        rows = self.store.rows(
            select(table.c.id)
            .where(table.c.router == self.router, table.c.run_id == run_id)
            .order_by(table.c.created, table.c.clock)
        )
        return [str(row["id"]) for row in rows]

    def arms(self) -> list[str]:
        """Names of all arms that decisions of this router could fall on."""
        table = tables.decisions
        names: dict[str, None] = {}
        for row in self.store.rows(select(table.c.candidates, table.c.arm).where(table.c.router == self.router)):
            names |= dict.fromkeys((*row["candidates"], row["arm"]))
        return list(names)

    def outcomes_after(self, cursor: int) -> list[Row]:
        """Outcomes of this router's decisions with row ids above ``cursor``, in order."""
        outcomes, decisions = tables.outcomes, tables.decisions
        # not a join: SQLite would begin with all of the router's decisions, to find a handful of new outcomes
        ours = exists().where(decisions.c.id == outcomes.c.decision_id, decisions.c.router == self.router)
        return self.store.rows(select(outcomes).where(outcomes.c.id > cursor, ours).order_by(outcomes.c.id))

    def tail(self) -> int:
        """Row id of the newest outcome of any router, 0 when there is none."""
        row = self.store.row(select(func.max(tables.outcomes.c.id).label("newest")))
        return 0 if row is None or row["newest"] is None else int(row["newest"])

    def live(self) -> Row | None:
        """The live version of this router."""
        table = tables.router_versions
        return self.store.row(
            select(table)
            .where(table.c.router == self.router, table.c.live.is_(True))
            .order_by(table.c.version.desc())
        )

    def _of_live(self) -> Executable:
        table = tables.router_versions
        mine = table.c.router == self.router
        return select(table.c.version, table.c.metrics).where(mine, table.c.live.is_(True))

    def head(self) -> tuple[int, int]:
        """Numbers of the live version and of the one by whose promotion it came, 0 if none."""
        return _head(self.store.row(self._of_live()))

    def publish(self, state: bytes, core: Core, now: float, metrics: Mapping[str, Any], over: int) -> int | None:
        """Write a version and make it the live one, in place of version ``over``, 0 being none.

        Returns:
            Its number; None: another is live by now, and nothing was written.
        """
        try:
            with self.store.write() as connection:
                live, promotion = _head(connection.execute(self._of_live()).mappings().first())
                if live != over:
                    return None
                if promotion:  # what was promoted goes on learning
                    metrics = {**metrics, "promotion": promotion}
                version = self._insert(connection, state, core.policy.name, core.clock, now, metrics, live=True)
                _prune(connection, self.router)
        except StoreError as error:
            if isinstance(error.__cause__, IntegrityError):  # on PostgreSQL two may write the same number at once
                return None
            raise
        return version

    def propose(self, state: bytes, policy: str, clock: int, now: float, metrics: Mapping[str, Any]) -> int:
        """Write a version that passed its trial and make it the live one, until ``kept.go_back``."""
        table = tables.router_versions
        with self.store.write() as connection:
            newest = connection.execute(
                select(func.max(table.c.version)).where(table.c.router == self.router)
            ).scalar()
            promotion = int(newest or 0) + 1
            metrics = {**metrics, "promotion": promotion}
            return self._insert(connection, state, policy, clock, now, metrics, live=True)

    def _insert(
        self,
        connection: Connection,
        state: bytes,
        policy: str,
        clock: int,
        now: float,
        metrics: Mapping[str, Any],
        *,
        live: bool,
    ) -> int:
        table = tables.router_versions
        mine = table.c.router == self.router
        newest = connection.execute(select(func.max(table.c.version)).where(mine)).scalar()
        parent = connection.execute(select(table.c.id).where(mine, table.c.live.is_(True))).scalar()
        version = int(newest or 0) + 1
        connection.execute(update(table).where(mine).values(live=False))
        connection.execute(
            insert(table).values(
                id=new_id("rv"),
                router=self.router,
                version=version,
                policy=policy,
                state=state,
                clock=clock,
                parent_id=parent,
                metrics=dict(metrics),
                live=live,
                created=now,
            )
        )
        return version

    def make_live(self, version: int) -> None:
        """Make a version that is kept the live one."""
        table = tables.router_versions
        mine = table.c.router == self.router
        with self.store.write() as connection:
            connection.execute(update(table).where(mine).values(live=False))
            connection.execute(update(table).where(mine & (table.c.version == version)).values(live=True))

    def version(self, number: int) -> Row | None:
        """A version, with its state."""
        table = tables.router_versions
        return self.store.row(select(table).where(table.c.router == self.router, table.c.version == number))

    def versions(self) -> list[Row]:
        """All versions but their state, newest first."""
        table = tables.router_versions
        columns = [column for column in table.c if column.name != "state"]
        return self.store.rows(
            select(*columns).where(table.c.router == self.router).order_by(table.c.version.desc())
        )


def _head(live: Any) -> tuple[int, int]:
    return (0, 0) if live is None else (int(live["version"]), promotion_of(live))


def promotion_of(version: Mapping[str, Any]) -> int:
    """Number of the version by whose promotion this one came, 0 if by none."""
    metrics: Mapping[str, Any] = version["metrics"] or {}
    return int(metrics.get("promotion", 0))


def _prune(connection: Connection, router: str) -> None:
    """Drop all but the newest versions, the live one, and the last before each promotion."""
    table = tables.router_versions
    rows = connection.execute(
        select(table.c.version, table.c.metrics, table.c.live)
        .where(table.c.router == router)
        .order_by(table.c.version.desc())
    ).all()
    lines: set[int] = set()
    for place, row in enumerate(rows):
        line = promotion_of({"metrics": row.metrics})
        if place >= KEPT and not row.live and line in lines:
            connection.execute(delete(table).where(table.c.router == router, table.c.version == row.version))
        lines.add(line)


def _row(fixed: Row, judged: Judged, decision: Decision, pending: Pending, own: Mapping[str, float | None]) -> Row:
    """The row of a decision, from what does not change any more."""
    names, propensities = list(judged.names), decision.propensities
    scores: dict[str, dict[str, float | str]] = {name: dict(row) for name, row in decision.scores.items()}
    numbers = ("width", "ignorance", "unsure", "expected_usd")
    scores[decision.arm].update({name: getattr(pending, name) for name in numbers})
    context: Row = {"text": judged.inner.tolist(), "arms": dict(zip(names, judged.state.tolist(), strict=True))}
    ask = {mode: float(value) for mode, value in own.items() if value is not None}
    if ask:
        context["ask"] = ask
    return {
        **fixed,
        "id": decision.id,
        "created": pending.created,
        "clock": pending.clock,
        "context": _json(context),
        "candidates": names,
        "arm": decision.arm,
        "propensity": decision.propensity,
        "propensities": _json(propensities),
        "scores": _json(scores),
    }


def _json(value: Row | dict[str, dict[str, float | str]] | dict[str, float]) -> Any:
    """Names and many numbers as text: ten times as fast as ``json``, which has the rarer cases."""
    try:
        text = orjson.dumps(value).decode()
    except (TypeError, ValueError):
        return value
    # what is not a number becomes null, and no value here is None
    return value if "null" in text or text.startswith('{"$') else JsonText(text)


def outcome_of(row: Mapping[str, Any]) -> Outcome:
    """An outcome from its row; what is beyond all sense, of an older package or another program, is cut off."""
    usd, seconds = (None if row[name] is None else min(row[name], MOST) for name in ("usd", "seconds"))
    return Outcome(row["quality"], usd, seconds, row["error"])


def pending_of(row: Mapping[str, Any], core: Core) -> Pending | None:
    """What must be kept of a logged decision.

    The context is put together from the log; where the log has features of another version, from the text.
    None: the arm is not known here, or the context can not be put together.
    """
    slot = core.slots.get(row["arm"])
    if slot is None:
        return None
    context: Mapping[str, Any] = row["context"]
    scores: Mapping[str, Mapping[str, Any]] = row["scores"] or {}
    inner: list[float] = context.get("text") or []
    given = len(inner) if str(row["features_version"]).startswith("given") else None
    if given == 0 or (given is None and not row["text"] and row["features_version"] == "none"):
        return None
    if core.features is None:
        core.prepare(given)
    features = core.features
    assert features is not None
    if row["features_version"] == features.version and len(inner) == features.inner:
        vector = np.array(inner, np.float64)
    elif row["text"] and features.embedder is not None:
        vector = features.of_text(row["text"])
    else:
        return None
    # logs of other routers come without the arms' state and without scores
    state = np.array([context.get("arms", {}).get(row["arm"], UNKNOWN_STATE)], np.float64)
    prior = core.estimates.prior[slot].tolist()
    expected = core.arms[slot].expected_usd
    mine: dict[str, Any] = {"mean": prior[0], "log_cost": prior[1], "log_seconds": prior[2], "cost": expected}
    mine |= scores.get(row["arm"], {})
    return Pending(
        slot=slot,
        clock=int(row["clock"]),
        created=float(row["created"]),
        context=features.contexts(vector, state)[0],
        mean=float(mine["mean"]),
        log_cost=float(mine["log_cost"]),
        log_seconds=float(mine["log_seconds"]),
        width=float(mine.get("width", 0.0)),
        ignorance=float(mine.get("ignorance", 1.0)),
        unsure=float(mine.get("unsure", 1.0)),
        charged=float(mine["cost"]),
        expected_usd=float(mine.get("expected_usd", "nan")),
    )


def look_back(row: Mapping[str, Any], core: Core) -> None:
    """Let the pacer see a logged decision as it was seen when it was made."""
    scores: Mapping[str, Mapping[str, Any]] = row["scores"] or {}
    known = [name for name in scores if name in core.slots and "score" in scores[name]]
    if not known:
        return
    value = np.array([float(scores[name]["score"]) + float(scores[name]["price"]) for name in known])
    cost = np.array([float(scores[name]["cost"]) for name in known])
    core.pacer.look(value, cost, np.array([core.slots[name] for name in known], np.intp))
    if core.pacer.budget is not None:
        rate = float(scores[known[0]].get("price_weight", 0.0)) / core.pacer.budget
        if abs(rate - core.pacer.rate) > 1e-9 * max(rate, core.pacer.rate):
            core.pacer.rate, core.pacer.solved = rate, core.pacer.seen
