"""What the files say to a question: sentences, the piece of one that answers it, and whether any does."""

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from pointwork.agents import pointed
from pointwork.agents.gathering import rows_about
from pointwork.agents.parsing import nearness
from pointwork.agents.readings import conversions, extracting, sentences, spans
from pointwork.agents.readings.enumerated import best_listed
from pointwork.agents.readings.extracting import RATED, READ, SAID, SURE
from pointwork.agents.readings.finishing import with_its_day, with_year
from pointwork.agents.readings.names import names
from pointwork.agents.readings.parted import of_its_part
from pointwork.agents.readings.question import Question
from pointwork.agents.readings.telling import named, told
from pointwork.agents.readings.wanting import Wanted, asking, wanted
from pointwork.agents.spec import FITTING, Prepared
from pointwork.errors import ToolError
from pointwork.text import tokenize
from pointwork.tools import ToolContext, passages

# Passages and items that go into a prompt; pieces of sentences that a model chooses from.
PASSAGES, CHOICES = 3, 5

# How many of the sentences that fit best by their words are compared with the question by an encoder, and what the
# cosine and what its words are worth then. Together they are as large as often as the words alone were, so what is
# said about scores elsewhere stays as it is (docs/readings.md, "Which sentence").
COMPARED, NEARNESS, WORDS, FAR = 36, 1.25, 0.5, 0.035

# How likely words that are pointed at have to be the answer; for somebody to read the page whether they are; and
# where no sentence fits well. How likely it is that nothing is said for the learned choice to be silent too, unless
# it is KNOWN or asked by a number, which no encoder tells from another (docs/readings.md, "Which words").
POINTED, LIKELY, SURELY, SILENT, KNOWN = 0.5, 0.35, 0.7, 0.7, 0.75

# Passages that a trained reader is given, one after the other.
READ_WHOLE = 2

# A sentence that fits a question this well speaks of the same, whether or not it holds the answer; its passage is
# read from the second on.
SPEAKS, READS = 0.5, 0.4

# The same of what may be said in another unit than is asked for, which was rarely seen in training.
CONVERTED = 0.15

# Where a sentence speaks of the same, it counts how sure the answer in it is, at most so much: such an answer is
# right for 12 of 12 questions of one look-up, and tasks of more steps hardly have one. Where it fits less than
# SAYS_IT it counts less.
SAYS_IT, SAID_BEST, SAID_WELL = 1.25, 0.94, 0.75

# How well files fit where a sentence says in so many words who it is.
TOLD = 0.98

# A line of a table, a heading or a section of settings, which are read by rule.
_LAID_OUT = re.compile(r"\s*(?:[|#]|\[[^\]\s]+\]\s*(?:[#;].*)?$)")

# A sentence that long is itself an answer, where it is not clear which piece of it is.
QUOTED = 25

# Rows of data are for the agent of tables.
_DATA = (".csv", ".tsv", ".jsonl", ".ndjson")
_LOOK_UP = re.compile(
    r"\b(?:look(?:ing)?\s+up|see|notes?|minutes\s+of|page|handbook|manual|program(?:me)?|code|script|according\s+to|read(?:ing)?)\b",
    re.IGNORECASE,
)


async def sentences_about(text: str, context: ToolContext, most: int = READ) -> list[sentences.Sentence]:
    """The sentences of the files that fit a question, best first."""
    root = context.root
    if root is None:
        return []

    def find() -> list[sentences.Sentence]:
        resolved = root.resolve()
        found = [passage for passage, _ in passages.search(resolved, text, 15)] + passages.alike(resolved, text, 10)
        prose = [passage for passage in dict.fromkeys(found) if not passage.path.lower().endswith(_DATA)]
        return nearest(text, sentences.ranked(text, prose, lambda token: passages.idf(resolved, token)))

    try:
        return (await asyncio.to_thread(find))[:most]
    except ToolError:
        return []


def nearest(text: str, found: Sequence[sentences.Sentence]) -> list[sentences.Sentence]:
    """The best of some sentences anew, by their words and by how near they are to the question."""
    near = nearness.shipped().of(text, [one.headed for one in found[:COMPARED]])
    near = np.pad(near, (0, len(found) - len(near)), mode="minimum") if found else near
    scores = (WORDS * one.score + NEARNESS * float(n) - FAR for one, n in zip(found, near, strict=True))
    return sorted(map(_scored, found, scores), key=lambda one: -one.score)


def _scored(sentence: sentences.Sentence, score: float) -> sentences.Sentence:
    return replace(sentence, score=score)


def pages_of(found: Sequence[sentences.Sentence], most: int = PASSAGES) -> list[tuple[str, str]]:
    """(source, text) of the passages that the best sentences stand in, each below its heading."""
    told: dict[str, str] = {}
    for sentence in found:
        passage = sentence.passage
        headed = passage.heading and passage.heading not in passage.text[: len(passage.heading) + 8]
        told.setdefault(passage.source, f"{passage.heading}\n{passage.text}" if headed else passage.text)
    return list(told.items())[:most]


async def fits_files(text: str, context: ToolContext) -> float:
    found = await sentences_about(text, context)
    if told(text, found) or _listed(text, wanted(text), found):
        return TOLD
    fit = min(0.9, 0.42 * found[0].score + (0.15 if _LOOK_UP.search(text) else 0.0)) if found else 0.0
    if context.root is None or not found or found[0].score < FITTING:
        return fit
    idf, nowhere = partial(passages.idf, context.root.resolve()), await absent(text, context)
    said = await asyncio.to_thread(quoted, text, found, idf, nowhere)
    most = SAID_BEST if found[0].score >= SAYS_IT else SAID_WELL
    return max(fit, min(most, 0.5 + 0.5 * said.sure)) if said.answer and said.firm and said.sure else fit


async def absent(text: str, context: ToolContext) -> float:
    """The share of a question's words that stand nowhere in the files; 0 without files."""
    words = [set(tokenize(word.text)) for word in Question(text).words if word.content]
    root = context.root
    if not words or root is None:
        return 0.0
    there = await asyncio.to_thread(passages.held, root.resolve(), {stem for stems in words for stem in stems})
    return sum(not stems & there for stems in words) / len(words)


class Quoted(NamedTuple):
    """What sentences say to a question.

    Attributes:
        answer: empty where it is not clear.
        pieces: what may be the answer, best first.
        said: whether any sentence says it.
        firm: the answer is that piece of its sentence more likely than not, or was read by rule.
        sure: how likely it is, where it was not read by rule.
    """

    answer: str
    pieces: list[spans.Span]
    said: bool
    firm: bool = False
    sure: float = 0.0


def quoted(
    question: str, found: Sequence[sentences.Sentence], idf: Callable[[str], float], nowhere: float = 0.0
) -> Quoted:
    """What the best sentences say to a question.

    Args:
        question: as it was asked.
        found: sentences, best first; at least one.
        idf: of a stem.
        nowhere: share of the question's words that stand nowhere (``absent``).
    """
    want = wanted(question)
    if (said := _outright(question, want, found)) is not None:
        return said
    if want.kind in _NAMED:  # hook 9 is not hook 5
        found = [sentence for sentence in found if _numbered(question, sentence)]
        if not found:
            return Quoted("", [], False)
    found = _of_the_named(question, want, found)
    pieces = spans.candidates(question, want, found, RATED)
    strict = want.kind in spans.STRICT
    if not pieces and strict:  # no amount of money anywhere: nothing says what it costs
        return Quoted("", [], False)
    laid_out = _LAID_OUT.match(found[0].text) or spans.is_constant(found[0].text)
    extract = None if laid_out else extracting.extract(question, found, pieces, idf, nowhere)
    if extract is None:
        fitting = found[0].score >= FITTING and pieces
        return Quoted(pieces[0].text if fitting else "", pieces, bool(pieces), firm=True)
    formed = {piece.text for piece in pieces}
    pieces = [piece for piece in extract.pieces if not strict or piece.text in formed] or pieces
    meant = of_its_part(question, pieces) if strict else None
    read, unsaid = (None, 0.0) if meant is not None else pointed.read(question, want, found, extract, nowhere)
    if read is not None and read.score >= (LIKELY if found[0].score >= FITTING else SURELY):
        said = with_its_day(question, read.text, read.sentence.text)
        return Quoted(said, [read, *pieces], True, read.score >= POINTED, read.score)
    pieces = [meant, *(piece for piece in pieces if piece != meant)] if meant is not None else pieces
    asked = conversions.asked_unit(question)
    other = asked is not None and not set(tokenize(pieces[0].text)) & set(tokenize(question))
    says = extract.said >= (CONVERTED if other else SAID) and _speaks(question, pieces[0].sentence)
    doubted = unsaid >= SILENT and extract.sure < KNOWN and not other and not _NUMBER.search(question)
    if not says or found[0].score < FITTING or doubted:
        return Quoted("", pieces, says)
    firm = extract.sure >= SURE
    if want.several > 1:
        return Quoted(_several(want, pieces), pieces, True, firm)
    sentence = pieces[0].sentence.text
    whole = not strict and want.kind in ("phrase", "place") and not firm
    answer = sentence if whole and len(sentence.split()) <= QUOTED else pieces[0].text
    if extracting.form_of(question) == "why" and not pointed.gives_reason(sentence, answer):
        return Quoted("", pieces, False)
    return Quoted(with_its_day(question, answer, sentence), pieces, True, firm, extract.sure)


def _outright(question: str, want: Wanted, found: Sequence[sentences.Sentence]) -> Quoted | None:
    """What rules read in the best sentences; None: nothing."""
    if want.kind == "yes-no":
        denied = _denies(question, found[0].text)
        return Quoted("" if found[0].score < FITTING else "no" if denied else "yes", [], True)
    if best := _listed(question, want, found):
        return Quoted(best, [spans.Span(best, 1.0, found[0])], True, firm=True)
    if who := told(question, found):
        return Quoted(who.name, [spans.Span(who.name, 1.0, who.sentence)], True, firm=True)
    if want.kind == "phrase" and found[0].score >= FITTING and (thing := named(question, found[0])):
        return Quoted(thing, [spans.Span(thing, 1.0, found[0])], True, firm=True)
    return None


def _listed(question: str, want: Wanted, found: Sequence[sentences.Sentence]) -> str:
    """The most or least of what the best sentence lists; empty where it lists nothing that is asked for."""
    return best_listed(question, want.kind, found[0].text, found[0].passage.heading) if found else ""


_DENIES = re.compile(
    r"\b(?:no|not|never|nobody|nothing|none|neither|nor|nowhere|except|without|forbidden|prohibited|banned|closed|shut)\b|n['’]t\b",
    re.IGNORECASE,
)


_SAME = (frozenset(["closed", "shut"]), frozenset(["forbidden", "prohibited", "banned"]))


def _denies(question: str, text: str) -> bool:
    """Whether a text denies what is asked; "closed" denies nothing where somebody asks whether it is closed."""
    asked = {match[0].lower() for match in _DENIES.finditer(question)} - {"n't", "n’t"}
    asked |= {word for same in _SAME if same & asked for word in same}
    return any(match[0].lower() not in asked for match in _DENIES.finditer(text))


def _speaks(question: str, sentence: sentences.Sentence) -> bool:
    """Whether a sentence, its heading or the one before hold a word of the question: a room is no piano."""
    held = sentences.stems_of(f"{sentence.before} {sentence.text} {sentence.passage.heading}")
    return any(sentences.holds(word.stem, held) for word in Question(question).words if word.content)


# What a number in a question only describes, and is not calculated with.
_NAMED = ("phrase", "person", "place")


def _numbered(question: str, sentence: sentences.Sentence) -> bool:
    """Whether a sentence holds the numbers of a question, or what it stands below."""
    around = f"{sentence.subject} {sentence.text} {sentence.passage.heading} {sentence.passage.path}"
    return set(_NUMBER.findall(question)) <= set(_NUMBER.findall(around))


_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.:]\d+)?(?![\w])")


def _of_the_named(question: str, want: Wanted, found: Sequence[sentences.Sentence]) -> Sequence[sentences.Sentence]:
    """The sentences that speak of whom a question names, if one of them can answer it: else all.

    Of two estimates in a page the one for Old Tom is meant, not that for Zuma.
    """
    asked = [set(tokenize(name[0])) for name in names(asking(question))]
    if not asked or (want.kind not in spans.STRICT and want.kind != "number"):
        return found
    of = [one for one in found if all(name & sentences.stems_of(_beside(one)) for name in asked)]
    return of if of and spans.candidates(question, want, of, 1) else found


def _beside(sentence: sentences.Sentence) -> str:
    """A sentence with what it stands below and behind."""
    passage = sentence.passage
    return f"{sentence.before} {sentence.subject} {sentence.text} {passage.heading} {passage.path}"


def _several(want: Wanted, pieces: Sequence[spans.Span]) -> str:
    """As many pieces of the best one's sentence as are asked for, none of them part of another."""
    same: list[str] = []
    for piece in pieces:
        if piece.sentence.text == pieces[0].sentence.text and not any(
            piece.text in text or text in piece.text for text in same
        ):
            same.append(piece.text)
    return ", ".join(same[: want.several]) if len(same) >= want.several else ""


def _to_read(question: str, found: Sequence[sentences.Sentence]) -> tuple[tuple[str, str], ...]:
    """The pages for a reader; code is read by rule, and whether something is so by what denies it."""
    prose = [sentence for sentence in found if not sentence.passage.path.lower().endswith(sentences.CODE)]
    fitting = found[0] in prose and found[0].score >= READS and wanted(question).kind != "yes-no"
    return tuple(pages_of(prose, READ_WHOLE)) if fitting else ()


async def prepare_files(text: str, context: ToolContext) -> Prepared:
    found = await sentences_about(text, context)
    if not found or context.root is None:
        return Prepared(fit=0.0)
    nowhere = await absent(text, context)
    idf = partial(passages.idf, context.root.resolve())
    answer, pieces, said, firm, _ = await asyncio.to_thread(quoted, text, found, idf, nowhere)
    dated = _dated(text, answer, pieces)
    pages = () if answer and firm else _to_read(text, found)
    shown: dict[str, str] = {}
    if dated is not None:
        answer, stands = dated
        shown[stands] = pieces[0].sentence.source
    for piece in pieces[:1]:
        if piece.text not in piece.sentence.text or piece.sentence.subject:
            # it is whom the sentence before speaks of, or that says of what this one speaks: "Its architect was …"
            named = piece.sentence.subject or piece.sentence.before
            shown[f"{named} {piece.sentence.text}"] = piece.sentence.source
    best = {piece.sentence.text: piece.sentence for piece in pieces[:3]}
    for sentence in [*best.values(), *found[:3]]:
        shown.setdefault(sentence.text, sentence.source)
    context_shown = tuple((source, piece) for piece, source in list(shown.items())[:PASSAGES])
    # with passages at hand an instant answer reads them; the tools are for what they do not hold
    return Prepared(
        context=context_shown,
        fit=max(found[0].score, FITTING if answer and firm else 0.0) if said else 0.0,
        background=partial(besides, text, context, found, [piece for _, piece in context_shown]),
        tools=(),
        answer=answer,
        choices=tuple(piece.text for piece in pieces[:CHOICES]),
        pages=pages,
    )


def _dated(question: str, answer: str, pieces: Sequence[spans.Span]) -> tuple[str, str] | None:
    """A day said without a year, with that of its page (``with_year``), and what says so."""
    if not pieces:
        return None
    sentence = next((piece.sentence for piece in pieces if piece.text == answer), pieces[0].sentence)
    passage = sentence.passage
    around = f"{passage.heading} . {re.sub(r'[^A-Za-z0-9-]+', ' ', passage.path)} . {passage.text}"
    found = with_year(question, answer, around)
    return (found[0], f"{sentence.text} ({found[1]})") if found is not None else None


async def besides(
    text: str, context: ToolContext, found: Sequence[sentences.Sentence], but: Collection[str] = ()
) -> list[tuple[str, str]]:
    """Of the sentences found those that fit and are not shown yet, and rows about what the question names."""
    fitting = [s for s in found if s.score >= SPEAKS and s.text not in but]
    return [*((s.source, s.text) for s in fitting[:PASSAGES]), *await rows_about(text, context)]
