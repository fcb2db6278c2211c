"""All foreign servers of a configuration, on an event loop of their own, and their tools as ours."""

import asyncio
import contextlib
import logging
import shlex
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import delete, insert, select

from pointwork.agents.background import BackgroundLoop
from pointwork.errors import ConfigError, ToolDenied, ToolError, UsageError
from pointwork.mcp_servers.foreign import ForeignServer, Progress
from pointwork.mcp_servers.names import valid_names
from pointwork.mcp_servers.offers import Offer
from pointwork.mcp_servers.suspicion import suspicious
from pointwork.settings import McpSettings
from pointwork.store import Store
from pointwork.store.tables import mcp_pins
from pointwork.tools import Tool, ToolResult

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class Listed:
    """A foreign tool and what is to be said of it.

    Attributes:
        server, offer: where it is from, and how its server describes it.
        state: ``approved``; ``new`` (nobody agreed to it); ``changed`` (it is not what somebody agreed to); or
            ``suspicious`` (its description speaks to the model, and nobody agreed to it).
        why: the same in words, empty when approved.
    """

    server: str
    offer: Offer
    state: str
    why: str = ""


class Hub:
    """The foreign servers.

    A tool may be used once somebody agreed to it as it is: its name, description and schemas are pinned in the
    store. ``pointwork tools add`` agrees to what a server offers then; with ``trust_first`` so does the first
    listing of a server that nobody agreed to anything of. A tool that changes, or appears later, is left out until
    ``pointwork tools approve``.

    Args:
        servers: settings by name.
        store: where pins are.
        trust_first: whether the first listing of a server is agreed to.
        on_progress: told of calls at work.

    Attributes:
        server_of: for each of the tools that were asked for last, its server.
    """

    def __init__(
        self,
        servers: dict[str, McpSettings],
        store: Store,
        *,
        trust_first: bool = True,
        on_progress: Progress | None = None,
    ) -> None:
        self._settings, self._store, self._trust_first = dict(servers), store, trust_first
        self._worker = BackgroundLoop()
        self._servers = {n: ForeignServer(n, s, on_progress) for n, s in servers.items()}
        self._listed: dict[str, list[Listed]] = {}
        self._told: set[tuple[str, str, str]] = set()
        self.server_of: dict[str, str] = {}
        self._lock = threading.Lock()
        self._end = weakref.finalize(self, _close, self._worker, self._servers)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the servers."""
        return tuple(self._servers)

    def server(self, name: str) -> ForeignServer:
        """A server by name.

        Raises:
            UsageError: there is none of this name.
        """
        if name not in self._servers:
            known = ", ".join(self._servers) or "none"
            raise UsageError(f"no MCP server {name!r} in pointwork.toml; there are {known}")
        return self._servers[name]

    async def listed(self, name: str) -> list[Listed]:
        """The tools of a server, asked for when they are not known or have changed.

        Raises:
            ToolError: it can not be reached.
        """
        server = self.server(name)
        known = self._listed.get(name)
        if known is None or server.changed:
            offers = await self._there(server.offers())
        elif any(each.state != "approved" for each in known):  # somebody may have agreed to them since
            offers = [each.offer for each in known]
        else:
            return known
        self._listed[name] = found = await asyncio.to_thread(self._judged, name, offers)
        return found

    def refused(self, name: str) -> list[tuple[str, str]]:
        """What is no tool that could be used, of the last list of a server: how it is called there, and why."""
        return list(self.server(name).refused)

    def _judged(self, name: str, offers: list[Offer]) -> list[Listed]:
        with self._lock:
            pins = self.pins(name)
            if not pins and self._trust_first:
                clear = [offer for offer in offers if not suspicious(offer.name, offer.words)]
                self._pin(name, clear)
                pins = self.pins(name)
        found: list[Listed] = []
        for offer in offers:
            pinned = pins.get(offer.name)
            if pinned == offer.sha256:
                found.append(Listed(name, offer, "approved"))
                continue
            # people copy this into a shell
            how = f"'pointwork tools approve {name} {shlex.quote(offer.name)}' agrees to it"
            told = suspicious(offer.name, offer.words)
            if pinned is not None:
                state, why = "changed", f"its description or schema is not the one that was agreed to; {how}"
            elif told:
                state, why = "suspicious", f"its description {told}; {how}"
            else:
                state, why = "new", f"the server did not offer it when its tools were agreed to; {how}"
            log.info("tool %s of MCP server %s is left out: %s", offer.name, name, why)
            found.append(Listed(name, offer, state, why))
        return found

    def pins(self, name: str) -> dict[str, str]:
        """What was agreed to: tool → sha256."""
        rows = self._store.rows(select(mcp_pins).where(mcp_pins.c.server == name))
        return {row["tool"]: row["sha256"] for row in rows}

    async def approve(self, name: str, tools: Iterable[str] | None = None) -> list[str]:
        """Agree to tools as they are offered now; None is all of the server. Names of those agreed to.

        Raises:
            ToolError, UsageError: the server can not be reached, or has no such tool.
        """
        offers = {listed.offer.name: listed.offer for listed in await self.listed(name)}
        wanted = list(offers) if tools is None else list(tools)
        unknown = [tool for tool in wanted if tool not in offers]
        refused = [f"{tool!r} can not be used: {why}" for tool, why in self.refused(name) if tool in unknown]
        if refused:
            raise UsageError(f"MCP server {name!r}: its tool {'; '.join(refused)}")
        if unknown:
            raise UsageError(f"MCP server {name!r} has no tool {', '.join(unknown)}; it has {', '.join(offers)}")
        await asyncio.to_thread(self._pin, name, [offers[tool] for tool in wanted])
        self._listed.pop(name, None)
        return wanted

    def forget(self, name: str) -> None:
        """Take back what was agreed to of a server."""
        with self._store.write() as connection:
            connection.execute(delete(mcp_pins).where(mcp_pins.c.server == name))
        self._listed.pop(name, None)

    def _pin(self, name: str, offers: Iterable[Offer]) -> None:
        rows = [
            {"server": name, "tool": offer.name, "sha256": offer.sha256, "created": time.time()} for offer in offers
        ]
        names = [row["tool"] for row in rows]
        with self._store.write() as connection:
            old = mcp_pins.c.server == name
            connection.execute(delete(mcp_pins).where(old, mcp_pins.c.tool.in_(names)))
            if rows:
                connection.execute(insert(mcp_pins), rows)

    async def tools(self) -> list[Tool]:
        """The tools of all servers that may be used; a server that can not be reached has none now."""
        found: list[Listed] = []
        for name in self._servers:
            try:
                found += [listed for listed in await self.listed(name) if listed.state == "approved"]
            except (ToolError, ConfigError) as error:  # a variable that is not set is no fault of the others
                log.warning("%s", error)
                continue
            for tool, why in self.refused(name):
                if (name, tool, why) not in self._told:
                    self._told.add((name, tool, why))
                    log.warning("MCP server %s: its tool %r is refused: %s", name, tool[:100], why)
        wanted: dict[str, Listed] = {}
        for listed in found:
            name = f"{listed.server}_{listed.offer.name}"
            while name in wanted:  # "b_c" of "a", and "c" of "a_b"
                name += " "
            wanted[name] = listed
        names = valid_names(wanted)
        self.server_of = {names[name]: listed.server for name, listed in wanted.items()}
        return [self._tool(names[name], listed) for name, listed in wanted.items()]

    def _tool(self, shown: str, listed: Listed) -> Tool:
        settings = self._settings[listed.server]
        labels = settings.tool_labels.get(listed.offer.name, settings.labels)
        fn = self._caller(listed)
        return Tool(
            name=shown,
            description=listed.offer.description or listed.offer.name,
            input_schema={"type": "object", "properties": {}, **listed.offer.input_schema},
            fn=fn,
            output_schema=listed.offer.output_schema,
            labels=frozenset(labels),
            timeout=settings.max_seconds + 60,
            needs_approval=settings.approve,
        )

    def _caller(self, listed: Listed) -> Callable[..., Coroutine[Any, Any, ToolResult]]:
        async def call(**arguments: Any) -> ToolResult:
            current = {other.offer.name: other for other in await self.listed(listed.server)}
            now = current.get(listed.offer.name)
            if now is None or now.state != "approved" or now.offer != listed.offer:
                why = "the server does not offer it any more" if now is None else now.why or "it has changed"
                raise ToolDenied(f"tool {listed.offer.name!r} of MCP server {listed.server!r}: {why}")
            return await self._there(self.server(listed.server).call(listed.offer, arguments))

        return call

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work on the servers' loop, from any other; cancelling cancels it there."""
        return await asyncio.wrap_future(self._worker.submit(work))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work from code without an event loop."""
        return asyncio.run(_awaited(work))

    def close(self) -> None:
        """End all servers. Closing twice does nothing."""
        self._end()


async def _awaited(work: Coroutine[Any, Any, T]) -> T:
    return await work


def _close(worker: BackgroundLoop, servers: dict[str, ForeignServer]) -> None:
    async def whole() -> None:
        await asyncio.gather(*(server.aclose() for server in servers.values()), return_exceptions=True)

    if any(server.starts for server in servers.values()):
        with contextlib.suppress(Exception):
            worker.submit(whole()).result(timeout=30)
    worker.stop()
