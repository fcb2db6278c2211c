"""Small policies over a fixed set of choices: the router's arms, memory's tiers. A network, trained in torch.

All choices a of a context x have an estimate R̂(a) of what they would have yielded (doubly robust from the log, or
measured), so nothing is sampled: the objective

    J = mean over x of  Σ_a π(a|x) · (R̂(a) − price(a) − b(x)),      b(x) = Σ_a π(a|x) · (R̂(a) − price(a)), detached

is differentiated exactly. It is GRPO's group (the choices of one context are the group, their mean under π the
baseline) without sampling and without the division by the group's deviation, which would amplify the noise of the
estimates (Liu et al., "Understanding R1-Zero-Like Training", 2025, section 3.1, on the same division in GRPO).

π(a|x) = softmax((q(a|x) − price(a)) / τ) with q = σ(network), as ``router.policies.neural`` serves it. So that q
stays a quality, which prices can be taken off, the cross-entropy between q and what was seen is in the loss too.

Several networks, each on a bootstrap of the contexts, are averaged in their logits: as one wider network, which is
what is written. A part of the contexts is held back for early stopping.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from pointwork.errors import UsageError
from pointwork.router.offline import enough
from pointwork.router.policies.neural import write_network

Array = npt.NDArray[np.float64]
Layers = list[tuple[Array, Array]]


@dataclass(frozen=True)
class Lessons:
    """Contexts and what is known of each choice in them; n contexts of d numbers, K choices.

    Attributes:
        names: of the choices.
        contexts: (n, d).
        seen: (n, K), the quality that was seen, 0 to 1; NaN where none was.
        worth: (n, K), R̂: the estimated quality of every choice; NaN where it could not be chosen.
        prices: (n, K), what cost takes off, in units of quality.
    """

    names: Sequence[str]
    contexts: Array
    seen: Array
    worth: Array
    prices: Array

    def __post_init__(self) -> None:
        shape = (len(self.contexts), len(self.names))
        for name in ("seen", "worth", "prices"):
            if getattr(self, name).shape != shape:
                raise UsageError(f"lessons need {name} of shape {shape}, not {getattr(self, name).shape}")

    @classmethod
    def full(cls, names: Sequence[str], contexts: Array, quality: Array, prices: Array | None = None) -> "Lessons":
        """Lessons in which every choice's quality (n, K) was measured."""
        return cls(names, contexts, quality, quality, np.zeros_like(quality) if prices is None else prices)


@dataclass(frozen=True)
class Recipe:
    """How a policy is trained. The defaults are the same for every use.

    Attributes:
        networks: that are averaged. hidden: units of each. dropout: share of units left out while training.
        epochs: at most. batch: contexts per step. rate: of AdamW. decay: its weight decay.
        temperature: τ while training, in units of quality.
        gain: weight of J beside the cross-entropy.
        held_back: part of the contexts for early stopping. patience: epochs without a better one.
        seed: of everything drawn.
    """

    networks: int = 5
    hidden: int = 64
    dropout: float = 0.3
    epochs: int = 60
    batch: int = 256
    rate: float = 2e-3
    decay: float = 1e-2
    temperature: float = 0.1
    gain: float = 1.0
    held_back: float = 0.15
    patience: int = 12
    seed: int = 0


@dataclass(frozen=True)
class Trained:
    """A trained policy.

    Attributes:
        layers: weights (inputs, outputs) and bias (outputs,) of each, ReLU between them; the last gives logits.
        names: what its outputs stand for.
        curve: per network, per epoch: (loss on what was trained, value of the policy on what was held back).
    """

    layers: Layers
    names: tuple[str, ...]
    curve: tuple[tuple[tuple[float, float], ...], ...]

    def quality(self, contexts: Array) -> Array:
        """Predicted quality (n, K) of contexts (n, d)."""
        (first, bias), (second, last) = self.layers
        logits = np.maximum(contexts @ first + bias, 0.0) @ second + last
        return 1.0 / (1.0 + np.exp(-np.clip(logits, -30, 30)))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the ``.npz`` file that the router's ``neural`` policy reads."""
        write_network(path, self.layers, self.names)


def train_policy(
    lessons: Lessons, recipe: Recipe | None = None, *, tell: Callable[[int, int], None] = lambda _done, _all: None
) -> Trained:
    """Train a policy.

    Args:
        lessons: what is known.
        recipe: how; None: the defaults.
        tell: told networks done, of how many.

    Raises:
        UsageError: too few contexts, or none of them with a quality that was seen.
    """
    recipe = recipe or Recipe()
    enough(len(lessons.contexts))
    members: list[Layers] = []
    curves: list[tuple[tuple[float, float], ...]] = []
    for number in range(recipe.networks):
        layers, curve = _Member(lessons, recipe, recipe.seed * 1000 + number).train()
        members.append(layers)
        curves.append(tuple(curve))
        tell(number + 1, recipe.networks)
    return Trained(merged(members), tuple(lessons.names), tuple(curves))


def objective(logits: torch.Tensor, worth: torch.Tensor, prices: torch.Tensor, temperature: float) -> torch.Tensor:
    """J of the module's text, per context: (n,) from three of shape (n, K); NaN in ``worth`` rules a choice out.

    Its value is 0 by construction (the baseline is π's own mean); its gradient is that of Σ π·(R̂ − price).
    """
    allowed = ~torch.isnan(worth)
    score = (torch.sigmoid(logits) - prices) / temperature
    policy = torch.softmax(score.masked_fill(~allowed, -torch.inf), dim=1)
    gained = torch.where(allowed, torch.nan_to_num(worth) - prices, 0.0)
    baseline = (policy * gained).sum(dim=1, keepdim=True).detach()
    return (policy * (gained - baseline)).sum(dim=1)


def fit(logits: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy between σ(logits) and the qualities that were seen; (n, K) each, NaN: not seen."""
    known = ~torch.isnan(seen)
    return nn.functional.binary_cross_entropy_with_logits(logits[known], seen[known])


class _Member:
    """One network."""

    def __init__(self, lessons: Lessons, recipe: Recipe, seed: int) -> None:
        self.recipe, self.rng = recipe, np.random.default_rng(seed)
        self.generator = torch.Generator().manual_seed(seed)
        order = self.rng.permutation(len(lessons.contexts))
        held = max(1, int(recipe.held_back * len(order)))
        self.held, rest = order[:held], order[held:]
        self.rows = self.rng.choice(rest, len(rest)) if recipe.networks > 1 else rest
        x = lessons.contexts[self.rows]
        self.mean, self.scale = x.mean(axis=0), x.std(axis=0) + 1e-6
        values = ((lessons.contexts - self.mean) / self.scale, lessons.seen, lessons.worth, lessons.prices)
        self.x, self.seen, self.worth, self.prices = (torch.tensor(v, dtype=torch.float32) for v in values)
        if not (~torch.isnan(self.seen[self.rows])).any():
            raise UsageError("no outcome of any choice was seen: there is nothing to learn from")
        self._build(lessons)

    def _build(self, lessons: Lessons) -> None:
        d, k, h = lessons.contexts.shape[1], len(lessons.names), self.recipe.hidden
        seen = lessons.seen[self.rows]
        counts = np.maximum((~np.isnan(seen)).sum(axis=0), 1)
        usual = np.clip(np.nansum(seen, axis=0) / counts, 0.02, 0.98)

        def drawn(inputs: int, outputs: int) -> nn.Parameter:
            bound = inputs**-0.5
            weights = torch.rand((inputs, outputs), generator=self.generator) * 2 * bound - bound
            return nn.Parameter(weights)

        self.parameters = [
            drawn(d, h),
            nn.Parameter(torch.zeros(h)),
            drawn(h, k),
            nn.Parameter(torch.tensor(np.log(usual / (1 - usual)), dtype=torch.float32)),
        ]

    def _logits(self, x: torch.Tensor, *, dropping: bool) -> torch.Tensor:
        first, bias, second, last = self.parameters
        hidden = torch.relu(x @ first + bias)
        if dropping and self.recipe.dropout:
            kept = torch.rand(hidden.shape, generator=self.generator) >= self.recipe.dropout
            hidden = hidden * kept / (1.0 - self.recipe.dropout)
        return hidden @ second + last

    def train(self) -> tuple[Layers, list[tuple[float, float]]]:
        recipe, curve = self.recipe, list[tuple[float, float]]()
        adam = torch.optim.AdamW(self.parameters, lr=recipe.rate, weight_decay=recipe.decay)
        best, kept, since = -np.inf, self._layers(), 0
        for _ in range(recipe.epochs):
            losses: list[float] = []
            order = self.rng.permutation(self.rows)
            for start in range(0, len(order), recipe.batch):
                batch = torch.tensor(order[start : start + recipe.batch])
                logits = self._logits(self.x[batch], dropping=True)
                gain = objective(logits, self.worth[batch], self.prices[batch], recipe.temperature).mean()
                loss = fit(logits, self.seen[batch]) - recipe.gain * gain
                adam.zero_grad()
                loss.backward()  # pyright: ignore[reportUnknownMemberType]
                adam.step()  # pyright: ignore[reportUnknownMemberType]
                losses.append(float(loss.detach()))
            value = self._value()
            curve.append((float(np.mean(losses)), value))
            since += 1
            if value > best:
                best, kept, since = value, self._layers(), 0
            if since >= recipe.patience:
                break
        return kept, curve

    def _value(self) -> float:
        """On what is held back: the greedy policy's R̂ less price, less the cross-entropy of its predictions."""
        with torch.no_grad():
            logits = self._logits(self.x[self.held], dropping=False)
            worth, prices, seen = self.worth[self.held], self.prices[self.held], self.seen[self.held]
            score = (torch.sigmoid(logits) - prices).masked_fill(torch.isnan(worth), -torch.inf)
            chosen = score.argmax(dim=1, keepdim=True)
            gained = float((torch.nan_to_num(worth) - prices).gather(1, chosen).mean())
            return gained - (float(fit(logits, seen)) if bool((~torch.isnan(seen)).any()) else 0.0)

    def _layers(self) -> Layers:
        """Weights and biases for contexts as they come: the scaling of the inputs is in the first layer."""
        first, bias, second, last = (p.detach().numpy().astype(np.float64) for p in self.parameters)
        scaled = first / self.scale[:, None]
        return [(scaled, bias - self.mean @ scaled), (second.copy(), last.copy())]


def merged(members: Sequence[Layers]) -> Layers:
    """One network whose logits are the mean of those of several with one hidden layer each."""
    first: list[Any] = [np.concatenate([m[0][part] for m in members], axis=-1) for part in (0, 1)]
    second = np.concatenate([m[1][0] for m in members], axis=0) / len(members)
    return [(first[0], first[1]), (second, np.mean([m[1][1] for m in members], axis=0))]
