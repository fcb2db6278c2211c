"""A tier policy that learns from outcomes which tiers a question deserves.

The choices of tiers (*arms*) stand in the order of what they cost. For each and the one before it a ridge
regression from what is known before recall (the question's words and kind, how much there is to search) to what
the dearer one adds to the quality that recall reaches, its strength chosen by leaving one question out (PRESS;
Allen 1974). So where nothing tells which questions gain from a step, the step is weighed by its mean gain, and
choices that can be told from each other are not spoilt by the noise of those that can not. Chosen is the arm of
the best sum of gains minus ``price`` times its mean cost, among those that can work here. What is known before
recall is the question, the budget, and a glance at what its words find (``policy.Glance``): whether Low would do
shows there more than in the question. Trained offline, from questions that were asked at all arms; it goes live
only if ``gate`` says so: on later questions, the paired difference to the static policy must be positive at a
one-sided 99 % bootstrap bound, as the router's versions must.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwork.errors import UsageError
from pointwork.memory.modules import Module
from pointwork.memory.policy import Glance, TierRequest
from pointwork.text import tokenize

ARMS: Mapping[str, Mapping[str, str]] = {
    "low": dict.fromkeys(("filter", "entity", "temporal", "topic", "summary"), "low"),
    "mid without topic": {"filter": "mid", "entity": "mid", "temporal": "mid", "topic": "low", "summary": "mid"},
    "mid": dict.fromkeys(("filter", "entity", "temporal", "topic", "summary"), "mid"),
    "high": {"filter": "high", "entity": "mid", "temporal": "mid", "topic": "high", "summary": "mid"},
}
_KINDS = ("when", "where", "who", "what", "how", "why", "which", "would", "did", "and", "same")
_RIDGES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e5)  # the last leaves nothing but the mean
LEAST = 100  # questions asked at an arm; with fewer there is nothing to learn from


def usable(available: Mapping[Module, Sequence[str]]) -> tuple[str, ...]:
    """The arms all of whose tiers are there, cheapest first."""
    there = {module: set(tiers) for module, tiers in available.items()}
    return tuple(
        arm for arm, tiers in ARMS.items() if all(tier in there[m] for m, tier in tiers.items() if m in there)
    )


@dataclass(frozen=True, slots=True)
class Measured:
    """A question with what each arm found of its answer (0 to 1), and its seconds of processor time."""

    request: TierRequest
    quality: Mapping[str, float]
    seconds: Mapping[str, float]


class LearnedTiers:
    """See the module.

    Args:
        gains: arm -> weights of what it adds to the arm before it, shape (CONTEXT,), the cheapest arm first.
        seconds: arm -> mean seconds.
        price: of a second, in quality.
    """

    def __init__(
        self, gains: Mapping[str, NDArray[np.float64]], seconds: Mapping[str, float], price: float
    ) -> None:
        self._gains = dict(gains)
        self._seconds = dict(seconds)
        self.price = price

    @classmethod
    def trained(cls, rows: Sequence[Measured], price: float) -> "LearnedTiers":
        """Learn from questions that were asked at several arms; arms with too few are never chosen.

        Raises:
            UsageError: no arm has enough.
        """
        gains: dict[str, NDArray[np.float64]] = {}
        seconds: dict[str, float] = {}
        contexts = np.array([context(row.request) for row in rows]).reshape(len(rows), CONTEXT)
        for arm in ARMS:
            before = next(reversed(gains), None)
            both = [n for n, row in enumerate(rows) if arm in row.quality and (not before or before in row.quality)]
            if len(both) < LEAST:
                continue
            added = [rows[n].quality[arm] - (rows[n].quality[before] if before else 0.0) for n in both]
            gains[arm] = _ridge(contexts[both], np.array(added))
            seconds[arm] = float(np.mean([rows[n].seconds[arm] for n in both]))
        if not gains:
            raise UsageError(
                f"a tier policy needs at least {LEAST} questions asked at an arm; there are {len(rows)} in all"
            )
        return cls(gains, seconds, price)

    def arm(self, request: TierRequest) -> str:
        """The arm for a request."""
        x = context(request)
        worth: dict[str, float] = {}
        quality = 0.0
        for arm, weights in self._gains.items():
            quality += float(weights @ x)
            worth[arm] = quality - self.price * self._seconds[arm]
        return _best(worth, request)

    def choose(self, request: TierRequest) -> Mapping[str, str]:
        return ARMS[self.arm(request)]


def _ridge(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ridge, of those in ``_RIDGES``, that foretells each row best from all others; x: (rows, inputs)."""
    found: list[tuple[float, NDArray[np.float64]]] = []
    for strength in _RIDGES:
        penalty = strength * np.eye(x.shape[1])
        penalty[0, 0] = 1e-6  # the mean is not shrunk
        projection = np.linalg.solve(x.T @ x + penalty, x.T)
        weights = (projection @ y).astype(np.float64)
        leverage = np.asarray((x * projection.T).sum(axis=1), np.float64)
        left_out = (y - x @ weights) / (1 - leverage)
        found.append((float(np.mean(left_out**2)), weights))
    return min(found, key=lambda one: one[0])[1]


class NetworkTiers:
    """The same with a network in place of the ridges. ``pointwork train tiers`` makes it; the gate lets it live.

    Args:
        layers: weights (inputs, outputs) and bias (outputs,) of each, ReLU between them; the last gives the logits
            of the qualities of the arms, in the order of ``seconds``.
        seconds: arm -> mean seconds. price: of a second, in quality.

    Raises:
        UsageError: the layers do not fit the context or the arms.
    """

    def __init__(
        self,
        layers: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
        seconds: Mapping[str, float],
        price: float,
    ) -> None:
        self._layers, self._seconds, self.price = list(layers), dict(seconds), price
        if not self._layers or len(self._layers[-1][1]) != len(seconds) or not set(seconds) <= set(ARMS):
            raise UsageError(f"a tier policy needs an output and seconds of each arm, of {', '.join(ARMS)}")

    def arm(self, request: TierRequest) -> str:
        """The arm for a request."""
        hidden = context(request)
        for number, (weights, bias) in enumerate(self._layers):
            hidden = hidden @ weights + bias
            if number < len(self._layers) - 1:
                hidden = np.maximum(hidden, 0.0)
        quality = (1.0 / (1.0 + np.exp(-np.clip(hidden, -30, 30)))).tolist()
        worth = {arm: q - self.price * s for (arm, s), q in zip(self._seconds.items(), quality, strict=True)}
        return _best(worth, request)

    def choose(self, request: TierRequest) -> Mapping[str, str]:
        return ARMS[self.arm(request)]

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types, for the store."""
        layers = [[weights.tolist(), bias.tolist()] for weights, bias in self._layers]
        return {"layers": layers, "seconds": self._seconds, "price": self.price, "arms": list(self._seconds)}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "NetworkTiers | None":
        """The inverse of ``as_json``; None if it knows other arms or another context than this version."""
        arms: list[str] = said.get("arms", [])
        layers = [(np.array(weights, np.float64), np.array(bias, np.float64)) for weights, bias in said["layers"]]
        if not set(arms) <= ARMS.keys() or len(layers[0][0]) != CONTEXT:
            return None
        return cls(layers, {arm: said["seconds"][arm] for arm in arms}, float(said["price"]))


def context(request: TierRequest) -> NDArray[np.float64]:
    """What is known before recall, shape (CONTEXT,).

    Kinds of question, length, names and figures in it, how much there is to search, the budget, and what its words
    find.
    """
    text = request.question
    glance = request.look() if request.look else Glance()
    words = re.findall(r"\w+", text)
    names = [word for word in words[1:] if word[0].isupper()]
    kinds = [float(re.search(rf"\b{kind}\b", text, re.IGNORECASE) is not None) for kind in _KINDS]
    return np.array(
        [
            1.0,
            len(words) / 20,
            len(tokenize(text)) / 10,
            len(names) / 5,
            float(len(names) == 1),
            float(any(word.isdigit() for word in words)),
            np.log1p(request.items) / 10,
            np.log1p(request.budget_tokens) / 10,
            *(glance.best, glance.gap, glance.spread, glance.known, glance.many),
            *kinds,
        ]
    )


CONTEXT = len(context(TierRequest("?", 1, 1, None, {}, 0)))


def _best(worth: Mapping[str, float], request: TierRequest) -> str:
    """The arm worth most of those that can work here; if none can, the cheapest of all."""
    there = [arm for arm in usable(request.available) if arm in worth]
    return max(there, key=worth.__getitem__) if there else next(iter(ARMS))


def gate(new: Sequence[float], live: Sequence[float], *, seed: int = 0) -> bool:
    """Whether a policy may replace the live one.

    Args:
        new, live: what each earned (quality minus price times seconds) on the same later questions.
        seed: of the bootstrap.
    """
    difference = np.array(new) - np.array(live)
    if len(difference) < LEAST:
        return False
    random = np.random.default_rng(seed)
    means = difference[random.integers(0, len(difference), (2000, len(difference)))].mean(axis=1)
    return bool(np.quantile(means, 0.01) > 0)
