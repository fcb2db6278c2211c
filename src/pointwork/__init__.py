"""Pointwork: multi-agent orchestration with learned routing.

The public names load on first use, so that ``import pointwork`` stays fast and pulls in neither torch,
litellm nor langgraph.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pointwork.agents import Agent, Result, Team
    from pointwork.budgets import Budget
    from pointwork.errors import PointworkError
    from pointwork.memory import Memory
    from pointwork.router import Router
    from pointwork.tools import tool

__version__ = "0.1.0"

_HOMES = {
    "Agent": "pointwork.agents",
    "Budget": "pointwork.budgets",
    "Memory": "pointwork.memory",
    "PointworkError": "pointwork.errors",
    "Result": "pointwork.agents",
    "Router": "pointwork.router",
    "Team": "pointwork.agents",
    "tool": "pointwork.tools",
}

__all__ = ["Agent", "Budget", "Memory", "PointworkError", "Result", "Router", "Team", "__version__", "tool"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'pointwork' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
