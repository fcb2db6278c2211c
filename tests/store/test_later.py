"""Rows that are put together when they are written."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from pointwork.errors import StoreError
from pointwork.router.log import _json  # pyright: ignore[reportPrivateUsage]
from pointwork.store import Store, tables
from pointwork.store.types import dump_json, load_json


def store_with_decision() -> Store:
    store = Store("sqlite://")
    nothing = {"candidates": ["a"], "propensities": {"a": 1.0}, "context": {}, "scores": {}}
    names = dict.fromkeys(("router", "policy", "policy_version", "features_version"), "x")
    numbers = {"created": 1.0, "clock": 0, "propensity": 1.0}
    store.append(tables.decisions, {"id": "d1", "arm": "a", **nothing, **names, **numbers})
    store.flush()
    return store


def outcome(quality: object) -> Callable[[], dict[str, Any]]:
    return lambda: {"decision_id": "d1", "created": 1.0, "quality": quality, "source": "check"}


def test_a_row_is_made_when_it_is_written_and_seen_by_every_read():
    store, made = store_with_decision(), list[int]()

    def make() -> dict[str, Any]:
        made.append(1)
        return outcome(0.5)()

    store.append_later(tables.outcomes, {"source": "check"}, make, 100)
    assert not made
    assert [row["quality"] for row in store.rows(select(tables.outcomes))] == [0.5]
    store.flush()
    assert made == [1]


def test_rows_keep_their_order():
    store = store_with_decision()
    for number in range(6):
        if number % 2:
            store.append(tables.outcomes, outcome(number / 10)())
        else:
            store.append_later(tables.outcomes, {}, outcome(number / 10), 100)
    found = store.rows(select(tables.outcomes).order_by(tables.outcomes.c.id))
    assert [row["quality"] for row in found] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]


def test_what_a_caller_gave_is_refused_at_once_and_what_can_not_be_encoded_when_written():
    store = store_with_decision()
    with pytest.raises(StoreError, match="source"):
        store.append_later(tables.outcomes, {"source": "s" * 999}, outcome(0.5), 100)
    store.append_later(tables.outcomes, {}, outcome("not a number"), 100)
    store.append_later(tables.outcomes, {}, outcome(0.25), 100)
    with pytest.raises(StoreError, match="quality"):
        store.flush()
    assert [row["quality"] for row in store.rows(select(tables.outcomes))] == [0.25]


values = st.floats() | st.text(max_size=5)


@given(st.dictionaries(st.text(max_size=5), st.dictionaries(st.text(max_size=5), values, max_size=3), max_size=3))
def test_quick_json_reads_as_the_other(value: dict[str, dict[str, float | str]]):
    quick = _json(value)
    stored = quick if isinstance(quick, str) else dump_json(quick)
    assert repr(load_json(str(stored))) == repr(load_json(dump_json(value)))
