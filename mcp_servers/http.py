"""The MCP server over HTTP: bearer tokens, host checks, and nothing but 127.0.0.1 unless asked."""

import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pointwork.errors import UsageError
from pointwork.mcp_servers.principals import Caller, find_caller
from pointwork.mcp_servers.serving import Ending

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_BODY = 4 * 1024 * 1024


class Verifier:
    """Bearer tokens against the callers that the server knows."""

    def __init__(self, callers: Sequence[Caller]) -> None:
        self._callers = callers

    async def verify_token(self, token: str) -> AccessToken | None:
        """Whose it is; None if nobody's."""
        caller = find_caller(self._callers, token)
        if caller is None:
            return None
        # the SDK carries it along with the request; the secret itself need not travel
        return AccessToken(token=caller.name, client_id=caller.name, scopes=list(caller.scopes))


class RunScope:
    """Calls of tools need the scope ``run``: 403 without it, as the specification says."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = scope.get("user")
        if scope["type"] != "http" or scope["method"] != "POST" or "run" in getattr(user, "scopes", ["run"]):
            await self._app(scope, receive, send)
            return
        body = b""
        while len(body) <= MAX_BODY:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        if _calls(body):
            await _forbidden(send)
            return
        sent = False

        async def again() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, again, send)


def _calls(body: bytes) -> bool:
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):  # the SDK, whose parser is stricter, answers 400
        return False
    messages = cast(list[Any], value) if isinstance(value, list) else [value]
    asked = [cast(dict[str, Any], message) for message in messages if isinstance(message, dict)]
    return any(message.get("method") == "tools/call" for message in asked)


async def _forbidden(send: Send) -> None:
    said = b'{"error": "insufficient_scope", "error_description": "this token may read, not run: scope run"}'
    challenge = b'Bearer error="insufficient_scope", scope="read run"'
    headers = [(b"content-type", b"application/json"), (b"www-authenticate", challenge)]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": said})


def http_app(
    server: Server[Any],
    *,
    callers: Sequence[Caller] = (),
    host: str = "127.0.0.1",
    allowed_hosts: Sequence[str] = (),
    json_response: bool = False,
    at_end: Callable[[], Awaitable[None]] | None = None,
) -> Starlette:
    """The ASGI application, with its endpoint at ``/mcp``.

    Args:
        server: what it serves.
        callers: if there are any, each request needs the token of one.
        host: that it will be bound to.
        allowed_hosts: further values of the Host header (``name`` or ``name:port``) that are right; a browser
            page of another origin, or a name that somebody pointed at this address, is refused (403, 421).
        json_response: answer with plain JSON instead of event streams: quicker, but without progress.
        at_end: what is done before it ends.

    Raises:
        UsageError: it would be open to the network without a token.
    """
    if host not in LOOPBACK and not callers:
        raise UsageError(
            f"serving on {host} lets whoever reaches this machine run tasks: give --token-file (or --token), or "
            "serve on 127.0.0.1"
        )
    names = [*LOOPBACK[:2], "[::1]", *([] if host in (*LOOPBACK, "0.0.0.0", "::") else [host])]  # noqa: S104
    hosts = [*(f"{name}:*" for name in names), *names]
    for name in allowed_hosts:
        hosts += [name] if ":" in name else [name, f"{name}:*"]
    origins = [f"{scheme}://{name}" for scheme in ("http", "https") for name in hosts]
    manager = StreamableHTTPSessionManager(
        app=server,
        json_response=json_response,
        security_settings=TransportSecuritySettings(
            enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins
        ),
        max_request_body_size=MAX_BODY,
    )
    endpoint: Any = StreamableHTTPASGIApp(manager)
    if callers:
        endpoint = RequireAuthMiddleware(RunScope(endpoint), ["read"])
        endpoint = AuthContextMiddleware(endpoint)
        endpoint = AuthenticationMiddleware(endpoint, backend=BearerAuthBackend(Verifier(callers)))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
        async with manager.run():
            yield
            if at_end is not None:
                await at_end()

    return Starlette(routes=[Route(PATH, endpoint=endpoint)], lifespan=lifespan)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one.

    Raises:
        UsageError: it can not be bound.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise UsageError(f"can not listen on {host}:{port}: {error.strerror or error}") from error


def serve_http(app: Starlette, listener: socket.socket, ending: Ending | None = None) -> None:
    """Serve until Ctrl-C, SIGTERM or SIGHUP; runs at work are stopped and can be resumed."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=5, ws="none"
    )
    server = uvicorn.Server(config)

    def end() -> None:
        server.should_exit = True

    if ending is not None:
        ending.then(end)  # uvicorn hears Ctrl-C and SIGTERM itself, and passes them on when it has ended
    server.run(sockets=[listener])
