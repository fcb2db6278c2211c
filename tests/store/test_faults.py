"""Databases that can not: each ends in a StoreError that says what to do, with nothing stored by halves."""

import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, insert, select, text

from pointwork.budgets import Budget
from pointwork.errors import ConfigError, StoreError
from pointwork.ledger import Amount, Ledger
from pointwork.store import Store, faults
from pointwork.store.engine import Database
from pointwork.store.faults import CommitUnknown
from pointwork.store.tables import accounts, ledger, runs


def a_run(run_id: str, **values: Any) -> dict[str, Any]:
    return {"id": run_id, "task": "t", "status": "running", "created": 1.0, "package_version": "0", **values}


def ids(store: Store) -> list[str]:
    return sorted(row["id"] for row in store.rows(select(runs.c.id)))


def engine_of(store: Store) -> Any:
    database: Database = store._database  # pyright: ignore[reportPrivateUsage]
    return database.engine


@pytest.fixture
def file(new_database: Callable[..., str]) -> str:
    """A migrated SQLite database's address."""
    return new_database("sqlite")


@pytest.fixture
def served(new_database: Callable[..., str]) -> str:
    """A migrated PostgreSQL database's address."""
    return new_database("postgresql")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "BUSY_SECONDS", 0.2)


def path_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


# --- full disk ---


@pytest.fixture
def full(file: str) -> Generator[Store, None, None]:
    """A store whose file may not grow; ``PRAGMA max_page_count`` ends as a full disk does."""
    store = Store(file)

    def limit(connection: Any, *_: Any) -> None:
        # a quarter of a megabyte more than there is
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages + 64}")

    event.listen(engine_of(store), "connect", limit)
    engine_of(store).dispose()
    yield store
    event.remove(engine_of(store), "connect", limit)
    engine_of(store).dispose()
    store.close()


def test_a_write_on_a_full_disk_stores_nothing(full: Store) -> None:
    with pytest.raises(StoreError, match=r"full.*Free some space"), full.write() as connection:  # noqa: PT012
        connection.execute(insert(runs), a_run("small"))
        connection.execute(insert(runs), a_run("big", task="x" * 1_000_000))
    assert ids(full) == []
    with full.write() as connection:  # what still fits is stored
        connection.execute(insert(runs), a_run("small"))
    assert ids(full) == ["small"]


def test_buffered_rows_wait_for_space(full: Store) -> None:
    full.append(runs, a_run("small"), a_run("big", task="x" * 1_000_000))
    for _ in range(2):
        with pytest.raises(StoreError, match="Free some space"):
            full.flush()
    make_room(full)
    assert ids(full) == ["big", "small"]


def make_room(store: Store) -> None:
    """Space is made."""
    with store._database.reading() as connection:  # pyright: ignore[reportPrivateUsage]
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")


def test_a_reservation_on_a_full_disk_takes_nothing(full: Store) -> None:
    run = Ledger(full).open("r", Budget(tokens=10_000))
    held: list[Any] = []
    with pytest.raises(StoreError, match="Free some space"):  # noqa: PT012
        while True:
            held.append(run.reserve(Amount(tokens=1), by="x" * 100))
    row = full.row(select(accounts))
    assert row is not None
    assert row["reserved_tokens"] == len(held) == len(full.rows(select(ledger)))


_LIMITED = """
import resource, signal, sys
from pointwork.errors import StoreError
from pointwork.store import Store
from pointwork.store.tables import runs
store = Store(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
stored = 0
try:
    while True:
        row = dict(id=f"{stored:04}", task="x" * 10_000, status="ok", created=1.0, package_version="0")
        store.append(runs, row)
        store.flush()
        stored += 1
except StoreError as error:
    print(stored, error, flush=True)
import os
os._exit(0)
"""


def test_the_system_refuses_to_let_the_file_grow(file: str) -> None:
    out = subprocess.run([sys.executable, "-c", _LIMITED, file], capture_output=True, text=True, check=True).stdout
    stored, _, message = out.partition(" ")
    assert "Free some space" in message
    with closing(Store(file)) as store:
        assert ids(store) == [f"{n:04}" for n in range(int(stored))]
        assert store.row(text("PRAGMA integrity_check")) == {"integrity_check": "ok"}


# --- locks ---


@pytest.mark.usefixtures("impatient")
def test_a_locked_file(file: str) -> None:
    with closing(Store(file)) as store:
        other = sqlite3.connect(path_of(file), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        store.append(runs, a_run("buffered"))
        with pytest.raises(StoreError, match=r"locked.*0\.2 s"):
            store.flush()
        with pytest.raises(StoreError, match="locked"), store.write(flush=False) as connection:
            connection.execute(insert(runs), a_run("written"))
        assert store.rows(select(accounts)) == []  # reading goes on
        other.execute("ROLLBACK")
        other.close()
        assert ids(store) == ["buffered"]


@pytest.mark.usefixtures("impatient")
def test_a_locked_row_on_postgresql(served: str) -> None:
    with closing(Store(served)) as store, closing(Store(served)) as other:
        account = Ledger(store).open("r", Budget(tokens=10))
        with other.write() as connection:
            connection.execute(select(accounts).with_for_update())
            with pytest.raises(StoreError, match=r"lock timeout.*0\.2 s"):
                account.reserve(Amount(tokens=1), by="x")
        assert account.remaining().tokens == 10
        account.reserve(Amount(tokens=10), by="x")


def test_a_short_lock_is_waited_for(file: str) -> None:
    with closing(Store(file)) as store:
        other = sqlite3.connect(path_of(file), isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.3, lambda: other.execute("ROLLBACK")).start()
        with store.write() as connection:
            connection.execute(insert(runs), a_run("r"))
        assert ids(store) == ["r"]
        other.close()


# --- files and folders ---


def test_a_file_that_can_only_be_read(file: str) -> None:
    with closing(Store(file)) as store:
        store.append(runs, a_run("r"))
    before = path_of(file).read_bytes()
    with closing(Store(f"sqlite:///file:{path_of(file)}?mode=ro&uri=true")) as store:
        assert ids(store) == ["r"]
        with pytest.raises(StoreError, match=r"readonly.*Check that the file"):
            Ledger(store).open("r")
        with pytest.raises(StoreError, match="readonly"), store.write() as connection:
            connection.execute(insert(runs), a_run("r2"))
    assert path_of(file).read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_can_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="Check that the file and its folder"):
        Store(f"sqlite:///{tmp_path / 'a.db'}")
    tmp_path.chmod(0o700)


def test_a_folder_that_can_not_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="can not make the folder"):
        Store(f"sqlite:///{tmp_path / 'file' / 'a.db'}")
    with pytest.raises(StoreError, match="unable to open"):
        Store(f"sqlite:///{tmp_path}")  # a folder is no file
    (tmp_path / "deep").mkdir()
    Store(f"sqlite:///{tmp_path / 'deep' / 'er' / 'a.db'}").close()


def test_a_damaged_file(file: str) -> None:
    path = path_of(file)
    with closing(Store(file)) as store:
        store.append(runs, *(a_run(f"r{n}", task="x" * 3000) for n in range(50)))
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    with pytest.raises(StoreError, match="malformed.*not a Pointwork store"), closing(Store(file)) as store:
        ids(store)


# --- PostgreSQL ---


@pytest.fixture
def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@pytest.mark.usefixtures("postgresql_server")
def test_no_server(free_port: int) -> None:
    with pytest.raises(StoreError, match="Is the server running") as caught:
        Store(f"postgresql://someone:hidden@127.0.0.1:{free_port}/x")
    assert "hidden" not in str(caught.value)


def test_no_such_database(served: str) -> None:
    with pytest.raises(StoreError, match="Create the database first"):
        Store(served.replace("/test_", "/absent_"))


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=r"pointwork\[postgres\]"):
        Store("postgresql://localhost/x")


def end_connections(store: Store, server: Any) -> None:
    """What the other side sees when the server is started anew."""
    name = store.url.database
    server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    time.sleep(0.1)


def test_connections_that_ended_between_transactions_are_not_noticed(served: str, postgresql_server: Any) -> None:
    with closing(Store(served)) as store:
        store.append(runs, a_run("r1"))
        store.flush()
        end_connections(store, postgresql_server)
        store.append(runs, a_run("r2"))
        store.flush()
        end_connections(store, postgresql_server)
        assert ids(store) == ["r1", "r2"]


def test_a_connection_that_ends_in_a_transaction(served: str, postgresql_server: Any) -> None:
    with closing(Store(served)) as store:
        done: list[str] = []
        with pytest.raises(StoreError, match="nothing of this transaction was stored|terminat"), store.write() as c:  # noqa: PT012
            c.execute(insert(runs), a_run("r1"))
            done.append("r1")
            end_connections(store, postgresql_server)
            c.execute(insert(runs), a_run("r2"))
            done.append("r2")
        assert done == ["r1"]  # and the block was not run again
        assert ids(store) == []
        with store.write() as connection:
            connection.execute(insert(runs), a_run("r3"))
        assert ids(store) == ["r3"]


def test_a_connection_that_ends_at_the_commit(served: str, postgresql_server: Any) -> None:
    """Nobody can know then; so it is said, and nothing is stored a second time."""
    with closing(Store(served)) as store:
        with pytest.raises(CommitUnknown, match="not known"), store.write() as connection:  # noqa: PT012
            connection.execute(insert(runs), a_run("r1"))
            end_connections(store, postgresql_server)
        assert ids(store) == []

        def end(*_: Any) -> None:
            end_connections(store, postgresql_server)

        store.append(runs, a_run("r2"))
        event.listen(engine_of(store), "commit", end)
        with pytest.raises(CommitUnknown):
            store.flush()
        event.remove(engine_of(store), "commit", end)
        store.flush()
        assert ids(store) == []


def test_buffered_rows_wait_for_the_server(served: str) -> None:
    import psycopg

    def refuse(*_: Any) -> Any:
        raise psycopg.OperationalError("connection failed: refused")

    with closing(Store(served)) as store:
        store.append(runs, a_run("r1"))
        engine_of(store).dispose()
        event.listen(engine_of(store), "do_connect", refuse)
        for _ in range(2):
            with pytest.raises(StoreError, match="Is the server running"):
                store.flush()
        event.remove(engine_of(store), "do_connect", refuse)
        assert ids(store) == ["r1"]


@pytest.mark.slow
def test_a_server_that_is_stopped_and_started(another_postgresql_server: Any) -> None:
    with closing(Store(another_postgresql_server.create("test"))) as store:
        store.append(runs, a_run("r1"))
        another_postgresql_server.process.stop()
        with pytest.raises(StoreError, match="Is the server running|ended the connection"):
            store.flush()
        with pytest.raises(StoreError):
            Store(store.url.render_as_string(hide_password=False))
        another_postgresql_server.process.ensure_postgres_running()
        assert ids(store) == ["r1"]


@pytest.mark.parametrize("what", ["deleted", "replaced"])
def test_a_file_that_is_gone_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """SQLite would write on to a file that has no name any more."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a.db"
    with closing(Store("sqlite:///a.db")) as store:
        monkeypatch.chdir(tmp_path.parent)
        assert store.rows(select(runs)) == []  # it is where it was
        file.unlink()
        if what == "replaced":
            file.write_bytes(b"")
        with pytest.raises(StoreError, match="while it was open"), store.write() as connection:
            connection.execute(select(runs))
        with pytest.raises(StoreError, match="while it was open"):
            store.rows(select(runs))
