"""What the re-ranker knows of a candidate: one row of numbers each, in groups that belong to memory's modules.

Which of them help was measured by leaving groups out (docs/memory.md). Turns of dialogues and documents have models
of their own: what surrounds a turn tells most, and of a document, which others mention it.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwork.memory import dates
from pointwork.memory.names import names
from pointwork.memory.products import product
from pointwork.memory.texts import Known
from pointwork.memory.view import View
from pointwork.memory.words import bare_title, folded, plain_name
from pointwork.text import tokenize

Floats = NDArray[np.float32] | NDArray[np.float64]
Metered = Callable[[str], AbstractContextManager[Any]]
Group = tuple[str, tuple[str, ...], Callable[[], Floats]]

_PRONOUN = re.compile(r"\b(?:i|my|me|we|our|i'm|i've)\b", re.IGNORECASE)
_LOWER_PRONOUN = re.compile(_PRONOUN.pattern)
_DIGIT = re.compile(r"\d")
_INNER_NAME = re.compile(r" (?<=[a-z,] )(?=[A-Z]\w)")  # the space before it: a letter to look for first
_ASKS_WHEN = re.compile(
    r"\b(?:when|how long|how often|what (?:time|day|date|year|month)|which (?:day|year|month))\b", re.I
)
_KINDS = ("when", "where", "who", "what", "how many", "how long", "how", "why", "which", "would", "did", "is")
_KIND = [re.compile(rf"\b{kind}\b", re.IGNORECASE) for kind in _KINDS]

# group -> the names of its columns; a group's module at tier Low leaves its columns empty
COMMON = (
    *("total", "share", "own", "own_share", "rank", "near", "near_body", "near_gap", "near_rank", "first_gap"),
    *("covered", "rarest", "hits", "alike", "alike_least", "alike_mean", "alike_missed", "length"),
)
SHAPE = ("asks", "ends_asking", "pronoun", "digit", "names", "pairs", *(f"kind_{kind}" for kind in _KINDS))
_MARKS = SHAPE.index("pairs")  # so many, the first, are of the text alone
SPEAKER = ("said_by", "speakers", "said_by_one")
TEMPORAL = ("asks_when", "when_and_time", "time", "closeness", "period")
TOPIC = (
    *("before", "after", "before_2", "after_2", "window", "window_gap", "near_before", "near_after"),
    *("covered_around", "covered_before", "alike_around", "asked_before", "question_before", "feedback"),
)
LINKS = (
    *("titled", "titled_share", "linked_from", "links_to", "linked_from_asked", "complements", "together"),
    *("shared_names", "shared_rarest", "named", "mentions"),
    *("linked_from_first", "links_to_first", "linked_covered"),
)
TURN = COMMON + SHAPE + SPEAKER + TEMPORAL + TOPIC
NEAR = ("near_top",)
DOCUMENT = COMMON + NEAR + LINKS
MEANING = frozenset(
    {"near", "near_body", "near_gap", "near_rank", "alike", "alike_least", "alike_mean", "alike_missed"}
)
GROUPS = {
    "filter": MEANING,
    "entity": frozenset(SPEAKER + LINKS),
    "temporal": frozenset(TEMPORAL),
    "topic": frozenset((*TOPIC, "near_top")),
}


def turn_features(
    view: View, now: float, without: frozenset[str] = frozenset(), metered: Metered | None = None
) -> Floats:
    """Shape (candidates, len(TURN)), for turns of dialogues.

    Args:
        view: the candidates.
        now: from where "yesterday" is seen.
        without: groups that are left empty (NaN).
        metered: module -> a context that measures its work.
    """
    groups: list[Group] = [
        ("filter", COMMON, lambda: _common(view, "filter" not in without)),
        ("filter", SHAPE, lambda: _shape(view)),
        ("entity", SPEAKER, lambda: _speaker(view)),
        ("temporal", TEMPORAL, lambda: _temporal(view, now)),
        ("topic", TOPIC, lambda: _topic(view)),
    ]
    return _together(view, groups, without, metered)


def document_features(
    view: View, now: float, without: frozenset[str] = frozenset(), metered: Metered | None = None
) -> Floats:
    """Shape (candidates, len(DOCUMENT)), for texts of their own; arguments as above."""
    groups: list[Group] = [
        ("filter", COMMON, lambda: _common(view, "filter" not in without)),
        ("topic", NEAR, lambda: _near_top(view)),
        ("entity", LINKS, lambda: _links(view)),
    ]
    return _together(view, groups, without, metered)


def _together(view: View, groups: Sequence[Group], without: frozenset[str], metered: Metered | None) -> Floats:
    parts: list[Floats] = []
    for module, names_, compute in groups:
        if module in without and module != "filter":
            parts.append(np.full((len(view.known), len(names_)), np.nan, np.float32))
            continue
        with metered(module) if metered else nullcontext():
            parts.append(compute())
    return np.concatenate(parts, axis=1).astype(np.float32)


def _columns(*columns: object) -> Floats:
    return np.stack([np.asarray(column, np.float32) for column in columns], axis=1)


def ranks(values: Floats) -> Floats:
    """How many are higher; equals have the same."""
    return (len(values) - np.searchsorted(np.sort(values), values, "right")).astype(np.float32)


def _common(view: View, meaning: bool) -> Floats:
    scores, asked = view.scores, view.asked
    total, own = scores.total[view.places], scores.own[view.places]
    most, ideal = float(total.max(initial=0)) or 1.0, scores.ideal or 1.0
    vectors = view.vectors
    near = product(vectors, asked.vector)
    body = product(vectors, asked.body)
    idf = {token: scores.idf.get(token, 0.0) for token in asked.tokens}
    mass = sum(idf.values()) or 1.0
    held = view.held_here() * _values(idf)
    alike = view.alike()
    weights = _word_weights(view)
    missed = alike < 0.95
    missing = (weights[:, None] * missed).sum(axis=0)
    found = _columns(
        total / most,
        total / ideal,
        own / most,
        own / ideal,
        np.log1p(ranks(total)),
        near,
        body,
        body - body.max(initial=-1),
        1 / (1 + ranks(body)),
        view.first - view.first.max(initial=0),
        held.sum(axis=1) / mass,
        held.max(axis=1, initial=0.0) / 8,
        view.held_here().sum(axis=1),
        weights @ alike / (weights.sum() or 1.0),
        alike.min(axis=0, initial=1.0),
        alike.mean(axis=0) if len(alike) else np.zeros(len(view.known)),
        (weights[:, None] * missed * alike).sum(axis=0) / np.where(missing > 0, missing, 1.0),
        np.log1p(_lengths(view)),
    )
    if not meaning:
        found[:, [COMMON.index(name) for name in COMMON if name in MEANING]] = np.nan
    return found


def _values(idf: Mapping[str, float]) -> Floats:
    return np.array(list(idf.values()), np.float64)


def _lengths(view: View) -> Floats:
    """How many tokens each candidate has, title and text; the index counts titles twice more, and none as one."""
    lengths = view.index.lexical.columns.lengths[view.places]
    for n, known in enumerate(view.known):
        if lengths[n] <= 1:
            lengths[n] = len(known.tokens)
        elif known.row["title"]:
            lengths[n] -= 2 * len(tokenize(known.row["title"]))
    return lengths


def _word_weights(view: View) -> Floats:
    found: list[float] = []
    for word in view.asked.words:
        tokens = tokenize(word)
        found.append(view.scores.idf.get(tokens[0], 0.0) if tokens else 0.0)
    return np.array(found, np.float32)


def _shape(view: View) -> Floats:
    pairs = set(zip(view.asked.tokens, view.asked.tokens[1:], strict=False))
    kinds = [1.0 if kind.search(view.asked.text) else 0.0 for kind in _KIND]
    held = view.held_here()
    may: list[int] = np.flatnonzero(np.any(held[:, :-1] & held[:, 1:], axis=1)).tolist()
    found = np.zeros((len(view.known), len(SHAPE)), np.float32)
    found[:, :_MARKS] = [_marks(known) for known in view.known]
    for n in may:
        tokens = view.known[n].tokens
        found[n, _MARKS] = len(pairs & set(zip(tokens, tokens[1:], strict=False)))
    found[:, _MARKS + 1 :] = kinds
    return found


def _marks(known: Known) -> tuple[float, ...]:
    """Of a candidate's shape what no question changes; found once."""
    if known.marks is None:
        text = known.exact
        plain = text.isascii()  # to ignore case by lower case is quicker, and the same in ASCII
        known.marks = (
            "?" in text,
            text.rstrip().endswith("?"),
            (_LOWER_PRONOUN.search(text.lower()) if plain else _PRONOUN.search(text)) is not None,
            _DIGIT.search(text) is not None,
            len(_INNER_NAME.findall(text)),
        )
    return known.marks


def _speaker(view: View) -> Floats:
    speakers = view.asked.speakers
    said = np.array([1.0 if (k.row["speaker"] or "").lower() in speakers else 0.0 for k in view.known])
    return _columns(said, np.full(len(said), len(speakers)), (len(speakers) == 1) * np.where(said > 0, 1.0, -1.0))


def _temporal(view: View, now: float) -> Floats:
    asks = 1.0 if _ASKS_WHEN.search(view.asked.text) else 0.0
    wanted = view.periods or dates.periods(view.asked.text, now)
    rows: list[list[float]] = []
    for known in view.known:
        tells = 1.0 if dates.mentions_time(known.exact) else 0.0
        time = known.row["time"]
        near = dates.closeness(time, wanted) if wanted and time is not None else 0.0
        rows.append([asks, asks * tells, tells, near, float(bool(wanted))])
    return np.array(rows, np.float32).reshape(len(view.known), len(TEMPORAL))


def _topic(view: View) -> Floats:
    own, places = view.scores.own, view.places
    most = float(view.scores.total[places].max(initial=0)) or 1.0
    links = view.index.lexical.links
    before, after, beside = view.neighbours()
    before_2 = np.where(before >= 0, links[0, np.maximum(before, 0)], -1)
    after_2 = np.where(after >= 0, links[1, np.maximum(after, 0)], -1)
    left, middle, right = view.vectors_of(before), view.vectors, view.vectors_of(after)
    window = middle + 0.5 * left + 0.5 * right
    window /= np.linalg.norm(window, axis=1, keepdims=True) + 1e-9
    near = product(window, view.asked.body)
    idf = {token: view.scores.idf.get(token, 0.0) for token in view.asked.tokens}
    mass = sum(idf.values()) or 1.0
    around = [(beside.get(b), beside.get(a)) for b, a in zip(before.tolist(), after.tolist(), strict=True)]
    values = _values(idf) / mass
    covered = view.held_here() | view.held(before)
    weights = _word_weights(view)
    alike = view.alike_around(before, after, beside)
    feedback = middle[:3].mean(axis=0)
    return _columns(
        view.of(own, before) / most,
        view.of(own, after) / most,
        view.of(own, before_2) / most,
        view.of(own, after_2) / most,
        near,
        near - near.max(initial=-1),
        product(left, view.asked.body),
        product(right, view.asked.body),
        (covered | view.held(after)) @ values,
        covered @ values,
        weights @ alike / (weights.sum() or 1.0),
        [b is not None and b.exact.rstrip().endswith("?") for b, _ in around],
        [b is not None and "?" in b.exact for b, _ in around],
        product(middle, feedback),
    )


def _near_top(view: View) -> Floats:
    """How near a document is to another of the best three."""
    vectors = view.vectors
    cosines = vectors @ vectors[:3].T * np.maximum(view.first[:3], 0)
    for n in range(min(3, len(vectors))):
        cosines[n, n] = 0
    return _columns(cosines.max(axis=1, initial=0))


def _links(view: View) -> Floats:
    """Who mentions whom: the graph of candidates, by titles and shared names."""
    count, asked = len(view.known), view.asked
    found = [known.names for known in view.known]
    titles = [bare_title(known.row["title"] or "") for known in view.known]
    question = f" {plain_name(asked.text)} "
    idf = {token: view.scores.idf.get(token, 0.0) for token in asked.tokens}
    mass = sum(idf.values()) or 1.0
    held = view.held_here()
    weights = np.array(list(idf.values()), np.float32) / mass
    titled = np.array([len(t) > 3 and f" {t} " in question for t in titles])
    strength = np.maximum(view.first, 0) / (float(view.first.max(initial=0)) or 1.0) + 0.5 * titled
    link = np.zeros((count, count), bool)  # [i, j]: i mentions the title of j
    for j, title in enumerate(titles):
        if len(title) > 3:
            spaced, begin = f" {title} ", title.split()[0]
            for i, some in enumerate(found):
                # the first word by itself: a look into a set instead of a search
                link[i, j] = begin in some.words and i != j and titles[i] != title and spaced in some.plain
    both = link | link.T
    # All of these are numbers; BLAS now and then raises the processor's flag for what stands beside a small matrix.
    with np.errstate(invalid="ignore"):
        covered = held @ weights
        gains = np.maximum(held[None, :, :] & ~held[:, None, :], 0) @ weights  # [j, i]: what i adds to j
        together = (held[None, :, :] | held[:, None, :]) @ weights
    shared, rarest = _shared_names(view, strength)
    asked_names = _weighed(names(folded(asked.text[:1].lower() + asked.text[1:])), idf)
    heaviest = sum(asked_names.values()) or 1.0
    linked_from = _most(link * strength[:, None])
    links_to = _most((link * strength[None, :]).T)
    return _columns(
        titled,
        [_title_share(known.row["title"], idf) for known in view.known],
        linked_from,
        links_to,
        _most(link * titled[:, None]),
        _most(both * gains * strength[:, None]),
        np.maximum(_most(both * together), covered),
        shared,
        rarest,
        [sum(w for name, w in asked_names.items() if name in known.names.names) / heaviest for known in view.known],
        np.log1p(link.sum(axis=1)),
        linked_from * view.first,
        links_to * view.first,
        linked_from * covered,
    )


def _most(table: NDArray[np.generic]) -> Floats:
    """The highest of each column; 0 of none."""
    return np.asarray(table, np.float32).max(axis=0, initial=0)


def _title_share(title: str | None, idf: dict[str, float]) -> float:
    tokens = set(tokenize(title)) if title else set[str]()
    shared = sum(idf[token] for token in tokens if token in idf)
    # what the question does not have counts as if it were as rare as its rarest word
    return shared / ((shared + len(tokens - idf.keys()) * max(idf.values(), default=1.0)) or 1.0)


def _weighed(some: frozenset[str], idf: dict[str, float]) -> dict[str, float]:
    """Names of the question with how rare they are."""
    return {name: max((idf.get(token, 0.0) for token in tokenize(name)), default=0.0) for name in some}


def _shared_names(view: View, strength: Floats) -> tuple[Floats, Floats]:
    """Names that a candidate shares with one of the best, by how few of the candidates have them: sum, and most."""
    found = [known.names.names for known in view.known]
    holders: dict[str, int] = {}
    for some in found:
        for name in some:
            holders[name] = holders.get(name, 0) + 1
    rare = {name: math.log(1 + len(found) / n) for name, n in holders.items() if 1 < n <= max(2, len(found) // 3)}
    top = math.log(1 + len(found) / 2) or 1.0
    sums, mosts = np.zeros(len(found), np.float32), np.zeros(len(found), np.float32)
    seeds: list[int] = np.argsort(-strength, kind="stable")[:10].tolist()
    for number, some in enumerate(found):
        mine = {name for name in some if name in rare}
        for seed in seeds:
            shared = mine & found[seed] if seed != number else set[str]()
            if shared:
                values = [rare[name] for name in shared]
                sums[number] = max(sums[number], strength[seed] * sum(values) / (8 * top))
                mosts[number] = max(mosts[number], strength[seed] * max(values) / top)
    return sums, mosts
