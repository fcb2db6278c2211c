"""Which columns and values of a table the words of a question speak of."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from pointwork.agents.readings import lexicon
from pointwork.agents.readings.measured import unit_named
from pointwork.agents.readings.question import Question, Word
from pointwork.text import STOP_WORDS, tokenize
from pointwork.tools.catalog import Column, TableInfo

# How sure a link is: the same word, the start of one, a word for the same dimension.
SAME, BEGINS, DIMENSION = 1.0, 0.8, 0.45

_ORDERS = frozenset(
    {
        "take",
        "find",
        "list",
        "give",
        "look",
        "name",
        "tell",
        "show",
        "pick",
        "choose",
        "count",
        "sum",
        "add",
        "see",
        "get",
        "state",
    }
)
_UNITS = {
    "kilo": "kg",
    "kilogram": "kg",
    "litr": "l",
    "metr": "m",
    "kilometr": "km",
    "centimetr": "cm",
    "millimetr": "mm",
    "gram": "g",
    "euro": "eur",
    "dollar": "usd",
    "kmh": "kmh",
    "celsius": "c",
    "degree": "c",
    "°c": "c",
    "mm": "mm",
}


@dataclass(frozen=True)
class ValueLink:
    """A value of a text column that the question names.

    Attributes:
        column, value: of the table.
        words: indices of the question's words that name it.
        weight: 1 for the whole value, less for a part of it that no other value has.
    """

    column: str
    value: str
    words: tuple[int, ...]
    weight: float


@cache
def name_stems(name: str) -> tuple[str, ...]:
    """The stems of a column's or table's name; of "£ a copy" pound is one."""
    return tuple(tokenize(re.sub("[£€$]", lambda sign: _CURRENCIES[sign[0]], name), stop=False))


_CURRENCIES = {"£": " pound ", "€": " euro ", "$": " dollar "}


def word_link(word: Word, column: Column) -> float:
    """How strongly a word speaks of a column, by its name."""
    low = word.text.lower()
    if low in ("weekday", "weekdays") or (low == "last" and column.kind == "number"):
        return 0.0  # "last" is no verb of duration
    if low in STOP_WORDS and low not in ("who", "whom", "whose", "whoever", "where", "when"):
        return 0.0
    best = 0.0
    for stem in name_stems(column.name):
        if stem in (word.stem, low, _UNITS.get(low), _UNITS.get(word.stem)):
            return SAME
        if stem in lexicon.FAMILY and lexicon.FAMILY.get(word.stem) == lexicon.FAMILY[stem]:
            best = max(best, BEGINS)
        shorter, longer = sorted((stem, word.stem), key=len)
        if len(shorter) >= 4 and longer.startswith(shorter):
            best = max(best, BEGINS)
    if best:
        return best
    names = set(name_stems(column.name))
    for asked, named in lexicon.DIMENSIONS:
        if word.stem in asked and names & named:
            best = DIMENSION
    return best


def column_links(column: Column, words: Sequence[Word]) -> dict[int, float]:
    """Indices of the words that speak of a column, with how strongly."""
    # an order's verb ("Take the title …") says nothing of the columns
    links = {i: word_link(word, column) for i, word in enumerate(words) if i or word.text.lower() not in _ORDERS}
    # what "speed" leaves open of a column of km/h, "wind speed" does not
    whole = bool(unit_named(column.name)) and any(weight > DIMENSION for weight in links.values())
    return {i: SAME if whole and weight == DIMENSION else weight for i, weight in links.items() if weight > 0}


def table_links(info: TableInfo, words: Sequence[Word]) -> dict[int, float]:
    """Indices of the words that name the table itself or its file."""
    names = set(name_stems(info.name)) | set(name_stems(info.source.path.rsplit("/", 1)[-1].rsplit(".", 1)[0]))
    families = {lexicon.FAMILY[name] for name in names if name in lexicon.FAMILY}
    like = {i: BEGINS for i, word in enumerate(words) if lexicon.FAMILY.get(word.stem, -1) in families}
    return like | {i: SAME for i, word in enumerate(words) if word.stem in names}


def value_links(question: Question, column: Column, texts: Sequence[str]) -> list[ValueLink]:
    """Values of a column that stand in the question, whole ones before parts, longest first."""
    words = question.words
    stems = [word.stem for word in words]
    places: dict[str, list[int]] = {}
    for i, stem in enumerate(stems):
        places.setdefault(stem, []).append(i)
    found: list[ValueLink] = []
    owners: dict[str, set[str]] = {}
    for text in texts:
        parts = tokenize(text, stop=False)
        for part in set(parts) & set(places):
            owners.setdefault(part, set()).add(text)
        found += _adjectives(column.name, text, parts, words)
        for start in places.get(parts[0], []) if parts else []:
            if stems[start : start + len(parts)] == parts and _says(words[start : start + len(parts)], text):
                found.append(ValueLink(column.name, text, tuple(range(start, start + len(parts))), 1.0))
    taken = {i for link in found for i in link.words if link.weight == 1.0}
    for part, texts_with in owners.items():
        if len(texts_with) == 1:
            free = [i for i in places[part] if i not in taken]
            found += _part_of(column.name, next(iter(texts_with)), part, free, words)
    return sorted(_joined(found), key=lambda link: (-link.weight, -len(link.words)))


def _adjectives(column: str, text: str, parts: list[str], words: Sequence[Word]) -> list[ValueLink]:
    """``foggy``, where the value is fog."""
    if len(parts) != 1 or len(parts[0]) < 3:
        return []
    return [
        ValueLink(column, text, (i,), 0.9)
        for i, word in enumerate(words)
        if word.stem != parts[0]
        and word.content
        and word.stem not in lexicon.LAST  # the latest is not late
        and word.stem.startswith(parts[0])
        and len(word.stem) <= len(parts[0]) + 2
    ]


def _part_of(column: str, text: str, part: str, places: list[int], words: Sequence[Word]) -> list[ValueLink]:
    """A word that only one value has: its last word, or a name written as one."""
    parts = tokenize(text, stop=False)
    head = len(parts) <= 2 and parts[-1] == part
    return [
        ValueLink(column, text, (i,), 0.7)
        for i in places
        if words[i].content
        and len(words[i].text) > 2
        and (head or (i and words[i].text[0].isupper()))
        and not (i and text.istitle() and len(parts) > 1 and _common(words, i))
        and (len(parts) > 1 or _alike(words[i].text, text))
    ]


def _common(words: Sequence[Word], i: int) -> bool:
    """Whether a word is no part of a name: "the garden", by somebody who writes names with capitals."""
    capitals = any(word.text[:1].isupper() for k, word in enumerate(words) if k)
    return capitals and words[i].text.islower() and words[i - 1].text.lower() in ("the", "our", "this")


def _joined(links: list[ValueLink]) -> list[ValueLink]:
    """Parts of one value as one link."""
    parts: dict[str, list[ValueLink]] = {}
    whole = [link for link in links if link.weight >= 0.9]
    for link in links:
        if link.weight < 0.9:
            parts.setdefault(link.value, []).append(link)
    return whole + [
        ValueLink(several[0].column, value, tuple(sorted(i for link in several for i in link.words)), 0.7)
        for value, several in parts.items()
    ]


DOER = re.compile(r"(?:er|or)(?:['’]?s)?$", re.IGNORECASE)


def _says(words: Sequence[Word], value: str) -> bool:
    """A value of one common word counts only where it is not a mere function word, nor who does it: no garden is a
    gardener.
    """
    if len(words) > 1:
        return True
    word = words[0].text
    return _alike(word, value) and (words[0].content or (value[:1].isupper() and word[:1].isupper()))


def _alike(word: str, value: str) -> bool:
    return bool(DOER.search(word)) == bool(DOER.search(value))


def is_key(info: TableInfo, column: Column) -> bool:
    """Whether a column only numbers the rows: it is called so, or as the table, or comes first as whole numbers of
    which nothing says more, and no value stands twice.
    """
    names = set(name_stems(column.name))
    called_so = column.kind == "number" and names <= set(name_stems(info.name))  # "repair", not "repair_minutes"
    first = column == info.columns[0] and "INT" in column.type and info.rows > 2
    counts = names & (lexicon.ADDITIVE | lexicon.YEARS | lexicon.MONEY) or unit_named(column.name)
    called_so = called_so or bool(names & {"id", "no", "nr", "number"}) or (first and not counts)
    return called_so and column.distinct == info.rows


_CALLED = lexicon.stems("name title nickname")
_OF_A_NAME = lexicon.stems("full display common short long own")


def called(info: TableInfo) -> Column | None:
    """The column with the rows' own names: ``name``, ``full_name``, ``boat_name`` of a table of boats."""
    rows = {stem for column in info.columns if is_key(info, column) for stem in name_stems(column.name)}
    rows |= set(name_stems(info.name)) | _OF_A_NAME
    for column in info.columns:
        names = set(name_stems(column.name))
        if column.kind == "text" and names & _CALLED and names - _CALLED <= rows:
            return column
    return None
