"""Sentences of the files, ranked against a question.

They are ranked by words, with the idf of the root's passages; the words of headings and neighbours count less, and
words of like meaning less, by a static embedding.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pointwork.agents.readings import lexicon
from pointwork.agents.readings.question import Question
from pointwork.agents.readings.statements import statements
from pointwork.embedding import default_embedder
from pointwork.text import STOP_WORDS, tokenize
from pointwork.tools.passages import Passage

CODE = (
    ".py",
    ".toml",
    ".js",
    ".ts",
    ".c",
    ".h",
    ".java",
    ".go",
    ".rs",
    ".sh",
    ".yaml",
    ".yml",
    ".ini",
    ".cfg",
    ".json",
)

# How much the words around a sentence count beside its own, and the embedding beside the words.
SUBJECT = 0.75
NEAR, HEADING, MEANING = 0.4, 0.55, 0.9


@dataclass(frozen=True)
class Sentence:
    """A sentence of a file.

    Attributes:
        text: on one line.
        source: as evidence names its passage.
        passage: the passage it is from.
        before, after: its neighbours, empty at the ends.
        score: how well it fits the question.
        subject: the sentence that names whom a "she" or "it" at the beginning stands for; empty without one.
        section: of a line of code or settings, what it stands in: ``backup``, ``class TooLarge(Exception)``.
    """

    text: str
    source: str
    passage: Passage
    before: str = ""
    after: str = ""
    score: float = 0.0
    subject: str = ""
    section: str = ""

    @property
    def told(self) -> str:
        """The text, behind the one that names whom it speaks of."""
        return f"{self.subject} {self.text}".strip()

    @property
    def headed(self) -> str:
        """What it says, behind its heading or the section of a program that it stands in."""
        heading = self.passage.heading or self.section
        return f"{heading}. {self.told}" if heading else self.told


def sentences(passage: Passage) -> list[Sentence]:
    """The sentences of a passage; hard-wrapped lines are joined, lines of code stay."""
    if passage.path.lower().endswith(CODE):
        return _lines(passage)
    found = statements(passage.text)
    made: list[Sentence] = []
    named = ""
    for i, piece in enumerate(found):
        pronoun = _PRONOUN_FIRST.match(piece) is not None
        if not pronoun:
            named = piece
        before, after = found[i - 1] if i else "", found[i + 1] if i + 1 < len(found) else ""
        made.append(Sentence(piece, passage.source, passage, before, after, subject=named if pronoun else ""))
    return made


_PRONOUN_FIRST = re.compile(
    r"(?:[^\W\d_][^.:;]{0,60}:\s+|[A-Z]\w+\.\s+)?(?:He|She|It|They|His|Her|Its|Their|There)\b"
)


def _lines(passage: Passage) -> list[Sentence]:
    """Lines of code, each with the section or definition that it stands in before it.

    What is written right below a definition tells of it: "TooLarge: More people than one train can take.".
    """
    found: list[Sentence] = []
    section = ""
    lines = [line.strip() for line in passage.text.splitlines()]
    for number, line in enumerate(lines):
        above, after = (lines[at] if 0 <= at < len(lines) else "" for at in (number - 1, number + 1))
        if _SECTION.match(line):
            section = line
        elif (says := _DOCUMENTS.match(line)) and (defined := _DEFINED.match(above)):
            line = f"{defined['name']}: {says['text']}"
        if re.search(r"\w", line):
            before = f"{section} {above}" if above != section else section
            stands = section.split("]")[0].strip("[: ") if line != section else ""
            found.append(Sentence(line, passage.source, passage, before, after, section=stands))
    return found


_SECTION = re.compile(r"\[[^\]]+\]\s*(?:[#;].*)?$|(?:class|def|function|fn)\s")
_DEFINED = re.compile(r"(?:class|def|function|fn)\s+(?P<name>\w+)")
_DOCUMENTS = re.compile(r"[rR]?(?:\"\"\"|'''|///?\s|/\*\*\s)(?P<text>.*?\w.*?)(?:\"\"\"|'''|\*/)?$")


def ranked(question: str, passages: Sequence[Passage], idf: Callable[[str], float]) -> list[Sentence]:
    """The sentences of some passages, the best fit for the question first."""
    asked = Question(question)
    words = {word.stem for word in asked.words if word.text.lower() not in STOP_WORDS and word.stem not in ASKING}
    everything = [sentence for passage in passages for sentence in sentences(passage)]
    if not everything or not words:
        return []
    weights = {word: idf(word) for word in words}
    total = sum(weights.values()) or 1.0
    embedder = default_embedder()
    vectors = embedder.embed([sentence.text for sentence in everything])
    meaning = vectors @ embedder.embed([question])[0]
    surface = {word.stem: word.text.lower() for word in asked.words if word.stem in words}
    scored: list[Sentence] = []
    for sentence, alike in zip(everything, meaning, strict=True):
        own = likeness(surface, sentence.text)
        near = likeness(surface, f"{sentence.before} {sentence.after}")
        place = f"{sentence.passage.heading} {re.sub(r'[^A-Za-z0-9]+', ' ', sentence.passage.path)}"
        head = likeness(surface, place)
        told = likeness(surface, sentence.subject)
        share = sum(weights[w] * max(own[w], SUBJECT * told[w], HEADING * head[w], NEAR * near[w]) for w in weights)
        score = share / total + MEANING * max(0.0, float(alike))
        scored.append(replace(sentence, score=score))
    return sorted(scored, key=lambda sentence: -sentence.score)


ASKING = lexicon.stems(
    "see look notes note name tell give find show list many much number say know look person people thing"
)


_vectors: dict[str, npt.NDArray[np.float32]] = {}
_MOST_WORDS = 50_000
# Words whose cosine is below this have nothing to do with each other.
_ALIKE = 0.4


def word_vector(word: str) -> npt.NDArray[np.float32]:
    """The static embedding of a word."""
    found = _vectors.get(word)
    if found is None:
        if len(_vectors) > _MOST_WORDS:
            _vectors.clear()
        found = _vectors[word] = default_embedder().embed([word])[0]
    return found


def likeness(asked: Mapping[str, str], text: str) -> dict[str, float]:
    """Of each asked word (stem → as written), how well a text holds it: itself 1, its family .8, its like less."""
    found = dict.fromkeys(asked, 0.0)
    words = [w for w in re.findall(r"[^\W\d_]+|\d+", text.lower()) if w not in STOP_WORDS]
    if not words:
        return found
    stems = stems_of(text)
    left = {stem: word for stem, word in asked.items() if not any(map(str.isdigit, word))}
    cosines = (
        np.stack([word_vector(w) for w in left.values()]) @ np.stack([word_vector(w) for w in words]).T
        if left
        else None
    )
    for number, stem in enumerate(left):
        assert cosines is not None
        cosine = float(cosines[number].max())
        found[stem] = 0.85 * cosine if cosine >= _ALIKE else 0.0
    for stem in asked:
        found[stem] = max(found[stem], holds(stem, stems))
    return found


def stems_of(text: str) -> frozenset[str]:
    return frozenset(tokenize(text, stop=False))


def holds(word: str, stems: frozenset[str]) -> float:
    if word in stems:
        return 1.0
    family = lexicon.FAMILY.get(word)
    return 0.8 if family is not None and any(lexicon.FAMILY.get(stem) == family for stem in stems) else 0.0
