"""Tools of ours, offered over MCP as they are."""

import json
from typing import Any

import mcp_types as types

from pointwork.agents import Team
from pointwork.errors import ToolError
from pointwork.tools import Tool, ToolContext

_ANY_RESULT: dict[str, Any] = {"type": "object", "properties": {"result": {}}, "required": ["result"]}


def offered(name: str, tool: Tool) -> types.Tool:
    """A tool as MCP describes it."""
    hints = types.ToolAnnotations(
        read_only_hint=not tool.has_side_effects,
        destructive_hint="destructive" in tool.labels,
        idempotent_hint=tool.takes_key or not tool.has_side_effects,
        open_world_hint=bool(tool.labels & {"egress", "untrusted-source"}),
    )
    return types.Tool(
        name=name,
        description=tool.description,
        input_schema={"type": "object", **tool.input_schema},
        output_schema=_ANY_RESULT,
        annotations=hints,
    )


async def call_tool(tool: Tool, arguments: dict[str, Any], team: Team) -> types.CallToolResult:
    """Call a tool outside a run: in the team's folder, with its memory.

    Tools that need a person's agreement are refused here: there is no run that could wait for one.
    """
    if tool.needs_approval:
        return _text(f"tool {tool.name!r} needs a person's agreement; call it in a run ('team')", wrong=True)
    context = ToolContext(root=team.root, memory=team.memory)
    try:
        result = await tool.call(arguments, context)
    except ToolError as error:
        return _text(str(error), wrong=True)
    value = json.loads(json.dumps(result.value, default=str))
    said = _text(result.text, wrong=False)
    return said.model_copy(update={"structured_content": {"result": value}})


def _text(text: str, *, wrong: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=wrong)
