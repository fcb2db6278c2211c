"""Questions about what holds now or held then, and the facts that answer them.

"What is the gate code now?", "What was it in March?": a question asks for a fact if it names its subject and its
relation. If it says a time, or if the fact has had more than one value, the values are put before what is recalled,
each with its interval, and the items that state what held at that time come first.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pointwork.memory import quoting
from pointwork.memory.dates import Period, periods
from pointwork.memory.extracting import IMPLIED, PLACE, SELF, STATE, TIME
from pointwork.memory.facts import RANK, Fact, Facts
from pointwork.memory.items import UNTRUSTED, Item
from pointwork.text import tokenize

PREAMBLE = "What held when, by what memory's items say:"
SPARE = 8  # candidates beyond k among which the items of a fact are looked for
_KEYS, _VALUES = 2, 4  # subjects with a relation, and values of each, that are shown
_COVERED = 0.6
_SHARE = 3  # at most this part of the token budget goes to facts

_PAST = re.compile(
    r"\b(?:was|were|did|had|used\s+to|former(?:ly)?|previous(?:ly)?|earlier|before|back\s+then|originally|old)\b",
    re.I,
)
_FIRST = re.compile(r"\b(?:original(?:ly)?|initial(?:ly)?|at\s+first)\b", re.I)
_BEFORE = re.compile(r"(?<!day )\b(?:before|prior\s+to)\b", re.I)
_TIMED = re.compile(
    r"\b(?:now|currently|current|at\s+present|these\s+days|today|still|latest|newest|any\s?more|no\s+longer|used\s+to|"
    r"former(?:ly)?|previous(?:ly)?|earlier|before|back\s+then|originally|since|until|as\s+of|changed?|history)\b",
    re.I,
)
_MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_WHEN = re.compile(
    rf"\b(?:(?:{_DAY}\s+)?(?:of\s+)?(?:{_MONTH})(?:\s+{_DAY}\b)?|(?:19|20)\d\d(?:-\d\d)*|yesterday|"
    r"(?:last|this|next|past)\s+\w+|\w+\s+(?:days?|weeks?|months?|years?)\s+ago)\b",
    re.I,
)
_ASKS = {
    TIME: r"\b(?:when|what\s+time|which\s+day)\b",
    PLACE: r"\bwhere\b",
    STATE: r"\b(?:who|what|is|are|was|were)\b",
}
_OWN = re.compile(r"\b(?:my|i|our|me)\b", re.I)


@dataclass(frozen=True, slots=True)
class Timely:
    """Facts that answer a question.

    Attributes:
        facts: what held at the time asked for comes first.
        held: ids of the items that state it.
        text: the facts as quoted data under their sources' ids; empty if none fits the budget.
    """

    facts: tuple[Fact, ...] = ()
    held: tuple[str, ...] = ()
    text: str = ""


def timely(known: Facts, question: str, now: float, budget_tokens: int) -> Timely:
    """The facts that a question asks for; none, if it asks for none or if time makes no difference."""
    tokens = set(tokenize(_WHEN.sub(" ", _TIMED.sub(" ", question))))
    own = [SELF] if _OWN.search(question) else []
    asked = known.named([*tokens, *own], lambda subject, relation: _asks(question, tokens, subject, relation))
    if not asked:
        return Timely()
    asked.sort(key=lambda group: (-_covered(tokens, group[0].subject, group[0].relation), group[0].id))
    wanted = _wanted(question, now)
    told: list[Fact] = []
    held: list[str] = []
    for group in asked[:_KEYS]:
        if wanted is None and len(group) == 1:
            continue
        right, others = _at(group, wanted, question, now)
        told += [*right, *others][:_VALUES]
        trusted = [fact for fact in right if fact.trust not in UNTRUSTED]
        held += [source for fact in trusted for source in fact.sources]
    return Timely(tuple(told), tuple(dict.fromkeys(held)), _text(told, budget_tokens // _SHARE))


def line(fact: Fact) -> str:
    """A fact in one line: subject, relation, value, interval, and whether it is disputed."""
    about = fact.subject if fact.relation == STATE else f"{fact.subject}, {fact.relation}"
    begins, ends = _day(fact.valid_from), _day(fact.valid_to)
    since = f"{begins or 'before'} to {ends}" if ends else f"since {begins}" if begins else ""
    disputed = "; another source disagrees" if fact.disputed else ""
    return f"{about}: {fact.value}" + (f" ({since}{disputed})" if since or disputed else "")


def shown(fact: Fact) -> str:
    """A fact for a model: one line, under the id of a source; of an outsider between tags."""
    item = Item(fact.sources[0] if fact.sources else fact.id, line(fact), 0.0, "", fact.trust)
    return quoting.piece(item, item.text, quoting.who(item))


def first(items: Sequence[Item], held: Sequence[str], k: int) -> list[Item]:
    """The k best items, those that state what held first; scores still fall with the rank."""
    leading = [item for item in items if item.id in held or item.parent in held]
    others = [item for item in items if item not in leading]
    best = items[0].score if items else 0.0
    return [*(replace(item, score=max(best, item.score)) for item in leading), *others][:k]


def _wanted(question: str, now: float) -> Period | None:
    """The time asked for; None: none is said."""
    if before := _BEFORE.search(question):
        then = _meant(question[before.start() :], now)
        if then is not None:
            return then[0] - 1, then[0] - 1
    if found := _meant(question, now):
        return found
    return (now, now) if _TIMED.search(question) else None


def _meant(text: str, now: float) -> Period | None:
    """The latest of the times that a text says and that have begun; where none has, the first to come."""
    found = periods(text, now)
    begun = [period for period in found if period[0] <= now]
    return max(begun, default=min(found, default=None))


def _asks(question: str, tokens: set[str], subject: str, relation: str) -> bool:
    """Whether a question names a fact's subject, asks for its relation, and for little else."""
    who, what = set(tokenize(subject)), set(tokenize(relation))
    named = who and (len(who & tokens) * 2 > len(who) or (subject == SELF and _OWN.search(question)))
    if not named or _covered(tokens, subject, relation) < _COVERED:
        return False
    if relation in IMPLIED:
        return re.search(_ASKS[relation], question, re.I) is not None or relation in tokens
    return bool(what) and len(what & tokens) * 2 >= len(what)


def _covered(tokens: set[str], subject: str, relation: str) -> float:
    """The share of what a question is about, dates apart, that a fact's subject and relation hold."""
    return len(tokens & set(tokenize(f"{subject} {relation}"))) / (len(tokens) or 1)


def _at(group: list[Fact], wanted: Period | None, question: str, now: float) -> tuple[list[Fact], list[Fact]]:
    """Of a fact's values those that held at the time asked for, and the others, the newest first."""
    newest = sorted(group, key=lambda fact: (RANK[fact.trust], fact.valid_from or float("-inf")), reverse=True)
    start, end = wanted or (now, now)
    right = [fact for fact in newest if fact.holds(start, end)]
    undated = wanted in (None, (now, now))
    if undated and _FIRST.search(question):
        right = [min(newest, key=lambda fact: (-RANK[fact.trust], fact.valid_from or float("-inf")))]
    elif undated and _PAST.search(question):  # what was, and no date: what held before
        before = [fact for fact in newest if fact.valid_to is not None and fact.valid_to <= now]
        right = before[:1] or right
    return right, [fact for fact in newest if fact not in right]


def _text(facts: Sequence[Fact], budget: int) -> str:
    blocks: list[str] = []
    start = PREAMBLE
    for fact in facts:
        opening = f"{PREAMBLE} {quoting.WARNING}" if fact.trust in UNTRUSTED else start
        blocks.append(shown(fact))
        if sum(map(quoting.cost, [opening, *blocks])) > budget:
            blocks.pop()
            break
        start = opening
    return "\n".join([start, *blocks]) if blocks else ""


def _day(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
