"""Words of sentences that an encoder points at as the answer to a question, and how likely they are right.

The encoder is surer than it should be of sentences as people write them. So what it says, and what else is known of
the sentence, is weighed by a regression (Platt, "Probabilistic Outputs for Support Vector Machines", 1999; Guo et
al., "On Calibration of Modern Neural Networks", ICML 2017), which ``benchmarks/train_calibration.py`` remakes on
questions that nothing else is learnt from.
"""

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pointwork.agents.parsing import pointing
from pointwork.agents.parsing.pointing import Pointed
from pointwork.agents.readings import extracting, spans
from pointwork.agents.readings.extracting import READ, Extract
from pointwork.agents.readings.linear import Linear, stored_in
from pointwork.agents.readings.question import Question
from pointwork.agents.readings.sentences import Sentence, stems_of
from pointwork.agents.readings.wanting import Wanted

FORMED, ALIKE = 5, 3
"""So many likeliest words are weighed, if they have the form that is asked for; among so many pieces of the learned
choice they may be."""

_EDGE = 1e-4  # so near to 0 and 1 probabilities are told apart


@dataclass(frozen=True)
class Seen:
    """Words that are pointed at.

    Attributes:
        text: they.
        sentence: in which they stand.
        features: by which it is told how likely they are the answer.
    """

    text: str
    sentence: Sentence
    features: Mapping[str, float]


@functools.cache
def shipped() -> Linear:
    """The weights that come with the package."""
    return stored_in(Path(__file__).parent / "parsing/calibration.npz")["right"]


def read(
    question: str, want: Wanted, found: Sequence[Sentence], extract: Extract, nowhere: float
) -> tuple[spans.Span | None, float]:
    """Words that answer a question, as likely as their ``score`` says; how likely the encoder has it that none do.

    Args:
        question: as it was asked.
        want: what it asks for.
        found: sentences, best first.
        extract: what the learned choice makes of them.
        nowhere: share of the question's words that stand nowhere in the files.

    Returns:
        No words: they have not the form that is asked for.
    """
    some, unsaid = see(question, want, found, extract, nowhere)
    weighed = [(float(shipped().logits(seen.features)[0]), seen) for seen in some]
    if not weighed:
        return None, unsaid
    logit, best = max(weighed, key=lambda pair: pair[0])
    return spans.Span(best.text, 1 / (1 + math.exp(-logit)), best.sentence), unsaid


def see(
    question: str, want: Wanted, found: Sequence[Sentence], extract: Extract, nowhere: float
) -> tuple[list[Seen], float]:
    """The likeliest words with what tells how likely they are right, and how likely it is that none are."""
    texts = [sentence.headed for sentence in found[:READ]]
    likely, unsaid = pointing.shipped().of(question, texts, FORMED)
    asked, made = _of_question(question, nowhere), list[Seen]()
    for one in likely:
        sentence, told = found[one.sentence], texts[one.sentence]
        text = _whole(spans.clean(re.sub(r"[*_`]", "", told[one.start : one.end])), sentence)
        if text and _formed(question, want, text, told, sentence):
            rival = max((other.sure for other in likely if other != one), default=0.0)
            features = asked | _of_words(one, rival, unsaid, found) | _beside(text, extract)
            made.append(Seen(text, sentence, features))
    return made, unsaid


_NAME = re.compile(r"(?:[^\W\d_a-z][\w'’-]*\s?){2,4}")


def _whole(text: str, sentence: Sentence) -> str:
    """Of a part of the name of an entry the name: "Sorrel" of "Lower Sorrel: Agnes Birtwhistle."."""
    item, colon, _ = sentence.text.partition(":")
    named = bool(colon) and _NAME.fullmatch(item) and item in re.sub(r"[*_`]", "", sentence.passage.text)
    return item if named and text in (" ".join(item.split()[1:]), " ".join(item.split()[:-1])) else text


def _formed(question: str, want: Wanted, text: str, told: str, sentence: Sentence) -> bool:
    """Whether words have the form that is asked for, and do not only name of what is told."""
    several = want.several < 2 or re.search(r",|&|\b(?:and|or)\b", text)
    reason = extracting.form_of(question) != "why" or gives_reason(told, text)
    formed = want.kind not in spans.STRICT or spans.pieces_of(want, text)
    return bool(several and reason and formed) and not _only_its_item(text, want, sentence)


def _only_its_item(text: str, want: Wanted, sentence: Sentence) -> bool:
    """Whether words only name the item of which an entry is told, and it speaks itself of what is asked for."""
    item, colon, rest = sentence.text.partition(":")
    return bool(colon) and text in item and bool(want.noun & stems_of(rest))


def _of_question(question: str, nowhere: float) -> dict[str, float]:
    words = [word for word in Question(question).words if word.content]
    numbers = re.findall(r"\d+(?:[.,:]\d+)*", question)
    return {"absent": nowhere, "long": math.log1p(len(words)), "numbers": float(len(numbers))}


def _of_words(one: Pointed, rival: float, unsaid: float, found: Sequence[Sentence]) -> dict[str, float]:
    """What the encoder says of words, and what is known of their sentence."""
    return {
        "pointed": _logit(one.sure),
        "rival": _logit(rival),
        "unsaid": _logit(unsaid),
        "fits": found[one.sentence].score,
        "best": found[0].score,
        "first": float(one.sentence == 0),
        "code": float(bool(found[one.sentence].section)),
    }


def _beside(text: str, extract: Extract) -> dict[str, float]:
    """What the learned choice says to words."""
    agreed = _among(text, extract.pieces[:ALIKE])
    return {
        "agreed": float(agreed),
        "said": _logit(extract.said),
        "known": _logit(extract.sure) if _among(text, extract.pieces[:1]) else 0.0,
        "known otherwise": 0.0 if agreed else _logit(extract.sure),
    }


def _logit(sure: float) -> float:
    return math.log((sure + _EDGE) / (1 - sure + _EDGE))


def _among(text: str, pieces: Sequence[spans.Span]) -> bool:
    """Whether a piece is that text, or one is within the other."""
    lower = text.lower()
    return any(lower in piece.text.lower() or piece.text.lower() in lower for piece in pieces)


# Without such a word a sentence gives no reason: "It was dug by Anna in 1931." does not say why.
_REASONS = re.compile(
    r"\b(?:because|since|as|so|to|for|due|owing|thanks|after|when|if|otherwise|lest|from|that|reasons?|caus\w+)\b",
    re.IGNORECASE,
)


def gives_reason(sentence: str, answer: str) -> bool:
    """Whether such a word stands in an answer or right before it."""
    before, _, _ = sentence.partition(answer)
    return bool(_REASONS.search(f"{' '.join(before.split()[-3:])} {answer}"))
