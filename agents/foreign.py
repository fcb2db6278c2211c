"""Agents that a configuration asks for: for foreign MCP servers, and one that makes tools."""

import importlib
from collections.abc import Callable
from typing import Any

from pointwork.agents.making import maker_agent
from pointwork.agents.spec import Agent
from pointwork.settings import Settings
from pointwork.store import Store


def foreign_agents(settings: Settings, store: Store) -> tuple[list[Agent], Callable[[], None]]:
    """The agents that use the tools of ``[mcp.*]`` and what ends their servers; and the one of ``[tools] make``.

    The client side of MCP lies above this package and is optional: it is loaded by name, as a plug-in would be.

    Raises:
        ImportError: the extra ``mcp`` is not installed.
    """
    made = [maker_agent(settings, store)] if settings.tools.make else []
    if not settings.mcp:
        return made, lambda: None
    toolbox: Any = importlib.import_module("pointwork.mcp_servers.toolbox")
    agents, hub = toolbox.foreign_agents(settings, store)
    return [*made, *agents], hub.close
