"""A second look at a question's best turns, by what the first look found among them. Tier Mid of topic.

The re-ranker's network sees each candidate by itself and beside its neighbours' words. Which others are likely it
can not see: that the turn before is, that the stretch of conversation around is, that it means the same as the
best. So the best turns by its score are looked at again, and a line in that score, in what stands around them, in
what they do (react, greet, exclaim) and in what the question's kind of answer is made of orders them anew. It was
fitted on scores of networks that had not seen the dialogue (``benchmarks/train_memory_ranker.py``).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwork.memory import features
from pointwork.memory.products import product
from pointwork.memory.view import View
from pointwork.text import NUMBER_WORDS

Floats = NDArray[Any]

LOOKED = 50  # turns that are looked at again: they hold .929 of LoCoMo 0-7's evidence, all 100 candidates .939
TOP = 5  # of them that the others are held against
STRETCH = 5  # turns on either side that are the stretch of conversation around one
_CLIP = 5.0  # deviations; what is further out was never seen in training
_LOUD = 3  # exclamation marks beyond which more say no more
_MANY = 3  # figures, names, words of time beyond which more say no more

COLUMNS = (
    *("score", "gap", "rank", "share", "score_before", "score_after", "score_before_2", "score_after_2"),
    *("share_before", "share_after", "like_likely", "like_best", "like_best_share", "like_best_mean"),
    "stretch_share",
    *("reacts", "greets", "exclaims", "reacts_after", "greets_after", "length_after"),
    *("reacts_before", "greets_before", "length_before"),
    *("where_place", "where_kind", "many_figures", "name_quoted", "long_span", "when_time", "why_cause"),
    *("feel_feeling", "list_listing", "who_names", "name_names", "what_names"),
)

# what a turn begins with that answers the one before, and tells little itself
_REACTS = re.compile(
    r"^\W*(?:wow|that'?s|congrat\w*|great|awesome|cool|nice|oh|sounds?|amazing|so (?:cool|glad|happy|sorry)"
    r"|i'?m (?:so )?(?:glad|happy|sorry)|sorry|glad|yay|woah|whoa|looks)\b",
    re.I,
)
_GREETS = re.compile(
    r"^\W*(?:thanks|thank you|hey|hi|hello|yeah|yes|yep|definitely|absolutely|sure|no|bye|for sure|totally"
    r"|of course|true|right)\b",
    re.I,
)
_NUMBERS = "|".join(word for word in NUMBER_WORDS if word not in ("zero", "one"))
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"

# kinds of question, and what in a text is of the kind of the answer: column -> (question, text)
_EXPECTED = {
    "where_place": (
        r"\b(?:where|(?:which|what) (?:city|country|place|state))\b",
        r"\b(?:[Ii]n|[Aa]t|[Tt]o|[Ff]rom|[Nn]ear|[Aa]round|[Vv]isit(?:ed|ing)?)\s+(?:the\s+|my\s+|our\s+)?[A-Z]\w+",
    ),
    "where_kind": (
        r"\b(?:where|(?:which|what) (?:city|country|place|state))\b",
        r"(?i)\b(?:park|beach|city|town|country|mountain|lake|museum|store|shop|studio|restaurant|cafe|school|college"
        r"|home|house|gym|hotel|street|place|farm|forest|trail|garden|center|centre|office|hospital|church|state)s?\b",
    ),
    "many_figures": (
        r"\bhow (?:many|much)\b",
        rf"(?i)\b(?:{_NUMBERS}|dozen|hundred|thousand|couple|few|several|twice|once|first|second|third|\d+)\b",
    ),
    "name_quoted": (
        r"\b(?:name|title|called|book|movie|song|band|game)s?\b",
        r"[\"“][^\"”]{2,60}[\"”]",
    ),
    "long_span": (
        r"\bhow (?:long|often|old)\b",
        r"(?i)\b(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|few|several|couple of|many)\s+"
        r"(?:more\s+)?(?:second|minute|hour|day|week|month|year|decade)s?\b",
    ),
    "when_time": (
        r"\b(?:when|what (?:time|day|date|year|month)|which (?:day|year|month))\b",
        r"(?i)\b(?:yesterday|today|tonight|tomorrow|last|next|this (?:week|month|year|morning|weekend|past)|ago"
        rf"|recently|weekend|since|{_DAYS}|{_MONTHS}|summer|winter|spring|fall)\b",
    ),
    "why_cause": (
        r"\b(?:why|what (?:inspired|motivated|made))\b",
        r"(?i)\b(?:because|since|so that|reason|cause|due to|to help|in order|want(?:ed)? to|inspired|motivat\w+"
        r"|means?|meant|makes? me|made me)\b",
    ),
    "feel_feeling": (
        r"\b(?:how (?:do|did|does|was|is)|feel\w*|think)\b",
        r"(?i)\b(?:feel\w*|felt|happy|sad|excited|proud|grateful|thankful|scared|nervous|love[ds]?|loving|enjoy\w*"
        r"|amazing|awesome|great|relax\w*|calm\w*|peace\w*|stress\w*|hard|tough|fun)\b",
    ),
    "list_listing": (
        r"\b(?:activities|things|kinds?|types?|hobbies|events|items|ways|what .*s (?:has|have|does|do|did))\b",
        r"(?i)\w+, \w+[^.!?]{0,40},? and \w+",
    ),
}
_ASKS_AND_TELLS = {name: (re.compile(asked, re.I), re.compile(told)) for name, (asked, told) in _EXPECTED.items()}
_COUNTED = ("many_figures", "when_time", "feel_feeling")  # by how often; the others by whether
_ASKS_NAMES = (
    re.compile(r"\b(?:who|whom|whose)\b", re.I),
    _ASKS_AND_TELLS["name_quoted"][0],
    re.compile(r"\b(?:what|which)\b", re.I),
)


@dataclass(frozen=True, slots=True)
class Line:
    """The line: mean, spread and weight of each column, and what is added."""

    mean: Floats
    spread: Floats
    weights: Floats
    added: Floats

    def scores(self, rows: Floats) -> Floats:
        """One score per row, on the scale of the first look's."""
        inputs = np.clip((rows - self.mean) / self.spread, -_CLIP, _CLIP)
        return (inputs @ self.weights + self.added).astype(np.float32)


def looked(view: View, scores: Floats, turns: Floats, rows: Floats, line: Line) -> Floats:
    """The scores of all candidates, those of the turns that were looked at again above those of the other turns.

    Args:
        view: the candidates.
        scores: of all of them, by the first look.
        turns: which of them are turns, as booleans.
        rows: features of the first look, shape (candidates, len(features.TURN)).
        line: what weighs the second.
    """
    chosen, columns = second_rows(view, scores, turns, rows)
    found = scores.copy()
    found[chosen] = line.scores(columns)
    others = np.setdiff1d(np.flatnonzero(turns), chosen)
    if len(others) and len(chosen):  # in their order, below the last that was looked at
        found[others] -= max(0.0, float(found[others].max()) - float(found[chosen].min()))
    return found


def second_rows(view: View, scores: Floats, turns: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """The turns that are looked at again, by number, and what is seen of them, shape (turns, len(COLUMNS))."""
    every = np.flatnonzero(turns)
    best = every[np.argsort(-np.round(scores[every], 3), kind="stable")]
    chosen = np.sort(best[:LOOKED])
    if not len(chosen):
        return chosen, np.zeros((0, len(COLUMNS)), np.float32)
    columns = [
        *_among(view, scores, every, best[:TOP], chosen),
        _stretch(view, scores, every, chosen),
        *_acts(view, chosen),
        *_expected(view, chosen, rows[chosen, features.TURN.index("names")]),
    ]
    return chosen, np.stack([np.asarray(column, np.float32) for column in columns], axis=1)


def _shares(scores: Floats) -> Floats:
    """Of the likelihood, a softmax."""
    shares = np.exp(scores - scores.max())
    return shares / shares.sum()


def _among(view: View, scores: Floats, every: Floats, top: Floats, chosen: Floats) -> list[Floats]:
    """The score and share of a turn and of those beside it, and its likeness to the likely ones."""
    mine, most, least = scores[chosen], float(scores[every].max()), float(scores[every].min()) - 1
    shares = np.zeros(len(scores))
    shares[every] = _shares(scores[every])
    before, before_2 = _steps(view, every, chosen, side=0, count=2)
    after, after_2 = _steps(view, every, chosen, side=1, count=2)
    vectors = view.vectors
    likely = shares[every] @ vectors[every]
    likely /= np.linalg.norm(likely) + 1e-9
    alike = product(vectors[chosen], vectors[top].T)
    alike[chosen[:, None] == top[None, :]] = 0
    return [
        mine,
        mine - most,
        np.log1p(features.ranks(scores[every])[np.searchsorted(every, chosen)]),
        shares[chosen],
        *(np.where(some >= 0, scores[some], least) - most for some in (before, after, before_2, after_2)),
        *(np.where(some >= 0, shares[some], 0.0) for some in (before, after)),
        product(vectors[chosen], likely),
        alike.max(axis=1),
        (alike * shares[top]).max(axis=1),
        alike.mean(axis=1),
    ]


def _stretch(view: View, scores: Floats, every: Floats, chosen: Floats) -> Floats:
    """The share of the likelihood in the stretch of conversation around a turn."""
    shares = np.zeros(len(scores) + 1)  # the last is for what is no candidate
    shares[every] = _shares(scores[every])
    steps = [step for side in (0, 1) for step in _steps(view, every, chosen, side=side, count=STRETCH)]
    return shares[np.stack(steps)].sum(axis=0)


def _steps(view: View, every: Floats, chosen: Floats, *, side: int, count: int) -> list[Floats]:
    """The candidates one, two … turns before (``side`` 0) or after (1) each of the chosen, by number; -1: none."""
    links = view.index.lexical.links
    order = every[np.argsort(view.places[every], kind="stable")]
    there = view.places[order]
    places, found = view.places[chosen], list[Floats]()
    for _ in range(count):
        places = np.where(places >= 0, links[side, np.maximum(places, 0)], -1)
        at = np.minimum(np.searchsorted(there, places), len(there) - 1)
        found.append(np.where(there[at] == places, order[at], -1))
    return found


def _acts(view: View, chosen: Floats) -> list[Floats]:
    """What a turn and those beside it do: react, greet or thank, exclaim; and how long those beside it are."""
    before, after, beside = view.neighbours()
    lengths = view.index.lexical.columns.lengths
    texts = _texts(view, chosen)
    found = [*_begins(texts), np.array([min(text.count("!"), _LOUD) for text in texts], float)]
    for places in (after[chosen], before[chosen]):
        there: list[int] = places.tolist()
        known = [beside.get(place) for place in there]
        found += _begins([one.exact if one else "" for one in known])
        found.append(np.log1p(np.where(places >= 0, lengths[np.maximum(places, 0)], 0.0)))
    return found


def _texts(view: View, chosen: Floats) -> list[str]:
    numbers: list[int] = chosen.tolist()
    return [view.known[n].exact for n in numbers]


def _begins(texts: Sequence[str]) -> list[Floats]:
    return [np.array([one.match(text) is not None for text in texts], float) for one in (_REACTS, _GREETS)]


def _expected(view: View, chosen: Floats, names: Floats) -> list[Floats]:
    """Whether a turn has what the question's kind of answer is made of; looked for only if it is asked for."""
    question = view.asked.text
    texts = _texts(view, chosen)
    found: list[Floats] = []
    for name, (asks, tells) in _ASKS_AND_TELLS.items():
        if asks.search(question) is None:
            found.append(np.zeros(len(texts)))
        elif name in _COUNTED:
            found.append(np.array([min(len(tells.findall(text)), _MANY) for text in texts], float))
        else:
            found.append(np.array([tells.search(text) is not None for text in texts], float))
    names = np.minimum(names, _MANY)
    return [*found, *(names * (asks.search(question) is not None) for asks in _ASKS_NAMES)]
