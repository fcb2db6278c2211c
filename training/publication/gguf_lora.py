"""A LoRA adapter as peft writes it, as a GGUF file that llama.cpp loads beside the base model.

Two things are easy to get wrong, and wrong without a word from llama.cpp:

* **The order of rows in q and k.** Transformers turns pairs (i, i + half) of a head by the rotary angle,
  llama.cpp's ``llama`` architecture pairs (2i, 2i + 1); whoever converts the base model reorders the rows of
  ``q_proj`` and
  ``k_proj``, so the rows of their B matrices must move the same way. A's columns are inputs and stay.
* **The scale.** llama.cpp multiplies each B·A by ``adapter.lora.alpha / rank``, rank being the one of that tensor.
  peft may have another alpha or rank per module, or divide by √rank (rsLoRA): what differs goes into B.

No torch here: an adapter is published by processes that have none.
"""

import importlib
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwork.errors import TrainingError
from pointwork.extras import require

Array = NDArray[np.float32]

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"
"""The two files of a peft adapter."""

_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_KEY = re.compile(r"(?:base_model\.model\.)?model\.layers\.(\d+)\.([\w.]+?)\.lora_([AB])(?:\.\w+)?\.weight$")
_TYPES = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16}


@dataclass(frozen=True)
class Heads:
    """Attention heads of the base model: what the order of q's and k's rows depends on."""

    query: int
    key: int


@dataclass(frozen=True)
class Lora:
    """One adapted matrix: W + scale · B·A.

    Attributes:
        layer, module: where; ``module`` as transformers calls it, ``self_attn.q_proj``.
        a: (rank, inputs); ``b``: (outputs, rank).
        scale: alpha / rank, or alpha / √rank for rsLoRA.
    """

    layer: int
    module: str
    a: Array
    b: Array
    scale: float


def heads_of(base: str | Path) -> Heads:
    """The heads of a base model, from the ``config.json`` of its Hugging Face directory.

    Raises:
        TrainingError: there is none, or the model is not of the ``llama`` architecture.
    """
    file = Path(base) / "config.json"
    try:
        config: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        kind, query = config["model_type"], int(config["num_attention_heads"])
        key = int(config.get("num_key_value_heads") or query)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{file} is not the config.json of a Hugging Face model: {error!r}") from error
    if kind != "llama":
        raise TrainingError(
            f"{file}: an adapter of a {kind!r} model can not be written for llama.cpp, only of a 'llama' model: "
            "others name and order their matrices in their own ways. Serve it with vLLM"
        )
    return Heads(query, key)


def read_lora(adapter: str | Path) -> list[Lora]:
    """The matrices of a peft adapter directory, by layer and module.

    Raises:
        TrainingError: a file is missing or cut, or it holds what is not plain LoRA on the seven linear layers.
    """
    folder = Path(adapter)
    config = _config(folder)
    halves: dict[tuple[int, str], dict[str, Array]] = {}
    for name, array in _tensors(folder / WEIGHTS).items():
        match = _KEY.match(name)
        if match is None or match[2] not in _NAMES:
            raise TrainingError(
                f"{folder / WEIGHTS} holds {name!r}; llama.cpp takes LoRA on {', '.join(_NAMES)} and nothing else"
            )
        halves.setdefault((int(match[1]), match[2]), {})[match[3]] = array
    found: list[Lora] = []
    for (layer, module), pair in sorted(halves.items()):
        if set(pair) != {"A", "B"} or pair["A"].shape[0] != pair["B"].shape[1]:
            raise TrainingError(f"{folder / WEIGHTS}: layer {layer} {module} lacks one of its halves, A or B")
        scale = _scale(config, f"model.layers.{layer}.{module}", pair["A"].shape[0])
        found.append(Lora(layer, module, pair["A"], pair["B"], scale))
    if not found:
        raise TrainingError(f"{folder / WEIGHTS} holds no LoRA matrices")
    return found


def write_gguf(adapter: str | Path, base: str | Path, out: str | Path, *, half: bool = True) -> Path:
    """Write a peft adapter as GGUF.

    Args:
        adapter: its directory, ``adapter_config.json`` and ``adapter_model.safetensors`` in it.
        base: the Hugging Face directory of the model that it was trained on; only ``config.json`` is read.
        out: the file to write; replaced at once when all of it is there, never half.
        half: 16-bit floats, half the size. All B are multiplied by one power of two first, and alpha divided by
            it: early in training B is so small that 16 bits would round it to nothing.

    Raises:
        TrainingError: see ``read_lora`` and ``heads_of``.
        ImportError: the extra ``train`` is not installed.
    """
    loras, heads, target = read_lora(adapter), heads_of(base), Path(out)
    alpha = float(_config(Path(adapter))["lora_alpha"]) or 1.0
    # what llama.cpp will divide by is the tensor's own rank: the rest of the scale goes into B
    outs = [lora.b * np.float32(lora.scale * lora.a.shape[0] / alpha) for lora in loras]
    largest = max(float(np.abs(b).max()) for b in outs)
    power = 2.0 ** -math.floor(math.log2(largest)) if half and largest > 0 else 1.0
    gguf: Any = require("gguf")
    kind = np.float16 if half else np.float32
    partial = target.with_name(target.name + ".partial")
    writer = gguf.GGUFWriter(partial, "llama")
    try:
        writer.add_type(gguf.GGUFType.ADAPTER)
        writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
        writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, alpha / power)
        for lora, b in zip(loras, outs, strict=True):
            name = f"blk.{lora.layer}.{_NAMES[lora.module]}.weight"
            writer.add_tensor(f"{name}.lora_a", lora.a.astype(kind))
            writer.add_tensor(f"{name}.lora_b", (_ordered(lora.module, b, heads) * np.float32(power)).astype(kind))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    finally:
        writer.close()
    partial.replace(target)
    return target


def write_peft(file: str | Path, base: str | Path, out: str | Path) -> Path:
    """Write an adapter of llama.cpp as peft's: what ``write_gguf`` does, backwards, so that training can go on.

    Args:
        file: a GGUF adapter of the ``llama`` architecture.
        base: the Hugging Face directory of the model that it belongs to; only ``config.json`` is read.
        out: the directory, which is made; its alpha is twice the rank, the rest of the scale is in B.

    Returns:
        The directory.

    Raises:
        TrainingError: the file is no such adapter; see ``heads_of``.
        ImportError: the extra ``train`` is not installed.
    """
    heads, target = heads_of(base), Path(out)
    alpha, found = _gguf_tensors(Path(file))
    modules = {short: module for module, short in _NAMES.items()}
    weights: dict[str, Array] = {}
    ranks: set[int] = set()
    for key, array in found.items():
        match = re.match(r"blk\.(\d+)\.(\w+)\.weight\.lora_([ab])$", key)
        if match is None or match[2] not in modules:
            raise TrainingError(f"{file} holds {key!r}; an adapter is read with LoRA on {', '.join(_NAMES)} only")
        half, module = match[3].upper(), modules[match[2]]
        rank = array.shape[0 if half == "A" else 1]
        ranks.add(rank)
        if half == "B":
            array = _ordered(module, array, heads, back=True) * np.float32(alpha / (2 * rank))
        weights[f"base_model.model.model.layers.{match[1]}.{module}.lora_{half}.weight"] = array
    paired = {key[:-1] for key in found if key.endswith("a")} == {key[:-1] for key in found if key.endswith("b")}
    if len(ranks) != 1 or not paired:
        raise TrainingError(f"{file}: training goes on from one rank for all matrices, each with its A and B")
    target.mkdir(parents=True, exist_ok=True)
    save: Any = importlib.import_module("safetensors.numpy").save_file
    save({key: np.ascontiguousarray(array, dtype=np.float32) for key, array in weights.items()}, target / WEIGHTS)
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": min(ranks)}
    used = sorted({key.split(".")[6] for key in weights})
    config |= {"lora_alpha": 2 * min(ranks), "lora_dropout": 0.0, "bias": "none", "target_modules": used}
    (target / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    return target


def _gguf_tensors(file: Path) -> tuple[float, dict[str, Array]]:
    """Alpha and matrices of a GGUF adapter."""
    gguf: Any = require("gguf")
    try:
        reader = gguf.GGUFReader(file)
        field: Any = reader.get_field(gguf.Keys.Adapter.LORA_ALPHA)
        alpha = float(field.contents())
        return alpha, {row.name: np.array(row.data, np.float32) for row in reader.tensors}
    except (OSError, ValueError, AttributeError, IndexError) as error:
        raise TrainingError(f"{file} is not a GGUF adapter, or not all of one: {error!r}") from error


def rescaled(adapter: str | Path, out: str | Path, times: float) -> Path:
    """A copy of a peft adapter whose effect on each matrix is ``times`` as large: the same form, other B.

    Raises:
        TrainingError: it can not be read.
    """
    source, target = Path(adapter), Path(out)
    target.mkdir(parents=True, exist_ok=True)
    found = _tensors(source / WEIGHTS)
    save: Any = importlib.import_module("safetensors.numpy").save_file
    save({name: a * np.float32(times if ".lora_B" in name else 1) for name, a in found.items()}, target / WEIGHTS)
    (target / CONFIG).write_bytes((source / CONFIG).read_bytes())
    return target


def permuted(rows: Array, heads: int, *, back: bool = False) -> Array:
    """Rows of q or k (heads · size, columns) in llama.cpp's order, or ``back``: of each head, i beside i + half."""
    half = rows.shape[0] // heads // 2
    form = (heads, half, 2) if back else (heads, 2, half)
    return np.ascontiguousarray(
        rows.reshape(*form, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape), dtype=np.float32
    )


def _ordered(module: str, b: Array, heads: Heads, *, back: bool = False) -> Array:
    if module == "self_attn.q_proj":
        return permuted(b, heads.query, back=back)
    return permuted(b, heads.key, back=back) if module == "self_attn.k_proj" else b


def _config(folder: Path) -> dict[str, Any]:
    file = folder / CONFIG
    try:
        config: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        float(config["lora_alpha"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{file} is not the configuration of a peft adapter: {error!r}") from error
    odd = [name for name in ("use_dora", "fan_in_fan_out", "modules_to_save") if config.get(name)]
    if config.get("bias") not in (None, "none"):
        odd.append("bias")
    if config.get("peft_type", "LORA") != "LORA" or odd:
        raise TrainingError(
            f"{file}: only plain LoRA can be written for llama.cpp, not {odd or config['peft_type']}"
        )
    return config


def _scale(config: dict[str, Any], module: str, rank: int) -> float:
    patterns: dict[str, float] = config.get("alpha_pattern") or {}
    alpha = next(
        (float(value) for key, value in patterns.items() if re.match(rf"(.*\.)?({key})$", module)),
        float(config["lora_alpha"]),
    )
    return alpha / (math.sqrt(rank) if config.get("use_rslora") else rank)


def _tensors(file: Path) -> dict[str, Array]:
    safetensors: Any = importlib.import_module("safetensors")
    try:
        rows: list[tuple[str, dict[str, Any]]] = safetensors.deserialize(file.read_bytes())
    except OSError as error:
        raise TrainingError(f"can not read the adapter {file}: {error.strerror}") from error
    except Exception as error:  # the library raises an exception of its own
        raise TrainingError(f"{file} is not a whole safetensors file: {error}; copy or save it again") from error
    found: dict[str, Array] = {}
    for name, row in rows:
        kind = _TYPES.get(row["dtype"])
        if kind is None:
            raise TrainingError(f"{file}: {name} has type {row['dtype']}; LoRA is read as F32, F16 or BF16")
        raw = np.frombuffer(row["data"], kind).reshape(row["shape"])
        if kind is np.uint16:  # bfloat16 is the upper half of a float32
            raw = (raw.astype(np.uint32) << 16).view(np.float32)
        found[name] = raw.astype(np.float32)
        if not np.isfinite(found[name]).all():
            raise TrainingError(f"{file}: {name} holds what is no number, as after a loss that diverged")
    return found
