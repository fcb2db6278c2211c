"""Low-rank adapters in peft's form: what they are, put around a model, and their weights' names."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pointwork.errors import TrainingError, UsageError
from pointwork.extras import require
from pointwork.training.bases import quiet
from pointwork.training.tensors import seeded

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class Lora:
    """A low-rank adapter (Hu et al., "LoRA", 2021): W + (alpha / rank)·B·A for each of ``targets``."""

    rank: int = 16
    alpha: float = 32
    targets: tuple[str, ...] = PROJECTIONS


def with_adapter(module: Any, lora: Lora, name: str, seed: int) -> Any:
    """A transformers model with a new adapter.

    Raises:
        TrainingError: its modules are called otherwise.
    """
    peft: Any = require("peft")
    config = peft.LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        target_modules=list(lora.targets),
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
    )
    try:
        with seeded(seed), quiet():
            wrapped = peft.get_peft_model(module, config)
    except ValueError as error:  # modules of this name are not in it
        raise TrainingError(f"{name} can not be given {lora}: {error}") from error
    # Else the path on this machine stands in every adapter that is given away.
    wrapped.peft_config["default"].base_model_name_or_path = name
    return wrapped


def lora_of(adapter: Path) -> Lora:
    """The form of an adapter that peft saved; rsLoRA's alpha / √rank as the alpha that comes to the same.

    Raises:
        UsageError: it is none, or of a form that can not be computed here.
    """
    try:
        found: dict[str, Any] = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
        rank, alpha, targets = int(found["r"]), float(found["lora_alpha"]), found["target_modules"]
        odd = [name for name in ("alpha_pattern", "rank_pattern") if found.get(name)]
        odd += ["target_modules, which is a pattern"] if isinstance(targets, str) else []
        rooted, names = bool(found.get("use_rslora")), tuple(sorted(targets))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{adapter} is no adapter: adapter_config.json is missing or not peft's ({error})"
        ) from error
    if odd:
        raise UsageError(
            f"{adapter / 'adapter_config.json'}: one rank, one alpha and a list of modules are understood here, "
            f"not {', '.join(odd)}"
        )
    alpha *= math.sqrt(rank) if rooted else 1
    return Lora(rank, int(alpha) if alpha.is_integer() else alpha, names)


def internal(name: str) -> str:
    """Name of an adapter's weight inside peft, of that in the file."""
    if name.endswith((".lora_embedding_A", ".lora_embedding_B")):
        return f"{name}.default"
    return name.replace(".lora_A.weight", ".lora_A.default.weight").replace(
        ".lora_B.weight", ".lora_B.default.weight"
    )


def external(name: str) -> str:
    """Name of an adapter's weight in the file, of that inside peft."""
    return name.replace(".default.weight", ".weight").removesuffix(".default")
