"""JSON answers: find the JSON in a text, check it against a schema, say precisely what is wrong."""

import dataclasses
import functools
import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, cast

from pointwork.errors import ProviderError, UsageError
from pointwork.models.protocol import Completion

if TYPE_CHECKING:
    import jsonschema

_MOST_PROBLEMS = 5
_MOST_STARTS = 50
_FENCE = re.compile(r"```(?:json)?\s*\n?(.*?)```", re.DOTALL | re.IGNORECASE)


class SchemaViolation(ProviderError):
    """A complete answer does not satisfy the schema it was asked for.

    Attributes:
        completion: the answer as it came; its tokens were spent.
        problems: what is wrong, one sentence each, with the path into the answer.
    """

    def __init__(self, message: str, *, completion: Completion, problems: list[str], retryable: bool) -> None:
        super().__init__(message, retryable=retryable)
        self.completion = completion
        self.problems = problems


class _Validator(Protocol):
    def iter_errors(self, instance: object) -> "Iterable[jsonschema.ValidationError]": ...


def check_schema(schema: dict[str, Any]) -> None:
    """Refuse what is not a JSON schema.

    Raises:
        UsageError: naming the place in the schema.
    """
    _validator(_key(schema))


def problems(value: object, schema: dict[str, Any]) -> list[str]:
    """What is wrong with a value, at most five sentences; empty if it satisfies the schema.

    Raises:
        UsageError: the schema itself is wrong.
    """
    from referencing.exceptions import Unresolvable

    found: list[str] = []
    try:
        for error in _validator(_key(schema)).iter_errors(value):
            where = "".join(f"[{part!r}]" for part in error.absolute_path)
            found.append(f"at ${where}: {_short(error.message)}")
            if len(found) == _MOST_PROBLEMS:
                break
    except Unresolvable as error:
        raise UsageError(f"the JSON schema refers to something that is not in it: {error}") from error
    except RecursionError:
        found.append("at $: nested too deeply")
    return found


def find_json(text: str) -> str | None:
    """The JSON in a model's answer: the whole text, else a fenced block, else the first value in the prose."""
    for candidate in (text, *_FENCE.findall(text)):
        if parses(candidate):
            return candidate.strip()
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    starts = [match.start() for match in re.finditer(r"[{\[]", text)][:_MOST_STARTS]
    for start in starts:
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        return text[start:end]
    return None


def parses(text: str) -> bool:
    """Whether the whole text is one JSON value (NaN and Infinity are not JSON)."""
    try:
        loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def loads(text: str) -> object:
    """``json.loads`` that refuses NaN and Infinity.

    Raises:
        ValueError: not JSON.
    """
    return json.loads(text, parse_constant=_refuse_constant)


def conform(completion: Completion, schema: dict[str, Any], *, retryable: bool = False) -> Completion:
    """The completion with its text cut down to the JSON that satisfies the schema.

    An answer that the token limit cut (``finish == "length"``) and that does not satisfy the schema comes back as
    it is: the caller decides.

    Args:
        completion: what the model said.
        schema: what it was asked for.
        retryable: whether asking again can give another answer.

    Raises:
        SchemaViolation: a complete answer that does not satisfy the schema.
        UsageError: the schema itself is wrong.
    """
    found = find_json(completion.text)
    wrong = ["the answer holds no JSON"] if found is None else problems(loads(found), schema)
    if found is not None and not wrong:
        return completion if found == completion.text else dataclasses.replace(completion, text=found)
    if completion.finish == "length":
        return completion
    raise SchemaViolation(
        f"{completion.model} gave an answer that does not satisfy the schema: {'; '.join(wrong)}. "
        f"The answer began: {completion.text[:200]!r}",
        completion=completion,
        problems=wrong,
        retryable=retryable,
    )


def instructions(schema: dict[str, Any]) -> str:
    """What to tell a model whose decoding can not be constrained."""
    return (
        "Answer with one JSON value and nothing else: no explanation, no code fence. "
        "It must satisfy this JSON schema:\n" + json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    )


def _key(schema: dict[str, Any]) -> str:
    try:
        return json.dumps(schema)
    except (TypeError, ValueError) as error:
        raise UsageError(f"a schema must be plain JSON data: {error}") from error


@functools.lru_cache(maxsize=128)
def _validator(key: str) -> _Validator:
    schema: object = json.loads(key)
    if not isinstance(schema, dict):
        raise UsageError(f"a schema must be a JSON object, not {key[:80]}")
    import jsonschema
    import referencing

    kind = jsonschema.Draft202012Validator
    try:
        kind.check_schema(cast(dict[str, Any], schema))
    except jsonschema.SchemaError as error:
        where = "".join(f"[{part!r}]" for part in error.absolute_path)
        raise UsageError(f"not a JSON schema, at ${where}: {_short(error.message)}") from error
    # An empty registry: without one, jsonschema fetches a remote $ref over the network.
    registry = cast(Any, referencing.Registry)()
    return cast(_Validator, kind(cast(dict[str, Any], schema), registry=registry))


def _short(message: str) -> str:
    return message if len(message) <= 200 else message[:200] + "…"


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
