"""Whole runs leave a store and come back equal, whatever is in them."""

import io
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Column, Table, delete, insert, select

from pointwork import Agent, Team, tool
from pointwork.agents import Result
from pointwork.errors import UsageError
from pointwork.models import ScriptedClient, Step
from pointwork.portable import (
    count_runs,
    export_runs,
    import_runs,
    known_secrets,
    without_secrets,
    write_lines,
)
from pointwork.portable.rows import is_serial
from pointwork.portable.trajectories import BATCH, PARTS
from pointwork.settings import Settings
from pointwork.store import Store, tables
from pointwork.store.types import encode_text
from pointwork.store.writes import written_before

Row = dict[str, Any]


def exported(store: Store, **chosen: Any) -> bytes:
    return b"".join(export_runs(store, **chosen))


def a_run(run_id: str, created: float = 1.0, **more: Any) -> Row:
    row = {"id": run_id, "task": "t", "status": "ok", "created": created, "package_version": "0", "thread": None}
    return {**row, **more}


@tool
def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    return a * b


def real_run(store: Store) -> Result:
    call = {"tool": "multiply", "arguments": {"b": 2, "a": 9}}
    client = ScriptedClient([Step(json.dumps(call), times=None)])
    agent = Agent("adder", "You double.", {"sums": "double numbers"}, (multiply,), modes=("instant",))
    with client, Team([agent], Settings(), store=store, models={"worker-small": client}) as made:
        result = made.run("Double 9", thread="farm")
        made.feedback(result.run_id, 0.5)
    return result


def test_a_real_run_comes_back_equal(store: Store, tmp_path: Path) -> None:
    result = real_run(store)
    lines = exported(store)
    other = Store("sqlite://")
    report = import_runs(other, io.BytesIO(lines))
    assert (report.imported, report.unchanged, report.broken) == (1, 0, 0)
    assert exported(other) == lines
    [row] = other.rows(select(tables.runs))
    assert Result.from_json(row["result"]) == result
    line = json.loads(lines)
    assert {part.name for part in PARTS if line[part.name]} >= {"steps", "decisions", "outcomes", "ledger"}
    assert line["tool_calls"][0]["arguments"] == {"b": 2, "a": 9}
    # the order of an object's keys is what the model wrote
    assert list(line["tool_calls"][0]["arguments"]) == ["b", "a"]


def test_what_an_imported_run_wrote_is_still_known_for_what_it_carries(store: Store) -> None:
    store.append(tables.runs, a_run("r1"))
    call = {"id": "k", "run_id": "r1", "tool": "write_file", "arguments": {"path": "out.txt"}, "status": "done"}
    carried = {"effect": True, "carried": {"private": False, "untrusted": True}}
    store.append(tables.tool_calls, {**call, "arguments_hash": "h", "started": 1.0, "taint": carried})
    other = Store("sqlite://")
    import_runs(other, io.BytesIO(exported(store)))
    [found] = written_before(other, "later", {"out.txt"})
    assert (found["tool"], found["private"], found["untrusted"]) == ("write_file", False, True)


def test_importing_twice_changes_nothing(store: Store) -> None:
    real_run(store)
    lines = exported(store)
    again = import_runs(store, io.BytesIO(lines + lines))
    assert (again.imported, again.unchanged, again.differing) == (0, 2, 0)
    assert exported(store) == lines


def test_the_same_run_twice_in_a_file_is_one(store: Store) -> None:
    store.append(tables.runs, a_run("r1"))
    lines = exported(store)
    other = Store("sqlite://")
    report = import_runs(other, io.BytesIO(lines + lines))
    assert (report.imported, report.unchanged) == (1, 1)


def test_a_run_that_is_there_with_other_content_is_kept_and_counted(store: Store) -> None:
    store.append(tables.runs, a_run("r1"))
    changed = exported(store).replace(b'"task":"t"', b'"task":"other"')
    report = import_runs(store, io.BytesIO(changed))
    assert (report.imported, report.unchanged, report.differing) == (0, 0, 1)
    assert store.rows(select(tables.runs.c.task)) == [{"task": "t"}]


def test_rows_keep_their_order_and_their_owners_in_a_store_that_has_others(store: Store) -> None:
    """Serial ids are given anew: those of the file are taken already."""
    other = Store("sqlite://")
    for target, names in ((store, ("r1", "r2")), (other, ("x1", "x2"))):
        for name in names:
            target.append(tables.runs, a_run(name))
            for i in range(5):
                target.append(tables.steps, {"run_id": name, "kind": f"{name}-{i}", "started": 9.0 - i})
    before = exported(store)
    import_runs(other, io.BytesIO(before))
    assert exported(other, ids=["r1", "r2"]) == before
    assert exported(other, ids=["x2"]).count(b"x2-") == 5
    kinds = [row["kind"] for row in other.rows(select(tables.steps).where(tables.steps.c.run_id == "r2"))]
    assert kinds == [f"r2-{i}" for i in range(5)]


def test_runs_are_chosen_by_id_thread_and_time_oldest_first(store: Store) -> None:
    for i in range(BATCH * 2 + 3):  # more than are read at a time, many at the same moment
        store.append(tables.runs, a_run(f"r{i:03}", created=100.0 + i // 50, thread=f"t{i % 2}"))
    ids = [json.loads(line)["run"]["id"] for line in export_runs(store)]
    assert ids == [f"r{i:03}" for i in range(BATCH * 2 + 3)]
    late = [json.loads(line)["run"]["id"] for line in export_runs(store, thread="t1", since=101.0)]
    assert late == [f"r{i:03}" for i in range(51, BATCH * 2 + 3, 2)]
    assert count_runs(store, thread="t1", since=101.0) == len(late)
    chosen = [json.loads(line)["run"]["id"] for line in export_runs(store, ids=["r009", "r002", "none"])]
    assert chosen == ["r002", "r009"]


def test_an_export_reads_as_it_goes(store: Store) -> None:
    for i in range(BATCH * 3):
        store.append(tables.runs, a_run(f"r{i:03}"))
    lines = export_runs(store)
    next(lines)
    with store.write() as connection:
        connection.execute(delete(tables.runs).where(tables.runs.c.id >= f"r{BATCH:03}"))
    assert len(list(lines)) == BATCH - 1


def test_trees_of_accounts_are_stored_from_the_root_down(store: Store) -> None:
    store.append(tables.runs, a_run("r1"))
    # ids that sort against the tree
    for name, parent in (("c", None), ("b", "c"), ("a", "b")):
        with store.write() as connection:
            row = {"id": name, "parent_id": parent, "run_id": "r1", "kind": "run", "name": name}
            connection.execute(insert(tables.accounts), row)
    other = Store("sqlite://")
    import_runs(other, io.BytesIO(exported(store)))
    assert exported(other) == exported(store)


def test_ids_that_another_run_has_are_refused_whole(store: Store) -> None:
    call: Row = {"tool": "x", "arguments": {}, "arguments_hash": "", "status": "done", "started": 1.0}
    store.append(tables.runs, a_run("r1"))
    store.append(tables.tool_calls, {"id": "call", "run_id": "r1", **call})
    line = exported(store)
    stolen = line.replace(b'"id":"r1"', b'"id":"r2"')
    fresh = line.replace(b'"id":"r1"', b'"id":"r0"').replace(b'"id":"call"', b'"id":"call0"')
    with pytest.raises(UsageError, match=r"line 2: the store can not take it: .*tool_calls"):
        import_runs(store, io.BytesIO(fresh + stolen))
    assert [row["id"] for row in store.rows(select(tables.runs.c.id))] == ["r0", "r1"]
    report = import_runs(store, io.BytesIO(stolen + fresh), skip_broken=True)
    assert (report.imported, report.unchanged, report.broken) == (0, 1, 1)


# --- rows of any content ---

SHORTEST = 16  # characters of the shortest column, in which a control character takes five
_words = st.text(max_size=12).filter(lambda text: len(encode_text(text)) <= SHORTEST)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("$float"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "é", "$float"]), inner),
    max_leaves=6,
)
_objects, _lists = st.dictionaries(_words, _json, max_size=3), st.lists(_json, max_size=3)
_LISTS = ("token_ids", "logprobs", "candidates", "items")


def _values(column: Column[Any]) -> st.SearchStrategy[Any]:
    kind = str(column.type).upper()
    if kind == "JSON":
        value: st.SearchStrategy[Any] = _lists if column.name in _LISTS else _objects
    elif kind.startswith("FLOAT"):
        value = st.floats(allow_nan=False)
    elif "INT" in kind:
        value = st.integers(-(2**63) + 1, 2**63 - 1)
    else:
        value = _words
    return st.none() | value if column.nullable else value


def _rows(table: Table, least: int, most: int, fixed: Row) -> st.SearchStrategy[list[Row]]:
    columns = {c.name: _values(c) for c in table.columns if not is_serial(c) and c.name not in fixed}
    one = st.fixed_dictionaries(columns).map(lambda row: {**fixed, **row})
    return st.lists(one, min_size=least, max_size=most)


@st.composite
def _decided(draw: st.DrawFn) -> Row:
    """The columns of a decision that are not of any content: estimates rest on them."""
    candidates = draw(st.lists(_words.filter(str.strip), min_size=1, max_size=3, unique=True))
    arm, propensity = draw(st.sampled_from(candidates)), draw(st.floats(0, 1, exclude_min=True))
    return {
        "created": draw(st.floats(0, 1e11)),
        "clock": draw(st.integers(0, 10**12)),
        "candidates": candidates,
        "arm": arm,
        "propensity": propensity,
        "propensities": {arm: propensity},
        "scores": {arm: {"mean": draw(st.floats(0, 1))}} if draw(st.booleans()) else {},
    }


_amounts = st.none() | st.floats(0, allow_infinity=False)
_said = st.fixed_dictionaries(
    {"created": st.floats(0, 1e11), "quality": st.none() | st.floats(0, 1), "usd": _amounts, "seconds": _amounts}
)
_SENSE: dict[str, st.SearchStrategy[Row]] = {"decisions": _decided(), "outcomes": _said}


@st.composite
def _stores(draw: st.DrawFn) -> list[tuple[Table, Row]]:
    rows: list[tuple[Table, Row]] = []
    number = iter(range(1000))
    for run_id in draw(st.lists(st.sampled_from("abcdef"), unique=True, max_size=4)):
        run = draw(_rows(tables.runs, 1, 1, {"id": run_id, "result": None}))
        rows.append((tables.runs, run[0]))
        owners: dict[str, list[str]] = {}
        for part in PARTS:
            for row in draw(_rows(part.table, 0, 3, {} if part.owner else {part.key: run_id})):
                if "id" in part.table.c and not is_serial(part.table.c["id"]):
                    row["id"] = f"{draw(st.sampled_from('xyz'))}{next(number)}"
                row |= draw(_SENSE[part.name]) if part.name in _SENSE else {}
                if part.name == "ledger":
                    row["reservation_id"] = f"r{next(number)}"
                if part.name == "accounts":
                    row["parent_id"] = draw(st.sampled_from([None, *owners.get("accounts", [])]))
                if part.owner:
                    if not owners.get(part.owner):
                        continue
                    row[part.key] = draw(st.sampled_from(owners[part.owner]))
                owners.setdefault(part.name, []).append(row.get("id", ""))
                rows.append((part.table, row))
    return rows


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Store, Store]]:
    one, other = Store("sqlite://"), Store("sqlite://")
    yield one, other
    one.close()
    other.close()


@given(rows=_stores())
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_any_rows_come_back_equal(pair: tuple[Store, Store], rows: list[tuple[Table, Row]]) -> None:
    one, other = pair
    for store in pair:
        with store.write() as connection:
            for table in reversed(tables.metadata.sorted_tables):
                connection.execute(delete(table))
    with one.write() as connection:
        for table, row in rows:
            connection.execute(insert(table), row)
    lines = exported(one)
    for line in lines.splitlines():
        json.loads(line, parse_constant=pytest.fail)  # strictly JSON
    count = sum(table is tables.runs for table, _ in rows)
    assert import_runs(other, io.BytesIO(lines)).imported == count if lines else count == 0
    assert exported(other) == lines
    if lines:
        assert import_runs(other, io.BytesIO(lines)).unchanged == count


def test_a_run_moves_between_databases(database: Store, tmp_path: Path) -> None:
    other = Store(f"sqlite:///{tmp_path / 'other.db'}")
    real_run(other)
    odd = {"run_id": "r1", "kind": "note", "started": 1.0, "output": {"\0": "\ud800 $pointwork"}}
    other.append(tables.runs, a_run("r1", created=1e300, error="half \ud800 and \0"))
    other.append(tables.steps, {**odd, "logprobs": [-math.inf, math.nan, 1e400, -0.0]})
    lines = exported(other)
    assert import_runs(database, io.BytesIO(lines)).imported == 2
    assert exported(database) == lines
    assert import_runs(database, io.BytesIO(lines)).unchanged == 2
    again = lines.replace(b'"id":"r1"', b'"id":"r2"').splitlines(keepends=True)
    assert import_runs(database, io.BytesIO(again[1])).imported == 1
    stolen = re.sub(rb'("run":\{"id":)"[0-9a-f]+"', rb'\1"thief"', again[0])
    with pytest.raises(UsageError, match="line 1: the store can not take it: .*decisions"):
        import_runs(database, io.BytesIO(stolen))
    assert count_runs(database) == 3
    other.close()


def test_numbers_that_json_has_none_for(store: Store) -> None:
    store.append(tables.runs, a_run("r1"))
    logprobs = [-0.5, -math.inf, math.nan, {"$float": "mine"}]
    store.append(tables.steps, {"run_id": "r1", "kind": "model", "started": 1.0, "logprobs": logprobs})
    lines = exported(store)
    assert json.loads(lines)["steps"][0]["logprobs"][1] == {"$float": "-inf"}
    other = Store("sqlite://")
    import_runs(other, io.BytesIO(lines))
    assert str(other.rows(select(tables.steps))[0]["logprobs"]) == str(logprobs)


# --- files and secrets ---


def test_keys_are_not_exported(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", 'sk-"0123456789abcdef')
    monkeypatch.setenv("SHORT_TOKEN", "run")
    store.append(tables.runs, a_run("r1", error='401: key sk-"0123456789abcdef is not known'))
    lines = list(without_secrets(export_runs(store), known_secrets(store)))
    assert json.loads(lines[0])["run"]["error"] == "401: key [SOME_API_KEY] is not known"
    other = Store("sqlite://")
    import_runs(other, io.BytesIO(lines[0]))
    assert list(without_secrets(export_runs(other), known_secrets(other))) == lines


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "runs.jsonl"
    target.write_bytes(b"old\n")

    def broken() -> Iterator[bytes]:
        yield b"new\n"
        assert target.read_bytes() == b"old\n"
        raise RuntimeError("the database went away")

    with pytest.raises(RuntimeError):
        write_lines(target, broken())
    assert target.read_bytes() == b"old\n"
    assert write_lines(target, [b"1\n", b"2\n"]) == 2
    assert target.read_bytes() == b"1\n2\n"
    link = tmp_path / "link"
    link.symlink_to(target)
    write_lines(link, [b"3\n"])
    assert link.is_symlink()
    assert target.read_bytes() == b"3\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "runs.jsonl"]


def test_files_that_can_not_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        write_lines(tmp_path, [b"1\n"])
    with pytest.raises(UsageError, match="can not write"):
        write_lines(tmp_path / "absent" / "runs.jsonl", [b"1\n"])
    assert write_lines("/dev/null", [b"1\n"]) == 1
    assert Path("/dev/null").is_char_device()
