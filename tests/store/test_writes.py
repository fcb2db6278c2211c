"""What calls wrote is found by its name, however much else is stored."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert

from pointwork.store import Store
from pointwork.store.tables import tool_calls, tool_writes
from pointwork.store.writes import LATEST, names, rows_of, written_before


def keep(store: Store, call_id: str, arguments: dict[str, Any], *, run: str = "earlier", **kinds: bool) -> None:
    row = {"id": call_id, "run_id": run, "tool": "write", "arguments": arguments, "arguments_hash": "h"}
    with store.write() as connection:
        connection.execute(insert(tool_calls), {**row, "status": "done", "started": 1.0})
        store.insert(connection, tool_writes, *rows_of(call_id, run, arguments, **kinds))


def found(store: Store, *named: str) -> list[str]:
    return sorted(call["id"] for call in written_before(store, "later", set(named)))


def test_it_is_found_by_any_text_of_the_call_and_by_no_other_run_of_its_own(database: Store) -> None:
    keep(database, "a", {"path": "./Out.txt", "rows": [{"text": "Hello"}]}, private=True, untrusted=False)
    keep(database, "b", {"path": "out.txt"}, run="later", private=True, untrusted=False)
    keep(database, "c", {"path": "out.txt"}, private=False, untrusted=False)
    assert found(database, "out.txt") == found(database, "hello", "nothing") == ["a"]
    assert found(database, "path") == found(database) == []
    [call] = written_before(database, "later", {"out.txt"})
    assert call["arguments"]["rows"] == [{"text": "Hello"}]
    assert (call["tool"], call["private"], call["untrusted"]) == ("write", True, False)


@pytest.mark.parametrize("first", ["private", "untrusted"])
def test_a_flood_of_one_kind_does_not_hide_the_other(database: Store, first: str) -> None:
    private = first == "private"
    keep(database, "hidden", {"path": "out.txt"}, private=private, untrusted=not private)
    with database.write() as connection:
        for i in range(LATEST + 20):
            rows = rows_of(f"f{i}", "r", {"path": "out.txt"}, private=not private, untrusted=private)
            database.insert(connection, tool_writes, *rows)
    assert found(database, "out.txt") == ["hidden"]  # the calls of the flood are not stored here


@given(st.text(min_size=3, max_size=40))
def test_spelling_does_not_matter(name: str) -> None:
    assert names([f"  ./{name} "]) == names({"path": f"./{name}".casefold()})


def test_what_a_database_can_not_hold_as_text_is_a_name_all_the_same(database: Store) -> None:
    keep(database, "a", {"path": "\0\ud800x"}, private=True, untrusted=False)
    assert found(database, "\0\ud800x") == ["a"]
