"""What a foreign server says of its tools and answers for them, within bounds and checked."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import mcp_types as types

from pointwork.errors import ToolError
from pointwork.tools import ToolResult
from pointwork.tools.schemas import schema_problems

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
    def words(self) -> str:
        """All of it that may speak to a model: the description, and whatever text is in the schemas."""
        return "\n".join([self.description, *_texts([self.input_schema, self.output_schema])])

    @property
    def sha256(self) -> str:
        whole = [self.name, self.description, self.input_schema, self.output_schema]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _texts(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for name, inner in cast(dict[str, Any], part).items():
            yield name
            yield from _texts(inner)
    elif isinstance(part, list):
        for inner in cast(list[Any], part):
            yield from _texts(inner)


def offer_of(tool: types.Tool) -> Offer | str:
    """A tool within bounds, or why it can not be used."""
    schema = tool.input_schema
    if not tool.name.strip():
        return "it has no name"
    # a name is shown on terminals and kept in databases: no line ends, escape sequences or turned-round texts
    if not tool.name.isprintable():
        return "its name has characters that can not be shown"
    if len(tool.name) > MOST_NAME:
        return f"its name has more than {MOST_NAME} characters"
    if schema.get("type", "object") != "object":
        return "its input schema is not that of an object"
    if len(json.dumps([schema, tool.output_schema])) > MOST_SCHEMA:
        return f"its schemas have more than {MOST_SCHEMA:,} characters"
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
