"""Servers of a scripted team, over each transport."""

import contextlib
import sys
import threading
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from pointwork import Team
from pointwork.mcp_servers.http import bind, http_app
from pointwork.mcp_servers.principals import Caller
from pointwork.mcp_servers.server import AgentServer, Options
from pointwork.store import Store

sys.path.append(str(Path(__file__).parent))

import teams


@pytest.fixture
def team(store: Store) -> Generator[Team, None, None]:
    with teams.make_team(store) as made:
        teams.ended.clear()
        teams.ordered.clear()
        yield made


@pytest.fixture
def served(team: Team) -> AgentServer:
    return AgentServer(team)


class OverHttp:
    """A server on a free port, in a thread."""

    def __init__(self, server: AgentServer, **options: Any) -> None:
        self.server = server
        app = http_app(server.mcp, callers=server.options.callers, at_end=server.aclose, **options)
        self._socket = bind("127.0.0.1", 0)
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        config = uvicorn.Config(app, log_level="error", lifespan="on", ws="none", timeout_graceful_shutdown=5)
        self._uvicorn = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._uvicorn.run, kwargs={"sockets": [self._socket]})

    def __enter__(self) -> "OverHttp":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._uvicorn.should_exit = True
        self._thread.join(30)
        self._socket.close()

    @contextlib.asynccontextmanager
    async def client(self, token: str | None = None, **options: Any) -> AsyncGenerator[Client, None]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, **options) as client:
                yield client


@pytest.fixture
def over_http(team: Team) -> Any:
    """Makes ``OverHttp`` for callers."""

    def make(*callers: Caller, **options: Any) -> OverHttp:
        return OverHttp(AgentServer(team, Options(callers=callers)), **options)

    return make


@contextlib.asynccontextmanager
async def _connected(
    kind: str, served: AgentServer, tmp_path: Path, **options: Any
) -> AsyncGenerator[Client, None]:
    transport, _, mode = kind.partition("-")
    options["mode"] = mode
    if transport == "inprocess":
        async with Client(served.mcp, **options) as client:
            yield client
        await served.aclose()
    elif transport == "stdio":
        program = str(Path(__file__).parent / "teams.py")
        source = str(Path(__file__).parents[2] / "src")
        environment = {"PYTHONPATH": source, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        started = StdioServerParameters(
            command=sys.executable, args=[program, str(served.team.store.url)], env=environment
        )
        async with Client(started, **options) as client:
            yield client
    else:
        with OverHttp(served) as over:
            async with over.client(**options) as client:
                yield client


_slow = pytest.param("stdio-legacy", marks=pytest.mark.slow)  # a process of its own for each test


@pytest.fixture(params=["inprocess-auto", "inprocess-legacy", "stdio-auto", _slow, "http-auto", "http-legacy"])
def connect(request: pytest.FixtureRequest, served: AgentServer, tmp_path: Path) -> Any:
    """Connects a client of the SDK; once per transport and generation of the protocol."""

    def make(**options: Any) -> contextlib.AbstractAsyncContextManager[Client]:
        return _connected(request.param, served, tmp_path, **options)

    return make
