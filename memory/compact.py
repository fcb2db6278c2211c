"""The Mid tier of summary: the likeliest evidence for the tokens that there are.

A knapsack over sentences, filled greedily by worth per token (Dantzig 1957). A sentence is worth the probability
that its item is evidence, from the re-ranker's score, times the chance that it is the sentence that tells
(``telling``); an item's first sentence, its likeliest, besides leads to all of it by ``read(id)``. What goes with a
piece (its id, its day, who speaks, the fence around what outsiders wrote) is a part of its price, and said once for
neighbours.

Every piece stands under the id that ``read`` takes, in its own words: what is left out between two parts is a "…".
"""

import math
from bisect import bisect, insort
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pointwork.memory import quoting
from pointwork.memory.items import Item
from pointwork.memory.low import clipped
from pointwork.memory.modules import Digest, Meter, Question, Resources
from pointwork.memory.telling import Sentence, told
from pointwork.text import count_tokens_estimate, tokenize

# Probability that an item is evidence: logistic in the re-ranker's score and the logarithm of the rank, fitted on
# scores of LoCoMo 0-7 that were predicted by networks trained on other dialogues.
_SCORE, _RANK, _EVEN = 0.52, -0.81, -0.53
_RANK_ALONE = -1.8  # where no score is there: the same in the rank alone
_LEAD = 1.5  # what an item's first sentence is worth besides: the way to all of it; chosen on dialogues 0-7
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]  # a token each
_WORTH = 12  # tokens of a sentence that is cut which are worth showing


class Piece:
    """An item on its way into the text.

    Attributes:
        worth: the probability that it is evidence.
        around: tokens of its id and its fence.
        kept: numbers of the sentences that are shown, ascending.
        cut: the beginning of a sentence that is too long for the budget, shown instead.
    """

    def __init__(self, item: Item, worth: float, sentences: list[Sentence]) -> None:
        self.item = item
        self.worth = worth
        self.sentences = sentences
        self.day, self.year = "", ""
        if item.time is not None:
            day = datetime.fromtimestamp(item.time, UTC)
            self.day, self.year = f"{day.day} {_MONTHS[day.month - 1]}", str(day.year)
        self.who = quoting.who(item)
        self.says = {("year", self.year), (self.year, self.day), (self.year, self.day, self.who)}
        self.around = quoting.cost(quoting.piece(item, ""))
        self.kept: list[int] = []
        self.cut = ""
        self._tokens = [count_tokens_estimate(item.text[one.start : one.end]) for one in sentences]
        # between a sentence and the next: nothing, or a line break and the mark of a quotation for each line
        self._breaks = [
            2 * item.text.count("\n", one.end, after.start)
            for one, after in zip(sentences, sentences[1:], strict=False)
        ]
        self.best = max(range(len(sentences)), key=lambda number: sentences[number].chance)

    def named(self, number: int, odds: float) -> None:
        """Make a sentence likelier to be the one that tells, by so many log-odds."""
        chance = self.sentences[number].chance
        more = likelier(chance, odds)
        rest = (1 - more) / (1 - chance) if chance < 1 else 0.0
        self.sentences = [
            replace(one, chance=more if n == number else one.chance * rest) for n, one in enumerate(self.sentences)
        ]
        self.best = max(range(len(self.sentences)), key=lambda number: self.sentences[number].chance)

    def text(self) -> str:
        """Sentences in the item's own words: neighbours as they stand there, "…" for what is between others."""
        if self.cut:
            return self.cut
        text, runs = self.item.text, list[tuple[int, int]]()
        for place, number in enumerate(self.kept):
            one = self.sentences[number]
            if place and number == self.kept[place - 1] + 1:
                runs[-1] = runs[-1][0], one.end
            else:
                runs.append((one.start, one.end))
        return " … ".join(text[start:end] for start, end in runs)

    def cost(self, number: int) -> int:
        """Tokens that one more sentence takes, its id and fence among them if it is the first."""
        if not self.kept:
            return self.around + self._tokens[number]
        place = bisect(self.kept, number)
        before = self.kept[place - 1] if place else None
        after = self.kept[place] if place < len(self.kept) else None
        joins = self._join(before, number) + self._join(number, after) - self._join(before, after)
        return max(1, self._tokens[number] + joins)

    def _join(self, left: int | None, right: int | None) -> int:
        if left is None or right is None:
            return 0
        return self._breaks[left] if right == left + 1 else 1


class Compact:
    """See the module."""

    def digest(self, question: Question, items: Sequence[Item], resources: Resources, meter: Meter) -> Digest:
        start = quoting.preamble(list(items))
        pieces = self.pieces(question, items, resources, meter)
        least = question.thrift / question.budget_tokens
        packed = _packed(pieces, question.budget_tokens - quoting.cost(start), least)
        if not packed:
            return Digest("", ())
        shown = tuple(piece.item.id for piece in pieces if piece in packed)
        return Digest("\n".join([start, *_lines(packed)]), shown)

    def pieces(self, question: Question, items: Sequence[Item], resources: Resources, meter: Meter) -> list[Piece]:
        """The items with what they and their sentences are worth, best first."""
        asked = resources.index.lexical.idf(list(dict.fromkeys(tokenize(question.text)))) if items else {}
        pieces: list[Piece] = []
        for rank, item in enumerate(items):
            score = resources.odds.get(item.id)
            odds = _RANK_ALONE * math.log1p(rank)
            if score is not None:
                odds = _SCORE * score + _RANK * math.log1p(rank) + _EVEN
            worth = 1 / (1 + math.exp(-min(30.0, max(-30.0, odds))))
            speaker = frozenset(tokenize(item.speaker)) if item.speaker else frozenset[str]()
            wanted = {token: weight for token, weight in asked.items() if token not in speaker}
            pieces.append(Piece(item, worth, told(item, wanted)))
        return pieces


@dataclass(slots=True)
class _Offer:
    """A sentence that could be shown next: what it would cost, and its worth per token."""

    piece: Piece
    sentence: int
    cost: int
    rate: float


def _packed(pieces: Sequence[Piece], left: int, least: float = 0.0) -> list[Piece]:
    """The pieces that go into the text, with their sentences.

    Args:
        left: tokens that are there for them.
        least: worth per token below which they are left over; the best sentence is shown all the same.
    """
    said: set[tuple[str, ...]] = set()  # years, days, and days with speakers, that stand there already
    offers = {n: _offer(piece, said, left) for n, piece in enumerate(pieces)}
    while True:
        there = [(offer.rate, -n) for n, offer in offers.items() if offer is not None]
        if not there:
            break
        best = -max(there)[1]
        offer = offers[best]
        assert offer is not None
        if said and offer.rate < least:
            break
        piece = offer.piece
        if offer.cost <= left:
            first = not piece.kept
            insort(piece.kept, offer.sentence)
            left -= offer.cost
            new = piece.says - said if first else None
            if new:
                said |= new
                for n, other in enumerate(pieces):  # cheaper now: what goes with them is said already
                    if not other.kept and not new.isdisjoint(other.says):
                        offers[n] = _offer(other, said, left)
        offers[best] = _offer(piece, said, left)
    chosen = [piece for piece in pieces if piece.kept]
    return chosen or _cut(pieces[:1], left)


def likelier(chance: float, odds: float) -> float:
    """A probability with more log-odds."""
    much = chance * math.exp(odds)
    return much / (much + 1 - chance)


def _offer(piece: Piece, said: set[tuple[str, ...]], left: int) -> _Offer | None:
    """The best that a piece has to offer for what is left, first of all its likeliest sentence; None: nothing."""
    if not piece.kept:
        cost = piece.cost(piece.best) + _around(piece, said)
        rate = piece.worth * (piece.sentences[piece.best].chance + _LEAD) / cost
        return _Offer(piece, piece.best, cost, rate) if cost <= left else None
    best: _Offer | None = None
    for number, sentence in enumerate(piece.sentences):
        if number not in piece.kept:
            cost = piece.cost(number)
            rate = piece.worth * sentence.chance / cost
            if cost <= left and (best is None or rate > best.rate):
                best = _Offer(piece, number, cost, rate)
    return best


def _around(piece: Piece, said: set[tuple[str, ...]]) -> int:
    """Tokens of the year, the day and the speaker, as far as they are not said yet."""
    # what comes last of each is what is said
    return sum(count_tokens_estimate(one[-1]) for one in piece.says - said)


def _cut(pieces: Sequence[Piece], left: int) -> list[Piece]:
    """The best item by the beginning of its best sentence: no whole one fits."""
    for piece in pieces:
        best = piece.sentences[piece.best]
        room = left - _around(piece, set()) - piece.around
        if room >= _WORTH:
            piece.cut = clipped(piece.item.text[best.start : best.end], room)
            return [piece]
    return []


def _lines(pieces: Sequence[Piece]) -> list[str]:
    """Pieces day by day, those of one speaker together, in the order in which they were added.

    What has no time comes first, and on each day what nobody in particular says: a line that names neither would
    otherwise seem to belong to the one before it.
    """
    groups: dict[tuple[float, str], list[Piece]] = {}
    for piece in sorted(pieces, key=_place):
        groups.setdefault((_date(piece), piece.who), []).append(piece)
    lines: list[str] = []
    day = year = ""
    for key in sorted(groups, key=lambda key: (key[0], key[1] != "", _place(groups[key][0]))):
        first = groups[key][0]
        label = [first.who]
        if (first.day, first.year) != (day, year):
            label = [first.day, "" if first.year == year else first.year, first.who]
            day, year = first.day, first.year
        for piece in groups[key]:
            lines.append(quoting.piece(piece.item, piece.text(), " ".join(part for part in label if part)))
            label = []
    return lines


def _date(piece: Piece) -> float:
    """Its day as a number (of days); what has no time comes first."""
    return -math.inf if piece.item.time is None else piece.item.time // 86_400


def _place(piece: Piece) -> tuple[float, int, str]:
    """By time, then in the order of the ids, which are numbered."""
    return piece.item.time or 0.0, len(piece.item.id), piece.item.id
