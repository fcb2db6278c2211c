"""A causal language model that is trained here: transformers' (with an adapter of peft's: ``lora``).

Loads a Hugging Face directory, or a GGUF file (the embedded model too), which is dequantised once into such a
directory in the user's cache. On a GPU it computes in bf16, on the CPU in fp32 unless asked; LoRA and optimiser are
fp32 always.
"""

import hashlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pointwork.errors import TrainingError, UsageError
from pointwork.extras import require
from pointwork.models import weights as files
from pointwork.training.bases import EMBEDDED, directory_of, quiet, reading
from pointwork.training.lora import Lora, external, internal, lora_of, with_adapter
from pointwork.training.packing import Batch, Sample, pack
from pointwork.training.tensors import (
    broken_file,
    floats,
    integers,
    read_safetensors,
    recomputed,
    write_safetensors,
)

# Trained tokens whose logits are held at a time, by device: 512 × 49,152 in fp32 are 0.1 GB, and the backward pass
# wants that several times.
CHUNK = {"cuda": 512, "cpu": 128}


@dataclass
class Scores:
    """Log-probability (nat) and entropy (nat, without gradient) at each trained token of a batch: (T,) each."""

    logprobs: Tensor
    entropy: Tensor


class LocalModel:
    """A causal language model, its tokenizer, and what of it is trained.

    Args:
        module: a transformers causal model; wrapped by peft if ``lora`` is given and it is not.
        tokenizer: a transformers tokenizer, or None if token ids are made elsewhere.
        name: of the base, as it stands in adapters and checkpoints.
        lora: train an adapter only; None trains all weights.
        device: where; None takes a GPU if there is one.
        seed: of the adapter's first values.
        bf16: compute in it; None: on a GPU.

    Attributes:
        name, lora, tokenizer, device: as given.
        stop_ids: tokens that end an answer.
        fingerprint: tells one base from another.
    """

    def __init__(
        self,
        module: Any,
        tokenizer: Any = None,
        *,
        name: str = "model",
        lora: Lora | None = None,
        device: str | None = None,
        seed: int = 0,
        bf16: bool | None = None,
    ) -> None:
        self.name, self.lora, self.tokenizer = name, lora, tokenizer
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._bf16 = self.device.type == "cuda" if bf16 is None else bf16
        self.stop_ids = _stop_ids(module, tokenizer)
        self.fingerprint = _fingerprint(module)
        self.module: Any = with_adapter(module, lora, name, seed) if lora else module
        self.module.to(self.device).eval()  # no dropout: a score is a function of weights and tokens alone
        self._reference: list[Tensor] | None = None
        self._compiled = False

    @classmethod
    def load(
        cls,
        source: str | Path = EMBEDDED,
        *,
        lora: Lora | None = None,
        adapter: str | Path | None = None,
        device: str | None = None,
        seed: int = 0,
        bf16: bool | None = None,
    ) -> "LocalModel":
        """Load weights.

        Args:
            source: a Hugging Face directory, a ``.gguf`` file, or ``embedded``.
            lora: train an adapter of this form; None trains all weights.
            adapter: directory of an adapter to go on from; its form is taken if ``lora`` is None.
            device: ``cpu``, ``cuda`` …; None takes a GPU if there is one.
            seed: of a new adapter's first values.
            bf16: compute in it; None: on a GPU. Where ``native_bf16`` adapters train twice as fast.

        Raises:
            UsageError: there are no such weights.
            TrainingError: they can not be read.
        """
        folder = directory_of(source)
        transformers: Any = require("transformers")
        chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        if adapter is not None and lora is None:
            lora = lora_of(Path(adapter))
        # With an adapter the base is frozen and may be bf16; weights that are trained are kept in fp32.
        half = chosen.type == "cuda" if bf16 is None else bf16
        dtype = torch.bfloat16 if lora and half else torch.float32
        with reading(folder):
            module = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        name = files.SMOLLM2_135M.name if str(source) == EMBEDDED else Path(source).stem
        model = cls(module, tokenizer, name=name, lora=lora, device=str(chosen), seed=seed, bf16=half)
        if adapter is not None:
            model.restore(Path(adapter))
        return model

    # text and tokens

    def chat_ids(self, messages: Sequence[Mapping[str, Any]], *, generation: bool = True) -> tuple[int, ...]:
        """Token ids of a chat in the model's own template; ``generation`` adds the head of the next answer."""
        if self.tokenizer is None:
            raise UsageError(f"the model {self.name} has no tokenizer")
        ids = self.tokenizer.apply_chat_template(
            [dict(message) for message in messages], add_generation_prompt=generation, return_dict=True
        )
        return tuple(int(token) for token in ids["input_ids"])

    def sample_of(self, messages: Sequence[Mapping[str, Any]], advantage: float = 1.0) -> Sample:
        """A chat as something to train on: its last message is what should be written.

        Raises:
            UsageError: the template does not put the last message behind the head of an answer.
        """
        prompt = self.chat_ids(messages[:-1])
        whole = self.chat_ids(messages, generation=False)
        if whole[: len(prompt)] != prompt or messages[-1].get("role") != "assistant":
            raise UsageError(
                f"the last message of an example must be the assistant's, and the template of {self.name} must put "
                "it behind the head that it writes for an answer"
            )
        rest = whole[len(prompt) :]
        ends = [place for place, token in enumerate(rest) if token in self.stop_ids]
        # What a template writes after the end of the turn (a newline) the model never has to write.
        return Sample(prompt, rest[: ends[-1] + 1] if ends else rest, advantage)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of token ids, without special tokens."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    # numbers

    @property
    def causal(self) -> Any:
        """The transformers model, its adapter in place."""
        return self.module.get_base_model() if self.lora else self.module

    @property
    def vocabulary(self) -> int:
        """Number of token ids that the model can give a probability to."""
        return int(self.causal.get_output_embeddings().weight.shape[0])

    @property
    def computes_in(self) -> torch.dtype:
        """The type of its products."""
        return torch.bfloat16 if self._bf16 else torch.float32

    def autocast(self) -> Any:
        """bf16 arithmetic, if it computes in it.

        Never around a step of the optimiser: within one such context weights are cast once, and stay as they were.
        """
        return torch.autocast(self.device.type, dtype=torch.bfloat16) if self._bf16 else nullcontext()

    def score(self, batch: Batch, *, temperature: float = 1.0) -> Scores:
        """Log-probabilities of the trained tokens of a batch, with gradient where it is on.

        Args:
            batch: of ``pack``.
            temperature: > 0, divides the logits: that of the sampling.
        """
        batch = batch.to(self.device)
        with self.autocast():
            states = self.causal.get_decoder()(
                input_ids=batch.ids, position_ids=batch.positions, attention_mask=batch.mask(), use_cache=False
            ).last_hidden_state
            states = states.reshape(-1, states.shape[-1])[batch.source]
            head = self.causal.get_output_embeddings()
            parts: list[tuple[Tensor, Tensor]] = []
            size = CHUNK.get(self.device.type, 128)
            for start in range(0, len(batch.targets), size):
                inputs = (states[start : start + size], head, batch.targets[start : start + size], temperature)
                several = len(batch.targets) > size and torch.is_grad_enabled()
                # The logits are by far the largest tensor of a small model: remade in the backward pass.
                parts.append(recomputed(_token_scores, *inputs) if several else _token_scores(*inputs))
        logprobs, entropy = zip(*parts, strict=True)
        return Scores(torch.cat(logprobs), torch.cat(entropy))

    def logprobs(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], *, temperature: float = 1.0, budget: int = 8192
    ) -> list[list[float]]:
        """Log-probabilities (nat) of the tokens of each completion after its prompt, in the order given."""
        samples = [Sample(tuple(prompt), tuple(completion)) for prompt, completion in pairs]
        found: list[list[float]] = [[0.0] * len(sample.completion_ids) for sample in samples]
        with torch.no_grad():
            for batch in pack(samples, budget=budget):
                values = floats(self.score(batch, temperature=temperature).logprobs)
                owners, places = integers(batch.sequence), integers(batch.places)
                for value, owner, place in zip(values, owners, places, strict=True):
                    found[batch.members[owner]][place] = value
        return found

    def compile(self) -> None:
        """Compile the decoder's layers as they score; the first batch takes a minute.

        All layers share their graphs: some three for each kind of batch (one row or several, masked, with
        gradient). Small kernels are what a small model's step waits for on a GPU: fused, there are a few times
        fewer. What the compiler can not do is computed as before.
        """
        from torch import _dynamo

        dynamo: Any = _dynamo
        dynamo.config.suppress_errors = True
        # Kinds of batches that come after so many graphs would stay slow.
        dynamo.config.recompile_limit = max(64, dynamo.config.recompile_limit)
        for layer in getattr(self.causal.get_decoder(), "layers", ()):
            layer.compile(dynamic=True)
        self._compiled = True

    def as_written(self) -> AbstractContextManager[Any]:
        """Not by compiled layers for the time of a with-block.

        Their graphs are for scoring: with a cache that grows by a token each step of a drawing would be another.
        """
        return torch.compiler.set_stance("force_eager") if self._compiled else nullcontext()

    # weights

    def trained(self) -> dict[str, Tensor]:
        """The weights that are trained, by name."""
        return {name: value for name, value in self.module.named_parameters() if value.requires_grad}

    def keep_reference(self) -> None:
        """Remember the trained weights as they are now as the reference of a KL term."""
        self._reference = [value.detach().clone() for value in self.trained().values()]

    @contextmanager
    def as_reference(self) -> Generator[None, None, None]:
        """The weights of ``keep_reference`` for the time of a with-block. No gradient may be in the making."""
        if self._reference is None:
            raise UsageError("there is no reference: call keep_reference first")
        values = list(self.trained().values())
        now = [value.detach().clone() for value in values]
        with torch.no_grad():
            _copy(self._reference, values)
            try:
                yield
            finally:
                _copy(now, values)

    def save(self, folder: Path) -> None:
        """Write the adapter (peft's format) or, if all weights are trained, the model (Hugging Face's)."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.lora:
            # As peft's save_pretrained, but for the template of a model card, in a third of the time: a trainer
            # beside its engine saves before each drawing.
            config = copy(self.module.peft_config["default"])
            config.inference_mode = True
            config.save_pretrained(folder)
            values = {external(name): value.detach().cpu() for name, value in self.trained().items()}
            write_safetensors(values, folder / "adapter_model.safetensors")
            return
        with quiet():
            self.module.save_pretrained(folder)
            if self.tokenizer is not None:
                self.tokenizer.save_pretrained(folder)

    def restore(self, folder: Path) -> None:
        """Take the trained weights from what ``save`` wrote.

        Raises:
            TrainingError: they are not there, or of another form.
        """
        file = folder / ("adapter_model.safetensors" if self.lora else "model.safetensors")
        if not file.is_file():
            raise TrainingError(f"there are no weights in {folder}: {file.name} is missing")
        try:
            found = read_safetensors(file)
        except (OSError, broken_file()) as error:
            raise TrainingError(f"the weights {file} can not be read: {error}; copy or save them again") from error
        if self.lora:
            found = {internal(name): value for name, value in found.items()}
        wanted = self.trained()
        shapes = {name: tuple(value.shape) for name, value in wanted.items()}
        if shapes != {name: tuple(value.shape) for name, value in found.items()}:
            raise TrainingError(
                f"the weights in {folder} are of another model or adapter than {self.name}, {self.lora}"
            )
        with torch.no_grad():
            for name, value in wanted.items():
                value.copy_(found[name])


def _copy(sources: Sequence[Tensor], targets: Sequence[Tensor]) -> None:
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)


def _token_scores(states: Tensor, head: Any, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    logits = head(states).float() / temperature
    normaliser = logits.logsumexp(-1)
    with torch.no_grad():
        entropy = normaliser - (torch.softmax(logits, -1) * logits).sum(-1)
    return logits.gather(-1, targets[:, None]).squeeze(-1) - normaliser, entropy


def native_bf16() -> bool:
    """Whether this processor computes in bf16 itself."""
    able: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16"))


def _stop_ids(module: Any, tokenizer: Any) -> frozenset[int]:
    found: set[int] = set()
    for holder in (getattr(module, "generation_config", None), tokenizer):
        value: Any = getattr(holder, "eos_token_id", None)
        several = list(value) if hasattr(value, "__iter__") else [value]
        found |= {int(one) for one in several if one is not None}
    return frozenset(found)


def _fingerprint(module: Any) -> str:
    digest = hashlib.sha256()
    for name, value in module.named_parameters():
        digest.update(f"{name}{tuple(value.shape)}".encode())
        digest.update(value.detach().flatten()[:64].float().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]
