"""The embedded model in the form that is read faster: the same weights, written once, and never half."""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pointwork.models import ChatRequest, EmbeddedClient, engine, requantizing, weights
from pointwork.models.weights import ModelFile

gguf: Any = pytest.importorskip("gguf")
Q4_1, Q8_0, F32 = (gguf.GGMLQuantizationType[name] for name in ("Q4_1", "Q8_0", "F32"))

MODEL = ModelFile("Tiny", "tiny", "1.0", "tiny/Tiny.Q4_1.gguf", "ab" * 32, 1, "MIT", requantized=True)


def write(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """A model of three tensors; what they hold."""
    chance = np.random.default_rng(1)
    held = {"a.weight": chance.normal(size=(8, 64)), "b.weight": chance.normal(size=(4, 32)), "norm": np.ones(32)}
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_string("general.name", "Tiny")
    writer.add_array("tokenizer.ggml.tokens", ["a", "b", "ö"])
    writer.add_array("tokenizer.ggml.token_type", [1, 1, 3])
    writer.add_float32("llama.rope.freq_base", 1e5)
    for (name, values), form in zip(held.items(), (Q4_1, Q8_0, F32), strict=True):
        data = values.astype(np.float32)
        writer.add_tensor(name, data if form == F32 else gguf.quants.quantize(data, form), raw_dtype=form)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return {
        tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        for tensor in gguf.GGUFReader(path).tensors
    }


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelFile:
    monkeypatch.setenv("POINTWORK_CACHE", str(tmp_path))
    weights.models_dir().mkdir()
    write(weights.path_of(MODEL))

    def pulled(file: ModelFile, **_: object) -> Path:
        return weights.path_of(file)

    monkeypatch.setattr(weights, "ensure", pulled)
    return MODEL


def test_only_the_form_of_the_weights_changes(tmp_path: Path) -> None:
    before, told = write(tmp_path / "a.gguf"), list[tuple[int, int | None]]()
    requantizing.requantize(
        tmp_path / "a.gguf", tmp_path / "b.gguf", lambda done, total: told.append((done, total))
    )
    one, other = gguf.GGUFReader(tmp_path / "a.gguf"), gguf.GGUFReader(tmp_path / "b.gguf")
    fields = [{name: field.contents() for name, field in reader.fields.items()} for reader in (one, other)]
    assert fields[0] == fields[1]
    assert [tensor.name for tensor in one.tensors] == [tensor.name for tensor in other.tensors]
    forms = {tensor.name: tensor.tensor_type for tensor in other.tensors}
    assert forms == {"a.weight": Q8_0, "b.weight": Q8_0, "norm": F32}
    for tensor in other.tensors:
        found, was = gguf.quants.dequantize(tensor.data, tensor.tensor_type), before[tensor.name]
        if tensor.name == "a.weight":  # half an 8-bit step of each block of 32, and the rounding of its scale
            step = np.abs(was.reshape(-1, 32)).max(axis=1, keepdims=True) / 127
            assert (np.abs(found - was).reshape(-1, 32) <= 0.6 * step).all()
        else:
            np.testing.assert_array_equal(found, was)
    assert told[-1][0] == told[-1][1]
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_it_is_written_once_and_again_if_it_is_damaged(model: ModelFile) -> None:
    assert requantizing.at_hand(model) == weights.path_of(model)
    path = requantizing.ready(model)
    assert path == requantizing.path_of(model) == requantizing.at_hand(model)
    assert path.name == "Tiny.Q8_0-abababab.gguf"
    written = path.stat().st_mtime_ns
    assert requantizing.ready(model).stat().st_mtime_ns == written
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    assert requantizing.at_hand(model) == weights.path_of(model)
    assert requantizing.ready(model).read_bytes() == whole
    path.unlink()
    assert requantizing.ready(model).read_bytes() == whole


def test_other_weights_are_loaded_as_they_come(model: ModelFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def written(*_: object) -> None:
        pytest.fail("written")

    monkeypatch.setattr(requantizing, "requantize", written)
    plain = replace(model, requantized=False)
    assert requantizing.ready(plain) == requantizing.at_hand(plain) == weights.path_of(model)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ImportError("gguf"), ValueError("?")])
def test_where_it_can_not_be_written_the_source_is_loaded(
    model: ModelFile, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise error

    with monkeypatch.context() as failing:
        failing.setattr(requantizing, "requantize", fails)
        assert requantizing.ready(model) == weights.path_of(model)
    assert [path.name for path in weights.models_dir().iterdir()] == [weights.path_of(model).name]
    assert requantizing.ready(model) == requantizing.path_of(model)


def test_without_space_nothing_is_computed(model: ModelFile, monkeypatch: pytest.MonkeyPatch) -> None:
    size = requantizing.ready(replace(model, requantized=False)).stat().st_size
    usage, free, called = shutil.disk_usage("."), [2 * size - 1], [0]

    def counted(*_: object) -> None:
        called[0] += 1

    def told(_: object) -> Any:
        return usage._replace(free=free[0])

    monkeypatch.setattr(requantizing, "requantize", counted)
    monkeypatch.setattr(shutil, "disk_usage", told)
    assert requantizing.ready(model).stat().st_size == size
    assert called == [0]
    free[0] += 1
    requantizing.ready(model)
    assert called == [1]


def test_what_is_interrupted_leaves_nothing(model: ModelFile) -> None:
    def interrupt(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        requantizing.ready(model, progress=interrupt)
    assert [path.name for path in weights.models_dir().iterdir()] == [weights.path_of(model).name]
    assert requantizing.ready(model) == requantizing.path_of(model)


def test_the_embedded_model_is_loaded_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Path] = []
    load = engine._load  # pyright: ignore[reportPrivateUsage]

    def noted(options: engine.EngineOptions, file: Path, key: str) -> Any:
        loaded.append(file)
        return load(options, file, key)

    monkeypatch.setattr(engine, "_load", noted)
    request = ChatRequest([{"role": "user", "content": "What is the capital of France?"}], max_tokens=12)

    async def answer(path: ModelFile | Path) -> str:
        client = EmbeddedClient(path, context=640)  # which no other test asks for: an engine of its own
        text = (await client.chat(request)).text
        await client.aclose()
        return text

    said = [asyncio.run(answer(path)) for path in (weights.SMOLLM2_135M, weights.ensure())]
    assert loaded == [requantizing.path_of(weights.SMOLLM2_135M), weights.path_of(weights.SMOLLM2_135M)]
    assert said[0] == said[1]
    assert "Paris" in said[0]
