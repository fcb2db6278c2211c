"""The versions of a role in the store's table ``models``: candidate → live → retired or rolled-back.

``candidate``: written before anything is loaded; what was not proved stays one, with the reason in its metrics.
``live``: at most one per role, what the runtime serves. ``retired``: was live, a later one followed; kept for
rollback. ``rolled-back``: was live and taken back.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from pointwork.errors import PublicationError, UsageError
from pointwork.store import Store, new_id
from pointwork.store.store import Row
from pointwork.store.tables import models

CANDIDATE, LIVE, RETIRED, ROLLED_BACK = "candidate", "live", "retired", "rolled-back"


class Versions:
    """What a store knows of adapters."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self, role: str | None = None) -> list[Row]:
        """Rows of adapters, newest first; of one role, or of all."""
        query = select(models).where(models.c.path.is_not(None))
        if role is not None:
            query = query.where(models.c.role == role)
        return self._store.rows(query.order_by(models.c.created.desc(), models.c.id.desc()))

    def live(self, role: str) -> Row | None:
        """The live version of a role."""
        return next((row for row in self.all(role) if row["state"] == LIVE), None)

    def live_on(self, role: str, base: str) -> Row | None:
        """The live version of a role, if it was made for this base: for another it serves nothing."""
        row = self.live(role)
        return row if row is not None and made_for(row, base) else None

    def by_id(self, row_id: str | None) -> Row | None:
        """A version by its row id."""
        return None if row_id is None else self._store.row(select(models).where(models.c.id == row_id))

    def named(self, version: str) -> Row:
        """A version by its name.

        Raises:
            UsageError: there is none.
        """
        row = self._store.row(select(models).where(models.c.version == version))
        if row is None:
            raise UsageError(f"there is no model version {version!r}; 'pointwork models list' shows them")
        return row

    def next_number(self, role: str) -> int:
        """1 + how many versions the role has."""
        count = self._store.row(select(func.count().label("n")).where(models.c.role == role))
        return 1 + int(count["n"] if count else 0)

    def add(
        self,
        role: str,
        version: str,
        *,
        base: str,
        folder: Path,
        sha256: str,
        parent: str | None,
        metrics: Mapping[str, Any],
    ) -> Row:
        """Write a candidate."""
        row: Row = {
            "id": new_id("model"),
            "role": role,
            "version": version,
            "base": _base(base),
            "path": str(folder),
            "sha256": sha256,
            "parent_id": parent,
            "metrics": dict(metrics),
            "state": CANDIDATE,
            "created": time.time(),
        }
        with self._store.write() as connection:
            connection.execute(insert(models).values(**row))
        return row

    def note(self, row_id: str, metrics: Mapping[str, Any]) -> None:
        """Add to the metrics of a version."""
        with self._store.write() as connection:
            _note(connection, row_id, metrics)

    def switch(self, role: str, row_id: str, *, expected: str | None, metrics: Mapping[str, Any]) -> None:
        """Make a version live, in one transaction.

        Args:
            expected: row id of the version that must be live until now.

        Raises:
            PublicationError: another one is: somebody published in between. Nothing was changed.
        """
        with self._store.write() as connection:
            before = _locked(connection, role)
            if before != expected:
                raise PublicationError(
                    f"another version of {role!r} went live while this one was being proved; it was measured "
                    "against one that no longer serves. Nothing was switched: publish again"
                )
            if before is not None:
                _state(connection, before, RETIRED)
            _state(connection, row_id, LIVE)
            _note(connection, row_id, metrics)

    def roll_back(self, role: str, row_id: str, to: str | None) -> None:
        """Take the live version back and make the one before it live (None: the base), in one transaction.

        Raises:
            PublicationError: another version is live by now. Nothing was changed.
        """
        with self._store.write() as connection:
            if _locked(connection, role) != row_id:
                raise PublicationError(f"another version of {role!r} went live meanwhile; nothing was rolled back")
            _state(connection, row_id, ROLLED_BACK)
            if to is not None:
                _state(connection, to, LIVE)


def made_for(row: Row, base: str) -> bool:
    """Whether a version is one of this base, by its name or address."""
    return bool(row["base"] == _base(base))


def _base(base: str) -> str:
    return base[-256:]  # as much as the column holds


def _locked(connection: Connection, role: str) -> str | None:
    """The live version; on PostgreSQL two who switch wait for each other at the role's rows."""
    rows = connection.execute(
        select(models.c.id, models.c.state)
        .where(models.c.role == role, models.c.path.is_not(None))
        .order_by(models.c.id)
        .with_for_update()
    ).all()
    return next((str(row.id) for row in rows if row.state == LIVE), None)


def _state(connection: Connection, row_id: str, state: str) -> None:
    connection.execute(update(models).where(models.c.id == row_id).values(state=state))


def _note(connection: Connection, row_id: str, metrics: Mapping[str, Any]) -> None:
    query = select(models.c.metrics).where(models.c.id == row_id)
    known: dict[str, Any] = connection.execute(query).scalar() or {}
    connection.execute(update(models).where(models.c.id == row_id).values(metrics={**known, **metrics}))
