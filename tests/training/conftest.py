"""A tiny language model for tests that train: two layers, an alphabet of its own. Needs torch, asked for lazily."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WORDS = ["<end>", "<user>", "<assistant>", "<system>", *"abcdefghijklmnopqrstuvwxyz0123456789 .,:{}\"'-_?+="]
TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}<end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture
def tiny() -> "Callable[..., Any]":
    """Makes ``LocalModel``s without a tokenizer: ``tiny(vocabulary=32, lora=…, seed=…)``."""
    pytest.importorskip("torch")
    from pointwork.training.bases import tiny_llama
    from pointwork.training.model import LocalModel

    def make(vocabulary: int = 32, *, lora: Any = None, seed: int = 0, **form: int) -> LocalModel:
        module = tiny_llama(vocabulary, seed=seed, **form)
        return LocalModel(module, name="tiny", lora=lora, device="cpu", seed=seed)

    return make


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Hugging Face directory: a tiny Llama and a tokenizer of single characters, with a chat template."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    from pointwork.training.bases import tiny_llama

    folder = tmp_path_factory.mktemp("tiny") / "tiny-chat"
    vocabulary = {word: place for place, word in enumerate(WORDS)}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")  # pyright: ignore[reportAttributeAccessIssue]
    inner.decoder = decoders.Fuse()  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token="<end>", additional_special_tokens=["<user>", "<assistant>", "<system>"]
    )
    tokenizer.chat_template = TEMPLATE
    module = tiny_llama(len(WORDS), hidden=64, layers=2)
    module.generation_config.eos_token_id = 0
    module.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
