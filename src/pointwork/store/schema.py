"""The schema's history: which revision a database has, and how it gets to this package's."""

import threading
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, insert, inspect, text

from pointwork.errors import StoreError
from pointwork.store.engine import Database
from pointwork.store.tables import metadata

HEAD = "0012"

# As Alembic makes it.
_VERSION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)

# Alembic's ``op`` is one per process: two stores opened at once in two threads would write into each other.
_upgrading = threading.Lock()


def migrate(database: Database, target: str = HEAD) -> None:
    """Bring the schema to a revision. A new database gets the newest outright, in a quarter of the time.

    Args:
        database: an open one.
        target: where to; older ones only in tests.

    Raises:
        StoreError: the store was written by a newer version of the package, or can not be opened.
    """
    with database.reading() as connection:
        if _revision(connection) == target:
            return
    with database.migrating() as connection:
        # asked again inside the write transaction: another process may have migrated meanwhile
        revision = _revision(connection)
        if revision == target:
            return
        if revision is None and target == HEAD:
            metadata.create_all(connection, checkfirst=False)
            _VERSION.create(connection)
            connection.execute(insert(_VERSION), {"version_num": HEAD})
            return
        from alembic import command
        from alembic.util import CommandError

        config, known = _history()
        if revision is not None and revision not in known:
            raise StoreError(
                f"the store {database.url!r} has schema {revision!r}, which this version of pointwork "
                "does not know: it was written by a newer one. Upgrade pointwork or use another store."
            )
        config.attributes["connection"] = connection
        try:
            with _upgrading:
                command.upgrade(config, target)
        except CommandError as error:
            raise StoreError(f"the store {database.url!r} can not be migrated: {error}") from error


def _history() -> tuple[Any, set[str]]:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config, {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}


def _revision(connection: Connection) -> str | None:
    """The revision, None of a database without our tables.

    Raises:
        StoreError: another program has tables by our names, or a history of its own, in it.
    """
    there = set(inspect(connection).get_table_names())
    ours = sorted(there & metadata.tables.keys())
    if "alembic_version" not in there and not ours:
        return None
    if "alembic_version" not in there or "runs" not in there:
        name = (ours or ["alembic_version"])[0]
        raise StoreError(
            f"the store {connection.engine.url!r} is another program's: its table {name!r} is not Pointwork's. "
            "Nothing was changed; choose another with POINTWORK_STORE."
        )
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
