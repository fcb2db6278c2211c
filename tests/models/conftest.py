"""The embedded model's weights, and its engine behind a real port."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pointwork.models import weights
from pointwork.models.engine import Engine, EngineOptions


@pytest.fixture(scope="session")
def gguf() -> Path:
    """The default model's file, pulled if it is not in the cache."""
    return weights.ensure()


@pytest.fixture(scope="session")
def llama_url(gguf: Path) -> Iterator[tuple[str, str]]:
    """Base URL and key of a real OpenAI-compatible server: llama.cpp's."""
    engine = Engine(EngineOptions(gguf, context=2048, parallel=2), lambda: None)
    yield engine.endpoint()
    engine.close()
