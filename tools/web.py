"""A tool that reads pages of the web. It is off unless allowed, and reaches no private address that is not named.

Allowed by ``[web] allow = true`` of the configuration, or ``POINTWORK_WEB=1``. What it reads is cut into passages;
those that fit ``about`` best come first, so that a long page does not push the answer out of a prompt.
"""

import importlib
import ipaddress
import os
import socket
import time
from collections.abc import Collection
from typing import Any
from urllib.parse import urljoin, urlsplit

from pointwork.errors import ToolDenied, ToolError
from pointwork.text import tokenize
from pointwork.tools.spec import Tool, ToolResult, tool
from pointwork.tools.threads import in_thread

ALLOW = "POINTWORK_WEB"
MAX_BYTES = 2_000_000
MAX_CHARS = 20_000
SECONDS = 20.0
REDIRECTS = 5


PASSAGE = 600  # characters of a passage, about
PASSAGES = 6


def web_tool(*, allow: bool = False, private: Collection[str] = ()) -> Tool:
    """The tool.

    Args:
        allow: without asking the environment.
        private: ``host:port`` of servers on private addresses that may be read too; nothing else private is, also
            not after a redirect.
    """
    reachable = frozenset(private)

    @tool(labels=["egress", "untrusted-source"], timeout=SECONDS + 5)
    async def web(url: str, about: str = "") -> ToolResult:
        """Read a public page of the web as text.

        Args:
            url: its address, http or https
            about: what is looked for on it; what fits comes first

        Raises:
            ToolError: it can not be read, is private, too long or no text.
        """
        if not allow and os.environ.get(ALLOW) != "1":
            raise ToolDenied(
                "reading the web is off; to allow it, write allow = true under [web] in pointwork.toml, "
                f"or set {ALLOW}=1"
            )
        final, kind, body = await _fetched(url, reachable)
        text = _as_text(kind, body)[:MAX_CHARS]
        shown = tuple((f"web:{final}", passage) for passage in _passages(text, about))
        return ToolResult({"url": final, "text": text}, text, shown)

    return web


def _passages(text: str, about: str) -> list[str]:
    """A text in passages, those that share most words with what is looked for first."""
    found: list[str] = []
    for line in text.splitlines():
        if found and len(found[-1]) + len(line) < PASSAGE:
            found[-1] += "\n" + line
        else:
            found += [line[n : n + PASSAGE] for n in range(0, len(line), PASSAGE)] or []
    words = set(tokenize(about))
    return sorted(found, key=lambda passage: -len(words & set(tokenize(passage))))[:PASSAGES]


web = web_tool()


async def _fetched(url: str, private: frozenset[str]) -> tuple[str, str, bytes]:
    until = time.monotonic() + SECONDS
    for _ in range(REDIRECTS + 1):
        status, headers, body = await _once(url, until, private)
        if status in (301, 302, 303, 307, 308) and "location" in headers:
            url = urljoin(url, headers["location"])  # the next address is checked like the first
            continue
        if status != 200:
            raise ToolError(f"{url} answered {status}")
        return url, headers.get("content-type", ""), body
    raise ToolError(f"more than {REDIRECTS} redirects, the last to {url}")


async def _once(url: str, until: float, private: frozenset[str]) -> tuple[int, dict[str, str], bytes]:
    import httpx2

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise ToolError(f"{url!r} is no address of a page: http or https, without a user's name")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = await in_thread(public_address, parts.hostname, port, private)
    # connected to the very address that was checked: a name may change its mind between two questions
    literal = f"[{address}]" if ":" in address else address
    target = parts._replace(netloc=f"{literal}:{port}", fragment="").geturl()
    host = parts.netloc
    body = b""
    try:
        async with httpx2.AsyncClient(trust_env=False, timeout=max(0.1, until - time.monotonic())) as client:
            request = client.build_request("GET", target, headers={"Host": host, "Accept": "text/*"})
            request.extensions["sni_hostname"] = parts.hostname
            answer = await client.send(request, stream=True)
            try:
                async for chunk in answer.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_BYTES or time.monotonic() > until:
                        raise ToolError(f"{url} is longer than {MAX_BYTES:,} bytes, or takes too long")
            finally:
                await answer.aclose()
    except httpx2.HTTPError as error:
        raise ToolError(f"{url} can not be read: {type(error).__name__}: {error}") from error
    return answer.status_code, {k.lower(): v for k, v in answer.headers.items()}, body


def public_address(host: str, port: int, private: Collection[str] = ()) -> str:
    """One address of a host, all of whose addresses are public, or which is named in ``private`` as host:port.

    Raises:
        ToolError: it has none.
        ToolDenied: one of them is private, of this machine, or otherwise not for everybody.
    """
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError) as error:
        raise ToolError(f"the host {host!r} is not known") from error
    for text in sorted(found) if f"{host}:{port}" not in private else ():
        address = ipaddress.ip_address(text.partition("%")[0])
        mapped = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
        if not address.is_global or address.is_multicast or (mapped is not None and not mapped.is_global):
            raise ToolDenied(
                f"{host!r} is at {address}, which is no public address: it is not read. "
                f'To allow it, write private = ["{host}:{port}"] under [web] in pointwork.toml'
            )
    return sorted(found)[0]


def _as_text(kind: str, body: bytes) -> str:
    if "html" in kind:
        markdownify: Any = importlib.import_module("markdownify")
        text: str = markdownify.markdownify(body.decode("utf-8", "replace"), strip=["img", "script", "style"])
        return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
    if kind.startswith("text/") or "json" in kind or "xml" in kind:
        return body.decode("utf-8", "replace")
    raise ToolError(f"the page is {kind or 'of an unknown kind'}, not text")
