"""What a foreign server says of its tools and answers for them, within bounds and checked."""

import hashlib
import json
import logging
from dataclasses import dataclass
from typing import Any

import mcp_types as types

from pointwork.errors import ToolError
from pointwork.tools import ToolResult
from pointwork.tools.schemas import schema_problems

log = logging.getLogger(__name__)

MOST_NAME = 256
MOST_DESCRIPTION = 4_000
MOST_SCHEMA = 100_000


@dataclass(frozen=True)
class Offer:
    """A tool as a server describes it; nothing of it is true because it says so.

    Attributes:
        name, description, input_schema, output_schema: as given, bounded.
        sha256: of all of these: the same tool has the same.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None

    @property
    def sha256(self) -> str:
        whole = [self.name, self.description, self.input_schema, self.output_schema]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def offer_of(tool: types.Tool) -> Offer | None:
    """A tool within bounds; None if it is none that can be shown."""
    schema = tool.input_schema
    size = len(json.dumps([schema, tool.output_schema]))
    object_like = schema.get("type", "object") == "object"
    if not tool.name or len(tool.name) > MOST_NAME or size > MOST_SCHEMA or not object_like:
        log.warning("a tool of an MCP server is left out: its name or schema can not be used: %r", tool.name[:100])
        return None
    description = "".join(c for c in tool.description or "" if c.isprintable() or c in "\n\t")
    return Offer(tool.name, description[:MOST_DESCRIPTION], schema, tool.output_schema)


def result_of(server: str, offer: Offer, result: types.CallToolResult) -> ToolResult:
    """What a tool answered.

    Raises:
        ToolError: it failed, or its result is not what its own output schema allows.
    """
    text = "\n".join(_text(block) for block in result.content)
    where = f"tool {offer.name!r} of MCP server {server!r}"
    if result.is_error:
        raise ToolError(f"{where} failed: {text[:2000] or 'it does not say why'}")
    value: Any = result.structured_content
    if offer.output_schema is not None:
        if value is None:
            raise ToolError(f"{where} promises structured results and gave none")
        problems = schema_problems(offer.output_schema, value)
        if problems:
            raise ToolError(f"{where} gave a result that its own output schema does not allow: {problems[:500]}")
    shown = text or json.dumps(value, ensure_ascii=False)
    return ToolResult(value if value is not None else text, shown, ((f"mcp:{server}/{offer.name}", shown),))


def _text(block: Any) -> str:
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.EmbeddedResource):
        return getattr(block.resource, "text", f"[resource {block.resource.uri}]")
    if isinstance(block, types.ResourceLink):
        return f"[link {block.uri} {block.name}]"
    return f"[{block.type} {getattr(block, 'mime_type', '')}, {len(getattr(block, 'data', ''))} characters]"
