"""Which sentence of an item is likely to be the one that answers: the share of the item's worth that each holds.

A softmax over an item's sentences. The weights for turns of dialogues were fitted on LoCoMo dialogues 0-7: for
each piece of evidence the sentence that shares most with the question *and its answer* (1,678 pieces of two
sentences and more; by cross-validation the likeliest is right in .77 of them, by words shared with the question,
nearness and length alone in .73). For documents on the supporting sentences of the first 50 Hotpot questions (85
pieces: too few for more than two weights).
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pointwork.memory import quoting
from pointwork.memory.items import Item
from pointwork.text import sentence_spans, tokenize

_PRONOUN = re.compile(r"\b(?:i|my|me|we|our|i'm|i've)\b", re.IGNORECASE)
_INNER_NAME = re.compile(r"(?<=[a-z,'] )[A-Z]\w+")
_LONG, _NAMES = 20, 3  # tokens and names of a sentence beyond which more say no more

# shares most with the question, length, a figure, names, stands first, stands last, speaks of the speaker
_TURN = (1.7, 3.8, 0.7, 1.5, -0.4, -0.4, 0.8)
_DOCUMENT = (2.0, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an item's text.

    Attributes:
        start, end: character offsets, the space around it left out.
        chance: that it is the one that tells, if the item does; those of an item add up to 1.
    """

    start: int
    end: int
    chance: float


def told(item: Item, asked: Mapping[str, float]) -> list[Sentence]:
    """The sentences of an item, in order; of a text that begins with its title, those after it.

    Args:
        item: with its exact text.
        asked: tokens of the question with how rare they are.
    """
    spans = [_stripped(item.text, start, end) for start, end in sentence_spans(item.text)]
    spans = [(start, end) for start, end in spans if start < end]
    if item.title and quoting.heads(item) and item.text.lstrip().startswith(item.title):
        under = item.text.index(item.title) + len(item.title)
        spans = [(start, end) for start, end in spans if start >= under] or spans
    if len(spans) == 1:
        return [Sentence(*spans[0], 1.0)]
    texts = [item.text[start:end] for start, end in spans]
    weights = _DOCUMENT if item.speaker is None else _TURN
    scores = [sum(w * x for w, x in zip(weights, row, strict=True)) for row in _features(texts, asked)]
    most = max(scores, default=0.0)
    chances = [math.exp(score - most) for score in scores]
    total = sum(chances)
    return [Sentence(start, end, chance / total) for (start, end), chance in zip(spans, chances, strict=True)]


def _features(texts: Sequence[str], asked: Mapping[str, float]) -> list[tuple[float, ...]]:
    tokens = [tokenize(text) for text in texts]
    held = [sum(asked[token] for token in asked.keys() & set(some)) for some in tokens]
    most = max(held) or 1.0
    return [
        (
            held[n] / most,
            min(len(tokens[n]), _LONG) / _LONG,
            float(re.search(r"\d", text) is not None),
            min(len(_INNER_NAME.findall(text)), _NAMES) / _NAMES,
            float(n == 0),
            float(n == len(texts) - 1),
            float(_PRONOUN.search(text) is not None),
        )
        for n, text in enumerate(texts)
    ]


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without the space at its ends."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())
