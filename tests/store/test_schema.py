"""Migrations, on every database: up from empty, up from each earlier revision, and what must be left alone."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import func, insert, inspect, select, text

from pointwork import store as store_package
from pointwork.errors import StoreError
from pointwork.store import Store, schema
from pointwork.store.engine import Database, parse_url
from pointwork.store.schema import HEAD, migrate
from pointwork.store.tables import accounts, ledger, metadata, runs, tool_calls, tool_writes
from pointwork.store.writes import written_before

FOLDER = Path(store_package.__file__).parent / "migrations"


def _revisions() -> list[str]:
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    scripts = ScriptDirectory.from_config(config)
    return [script.revision for script in scripts.walk_revisions()]


REVISIONS = _revisions()  # newest first


def at_revision(url: str, revision: str) -> Database:
    """A database as an older package left it."""
    database = Database(parse_url(url))
    migrate(database, revision)
    return database


def revision_of(url: str) -> str:
    database = Database(parse_url(url))
    with database.reading() as connection:
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    database.close()
    return str(found)


def test_the_head_is_the_newest_revision_and_the_history_has_no_branch() -> None:
    assert REVISIONS[0] == HEAD
    assert len(REVISIONS) == len(list((FOLDER / "versions").glob("rev_*.py")))


@pytest.mark.parametrize("revision", [None, *REVISIONS[1:]])
def test_migrations_from_anywhere_end_in_the_schema_of_the_tables(
    empty_database_url: str, revision: str | None
) -> None:
    """Alembic finds nothing to change between the migrated database and ``tables.py``."""
    if revision is not None:
        at_revision(empty_database_url, revision).close()
        assert revision_of(empty_database_url) == revision
    store = Store(empty_database_url)
    with store.write() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, metadata) == []
    store.close()
    assert revision_of(empty_database_url) == HEAD


def described(database: Database) -> dict[str, Any]:
    """All that the database says of its tables, in an order of its own where there is none."""
    found = inspect(database.engine)
    return {
        table: {
            "columns": [
                {k: str(v) if k == "type" else v for k, v in row.items()} for row in found.get_columns(table)
            ],
            "primary key": found.get_pk_constraint(table),
            "foreign keys": sorted(found.get_foreign_keys(table), key=str),
            "indexes": sorted(found.get_indexes(table), key=str),
            "unique": sorted(found.get_unique_constraints(table), key=str),
            "checks": sorted(found.get_check_constraints(table), key=str),
        }
        for table in found.get_table_names()
    }


def test_a_new_database_is_as_one_that_went_through_all_revisions(
    backend: str, new_database: Callable[..., str]
) -> None:
    url = new_database(backend, empty=True)
    new, old = Database(parse_url(url)), at_revision(new_database(backend, empty=True), REVISIONS[-1])
    migrate(new)
    migrate(old)
    assert described(new) == described(old)
    assert len(described(new)) == len(metadata.tables) + 1
    new.close()
    old.close()
    assert revision_of(url) == HEAD


def test_a_new_database_goes_through_none(empty_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def history() -> Any:
        raise AssertionError("the history was read")

    monkeypatch.setattr(schema, "_history", history)
    database = Database(parse_url(empty_database_url))
    migrate(database)
    migrate(database)
    database.close()
    assert revision_of(empty_database_url) == HEAD


@pytest.mark.parametrize("revision", REVISIONS[1:])
def test_rows_of_an_older_package_are_kept(empty_database_url: str, revision: str) -> None:
    database = at_revision(empty_database_url, revision)
    with database.transaction() as connection:
        connection.execute(insert(runs), a_run("r1"))
        connection.execute(insert(accounts), {"id": "a", "run_id": "r1", "kind": "run", "name": "run"})
    database.close()
    store = Store(empty_database_url)
    assert [row["id"] for row in store.rows(select(runs))] == ["r1"]
    assert [row["spent_tokens"] for row in store.rows(select(accounts))] == [0]
    store.close()


def test_0002_ends_the_leases_of_what_was_settled_before(empty_database_url: str) -> None:
    database = at_revision(empty_database_url, "0001")
    entry = {"run_id": "r", "by": "x", "usd_nano": 1, "tokens": 1, "tool_calls": 0, "turns": 0, "created": 1.0}
    rows: list[dict[str, Any]] = [
        {**entry, "account_id": "a", "reservation_id": "closed", "kind": "reserve", "lease_until": 2.0},
        {**entry, "account_id": "a", "reservation_id": "closed", "kind": "settle", "lease_until": None},
        {**entry, "account_id": "a", "reservation_id": "open", "kind": "reserve", "lease_until": 2.0},
    ]
    with database.transaction() as connection:
        connection.execute(insert(accounts), {"id": "a", "run_id": "r", "kind": "run", "name": "run"})
        connection.execute(insert(ledger), rows)
    database.close()
    store = Store(empty_database_url)
    still = store.rows(select(ledger.c.reservation_id).where(ledger.c.lease_until.is_not(None)))
    assert [row["reservation_id"] for row in still] == ["open"]
    store.close()


def test_0010_finds_what_calls_wrote_before(empty_database_url: str) -> None:
    database = at_revision(empty_database_url, "0009")
    call = {"run_id": "r", "tool": "write_file", "arguments_hash": "h", "status": "done", "started": 1.0}
    rows: list[dict[str, Any]] = [
        {**call, "id": f"k{i:04}", "arguments": {"path": f"./Out{i}.txt"}, "taint": taint}
        for i, taint in enumerate(
            [
                {"carried": {"private": True, "untrusted": False}},
                {"carried": {"private": False, "untrusted": False}},
                {"carried": "a foreign log may hold anything"},
                None,
                *[{"carried": {"private": False, "untrusted": True}}] * 600,
            ]
        )
    ]
    with database.transaction() as connection:
        connection.execute(insert(tool_calls), rows)
    database.close()
    store = Store(empty_database_url)
    assert store.rows(select(func.count().label("n")).select_from(tool_writes)) == [{"n": 601}]
    [first] = written_before(store, "another", {"out0.txt"})
    assert (first["tool"], first["private"], first["untrusted"]) == ("write_file", True, False)
    assert written_before(store, "another", {"out1.txt", "out2.txt", "out3.txt"}) == []
    assert [call["id"] for call in written_before(store, "another", {"out603.txt"})] == ["k0603"]
    store.close()


def test_a_store_of_a_newer_package_is_refused_and_left_alone(database_url: str) -> None:
    database = Database(parse_url(database_url))
    with database.transaction() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    path = None if database.engine.url.get_backend_name() != "sqlite" else Path(str(database.url.database))
    before = None if path is None else path.read_bytes()
    with pytest.raises(StoreError, match=r"'9999'.*newer"):
        Store(database_url)
    assert revision_of(database_url) == "9999"
    assert path is None or path.read_bytes() == before


_OPEN = """
import sys
from pointwork.store import Store, schema
from pointwork.store.tables import runs
print("ready", flush=True)
sys.stdin.readline()
store = Store(sys.argv[1])
store.append(runs, dict(id=sys.argv[2], task="t", status="ok", created=1.0, package_version="0"))
store.close()
"""


def test_processes_that_open_an_empty_database_at_once(empty_database_url: str) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _OPEN, empty_database_url, f"r{n}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:  # all at once
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    store = Store(empty_database_url)
    assert sorted(row["id"] for row in store.rows(select(runs.c.id))) == ["r0", "r1", "r2"]
    store.close()


def test_an_older_process_goes_on_while_a_newer_one_migrates(empty_database_url: str) -> None:
    """What yesterday's package has open stays usable; only opening it anew is refused there."""
    older = at_revision(empty_database_url, REVISIONS[-1])
    newer = Store(empty_database_url)
    with older.transaction() as connection:
        connection.execute(insert(runs), a_run("old"))
    older.close()
    newer.append(runs, a_run("new"))
    assert sorted(row["id"] for row in newer.rows(select(runs.c.id))) == ["new", "old"]
    newer.close()


def a_run(run_id: str) -> dict[str, Any]:
    return {"id": run_id, "task": "t", "status": "running", "created": 1.0, "package_version": "0"}


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database " * 100)
    with pytest.raises(StoreError, match="not a Pointwork store"):
        Store(f"sqlite:///{path}")
    assert path.read_text().startswith("not a database")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE decisions (id INTEGER PRIMARY KEY)",
        "CREATE TABLE alembic_version (version_num VARCHAR(32))",
        f"CREATE TABLE alembic_version AS SELECT '{HEAD}' AS version_num",
    ],
)
def test_a_database_of_another_program_is_left_alone(empty_database_url: str, statement: str) -> None:
    """Its tables bear our names, or it is migrated by Alembic too."""
    database = Database(parse_url(empty_database_url))
    with database.transaction() as connection:
        connection.execute(text(statement))
    with pytest.raises(StoreError, match="another program's.*Nothing was changed"):
        Store(empty_database_url)
    with database.reading() as connection:
        assert len(inspect(connection).get_table_names()) == 1
    database.close()


def test_a_migration_that_fails_leaves_the_store_as_it_was(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_revision(empty_database_url, REVISIONS[-1]).close()
    from alembic.operations import Operations

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("no")

    with monkeypatch.context() as patched:
        patched.setattr(Operations, "execute", fail)
        with pytest.raises(RuntimeError):
            Store(empty_database_url)
    assert revision_of(empty_database_url) == REVISIONS[-1]
    Store(empty_database_url).close()


def test_the_new_database_fixture_gives_each_test_one_of_its_own(new_database: Callable[..., str]) -> None:
    assert new_database("sqlite") != new_database("sqlite")
