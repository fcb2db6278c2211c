"""``@tool`` itself: schema, context, errors, time-out, async."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from pointwork.errors import ToolDenied, ToolError, UsageError
from pointwork.tools import Tool, ToolContext, ToolResult, tool


def call(item: Tool, arguments: dict[str, Any], context: ToolContext | None = None) -> ToolResult:
    return asyncio.run(item.call(arguments, context))


@tool
def add(a: int, b: int = 2) -> int:
    """Add two
    numbers.

    Args:
        a: the first one,
            in units
        b: the second one

    Raises:
        ToolError: never
    """
    return a + b


def test_schema_is_what_a_model_needs_and_no_more() -> None:
    assert add.name == "add"
    assert add.description == "Add two numbers."
    assert add.input_schema == {
        "additionalProperties": False,
        "properties": {
            "a": {"type": "integer", "description": "the first one, in units"},
            "b": {"type": "integer", "default": 2, "description": "the second one"},
        },
        "required": ["a"],
        "type": "object",
    }


def test_call_converts_and_gives_text() -> None:
    assert call(add, {"a": "40"}) == ToolResult(42, "42")
    assert call(add, {"a": 40, "b": None}).value == 42  # null: the default


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({}, "a: Field required"), ({"a": "x"}, "a: "), ({"a": None}, "a: "), ({"a": 1, "c": 2}, "it takes: a, b")],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ToolError, match=named):
        add.validate(arguments)


def test_annotated_description_and_limits_stay() -> None:
    @tool
    def pick(
        n: Annotated[int, Field(description="how many", ge=1)], how: Literal["up", "down"] = "up", word: str = ""
    ) -> str:
        """Pick."""
        return f"{n} {how} {word}"

    assert pick.input_schema["properties"]["n"] == {"type": "integer", "minimum": 1, "description": "how many"}
    assert pick.input_schema["properties"]["how"]["enum"] == ["up", "down"]
    assert pick.input_schema["required"] == ["n"]
    assert call(pick, {"n": 3, "word": 7}).text == "3 up 7"  # a number where text is wanted is text
    with pytest.raises(ToolError, match="how"):
        pick.validate({"n": 1, "how": "sideways"})


def test_names_that_pydantic_keeps_for_itself() -> None:
    @tool
    def odd(json: str, copy: int = 1, model_dump: int = 2, _x: int = 3) -> list[object]:
        """Odd names."""
        return [json, copy, model_dump, _x]

    assert set(odd.input_schema["properties"]) == {"json", "copy", "model_dump", "_x"}
    assert call(odd, {"json": "a", "_x": 9}).value == ["a", 1, 2, 9]


def test_context_is_given_and_hidden() -> None:
    @tool
    def where(context: ToolContext) -> str:
        """Where."""
        return context.thread or "nowhere"

    @tool
    def maybe(context: ToolContext | None = None) -> bool:
        """Maybe."""
        return context is None

    assert where.input_schema.get("properties", {}) == {}
    assert call(where, {}, ToolContext(thread="t")).text == "t"
    assert call(where, {}).text == "nowhere"
    assert call(maybe, {}).value is False
    with pytest.raises(ToolError, match="it takes: nothing"):
        call(where, {"context": {}})


def test_async_functions_and_sync_ones_that_give_awaitables() -> None:
    @tool(name="later", labels=["egress"], timeout=5)
    async def f(x: int) -> int:
        """Later."""
        await asyncio.sleep(0)
        return x

    async def inner() -> str:
        return "inner"

    @tool
    def g() -> Any:
        """Gives an awaitable."""
        return inner()

    assert f.name == "later"
    assert f.has_side_effects
    assert not add.has_side_effects
    assert call(f, {"x": 1}).value == 1
    assert call(g, {}).value == "inner"


def test_time_out_of_sync_and_async() -> None:
    @tool(timeout=0.05)
    def slow() -> None:
        """Slow."""
        time.sleep(0.2)

    @tool(timeout=0.05)
    async def slower() -> None:
        """Slower."""
        await asyncio.sleep(10)

    for item in (slow, slower):
        with pytest.raises(ToolError, match=r"did not end within 0\.05 s"):
            call(item, {})


def test_errors_keep_their_message_and_kind() -> None:
    @tool
    def broken(kind: str) -> None:
        """Broken."""
        if kind == "denied":
            raise ToolDenied("no")
        if kind == "time":
            raise TimeoutError("the disk")
        raise ZeroDivisionError("by zero")

    with pytest.raises(ToolError, match=r"'broken' failed: ZeroDivisionError: by zero"):
        call(broken, {"kind": ""})
    with pytest.raises(ToolError, match=r"failed: TimeoutError: the disk"):  # its own, not ours
        call(broken, {"kind": "time"})
    with pytest.raises(ToolDenied, match="no"):
        call(broken, {"kind": "denied"})


def test_cancelling_goes_through() -> None:
    @tool
    async def wait() -> None:
        """Wait."""
        await asyncio.sleep(10)

    async def main() -> None:
        task = asyncio.create_task(wait.call({}))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, UsageError])
def test_what_ends_a_program_ends_a_call_only(kind: type[BaseException]) -> None:
    """``sys.exit`` in a tool ended the team's event loop: whoever waited for the run waited for ever."""

    @tool
    def leave() -> None:
        """Leave."""
        raise kind("gone")

    with pytest.raises(ToolError, match=rf"'leave' failed: .*{kind.__name__}.*gone"):
        call(leave, {})


@pytest.mark.parametrize("kind", [SystemExit, asyncio.CancelledError, UsageError])
def test_an_async_function_does_not_end_more_either(kind: type[BaseException]) -> None:
    @tool
    async def leave() -> None:
        """Leave."""
        raise kind("gone")

    with pytest.raises(ToolError, match="'leave' failed: "):
        call(leave, {})


class Reading(BaseModel):
    day: date
    values: set[int]


@dataclass
class Station:
    name: str
    last: Reading


def test_what_a_function_returns_becomes_plain_json() -> None:
    returned: list[Any] = [
        Station("Bonn", Reading(day=date(2026, 1, 2), values={3})),
        {(1, 2): b"ab"},
        Decimal("1.5"),
        ToolResult({4}, "four"),
    ]

    @tool
    def give(n: int) -> Any:
        """Give."""
        return returned[n]

    assert call(give, {"n": 0}).value == {"name": "Bonn", "last": {"day": "2026-01-02", "values": [3]}}
    assert call(give, {"n": 0}).text == '{"name": "Bonn", "last": {"day": "2026-01-02", "values": [3]}}'
    assert call(give, {"n": 1}).value == {"1,2": "ab"}
    assert call(give, {"n": 2}) == ToolResult("1.5", "1.5")
    assert call(give, {"n": 3}) == ToolResult([4], "four")


def test_what_can_not_be_written_is_the_tool_s_failure() -> None:
    circle: list[Any] = []
    circle.append(circle)
    returned: list[Any] = [circle, ToolResult(circle, "round"), 10**5000, {"a": {1: circle}}]

    @tool
    def give(n: int) -> Any:
        """Give."""
        return returned[n]

    for n in range(len(returned)):
        with pytest.raises(ToolError, match="'give': what it returned can not be written as JSON"):
            call(give, {"n": n})


def test_functions_that_can_not_be_tools() -> None:
    def untyped(a: int) -> None:
        """Doc."""

    del untyped.__annotations__["a"]

    def undocumented(a: int) -> None: ...

    def many(*a: int) -> None:
        """Doc."""

    def unknown(a: int) -> None:
        """Doc."""

    def untold(a: Callable[[int], int]) -> None:
        """Doc."""

    unknown.__annotations__["a"] = "Nowhere"
    given: list[tuple[Any, str]] = [
        (untyped, "'a' has no type"),
        (undocumented, "needs a docstring"),
        (many, "passed by name"),
        (unknown, "Nowhere"),
        (untold, "JSON schema"),
        (partial(echo, a=1), "of a function"),
        (3, "of a function"),
    ]
    for function, message in given:
        with pytest.raises(UsageError, match=message):
            tool(function)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"labels": ["egres"]}, "unknown labels 'egres'; known: reads-private"),
        ({"labels": "writes"}, r"labels=\['writes'\]"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": "30"}, "timeout"),
        ({"name": " "}, "name"),
    ],
)
def test_a_label_that_is_misspelt_allows_nothing(options: Any, why: str) -> None:
    """The policy took a tool with the label ``egres`` for one that sends nothing."""

    def send(to: str) -> None:
        """Send."""

    with pytest.raises(UsageError, match=why):
        tool(**options)(send)


def echo(a: object) -> dict[str, object]:
    return {"got": a}


def test_a_tool_from_a_schema() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    item = Tool("foreign", "Of another server.", schema, echo)
    assert call(item, {"a": 1}).text == '{"got": 1}'
    with pytest.raises(ToolError, match=r"\$\.a: 'x' is not of type 'integer'"):
        call(item, {"a": "x"})


def test_a_foreign_schema_fetches_nothing() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    item = Tool("foreign", "Of another server.", schema, echo)
    with pytest.raises(ToolError, match="schema can not be used"):
        item.validate({"a": 1})
