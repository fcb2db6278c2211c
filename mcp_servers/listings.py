"""What a foreign server says wrongly of one tool costs it that tool, not all of them.

The SDK judges a page of tools as a whole: one without an input schema, and none of the server's can be used. So
pages are looked through before it sees them, in the stream of messages: what it would refuse is taken out and told.
"""

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Self, cast

import mcp_types as types
from mcp.shared.message import SessionMessage
from mcp_types import methods
from pydantic import ValidationError

# Where a page holds what was taken out of it. A server can not write it, it is set on every page.
_REFUSED = "pointwork/refused"

Version = Callable[[], str | None]


def refused_of(page: types.ListToolsResult) -> list[tuple[str, str]]:
    """Tools that were taken out of a page, and why."""
    return [(tool, why) for tool, why in (page.meta or {}).get(_REFUSED, [])]


@contextlib.asynccontextmanager
async def sifted(transport: Any, version: Version) -> AsyncGenerator[Any, None]:
    """A transport whose pages of tools hold well-formed ones; ``version`` is the protocol's, once agreed on."""
    async with transport as (read, write):
        yield _Sifted(read, version), write


class _Sifted:
    """The SDK's stream of messages from the server."""

    def __init__(self, inner: Any, version: Version) -> None:
        self._inner, self._version = inner, version

    @property
    def last_context(self) -> Any:
        """Of who sent the last message: the SDK looks for it."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        """The next message."""
        return self._looked_through(await self._inner.receive())

    async def aclose(self) -> None:
        """Close it."""
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return self._looked_through(await self._inner.__anext__())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _looked_through(self, item: Any) -> Any:
        message = item.message if isinstance(item, SessionMessage) else None
        version = self._version()
        # of all answers, those to tools/list alone have a list of tools; what others have there nobody reads
        if version is not None and isinstance(message, types.JSONRPCResponse):
            tools = message.result.get("tools")
            if isinstance(tools, list):
                _sift(message.result, cast(list[Any], tools), version)
        return item


def _sift(page: dict[str, Any], tools: list[Any], version: str) -> None:
    refused: list[tuple[str, str]] = []
    left = list(enumerate(tools, 1))
    for _ in range(2):  # the protocol's own version is checked first, and only what fits it against all of them
        wrong = _wrong({**page, "tools": [tool for _, tool in left]}, version)
        for place, why in wrong.items():
            number, tool = left[place]
            named = cast(Mapping[str, Any], tool).get("name") if isinstance(tool, dict) else None
            refused.append((named if isinstance(named, str) else f"(number {number} of a page)", why))
        left = [pair for place, pair in enumerate(left) if place not in wrong]
    page["tools"] = [tool for _, tool in left]
    meta = page.get("_meta")
    page["_meta"] = {**(cast(dict[str, Any], meta) if isinstance(meta, dict) else {}), _REFUSED: refused}


def _wrong(page: dict[str, Any], version: str) -> dict[int, str]:
    """Places of tools that the SDK would refuse the page for, and why."""
    try:
        methods.parse_server_result("tools/list", version, page)
    except ValidationError as error:
        found: dict[int, str] = {}
        for each in error.errors(include_url=False, include_context=False, include_input=False):
            match each["loc"]:
                case ("tools", int(place), *inner):
                    where = f"{'.'.join(map(str, inner))}: " if inner else ""
                    found.setdefault(place, f"against the protocol: {where}{each['msg']}")
                case _:
                    pass  # not one tool's fault: the SDK tells what is wrong with the page
        return found
    except (ValueError, KeyError):  # a version that the SDK does not know: it decides
        return {}
    return {}
