"""vLLM beside the trainer on one GPU: ``sample`` by an engine that this process starts and that only it uses.

The trainer's adapter reaches it in one of two ways. As a LoRA it is loaded under a new name, exact, and each token
pays for the adapter's own small products. *Merged*, base + adapter are added up in fp32 in the worker and written
over the engine's weights in place, which no captured graph notices: tokens come at the speed of the base, rounded
once to the engine's precision. Truncated importance sampling corrects for either. What is served to others is never
merged: that is ``publication``, which proves what it serves.
"""

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from pointwork.errors import TrainingError, UsageError
from pointwork.extras import require
from pointwork.training.model import LocalModel
from pointwork.training.sampling import Completion, checked

# vLLM's fused modules, and what stands in their rows, in this order.
FUSED = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}


class Merging:
    """What vLLM's workers can do beside their own (``worker_extension_cls``)."""

    model_runner: Any

    def pointwork_merge(self, folder: str) -> int:
        """Serve the base with the adapter in ``folder`` added to it; how many modules that changed.

        Raises:
            ValueError: a module of the adapter is not in the model, or its rows are not where they should be.
        """
        base: dict[str, Any] = self.__dict__.setdefault("_pointwork_base", {})
        return merge(self.model_runner.get_model(), Path(folder), base)


def merge(model: Any, folder: Path, base: dict[str, Any]) -> int:
    """Write base + adapter over the weights of a vLLM model.

    Args:
        model: with fused modules (``FUSED``), wrapped for LoRA or not.
        folder: an adapter, in peft's form.
        base: weights before the first merge, by module; filled here, and what later ones start from.

    Returns:
        How many modules were changed.

    Raises:
        ValueError: a module of the adapter is not in the model, or its rows are not where they should be.
    """
    torch, safetensors = require("torch"), require("safetensors.torch")
    form = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    scale = float(form["lora_alpha"]) / int(form["r"])
    modules: dict[str, Any] = dict(model.named_modules())
    device = next(iter(model.parameters())).device
    found: dict[str, Any] = safetensors.load_file(folder / "adapter_model.safetensors", device=str(device))
    changes: dict[str, list[tuple[slice, Any]]] = {}
    for name in (name for name in found if name.endswith(".lora_A.weight")):
        stem = name.removesuffix(".lora_A.weight")
        place, rows = _place(stem.removeprefix("base_model.model."), modules)
        change = scale * (found[f"{stem}.lora_B.weight"].float() @ found[name].float())
        changes.setdefault(place, []).append((rows, change))
    with torch.no_grad():
        for place, parts in changes.items():
            weight = _inner(modules[place]).weight
            whole = base.setdefault(place, weight.detach().clone()).to(torch.float32, copy=True)
            for rows, change in parts:
                if whole[rows].shape != change.shape:
                    raise ValueError(f"{place}: {tuple(whole[rows].shape)} of it is not {tuple(change.shape)}")
                whole[rows] += change
            weight.copy_(whole)
    return len(changes)


def _place(name: str, modules: dict[str, Any]) -> tuple[str, slice]:
    """Where a module of peft's stands in vLLM's model: the module and its rows there."""
    if name in modules:
        return name, slice(None)
    parent, _, own = name.rpartition(".")
    for fused, members in FUSED.items():
        place = f"{parent}.{fused}"
        if own in members and place in modules:
            sizes = [int(size) for size in _inner(modules[place]).output_sizes]
            start = sum(sizes[: members.index(own)])
            return place, slice(start, start + sizes[members.index(own)])
    raise ValueError(f"the model has no {name} to merge an adapter into")


def _inner(module: Any) -> Any:
    return getattr(module, "base_layer", module)  # vLLM wraps what may get a LoRA


class VllmEngine:
    """Draws like ``sample``, with an engine of its own.

    Args:
        source: a Hugging Face directory, the trainer's base.
        folder: where adapters are written.
        merged: hand the adapter over merged; else as a LoRA (then ``rank`` is needed).
        rank: of the adapter; None: merged only.
        memory: GB for keys and values. share: of the GPU's memory that must be free when it starts.
        longest: tokens of prompt and answer. rows: sequences that are decoded together.
        more: further arguments of ``vllm.LLM``.

    Attributes:
        published: seconds that the last adapter took from the trainer's weights to the engine's.
        merged: as given; may be switched on between drawings, not off.

    Raises:
        ImportError: vLLM is not installed.
    """

    def __init__(
        self,
        source: Path,
        folder: Path,
        *,
        merged: bool = True,
        rank: int | None = None,
        memory: float = 8.0,
        share: float = 0.15,
        longest: int = 1024,
        rows: int = 512,
        **more: Any,
    ) -> None:
        self._vllm: Any = require("vllm")
        self._lora: Any = require("vllm.lora.request")
        if rank is not None:
            more |= {"enable_lora": True, "max_lora_rank": rank, "max_loras": 1}
        self._rank, self._folder, self.merged = rank, folder, merged
        self._engine: Any = self._vllm.LLM(
            str(source),
            worker_extension_cls=f"{Merging.__module__}.{Merging.__qualname__}",
            kv_cache_memory_bytes=int(memory * 1e9),
            gpu_memory_utilization=share,  # vLLM's own nine tenths are refused beside a trainer
            max_model_len=longest,
            max_num_seqs=rows,
            disable_log_stats=True,
            **more,
        )
        self._numbers = count(1)
        self._before: Path | None = None
        self._overwritten = False
        self.published = 0.0

    def __call__(
        self,
        model: LocalModel,
        prompts: Sequence[Sequence[int]],
        *,
        n: int = 1,
        max_tokens: int = 256,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> list[list[Completion]]:
        """See ``sample``; ``seed`` is not used: the engine's draws depend on its batches anyway.

        Raises:
            UsageError: bad arguments; no adapter is trained; not ``merged``, and the engine takes no LoRA.
            TrainingError: the engine could not take the adapter.
        """
        del seed
        checked(prompts, n, max_tokens, temperature)
        asked = self._vllm.SamplingParams(
            n=n, max_tokens=max_tokens, temperature=temperature, logprobs=0, flat_logprobs=True, detokenize=False
        )
        drawn = self._engine.generate(
            [{"prompt_token_ids": list(ids)} for ids in prompts],
            asked,
            lora_request=self._take(model),
            use_tqdm=False,
        )
        return [[_completion(answer) for answer in several.outputs] for several in drawn]

    def _take(self, model: LocalModel) -> Any:
        """Hand the adapter over as it is now; the request that names it, None if it is merged."""
        if model.lora is None or not (self.merged or self._rank) or (self._overwritten and not self.merged):
            raise UsageError(
                "this engine takes adapters: train a LoRA, give rank= unless it is merged, and do not go back to "
                "LoRA requests after a merge, which is in the weights"
            )
        began, number = time.perf_counter(), next(self._numbers)
        where = self._folder / f"drawn-{number}"
        model.save(where)
        request = None
        if self.merged:
            self._overwritten = True
            try:
                self._engine.collective_rpc("pointwork_merge", args=(str(where),))
            except Exception as error:  # the engine's own, of many kinds
                raise TrainingError(f"the engine could not take the adapter in {where}: {error}") from error
            self._engine.reset_prefix_cache()  # keys and values of the weights before
        else:
            request = self._lora.LoRARequest(where.name, number, str(where))
        if self._before is not None:
            shutil.rmtree(self._before, ignore_errors=True)
        self._before = where
        self.published = time.perf_counter() - began
        return request


def _completion(answer: Any) -> Completion:
    flat = answer.logprobs
    values: Iterator[float] = (flat.logprobs[start] for start in flat.start_indices)
    return Completion(tuple(answer.token_ids), tuple(values), answer.finish_reason == "stop")
