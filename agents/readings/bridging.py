"""A question to a table about somebody or something that a document tells of.

"How many hours are booked for the colleague who goes on leave?": a sentence says who goes on leave, and that name
stands in a table. Which words of the question a sentence accounts for, which name of it is meant, and how the rest
reads as a query with the name in their place is chosen together: by how much of the question both account for.
"""

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pointwork.agents.readings import Reading, lexicon
from pointwork.agents.readings.linking import is_key, name_stems
from pointwork.agents.readings.names import is_person
from pointwork.agents.readings.names import names as proper_names
from pointwork.agents.readings.question import Question, Word
from pointwork.agents.readings.sentences import Sentence, likeness
from pointwork.agents.readings.wanting import asking, wanted
from pointwork.text import tokenize
from pointwork.tools.catalog import Column, TableInfo

SENTENCES = 8  # that are looked into
SPEAKS = 0.5  # a sentence that fits so much less than the best one tells of something else
_SPANS, _NAMES = 12, 6  # most of a sentence: runs of words, names
_EARLIER = 400  # characters of the text before
_HELD = 0.4  # from here on a sentence holds a word
_AROUND = 0.5  # what a heading or the sentence before is worth beside the sentence itself
_COLUMN = 1.4  # content words that the query has to account for besides the name: a column, and a bit
_NEAR = 0.05  # what it is worth to stand beside the question's words, for one of two names in a sentence

# From this share of the question on it is taken for what is meant.
LEAST = 0.4

_PERSONS = frozenset(
    tokenize(
        "person man woman lady gentleman colleague employee member volunteer worker someone somebody one boy girl",
        stop=False,
    )
)


@dataclass(frozen=True)
class Bridge:
    """How a question was read.

    Attributes:
        reading: of the question with the name in place; its score is what it and the sentence account for.
        question: with the name in place.
        name: as the table writes it.
        sentence: that told it.
    """

    reading: Reading
    question: str
    name: str
    sentence: Sentence


def forms_of(values: Iterable[str]) -> dict[str, str]:
    """How texts may write the values of a table, lower case: as they are, and people by one of their names."""
    found: dict[str, set[str]] = {}
    for value in values:
        if len(value) < 3 or not re.search(r"[^\W\d_]{3}", value) or (value.islower() and " " not in value):
            continue
        found.setdefault(value.lower(), set()).add(value)
        if is_person(value):
            words = value.lower().split()
            for part in {words[0], words[-1], " ".join(words[1:])}:
                found.setdefault(part, set()).add(value)
    return {form: values.pop() for form, values in found.items() if len(values) == 1}


def bridged(
    question: str,
    found: Sequence[Sentence],
    forms: Mapping[str, str],
    tables: Sequence[TableInfo],
    read: Callable[[str], Sequence[Reading]],
) -> Bridge | None:
    """The best such reading, if it accounts for enough.

    Args:
        question: as it was asked.
        found: sentences, best first.
        forms: ``forms_of`` the tables' values.
        tables: that ``read`` knows.
        read: readings of a question as a query, best first.
    """
    asked = Question(question)
    known = {name for name, _ in _mentioned(forms, question)}
    named = _named(forms, asked)
    columns = {(info.name, column.name): (info, column) for info in tables for column in info.columns}

    def fitting(text: str) -> list[Reading]:
        return [reading for reading in read(text) if _fits(text, reading, columns)]

    best: tuple[float, Bridge] | None = None
    for sentence in found[:SENTENCES]:
        if sentence.score < SPEAKS * found[0].score:
            break
        spoken_of = _mentioned(forms, sentence.told) or _spoken_of(forms, sentence)
        names = [(name, at) for name, at in spoken_of if name not in known][:_NAMES]
        if not names:
            continue
        held = _held(asked, sentence)
        for span, (name, at) in itertools.product(_spans(asked, held, named), names):
            bridge = _read(asked, span, held, name, sentence, fitting)
            if bridge is None:
                continue
            worth = bridge.reading.score + _NEAR * _nearness(held, asked, sentence, at)
            if best is None or worth > best[0]:
                best = worth, bridge
    return best[1] if best is not None and best[1].reading.score >= LEAST else None


_PARTS = ("where", "and", "also")  # of a query's conditions
_Columns = Mapping[tuple[str, str], tuple[TableInfo, Column]]
_KINDS = {
    **dict.fromkeys(("date", "when", "weekday", "year"), ("date",)),
    **dict.fromkeys(("number", "money", "quantity", "duration", "age", "percent"), ("number",)),
    **dict.fromkeys(("person", "place", "id"), ("text",)),
}


def _fits(text: str, reading: Reading, columns: _Columns) -> bool:
    """Whether a query asks something of the row that is named, of the kind that is wanted."""
    given = reading.arguments
    table, aggregate = str(given.get("table", "")), given.get("aggregate", "none")
    if reading.yes_no or any(given.get(ranked) for ranked in ("order_by", "group_by", "limit")):
        return False  # the best of one
    if aggregate not in ("none", "sum", "count"):
        return False
    head = next((word.stem for word in Question(text).words if word.start >= _counted_from(text)), "")
    if any(head in name_stems(of) for of, _ in columns) and (aggregate != "count" or head not in name_stems(table)):
        return False  # "how many members" are neither hires nor hours
    if aggregate == "count":
        named = [columns.get((table, str(given.get(f"{part}_column", "")))) for part in _PARTS]
        return not any(found and found[1].distinct == found[0].rows for found in named)
    found = columns.get((table, str(given.get("column", ""))))
    if found is None:
        return True
    info, column = found
    if is_key(info, column) or any(reference.column == column.name for reference in info.source.references):
        return False  # it says no more than the name
    if column.kind == "date" and not set(name_stems(column.name)) & (
        {w.stem for w in Question(text).words} | lexicon.DATED | lexicon.JOINED
    ):
        return False  # until when hops are good is not when they are ordered
    kind = "date" if re.search(r"\bmonth\b", text, re.IGNORECASE) else wanted(asking(text)).kind
    return kind not in _KINDS or column.kind in _KINDS[kind]


def _takes(reading: Reading, name: str) -> bool:
    """Whether a query is about the rows with a name."""
    given = reading.arguments
    return any(given.get(f"{part}_value") == name and given.get(f"{part}_op") == "=" for part in _PARTS)


def _counted_from(text: str) -> int:
    """Where what is counted is named; the end of the text if nothing is."""
    match = lexicon.COUNT.search(text)
    return match.end() if match is not None else len(text)


def _mentioned(forms: Mapping[str, str], text: str) -> list[tuple[str, int]]:
    """The values that a text names, and where."""
    low = text.lower()
    found: dict[str, int] = {}
    for form, value in forms.items():
        for at in _places(form, low):
            found.setdefault(value, at)
    return list(found.items())


_POINTS = re.compile(r"\b(?:there|here|it|its|this|that|he|she|his|her|they|their|them)\b", re.IGNORECASE)


def _spoken_of(forms: Mapping[str, str], sentence: Sentence) -> list[tuple[str, int]]:
    """Whom the text before a sentence that names nobody spoke of last: "Only boiled water is served there."."""
    if not _POINTS.search(sentence.text) or proper_names(sentence.text):
        return []
    text, _, _ = sentence.passage.text.partition(sentence.text[:30])
    earlier = text if text != sentence.passage.text else sentence.before
    earlier = earlier.rpartition("\n\n")[2][-_EARLIER:].lower()
    found = _mentioned(forms, earlier)
    last = max(found, key=lambda one: earlier.rfind(one[0].split()[-1].lower()), default=None)
    return [(last[0], -30)] if last is not None else []


def _held(asked: Question, sentence: Sentence) -> dict[int, float]:
    """How well a sentence holds each content word, by its place in the question."""
    content = set(asked.content)
    words = {i: word for i, word in enumerate(asked.words) if word in content}
    surface = {word.stem: word.text.lower() for word in words.values()}
    own = likeness(surface, sentence.told)
    around = likeness(surface, _place(sentence))
    return {i: max(own[word.stem], _AROUND * around[word.stem]) for i, word in words.items()}


def _place(sentence: Sentence) -> str:
    path = re.sub(r"[^A-Za-z0-9]+", " ", sentence.passage.path)
    return f"{sentence.before} {sentence.passage.heading} {path}"


def _named(forms: Mapping[str, str], asked: Question) -> set[int]:
    """Words of a question that name a value of a table: by themselves they describe nothing else."""
    low = asked.text.lower()
    places = [(at, at + len(form)) for form in forms for at in _places(form, low)]
    return {i for i, word in enumerate(asked.words) if any(a < word.end and word.start < b for a, b in places)}


def _places(form: str, low: str) -> Iterable[int]:
    if form not in low:
        return ()
    return (match.start() for match in re.finditer(rf"(?<!\w){re.escape(form)}(?:e?s)?(?!\w)", low))


def _spans(asked: Question, held: Mapping[int, float], named: Collection[int]) -> list[tuple[int, int]]:
    """Runs of words, most of which a sentence holds, the most telling first; not what is but a name of a value."""
    strong = [i for i, share in held.items() if share >= _HELD]
    found: list[tuple[float, int, int]] = []
    for a, b in itertools.combinations_with_replacement(strong, 2):
        inside = [share for i, share in held.items() if a <= i <= b]
        text = asked.text[asked.words[a].start : asked.words[b].end]
        if _COUNTED.search(asked.text[: asked.words[a].start]) or _ASKED.search(text):
            continue
        if all(i in named for i in strong if a <= i <= b):
            continue
        if sum(inside) >= 1 and sum(inside) >= 0.5 * len(inside) and len(inside) < len(held):
            found.append((sum(inside) - 0.3 * len(inside), a, b))
    return [(a, b) for _, a, b in sorted(found, reverse=True)[:_SPANS]]


# What is counted or listed stays: "how many [loans came back]".
_COUNTED = re.compile(r"\b(?:how\s+many|number\s+of|(?:count|list)(?:\s+(?:all|the|our))*)\s+$", re.IGNORECASE)


# What asks stays, too.
_ASKED = re.compile(
    rf"\b(?:how\s+(?:many|much|long|often|old|{lexicon.SIZES})|what|which\s+(?:year|month|day|date))\b",
    re.IGNORECASE,
)


def _read(
    asked: Question,
    span: tuple[int, int],
    held: Mapping[int, float],
    name: str,
    sentence: Sentence,
    read: Callable[[str], Sequence[Reading]],
) -> Bridge | None:
    first, last = asked.words[span[0]], asked.words[span[1]]
    text = _without_dates(f"{asked.text[: first.start]}{name}{asked.text[last.end :]}", sentence)
    reading = next((reading for reading in read(text) if _takes(reading, name)), None)
    if reading is None or _binds(reading, asked.words[span[0] : span[1] + 1]):
        return None
    outside = sum(not span[0] <= i <= span[1] for i in held)
    content = len(Question(text).content)
    told = reading.score * content - (content - outside)  # of the words that stayed
    if is_person(name) and any(word.stem in _PERSONS for word in _beside(asked, span)):
        told += 1
    if told < _COLUMN:
        return None
    share = (sum(share for i, share in held.items() if span[0] <= i <= span[1]) + told) / len(held)
    return Bridge(replace(reading, score=min(1.0, share)), text, name, sentence)


def _binds(reading: Reading, words: Sequence[Word]) -> bool:
    """Whether words name a column that a query binds: the teaching pool is nobody who sees to the pool cover."""
    bound = {stem for part in _PARTS for stem in name_stems(str(reading.arguments.get(f"{part}_column") or ""))}
    return any(word.stem in bound for word in words)


def _beside(asked: Question, span: tuple[int, int]) -> Sequence[Word]:
    """The words of a run and the few before it."""
    return asked.words[max(0, span[0] - 4) : span[1] + 1]


def _without_dates(text: str, sentence: Sentence) -> str:
    """Without the dates that a document bears: they say when it was, and restrict no rows."""
    there = set(tokenize(f"{sentence.told} {_place(sentence)}", stop=False))
    for date in reversed(Question(text).dates):
        if set(tokenize(text[date.start : date.end], stop=False)) <= there:
            before = re.sub(r"\b(?:in|on|of|from|at|since)\s+$", "", text[: date.start])
            text = f"{before}{text[date.end :]}"
    return text


def _nearness(held: Mapping[int, float], asked: Question, sentence: Sentence, at: int) -> float:
    """How near the question's words stand to a name in its sentence, 0 to 1; in another clause less."""
    stems = {asked.words[i].stem for i, share in held.items() if share >= _HELD}
    told = sentence.told
    worth = 0.0
    words = [match for match in re.finditer(r"[^\W_]+", told) if stems & set(tokenize(match[0], stop=False))]
    for match in words:
        between = told[min(at, match.start()) : max(at, match.start())]
        worth += 1 / (1 + len(between) / 30 + 2 * len(_CLAUSE.findall(between)))
    return worth / max(1, len(words))


_CLAUSE = re.compile(r"[,;:.]|\b(?:and|but|while)\b")
