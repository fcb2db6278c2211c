"""Words of a sentence by category, and the runs of them that can be an answer."""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pointwork.agents.readings import conversions, spans
from pointwork.agents.readings.question import MONTHS_PATTERN
from pointwork.agents.readings.wanting import MONEY
from pointwork.text import NUMBER_WORDS, STOP_WORDS

_TOKEN = re.compile(
    r"[$€£]\s?\d(?:[\d,]*\d)?(?:\.\d+)?|\d[\d,.]*\d(?:%|[a-z]+\b)?|\d(?:%|[a-z]+\b)?|[^\W_]+(?:['’./&_-][^\W_]+)*['’]?|"
    r"[&%]|[.,;:!?()\"“”—–\[\]|]"
)
_MARK = re.compile(r"[.,;:!?()\"“”—–\[\]|]")
# Closed classes of words; what follows and precedes an answer is told by these.
_CLASSES = {
    "art": "the a an",
    "prep": "in on at under behind beside above below near inside outside between opposite from by to for "
    "with without until till since before after during of through over against into along because as if when while "
    "where",
    "neg": "not no never nobody nothing none neither nor",
    "aux": "is are was were be been has have had do does did can could may might must shall should will would",
    "conj": "and or but so than that which who whose whom",
    "pron": "he she it they his her its their him them we our i my you your this these those there",
}
_CLASS = {word: name for name, words in _CLASSES.items() for word in words.split()}
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_NUMBER = re.compile(r"\d[\d,.]*%?")
_MONTH = re.compile(rf"(?:{MONTHS_PATTERN})", re.IGNORECASE)
_DAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?")
# No answer begins with these, and none ends with those; a mark that ends a sentence or a thought ends it too.
_NO_START = frozenset(["art", "aux", "conj", "stop", "pron"])
_NO_END = frozenset(["art", "prep", "conj", "aux", "pron", "stop", "neg"])
_ENDS = frozenset(";:.()")
# What may stand behind a comma inside an answer: "4 June, 1932", "ash, elm and oak".
_GOES_ON = frozenset(["year", "Cap", "num", "month", "w", "conj", "numw", "wnum"])
LONGEST = 11  # words of an answer


@dataclass(frozen=True)
class Token:
    """A word or mark: as written, where it stands, and its category."""

    text: str
    start: int
    end: int
    kind: str

    @property
    def mark(self) -> bool:
        """Whether it is no word."""
        return self.kind == "mark" or self.kind in _ENDS or self.kind == ","


@functools.lru_cache(20_000)
def _kind(word: str) -> str:
    low = word.lower()
    if _MARK.fullmatch(word):
        return word if word in ",;:.()" else "mark"
    if low in _CLASS:
        return _CLASS[low]
    if word[0] in "$€£":
        return "money"
    if word[0].isdigit():
        return "year" if _YEAR.fullmatch(word) else "num" if _NUMBER.fullmatch(word) else "numw"
    if low in NUMBER_WORDS:
        return "wnum"
    if _MONTH.fullmatch(word) and word[0].isupper():
        return "month"
    if _DAY.fullmatch(low):
        return "wday"
    if re.fullmatch(MONEY, word, re.IGNORECASE):
        return "cur"
    if low in STOP_WORDS:
        return "stop"
    if word[0].isupper():
        return "Cap"
    if conversions.unit_of(low) is not None:
        return "unit"
    return next((end for end in ("ing", "ed", "ly") if low.endswith(end) and len(low) > len(end) + 2), "w")


@functools.lru_cache(4_000)
def tokens(text: str) -> tuple[Token, ...]:
    """The words and marks of a sentence; its first word is capitalised anyway, and so of a category of its own."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind = _kind(match[0])
        first = kind == "Cap" and not found
        found.append(Token(match[0], match.start(), match.end(), "Cap0" if first else kind))
    return tuple(found)


def runs(words: Sequence[Token]) -> list[tuple[int, int]]:
    """Runs of words that can be an answer, as (first, behind the last)."""
    found: list[tuple[int, int]] = []
    for i, first in enumerate(words):
        if first.mark or first.kind in _NO_START or first.text == "&":
            continue
        for j in range(i + 1, min(len(words), i + LONGEST) + 1):
            last = words[j - 1]
            goes_on = j < len(words) and words[j].kind in _GOES_ON
            if last.kind in _ENDS or last.kind == "aux" or (last.kind == "," and not goes_on):
                break
            if not last.mark and last.kind not in _NO_END and last.text != "&":
                found.append((i, j))
    return found


@functools.lru_cache(4_000)
def forms(text: str) -> Mapping[tuple[int, int], frozenset[str]]:
    """What has the form of a name, date, amount … in a sentence: (start, end) → forms."""
    found: dict[tuple[int, int], set[str]] = {}
    for name, pieces in spans.forms(text):
        for _, start, end, fit in pieces:
            graded = f"{name}{fit:.1f}" if name in ("person", "date") else name
            found.setdefault((start, end), set()).add(graded)
    return {place: frozenset(names) for place, names in found.items()}
