"""Agents and their teams: specs, planner, specialists, the LangGraph graph and the runtime around it."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pointwork.agents.builtin import builtin_agents
    from pointwork.agents.plan import Plan, Subtask
    from pointwork.agents.result import Cost, Decided, Result
    from pointwork.agents.spec import Agent, Prepared
    from pointwork.agents.team import Team

__all__ = ["Agent", "Cost", "Decided", "Plan", "Prepared", "Result", "Subtask", "Team", "builtin_agents"]

_HOMES = {
    "Agent": "spec",
    "Cost": "result",
    "Decided": "result",
    "Plan": "plan",
    "Prepared": "spec",
    "Result": "result",
    "Subtask": "plan",
    "Team": "team",
    "builtin_agents": "builtin",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"pointwork.agents.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'pointwork.agents' has no attribute {name!r}")
