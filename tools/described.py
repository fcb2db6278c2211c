"""A tool as the index reads it: name, description, parameters and results, from a ``Tool`` or a dictionary."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pointwork.errors import UsageError
from pointwork.text import count_tokens_estimate
from pointwork.tools.spec import Tool

_JOINTS = re.compile(r"[_\-/.:]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_DEEPEST = 4
MOST_CHARS = 20_000  # of one field
MOST_OF_GROUP = 500


@dataclass(frozen=True)
class Described:
    """What is indexed of a tool.

    Attributes:
        name: unique, any non-empty string.
        words: the name as words.
        description, parameters, results: texts.
        tokens: about what showing the tool to a model costs: name, description and schema of its arguments.
    """

    name: str
    words: str
    description: str
    parameters: str
    results: str
    tokens: int


def describe(tool: Tool | Mapping[str, Any]) -> Described:
    """Read a tool.

    Raises:
        UsageError: it has no name, or a part of it is of a wrong type.
    """
    if isinstance(tool, Tool):
        name, description = tool.name, tool.description
        given, gives = tool.input_schema, tool.output_schema
    elif not isinstance(cast(Any, tool), Mapping):
        raise UsageError(f"{tool!r:.200} is no tool: a Tool, or a dictionary with name, description, input_schema")
    else:
        name, description = tool.get("name"), tool.get("description") or ""
        given: Any = tool.get("input_schema") or {}
        gives: Any = tool.get("output_schema")
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"a tool of the index needs a name, not {name!r}")
    if not isinstance(description, str) or not isinstance(given, Mapping) or not isinstance(gives, Mapping | None):
        raise UsageError(f"tool {name!r}: description must be text and its schemas objects")
    given = cast(Mapping[str, Any], given)
    try:
        shown = f"{name} {description} {json.dumps(given, ensure_ascii=False, default=str)}"
    except (RecursionError, ValueError, TypeError) as error:
        raise UsageError(f"tool {name!r:.200}: its input_schema can not be written as JSON: {error}") from error
    return Described(
        name,
        _JOINTS.sub(" ", name),
        description[:MOST_CHARS],
        " . ".join(_arguments(given))[:MOST_CHARS],
        " . ".join(_arguments(cast(Mapping[str, Any], gives or {})))[:MOST_CHARS],
        count_tokens_estimate(shown),
    )


def own_words(tool: Described, group: str) -> str:
    """A tool's name as words, without its group's before it: what it does there."""
    words, before = tool.words, _JOINTS.sub(" ", group)
    if not before or not words.lower().startswith(before.lower()):
        return words
    return words[len(before) :].strip(" _-./:") or words


def about_group(group: str, tools: Sequence[str]) -> str:
    """What a group of tools is, by its name and those of its tools."""
    return f"{_JOINTS.sub(' ', group)}: {', '.join(tools)}"[:MOST_OF_GROUP]


def _arguments(schema: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """Names and descriptions of a schema's properties, also of those inside them."""
    properties = schema.get("properties")
    if depth > _DEEPEST or not isinstance(properties, Mapping):
        return
    for name, about in cast(Mapping[Any, Any], properties).items():
        told: Any = cast(Mapping[str, Any], about).get("description") if isinstance(about, Mapping) else None
        yield f"{_JOINTS.sub(' ', str(name))} {told if isinstance(told, str) else ''}"
        if isinstance(about, Mapping):
            inner = cast(Mapping[str, Any], about)
            yield from _arguments(inner, depth + 1)
            if isinstance(inner.get("items"), Mapping):
                yield from _arguments(inner["items"], depth + 1)
