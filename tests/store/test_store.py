"""The store: opening, migrating, buffering, refusing."""

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, text

from pointwork.errors import ConfigError, StoreError
from pointwork.store import Store, new_id, open_store
from pointwork.store.tables import metadata, runs, steps


def a_run(run_id: str, **values: Any) -> dict[str, Any]:
    return {"id": run_id, "task": "t", "status": "running", "created": 1.0, "package_version": "0", **values}


def test_a_new_store_has_the_schema_of_the_tables(tmp_path: Path) -> None:
    """The migrations and ``tables.py`` say the same: alembic finds nothing to change."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    store = Store(f"sqlite:///{tmp_path / 'a.db'}")
    with store.write() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
    store.close()


def test_rows_outlive_the_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    code = (
        "import sys; from pointwork.store import Store; from pointwork.store.tables import runs;"
        "s = Store(sys.argv[1]);"
        "s.append(runs, dict(id='r', task='t', status='ok', created=1.0, package_version='0')); s.close()"
    )
    subprocess.run([sys.executable, "-c", code, url], check=True)
    assert [row["id"] for row in Store(url).rows(select(runs))] == ["r"]


def test_buffered_rows_are_seen_by_reads_and_stored_parents_first(store: Store) -> None:
    store.append(steps, {"run_id": "r1", "kind": "note", "started": 1.0})
    store.append(runs, a_run("r1"))
    assert [row["kind"] for row in store.rows(select(steps))] == ["note"]


def test_a_refused_row_is_named_and_keeps_no_other_from_being_stored(store: Store) -> None:
    store.append(runs, a_run("r1"))
    store.append(steps, {"run_id": "missing", "kind": "note", "started": 1.0})
    store.append(steps, {"run_id": "r1", "kind": "note", "started": 1.0})
    with pytest.raises(StoreError, match="refused 1 rows: steps: FOREIGN KEY"):
        store.flush()
    assert [row["run_id"] for row in store.rows(select(steps))] == ["r1"]


def test_rows_stay_in_the_buffer_while_the_database_can_not_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pointwork.store.faults.BUSY_SECONDS", 0.05)
    store = Store(f"sqlite:///{tmp_path / 'a.db'}")
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.append(runs, a_run("r1"))
    with pytest.raises(StoreError, match="locked"):
        store.flush()
    other.execute("ROLLBACK")
    other.close()
    assert [row["id"] for row in store.rows(select(runs))] == ["r1"]
    store.close()


def test_threads_share_a_store_in_memory() -> None:
    store = Store("sqlite://")

    def many(number: int) -> None:
        for i in range(20):
            with store.write() as connection:
                connection.execute(insert(runs), a_run(f"{number}-{i}"))
            store.rows(select(runs.c.id))

    threads = [threading.Thread(target=many, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.rows(select(runs.c.id))) == 120
    store.close()


def test_a_failed_transaction_stores_nothing(store: Store) -> None:
    with pytest.raises(StoreError, match="UNIQUE"), store.write() as connection:  # noqa: PT012
        connection.execute(insert(runs), a_run("r1"))
        connection.execute(insert(runs), a_run("r1"))
    assert store.rows(select(runs)) == []


def test_threads_append_and_write_at_once(store: Store) -> None:
    def many(number: int) -> None:
        for i in range(60):
            store.append(runs, a_run(f"{number}-{i}"))
            if i % 20 == 0:
                with store.write() as connection:
                    connection.execute(insert(runs), a_run(f"w{number}-{i}"))

    threads = [threading.Thread(target=many, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.rows(select(runs.c.id))) == 4 * 63


def test_a_store_of_a_newer_package_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    Store(f"sqlite:///{path}").close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(StoreError, match="newer"):
        Store(f"sqlite:///{path}")


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database " * 100)
    with pytest.raises(StoreError, match="not a Pointwork store"):
        Store(f"sqlite:///{path}")
    assert path.read_text().startswith("not a database")


@pytest.mark.parametrize("url", ["nonsense", "mysql://x/y", ""])
def test_addresses_that_can_not_work(url: str) -> None:
    with pytest.raises(ConfigError):
        Store(url)


def test_one_store_per_address_and_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    first = open_store(url)
    assert open_store(url) is first
    assert open_store(first) is first
    assert open_store(None) is not open_store(None)


def test_ids_sort_by_creation_and_do_not_repeat() -> None:
    ids = [new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert sorted(ids, key=lambda i: i[:12]) == ids
