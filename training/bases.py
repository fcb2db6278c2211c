"""Where base models come from: Hugging Face directories, GGUF files, and tiny ones made on the spot."""

import hashlib
import os
import shutil
import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from pointwork.errors import TrainingError, UsageError
from pointwork.extras import require
from pointwork.models import weights as files
from pointwork.training.origins import EMBEDDED
from pointwork.training.tensors import broken_file, seeded, write_safetensors


def tiny_llama(
    vocabulary: int, *, hidden: int = 64, layers: int = 2, heads: int = 4, positions: int = 1024, seed: int = 0
) -> Any:
    """An untrained Llama for tests and for experiments with an alphabet of their own."""
    transformers: Any = require("transformers")
    config = transformers.LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=max(1, heads // 2),
        max_position_embeddings=positions,
        bos_token_id=None,
        eos_token_id=None,
        tie_word_embeddings=True,
    )
    with seeded(seed):
        return transformers.LlamaForCausalLM(config)


def directory_of(source: str | Path) -> Path:
    """The Hugging Face directory of these weights; a GGUF file is converted once, into the cache.

    Raises:
        UsageError: there are no such weights.
    """
    if str(source) == EMBEDDED:
        return _converted(files.ensure(), files.SMOLLM2_135M.sha256)
    path = Path(source).expanduser()
    if path.is_dir():
        return path
    if path.suffix == ".gguf" and path.is_file():
        with path.open("rb") as stream:
            return _converted(path, hashlib.file_digest(stream, "sha256").hexdigest())
    raise UsageError(f"no model at {path}: give a Hugging Face directory, a .gguf file, or {EMBEDDED!r}")


def _converted(file: Path, sha256: str) -> Path:
    target = files.models_dir() / f"hf-{file.stem}-{sha256[:12]}"
    if target.is_dir():
        return target
    require("gguf")
    transformers: Any = require("transformers")
    files.models_dir().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".pull-", dir=files.models_dir()) as temp:
        made = Path(temp) / "hf"
        try:
            with quiet():
                module = transformers.AutoModelForCausalLM.from_pretrained(
                    file.parent, gguf_file=file.name, dtype=torch.bfloat16
                )
                tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
                _write_plain(module, made)
                tokenizer.save_pretrained(made)
        except (OSError, ValueError, KeyError) as error:
            raise TrainingError(f"{file} can not be converted: {error}") from error
        try:
            os.rename(made, target)
        except OSError:  # another process was faster
            if not target.is_dir():
                raise
            shutil.rmtree(made, ignore_errors=True)
    return target


def _write_plain(module: Any, folder: Path) -> None:
    """A model out of a GGUF file as bf16. Its own ``save_pretrained`` takes it for quantised still, and refuses."""
    folder.mkdir()
    if hasattr(module.config, "quantization_config"):
        del module.config.quantization_config
    inputs, outputs = module.get_input_embeddings().weight, module.get_output_embeddings().weight
    tied = inputs.data_ptr() == outputs.data_ptr()
    module.config.tie_word_embeddings = tied
    module.config.architectures = [type(module).__name__]
    state = {
        name: value.to(torch.bfloat16).contiguous().clone()
        for name, value in module.state_dict().items()
        if not (tied and name == "lm_head.weight")
    }
    write_safetensors(state, folder / "model.safetensors")
    module.config.save_pretrained(folder)
    if module.generation_config is not None:
        module.generation_config.save_pretrained(folder)


@contextmanager
def reading(folder: Path, what: str = "the model") -> Generator[None, None, None]:
    """Whatever is wrong with the files of a model, as a ``TrainingError``."""
    try:
        with quiet():
            yield
    except (OSError, ValueError, LookupError, TypeError, RuntimeError, broken_file()) as error:
        raise TrainingError(f"{what} in {folder} can not be read: {error}") from error


@contextmanager
def quiet() -> Generator[None, None, None]:
    """No progress bars and advice from transformers and peft between ours."""
    logging: Any = require("transformers").utils.logging
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        logging.enable_progress_bar()
