"""What a model may write, as JSON schemas, and how that is read: an answer, or one call of a tool."""

import json
from collections.abc import Sequence
from typing import Any, cast

from pointwork.agents.prompts import NOT_SAID
from pointwork.tools import Tool


def answer_schema(answer_type: str, choices: Sequence[str] = (), *, unknown: bool = False) -> dict[str, Any]:
    """JSON schema of an answer of a planned type, or of one of some choices; with ``unknown``, also of none."""
    kinds: dict[str, dict[str, Any]] = {
        "number": {"type": "number"},
        "yes-no": {"enum": ["yes", "no"]},
        "list": {"type": "array", "items": {"type": "string", "maxLength": 80}, "maxItems": 20},
    }
    if choices and answer_type not in ("yes-no", "list"):
        kinds[answer_type] = {"enum": list(choices)}
    answer = kinds.get(answer_type, {"type": "string", "minLength": 1, "maxLength": 200})
    if unknown and answer.get("type") != "string":
        answer = {"anyOf": [answer, {"const": NOT_SAID}]}
    return {
        "type": "object",
        "properties": {"answer": answer},
        "required": ["answer"],
        "additionalProperties": False,
    }


def call_schema(tools: Sequence[Tool], *, answer: bool = False, choices: Sequence[str] = ()) -> dict[str, Any]:
    """JSON schema of one turn: a call of one of the tools, or (with ``answer``) the answer, one of the choices.

    Tools of one name may stand in it with several schemas.
    """
    turns = [
        {
            "type": "object",
            "properties": {"tool": {"const": tool.name}, "arguments": _inlined(tool.input_schema)},
            "required": ["tool", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    if answer:
        text = {"enum": list(choices)} if choices else {"type": "string", "minLength": 1, "maxLength": 200}
        said = {"type": "object", "properties": {"text": text}, "required": ["text"], "additionalProperties": False}
        turns.append(
            {
                "type": "object",
                "properties": {"tool": {"const": "answer"}, "arguments": said},
                "required": ["tool", "arguments"],
                "additionalProperties": False,
            }
        )
    if len(turns) == 1:
        return turns[0]
    # wrapped: several providers refuse a schema whose root is anyOf
    return {
        "type": "object",
        "properties": {"call": {"anyOf": turns}},
        "required": ["call"],
        "additionalProperties": False,
    }


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with its local references resolved: inside another schema they would point nowhere."""
    definitions = cast(dict[str, Any], schema.get("$defs", {}))

    def resolve(node: Any) -> Any:
        if isinstance(node, dict):
            node = cast(dict[str, Any], node)
            reference = node.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/$defs/"):
                return resolve(definitions[reference.removeprefix("#/$defs/")])
            return {key: resolve(value) for key, value in node.items() if key != "$defs"}
        if isinstance(node, list):
            return [resolve(value) for value in cast(list[Any], node)]
        return node

    return resolve(schema)


def read_call(text: str, tools: Sequence[Tool]) -> tuple[Tool | None, dict[str, Any], str | None]:
    """A turn as a model wrote it: (tool, arguments, problem). An answer has neither tool nor problem."""
    try:
        value = json.loads(text)
        call = cast(dict[str, Any], value.get("call", value))
        name, arguments = str(call["tool"]), call["arguments"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None, {}, "the call is not complete JSON."
    if not isinstance(arguments, dict):
        return None, {}, "the arguments are not a JSON object."
    arguments = cast(dict[str, Any], arguments)
    if name == "answer" and "text" in arguments:
        return None, arguments, None
    for tool in tools:
        if tool.name == name:
            return tool, arguments, None
    return None, arguments, f"there is no tool {name!r}; there are {', '.join(tool.name for tool in tools)}."
