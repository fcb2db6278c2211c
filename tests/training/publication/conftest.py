"""A tiny model, adapters of it, and servers of it."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("peft")
pytest.importorskip("gguf")
sys.path.append(str(Path(__file__).parent))

from stands import FakeVllm, adapter, tiny_model, tiny_probes, write_tiny_gguf

from pointwork.training.publication.llama import LlamaTarget
from pointwork.training.publication.scoring import TorchScorer
from pointwork.training.publication.target import Probe, Target
from pointwork.training.publication.vllm import VllmTarget


@pytest.fixture(scope="session")
def tiny_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The tiny model as GGUF, and a directory with its config.json."""
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny_gguf(folder / "tiny.gguf", folder / "hf")
    return folder / "tiny.gguf", folder / "hf"


@pytest.fixture(scope="session")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Adapters by their steps from nothing: ``adapters((0.1, 1), (0.05, 2))``; each is made once."""
    folder = tmp_path_factory.mktemp("adapters")
    known: dict[tuple[tuple[float, int], ...], Path] = {}

    def made(*steps: tuple[float, int]) -> Path:
        if steps not in known:
            known[steps] = adapter(folder / str(len(known)), *steps)
        return known[steps]

    return made


@pytest.fixture(scope="session")
def scorer() -> TorchScorer:
    """The trainer's side."""
    return TorchScorer(tiny_model())


@pytest.fixture
def probes() -> list[Probe]:
    """Random texts."""
    return tiny_probes()


@pytest.fixture
def server() -> Iterator[FakeVllm]:
    """A server with vLLM's routes that can be made to lie."""
    stand = FakeVllm()
    yield stand
    stand.close()


@pytest.fixture(params=["vllm", "llama.cpp"])
def target(request: pytest.FixtureRequest, tiny_files: tuple[Path, Path]) -> Iterator[Target]:
    """Each kind of target."""
    if request.param == "vllm":
        stand: FakeVllm = request.getfixturevalue("server")
        opened: Target = VllmTarget([stand.url])
    else:
        pytest.importorskip("xllamacpp")
        opened = LlamaTarget(tiny_files[0], hf=tiny_files[1], context=512, threads=1)
    yield opened
    opened.close()
