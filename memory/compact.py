"""The Mid tier of summary: more items in the same budget.

What several items share is said once: items with a time stand in the order of their days, under one line for each.
Each gets the sentence that holds most of what is asked, by words and by meaning; what is left of the budget makes
them whole, from the best on. Nothing is lost: each has its id, and ``read(id)`` gives the original.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from pointwork.memory import quoting
from pointwork.memory.items import UNTRUSTED, Item
from pointwork.memory.modules import Digest, Meter, Question, Resources
from pointwork.text import sentences, tokenize

_LONG = 40  # tokens; a longer best sentence is cut


@dataclass(slots=True)
class _Piece:
    """An item on its way into the text: what is shown of it, and what that takes."""

    item: Item
    rank: int
    text: str
    bare: Item  # without what its header does not say

    @property
    def day(self) -> str:
        time = self.item.time
        return "" if time is None else datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d")

    def block(self) -> str:
        """Its lines, without its day."""
        return quoting.block(self.bare, self.text, short=self.item.trust not in UNTRUSTED)


class Compact:
    """See the module."""

    def digest(self, question: Question, items: Sequence[Item], resources: Resources, meter: Meter) -> Digest:
        start = quoting.preamble(list(items))
        left = question.budget_tokens - quoting.cost(start)
        pieces: list[_Piece] = []
        days: set[str] = set()
        for rank, item in enumerate(items):
            bare = replace(item, time=None, source="", title=None)
            piece = _Piece(item, rank, self._best_sentence(question, item, resources), bare)
            cost = quoting.cost(piece.block())
            if piece.day and piece.day not in days:
                cost += quoting.cost(piece.day)
            if cost <= left:
                pieces.append(piece)
                days.add(piece.day)
                left -= cost
        for piece in pieces:
            left = _made_whole(piece, left)
        if not pieces:
            return Digest("", ())
        return Digest("\n".join([start, *_lines(pieces)]), tuple(piece.item.id for piece in pieces))

    def _best_sentence(self, question: Question, item: Item, resources: Resources) -> str:
        found = sentences(item.text) or [item.text.strip()]
        if len(found) == 1:
            return found[0]
        embedder = resources.index.dense.embedder
        asked = frozenset(question.tokens)
        vectors = embedder.embed([question.text, *found])
        near = vectors[1:] @ vectors[0]
        held = np.array([len(asked & set(tokenize(sentence))) for sentence in found])
        told = np.array([min(len(tokenize(sentence)), 6) / 6 for sentence in found])  # "Wow!" tells nothing
        best = int(np.argmax(held / (len(asked) or 1) + 0.5 * near + 0.5 * told))
        if quoting.cost(found[best]) > _LONG:
            words = found[best].split()
            return " ".join(words[:_LONG]) + ("…" if len(words) > _LONG else "")
        return found[best]


def _made_whole(piece: _Piece, left: int) -> int:
    """Show all of an item if what is left allows it; what is left then."""
    part = piece.text
    if part == piece.item.text.strip():
        return left
    before = quoting.cost(piece.block())
    piece.text = piece.item.text
    more = quoting.cost(piece.block()) - before
    if more > left:
        piece.text = part
        return left
    return left - more


def _lines(pieces: Sequence[_Piece]) -> list[str]:
    """Blocks under their days; what has no time comes last, best first."""
    lines: list[str] = []
    day = ""
    for piece in sorted(pieces, key=lambda p: (not p.day, p.item.time or 0.0, p.rank)):
        if piece.day != day:
            day = piece.day
            if day:
                lines.append(day)
        lines.append(piece.block())
    return lines
