"""A tier policy that learns from outcomes which tiers a question deserves.

For each choice of tiers (an *arm*) a ridge regression from what is known before recall (the question's words and
kind, how much there is to search) to the quality that recall reached, and the mean of what it cost. Chosen is the
arm of the best predicted quality minus ``price`` times its cost, among those that can work here. What is known
before recall is the question, the budget, and a glance at what its words find (``policy.Glance``): whether Low
would do shows there more than in the question. Trained offline, from rows of (request, arm,
quality, seconds) such as the ledger of use gives; it goes live only if ``gate`` says so: on later rows, the
paired difference to the static policy must be positive at a one-sided 99 % bootstrap bound, as the router's
versions must.
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
_LAMBDA = 3.0
LEAST = 100  # rows of an arm; with fewer there is nothing to learn from


def usable(available: Mapping[Module, Sequence[str]]) -> tuple[str, ...]:
    """The arms all of whose tiers are there, cheapest first."""
    there = {module: set(tiers) for module, tiers in available.items()}
    return tuple(
        arm for arm, tiers in ARMS.items() if all(tier in there[m] for m, tier in tiers.items() if m in there)
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a recall with an arm was worth: ``quality`` 0 to 1, ``seconds`` of work."""

    request: TierRequest
    arm: str
    quality: float
    seconds: float


class LearnedTiers:
    """See the module.

    Args:
        weights: arm -> the regression's weights.
        seconds: arm -> mean seconds.
        price: of a second, in quality.
    """

    def __init__(
        self, weights: Mapping[str, NDArray[np.float64]], seconds: Mapping[str, float], price: float
    ) -> None:
        self._weights = dict(weights)
        self._seconds = dict(seconds)
        self.price = price

    @classmethod
    def trained(cls, rows: Sequence[Outcome], price: float) -> "LearnedTiers":
        """Learn from outcomes; arms with too few are never chosen.

        Raises:
            UsageError: no arm has enough.
        """
        weights: dict[str, NDArray[np.float64]] = {}
        seconds: dict[str, float] = {}
        for arm in ARMS:
            some = [row for row in rows if row.arm == arm]
            if len(some) < LEAST:
                continue
            x = np.array([context(row.request) for row in some])
            y = np.array([row.quality for row in some])
            penalty = _LAMBDA * np.eye(x.shape[1])
            penalty[0, 0] = 1e-6  # the mean is not shrunk
            weights[arm] = np.linalg.solve(x.T @ x + penalty, x.T @ y).astype(np.float64)
            seconds[arm] = float(np.mean([row.seconds for row in some]))
        if not weights:
            raise UsageError(
                f"a tier policy needs at least {LEAST} outcomes of an arm; there are {len(rows)} in all"
            )
        return cls(weights, seconds, price)

    def arm(self, request: TierRequest) -> str:
        """The arm for a request."""
        x = context(request)
        worth = {arm: float(w @ x) - self.price * self._seconds[arm] for arm, w in self._weights.items()}
        return _best(worth, request)

    def choose(self, request: TierRequest) -> Mapping[str, str]:
        return ARMS[self.arm(request)]


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
