"""The High tiers of entity, temporal and summary: what they do at Mid, and a model asked besides.

*entity* shows it what was found and looks for the names and phrases that it says are missing (a hop that shares no
word with what was found); *temporal* has it read a time that no rule knows ("over Easter"); *summary* has it answer
from the best items, and the sentences that hold the answer come first. It is shown quotations only, and what it
says is data too: phrases to look for, days, words to compare with. Nothing that it makes up can be shown. Where it
fails, the module does what it does at Mid, and the recall says so in its tiers.
"""

import itertools
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

from pointwork.errors import PointworkError
from pointwork.memory import quoting
from pointwork.memory.compact import Compact, Piece, likelier
from pointwork.memory.dates import Period, period_of
from pointwork.memory.items import UNTRUSTED, Item
from pointwork.memory.low import clipped
from pointwork.memory.mid import Features, Mentions
from pointwork.memory.modules import Meter, Need, Question, Registry, Resources
from pointwork.memory.view import View
from pointwork.models.protocol import ChatRequest
from pointwork.text import count_tokens_estimate, tokenize

_log = logging.getLogger("pointwork.memory")

SHOWN, LONGEST = 6, 60  # items that entity shows the model, and tokens of each
PHRASES, FOUND = 3, 5  # phrases that it may name, and documents that each brings
SOUGHT = 1.5  # log-odds of a document for holding all of a phrase
ASKED = 200  # tokens of the question
READ = 500  # tokens of the best items that summary shows it
NAMED = 2.0  # log-odds of a sentence, and of its item, for holding all of the answer that it gives

# where a model may know a time better than the rules of ``dates``: seasons, feasts, spans, parts of a year
_TIMED = re.compile(
    r"\b(?:spring|summer|autumn|fall|winter|christmas|easter|new year|thanksgiving|halloween|weekend|quarter|"
    r"decade|century|(?:twen|thir|for|fif|six|seven|eigh|nine)ties|\d\d(?:\d\d)?s|half|fortnight|early|late|mid|"
    r"between|since|until|before|after|around|couple of|few|ago|last|past|next|beginning|middle|end)\b",
    re.IGNORECASE,
)


class AskedEntities(Mentions):
    """Mid's second hop, and documents for what a model says has to be looked for."""

    needs: Need = "model"

    def look(self, question: Question, view: View, resources: Resources, meter: Meter) -> Sequence[float] | None:
        super().look(question, view, resources, meter)
        if not view.known:
            return None
        best = sorted(range(len(view.known)), key=lambda n: -float(view.first[n]))[:SHOWN]
        items = [view.known[n].item for n in best]
        lines = [_numbered(item, clipped(item.text, LONGEST), n) for n, item in enumerate(items, 1)]
        said = _said(
            f"Question: {_line(question)}\n\n{quoting.preamble(items)}\n" + "\n".join(lines) + "\n\n"
            "To answer the question more has to be found. Which names or short phrases should be searched for?",
            {"search": {"type": "array", "items": {"type": "string", "maxLength": 60}, "maxItems": PHRASES}},
            resources,
            meter,
            20 * PHRASES,
        )
        given: dict[int, float] = {}
        for phrase in dict.fromkeys(said.get("search", ())):
            for place, share in view.seek(phrase, FOUND).items():
                given[place] = max(given.get(place, 0.0), SOUGHT * share)
        return [given.get(place, 0.0) for place in view.places.tolist()] if given else None


class AskedTimes(Features):
    """Mid's features with the time that a model reads in the question, where its words hint at one."""

    needs: Need = "model"

    def look(self, question: Question, view: View, resources: Resources, meter: Meter) -> Sequence[float] | None:
        if _TIMED.search(question.text):
            today = datetime.fromtimestamp(question.now, UTC)
            day = {"type": "string", "maxLength": 10}
            said = _said(
                f"Today is {today:%A}, {today:%Y-%m-%d}.\nQuestion: {_line(question)}\n\n"
                "Which time does the question speak of? Copy its words, and give its first and its last day as "
                'YYYY-MM-DD. Give "" where it speaks of none.',
                {"words": {"type": "string", "maxLength": 60}, "first": day, "last": day},
                resources,
                meter,
                60,
            )
            view.periods = _refined(_period(said, question.text, today.date()), question.times())
        return None


class AskedSummary(Compact):
    """Mid's knapsack, in which sentences weigh more that hold the answer which a model reads in them."""

    needs: Need = "model"

    def pieces(self, question: Question, items: Sequence[Item], resources: Resources, meter: Meter) -> list[Piece]:
        pieces = super().pieces(question, items, resources, meter)
        room = question.budget_tokens - quoting.cost(quoting.preamble(list(items)))
        whole = sum(quoting.cost(_numbered(one.item, one.item.text, 1)) for one in pieces)
        if room <= 0 or whole <= room:
            return pieces  # for nothing, or for all of it
        lines = [_numbered(piece.item, _clipped(piece.item.text), n) for n, piece in enumerate(pieces, 1)]
        lines = _fitting(lines, READ)
        said = _said(
            f"{quoting.preamble(list(items[: len(lines)]))}\n" + "\n".join(lines) + "\n\n"
            f"Question: {_line(question)}\nAnswer in the fewest words, taken from the quotations.",
            {"answer": {"type": "string", "maxLength": 100}},
            resources,
            meter,
            40,
        )
        told = set(tokenize(said.get("answer", ""))) - set(question.tokens)
        weights = resources.index.lexical.idf(sorted(told))
        most = sum(weights.values())
        for piece in pieces if most else ():
            texts = [piece.item.text[one.start : one.end] for one in piece.sentences]
            shares = [sum(weights[token] for token in told.intersection(tokenize(text))) / most for text in texts]
            for number, share in enumerate(shares):
                piece.named(number, NAMED * share)
            piece.worth = likelier(piece.worth, NAMED * max(shares))  # once, however often it says so
        return pieces


def _line(question: Question) -> str:
    """The question in one line; it may hold what earlier steps found."""
    text = " ".join(question.text.split())
    return text if count_tokens_estimate(text) <= ASKED else clipped(text, ASKED)


def _clipped(text: str) -> str:
    return text if count_tokens_estimate(text) <= READ // 2 else clipped(text, READ // 2)


def _fitting(lines: Sequence[str], budget: int) -> list[str]:
    """The first of some lines, within a budget of tokens."""
    spent = itertools.accumulate(map(quoting.cost, lines))
    return [line for line, so_far in zip(lines, spent, strict=True) if so_far <= budget]


def _said(
    prompt: str, properties: dict[str, Any], resources: Resources, meter: Meter, max_tokens: int
) -> Mapping[str, Any]:
    """What the model says, as its schema has it; nothing where it fails."""
    from pointwork.models.structured import find_json, loads, problems

    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    try:
        reply = resources.reader.ask(
            ChatRequest([{"role": "user", "content": prompt}], max_tokens=max_tokens + 20, schema=schema)
        )
    except PointworkError as error:
        meter.fell_back = True
        _log.warning("memory's model failed, tier mid did the work: %s", error)
        return {}
    meter.tokens += reply.tokens
    meter.usd += reply.usd
    meter.waited += reply.seconds
    found = find_json(reply.text)
    value = None if found is None else loads(found)
    if value is None or problems(value, schema):
        meter.fell_back = True
        _log.warning(
            "memory's model gave no such answer as was asked for, tier mid did the work: %.80r", reply.text
        )
        return {}
    return cast(Mapping[str, Any], value)


def _numbered(item: Item, text: str, number: int) -> str:
    """A quotation under a number, fenced if an outsider wrote it."""
    # between tags, which carry it, a piece does not begin with its id
    said = str(number) if item.trust in UNTRUSTED else ""
    return quoting.piece(
        replace(item, id=str(number)), " ".join(text.split()), f"{said} {quoting.who(item)}".strip()
    )


def _period(said: Mapping[str, Any], question: str, today: date) -> list[Period]:
    """The time that a model read, if it is one.

    None unless its words stand in the question and its days are days. Nor today: the rules know the words for that,
    and a small model says it where it knows nothing.
    """
    words = " ".join(str(said.get("words", "")).lower().split())
    if not words or words not in " ".join(question.lower().split()):
        return []
    try:
        first, last = (date.fromisoformat(said[key]) for key in ("first", "last"))
    except ValueError:
        return []
    if not first <= last < date.max or first == last == today:
        return []
    return [period_of(first, last + timedelta(days=1))]


def _refined(read: list[Period], ruled: list[Period]) -> list[Period]:
    """The time that a model read; where rules read one, it may refine that and not say another."""
    refines = any(start < its_end and its_start < end for start, end in read for its_start, its_end in ruled)
    return read if refines or not ruled else []


def register(registry: Registry) -> None:
    """Enter the High tiers that ask a model."""
    registry.register("entity", "high", AskedEntities())
    registry.register("temporal", "high", AskedTimes())
    registry.register("summary", "high", AskedSummary())
