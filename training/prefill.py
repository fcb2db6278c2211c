"""What prompts leave behind before the first token is drawn: keys, values, and the scores of that token."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from pointwork.extras import require
from pointwork.training.model import LocalModel


class Prefill:
    """Prompts, each computed once and then standing there ``n`` times; in a with-block without gradients.

    Args:
        model: asked with its present weights.
        prompts: token ids of each, not empty.
        n: rows of each.

    Attributes:
        cache: transformers' cache. logits: (rows, vocabulary) of the first token.
        mask: (rows, longest) 0 where padding stands, on the left, so that all rows go on at the same column.
        lengths: (rows,) tokens of each prompt.
    """

    def __init__(self, model: LocalModel, prompts: Sequence[Sequence[int]], n: int) -> None:
        transformers: Any = require("transformers")
        self._causal = model.causal
        self.cache: Any = transformers.DynamicCache(config=model.causal.config)
        longest = max(len(prompt) for prompt in prompts)
        ids = torch.tensor(
            [[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts], device=model.device
        )
        self.lengths = torch.tensor([len(prompt) for prompt in prompts], device=model.device)
        places = torch.arange(longest, device=model.device)[None]
        self.mask = (places >= (longest - self.lengths)[:, None]).long()
        self.logits = self.forward(ids, (self.mask.cumsum(-1) - 1).clamp(min=0))
        if n > 1:
            self.cache.batch_repeat_interleave(n)
            self.logits = self.logits.repeat_interleave(n, 0)
            self.mask = self.mask.repeat_interleave(n, 0)
            self.lengths = self.lengths.repeat_interleave(n, 0)

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Logits (fp32) after further tokens, (rows, count) both."""
        states = self._causal.get_decoder()(
            input_ids=ids,
            attention_mask=self.mask,
            position_ids=positions,
            past_key_values=self.cache,
            use_cache=True,
        ).last_hidden_state
        return self._causal.get_output_embeddings()(states[:, -1]).float()

    def release(self) -> None:
        """Give keys and values back, once somebody has copied them."""
        self.cache = None

    def layers(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Keys and values of each layer: (rows, heads that hold them, longest, width)."""
        for layer in self.cache.layers:
            yield layer.keys, layer.values
