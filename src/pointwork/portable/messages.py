"""Messages in OpenAI's form: checked when they come in, put together again from the steps of a run."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, cast

from pointwork.portable.rows import Row, Wrong, expect

ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def checked_messages(value: Any, field: str) -> list[Row]:
    """A chat's messages.

    Raises:
        Wrong: they are not messages, or nobody answers.
    """
    messages = [_checked_message(item, f"{field}[{i}]") for i, item in enumerate(expect(value, list, field))]
    if all(message["role"] != "assistant" for message in messages):
        raise Wrong(field, "has no message of the assistant")
    return messages


def _checked_message(value: Any, field: str) -> Row:
    given = cast(Row, expect(value, dict, field))
    role = given.get("role")
    if role not in ROLES:
        raise Wrong(f"{field}.role", f"must be one of {', '.join(ROLES)}, not {role!r}")
    content: Any = given.get("content")
    if content is not None and not isinstance(content, str | list):
        expect(content, str, f"{field}.content")
    # what is null or empty was not said
    message: Row = {"role": role, "content": content}
    message |= {key: item for key, item in given.items() if item is not None}
    calls = expect(message.get("tool_calls") or [], list, f"{field}.tool_calls")
    for i, call in enumerate(calls):
        call_of(call, f"{field}.tool_calls[{i}]")
    if "function_call" in message:
        _function(message["function_call"], f"{field}.function_call")
    if not calls:
        message.pop("tool_calls", None)
    return message


def calls_of(message: Row) -> list[tuple[str, str, Any]]:
    """The calls of a checked message of the assistant: id (may be empty), tool, arguments."""
    calls = [call_of(call, "") for call in message.get("tool_calls", [])]
    if "function_call" in message:  # the form before tool calls
        calls.append(("", *_function(message["function_call"], "")))
    return calls


def call_of(value: Any, field: str) -> tuple[str, str, Any]:
    """Id, tool and arguments of a tool call.

    Raises:
        Wrong: it is none.
    """
    call = expect(value, dict, field)
    if "function" not in call:
        raise Wrong(f"{field}.function", "is missing")
    name, arguments = _function(call["function"], f"{field}.function")
    return str(call.get("id") or ""), name, arguments


def _function(value: Any, field: str) -> tuple[str, Any]:
    function = expect(value, dict, field)
    name = expect(function.get("name"), str, f"{field}.name")
    arguments: Any = function.get("arguments")
    if isinstance(arguments, str):
        arguments = _parsed(arguments)
    elif arguments is not None:
        expect(arguments, dict, f"{field}.arguments")
    return name, {} if arguments is None or arguments == "" else arguments


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return arguments  # a model wrote it: kept as it is


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def checked_reward(value: Any, field: str) -> float | None:
    """A reward, 0 to 1.

    Raises:
        Wrong: it is something else.
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, int | float):
        raise Wrong(field, f"must be a number from 0 to 1, not {value!r}")
    if not 0 <= value <= 1:
        raise Wrong(field, f"must be from 0 to 1, not {value!r}: scale it first")
    return float(value)


def text_of(content: Any) -> str:
    """The text of a message's content: a text, or a list of parts."""
    if isinstance(content, list):
        parts = cast(list[Any], content)
        return "\n".join(str(cast(Row, part).get("text", "")) for part in parts if isinstance(part, dict))
    return "" if content is None else str(content)


def messages_of(steps: Sequence[Mapping[str, Any]]) -> Iterator[tuple[list[Row], Row]]:
    """What each model step of a run was shown, and what it answered, in OpenAI's form.

    Args:
        steps: rows of one run in their order, of a run of ours (each step holds its whole prompt) or of an imported
            chat (each holds what is new).
    """
    so_far: list[Row] = []
    for step in steps:
        given = cast(Row, step["input"] or {})
        new = cast(list[Row], given.get("messages", []))
        so_far = [*so_far, *new] if given.get("continues") else [*new]
        if step["kind"] != "model" or step["output"] is None:
            continue
        output: Row = dict(step["output"])
        text = output.pop("text")
        calls = output.pop("finish", None) == "tool_calls"
        answer: Row = {"role": "assistant", "content": None if calls and not text else text, **output}
        yield so_far, answer
        so_far = [*so_far, answer]


def first_request(messages: Sequence[Row]) -> str:
    """What the user said first."""
    said = (text_of(message["content"]) for message in messages if message["role"] == "user")
    return next(said, "") or "(no request)"
