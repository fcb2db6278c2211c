"""A tier policy that learns from outcomes which tiers a question deserves.

For each choice of tiers (an *arm*) a ridge regression from what is known before recall (the question's words and
kind, how much there is to search) to the quality that recall reached, and the mean of what it cost. Chosen is the
arm of the best predicted quality minus ``price`` times its cost. Trained offline, from rows of (request, arm,
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
from pointwork.memory.policy import TierRequest
from pointwork.text import tokenize

ARMS: Mapping[str, Mapping[str, str]] = {
    "low": dict.fromkeys(("filter", "entity", "temporal", "topic", "summary"), "low"),
    "mid without topic": {"filter": "mid", "entity": "mid", "temporal": "mid", "topic": "low", "summary": "mid"},
    "mid": dict.fromkeys(("filter", "entity", "temporal", "topic", "summary"), "mid"),
}
_KINDS = ("when", "where", "who", "what", "how", "why", "which", "would", "did", "and", "same")
_LAMBDA = 3.0
LEAST = 100  # rows of an arm; with fewer there is nothing to learn from


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
        return max(worth, key=worth.__getitem__)

    def choose(self, request: TierRequest) -> Mapping[str, str]:
        return ARMS[self.arm(request)]


class NetworkTiers:
    """The same with a network in place of the ridges. ``pointwork train tiers`` makes it; the gate lets it live.

    Args:
        layers: weights (inputs, outputs) and bias (outputs,) of each, ReLU between them; the last gives the logits
            of the qualities of ``ARMS``, in their order.
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
        if not self._layers or len(self._layers[-1][1]) != len(ARMS) or set(seconds) != set(ARMS):
            raise UsageError(f"a tier policy needs a network with {len(ARMS)} outputs, and seconds of each arm")

    def arm(self, request: TierRequest) -> str:
        """The arm for a request."""
        hidden = context(request)
        for number, (weights, bias) in enumerate(self._layers):
            hidden = hidden @ weights + bias
            if number < len(self._layers) - 1:
                hidden = np.maximum(hidden, 0.0)
        quality = (1.0 / (1.0 + np.exp(-np.clip(hidden, -30, 30)))).tolist()
        worth = {arm: q - self.price * self._seconds[arm] for arm, q in zip(ARMS, quality, strict=True)}
        return max(worth, key=worth.__getitem__)

    def choose(self, request: TierRequest) -> Mapping[str, str]:
        return ARMS[self.arm(request)]

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types, for the store."""
        layers = [[weights.tolist(), bias.tolist()] for weights, bias in self._layers]
        return {"layers": layers, "seconds": self._seconds, "price": self.price, "arms": list(ARMS)}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "NetworkTiers | None":
        """The inverse of ``as_json``; None if its arms are not those of this version."""
        if said.get("arms") != list(ARMS):
            return None
        layers = [(np.array(weights, np.float64), np.array(bias, np.float64)) for weights, bias in said["layers"]]
        return cls(layers, said["seconds"], float(said["price"]))


def context(request: TierRequest) -> NDArray[np.float64]:
    """What is known before recall: kinds of question, length, names and figures in it, how much there is."""
    text = request.question
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
            *kinds,
        ]
    )


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
