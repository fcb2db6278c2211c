"""The adapter as GGUF: the same matrices, in llama.cpp's order and scale."""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from stands import copied

from pointwork.errors import TrainingError
from pointwork.training.publication import gguf_lora
from pointwork.training.publication.gguf_lora import (
    CONFIG,
    WEIGHTS,
    Heads,
    heads_of,
    permuted,
    read_lora,
    write_gguf,
    write_peft,
)
from pointwork.training.publication.llama import LlamaTarget
from pointwork.training.publication.probe import judge
from pointwork.training.publication.scoring import TorchScorer
from pointwork.training.publication.target import Probe, Version

Adapters = Callable[..., Path]
load_file: Any = importlib.import_module("safetensors.torch").load_file
save_file: Any = importlib.import_module("safetensors.torch").save_file


def products(file: Path) -> dict[str, np.ndarray[Any, Any]]:
    """What llama.cpp adds to each matrix: alpha / rank · B·A."""
    reader = gguf.GGUFReader(file)
    field = reader.get_field("adapter.lora.alpha")
    assert field is not None
    alpha = float(field.contents())
    found = {tensor.name: np.array(tensor.data, np.float32) for tensor in reader.tensors}
    names = {name.rsplit(".", 1)[0] for name in found}
    return {
        name: alpha / found[f"{name}.lora_a"].shape[0] * found[f"{name}.lora_b"] @ found[f"{name}.lora_a"]
        for name in names
    }


def edited(folder: Path, **changes: Any) -> Path:
    said = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps({**said, **changes}))
    return folder


@pytest.mark.parametrize("half", [True, False])
@pytest.mark.parametrize("size", [0.3, 1e-6])
def test_matrices_scale_and_order(
    adapters: Adapters, tiny_files: tuple[Path, Path], tmp_path: Path, half: bool, size: float
) -> None:
    folder = adapters((size, 1))
    made = products(write_gguf(folder, tiny_files[1], tmp_path / "a.gguf", half=half))
    loras = read_lora(folder)
    assert len(made) == len(loras) == 14
    for lora in loras:
        whole = (lora.scale * lora.b @ lora.a).astype(np.float32)
        if lora.module.endswith("q_proj"):
            whole = permuted(whole, 4)
        elif lora.module.endswith("k_proj"):
            whole = permuted(whole, 2)
        names = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output"}
        names |= {"gate_proj": "ffn_gate", "up_proj": "ffn_up", "down_proj": "ffn_down"}
        got = made[f"blk.{lora.layer}.{names[lora.module.split('.')[1]]}.weight"]
        # also at 1e-6, as early in training: 16 bits alone would keep one digit of it
        np.testing.assert_allclose(got, whole, atol=np.abs(whole).max() * (2e-3 if half else 1e-6))


@pytest.mark.parametrize("half", [True, False])
@pytest.mark.parametrize(("size", "alpha"), [(0.3, 8), (1e-6, 3)])
def test_an_adapter_is_read_back(
    adapters: Adapters, tiny_files: tuple[Path, Path], tmp_path: Path, half: bool, size: float, alpha: float
) -> None:
    folder = edited(adapters((size, 1)), lora_alpha=alpha)
    back = write_peft(
        write_gguf(folder, tiny_files[1], tmp_path / "a.gguf", half=half), tiny_files[1], tmp_path / "p"
    )
    for one, other in zip(read_lora(back), read_lora(folder), strict=True):
        assert (one.layer, one.module) == (other.layer, other.module)
        whole = other.scale * other.b @ other.a
        np.testing.assert_allclose(one.scale * one.b @ one.a, whole, atol=np.abs(whole).max() * 2e-3)
    said = json.loads((back / CONFIG).read_text())
    assert said["lora_alpha"] == 2 * said["r"]
    (tmp_path / "cut.gguf").write_bytes((tmp_path / "a.gguf").read_bytes()[:300])
    (tmp_path / "text.gguf").write_text("no adapter")
    for name in ("cut", "text", "missing"):
        with pytest.raises(TrainingError, match="is not a GGUF adapter"):
            write_peft(tmp_path / f"{name}.gguf", tiny_files[1], tmp_path / "q")


def gguf_of(path: Path, **shapes: tuple[int, int]) -> Path:
    """An adapter of these tensors of the first layer's value matrix, or of another place."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, 4.0)
    for name, shape in shapes.items():
        place = "blk.0.attn_v.weight" if name.startswith("lora") else "blk.0.attn_norm.weight"
        writer.add_tensor(f"{place}.lora_{name[-1]}", np.ones(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_what_is_no_adapter_to_go_on_from(tiny_files: tuple[Path, Path], tmp_path: Path) -> None:
    other = gguf_of(tmp_path / "norm.gguf", norm_a=(2, 8))
    with pytest.raises(TrainingError, match="holds 'blk.0.attn_norm.weight.lora_a'"):
        write_peft(other, tiny_files[1], tmp_path / "out")
    lone = gguf_of(tmp_path / "lone.gguf", lora_a=(2, 8))
    ranks = gguf_of(tmp_path / "ranks.gguf", lora_a=(2, 8), lora_b=(8, 3))
    for file in (lone, ranks):
        with pytest.raises(TrainingError, match="one rank for all matrices, each with its A and B"):
            write_peft(file, tiny_files[1], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3))
def test_the_order_of_rows(heads: int, half: int, columns: int) -> None:
    rows = np.arange(heads * 2 * half * columns, dtype=np.float32).reshape(-1, columns)
    moved = permuted(rows, heads)
    assert sorted(moved[:, 0]) == sorted(rows[:, 0])
    for head in range(heads):
        for i in range(half):
            first = head * 2 * half
            assert (moved[first + 2 * i] == rows[first + i]).all()
            assert (moved[first + 2 * i + 1] == rows[first + half + i]).all()
    assert (permuted(moved, heads, back=True) == rows).all()


def served(target: LlamaTarget, scorer: TorchScorer, folder: Path, probes: list[Probe]) -> tuple[float, float]:
    """Coefficient and the share that is left unexplained."""
    version = Version("x-1-aa", folder)
    target.prepare(version)
    target.load(version)
    try:
        base = scorer(None, probes)
        scores = target.score(version.name, probes)[0]
        verdict = judge(scores, target.score(None, probes)[0], scorer(folder, probes), base, base)
    finally:
        target.unload(version.name)
    return verdict.coefficient, verdict.residual / verdict.step


def test_llama_computes_what_peft_does(
    adapters: Adapters,
    tiny_files: tuple[Path, Path],
    scorer: TorchScorer,
    probes: list[Probe],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("xllamacpp")
    target = LlamaTarget(tiny_files[0], hf=tiny_files[1], context=512, threads=1)
    folder = copied(adapters((0.3, 1)), tmp_path / "v")
    coefficient, left = served(target, scorer, folder, probes)
    assert coefficient == pytest.approx(1, abs=0.01)
    assert left < 0.05
    # without moving the rows of q and k it is another adapter: this test would see it
    monkeypatch.setattr(gguf_lora, "permuted", lambda rows, heads, **_: rows)  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    assert served(target, scorer, folder, probes)[1] > 3 * left
    target.close()


def test_scales_of_their_own(adapters: Adapters, tiny_files: tuple[Path, Path], tmp_path: Path) -> None:
    plain = products(write_gguf(adapters((0.3, 1)), tiny_files[1], tmp_path / "a.gguf", half=False))
    folder = copied(adapters((0.3, 1)), tmp_path / "v")
    made = products(
        write_gguf(edited(folder, alpha_pattern={"down_proj": 24}), tiny_files[1], tmp_path / "b.gguf", half=False)
    )
    for name, whole in plain.items():
        times = 3 if "ffn_down" in name else 1
        np.testing.assert_allclose(made[name], times * whole, rtol=1e-4, atol=1e-7)
    rooted = products(
        write_gguf(
            edited(folder, alpha_pattern={}, use_rslora=True), tiny_files[1], tmp_path / "c.gguf", half=False
        )
    )
    for name, whole in plain.items():
        np.testing.assert_allclose(rooted[name], 2 * whole, rtol=1e-4, atol=1e-7)  # √rank = 2


def test_bfloat16_is_read(adapters: Adapters, tmp_path: Path) -> None:
    folder = copied(adapters((0.3, 1)), tmp_path / "v")
    weights = load_file(folder / WEIGHTS)
    save_file({name: value.to(torch.bfloat16) for name, value in weights.items()}, folder / WEIGHTS)
    for lora, whole in zip(read_lora(folder), read_lora(adapters((0.3, 1))), strict=True):
        np.testing.assert_allclose(lora.b, whole.b, rtol=0.01)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(
    adapters: Adapters, tiny_files: tuple[Path, Path], tmp_path: Path, value: float
) -> None:
    folder = copied(adapters((0.3, 1)), tmp_path / "v")
    weights = load_file(folder / WEIGHTS)
    name = next(name for name in weights if "lora_B" in name)
    weights[name][0, 0] = value
    save_file(weights, folder / WEIGHTS)
    with pytest.raises(TrainingError, match="no number"):
        write_gguf(folder, tiny_files[1], tmp_path / "a.gguf")


def test_what_is_not_plain_lora_is_refused(
    adapters: Adapters, tiny_files: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = copied(adapters((0.3, 1)), tmp_path / "v")
    with pytest.raises(TrainingError, match="use_dora"):
        read_lora(edited(folder, use_dora=True))
    with pytest.raises(TrainingError, match="bias"):
        read_lora(edited(folder, use_dora=False, bias="all"))
    edited(folder, bias="none")
    weights = load_file(folder / WEIGHTS)
    save_file({**weights, "base_model.model.lm_head.lora_A.weight": torch.zeros(4, 64)}, folder / WEIGHTS)
    with pytest.raises(TrainingError, match="lm_head"):
        read_lora(folder)
    half = dict(list(weights.items())[1:])
    save_file(half, folder / WEIGHTS)
    with pytest.raises(TrainingError, match="lacks one of its halves"):
        read_lora(folder)
    (folder / CONFIG).write_text("{")
    with pytest.raises(TrainingError, match="configuration of a peft adapter"):
        read_lora(folder)
    (tmp_path / "config.json").write_text('{"model_type": "qwen2", "num_attention_heads": 4}')
    with pytest.raises(TrainingError, match="qwen2"):
        heads_of(tmp_path)
    assert heads_of(tiny_files[1]) == Heads(4, 2)
