"""A foreign MCP server over HTTP that lies, by mode; it writes its answers itself, so as to break them."""

import contextlib
import functools
import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

ECHO = {
    "name": "echo",
    "description": "Say it again.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}
Headers = dict[str, str]


@dataclass
class Asked:
    """A request as it came: method, path, headers in lower case, the message."""

    method: str
    path: str
    headers: Headers
    message: dict[str, Any]


@dataclass
class Liar:
    """What the server does, and what it was asked.

    Attributes:
        lie: answers a request, by pieces; None: honestly. A piece that is a number is waited for.
        asked: all requests, in their order.
        port: where it listens.
    """

    lie: Callable[[Asked], Iterator[bytes | float] | None] = lambda _: None
    asked: list[Asked] = field(default_factory=list[Asked])
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def count(self, method: str) -> int:
        """How many requests of an HTTP method came."""
        return sum(asked.method == method for asked in self.asked)


def response(body: bytes, *, status: str = "200 OK", kind: str = "application/json", **headers: str) -> bytes:
    given = {"content-type": kind, "content-length": str(len(body)), **headers}
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in given.items())]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def stream() -> bytes:
    """The head of a stream of events that has no length."""
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def event(message: dict[str, Any], number: int | None = None) -> bytes:
    told = "" if number is None else f"id: {number}\n"
    return f"{told}data: {json.dumps({'jsonrpc': '2.0', **message})}\n\n".encode()


def answer(asked: Asked, result: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": asked.message.get("id"), "result": result}).encode()


def said(asked: Asked, text: str = "hello") -> bytes:
    """An honest answer to a call."""
    return answer(asked, {"content": [{"type": "text", "text": text}]})


def honest(asked: Asked) -> bytes:
    if asked.method == "GET":
        return response(b"", status="405 Method Not Allowed")
    if asked.method == "DELETE" or "id" not in asked.message:
        return response(b"", status="202 Accepted")
    match asked.message.get("method"):
        case "initialize":
            info = {"name": "liar", "version": "1"}
            result: dict[str, Any] = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
            return response(answer(asked, result), mcp_session_id="one")
        case "tools/list":
            return response(answer(asked, {"tools": [ECHO]}))
        case "tools/call":
            return response(said(asked))
        case "ping":
            return response(answer(asked, {}))
        case _:
            error = {"code": -32601, "message": "there is no such method"}
            return response(json.dumps({"jsonrpc": "2.0", "id": asked.message["id"], "error": error}).encode())


@functools.cache
def zipped(size: int) -> bytes:
    return gzip.compress(b" " * size)


@contextlib.contextmanager
def served(liar: Liar) -> Generator[Liar]:
    """Serve in threads until it is left."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        liar.port = listener.getsockname()[1]
        threading.Thread(target=_accept, args=(listener, liar), daemon=True).start()
        yield liar
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, liar: Liar) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_talk, args=(connection, liar), daemon=True).start()


def _talk(connection: socket.socket, liar: Liar) -> None:
    with connection, contextlib.suppress(OSError, ValueError), connection.makefile("rb") as incoming:
        while line := incoming.readline():
            method, path, _ = line.decode().split()
            headers: Headers = {}
            while (line := incoming.readline().strip()) != b"":
                name, _, value = line.decode("latin-1").partition(":")
                headers[name.lower()] = value.strip()
            body = incoming.read(int(headers.get("content-length", "0")))
            asked = Asked(method, path, headers, json.loads(body) if body else {})
            liar.asked.append(asked)
            pieces = liar.lie(asked)
            if pieces is None:
                connection.sendall(honest(asked))
                continue
            first = True
            for piece in pieces:
                if isinstance(piece, bytes):
                    connection.sendall(_closing(piece) if first else piece)
                    first = False
                else:
                    time.sleep(piece)
            return  # a lie ends its connection


def _closing(head: bytes) -> bytes:
    """The beginning of a lie, which says that the connection will end.

    Else the client's next request may meet it as it goes, and fail for that.
    """
    fields, end, rest = head.partition(b"\r\n\r\n")
    said = b"connection:" in fields.lower() or not fields.startswith(b"HTTP/1.1 ") or not end
    return head if said else fields + b"\r\nconnection: close" + end + rest
