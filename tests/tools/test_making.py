"""Tools that are made: their life from a request to retirement; Python in the sandbox; pages of the web."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pointwork.errors import ToolDenied, ToolError, UsageError
from pointwork.store import Store
from pointwork.tools import web as web_module
from pointwork.tools.making import Manager, export_python
from pointwork.tools.python import python
from pointwork.tools.sandbox import missing_means
from pointwork.tools.web import public_address, web

needs_sandbox = pytest.mark.skipif(bool(missing_means()), reason="no sandbox here")

CODE = (
    "def run(text):\n    if text == 'boom': raise ValueError('boom')\n    return sum(c in 'aeiou' for c in text)\n"
)
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
CASES = [({"text": "ferry"}, 1), ({"text": "audio"}, 4)]


@needs_sandbox
def test_the_life_of_a_made_tool(store: Store, tmp_path: Path) -> None:
    manager = Manager(store)
    assert manager.find("count the vowels") == []
    made = manager.make("count_vowels", "Count the vowels of a text.", SCHEMA, CODE, CASES, run_id="r1")
    assert (made.version, made.state, made.run_id) == (1, "live", "r1")
    # a later run, another process: it is found and used again
    [tool] = Manager(store).find("How many vowels are in this text?")
    assert asyncio.run(tool.call({"text": "harbour"})).value == 3
    assert manager.all()[0].calls == 1
    # a better version replaces it
    better = CODE.replace("'aeiou'", "'aeiouy'")
    assert (
        manager.make("count_vowels", made.description, SCHEMA, better, [CASES[1], ({"text": "sky"}, 1)]).version
        == 2
    )
    [tool] = manager.tools()
    assert asyncio.run(tool.call({"text": "sky"})).value == 1
    # written out, it is plain Python that checks itself
    path = tmp_path / "made.py"
    path.write_text(export_python(manager.all()[-1]))
    assert subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True).stdout == "ok\n"
    # it fails, and fails again: it is retired, and the version before it is used
    for _ in range(3):
        with pytest.raises(ToolError, match="boom"):
            asyncio.run(tool.call({"text": "boom"}))
    last = manager.all()[-1]
    assert (last.state, last.why) == ("retired", "3 of 4 calls failed")
    manager.retire("count_vowels", "not wanted")
    assert manager.tools() == []


@needs_sandbox
def test_what_fails_its_cases_is_not_kept(store: Store) -> None:
    manager = Manager(store)
    with pytest.raises(ToolError, match=r"fails a case: .*gave 0, not 2"):
        manager.make("count_vowels", "Count.", SCHEMA, CODE, [CASES[0], ({"text": "sky"}, 2)])
    leak = "import socket\ndef run(text):\n    socket.create_connection(('1.1.1.1', 80), 1)\n    return 1\n"
    with pytest.raises(ToolError, match="tool 'leak' failed"):
        manager.make("leak", "Leak.", SCHEMA, leak, CASES)
    with pytest.raises(UsageError, match="at least 2 cases"):
        manager.make("count_vowels", "Count.", SCHEMA, CODE, CASES[:1])
    assert manager.all() == []


@needs_sandbox
def test_where_approval_is_wanted_it_waits(store: Store) -> None:
    manager = Manager(store, needs_approval=True)
    manager.make("count_vowels", "Count.", SCHEMA, CODE, CASES)
    assert manager.tools() == []
    manager.approve("count_vowels")
    assert [tool.name for tool in manager.tools()] == ["count_vowels"]


@needs_sandbox
def test_python_is_run_in_the_sandbox() -> None:
    assert asyncio.run(python.call({"code": "print(sum(range(10)))"})).answer == "45"
    with pytest.raises(ToolError, match="ZeroDivisionError"):
        asyncio.run(python.call({"code": "1/0"}))
    with pytest.raises(ToolError, match="printed nothing"):
        asyncio.run(python.call({"code": "1"}))


def test_the_web_is_off_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolDenied, match="POINTWORK_WEB=1"):
        asyncio.run(web.call({"url": "https://example.org"}))


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "10.1.2.3", "169.254.169.254", "::1", "0.0.0.0", "192.168.0.1", "::ffff:127.0.0.1"],
)
def test_private_addresses_are_refused(host: str) -> None:
    with pytest.raises(ToolDenied, match="no public address"):
        public_address(host, 80)


def test_also_after_a_redirect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POINTWORK_WEB", "1")
    asked: list[str] = []
    true = web_module._once  # pyright: ignore[reportPrivateUsage]

    async def once(url: str, until: float, private: frozenset[str]) -> Any:
        asked.append(url)
        if len(asked) == 1:
            return 302, {"location": "http://127.0.0.1:9/secret"}, b""
        return await true(url, until, private)

    monkeypatch.setattr(web_module, "_once", once)
    with pytest.raises(ToolDenied, match="no public address"):
        asyncio.run(web.call({"url": "http://example.org/"}))
    assert asked[1] == "http://127.0.0.1:9/secret"


def test_pages_become_text() -> None:
    page = b"<html><style>x{}</style><h1>Tides</h1><script>bad()</script><p>High at <b>nine</b>.</p></html>"
    text = web_module._as_text("text/html; charset=utf-8", page)  # pyright: ignore[reportPrivateUsage]
    assert "Tides" in text
    assert "nine" in text
    with pytest.raises(ToolError, match="not text"):
        web_module._as_text("image/png", b"")  # pyright: ignore[reportPrivateUsage]
