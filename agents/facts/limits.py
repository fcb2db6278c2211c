"""Rows beyond a limit that the task or a sentence of the files tells: the days windier than the ferry sails in.

A query for them needs a number that stands in another file, and the parser of table questions sees only tables.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pointwork.agents.facts.groups import Group
from pointwork.agents.facts.rows import Row, Rows
from pointwork.agents.facts.topmost import asked_end, measures
from pointwork.agents.parsing.amounts import NUMBER, Amount, amounts_of
from pointwork.agents.parsing.telling import spoken
from pointwork.agents.readings import lexicon
from pointwork.agents.readings.conversions import unit_of
from pointwork.agents.readings.question import Question
from pointwork.text import tokenize
from pointwork.tools.catalog import TableInfo

LIMITS = 2
"""Limits of which the rows are shown."""

_OWN = 3  # what the task says itself counts as so many words of it
_STEM = 4  # letters of a word that begins another of its family
_TABLES = 2  # that a task may speak of, in which rows are looked for
_AROUND = 60  # characters of a sentence around a number that say what it limits

_BELOW = re.compile(
    rf"\b(?:{lexicon.LESS}(?=(?: \w+)? than\b)|(?:too|so) {lexicon.LESS}|{lexicon.LESS} enough|"
    r"under|below|within|at most|no more than|up to)\b",
    re.IGNORECASE,
)
_BEYOND = re.compile(
    r"\b(?:over|above|beyond|exceed\w*|past|at least|"
    rf"too (?!{lexicon.LESS}\b|much as\b)\w+|(?!{lexicon.LESS}\b)\w+ enough|"
    rf"(?<!no )(?:more|(?!{lexicon.LESS}\b|other\b|rather\b)\w{{2,}}er)(?= than\b)|more(?= \w+ than\b))\b",
    re.IGNORECASE,
)
# a limit that says nothing about the side that is meant
_LIMITED = re.compile(
    r"\b(?:limits?|allow(?:s|ed|ance)?|permit(?:s|ted)?|maximum|minimum|quota|threshold|free|qualif\w+)\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\bnot\b|n['’]t\b|\bwithout\b", re.IGNORECASE)
# rows are counted or added up, or some of them are chosen
_MEASURED = r"(?:per ?cent|minutes|hours|weeks|euros|pounds|kilo|litres|metres|miles|km|kg)"
_ROWS = re.compile(
    rf"\b(?:(?<!by )how many (?!{_MEASURED})|how often|(?:which|what) (?:share|percentage|part)|share of|count|"
    r"number of|per ?cent(?:age)? of|those (?!\d)|every|each|all|sum|total|add|altogether|together|"
    r"days (?:when|on which|that)|(?:any|some) of|of (?:the|our) \w+s|some \w+s)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d$")
_BREAK = re.compile(r"[.;:,](?=\s)")


@dataclass(frozen=True)
class _Limit:
    """A number, the words and the unit beside it, and by which operators rows are on a side that may be meant."""

    value: float
    words: frozenset[str]
    unit: object | None
    ways: tuple[str, ...]
    fits: int
    own: bool = False


def limited(task: str, lines: Sequence[str], every: Rows, likely: Sequence[TableInfo]) -> list[Group]:
    """Groups of rows on the side of a limit that the task speaks of; of each the operator and number are said.

    Only a limit that parts the rows, and of which a column tells: by its unit, or by a word of its clause. On which
    side they are, the task says ("too windy"), or else the sentence ("a red day is one with more than 9 kg").

    Args:
        task, lines: of what sentences say around it; dates, times and numbers in one form.
        every: the rows of the folder's tables.
        likely: the tables that the task may speak of, the likeliest first.
    """
    asked = frozenset(tokenize(task))
    own = _of_task(task) if asked_end(task) else ()  # what is only counted, a query says
    limits = [*own, *(_of_lines(task, asked, lines) if _ROWS.search(task) else ())]
    ranked: list[tuple[float, int, int, list[Group]]] = []
    for place, table in enumerate(likely[:_TABLES] if limits else ()):
        rows = [row for row in every.rows if row.table is table]
        named = _shared(asked, tokenize(table.name))
        for at in measures(table):
            name = table.own[at].name
            shared = _shared(asked, tokenize(name))
            values = [(float(row.cells[at]), row) for row in rows if row.cells[at]]
            for order, limit in enumerate(limits):
                worth = _fits(name, limit) if limit.own or shared or named else 0.0
                if worth and (groups := list(_parted(spoken(name), values, limit))):
                    ranked.append((worth + shared + limit.fits, -place, -order, groups))
    ranked.sort(key=lambda one: one[:3], reverse=True)
    return [group for *_, groups in ranked[:LIMITS] for group in groups]


def _of_task(task: str) -> Iterator[_Limit]:
    """The numbers that the task compares with."""
    for amount, said in _compared(task):
        if said and not _YEAR.match(amount.written):
            yield _Limit(amount.value, _words(task, amount), _unit(task, amount), (said,), _OWN, own=True)


def _of_lines(task: str, asked: frozenset[str], lines: Sequence[str]) -> Iterator[_Limit]:
    below, beyond = _BELOW.search(task) is not None, _BEYOND.search(task) is not None
    either = (below and beyond) or _LIMITED.search(task) is not None or _NOT.search(task) is not None
    for line in lines:
        for amount, said in _compared(line):
            # where just so much belongs to
            upward = said in (">=", "<") or line[: amount.start].lower().endswith("from ")
            sides = (">=", "<") if upward else (">", "<=")
            ways = (sides[below],) if below != beyond else (said,) if said and not either else sides
            words = _words(line, amount)
            if (below != beyond or said or _LIMITED.search(task)) and (fits := _shared(asked, words)):
                yield _Limit(amount.value, words, _unit(line, amount), ways, fits)


def _compared(text: str) -> Iterator[tuple[Amount, str]]:
    """Its numbers, and how it compares with each; empty where it does not."""
    compared = [one for one in Question(text).comparisons if one.op in _SAID]
    for amount in amounts_of([text]):
        if amount.kind == NUMBER:
            yield amount, next((one.op for one in compared if one.start <= amount.start < one.end), "")


def _words(text: str, amount: Amount) -> frozenset[str]:
    """Of the clause that an amount stands in."""
    before = _BREAK.split(text[max(0, amount.start - _AROUND) : amount.start])[-1]
    after = _BREAK.split(text[amount.end : amount.end + _AROUND])[0]
    return frozenset(tokenize(f"{before} {after}"))


def _unit(text: str, amount: Amount) -> object | None:
    match = re.match(r"\s*([A-Za-z]+(?:/h)?)", text[amount.end :])
    return unit_of(match[1]) if match else None


def _shared(words: Iterable[str], others: Iterable[str]) -> int:
    """How many words of one side are on the other, or begin one that is: windy days have wind."""
    there = set(others)
    return sum(
        word in there
        or any(
            min(len(word), len(one)) >= _STEM and (one.startswith(word) or word.startswith(one)) for one in there
        )
        for word in set(words)
    )


def _fits(column: str, limit: _Limit) -> float:
    """How well a column tells of what is limited; 0: not at all."""
    words = re.split(r"[\W_]+", column)
    unit = unit_of(words[-1]) if len(words) > 1 or limit.unit is not None else None
    if unit is not None and limit.unit is not None and unit != limit.unit:
        return 0.0
    same = unit is not None and unit == limit.unit
    return 1.0 * same + _shared(limit.words, tokenize(" ".join(words)))


def _parted(name: str, values: Sequence[tuple[float, Row]], limit: _Limit) -> Iterator[Group]:
    """The rows on the sides that may be meant, where some are on the other."""
    for way in limit.ways:
        held = [row for value, row in values if _holds(value, way, limit.value)]
        if 0 < len(held) < len(values):
            yield Group(held, f"{name} is {_SAID[way]} {limit.value:g}", 1.0)


_SAID = {">": "more than", ">=": "at least", "<": "less than", "<=": "at most"}


def _holds(value: float, operator: str, limit: float) -> bool:
    if operator[0] == ">":
        return value > limit or (operator == ">=" and value == limit)
    return value < limit or (operator == "<=" and value == limit)
