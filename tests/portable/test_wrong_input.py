"""Files that are not what they should be: named by line and field, and nothing of them half stored."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from pointwork.errors import UsageError
from pointwork.portable import export_runs, import_decisions, import_runs
from pointwork.store import Store, tables

Row = dict[str, Any]


def good(run_id: str = "r1") -> Row:
    """A line with one row in each list."""
    store = Store("sqlite://")
    common = {"run_id": run_id, "subtask": "p0.s1"}
    store.append(tables.runs, {"id": run_id, "task": "t", "status": "ok", "created": 1.0, "package_version": "0"})
    store.append(tables.steps, {**common, "kind": "note", "started": 1.0})
    decision = {
        **common,
        "id": f"dec{run_id}",
        "router": "team",
        "created": 1.0,
        "clock": 0,
        "policy": "linucb",
        "policy_version": "1",
        "features_version": "1",
        "context": {},
        "candidates": ["a"],
        "arm": "a",
        "propensity": 1.0,
        "propensities": {"a": 1.0},
        "scores": {},
    }
    store.append(tables.decisions, decision)
    store.append(tables.outcomes, {"decision_id": f"dec{run_id}", "created": 1.0, "source": "check"})
    store.append(tables.accounts, {"id": f"a{run_id}", "run_id": run_id, "kind": "run", "name": "run"})
    line: Row = json.loads(b"".join(export_runs(store)))
    store.close()
    return line


def as_bytes(*lines: Row) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def set_at(*path: Any, to: Any) -> Callable[[Row], None]:
    def change(line: Row) -> None:
        target: Any = line
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = to

    return change


def without(*path: Any) -> Callable[[Row], None]:
    def change(line: Row) -> None:
        target: Any = line
        for key in path[:-1]:
            target = target[key]
        del target[path[-1]]

    return change


def empty(store: Store) -> bool:
    counts = [store.row(select(func.count().label("n")).select_from(t)) for t in tables.metadata.sorted_tables]
    return all(row is not None and row["n"] == 0 for row in counts)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (without("format"), "format must be 'pointwork.run', not None"),
        (set_at("format", to="pointwork.decision"), "router import"),
        (set_at("version", to=2), r"version is 2, and this pointwork reads .* up to 1: upgrade"),
        (set_at("version", to="1"), "version must be a whole number"),
        (set_at("version", to=0), "version must be a whole number"),
        (without("run"), "run is missing"),
        (without("steps"), "steps is missing"),
        (set_at("steps", to={}), "steps must be a list, not an object"),
        (set_at("notes", to=[]), "notes is not a part of a run"),
        (set_at("run", to=[]), "run must be an object, not a list"),
        (without("run", "id"), "run.id is missing"),
        (set_at("run", "id", to=7), "run.id must be a text, not a whole number"),
        (set_at("run", "id", to="x" * 65), "run.id has 65 characters, and at most 64"),
        (set_at("run", "created", to="now"), "run.created must be a number, not a text"),
        (set_at("run", "created", to=True), "run.created must be a number, not true"),
        (set_at("run", "created", to=10**400), "run.created is too large"),
        (set_at("run", "created", to={"$float": "nan"}), "run.created must be a number, not NaN"),
        (set_at("run", "task", to=None), "run.task must not be null"),
        (set_at("run", "budget", to=[]), "run.budget must be an object, not a list"),
        (set_at("run", "result", to={}), "run.result.text must be a text, not null"),
        (set_at("run", "colour", to="red"), "run.colour is not a field"),
        (set_at("steps", 0, "prompt_tokens", to=1.5), r"steps\[0\].prompt_tokens must be a whole number"),
        (set_at("steps", 0, "prompt_tokens", to=2**63), r"steps\[0\].prompt_tokens is too large"),
        (set_at("steps", 0, "token_ids", to="1 2"), r"steps\[0\].token_ids must be a list, not a text"),
        (set_at("steps", 0, to=None), r"steps\[0\] must be an object, not null"),
        (set_at("steps", 0, "run_id", to="r2"), r"steps\[0\].run_id is not a field"),
        (set_at("outcomes", 0, "decision_id", to="dec9"), r"outcomes\[0\].decision_id is 'dec9', which is not"),
        (set_at("accounts", 0, "parent_id", to="ar1"), "accounts 'ar1' is an ancestor of itself"),
        (set_at("accounts", 0, "parent_id", to="gone"), "the store can not take it"),
        # decisions and their outcomes are checked as those of routing logs
        (set_at("decisions", 0, "arm", to="b"), r"decisions\[0\].arm is 'b', which is not among the candidates"),
        (set_at("decisions", 0, "propensity", to=0), r"decisions\[0\].propensity is 0"),
        (set_at("decisions", 0, "propensity", to=1.5), r"decisions\[0\].propensity must be from 0 to 1"),
        (set_at("decisions", 0, "propensity", to={"$float": "inf"}), r"decisions\[0\].propensity must be from 0"),
        (set_at("decisions", 0, "propensities", to={"a": 0.5}), r"decisions\[0\].propensities give the choice ano"),
        (set_at("decisions", 0, "propensities", to={"b": 1.0}), r"decisions\[0\].propensities.b is not among"),
        (set_at("decisions", 0, "propensities", to={"a": {"$float": "nan"}}), r"\[0\].propensities.a must be from"),
        (set_at("decisions", 0, "candidates", to=["a", 2]), r"decisions\[0\].candidates\[1\] must be a text"),
        (set_at("decisions", 0, "colour", to="red"), r"decisions\[0\].colour is not a field"),
        (set_at("decisions", 0, "created", to=1769817600000), r"decisions\[0\].created .*milliseconds"),
        (set_at("decisions", 0, "clock", to=-1), r"decisions\[0\].clock must be from 0"),
        (set_at("decisions", 0, "context", to={"text": [None]}), r"decisions\[0\].context.text\[0\] must be a num"),
        (set_at("decisions", 0, "context", to={"arms": {"a": [1]}}), r"\[0\].context.arms.a has 1 numbers, not 4"),
        (set_at("decisions", 0, "scores", to={"b": {}}), r"\[0\].scores.b is of an arm that has no propensity"),
        (
            set_at("decisions", 0, "scores", to={"a": {"cost": {"$float": "nan"}}}),
            r"\[0\].scores.a.cost must be from",
        ),
        (set_at("outcomes", 0, "quality", to=2), r"outcomes\[0\].quality must be from 0 to 1"),
        (set_at("outcomes", 0, "usd", to=-1), r"outcomes\[0\].usd must be finite and not negative"),
        (set_at("outcomes", 0, "seconds", to={"$float": "inf"}), r"outcomes\[0\].seconds must be finite"),
        (set_at("outcomes", 0, "created", to=1769817600000), r"outcomes\[0\].created .*milliseconds"),
    ],
)
def test_a_line_that_is_no_run(store: Store, change: Callable[[Row], None], why: str) -> None:
    line = good()
    change(line)
    with pytest.raises(UsageError, match=why) as raised:
        import_runs(store, io.BytesIO(as_bytes(line)))
    assert "line 1: " in str(raised.value)
    assert empty(store)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"\n \n\t\n", "is empty"),
        (b"hello\n", "line 1: not JSON: Expecting value at column 1"),
        (b"[]\n", "line 1: must be an object, not a list"),
        (b"[\n", "line 1: not JSON"),
        (b'"text"\n', "line 1: must be an object, not a text"),
        (b"3\n", "not a whole number"),
        (b"null\n", "not null"),
        (b"\n\n{}\n", "line 3: format must be"),
        (b'{"a": NaN}\n', "NaN is no JSON number"),
        (b"\xff\xfe{\0}\0\n", "line 1: not UTF-8 text at byte 1"),
        (b'{"a": "\xe9"}\n', "not UTF-8 text at byte 8"),
        (b'{"format": "pointwork.ru', "the file cut off"),
        (b"[" * 100_000 + b"\n", "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}\n", "line 1: "),
        (b'{"messages": []}\n', "--format openai-chat"),
        (b'{"traj": []}\n', "--format tau-bench"),
    ],
)
@pytest.mark.parametrize("read", [import_runs, import_decisions])
def test_a_file_that_holds_no_lines_of_ours(store: Store, content: bytes, why: str, read: Any) -> None:
    if read is import_decisions and ("--format" in why or "format must" in why):
        pytest.skip("fields of runs")
    with pytest.raises(UsageError, match=why):
        read(store, io.BytesIO(content))
    assert empty(store)


@pytest.mark.parametrize("read", [import_runs, import_decisions])
def test_a_file_that_can_not_be_read(store: Store, tmp_path: Path, read: Any) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        read(store, tmp_path)
    with pytest.raises(UsageError, match="there is no file"):
        read(store, tmp_path / "absent")
    with pytest.raises(UsageError, match="can not read"):
        read(store, "a\0b")
    (tmp_path / "empty").touch()
    with pytest.raises(UsageError, match="empty is empty"):
        read(store, tmp_path / "empty")


def test_what_stands_before_a_broken_line_is_stored_and_nothing_of_it_or_after(store: Store) -> None:
    half = good("r2")
    half["outcomes"][0]["decision_id"] = "none"
    content = as_bytes(good("r1"), half, good("r3"))
    with pytest.raises(UsageError, match=r"line 2: outcomes\[0\].*\(1 run before it was\).*--skip-broken"):
        import_runs(store, io.BytesIO(content))
    assert [row["id"] for row in store.rows(select(tables.runs.c.id))] == ["r1"]
    assert len(store.rows(select(tables.steps))) == 1
    report = import_runs(store, io.BytesIO(content), skip_broken=True)
    assert (report.imported, report.unchanged, report.broken) == (1, 1, 1)
    assert report.problems[0].startswith("line 2: outcomes[0].decision_id")
    assert [row["id"] for row in store.rows(select(tables.runs.c.id))] == ["r1", "r3"]


def test_a_later_version_stops_even_where_broken_lines_are_skipped(store: Store) -> None:
    with pytest.raises(UsageError, match="upgrade pointwork"):
        import_runs(store, io.BytesIO(as_bytes({**good(), "version": 2}, good())), skip_broken=True)
    assert empty(store)


def test_a_file_cut_off_at_any_byte_stores_whole_runs_only() -> None:
    content, whole = as_bytes(good("r1"), good("r2")), [good("r1"), good("r2")]
    for end in range(1, len(content), 211):
        fresh = Store("sqlite://")
        complete = content[:end].count(b"\n")
        with pytest.raises(UsageError, match=rf"line {complete + 1}: not JSON.*cut off"):
            import_runs(fresh, io.BytesIO(content[:end]))
        assert [json.loads(line) for line in export_runs(fresh)] == whole[:complete]
        fresh.close()


def test_blank_lines_marks_and_missing_values_do_no_harm(store: Store) -> None:
    line = good()
    del line["run"]["thread"]
    del line["accounts"][0]["spent_tokens"]
    content = b"\xef\xbb\xbf" + as_bytes(line).rstrip() + b"\r\n\n  \n" + as_bytes(good("r2")).rstrip()
    assert import_runs(store, io.BytesIO(content)).imported == 2
    assert import_runs(store, io.BytesIO(as_bytes(good()))).unchanged == 1


def test_names_that_make_no_sense(store: Store) -> None:
    with pytest.raises(UsageError, match="unknown format 'csv'; known are pointwork, tau-bench, openai-chat"):
        import_runs(store, io.BytesIO(b"{}"), format="csv")
    with pytest.raises(UsageError, match="our own say themselves"):
        import_runs(store, io.BytesIO(b"{}"), model="gpt")
