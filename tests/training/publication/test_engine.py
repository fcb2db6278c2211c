"""Adapters merged into an engine's fused weights, beside peft's own merge. vLLM itself is not needed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from stands import tiny_model  # noqa: E402

from pointwork.errors import UsageError  # noqa: E402
from pointwork.training.engine import FUSED, VllmEngine, merge  # noqa: E402


def wrap(inner: Any) -> Any:
    """As vLLM wraps a module that may get a LoRA."""
    made = torch.nn.Module()
    made.base_layer = inner
    return made


def fused(module: Any, *, wrapped: bool = False, dtype: Any = torch.float32) -> Any:
    """A Llama with the projections of a layer in one weight each, as vLLM has them."""
    made = torch.nn.Module()
    made.model = torch.nn.Module()
    layers: list[Any] = []
    for layer in module.model.layers:
        one = torch.nn.Module()
        for part in ("self_attn", "mlp"):
            own, new = getattr(layer, part), torch.nn.Module()
            for name, members in {**FUSED, "o_proj": ("o_proj",), "down_proj": ("down_proj",)}.items():
                found = [getattr(own, member).weight for member in members if hasattr(own, member)]
                if found:
                    linear: Any = torch.nn.Linear(
                        found[0].shape[1], sum(len(weight) for weight in found), bias=False
                    )
                    linear.weight.data = torch.cat([weight.detach() for weight in found]).to(dtype)
                    linear.output_sizes = [len(weight) for weight in found]
                    new.add_module(name, wrap(linear) if wrapped else linear)
            one.add_module(part, new)
        layers.append(one)
    made.model.layers = torch.nn.ModuleList(layers)
    return made


def weights(module: Any) -> dict[str, Any]:
    return {name.replace("base_layer.", ""): value.detach().clone() for name, value in module.named_parameters()}


def merged_by_peft(folder: Path) -> dict[str, Any]:
    model = tiny_model()
    model.restore(folder)
    return weights(fused(model.module.merge_and_unload()))


@pytest.mark.parametrize("wrapped", [False, True])
def test_merged_weights_are_pefts_and_do_not_add_up(adapters: Callable[..., Path], wrapped: bool) -> None:
    engine, base = fused(tiny_model(lora=False).module, wrapped=wrapped), dict[str, Any]()
    before = weights(engine)
    for folder in (adapters((0.1, 1)), adapters((0.1, 1), (0.2, 2)), adapters((0.1, 1))):
        assert merge(engine, folder, base) == len(before)
        wanted = merged_by_peft(folder)
        now = weights(engine)
        assert now.keys() == wanted.keys()
        for name, value in now.items():
            assert torch.allclose(value, wanted[name], atol=1e-6)
            assert not torch.equal(value, before[name])


def test_the_sum_is_rounded_once(adapters: Callable[..., Path]) -> None:
    folder = adapters((0.1, 1))
    engine, plain = fused(tiny_model(lora=False).module, dtype=torch.bfloat16), tiny_model()
    plain.module.to(torch.bfloat16)
    merge(engine, folder, {})
    wanted = merged_by_peft(folder)
    for name, value in weights(engine).items():
        assert value.dtype == torch.bfloat16
        assert torch.allclose(value.float(), wanted[name], atol=0.02, rtol=0.01)


def test_an_adapter_of_another_model_is_refused(adapters: Callable[..., Path]) -> None:
    engine = fused(tiny_model(lora=False).module)
    del engine.model.layers[1].mlp.gate_up_proj
    with pytest.raises(ValueError, match=r"layers\.1\.mlp\.(gate|up)_proj"):
        merge(engine, adapters((0.1, 1)), {})
    engine = fused(tiny_model(lora=False).module)
    engine.model.layers[0].self_attn.qkv_proj.output_sizes = [8, 8, 8]
    with pytest.raises(ValueError, match="qkv_proj"):
        merge(engine, adapters((0.1, 1)), {})


def test_without_vllm_the_message_names_the_extra(tmp_path: Path) -> None:
    import importlib.util

    if importlib.util.find_spec("vllm") is not None:
        pytest.skip("vllm is installed")
    with pytest.raises(ImportError, match=r"pointwork\[vllm\]"):
        VllmEngine(tmp_path, tmp_path)


def test_what_an_engine_can_not_be_handed(tmp_path: Path) -> None:
    engine: Any = VllmEngine.__new__(VllmEngine)
    engine.__dict__ |= {"merged": False, "_rank": 8, "_overwritten": True}
    with pytest.raises(UsageError, match="do not go back"):
        engine._take(tiny_model())
    engine.__dict__ |= {"merged": True}
    with pytest.raises(UsageError, match="LoRA"):
        engine._take(tiny_model(lora=False))
