"""A router's rows in the store: decisions, outcomes, versions."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import orjson
from sqlalchemy import Connection, Executable, delete, exists, func, insert, select, update

from pointwork.errors import StoreError
from pointwork.router.asking import Judged
from pointwork.router.core import Core
from pointwork.router.decisions import Decision, Outcome
from pointwork.router.pending import Pending
from pointwork.router.policies import Policy
from pointwork.router.rows import GUESSED, PRICES
from pointwork.store import Store, new_id, tables
from pointwork.store.types import JsonText

Row = dict[str, Any]

# Newest versions that are kept.
KEPT = 8
# Ids in one query.
AT_ONCE = 500
# The number from which all decisions are new, those also that were stored before decisions had numbers.
BEFORE = -1


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
        if outcome.quality is None:
            return False
        rows = [row for row in self.outcomes(decision_id) if row["source"] == source]
        return outcome.quality not in [row["quality"] for row in rows if row["quality"] is not None][-1:]

    def decision(self, decision_id: str) -> Row | None:
        """A decision of this router."""
        table = tables.decisions
        return self.store.row(select(table).where(table.c.id == decision_id, table.c.router == self.router))

    def outcomes(self, decision_id: str) -> list[Row]:
        """All outcomes of a decision, in the order they came."""
        table = tables.outcomes
        return self.store.rows(select(table).where(table.c.decision_id == decision_id).order_by(table.c.id))

    def decisions(self) -> list[Row]:
        """All decisions of this router, in the order they were made."""
        table = tables.decisions
        mine = table.c.router == self.router
        return self.store.rows(select(table).where(mine).order_by(table.c.created, table.c.clock))

    def stored_after(self, number: int) -> dict[str, int]:
        """Decisions of this router that were stored after the one of this number, with theirs.

        When they were made says nothing about it: others write theirs in batches, or were suspended. Those without
        a number, of an older package, have 0.
        """
        table = tables.decisions
        query = select(table.c.id, table.c.number).where(table.c.router == self.router)
        if number > BEFORE:
            # not `router =`: SQLite would begin with all of the router's decisions, to find a handful of new ones
            mine = table.c.router.concat("") == self.router
            query = select(table.c.id, table.c.number).where(table.c.number > number, mine)
        return {row["id"]: row["number"] or 0 for row in self.store.rows(query)}

    def named(self, ids: Sequence[str]) -> list[Row]:
        """Decisions by id, in the order they were made."""
        table = tables.decisions
        rows: list[Row] = []
        for start in range(0, len(ids), AT_ONCE):
            rows += self.store.rows(select(table).where(table.c.id.in_(ids[start : start + AT_ONCE])))
        return sorted(rows, key=lambda row: (row["created"], row["clock"]))

    def made_until(self, created: float) -> set[str]:
        """Ids of this router's decisions that were made until a time."""
        table = tables.decisions
        mine = (table.c.router == self.router, table.c.created <= created)
        return {row["id"] for row in self.store.rows(select(table.c.id).where(*mine))}

    def decisions_of(self, run_id: str) -> list[str]:
        """Ids of this router's decisions for a run, in order."""
        table = tables.decisions
        rows = self.store.rows(
            select(table.c.id)
            .where(table.c.router == self.router, table.c.run_id == run_id)
            .order_by(table.c.created, table.c.clock)
        )
        return [str(row["id"]) for row in rows]

    def any(self) -> bool:
        """Whether there are decisions of this router."""
        table = tables.decisions
        return self.store.row(select(table.c.id).where(table.c.router == self.router).limit(1)) is not None

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

    def tail(self) -> tuple[int, int]:
        """Numbers of the newest outcome and the newest decision of any router, 0 where there is none."""
        columns = {"outcome": tables.outcomes.c.id, "decision": tables.decisions.c.number}
        newest = (select(func.max(column)).scalar_subquery().label(name) for name, column in columns.items())
        (row,) = self.store.rows(select(*newest))
        return row["outcome"] or 0, row["decision"] or 0

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

    @contextmanager
    def _changing(self) -> Generator[tuple[Connection, int, int]]:
        """A transaction to change what is live, with ``head``: no other comes in between."""
        with self.store.write() as connection:
            self.store.versions_in_turn(connection)
            yield connection, *_head(connection.execute(self._of_live()).mappings().first())

    def publish(self, state: bytes, core: Core, now: float, metrics: Mapping[str, Any], over: int) -> int | None:
        """Write a version and make it the live one, in place of version ``over``, 0 being none.

        Returns:
            Its number; None: another is live by now, and nothing was written.
        """
        with self._changing() as (connection, live, promotion):
            if live != over:
                return None
            if promotion:  # what was promoted goes on learning
                metrics = {**metrics, "promotion": promotion}
            version = self._insert(connection, state, core.policy.name, core.clock, now, metrics, live=True)
            _prune(connection, self.router)
        return version

    def propose(
        self, state: bytes, policy: str, clock: int, now: float, metrics: Mapping[str, Any], over: int | None = None
    ) -> int | None:
        """Write a version that passed its trial and make it the live one, until ``kept.go_back``.

        Args:
            state, policy, clock, now, metrics: of the version.
            over: the promotion that the live one must come from, as it was judged against that; None: whichever.

        Returns:
            Its number; None: another was promoted or gone back to, and nothing was written.
        """
        table = tables.router_versions
        with self._changing() as (connection, _, present):
            if over is not None and present != over:
                return None
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

    def make_live(self, version: int, over: int) -> None:
        """Make a version that is kept the live one, in place of version ``over``.

        Raises:
            StoreError: another is live by now, or it is no longer kept; nothing was changed.
        """
        table = tables.router_versions
        mine = table.c.router == self.router
        with self._changing() as (connection, live, _):
            connection.execute(update(table).where(mine).values(live=False))
            chosen = update(table).where(mine & (table.c.version == version)).values(live=True)
            if live != over or not connection.execute(chosen).rowcount:
                raise StoreError(
                    f"router {self.router!r}: another version was made live meanwhile, or version {version} is no "
                    "longer kept: nothing was changed, try it again"
                )

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
    chosen = scores[decision.arm]
    chosen.update({name: getattr(pending, name) for name in ("width", "ignorance", "unsure")})
    chosen.update(zip(PRICES, pending.prices or (), strict=False))
    chosen.update((name, 1.0) for name, guess in zip(GUESSED, pending.guessed, strict=True) if guess)
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
