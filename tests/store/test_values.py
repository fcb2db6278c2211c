"""What comes back is what was stored, on every database; what can not come back is refused before it is sent."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import insert, select

from pointwork.errors import StoreError
from pointwork.store import Store, new_id
from pointwork.store.tables import accounts, memory_items, outcomes, router_versions, runs, steps
from pointwork.store.types import decode_text, dump_json, encode_text, load_json

# every code point, surrogates among them, and often those that databases or we treat in ways of their own
CHARACTERS = st.characters() | st.sampled_from("\0\x10\ud800\udfff\ud83d\ude00'\"\\%_\n0d8")
TEXTS = st.text(CHARACTERS)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=10,
)

AWKWARD = [
    "",
    "\0",
    "a\0b\0",
    "\x10",
    "\x100000",
    "\x1000000010",
    "\ud800",
    "\ud83d\ude00",  # two surrogates are not the character that they would be together
    "😀 é ü 漢字 \u202e \ufffd \uffff \U0010ffff",
    "e\u0301",  # not normalised
    "it's; DROP TABLE runs; -- %s %(x)s :x ? \\ \x1b[31m",
    "\r\n\t \u2028",
]


def same(one: Any, other: Any) -> bool:
    """Equal and of equal types, all the way down; NaN is NaN, and 0.0 is not -0.0."""
    return repr(one) == repr(other)


@given(TEXTS)
@settings(max_examples=300)
def test_any_text_is_encoded_without_loss_and_without_what_databases_refuse(text: str) -> None:
    stored = encode_text(text)
    assert decode_text(stored) == text
    assert "\0" not in stored
    stored.encode()  # no surrogates
    if not set(text) & set("\0\x10") and not any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        assert stored == text


@given(VALUES)
@settings(max_examples=300)
def test_any_json_value_is_encoded_without_loss(value: Any) -> None:
    stored = dump_json(value)
    stored.encode()
    assert "\0" not in stored
    assert same(load_json(stored), value)


def a_run(run_id: str, **values: Any) -> dict[str, Any]:
    return {"id": run_id, "task": "t", "status": "ok", "created": 1.0, "package_version": "0", **values}


def through(store: Store, column: str, values: list[Any]) -> list[Any]:
    """What comes back of values in a column of ``runs``: half of them buffered, half written at once."""
    rows = [a_run(new_id(), **{column: value}) for value in values]
    half = len(rows) // 2
    store.append(runs, *rows[:half])
    with store.write() as connection:
        connection.execute(insert(runs), rows[half:])
    found = {row["id"]: row[column] for row in store.rows(select(runs))}
    return [found[row["id"]] for row in rows]


def test_text_comes_back(database: Store) -> None:
    texts = AWKWARD + AWKWARD  # each both ways
    assert through(database, "task", texts) == texts
    labels = [text[:64] for text in texts]
    assert through(database, "thread", labels) == labels


def test_text_is_found_by_what_it_holds(database: Store) -> None:
    for text in AWKWARD:
        database.append(runs, a_run(new_id(), thread=text, task=f"<{text}>"))
    for text in AWKWARD:
        equal = database.rows(select(runs.c.thread).where(runs.c.thread == text))
        assert [row["thread"] for row in equal] == [text]
        starts = database.rows(select(runs.c.task).where(runs.c.task.startswith(f"<{text}>", autoescape=True)))
        assert [row["task"] for row in starts] == [f"<{text}>"]


JSON_VALUES: list[Any] = [
    *AWKWARD,
    [],
    {},
    [[], {}, [None]],
    {"": {"a\0b": ["\ud800"]}},
    {text: text for text in AWKWARD},
    {"$pointwork": "x"},
    {"$pointwork": {"$pointwork": 1}, "more": 2},
    [math.inf, -math.inf, math.nan],
    {"logprobs": [-0.1, -math.inf]},
    0, 1, -1, 1.0, -0.0, 0.1, 1e-320, 1.7976931348623157e308,
    2**53 + 1, 2**63, -(2**64) - 1, 10**40,
    [2**63, 10**40, 0.1, 1e22, -0.0, 5e-324],
    True, False, [True, None],
]  # fmt: skip


def test_json_comes_back(database: Store) -> None:
    values = JSON_VALUES + JSON_VALUES
    for value, found in zip(values, through(database, "result", values), strict=True):
        assert same(found, value)


@given(st.data())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_anything_comes_back(database: Store, data: st.DataObject) -> None:
    values = data.draw(st.lists(VALUES, min_size=2, max_size=20))
    assert all(map(same, through(database, "result", values), values))
    texts = data.draw(st.lists(TEXTS, min_size=2, max_size=20))
    assert through(database, "task", texts) == texts


def test_none_in_a_json_column_is_sql_null(database: Store) -> None:
    through(database, "result", [None, None, [None]])
    assert len(database.rows(select(runs).where(runs.c.result.is_(None)))) == 2


def test_a_value_changed_after_append_is_stored_as_it_was(database: Store) -> None:
    value = {"a": [1]}
    database.append(runs, a_run("r", result=value))
    value["a"].append(2)
    assert database.rows(select(runs.c.result)) == [{"result": {"a": [1]}}]


@pytest.mark.parametrize("size", [5_000_000])
def test_big_rows(database: Store, size: int) -> None:
    text = ("ä\0😀 '\\" * (size // 6 + 1))[:size]
    database.append(runs, a_run("text", task=text))
    database.append(runs, a_run("json", result={"messages": [{"content": text}], "ids": list(range(100_000))}))
    found = {row["id"]: row for row in database.rows(select(runs))}
    assert found["text"]["task"] == text
    assert found["json"]["result"] == {"messages": [{"content": text}], "ids": list(range(100_000))}
    state = bytes(range(256)) * (size // 256)
    version = {"id": "v", "router": "r", "version": 1, "policy": "p", "clock": 0, "live": True, "created": 1.0}
    database.append(router_versions, {**version, "state": state})
    assert database.rows(select(router_versions.c.state, router_versions.c.live)) == [
        {"state": state, "live": True}
    ]


FLOATS = [
    0.0,
    -0.0,
    0.1,
    1e-320,
    5e-324,
    1.7976931348623157e308,
    math.inf,
    -math.inf,
    1760000000.123456,
    2**53,
    True,
]


def test_floats_and_times_come_back(database: Store) -> None:
    found = through(database, "finished", FLOATS + FLOATS)
    assert found == FLOATS + FLOATS  # SQLite makes -0.0 to 0.0
    assert all(type(value) is float for value in found)
    assert through(database, "created", [np.float32(0.5), np.float64(0.1), np.int64(3)]) == [0.5, 0.1, 3.0]


def test_integers_come_back(database: Store) -> None:
    values = [0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63) + 1, np.int64(7), 3.0, True]
    for number, value in enumerate(values):
        row = {"id": f"a{number}", "kind": "k", "name": "n", "limit_tokens": value}
        if number % 2:
            database.append(accounts, row)
        else:
            with database.write() as connection:
                connection.execute(insert(accounts), row)
    found = database.rows(select(accounts.c.limit_tokens, accounts.c.spent_usd_nano).order_by(accounts.c.id))
    assert [row["limit_tokens"] for row in found] == [int(value) for value in values]
    assert {row["spent_usd_nano"] for row in found} == {0}


def _circle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"created": math.nan}, "NaN"),
    ({"created": "1"}, "number expected"),
    ({"created": 10**400}, "large"),
    ({"thread": "x" * 257}, "257 characters"),
    ({"task": b"x"}, "text expected"),
    ({"task": 1}, "text expected"),
    ({"task": None}, "task|null|NULL"),
    ({"result": object()}, "JSON serializable"),
    ({"result": {"a": {1, 2}}}, "JSON serializable"),
    ({"result": b"x"}, "JSON serializable"),
    ({"result": _circle()}, "Circular"),
    ({"result": {(1, 2): 3}}, "keys must be"),
]


@pytest.mark.parametrize(("values", "message"), REFUSED, ids=lambda value: str(value)[:30])
def test_what_can_not_come_back_is_refused_and_nothing_is_stored(
    database: Store, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(StoreError, match=message):
        database.append(runs, a_run("good"), a_run("bad", **values))
    with pytest.raises(StoreError, match=message), database.write() as connection:  # noqa: PT012
        connection.execute(insert(runs), a_run("good"))
        connection.execute(insert(runs), a_run("bad", **values))
    with pytest.raises(StoreError, match=message), database.write() as connection:
        database.insert(connection, runs, a_run("good"), a_run("bad", **values))
    assert database.rows(select(runs)) == []


@pytest.mark.parametrize("value", [2**63, -(2**64), 1.5, "1", 1e30])
def test_numbers_that_are_no_64_bit_integers_are_refused(database: Store, value: Any) -> None:
    with pytest.raises(StoreError, match="integer expected|64 bits"):
        database.append(accounts, {"id": "a", "kind": "k", "name": "n", "limit_tokens": value})
    assert database.rows(select(accounts)) == []


def test_a_column_that_is_not_there_is_refused(database: Store) -> None:
    with pytest.raises(StoreError, match="no column nonsense"):
        database.append(runs, a_run("r", nonsense=1))


def test_to_look_for_what_can_not_be_there_finds_nothing(database: Store) -> None:
    assert database.rows(select(runs).where(runs.c.id == "x" * 1000)) == []
    assert database.rows(select(runs).where(runs.c.thread.in_(["\0" * 300, "\ud800"]))) == []


def test_rows_of_a_table_are_numbered_in_the_order_of_append(database: Store) -> None:
    database.append(runs, a_run("r"))
    for number in range(600):  # rows with other columns in between
        extra: dict[str, Any] = {"output": {"n": number}} if number % 3 else {"error": "e", "subtask": "s"}
        database.append(steps, {"run_id": "r", "kind": "note", "started": float(number), **extra})
    found = database.rows(select(steps.c.id, steps.c.started).order_by(steps.c.id))
    assert [row["started"] for row in found] == [float(number) for number in range(600)]


def test_rows_that_bring_their_number_keep_it(database: Store) -> None:
    database.append(runs, a_run("r"))
    database.append(steps, {"id": 70, "run_id": "r", "kind": "note", "started": 1.0})
    assert database.rows(select(steps.c.id)) == [{"id": 70}]


def test_unknown_values_stay_unknown(database: Store) -> None:
    assert [column.nullable for column in (outcomes.c.quality, memory_items.c.time)] == [True, True]
    assert through(database, "finished", [None, None]) == [None, None]
