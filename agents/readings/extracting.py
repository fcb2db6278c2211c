"""Reading comprehension: a learned choice of the piece of a sentence that answers a question, or of none.

Each run of words of the best sentences is described by features (its category and those around it, what of the
question stands how near, forms and kinds) and weighed by a log-linear model over all of them together. Two more
regressions say how likely the sentence holds an answer at all, and how likely it is the piece that was chosen.
``benchmarks/train_extraction.py`` remakes the weights and says what they are worth.
"""

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pointwork.agents.readings import lexicon, spans
from pointwork.agents.readings.linear import Array, Linear, stored_in
from pointwork.agents.readings.names import names
from pointwork.agents.readings.pieces import Token, forms, runs, tokens
from pointwork.agents.readings.question import Question
from pointwork.agents.readings.sentences import ASKING, Sentence, holds, stems_of, word_vector
from pointwork.agents.readings.spans import Span
from pointwork.agents.readings.wanting import Wanted, asking, wanted
from pointwork.text import STOP_WORDS, tokenize

Features = dict[str, float]

READ = 6  # sentences that are looked into
RATED = 12  # pieces that the rules are asked for
KEPT = 8  # pieces that are given
# From this probability on a sentence says it; from that one on the piece that was chosen is the answer.
SAID, SURE = 0.5, 0.5
ALIKE = 0.45  # words whose cosine is less have nothing to do with each other

_WH = re.compile(r"\b(who|whom|whose|why|when|where|which|what|how)\b(?:\s+(\w+))?")
_BE = frozenset(["is", "are", "was", "were", "s"])
_DO = frozenset(
    ["do", "does", "did", "has", "have", "had", "can", "could", "may", "must", "will", "would", "should"]
)


@dataclass(frozen=True)
class Weights:
    """Of a piece among all others, of that the sentence says it, and of that it is this piece."""

    piece: Linear
    said: Linear
    sure: Linear


@dataclass(frozen=True)
class Extract:
    """What the sentences say.

    Attributes:
        pieces: possible answers, the likeliest first; never empty.
        said: probability that the sentence of the first holds an answer.
        sure: probability that the first piece is the answer.
    """

    pieces: tuple[Span, ...]
    said: float
    sure: float


@dataclass(frozen=True)
class Described:
    """A piece with its features."""

    place: int  # of its sentence
    text: str
    features: Features


@functools.cache
def shipped() -> Weights:
    """The weights that come with the package."""
    stored = stored_in(Path(__file__).with_name("extracting.npz"))
    return Weights(stored["piece"], stored["said"], stored["sure"])


def extract(
    question: str,
    found: Sequence[Sentence],
    rated: Sequence[Span],
    idf: Callable[[str], float],
    absent: float = 0.0,
    weights: Weights | None = None,
) -> Extract | None:
    """What the best sentences say to a question; None if they hold nothing that can be an answer.

    Args:
        question: as it was asked.
        found: sentences, best first.
        rated: the best ``RATED`` pieces by the rules (``spans.candidates``).
        idf: of a stem.
        absent: share of the question's words that stand nowhere in the files.
        weights: others than those that come with the package.
    """
    described = describe(question, found, rated, idf)
    if not described:
        return None
    weights = weights or shipped()
    scores = np.array([weights.piece.logits(one.features)[0] for one in described])
    order = np.argsort(-scores, kind="stable")
    best = described[int(order[0])]
    standing = standings(question, best.features, [one.place for one in described], scores, absent)
    texts: dict[str, Span] = {}
    asked = set(tokenize(question, stop=False))
    for k in order:
        one = described[int(k)]
        text = spans.clean(one.text)
        if text and not _said_already(text, asked):
            texts.setdefault(text, Span(text, float(scores[k]), found[one.place]))
        if len(texts) == KEPT:
            break
    if not texts:
        return None
    said, sure = (1 / (1 + np.exp(-head.logits(standing)[0])) for head in (weights.said, weights.sure))
    return Extract(tuple(texts.values()), float(said), float(sure))


def _said_already(text: str, asked: set[str]) -> bool:
    """Whether a piece is made of words of the question: it asks for something else."""
    words = tokenize(text)
    return bool(words) and set(words) <= asked


def standings(question: str, chosen: Features, places: Sequence[int], scores: Array, absent: float) -> Features:
    """How the best piece stands among all and in its sentence: what the two probabilities are made of."""
    best = int(np.argmax(scores))
    own = np.asarray(places) == places[best]
    spread = float(np.log(np.exp(scores - scores[best]).sum()))
    in_sentence = float(np.log(np.exp(scores[own] - scores[best]).sum()))
    elsewhere = scores[~own]
    gap = float(scores[best] - elsewhere.max()) if len(elsewhere) else 3.0
    kept = {f"at:{name}": chosen.get(name, 0.0) for name in _CARRIED}
    kind = wanted(question).kind
    return kept | {
        "best": float(scores[best]),
        "spread": spread,
        "in sentence": in_sentence,
        "gap": min(gap, 6.0),
        "absent": absent,
        f"kind={kind}": 1.0,
        f"form={form_of(question)}": 1.0,
        f"no names&{kind}": float("names" not in chosen),
    }


_CARRIED = (
    "score",
    "behind",
    "own",
    "around",
    "noun",
    "noun around",
    "names",
    "names around",
    "denies",
    "like noun",
    "near",
    "nearness",
    "clause",
    "old",
    "old score",
    "piece",
    "left",
    "right",
)


def form_of(question: str) -> str:
    """The question's word, and what it asks for by it: ``how-many``, ``what-be``; ``order`` without one."""
    match = _WH.search(asking(question).lower())
    if match is None:
        return "order"
    word, behind = match[1], match[2] or ""
    if word == "how":
        sized = re.fullmatch(rf"many|much|long|often|far|old|{lexicon.SIZES}", behind)
        return f"how-{behind}" if sized else "how-manner"
    if word in ("what", "which"):
        return "what-be" if behind in _BE else "what-do" if behind in _DO or not behind else "what-noun"
    return "who" if word == "whom" else word


class _Asked:
    """A question, and what its words weigh."""

    def __init__(
        self, question: str, found: Sequence[Sentence], rated: Sequence[Span], idf: Callable[[str], float]
    ) -> None:
        words = Question(question).words
        self.want: Wanted = wanted(question)
        self.form = form_of(question)
        self.kind = self.want.kind if self.want.kind != "phrase" else f"phrase|{self.form}"
        kept = {w.stem: w.text.lower() for w in words if w.text.lower() not in STOP_WORDS and w.stem not in ASKING}
        self.stems = list(kept)
        self.weights = np.array([idf(stem) for stem in kept])
        self.total = float(self.weights.sum()) or 1.0
        self.vectors = np.stack([word_vector(word) for word in kept.values()]) if kept else np.zeros((0, 1))
        self.is_number = [stem.isdigit() for stem in kept]
        self.nouns = [place for place, stem in enumerate(kept) if stem in self.want.noun]
        self.names = [set(tokenize(name[0])) for name in names(asking(question))]
        self.denies = any(word.text.lower() in ("not", "no", "never", "nobody", "nothing") for word in words)
        self.rarity = spans.rarity(stems_of(question), found)
        self.before: dict[tuple[str, str], tuple[int, float, float]] = {}
        for rank, span in enumerate(rated):
            of_best = span.score / rated[0].score if rated[0].score else 0.0
            self.before.setdefault((span.sentence.text, span.text), (rank, of_best, span.score))


class _Held:
    """What a sentence holds of a question: for each of its tokens the weight of the word that it answers to."""

    def __init__(self, asked: _Asked, sentence: Sentence) -> None:
        self.tokens: Sequence[Token] = tokens(sentence.text)
        self.match = np.zeros(len(self.tokens))
        self.word = [-1] * len(self.tokens)
        self.vectors: npt.NDArray[np.float32] = np.stack([word_vector(token.text.lower()) for token in self.tokens])
        cosines = self.vectors @ asked.vectors.T if asked.stems else np.zeros((len(self.tokens), 0))
        for k, token in enumerate(self.tokens):
            if token.mark or token.text.lower() in STOP_WORDS:
                continue
            stems = stems_of(token.text)
            for a, stem in enumerate(asked.stems):
                cosine = float(cosines[k, a])
                alike = 0.7 * cosine if cosine >= ALIKE and not asked.is_number[a] else 0.0
                weight = float(asked.weights[a]) * (holds(stem, stems) or alike)
                if weight > self.match[k]:
                    self.match[k], self.word[k] = weight, a
        least = 0.3 * max([1e-9, *asked.weights])
        self.strong = [k for k, weight in enumerate(self.match) if weight >= least]
        cuts = [
            token.kind in (",", ";", ":", "(") or token.text.lower() in ("and", "but", "which", "who", "while")
            for token in self.tokens
        ]
        self.clause = np.cumsum(cuts)

    def of_sentence(self, asked: _Asked, sentence: Sentence, place: int, top: float) -> Features:
        """Features that all pieces of the sentence share."""
        stems = stems_of(sentence.text)
        path = re.sub(r"[^A-Za-z0-9]+", " ", sentence.passage.path)
        around = stems_of(f"{sentence.subject} {sentence.passage.heading} {path} {sentence.before}")
        best = [
            max((self.match[k] for k, w in enumerate(self.word) if w == a), default=0.0)
            for a in range(len(asked.stems))
        ]
        missed = [a for a, weight in enumerate(best) if not weight and holds(asked.stems[a], around)]
        found: Features = {
            "score": sentence.score,
            "behind": sentence.score - top,
            "own": float(sum(best)) / asked.total,
            "around": float(sum(asked.weights[a] for a in missed)) / asked.total,
            f"rank{min(place, 3)}": 1.0,
        }
        if asked.want.noun:
            found["noun"] = _share([holds(stem, stems) > 0 for stem in asked.want.noun])
            found["noun around"] = _share([holds(stem, stems | around) > 0 for stem in asked.want.noun])
        if asked.names:
            found["names"] = _share([bool(name & stems) for name in asked.names])
            found["names around"] = _share([bool(name & (stems | around)) for name in asked.names])
        if not asked.denies and any(token.kind == "neg" for token in self.tokens):
            found["denies"] = 1.0
        return found


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits)


def describe(
    question: str, found: Sequence[Sentence], rated: Sequence[Span], idf: Callable[[str], float]
) -> list[Described]:
    """The pieces of the best sentences with their features."""
    found = found[:READ]
    if not found:
        return []
    asked = _Asked(question, found, rated, idf)
    described: list[Described] = []
    for place, sentence in enumerate(found):
        if not tokens(sentence.text):
            continue
        held = _Held(asked, sentence)
        shared = held.of_sentence(asked, sentence, place, found[0].score)
        formed = {where: set(names) for where, names in forms(sentence.text).items()}
        for start, end, name in _asked_forms(asked.want, sentence.text):
            formed.setdefault((start, end), set()).add(name)
        bounds = sorted((start, end) for _, start, end, _ in spans.pieces_of(asked.want, sentence.text))
        first = {token.start: k for k, token in enumerate(held.tokens)}
        last = {token.end: k + 1 for k, token in enumerate(held.tokens)}
        fitting = {(first[a], last[b]) for a, b in [*formed, *bounds] if a in first and b in last}
        for i, j in sorted(fitting | set(runs(held.tokens))):
            text = sentence.text[held.tokens[i].start : held.tokens[j - 1].end]
            features = shared | _inside(asked, held, i, j) | _beside(asked, held, i, j)
            where = (held.tokens[i].start, held.tokens[j - 1].end)
            features |= _formed(asked, formed.get(where, set()), where in bounds)
            features["nearness"] = spans.nearness(sentence.text, where, bounds, asked.rarity, asked.want.noun)
            if before := asked.before.get((sentence.text, spans.clean(text))):
                rank, of_best, score = before
                features |= {"old": of_best, "old score": score, f"old rank{min(rank, 3)}": 1.0}
                features[f"old first&{asked.kind}"] = float(rank == 0)
            described.append(Described(place, text, features))
        for (text_of, text), (rank, of_best, score) in asked.before.items():
            if text_of == sentence.text and text not in text_of:  # whom a sentence before speaks of
                made = {"made": 1.0, "old": of_best, "old score": score, f"old rank{min(rank, 3)}": 1.0}
                described.append(Described(place, text, shared | made))
    return described


def _asked_forms(want: Wanted, text: str) -> list[tuple[int, int, str]]:
    found = [(start, end, "number") for _, start, end, _ in spans.numbers_of(text, want.noun)]
    if want.kind in ("quantity", "duration", "age"):
        found += [(a, b, f"quantity{fit:.1f}") for _, a, b, fit in spans.quantities_of(text, want)]
    return found


def _formed(asked: _Asked, names: set[str], piece: bool) -> Features:
    found = {f"form={name}&{asked.want.kind}": 1.0 for name in names or {"none"}}
    return found | ({"piece": 1.0, f"piece&{asked.kind}": 1.0} if piece else {})


def _inside(asked: _Asked, held: _Held, i: int, j: int) -> Features:
    """What the piece itself is."""
    words, kind = held.tokens[i:j], asked.kind
    own = [k for k in range(i, j) if held.tokens[k].kind not in _CLOSED and not held.tokens[k].mark]
    known = [k for k in own if held.match[k] > 0]
    capital = sum(held.tokens[k].kind == "Cap" for k in own)
    found: Features = {
        f"said {'all' if len(known) == len(own) else 'some' if known else 'none'}&{kind}": 1.0,
        f"first={words[0].kind}&{kind}": 1.0,
        f"last={words[-1].kind}&{kind}": 1.0,
        f"words{min(len(words), 6)}&{kind}": 1.0,
        f"words{min(len(words), 8)}": 1.0,
        f"capital {'all' if capital and capital == len(own) else 'some' if capital else 'none'}&{kind}": 1.0,
    }
    if words[0].kind in ("prep", "neg"):
        found[f"first={words[0].text.lower()}&{kind}"] = 1.0
    if any(word.text.lower() == "and" for word in words):
        found[f"and&{asked.want.kind}"] = 1.0
    if any(word.kind == "," for word in words):
        found["comma"] = 1.0
    if any(held.tokens[k].kind in ("ed", "ing") for k in own):
        found[f"verb&{kind}"] = 1.0
    if asked.nouns and own:
        alike = (held.vectors[own] @ asked.vectors[asked.nouns].T).max(1)
        found |= {"like noun": float(alike.max()), f"like noun&{asked.form}": float(alike.max())}
        found["last like noun"] = float(alike[-1])
        if any(held.word[k] in asked.nouns for k in known):
            found[f"noun inside&{asked.form}"] = 1.0
    return found


_CLOSED = frozenset(["art", "prep", "conj", "stop", "pron", "aux"])


def _beside(asked: _Asked, held: _Held, i: int, j: int) -> Features:
    """What stands before and behind the piece, and how near the words of the question are."""
    before = held.tokens[i - 1] if i else None
    behind = held.tokens[j] if j < len(held.tokens) else None
    left, right = before.kind if before else "^", behind.kind if behind else "$"
    found: Features = {
        f"before={left}&{asked.kind}": 1.0,
        f"behind={right}&{asked.kind}": 1.0,
        f"before={left}": 1.0,
        f"behind={right}": 1.0,
        f"between={left}|{right}": 1.0,
    }
    if before and before.kind in ("prep", "aux", "conj"):
        found[f"before={before.text.lower()}&{asked.kind}"] = 1.0
    if behind and behind.kind in ("prep", "aux", "conj"):
        found[f"behind={behind.text.lower()}"] = 1.0
    if "Cap" in (
        (left if held.tokens[i].kind == "Cap" else ""),
        (right if held.tokens[j - 1].kind == "Cap" else ""),
    ):
        found["half a name"] = 1.0
    if before and held.word[i - 1] in asked.nouns:
        found[f"noun before&{asked.form}"] = 1.0
    if behind and held.word[j] in asked.nouns:
        found[f"noun behind&{asked.form}"] = 1.0
    nearest = (
        _distance(min((i - k - 1 for k in held.strong if k < i), default=None)),
        _distance(min((k - j for k in held.strong if k >= j), default=None)),
    )
    found |= {f"left={nearest[0]}": 1.0, f"right={nearest[1]}": 1.0, f"left={nearest[0]}&right={nearest[1]}": 1.0}
    outside = held.match.copy()
    outside[i:j] = 0.0
    places = np.arange(len(outside))
    gaps = np.where(places < i, i - places - 1, np.maximum(places - j, 0))
    found["clause"] = float(outside[np.isin(held.clause, held.clause[i:j])].sum()) / asked.total
    found["left"], found["right"] = float(outside[:i].sum()) / asked.total, float(outside[j:].sum()) / asked.total
    found["near"] = float((outside / (1 + gaps / 4)).sum()) / asked.total if outside.any() else 0.0
    return found


def _distance(words: int | None) -> str:
    return "none" if words is None else str(next((step for step in (0, 1, 2, 4, 8) if words <= step), 99))
