"""Generation inside this process, in batches, with what training needs: token ids and their log-probabilities.

For rollouts on the CPU and for held-out evaluation; with a GPU, vLLM is faster (``served``, a ``Sampler`` too). A
prompt is computed once, however many answers are drawn, and rows that have ended leave the batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from pointwork.errors import UsageError
from pointwork.extras import require
from pointwork.training.model import LocalModel
from pointwork.training.tensors import floats, integers


@dataclass(frozen=True)
class Completion:
    """What the model wrote.

    Attributes:
        ids: token ids, the one that ended it included.
        logprobs: (nat) of ``ids`` under the distribution that they were drawn from; greedy: at temperature 1.
        ended: whether it ended by itself; False: ``max_tokens`` cut it off.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    ended: bool


class Sampler(Protocol):
    """What ``sample`` does, here or elsewhere."""

    def __call__(
        self,
        model: LocalModel,
        prompts: Sequence[Sequence[int]],
        *,
        n: int = 1,
        max_tokens: int = 256,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> list[list[Completion]]: ...


def sample(
    model: LocalModel,
    prompts: Sequence[Sequence[int]],
    *,
    n: int = 1,
    max_tokens: int = 256,
    temperature: float = 1.0,
    seed: int = 0,
    rows: int = 64,
) -> list[list[Completion]]:
    """Draw ``n`` completions of each prompt. The same arguments and weights give the same completions.

    Args:
        model: asked with its present weights.
        prompts: token ids of each, not empty.
        n: completions of each prompt.
        max_tokens: longest completion.
        temperature: ≥ 0; 0 takes the likeliest token.
        seed: of the draws.
        rows: sequences that are decoded together.

    Returns:
        By prompt, ``n`` completions.

    Raises:
        UsageError: an empty prompt, a negative temperature, or a count below 1.
    """
    checked(prompts, n, max_tokens, temperature)
    generator = torch.Generator(device=model.device)
    generator.manual_seed(seed)
    found: list[list[Completion]] = [[] for _ in prompts]
    # Prompts of like length stand together: less padding.
    order = sorted(range(len(prompts)), key=lambda place: len(prompts[place]))
    at_once = max(1, rows // n)
    # A compiled model's graphs are for scoring: with a cache that grows by a token each would be another.
    with torch.compiler.set_stance("force_eager"), torch.no_grad(), model.autocast():
        for start in range(0, len(order), at_once):
            places = order[start : start + at_once]
            drawn = _Decoding(model, [prompts[place] for place in places], n, temperature, generator).run(
                max_tokens
            )
            for place, several in zip(places, drawn, strict=True):
                found[place] = several
    return found


def checked(prompts: Sequence[Sequence[int]], n: int, max_tokens: int, temperature: float) -> None:
    """Raises:
    UsageError: an empty prompt, a negative temperature, or a count below 1.
    """
    if temperature < 0 or n < 1 or max_tokens < 1 or any(not prompt for prompt in prompts):
        raise UsageError("sampling needs prompts with tokens, n and max_tokens from 1, and a temperature from 0")


class _Decoding:
    """One batch: a prefill of the distinct prompts, then a token for every living row at a time."""

    def __init__(
        self,
        model: LocalModel,
        prompts: Sequence[Sequence[int]],
        n: int,
        temperature: float,
        generator: torch.Generator,
    ) -> None:
        self._model, self._n, self._temperature, self._generator = model, n, temperature, generator
        self._stops = torch.tensor(sorted(model.stop_ids), dtype=torch.long, device=model.device)
        transformers: Any = require("transformers")
        self._cache = transformers.DynamicCache(config=model.causal.config)
        longest = max(len(prompt) for prompt in prompts)
        device = model.device
        # Padding stands on the left, so that all rows go on at the same column.
        ids = torch.tensor([[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts], device=device)
        lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
        self._mask = (torch.arange(longest, device=device)[None] >= (longest - lengths)[:, None]).long()
        positions = (self._mask.cumsum(-1) - 1).clamp(min=0)
        self._logits = self._forward(ids, positions)
        self._positions = lengths
        if n > 1:
            self._cache.batch_repeat_interleave(n)
            self._logits = self._logits.repeat_interleave(n, 0)
            self._mask = self._mask.repeat_interleave(n, 0)
            self._positions = self._positions.repeat_interleave(n, 0)
        self._count = len(prompts) * n

    def _forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        causal = self._model.causal
        states = causal.get_decoder()(
            input_ids=ids,
            attention_mask=self._mask,
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
        ).last_hidden_state
        return causal.get_output_embeddings()(states[:, -1]).float()

    def run(self, max_tokens: int) -> list[list[Completion]]:
        ids: list[list[int]] = [[] for _ in range(self._count)]
        logprobs: list[list[float]] = [[] for _ in range(self._count)]
        ended = [False] * self._count
        alive = list(range(self._count))
        for step in range(max_tokens):
            tokens, values = self._draw()
            stopped = torch.isin(tokens, self._stops)
            for row, token, value, stop in zip(
                alive, integers(tokens), floats(values), integers(stopped), strict=True
            ):
                ids[row].append(token)
                logprobs[row].append(value)
                ended[row] = bool(stop)
            if step + 1 == max_tokens:
                break
            going = [place for place, row in enumerate(alive) if not ended[row]]
            if not going:
                break
            if len(going) < len(alive):
                tokens = self._keep(tokens, going)
                alive = [alive[place] for place in going]
            self._mask = torch.cat([self._mask, self._mask.new_ones(len(alive), 1)], 1)
            self._logits = self._forward(tokens[:, None], self._positions[:, None])
            self._positions = self._positions + 1
        made = [Completion(tuple(a), tuple(b), c) for a, b, c in zip(ids, logprobs, ended, strict=True)]
        return [made[start : start + self._n] for start in range(0, self._count, self._n)]

    def _keep(self, tokens: Tensor, going: list[int]) -> Tensor:
        chosen = torch.tensor(going, device=tokens.device)
        self._cache.batch_select_indices(chosen)
        self._mask, self._positions = self._mask[chosen], self._positions[chosen]
        return tokens[chosen]

    def _draw(self) -> tuple[Tensor, Tensor]:
        """A token and its log-probability for every living row."""
        scores = torch.log_softmax(self._logits / (self._temperature or 1.0), -1)
        if self._temperature == 0:
            tokens = scores.argmax(-1)
        else:
            tokens = torch.multinomial(scores.exp(), 1, generator=self._generator).squeeze(-1)
        return tokens, scores.gather(-1, tokens[:, None]).squeeze(-1)
