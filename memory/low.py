"""The Low tiers: deterministic, lexical, no model, no money.

The weights were set on LoCoMo dialogues 0-7 and on Hotpot (THREAD by judgement: no set has it). Together the boosts
raise evidence recall@5/10/20 of dialogues 0-7 by .012/.007/.008 and Hotpot's C@5 from .54 to .61 (n=100).
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pointwork.memory import dates, quoting
from pointwork.memory.items import Item
from pointwork.memory.modules import Candidate, Digest, Meter, Question, Registry, Resources
from pointwork.text import count_tokens_estimate, sentence_spans, tokenize

if TYPE_CHECKING:
    from numpy.typing import NDArray

CANDIDATES = 80  # that the filter gives at least
ENTITY, TIME, WHEN, THREAD, TITLE = 0.2, 0.2, 0.15, 0.5, 0.6  # weights of the boosts

_QUOTED = re.compile(r"[\"“]([^\"”]{2,80})[\"”]")
_NAME = re.compile(r"\b[A-Z][\w&.-]*(?:\s+[A-Z][\w&.-]*)*|\b\d[\d,.]*")
_ASKS_WHEN = re.compile(
    r"\b(?:when|how long|how often|what (?:time|day|date|year|month)|which (?:day|year|month))\b", re.I
)
_WORTH = 12  # tokens of an item's text that are worth showing


class LexicalFilter:
    """BM25 over text, title, speaker and date, with the neighbouring turns' or chunks' share.

    Scores are divided by what a document would get that has every word of the question endlessly often. Rows of
    the question's own thread come in besides the best of all, so that the topic module can prefer them.
    """

    def find(self, question: Question, resources: Resources, meter: Meter) -> list[tuple[int, float]]:
        import numpy as np

        lexical = resources.index.lexical
        if not question.tokens or not len(lexical):
            return []
        scores = lexical.scores(dict.fromkeys(question.tokens, 1.0))
        limit = max(CANDIDATES, 4 * question.k)
        own = resources.index.places_in_thread(question.thread)
        places = np.concatenate([best(scores.total, limit), own[best(scores.total[own], limit // 2)]])
        places = np.unique(places[scores.total[places] > 0])
        places = places[np.argsort(-scores.total[places], kind="stable")]
        serials = lexical.columns.serials[places].tolist()
        return list(zip(serials, (scores.total[places] / scores.ideal).tolist(), strict=True))


class NamedEntities:
    """Names, numbers and quoted words of the question that the candidate has too, by how rare they are."""

    def boost(
        self, question: Question, candidates: Sequence[Candidate], resources: Resources, meter: Meter
    ) -> list[float]:
        wanted = [tokens for name in entities(question.text) if (tokens := tokenize(name))]
        if not wanted:
            return [0.0] * len(candidates)
        idf = resources.index.lexical.idf([token for tokens in wanted for token in tokens])
        weights = [sum(idf[token] for token in tokens) for tokens in wanted]
        total = sum(weights) or 1.0
        return [
            ENTITY
            * sum(
                weight
                for tokens, weight in zip(wanted, weights, strict=True)
                if candidate.tokens.issuperset(tokens)
            )
            / total
            for candidate in candidates
        ]


class DateRules:
    """Times by rule: near the time that the question names; if it asks when, texts that tell a time."""

    def boost(
        self, question: Question, candidates: Sequence[Candidate], resources: Resources, meter: Meter
    ) -> list[float]:
        wanted = question.times()
        asks = _ASKS_WHEN.search(question.text) is not None
        found: list[float] = []
        for candidate in candidates:
            time = candidate.item.time if candidate.item.time is not None else candidate.item.created
            near = TIME * dates.closeness(time, wanted) if wanted else 0.0
            tells = WHEN if asks and dates.mentions_time(candidate.item.text) else 0.0
            found.append(near + tells)
        return found


class SameTopic:
    """The conversation that the question is asked in, and texts whose whole title the question names."""

    def boost(
        self, question: Question, candidates: Sequence[Candidate], resources: Resources, meter: Meter
    ) -> list[float]:
        asked = frozenset(question.tokens)
        idf = resources.index.lexical.idf(list(asked))
        total = sum(idf.values()) or 1.0
        found: list[float] = []
        for candidate in candidates:
            item = candidate.item
            same = THREAD if question.thread is not None and item.thread == question.thread else 0.0
            title = frozenset(tokenize(item.title)) if item.title else frozenset[str]()
            named = sum(idf[token] for token in title) / total if title and title <= asked else 0.0
            found.append(same + TITLE * named)
        return found


class Extract:
    """The items in their own words, cut to the budget.

    All whole if they fit. Else, best first, each may take half of what is left: whole if it fits in that, otherwise
    the sentences that share most with the question, in their order, with "…" where something is left out. Items
    with no room are named by id as far as that fits.
    """

    def digest(self, question: Question, items: Sequence[Item], resources: Resources, meter: Meter) -> Digest:
        start = quoting.preamble(list(items))
        left = question.budget_tokens - quoting.cost(start)
        blocks: list[str] = []
        shown: list[str] = []
        whole = [quoting.block(item) for item in items]
        costs = [quoting.cost(block) for block in whole]
        room = sum(costs) <= left
        asked = frozenset(question.tokens)
        for item, block, cost in zip(items, whole, costs, strict=True):
            if not room and cost > left // 2:
                block = shortened(item, left // 2, asked)
                cost = quoting.cost(block)
            if block and cost <= left:
                blocks.append(block)
                shown.append(item.id)
                left -= cost
        if not blocks:
            return Digest("", ())
        more = pointers([item.id for item in items if item.id not in shown], left)
        return Digest("\n".join([start, *blocks, *more]), tuple(shown))


def best(values: "NDArray[Any]", count: int) -> "NDArray[Any]":
    """Places of the highest values, best first; equals in order."""
    import numpy as np

    places = np.arange(len(values))
    if 0 < count < len(values):
        places = np.flatnonzero(values >= np.partition(values, len(values) - count)[len(values) - count])
    return places[np.argsort(-values[places], kind="stable")][: max(count, 0)]


def entities(question: str) -> list[str]:
    """Quoted words, capitalised names and numbers of a question, without its first word if that is no name."""
    found = [match[1] for match in _QUOTED.finditer(question)]
    for match in _NAME.finditer(question):
        words = match[0].split()
        # "What", "Did", "The": a capital because it begins, not because it names
        while words and not tokenize(words[0]):
            words.pop(0)
        found.extend([" ".join(words)] if words else [])
    return list(dict.fromkeys(found))


def shortened(item: Item, budget: int, asked: frozenset[str]) -> str:
    """An item's block within a budget, by leaving out sentences; empty if too little would be left."""
    left = budget - quoting.cost(quoting.block(item, "")) - 2
    if left < _WORTH:
        return ""
    sentences = [item.text[start:end].strip() for start, end in sentence_spans(item.text)]
    fits = {number: asked & set(tokenize(sentence)) for number, sentence in enumerate(sentences)}
    kept: list[int] = []
    for number in sorted(fits, key=lambda number: (-len(fits[number]), number)):
        cost = count_tokens_estimate(sentences[number]) + 2
        if cost <= left:
            kept.append(number)
            left -= cost
    if not kept:
        best = max(fits, key=lambda number: (len(fits[number]), -number))
        return quoting.block(item, clipped(sentences[best], left))
    text = ""
    for place, number in enumerate(sorted(kept)):
        gap = number != (sorted(kept)[place - 1] + 1 if place else 0)
        text += (" … " if gap else " ") + sentences[number]
    return quoting.block(item, text.strip() + ("" if max(kept) == len(sentences) - 1 else " …"))


def clipped(sentence: str, budget: int) -> str:
    """The longest beginning of a sentence within a budget, and "…"."""
    low, high = 0, len(sentence)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens_estimate(sentence[:middle]) + 1 <= budget:
            low = middle
        else:
            high = middle - 1
    return sentence[:low].rstrip() + "…"


def pointers(ids: Sequence[str], budget: int) -> list[str]:
    """A line that names items that were left out, as many as the budget allows."""
    for count in range(len(ids), 0, -1):
        line = f"More, by id: {', '.join(ids[:count])}"
        if quoting.cost(line) <= budget:
            return [line]
    return []


def register(registry: Registry) -> None:
    """Enter the Low tiers."""
    registry.register("filter", "low", LexicalFilter())
    registry.register("entity", "low", NamedEntities())
    registry.register("temporal", "low", DateRules())
    registry.register("topic", "low", SameTopic())
    registry.register("summary", "low", Extract())
