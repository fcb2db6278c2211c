"""Opening the database: address, pragmas, transactions, migrations."""

import os
import secrets
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from pointwork.errors import ConfigError, StoreError

HEAD = "0001"
BUSY_SECONDS = 30.0


def new_id(prefix: str = "") -> str:
    """A new id that sorts by time of creation: milliseconds (12 hex digits) and 64 random bits."""
    return f"{prefix}{time.time_ns() // 1_000_000:012x}{secrets.token_hex(8)}"


def default_url() -> str:
    """The store when nothing else is said: ``POINTWORK_STORE`` or a file in the user's data directory."""
    from platformdirs import user_data_dir

    configured = os.environ.get("POINTWORK_STORE")
    if configured:
        return configured
    return f"sqlite:///{Path(user_data_dir('pointwork')) / 'pointwork.db'}"


def parse_url(url: str) -> URL:
    """Check a store address; a bare ``postgresql://`` gets the psycopg driver.

    Raises:
        ConfigError: it is not an SQLAlchemy URL of SQLite or PostgreSQL.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigError(
            f"store address {url!r} is not an SQLAlchemy URL; use sqlite:///path/to/file.db or postgresql://…"
        ) from error
    backend = parsed.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise ConfigError(f"store {backend!r} is not supported; use sqlite:///… or postgresql://…")
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed


def open_engine(url: URL) -> Engine:
    """An engine whose write transactions take the lock at their start, so that they never deadlock.

    Raises:
        StoreError: the file's folder can not be made.
    """
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_size=8, max_overflow=8, pool_pre_ping=True)
    options: dict[str, Any] = {"connect_args": {"timeout": BUSY_SECONDS, "check_same_thread": False}}
    if url.database in (None, "", ":memory:"):
        options["poolclass"] = StaticPool
    else:
        try:
            Path(str(url.database)).expanduser().parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"can not make the folder of the store {url.database}: {error}") from error
    engine = create_engine(url, **options)
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: Any, _record: Any) -> None:
    # pysqlite's own transaction handling would begin deferred: read, then fail to upgrade to a write lock
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    # FULL: a tool's stored intent must survive a power cut, else its effect could happen twice
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _on_begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get("pointwork_read", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def migrate(engine: Engine) -> None:
    """Bring the schema to this package's revision.

    Raises:
        StoreError: the store was written by a newer version of the package, or can not be opened.
    """
    with _explained(engine):
        if _revision(engine) == HEAD:
            return
        from alembic import command
        from alembic.config import Config
        from alembic.script import ScriptDirectory
        from alembic.util import CommandError

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        with engine.begin() as connection:
            # asked again inside the write transaction: another process may have migrated meanwhile
            revision = _revision_of(connection)
            if revision == HEAD:
                return
            if revision is not None and revision not in known:
                raise StoreError(
                    f"the store {engine.url!r} has schema {revision!r}, which this version of pointwork "
                    "does not know: it was written by a newer one. Upgrade pointwork or use another store."
                )
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError as error:
                raise StoreError(f"the store {engine.url!r} can not be migrated: {error}") from error


def _revision(engine: Engine) -> str | None:
    with engine.connect().execution_options(pointwork_read=True) as connection:
        return _revision_of(connection)


def _revision_of(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


@contextmanager
def _explained(engine: Engine) -> Generator[None, None, None]:
    try:
        yield
    except SQLAlchemyError as error:
        raise explain(error, engine.url) from error


def explain(error: SQLAlchemyError, url: URL) -> StoreError:
    """A database error in words that say what to do."""
    cause = str(getattr(error, "orig", None) or error).strip()
    advice = ""
    if "database is locked" in cause:
        advice = f" Another process has held its write lock for over {BUSY_SECONDS:g} s."
    elif "disk is full" in cause or "disk I/O error" in cause:
        advice = " Free some space and run the command again; what was stored before is kept."
    elif "not a database" in cause:
        advice = " The file is not a Pointwork store; choose another with POINTWORK_STORE."
    elif "unable to open" in cause or "readonly database" in cause:
        advice = " Check that the file and its folder can be written, or set POINTWORK_STORE."
    elif isinstance(error, OperationalError) and url.get_backend_name() == "postgresql":
        advice = " Is the server running, and the address right?"
    return StoreError(f"store {url!r}: {cause}.{advice}")
