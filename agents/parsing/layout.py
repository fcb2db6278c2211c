"""A question and a schema as one row of word pieces, with what stands where."""

import functools
import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pointwork.agents.parsing.mentions import Mention, mentions
from pointwork.agents.parsing.schema import Field, Schema
from pointwork.text import STOP_WORDS, tokenize

MARKS = (
    "", "cell", "part", "column", "number", "date", "time",
    "table", "text", "numbers", "dates", "times", "bool", "other", "key", "whole", "partly", "listed", "shown",
)  # fmt: skip
"""What is known of a word piece: of the question's, what they match; of the schema's, what they are."""

PIECES = 320
_ASKED = 64  # pieces of a question
_CELL = 8  # pieces of a cell
_FEW = 8  # a text column with no more different cells lists them
_PARTLY = 4  # cells of a column that share words with the question
_LONGEST = 60  # characters of a cell that may be named
_MARK = {"number": "numbers", "date": "dates", "time": "times", "text": "text", "bool": "bool"}
_JOINTS = re.compile(r"[_-]|(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class Item:
    """What a score is given to.

    Attributes:
        kind: table, column, cell or mention.
        place: index of the table, of the column (also of a cell's), or of the mention.
        start, end: its word pieces.
        cell: the text of a cell.
        at: where in the question a cell stands.
    """

    kind: str
    place: int
    start: int
    end: int
    cell: str = ""
    at: int = 0


@dataclass(frozen=True)
class Layout:
    """Word pieces with their marks, and the items."""

    pieces: tuple[int, ...]
    marks: tuple[int, ...]
    items: tuple[Item, ...]
    mentions: tuple[Mention, ...]


class Pieces:
    """BERT's tokeniser, uncased; remembers short texts.

    Args:
        vocabulary: the word pieces in the order of their numbers.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        tokenizers: Any = importlib.import_module("tokenizers")
        self.count = len(vocabulary)
        numbers = {piece: number for number, piece in enumerate(vocabulary)}
        tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(numbers, unk_token="[UNK]"))  # noqa: S106
        tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        self._tokenizer: Any = tokenizer
        self.of = functools.lru_cache(maxsize=20_000)(self._of)

    def _of(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text).ids)

    def placed(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Pieces, and which characters each is."""
        found = self._tokenizer.encode(text)
        return list(found.ids), list(found.offsets)

    def special(self, name: str) -> int:
        return int(self._tokenizer.token_to_id(name))


def lay_out(question: str, schema: Schema, pieces: Pieces) -> Layout:
    """Question, then each table with its columns and those cells that the question may mean."""
    return _Writer(question, schema, pieces).written()


class _Writer:
    def __init__(self, question: str, schema: Schema, pieces: Pieces) -> None:
        self.schema, self.pieces = schema, pieces
        self.question = question.encode("utf-8", "replace").decode()
        self.asked = tokenize(self.question, stop=False)
        self.spaced = f" {' '.join(self.asked)} "
        self.words = {word for word in self.asked if word not in STOP_WORDS}
        self.ids: list[int] = []
        self.marks: list[int] = []
        self.items: list[Item] = []
        self.named: set[str] = set()  # stems of cells and columns that stand in the question
        self.partly: set[str] = set()
        self.columns: set[str] = set()
        self.holding = {edge.holds for edge in schema.edges}

    def written(self) -> Layout:
        cells = [self._cells(field) for field in self.schema.fields]
        for field in self.schema.fields:
            self.columns.update(tokenize(field.name, stop=False))
        found = mentions(self.question)
        self._ask(found)
        for number, info in enumerate(self.schema.tables):
            self._add([self.pieces.special("[SEP]")], "")
            self._item("table", number, self.pieces.of(_spoken(info.name)), "table")
            for place in self.schema.of(number):
                if len(self.ids) < PIECES:
                    self._column(place, cells[place])
        self._add([self.pieces.special("[SEP]")], "")
        return Layout(tuple(self.ids), tuple(self.marks), tuple(self.items), tuple(found))

    def _add(self, ids: Sequence[int], mark: str) -> None:
        self.ids += ids
        self.marks += [MARKS.index(mark)] * len(ids)

    def _item(self, kind: str, place: int, ids: Sequence[int], mark: str, cell: str = "") -> None:
        start = len(self.ids)
        self._add(ids or [self.pieces.special("[UNK]")], mark)
        self.items.append(Item(kind, place, start, len(self.ids), cell, self._at(cell)))

    def _at(self, cell: str) -> int:
        """Which word of the question is the first of a cell's."""
        words = [word for word in tokenize(cell, stop=False) if word in self.words] if cell else []
        return min((self.asked.index(word) for word in words), default=0)

    def _ask(self, found: Sequence[Mention]) -> None:
        ids, places = self.pieces.placed(self.question)
        ids, places = ids[:_ASKED], places[:_ASKED]
        self._add([self.pieces.special("[CLS]")], "")
        self.ids += ids
        kinds: dict[int, str] = {}
        for number, one in enumerate(found):
            inside = [i for i, (a, b) in enumerate(places) if a < one.end and one.start < b]
            for i in inside:
                kinds.setdefault(i, one.kind)
            if inside:
                self.items.append(Item("mention", number, 1 + inside[0], 2 + inside[-1]))
        for i, (a, b) in enumerate(places):
            self.marks.append(MARKS.index(kinds.get(i) or self._matched(self._word(a, b))))

    def _word(self, start: int, end: int) -> str:
        """The whole word around some characters."""
        text = self.question
        while start > 0 and text[start - 1].isalnum():
            start -= 1
        while end < len(text) and text[end].isalnum():
            end += 1
        return text[start:end]

    def _matched(self, word: str) -> str:
        stems = set(tokenize(word, stop=False))
        if stems & self.named:
            return "cell"
        if stems & self.partly:
            return "part"
        return "column" if stems & self.columns - STOP_WORDS else ""

    def _cells(self, field: Field) -> list[tuple[float, str]]:
        """The cells of a column that are shown, with how much of each stands in the question."""
        if field.kind != "text":
            return []
        whole: list[tuple[float, str]] = []
        part: list[tuple[float, str]] = []
        for cell in field.cells:
            stems = tokenize(cell, stop=False) if len(cell) <= _LONGEST else []
            own = [stem for stem in stems if stem not in STOP_WORDS]
            if stems and f" {' '.join(stems)} " in self.spaced:
                whole.append((1.0, cell))
                self.named.update(own)
            elif own and (same := [stem for stem in own if stem in self.words]):
                part.append((0.9 * len(same) / len(own), cell))
                self.partly.update(same)
        part = sorted(part, key=lambda one: -one[0])[:_PARTLY]
        found = [*whole, *part]
        rest = [cell for cell in field.cells if cell not in {cell for _, cell in found} and len(cell) <= _LONGEST]
        listed = rest if len(field.cells) <= _FEW else rest[:1] if not found else []
        return [*found, *((0.0, cell) for cell in listed)]

    def _column(self, place: int, cells: Sequence[tuple[float, str]]) -> None:
        field = self.schema.fields[place]
        mark = "key" if place in self.holding else _MARK.get(field.kind, "other")
        self._add([self.pieces.special("[MASK]")], "")  # parts a column from what stands before it
        self._item("column", place, self.pieces.of(_spoken(field.name)), mark)
        listed = len(field.cells) <= _FEW
        for match, cell in cells:
            ids = self.pieces.of(cell)[:_CELL]
            if len(self.ids) + len(ids) > PIECES:
                break
            kind = "whole" if match == 1.0 else "partly" if match else "listed" if listed else "shown"
            self._item("cell", place, ids, kind, cell)


def _spoken(name: str) -> str:
    """A name in words: ``ownerName``, ``hired_on``."""
    return " ".join(_JOINTS.sub(" ", name).split()).lower()
