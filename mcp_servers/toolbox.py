"""The agent that uses the tools of foreign servers: thousands may be there, a few are shown."""

import re
from collections.abc import Sequence
from typing import Any

from pointwork.agents.spec import Agent, Prepared
from pointwork.mcp_servers.hub import Hub
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.tools import Tool, ToolContext, ToolIndex

# Tools that are shown to the model for one subtask.
SHOWN = 5

INSTRUCTIONS = "You are a helpful assistant that uses tools of other programs. Answer briefly from what they give."


class Toolbox:
    """Foreign tools, found by request. Servers are asked what they have when a subtask first may need them."""

    def __init__(self, hub: Hub, store: Store | None = None, encoder: str = "auto") -> None:
        self._hub, self._store, self._encoder = hub, store, encoder
        self._index: ToolIndex | None = None
        self._of: list[Any] = []

    async def index(self) -> ToolIndex:
        """An index of all tools that may be used now."""
        tools = await self._hub.tools()
        known = [(tool.name, tool.description, tool.input_schema, tool.output_schema) for tool in tools]
        if self._index is None or known != self._of:
            self._index = ToolIndex(
                tools, store=self._store, embedder=self._encoder, groups=dict(self._hub.server_of)
            )
            self._of = known
        return self._index

    async def prepare(self, text: str, _: ToolContext) -> Prepared:
        """The tools that fit a subtask best."""
        hits = (await self.index()).search(text, k=SHOWN)
        return Prepared(tools=tuple(hit.tool for hit in hits if isinstance(hit.tool, Tool)))

    async def match(self, text: str, _: ToolContext) -> float:
        """How well the best tool fits, 0 to 1."""
        named = any(re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE) for name in self._hub.names)
        if named:
            return 0.95
        hits = (await self.index()).search(text, k=1)
        return min(0.6, hits[0].score) if hits else 0.0

    def agent(self) -> Agent:
        """An agent that has them all."""
        names = ", ".join(self._hub.names)
        return Agent(
            "toolbox",
            INSTRUCTIONS,
            {"tools": f"use the tools of {names}"},
            (_none,),
            modes=("instant", "agentic"),
            prepare=self.prepare,
            match=self.match,
        )


def _nothing() -> str:
    return "no tool fits"


# an agent that loops must have a tool; what it is shown is what ``prepare`` finds
_none = Tool(
    "no_tool_fits",
    "Say that no tool fits.",
    {"type": "object", "properties": {}, "additionalProperties": False},
    _nothing,
)


def foreign_agents(settings: Settings, store: Store) -> tuple[Sequence[Agent], Hub]:
    """The agents for ``[mcp.*]`` of a configuration, and the hub to close at the end."""
    hub = Hub(dict(settings.mcp), store)
    return [Toolbox(hub, store, settings.encoder).agent()], hub
