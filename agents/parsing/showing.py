"""A task and the lines of what files say as one row of word pieces, with where its amounts stand."""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pointwork.agents.parsing.amounts import DATE, NUMBER, TIME, Amount, amounts_of
from pointwork.agents.parsing.layout import MARKS, Pieces
from pointwork.text import STOP_WORDS, tokenize

SHOWN, EACH = 640, 72
"""Word pieces of all, and of a line; where it is too long, lines that share least with the task are left out."""

_MARK = {kind: MARKS.index(name) for kind, name in ((NUMBER, "number"), (DATE, "date"), (TIME, "time"))}
_SHARED_LINE, _SHARED_TASK = MARKS.index("cell"), MARKS.index("part")
_COLUMNS = re.compile(r"[\w-]+: (?!.*;)(?!.*[.!?…]$).*, .*, ")  # a table by its columns
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Shown:
    """What the network sees.

    Attributes:
        pieces, marks: of each place.
        amounts: those that can be seen.
        places: the pieces of each, from the first to behind the last.
    """

    pieces: tuple[int, ...]
    marks: tuple[int, ...]
    amounts: tuple[Amount, ...]
    places: tuple[tuple[int, int], ...]


def show(task: str, lines: Sequence[str], pieces: Pieces) -> Shown:
    """Task first, then the lines; dates, times and numbers of all in one form (``facts.figures``)."""
    texts = [text.encode("utf-8", "replace").decode() for text in (task, *lines)]
    amounts = amounts_of(texts)
    asked = _stems(texts[:1])
    said = _stems(texts[1:])
    holding = {amount.line for amount in amounts}
    kept = {
        line: pieces.placed(text)
        for line, text in enumerate(texts)
        if not line or line in holding or not _COLUMNS.match(text)
    }
    _shorten(kept, {line: len(_stems([texts[line]]) & asked) - 2 * (line not in holding) for line in kept})
    ids, marks = [pieces.special("[CLS]")], [0]
    seen: list[Amount] = []
    places: list[tuple[int, int]] = []
    for line, (numbers, spans) in kept.items():
        room = max(0, min(EACH, SHOWN - 1 - len(ids)))
        numbers, spans = numbers[:room], spans[:room]
        if not numbers:
            break
        marked = _marked(texts[line], spans, said if line == 0 else asked, line)
        for amount in (one for one in amounts if one.line == line):
            if inside := _inside(spans, amount.start, amount.end):
                seen.append(amount)
                places.append((len(ids) + inside[0], len(ids) + inside[-1] + 1))
                for place in inside:
                    marked[place] = _MARK[amount.kind]
        ids += [*numbers, pieces.special("[SEP]")]
        marks += [*marked, 0]
    return Shown(tuple(ids), tuple(marks), tuple(seen), tuple(places))


def size_of(line: str, pieces: Pieces) -> int:
    """Word pieces that a line takes, with what parts it from the next."""
    return min(EACH, len(pieces.placed(line)[0])) + 1


def _shorten(kept: dict[int, tuple[list[int], list[tuple[int, int]]]], fits: Mapping[int, int]) -> None:
    """Leave out what shares least with the task, of equals the last, until all can be shown."""
    while 1 + sum(min(EACH, len(ids)) + 1 for ids, _ in kept.values()) > SHOWN and len(kept) > 2:
        del kept[min((line for line in kept if line), key=lambda line: (fits[line], -line))]


def _marked(text: str, spans: Sequence[tuple[int, int]], others: set[str], line: int) -> list[int]:
    """The words that stand on both sides."""
    marks = [0] * len(spans)
    for word in _WORD.finditer(text):
        if _stem(word[0]) in others:
            for place in _inside(spans, *word.span()):
                marks[place] = _SHARED_LINE if line else _SHARED_TASK
    return marks


def _inside(spans: Sequence[tuple[int, int]], start: int, end: int) -> list[int]:
    return [place for place, (a, b) in enumerate(spans) if a < end and start < b]


def _stems(texts: Sequence[str]) -> set[str]:
    return {_stem(word) for text in texts for word in _WORD.findall(text)} - {""}


@functools.lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    """The stem of a word; empty for one that says nothing."""
    stems = tokenize(word)
    return stems[0] if stems and stems[0] not in STOP_WORDS else ""
