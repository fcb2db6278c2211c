"""The store's writers, on every database: buffering, order, threads, processes, the end of a process."""

import gc
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, func, insert, select, text, update

from pointwork.errors import ConfigError, StoreError
from pointwork.store import Store, buffer, default_url, open_store
from pointwork.store.tables import memory_items, runs, steps


def a_run(run_id: str, **values: Any) -> dict[str, Any]:
    return {"id": run_id, "task": "t", "status": "running", "created": 1.0, "package_version": "0", **values}


def a_step(run_id: str, **values: Any) -> dict[str, Any]:
    return {"run_id": run_id, "kind": "note", "started": 1.0, **values}


def ids(store: Store) -> list[str]:
    return sorted(row["id"] for row in store.rows(select(runs.c.id)))


def together(number: int, work: Callable[[int], None]) -> None:
    """Run something in several threads; a failure of one fails the test."""
    failed: list[BaseException] = []

    def guarded(index: int) -> None:
        try:
            work(index)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def test_buffered_rows_are_seen_by_reads_and_stored_parents_first(database: Store) -> None:
    database.append(steps, a_step("r1"))
    database.append(runs, a_run("r1"))
    assert [row["kind"] for row in database.rows(select(steps))] == ["note"]
    database.append(steps, a_step("r1", kind="plan"))
    query = select(func.count().label("n")).where(
        runs.c.id.in_(select(steps.c.run_id).where(steps.c.kind == "plan"))
    )
    assert database.row(query) == {"n": 1}  # also where the table is only in a subquery


def test_lists_of_all_lengths_are_asked_for_by_one_query(database: Store, database_url: str) -> None:
    database.append(runs, *(a_run(f"r{n}") for n in range(20)))
    some = select(runs.c.id).where(database.among(runs.c.id, "wanted"))
    asked: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        for length in (0, 1, 7, 500):
            wanted = [f"r{n}" for n in range(length)]
            assert {row["id"] for row in database.rows(some, {"wanted": wanted})} == set(wanted[:20])
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    statements = {statement for statement in asked if statement.startswith("SELECT runs.id")}
    assert len(statements) == (4 if database_url.startswith("sqlite") else 1)  # SQLite has no arrays


def test_rows_are_nothing_that_garbage_collection_looks_at(database: Store) -> None:
    database.append(runs, a_run("r"))
    (row,) = database.rows(select(runs.c.id, runs.c.created))
    assert row == {"id": "r", "created": 1.0}
    assert not gc.is_tracked(row)


def test_a_write_stores_what_was_appended_before_it(database: Store, database_url: str) -> None:
    other = Store(database_url)
    database.append(runs, a_run("r1"))
    assert ids(other) == []
    with database.write() as connection:
        assert connection.execute(select(runs.c.id)).scalars().all() == ["r1"]
        connection.execute(insert(steps), a_step("r1"))
    assert ids(other) == ["r1"]
    database.append(runs, a_run("r2"))
    with database.write(flush=False, durable=False) as connection:
        connection.execute(update(runs).values(status="ok"))
    assert [row["status"] for row in other.rows(select(runs.c.status))] == ["ok"]
    other.close()


def test_a_failed_transaction_stores_nothing(database: Store) -> None:
    with pytest.raises(StoreError, match="UNIQUE|unique"), database.write() as connection:  # noqa: PT012
        connection.execute(insert(runs), a_run("r1"))
        connection.execute(insert(runs), a_run("r1"))
    with pytest.raises(ValueError), database.write() as connection:  # noqa: PT012
        connection.execute(insert(runs), a_run("r1"))
        raise ValueError
    assert ids(database) == []


def test_a_refused_row_is_named_and_keeps_no_other_from_being_stored(
    database: Store, caplog: pytest.LogCaptureFixture
) -> None:
    database.append(runs, a_run("r1"))
    database.append(steps, a_step("missing"))
    database.append(steps, a_step("r1"))
    with pytest.raises(StoreError, match=r"refused 1 rows: steps: .*(FOREIGN KEY|foreign key).*missing"):
        database.flush()
    assert [row["run_id"] for row in database.rows(select(steps))] == ["r1"]
    database.flush()  # said once
    assert "missing" in caplog.text


def test_a_refused_row_does_not_fail_the_writes_and_reads_of_others(database: Store) -> None:
    database.append(steps, a_step("missing"))
    assert database.rows(select(steps)) == []
    database.append(steps, a_step("missing too"))
    with database.write() as connection:
        connection.execute(insert(runs), a_run("r1"))
    assert ids(database) == ["r1"]
    with pytest.raises(StoreError, match="refused 2 rows"):
        database.flush()


def test_a_full_buffer_is_written(database: Store, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Store(database_url)

    def stored() -> int:
        return len(other.rows(select(runs.c.id)))

    for number in range(buffer.ROWS):
        assert stored() == 0 if number in (0, buffer.ROWS - 1) else True
        database.append(runs, a_run(f"{number}"))
    assert stored() == buffer.ROWS
    database.append(runs, a_run("big", task="x" * buffer.CHARACTERS))
    assert stored() == buffer.ROWS + 1
    monkeypatch.setattr(buffer, "SECONDS", 0.0)
    database.append(runs, a_run("old"))
    assert stored() == buffer.ROWS + 2
    other.close()


def test_threads_append_write_and_read_at_once(database: Store) -> None:
    def many(number: int) -> None:
        for i in range(60):
            database.append(runs, a_run(f"{number}-{i}"))
            if i % 20 == 0:
                with database.write() as connection:
                    connection.execute(insert(runs), a_run(f"w{number}-{i}"))
            if i % 15 == 0:  # one's own rows are there, whoever is writing them
                found = database.rows(select(runs.c.id).where(runs.c.id.startswith(f"{number}-")))
                assert len(found) == i + 1

    together(4, many)
    assert len(ids(database)) == 4 * 63


def test_what_a_thread_appended_is_stored_when_its_write_begins(database: Store, database_url: str) -> None:
    """Also when another thread's flush has taken the row and is not done yet."""
    other = Store(database_url)

    def work(number: int) -> None:
        for i in range(25):
            database.append(runs, a_run(f"{number}-{i}"))
            with database.write() as connection:
                found = connection.execute(select(runs.c.id).where(runs.c.id == f"{number}-{i}")).scalar()
                assert found == f"{number}-{i}"

    together(4, work)
    other.close()


def test_each_threads_rows_are_numbered_in_its_order(database: Store) -> None:
    database.append(runs, *(a_run(f"r{n}") for n in range(4)))

    def work(number: int) -> None:
        for i in range(300):
            database.append(steps, a_step(f"r{number}", started=float(i), **({"error": "e"} if i % 2 else {})))

    together(4, work)
    for number in range(4):
        query = select(steps.c.started).where(steps.c.run_id == f"r{number}").order_by(steps.c.id)
        assert [row["started"] for row in database.rows(query)] == [float(i) for i in range(300)]


def test_threads_share_a_store_in_memory() -> None:
    store = Store("sqlite://")

    def many(number: int) -> None:
        for i in range(20):
            with store.write() as connection:
                connection.execute(insert(runs), a_run(f"{number}-{i}"))
            store.rows(select(runs.c.id))

    together(6, many)
    assert len(store.rows(select(runs.c.id))) == 120
    store.close()


def test_a_write_inside_a_write_is_refused_at_once(database: Store) -> None:
    with database.write() as connection:
        connection.execute(insert(runs), a_run("r1"))
        with pytest.raises(StoreError, match="inside another"), database.write():
            pass
        for number in range(300):  # appending is allowed, and does not wait for this transaction
            database.append(steps, a_step("r1", started=float(number)))
    assert len(database.rows(select(steps.c.id))) == 300


_WRITE = """
import sys
from sqlalchemy import insert, select
from pointwork.store import Store
from pointwork.store.tables import runs
store = Store(sys.argv[1])
for i in range(100):
    row = dict(id=f"{sys.argv[2]}-{i}", task="t", status="ok", created=1.0, package_version="0")
    if i % 3:
        store.append(runs, row)
    else:
        with store.write() as connection:
            connection.execute(insert(runs), row)
    if i % 10 == 0:
        assert len(store.rows(select(runs.c.id).where(runs.c.id.startswith(sys.argv[2] + "-")))) == i + 1
"""


def test_processes_write_at_once_and_what_is_buffered_at_the_end_is_stored(
    database: Store, database_url: str
) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", _WRITE, database_url, f"p{n}"], stderr=subprocess.PIPE, text=True)
        for n in range(2)
    ]
    for i in range(100):
        database.append(runs, a_run(f"here-{i}"))
        if i % 10 == 0:
            database.flush()
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
    assert len(ids(database)) == 300


_KILLED = """
import os, signal, sys
from sqlalchemy import insert
from pointwork.store import Store
from pointwork.store.tables import runs
store = Store(sys.argv[1])
def row(name): return dict(id=name, task="t", status="ok", created=1.0, package_version="0")
store.append(runs, row("flushed"))
store.flush()
store.append(runs, row("before a write"))
with store.write() as connection:
    connection.execute(insert(runs), row("written"))
store.append(runs, row("buffered"))
if sys.argv[2] == "writing":
    with store.write(flush=False) as connection:
        connection.execute(insert(runs), row("half"))
        os.kill(os.getpid(), signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when", ["idle", "writing"])
def test_a_killed_process_loses_at_most_what_it_had_buffered(database: Store, database_url: str, when: str) -> None:
    process = subprocess.run([sys.executable, "-c", _KILLED, database_url, when], check=False)
    assert process.returncode == -signal.SIGKILL
    assert ids(database) == ["before a write", "flushed", "written"]
    with database.write() as connection:  # nobody holds a lock
        connection.execute(update(runs).values(status="ok"))


def test_a_store_that_is_dropped_stores_its_buffer(database_url: str) -> None:
    dropped = Store(database_url)
    dropped.append(runs, a_run("r1"))
    del dropped
    store = Store(database_url)
    assert ids(store) == ["r1"]
    store.close()


def test_what_is_lost_at_the_end_is_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(f"sqlite:///{tmp_path / 'a.db'}")
    store.append(runs, a_run("r1"))
    with store.write(flush=False) as connection:
        connection.execute(text("DROP TABLE steps"))
        connection.execute(text("DROP TABLE runs"))
    with caplog.at_level(logging.ERROR):
        del store
    assert "1 rows were lost" in caplog.text


def test_a_closed_store_says_so(database: Store, database_url: str) -> None:
    store = Store(database_url)
    store.append(runs, a_run("r1"))
    store.close()
    store.close()
    for use in (
        lambda: store.rows(select(runs)),
        lambda: store.row(select(runs)),
        lambda: store.append(runs, a_run("r2")),
        lambda: store.flush(),
        lambda: store.write().__enter__(),
    ):
        with pytest.raises(StoreError, match="closed"):
            use()
    assert ids(database) == ["r1"]


def test_a_forked_process_writes_only_what_it_appends_itself(database: Store) -> None:
    database.append(runs, a_run("parent"))
    child = os.fork()
    if child == 0:
        try:
            database.append(runs, a_run("child"))
            database.flush()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert ids(database) == ["child", "parent"]


def test_one_store_per_address_and_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    first = open_store(url)
    assert open_store(url) is first
    assert open_store(first) is first
    assert open_store(None) is not open_store(None)
    assert open_store("sqlite://") is not open_store("sqlite://")
    assert open_store("sqlite:///:memory:") is not open_store("sqlite:///:memory:")
    first.close()
    again = open_store(url)
    assert again is not first
    assert again.rows(select(runs)) == []


@pytest.mark.parametrize("url", ["nonsense", "mysql://x/y", ""])
def test_addresses_that_can_not_work(url: str) -> None:
    with pytest.raises(ConfigError):
        Store(url)


def test_addresses_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    home = Store("sqlite:///~/deep/down/a.db")
    assert home.sqlite_path == str(tmp_path / "deep/down/a.db")
    assert (tmp_path / "deep/down/a.db").exists()
    home.close()
    strange = Store(f"sqlite:///{tmp_path / 'a b%20c?.db'}".replace("?", "%3F"))
    strange.append(runs, a_run("r"))
    strange.close()
    monkeypatch.delenv("POINTWORK_STORE")
    assert default_url().endswith("pointwork.db")


def test_what_is_deleted_is_overwritten_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = Store(f"sqlite:///{path}")
    row = {"id": "m", "layer": "x", "source": "s", "trust": "user", "created": 1.0, "tokens": 1}
    store.append(memory_items, {**row, "text": "a secret " * 2000})
    store.flush()
    with store.write() as connection:
        connection.execute(memory_items.delete())
    store.close()
    assert b"a secret" not in path.read_bytes()
    assert not path.with_name("a.db-wal").exists()
