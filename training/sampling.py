"""Generation inside this process, in batches, with what training needs: token ids and their log-probabilities.

For rollouts beside the trainer and for held-out evaluation; others are by a vLLM server (``served``) or by vLLM in
this process (``engine``), both ``Sampler`` too. A prompt is computed once, however many answers are drawn. On the
CPU, rows that have ended leave the batch; on a GPU a captured graph draws for all of them (``fused``).
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from pointwork.errors import UsageError
from pointwork.training.fused import Fused, understood
from pointwork.training.model import LocalModel
from pointwork.training.prefill import Prefill
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


# A model's buffers are one set, and whether compiled layers are used is the process' affair.
_one_at_a_time = threading.Lock()


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
    fused: bool | None = None,
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
        fused: by merged weights and a captured graph (``fused``); None: on a GPU, where the model is of that form.

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
    if fused is None:
        fused = model.device.type == "cuda" and understood(model)
    with _one_at_a_time, model.as_written(), torch.no_grad():
        engine = Fused.of(model) if fused else None
        for start in range(0, len(order), at_once):
            places = order[start : start + at_once]
            with model.autocast():
                prefill = Prefill(model, [prompts[place] for place in places], n)
                if engine is None:
                    drawn = _Decoding(prefill, model.stop_ids, temperature, generator).run(max_tokens)
                else:
                    drawn = engine.run(prefill, max_tokens, temperature, generator)
            made = [Completion(tuple(ids), tuple(logprobs), ended) for ids, logprobs, ended in drawn]
            for number, place in enumerate(places):
                found[place] = made[number * n : (number + 1) * n]
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
        self, found: Prefill, stops: frozenset[int], temperature: float, generator: torch.Generator
    ) -> None:
        self._found, self._temperature, self._generator = found, temperature, generator
        self._stops = torch.tensor(sorted(stops), dtype=torch.long, device=found.mask.device)
        self._logits, self._positions = found.logits, found.lengths
        self._count = len(found.lengths)

    def run(self, max_tokens: int) -> list[tuple[list[int], list[float], bool]]:
        ids: list[list[int]] = [[] for _ in range(self._count)]
        logprobs: list[list[float]] = [[] for _ in range(self._count)]
        ended = [False] * self._count
        alive = list(range(self._count))
        found = self._found
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
            found.mask = torch.cat([found.mask, found.mask.new_ones(len(alive), 1)], 1)
            self._logits = found.forward(tokens[:, None], self._positions[:, None])
            self._positions = self._positions + 1
        return list(zip(ids, logprobs, ended, strict=True))

    def _keep(self, tokens: Tensor, going: list[int]) -> Tensor:
        chosen = torch.tensor(going, device=tokens.device)
        self._found.cache.batch_select_indices(chosen)
        self._found.mask, self._positions = self._found.mask[chosen], self._positions[chosen]
        return tokens[chosen]

    def _draw(self) -> tuple[Tensor, Tensor]:
        """A token and its log-probability for every living row."""
        scores = torch.log_softmax(self._logits / (self._temperature or 1.0), -1)
        if self._temperature == 0:
            tokens = scores.argmax(-1)
        else:
            tokens = torch.multinomial(scores.exp(), 1, generator=self._generator).squeeze(-1)
        return tokens, scores.gather(-1, tokens[:, None]).squeeze(-1)
