"""JSON answers: found, checked, and what is wrong with them said."""

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.errors import UsageError
from pointwork.models import structured
from pointwork.models.protocol import Completion

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def completion(text: str, finish: str = "stop") -> Completion:
    return Completion(text=text, prompt_tokens=1, completion_tokens=1, finish=finish, model="m")


@pytest.mark.parametrize(
    "text",
    [
        '{"n": 1}',
        ' \n{"n": 1}\n',
        '```json\n{"n": 1}\n```',
        'Here you are:\n```\n{"n": 1}\n```\nAnything else?',
        'The answer {as asked} is {"n": 1}, I think.',
    ],
)
def test_json_is_found(text: str) -> None:
    assert json.loads(structured.conform(completion(text), SCHEMA).text) == {"n": 1}


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(structured.SchemaViolation, match=r"at \$\['n'\]: 'x' is not of type 'integer'") as caught:
        structured.conform(completion('{"n": "x"}'), SCHEMA)
    assert caught.value.problems == ["at $['n']: 'x' is not of type 'integer'"]
    assert not caught.value.retryable
    with pytest.raises(structured.SchemaViolation, match="no JSON"):
        structured.conform(completion("I do not know."), SCHEMA, retryable=True)
    with pytest.raises(structured.SchemaViolation):
        structured.conform(completion('{"n": NaN}'), SCHEMA)


def test_cut_answers_are_left_to_the_caller() -> None:
    cut = completion('{"n": ', "length")
    assert structured.conform(cut, SCHEMA) is cut
    whole = completion('{"n": 1}', "length")
    assert structured.conform(whole, SCHEMA) is whole


@pytest.mark.parametrize("schema", [{"type": "nothing"}, {"properties": []}, {"enum": {1, 2}}, {"minimum": "low"}])
def test_bad_schemas(schema: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        structured.check_schema(schema)


def test_a_schema_is_never_fetched() -> None:
    with pytest.raises(UsageError, match="not in it"):
        structured.problems({}, {"$ref": "http://127.0.0.1:9/schema.json"})


def test_deep_nesting_does_not_crash() -> None:
    deep = "[" * 100_000
    assert structured.find_json(deep) is None
    recursive = {"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}
    value: list[Any] = []
    for _ in range(400):
        value = [value]
    assert isinstance(structured.problems(value, recursive), list)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_json_value_is_found_as_it_is(value: object) -> None:
    text = json.dumps(value)
    found = structured.find_json(text)
    assert found is not None
    assert json.loads(found) == value


def test_completion_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        completion("x").text = "y"  # type: ignore[misc]
