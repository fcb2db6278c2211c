"""Checking values against schemas, also hostile ones."""

from typing import Any

import pytest

from pointwork.tools import schemas
from pointwork.tools.schemas import schema_problems

ENDLESS = "^(a+)+$"
LONG = "a" * 60 + "!"


CASES: list[tuple[dict[str, Any], Any, str]] = [
    ({"pattern": r"^[\w.-]+\/\d{3}$"}, "ab/123", ""),
    ({"pattern": r"^[\w.-]+\/\d{3}$"}, "ab/12", "does not match"),
    ({"pattern": "(?=a)b"}, "x", ""),  # the engine can not look ahead
    ({"uniqueItems": True}, [1, True, "1"], ""),
    ({"uniqueItems": True}, [1, 1.0], "non-unique"),
    ({"patternProperties": {"^x": {"type": "integer"}}}, {"x1": "s"}, "$.x1: 's' is not of type"),
    ({"patternProperties": {"^x": {}}, "additionalProperties": False}, {"x1": 1}, ""),
    ({"patternProperties": {"^x": {}}, "additionalProperties": False}, {"y": 1}, "('y' was unexpected)"),
    ({"additionalProperties": {"type": "string"}, "patternProperties": {"^x": {}}}, {"y": 1}, "$.y: 1 is not"),
    ({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}, {"b": 1}, "('b' was unexpected)"),
    ({"properties": {"$schema": {"type": "string"}}}, {"$schema": 1}, "is not of type 'string'"),
    ({"type": "banana"}, 1, "can not be used"),
    ({"$id": 5}, 1, "can not be used"),
    ({"$ref": "#"}, 1, "can not be used"),
    ({"$ref": "http://x.example/y"}, 1, "can not be used"),
]


@pytest.mark.parametrize(("schema", "value", "says"), CASES)
def test_what_is_wrong_is_said(schema: dict[str, Any], value: Any, says: str) -> None:
    problems = schema_problems(schema, value)
    assert says in problems
    assert bool(says) == bool(problems)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": ENDLESS}, LONG),
        (
            {"properties": {"x": {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": ENDLESS}}},
            {"x": LONG},
        ),
        ({"patternProperties": {ENDLESS: {}}, "additionalProperties": False}, {LONG: 1}),
        ({"patternProperties": {ENDLESS: {}}, "unevaluatedProperties": False}, {LONG: 1}),
        (
            {"$dynamicAnchor": "meta", "$ref": "https://json-schema.org/draft/2020-12/schema", "pattern": ENDLESS},
            LONG,
        ),
        ({"uniqueItems": True}, [{"a": n} for n in range(50_000)]),
    ],
)
def test_a_check_ends_soon(schema: dict[str, Any], value: Any) -> None:
    assert "can not be used" not in schema_problems(schema, value)


def test_a_check_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "MOST_SECONDS", 0.1)
    steps = {f"s{n}": {"allOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(60)}
    endless = {"$ref": "#/$defs/s0", "$defs": {**steps, "s60": {}}}
    assert "takes more than 0.1 s" in schema_problems(endless, {})
    assert "takes more than 0.1 s" in schema_problems({**endless, "unevaluatedProperties": False}, {"x": 1})


def test_few_problems_are_told_and_each_is_cut() -> None:
    problems = schema_problems({"items": {"type": "string"}}, [list(range(10_000))] * 1000)
    assert problems.count("is not of type 'string'") == 0  # cut before
    assert len(problems) < schemas.MOST_PROBLEMS * (schemas.MOST_SAID + 20)
