"""The one place that touches jsonschema (untyped): check values against a JSON schema.

Both may come from a foreign server, which must not stop this process by them, nor make it fetch addresses: a check
has little time, patterns are matched by an engine that needs time in proportion to the text, and references are
resolved inside the schema only.
"""

import importlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from itertools import islice
from typing import Annotated, Any, cast

from pydantic import StringConstraints, TypeAdapter, ValidationError
from pydantic_core import SchemaError

MOST_SECONDS = 5.0
MOST_PROBLEMS = 20  # that are told
MOST_SAID = 500  # characters of one

_META = "json-schema.org"
_REFERENCES = frozenset({"$id", "$ref", "$dynamicRef"})
_Keyword = Callable[[Any, Any, Any, Any], Any]
_until: ContextVar[float] = ContextVar("_until")


def schema_problems(schema: dict[str, Any], value: Any) -> str:
    """What is wrong with a value, in words; empty when it fits."""
    referencing = importlib.import_module("referencing")
    _until.set(time.monotonic() + MOST_SECONDS)
    try:
        validator = _validator()(_own(schema), registry=referencing.Registry())
        found = [(e.json_path, e.message) for e in islice(validator.iter_errors(value), MOST_PROBLEMS)]
    except Exception as error:  # an unresolvable reference, or a schema that is none
        return f"the tool's own schema can not be used: {str(error)[:MOST_SAID]}"
    return "; ".join(f"{where}: {what[:MOST_SAID]}" for where, what in sorted(found))


def _own(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without what would have parts of it checked by the library's own rules instead of those below."""
    text = json.dumps(schema, default=str)
    if not any(each in text for each in ("$schema", _META, "unevaluatedProperties")):
        return schema
    # the library looks for names that no pattern speaks of with its own engine
    dropped = {"unevaluatedProperties"} if "patternProperties" in text else set[str]()

    def copy(part: Any) -> Any:
        if isinstance(part, list):
            return [copy(each) for each in cast(list[Any], part)]
        if not isinstance(part, dict):
            return part
        kept = {k: v for k, v in cast(dict[str, Any], part).items() if k not in dropped and not _is_outside(k, v)}
        return {name: copy(each) for name, each in kept.items()}

    return copy(schema)


def _is_outside(name: str, value: Any) -> bool:
    # a property of such a name has a schema, no text
    return isinstance(value, str) and (name == "$schema" or (name in _REFERENCES and _META in value))


@cache
def _validator() -> Any:
    jsonschema = importlib.import_module("jsonschema")
    plain: Any = jsonschema.Draft202012Validator
    known: dict[str, _Keyword] = plain.VALIDATORS

    def timed(keyword: _Keyword) -> _Keyword:
        def check(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            _in_time()
            return keyword(validator, value, instance, schema)

        return check

    def boolean(_: Any, instance: Any) -> bool:
        _in_time()  # what looks for unevaluated names and items asks this of each part
        return isinstance(instance, bool)

    def additional(validator: Any, value: Any, instance: Any, schema: Mapping[str, Any]) -> Any:
        return known["additionalProperties"](validator, value, *_beside_patterns(instance, schema))

    ours: dict[str, _Keyword] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": additional,
        "uniqueItems": _unique,
    }
    return jsonschema.validators.extend(
        plain,
        validators={name: timed(keyword) for name, keyword in {**known, **ours}.items()},
        type_checker=plain.TYPE_CHECKER.redefine("boolean", boolean),
    )


def _pattern(_: Any, value: str, instance: Any, __: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not _found(value, instance):
        yield _wrong(f"{instance!r} does not match {value!r}")


def _pattern_properties(validator: Any, value: Mapping[str, Any], instance: Any, _: Any) -> Iterator[Any]:
    for each, schema in value.items() if isinstance(instance, dict) else ():
        for name, inner in cast(dict[str, Any], instance).items():
            if _found(each, name):
                yield from validator.descend(inner, schema, path=name, schema_path=each)


def _beside_patterns(instance: Any, schema: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """A value without the names that a schema's patterns speak of, and the schema without these."""
    patterns = schema.get("patternProperties")
    if not patterns or not isinstance(instance, dict):
        return instance, schema
    named = cast(dict[str, Any], instance)
    left = {name: value for name, value in named.items() if not any(_found(each, name) for each in patterns)}
    return left, {name: value for name, value in schema.items() if name != "patternProperties"}


def _unique(_: Any, value: Any, instance: Any, __: Any) -> Iterator[Any]:
    if value and isinstance(instance, list):
        items = cast(list[Any], instance)
        if len({json.dumps(_numbers_alike(each), sort_keys=True) for each in items}) < len(items):
            yield _wrong(f"{instance!r} has non-unique elements")


def _wrong(what: str) -> Any:
    return importlib.import_module("jsonschema").ValidationError(what)


def _in_time() -> None:
    if time.monotonic() > _until.get():
        raise TimeoutError(f"checking a value takes more than {MOST_SECONDS:g} s")


def _found(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text. What the engine does not know, such as looking around, is not asked."""
    _in_time()
    known = _compiled(pattern)
    if known is None:
        return True
    try:
        known.validate_python(text)
    except ValidationError:
        return False
    return True


@lru_cache(256)
def _compiled(pattern: str) -> TypeAdapter[str] | None:
    try:
        return TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])
    except SchemaError:
        return None


def _numbers_alike(value: Any) -> Any:
    """A value with 1.0 as 1: JSON has one kind of number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_numbers_alike(each) for each in cast(list[Any], value)]
    if isinstance(value, dict):
        return {name: _numbers_alike(each) for name, each in cast(dict[str, Any], value).items()}
    return value
