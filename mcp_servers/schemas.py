"""The tools that ``pointwork serve`` offers, as MCP describes them."""

from typing import Any

import mcp_types as types

from pointwork.agents.spec import Agent
from pointwork.budgets import Budget
from pointwork.errors import UsageError
from pointwork.mcp_servers.results import OUTPUT_SCHEMA
from pointwork.tools.schemas import schema_problems

TEAM, RESUME = "team", "resume"

_LIMITS: dict[str, Any] = {
    "budget_usd": {"type": "number", "minimum": 0, "description": "Most money to spend, in US dollars."},
    "budget_seconds": {"type": "number", "minimum": 0, "description": "Most time to take."},
    "budget_tokens": {"type": "integer", "minimum": 0, "description": "Most tokens to use."},
    "budget_tool_calls": {"type": "integer", "minimum": 0, "description": "Most calls of tools."},
}
_WAIT: dict[str, Any] = {
    "wait_seconds": {
        "type": "number",
        "minimum": 0,
        "description": "Return after this long with status 'running' if the run goes on then; 'resume' with its "
        "run_id waits for it again. Default: wait to the end.",
    }
}
_RUN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "task": {"type": "string", "minLength": 1, "description": "What to do, in plain words."},
        "thread": {
            "type": "string",
            "minLength": 1,
            "maxLength": 128,
            "description": "Name of a conversation; its runs remember each other.",
        },
        **_LIMITS,
        **_WAIT,
    },
    "required": ["task"],
    "additionalProperties": False,
}
_RESUME: dict[str, Any] = {
    "type": "object",
    "properties": {"run_id": {"type": "string", "minLength": 1, "description": "As 'team' gave it."}, **_WAIT},
    "required": ["run_id"],
    "additionalProperties": False,
}


def team_tool(capabilities: dict[str, str]) -> types.Tool:
    """The whole team as a tool."""
    able = "; ".join(f"{name}: {text}" for name, text in capabilities.items())
    return _tool(TEAM, "Run a task", f"Plan a task, give its parts to the agents that do them best ({able}).", _RUN)


def agent_tool(name: str, agent: Agent) -> types.Tool:
    """One agent as a tool."""
    able = "; ".join(agent.described_capabilities().values())
    tools = ", ".join(tool.name for tool in agent.tools)
    about = f"Give a task to the agent {agent.name!r} alone. It can: {able}."
    return _tool(name, f"Agent {agent.name}", about + (f" Its tools: {tools}." if tools else ""), _RUN)


def resume_tool() -> types.Tool:
    """Going on with a run."""
    about = "Go on with a run that was interrupted, or wait for one that is at work; of a finished one, its result."
    return _tool(RESUME, "Resume a run", about, _RESUME)


def _tool(name: str, title: str, about: str, schema: dict[str, Any]) -> types.Tool:
    return types.Tool(name=name, title=title, description=about, input_schema=schema, output_schema=OUTPUT_SCHEMA)


def checked(tool: types.Tool, arguments: dict[str, Any] | None) -> dict[str, Any]:
    """Arguments that fit the tool's schema.

    Raises:
        UsageError: they do not; it says which and why.
    """
    given = dict(arguments or {})
    problems = schema_problems(tool.input_schema, given)
    if not problems:  # it is neither below a minimum nor above it
        problems = "; ".join(f"$.{name}: NaN is no number" for name, value in given.items() if value != value)
    if problems:
        raise UsageError(f"tool {tool.name!r}: wrong arguments: {problems}")
    return given


def budget_of(given: dict[str, Any], default: Budget) -> Budget:
    """The budget that a call asks for, over the configuration's."""

    def limit(name: str) -> Any:
        value = given.get(f"budget_{name}")
        return getattr(default, name) if value is None else value

    return Budget(limit("usd"), limit("seconds"), limit("tokens"), limit("tool_calls"), default.turns)
