"""A server with what the official conformance suite asks for and ``pointwork serve`` has no use for.

Run as a program: ``python conformance_fixture.py PORT``. It stands behind our own HTTP application, so that the
transport, its host checks and its streams are those of ``pointwork serve``.
"""

import asyncio
import base64
import json
import sys
import warnings
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from pointwork.mcp_servers.http import bind, http_app, serve_http

Context = ServerRequestContext[Any, Any]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = base64.b64encode(
    b"RIFF\x26\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00"
    b"data\x02\x00\x00\x00\x00\x00"
).decode()
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
STREET: dict[str, Any] = {"street": {"type": "string"}, "city": {"type": "string"}}


def text(said: str) -> types.TextContent:
    return types.TextContent(type="text", text=said)


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str, kind: str, said: str) -> types.EmbeddedResource:
    contents = types.TextResourceContents(uri=uri, mime_type=kind, text=said)
    return types.EmbeddedResource(type="resource", resource=contents)


def one_text(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


SCHEMAS: dict[str, dict[str, Any]] = {
    "test_simple_text": NOTHING,
    "test_image_content": NOTHING,
    "test_audio_content": NOTHING,
    "test_embedded_resource": NOTHING,
    "test_multiple_content_types": NOTHING,
    "test_tool_with_logging": NOTHING,
    "test_error_handling": NOTHING,
    "test_tool_with_progress": NOTHING,
    "test_sampling": one_text("prompt"),
    "test_elicitation": one_text("message"),
    "test_elicitation_sep1034_defaults": NOTHING,
    "test_elicitation_sep1330_enums": NOTHING,
    "test_reconnection": NOTHING,
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"type": "object", "properties": STREET}},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "additionalProperties": False,
    },
}
DEFAULTS: dict[str, Any] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
OPTIONS = ["option1", "option2", "option3"]
TITLED = [
    {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)
]
ENUMS: dict[str, Any] = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}
PERSON = {"username": {"type": "string"}, "email": {"type": "string"}}


async def list_tools(_: Context, __: Any) -> types.ListToolsResult:
    tools = [types.Tool(name=name, description=f"Fixture {name}.", input_schema=s) for name, s in SCHEMAS.items()]
    return types.ListToolsResult(tools=tools)


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name not in SCHEMAS:
        raise MCPError(types.INVALID_PARAMS, f"no tool {params.name!r}")
    given = params.arguments or {}
    if params.name == "test_error_handling":
        return types.CallToolResult(
            content=[text("This tool intentionally returns an error for testing")], is_error=True
        )
    return types.CallToolResult(content=await content_of(ctx, params.name, given))


async def content_of(ctx: Context, name: str, given: dict[str, Any]) -> list[Any]:
    if name == "test_simple_text":
        return [text("This is a simple text response for testing.")]
    if name == "test_image_content":
        return [image()]
    if name == "test_audio_content":
        return [types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")]
    if name == "test_embedded_resource":
        return [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]
    if name == "test_multiple_content_types":
        value = json.dumps({"test": "data", "value": 123})
        mixed = embedded("test://mixed-content-resource", "application/json", value)
        return [text("Multiple content types test:"), image(), mixed]
    if name == "test_tool_with_logging":
        for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await ctx.session.send_log_message("info", line, related_request_id=ctx.request_id)  # pyright: ignore[reportDeprecated]
            await asyncio.sleep(0.05)
        return [text("logged")]
    if name == "test_tool_with_progress":
        for done in (0, 50, 100):
            await ctx.session.report_progress(done, 100)
            await asyncio.sleep(0.05)
        return [text("done")]
    if name == "test_reconnection":
        if ctx.close_sse_stream is not None:
            await ctx.close_sse_stream()
        await asyncio.sleep(0.1)
        return [text("Reconnection test completed")]
    return await asked(ctx, name, given)


async def asked(ctx: Context, name: str, given: dict[str, Any]) -> list[Any]:
    if name == "test_sampling":
        question = types.SamplingMessage(role="user", content=text(given["prompt"]))
        said = await ctx.session.create_message([question], max_tokens=100, related_request_id=ctx.request_id)  # pyright: ignore[reportDeprecated]
        return [text(f"LLM response: {getattr(said.content, 'text', '')}")]
    if name.startswith("test_elicitation"):
        properties = {"test_elicitation": PERSON, "test_elicitation_sep1330_enums": ENUMS}.get(name, DEFAULTS)
        schema: dict[str, Any] = {"type": "object", "properties": properties, "required": []}
        if properties is PERSON:
            schema["required"] = list(PERSON)
        said = await ctx.session.elicit_form(given.get("message", "Please fill in"), schema, ctx.request_id)
        return [text(f"Elicitation completed: action={said.action}, content={json.dumps(said.content)}")]
    return [text("{}")]


async def list_resources(_: Context, __: Any) -> types.ListResourcesResult:
    kinds = {"test://static-text": "text/plain", "test://static-binary": "image/png"}
    return types.ListResourcesResult(
        resources=[types.Resource(name=uri, uri=uri, mime_type=kind) for uri, kind in kinds.items()]
    )


async def list_templates(_: Context, __: Any) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        name="template", uri_template="test://template/{id}/data", mime_type="application/json"
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    contents: Any
    if uri == "test://static-text":
        said = "This is the content of the static text resource."
        contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=said)
    elif uri == "test://static-binary":
        contents = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    elif uri.startswith("test://template/") and uri.endswith("/data"):
        number = uri.removeprefix("test://template/").removesuffix("/data")
        value = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        contents = types.TextResourceContents(uri=uri, mime_type="application/json", text=json.dumps(value))
    else:
        raise MCPError(types.INVALID_PARAMS, f"no resource {uri!r}")
    return types.ReadResourceResult(contents=[contents])


async def nothing(_: Context, __: Any) -> types.EmptyResult:
    return types.EmptyResult()


PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
}


async def list_prompts(_: Context, __: Any) -> types.ListPromptsResult:
    listed = [
        types.Prompt(
            name=n,
            description=f"Fixture {n}.",
            arguments=[types.PromptArgument(name=a, required=True) for a in arguments],
        )
        for n, arguments in PROMPTS.items()
    ]
    return types.ListPromptsResult(prompts=listed)


async def get_prompt(_: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    given = params.arguments or {}
    said: dict[str, list[Any]] = {
        "test_simple_prompt": [text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [
            text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")
        ],
        "test_prompt_with_embedded_resource": [
            embedded(given.get("resourceUri", "test://x"), "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [image(), text("Please analyze the image above.")],
    }
    return types.GetPromptResult(
        messages=[types.PromptMessage(role="user", content=piece) for piece in said[params.name]]
    )


async def complete(_: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=[params.argument.value + "s"], total=1))


def fixture() -> Server[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # logging is deprecated in the newest protocol; the suite tests older ones
        return Server(  # pyright: ignore[reportDeprecated]
            "conformance-fixture",
            version="1",
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_list_resources=list_resources,
            on_list_resource_templates=list_templates,
            on_read_resource=read_resource,
            on_subscribe_resource=nothing,
            on_unsubscribe_resource=nothing,
            on_list_prompts=list_prompts,
            on_get_prompt=get_prompt,
            on_completion=complete,
            on_set_logging_level=nothing,
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with bind("127.0.0.1", int(sys.argv[1])) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        serve_http(http_app(fixture()), listener)
