"""From signals to one order of tools.

Two ways, mixed by how well the parts of a request are covered by single tools:

- *loose* (requests in a person's own words): z-scores of words, meaning and name, added; parts count as the whole.
- *strict* (requests that name what they want, often several things): a logistic model over the signals of the part
  that a tool fits best, learned on the development half of Seal-Tools (``benchmarks/train_tool_ranker.py``).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwork.text import tokenize
from pointwork.tools.lexical import K1, Floats, Ints, Lexicon

FEATURES = (
    "base",
    "words",
    "meaning",
    "near_words",
    "name_meaning",
    "rank",
    "whole_words",
    "name_in_part",
    "name_in_whole",
    "description_in_part",
    "description_in_whole",
    "part_in_tool",
    "part_in_tool_and_parameters",
    "lead",
    "parts",
    "part_covered",
    "name_tokens_in_part",
)

# Weights of the loose way.
MEANING, NAME, TOLD, SERVER = 0.7, 0.4, 0.4, 0.1
# Between these shares of a part's words that its best tool covers, strict takes over from loose.
COVERED_LITTLE, COVERED_WELL = 0.15, 0.3
# The same for whether anything makes what a request is to leave behind.
MADE_LITTLE, MADE_WELL = 0.2, 0.35

_BEST, _OF_EACH = 25, 8
_WORDS_SHARE = 0.7
_WHOLE = 0.2


@dataclass(frozen=True)
class Signals:
    """What is known of texts (the whole request first, then its parts) and tools.

    Attributes:
        texts: T of them.
        plain, wide, meaning, named, told: shape (T, tools): words, words with near ones, cosines of the whole tool,
            of its name and, if meaning is an encoder's, of its description alone.
        served: how far the server of each tool stands out by its cosine; None: there is but one.
        among: numbers of the tools that these are the signals of; None: all.
    """

    texts: tuple[str, ...]
    plain: Floats
    wide: Floats
    meaning: Floats
    named: Floats
    told: Floats | None = None
    served: Floats | None = None
    among: Ints | None = None


def positive(scores: Floats) -> Floats:
    """Without what is below 0, the best at 1; one row or several."""
    scores = np.maximum(scores, np.float32(0))
    best: Floats = scores.max(axis=-1, keepdims=True)
    return scores / np.maximum(best, np.float32(1e-9))


def standard(scores: Floats) -> Floats:
    """Each row's scores by how far they stand out in it."""
    if scores.shape[1] == 1:
        return scores  # nothing to stand out from
    centred = scores - scores.mean(axis=1, keepdims=True)
    return centred / (scores.std(axis=1, keepdims=True) + np.float32(1e-9))


@cache
def learned(encoded: bool) -> tuple[Floats, np.float32]:
    """The strict way's weights, in the order of ``FEATURES``, and intercept, for meaning by an encoder or not."""
    file = "ranker_minilm.json" if encoded else "ranker.json"
    found: dict[str, Any] = json.loads((resources.files("pointwork.tools") / file).read_text(encoding="utf-8"))
    return np.array([found["weights"][name] for name in FEATURES], np.float32), np.float32(found["intercept"])


class Ranker:
    """Orders the tools of an index.

    Args:
        lexicon: of the index.
        names, descriptions, others: tokens of each tool's name, description, and parameters with results.
        encoded: whether meaning is a sentence encoder's.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        names: Sequence[frozenset[str]],
        descriptions: Sequence[frozenset[str]],
        others: Sequence[frozenset[str]],
        *,
        encoded: bool = False,
    ) -> None:
        self._encoded = encoded
        self._lexicon, self._names, self._descriptions, self._others = lexicon, names, descriptions, others

    def scores(self, signals: Signals) -> Floats:
        """A score for each tool."""
        loose = self.loose(signals)
        scores = loose[0] if len(loose) == 1 else loose[1:].max(axis=0) + loose[0]
        firm = self.firmness(signals)
        if firm <= 0:
            return scores
        candidates, features = self.features(signals)
        weights, intercept = learned(self._encoded)
        chance = 1 / (1 + np.exp(-(features @ weights + intercept)))
        scores: Floats = np.float32(1 - firm) * positive(scores)
        scores[candidates] += np.float32(firm) * (chance / max(float(chance.max()), 1e-9))
        return scores

    def loose(self, signals: Signals) -> Floats:
        """Scores of each text by the loose way, the best of each text at 1."""
        words = standard(np.sqrt(signals.wide))
        total = words + np.float32(MEANING) * standard(signals.meaning) + np.float32(NAME) * standard(signals.named)
        if signals.told is not None:
            total += np.float32(TOLD) * standard(signals.told)
        if signals.served is not None:
            total += np.float32(SERVER) * signals.served
        return positive(total)

    def firmness(self, signals: Signals) -> float:
        """How far the strict way is to be trusted: 0 to 1."""
        rows = range(1, len(signals.texts)) if len(signals.texts) > 1 else range(1)
        covered = float(np.mean([self._covered(signals, row) for row in rows]))
        return float(np.clip((covered - COVERED_LITTLE) / (COVERED_WELL - COVERED_LITTLE), 0, 1))

    def there(self, signals: Signals) -> Floats:
        """For each text, how far a tool is there that does it, by the words that its best one covers: 0 to 1."""
        covered = np.array([self._covered(signals, row) for row in range(len(signals.texts))], np.float32)
        return np.clip((covered - MADE_LITTLE) / (MADE_WELL - MADE_LITTLE), 0, 1).astype(np.float32)

    def _covered(self, signals: Signals, row: int) -> float:
        """The share of a text's words, by what they tell, that the best tool covers."""
        most = self._lexicon.weight(set(tokenize(signals.texts[row]))) * (K1 + 1)
        return float(signals.plain[row].max()) / max(most, 1e-9)

    def features(self, signals: Signals) -> tuple[NDArray[np.intp], Floats]:
        """The tools that may be meant, and their features: shape (candidates, features)."""
        request = signals.texts[0]
        rows = slice(1, None) if len(signals.texts) > 1 else slice(0, 1)
        texts = signals.texts[rows]
        words, meaning = positive(signals.plain[rows]), positive(signals.meaning[rows])
        near, named = positive(signals.wide[rows]), positive(signals.named[rows])
        whole = positive(signals.plain[0])
        mixed = np.float32(_WORDS_SHARE) * words + np.float32(1 - _WORDS_SHARE) * meaning
        mixed = mixed / np.maximum(mixed.max(axis=1, keepdims=True), 1e-9)
        whole_mixed = np.float32(_WORDS_SHARE) * whole + np.float32(1 - _WORDS_SHARE) * positive(signals.meaning[0])
        base = mixed.max(axis=0) + np.float32(_WHOLE) * positive(whole_mixed)
        candidates = _candidates(base, words, meaning)
        some = mixed[:, candidates]
        part: NDArray[np.intp] = some.argmax(axis=0)
        place = np.arange(len(candidates))
        own = some[part, place]
        order = np.sort(some, axis=1)
        first, second = order[:, -1], order[:, -2] if len(candidates) > 1 else order[:, -1]
        lead = own - np.where(own >= first[part] - 1e-6, second[part], first[part])
        rank = (some[part] > own[:, None]).sum(axis=1)
        numbers_of = candidates if signals.among is None else signals.among[candidates]
        shared = self._overlaps(numbers_of.ravel().tolist(), part.ravel().tolist(), texts, request)
        covered = np.array([self._covered(signals, row) for row in range(len(signals.texts))][rows], np.float32)
        numbers = [
            base[candidates],
            words[:, candidates][part, place],
            meaning[:, candidates][part, place],
            near[:, candidates][part, place],
            named[:, candidates][part, place],
            1 / (1 + rank),
            whole[candidates],
            *shared[:, :6].T,
            lead,
            np.full(len(candidates), len(texts)),
            covered[part],
            shared[:, 6],
        ]
        return candidates, np.stack(numbers, axis=1).astype(np.float32)

    def _overlaps(self, candidates: list[int], parts: list[int], texts: Sequence[str], whole: str) -> Floats:
        """How much of a tool's words stands in the request, and the other way round; by what they tell."""
        tokens = [frozenset(tokenize(text)) for text in texts]
        every = frozenset(tokenize(whole))
        weight = self._lexicon.weight
        whole_weights: dict[frozenset[str], float] = {}

        def share(of: frozenset[str], there: frozenset[str]) -> float:
            if of not in whole_weights:
                whole_weights[of] = max(weight(of), 1e-9)
            return weight(of & there) / whole_weights[of]

        found: list[tuple[float, ...]] = []
        for number, row in zip(candidates, parts, strict=True):
            part, name, about = tokens[row], self._names[number], self._descriptions[number]
            found.append(
                (
                    share(name, part),
                    share(name, every),
                    share(about, part),
                    share(about, every),
                    share(part, name | about),
                    share(part, name | about | self._others[number]),
                    len(name & part) / max(1, len(name)),
                )
            )
        return np.array(found, np.float32).reshape(-1, 7)


def _candidates(base: Floats, words: Floats, meaning: Floats) -> NDArray[np.intp]:
    """Numbers of the tools that are best by the plain mixture, or by words or meaning of a part."""
    picked = [_best(base, _BEST)]
    for row in range(len(words)):
        picked += [_best(words[row], _OF_EACH), _best(meaning[row], _OF_EACH // 2)]
    return np.unique(np.concatenate(picked))


def _best(scores: Floats, most: int) -> NDArray[np.intp]:
    if len(scores) <= most:
        return np.arange(len(scores))
    return np.argpartition(-scores, most)[:most]
