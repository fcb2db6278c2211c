"""Pages of tools, looked through before the SDK judges them."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

from pointwork.mcp_servers.listings import refused_of, sifted

GOOD: dict[str, Any] = {"name": "good", "inputSchema": {"type": "object"}}


class _Stream:
    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    async def receive(self) -> SessionMessage:
        return SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=1, result=self._result))


@contextlib.asynccontextmanager
async def _transport(result: dict[str, Any]) -> AsyncGenerator[Any, None]:
    yield _Stream(result), None


def seen(result: dict[str, Any], version: str | None = "2024-11-05") -> dict[str, Any]:
    """What comes through of a page."""

    async def go() -> Any:
        async with sifted(_transport(result), lambda: version) as (read, _):
            return (await read.receive()).message.result

    return asyncio.run(go())


def refused(page: dict[str, Any]) -> list[str]:
    return [name for name, _ in refused_of(types.ListToolsResult.model_validate(page))]


def test_all_that_are_wrong_are_told_and_what_is_not_stays() -> None:
    odd = {**GOOD, "name": "odd", "title": 5}
    page = seen({"tools": [{"name": "none"}, odd, GOOD]})
    assert page["tools"] == [GOOD]
    assert refused(page) == ["none", "odd"]


@pytest.mark.parametrize("name", [5, ["good"], None])
def test_what_has_no_name_is_told_by_its_place(name: Any) -> None:
    page = seen({"tools": [GOOD, {**GOOD, "name": name}]})
    assert page["tools"] == [GOOD]
    assert refused(page) == ["(number 2 of a page)"]


def test_what_else_a_page_says_is_kept() -> None:
    page = seen({"tools": [GOOD], "nextCursor": "2", "_meta": {"own/thing": 1}})
    assert (page["nextCursor"], page["_meta"]["own/thing"]) == ("2", 1)
    assert seen({"tools": [GOOD], "_meta": "odd"})["tools"] == [GOOD]


@pytest.mark.parametrize("version", ["1999-01-01", None])
def test_of_a_version_that_nobody_knows_nothing_is_refused(version: str | None) -> None:
    assert seen({"tools": [{"name": "none"}]}, version)["tools"] == [{"name": "none"}]
