"""A router's rows in the store: decisions, outcomes, versions."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import exists, func, insert, select, update

from pointwork.router.core import Core, Judged
from pointwork.router.decisions import Decision, Outcome
from pointwork.router.pending import Pending
from pointwork.store import Store, new_id, tables

Array = npt.NDArray[np.float64]
Row = dict[str, Any]


class Log:
    """What one router, by name, has in a store. It does not know what the rows mean to the regressions.

    Args:
        store: an open one.
        router: the name; several routers share a store.
    """

    def __init__(self, store: Store, router: str) -> None:
        self.store = store
        self.router = router

    def decided(
        self,
        core: Core,
        judged: Judged,
        decision: Decision,
        pending: Pending,
        *,
        text: str,
        run_id: str | None,
        subtask: str | None,
    ) -> None:
        """Append a decision, buffered."""
        assert core.features is not None
        names = list(judged.names)
        scores: dict[str, dict[str, float | str]] = {name: dict(row) for name, row in decision.scores.items()}
        scores[decision.arm].update(width=pending.width, ignorance=pending.ignorance, unsure=pending.unsure)
        self.store.append(
            tables.decisions,
            {
                "id": decision.id,
                "run_id": run_id,
                "subtask": subtask,
                "router": self.router,
                "created": pending.created,
                "clock": pending.clock,
                "policy": core.policy.name,
                "policy_version": core.policy.version,
                "features_version": core.features.version,
                "text": text or None,
                "context": {
                    "text": judged.inner.tolist(),
                    "arms": dict(zip(names, judged.state.tolist(), strict=True)),
                },
                "candidates": names,
                "arm": decision.arm,
                "propensity": decision.propensity,
                "propensities": decision.propensities,
                "scores": scores,
            },
        )

    def learnt(self, decision_id: str, outcome: Outcome, source: str, now: float) -> None:
        """Append an outcome, buffered."""
        self.store.append(
            tables.outcomes,
            {
                "decision_id": decision_id,
                "created": now,
                "quality": outcome.quality,
                "usd": outcome.usd,
                "seconds": outcome.seconds,
                "error": outcome.error,
                "source": source,
            },
        )

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

    def publish(self, state: bytes, core: Core, now: float, metrics: Mapping[str, Any]) -> int:
        """Write a version and make it the live one. Returns its number."""
        table = tables.router_versions
        with self.store.write() as connection:
            newest = connection.execute(
                select(func.max(table.c.version)).where(table.c.router == self.router)
            ).scalar()
            parent = connection.execute(
                select(table.c.id).where(table.c.router == self.router, table.c.live.is_(True))
            ).scalar()
            version = int(newest or 0) + 1
            promoted = connection.execute(
                select(table.c.metrics).where(table.c.router == self.router, table.c.live.is_(True))
            ).scalar()
            if promoted and promoted.get("promoted"):  # what was promoted goes on learning
                metrics = {**metrics, "promoted": True}
            connection.execute(update(table).where(table.c.router == self.router).values(live=False))
            connection.execute(
                insert(table).values(
                    id=new_id("rv"),
                    router=self.router,
                    version=version,
                    policy=core.policy.name,
                    state=state,
                    clock=core.clock,
                    parent_id=parent,
                    metrics=dict(metrics),
                    live=True,
                    created=now,
                )
            )
        return version


def outcome_of(row: Mapping[str, Any]) -> Outcome:
    """An outcome from its row."""
    return Outcome(row["quality"], row["usd"], row["seconds"], row["error"])


def pending_of(row: Mapping[str, Any], core: Core) -> Pending | None:
    """What must be kept of a logged decision.

    The context is put together from the log; where the log has features of another version, from the text.
    None: the arm is not known here, or the context can not be put together.
    """
    slot = core.slots.get(row["arm"])
    context, scores = row["context"], row["scores"]
    # logs of other routers come without context and scores
    if slot is None or row["arm"] not in context.get("arms", {}) or row["arm"] not in scores:
        return None
    given = len(row["context"]["text"]) if str(row["features_version"]).startswith("given") else None
    if core.features is None:
        core.prepare(given)
    features = core.features
    assert features is not None
    if row["features_version"] == features.version:
        inner = np.array(row["context"]["text"], np.float64)
    elif row["text"] and features.embedder is not None:
        inner = features.of_text(row["text"])
    else:
        return None
    state = np.array([row["context"]["arms"][row["arm"]]], np.float64)
    mine = row["scores"][row["arm"]]
    return Pending(
        slot=slot,
        clock=int(row["clock"]),
        created=float(row["created"]),
        context=features.contexts(inner, state)[0],
        mean=float(mine["mean"]),
        log_cost=float(mine["log_cost"]),
        log_seconds=float(mine["log_seconds"]),
        width=float(mine.get("width", 0.0)),
        ignorance=float(mine.get("ignorance", 1.0)),
        unsure=float(mine.get("unsure", 0.0)),
        charged=float(mine["cost"]),
    )


def look_back(row: Mapping[str, Any], core: Core) -> None:
    """Let the pacer see a logged decision as it was seen when it was made."""
    scores = row["scores"]
    known = [name for name in scores if name in core.slots]
    if not known:
        return
    value = np.array([float(scores[name]["score"]) + float(scores[name]["price"]) for name in known])
    cost = np.array([float(scores[name]["cost"]) for name in known])
    core.pacer.look(value, cost, np.array([core.slots[name] for name in known], np.intp))
    if core.pacer.budget is not None:
        rate = float(scores[known[0]].get("price_weight", 0.0)) / core.pacer.budget
        if abs(rate - core.pacer.rate) > 1e-9 * max(rate, core.pacer.rate):
            core.pacer.rate, core.pacer.solved = rate, core.pacer.seen
