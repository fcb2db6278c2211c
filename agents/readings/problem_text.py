"""A word problem as its numbers, with what stands around each of them: what is learned from.

The features are those that tell operations apart in the literature: the words around a number, its unit, whether it
is a rate, and the words of the question (Roy and Roth, "Solving General Arithmetic Word Problems", EMNLP 2015, §4).
"""

import math
import re
from dataclasses import dataclass
from functools import cached_property

from pointwork.agents.readings import lexicon
from pointwork.agents.readings.question import Question
from pointwork.text import NUMBER_WORDS, STOP_WORDS, tokenize

# Numbers, but no times of day and none within names: 14:30, R-46.
_WORD = re.compile(
    r"\$|€|£|%|(?<![\w-])(?<!\d:)(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?!\w|:\d)|[A-Za-z]+(?:['’][a-z]+)?|[?.;:,!]"
)
_NUMBER = re.compile(r"[\d,.]*\d")
_DIGITS = 30  # a longer numeral is no quantity of anything
_COUNTS = {"hundred": 100, "dozen": 12, "couple": 2, "pair": 2}
_PARTS = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5,
    "sixth": 6, "sixths": 6, "eighth": 8, "eighths": 8, "tenth": 10, "tenths": 10,
}  # fmt: skip
_TIMES = {"twice": 2, "double": 2, "doubled": 2, "triple": 3, "thrice": 3}
MONEY = frozenset(re.findall(r"\S+", "$ € £ euro euros eur dollar dollars pound pounds cent cents crown crowns"))
_NEAR = re.findall(
    r"\S+",
    """
    each every per a an apiece of more less fewer times as than off left rest remaining at for into by with cost
    costs twice half older younger another only total altogether tip discount and from out in on
    """,
)
_COSTS = frozenset(["cost", "costs", "pay", "pays", "price", "bill", "fare", "fee", "charge", "charged", "owe"])
_PERCENT_ASKED = re.compile(
    r"\b(?:what|which|how many) (?:percentage|percent|per cent)\b|\bas a percentage\b|\bpercentage of\b"
)
_LITTLE = frozenset(
    stem for word in (*STOP_WORDS, "how", "many", "much", "there", "left") for stem in tokenize(word, stop=False)
)
_ASKED = frozenset(["many", "much", "far", "long"])


@dataclass(frozen=True)
class Leaf:
    """A number of a text: as it stands (``q``), taken from one (``1-``), added to one (``1+``)."""

    form: str
    place: int


@dataclass(frozen=True)
class Node:
    """An operation on two expressions: ``+``, ``-``, ``*`` or ``/``."""

    name: str
    left: "Tree"
    right: "Tree"


Tree = Leaf | Node


@dataclass(frozen=True)
class Quantity:
    """A number of a problem.

    Attributes:
        value: as a factor: 15 % is .15.
        written: the same for the calculator.
        place: of its word.
        kind: n plain, m money, p percent, w in words, f a part of one, x how many times.
        unit: stem of the noun behind it, ``$`` of money; empty if there is none.
    """

    value: float
    written: str
    place: int
    kind: str
    unit: str


@dataclass(frozen=True)
class Problem:
    """A text with the numbers in it."""

    text: str

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Where each word stands."""
        dates = [(date.start, date.end) for date in Question(self.text).dates]
        found = (match.span() for match in _WORD.finditer(self.text))
        return [span for span in found if not any(a <= span[0] < b for a, b in dates)]

    @cached_property
    def words(self) -> list[str]:
        return [self.text[start:end].lower() for start, end in self.places]

    @cached_property
    def stems(self) -> list[str]:
        return [(tokenize(word, stop=False) or [word])[0] if word.isalpha() else word for word in self.words]

    @cached_property
    def quantities(self) -> list[Quantity]:
        found: list[Quantity] = []
        i = 0
        while i < len(self.words):
            value, written, kind, used = self._number(i)
            if kind:
                found.append(Quantity(value, written, i, kind, "$" if kind == "m" else self._unit(i + used - 1)))
            i += used
        return found

    def _number(self, i: int) -> tuple[float, str, str, int]:
        """Value, form for the calculator, kind (empty: no number) and number of tokens."""
        word, after = self.words[i], self.words[i + 1] if i + 1 < len(self.words) else ""
        if _NUMBER.fullmatch(word):
            plain = re.sub(r"^0+(?=\d)", "", word.replace(",", ""))
            if len(plain) > _DIGITS:
                return 0.0, "", "", 1
            if after in ("%", "percent"):
                return float(plain) / 100, f"({plain} / 100)", "p", 2
            return float(plain), plain, "m" if i and self.words[i - 1] in MONEY else "n", 1
        if word in _TIMES:
            return float(_TIMES[word]), str(_TIMES[word]), "x", 1
        if 0 < (many := NUMBER_WORDS.get(word, 0)) < 10 and after in _PARTS:
            return many / _PARTS[after], f"({many} / {_PARTS[after]})", "f", 2
        if word in _PARTS and not (word == "third" and i and self.words[i - 1] == "the"):
            return 1 / _PARTS[word], f"(1 / {_PARTS[word]})", "f", 1
        if word in NUMBER_WORDS:
            value, used = self._spelled(i)
            return float(value), str(value), "1" if value == 1 else "w", max(used, 1)
        if word in _COUNTS:
            return float(_COUNTS[word]), str(_COUNTS[word]), "w", 1
        return 0.0, "", "", 1

    def _spelled(self, i: int) -> tuple[int, int]:
        """The whole number in words from a place on, and how many words it has: three hundred and sixty-four."""
        value, used = self._below_hundred(i)
        if 0 < value < 20 and self.words[i + used : i + used + 1] == ["hundred"]:
            used += 1
            joint = self.words[i + used : i + used + 1] == ["and"]
            rest, more = self._below_hundred(i + used + joint)
            value, used = 100 * value + rest, used + joint + more
        return value, used

    def _below_hundred(self, i: int) -> tuple[int, int]:
        first, second = (NUMBER_WORDS.get(word, 0) for word in [*self.words[i : i + 2], "", ""][:2])
        return (first + second, 2) if first >= 20 and 0 < second < 10 else (first, int(first > 0))

    def _unit(self, i: int) -> str:
        for word, stem in zip(self.words[i + 1 : i + 4], self.stems[i + 1 : i + 4], strict=True):
            if word in MONEY:
                return "$"
            if not word.isalpha():
                return ""
            if word not in STOP_WORDS:
                return stem
        return ""

    @cached_property
    def bounds(self) -> tuple[int, int, int]:
        """Where the sentence that asks begins, where it ends, and where its question word stands."""
        marks = [i for i, word in enumerate(self.words) if word in "?.!"]
        asks = [i for i in marks if self.words[i] == "?"]
        end = asks[-1] if asks else len(self.words)
        start = max((i for i in marks if i < end), default=-1) + 1
        asking = (i for i in range(start, end) if self.words[i] in ("how", "what", "which", "find", "calculate"))
        return start, end, next(asking, start)

    @cached_property
    def asked(self) -> str:
        """Stem of the noun that is asked for."""
        _, end, at = self.bounds
        for word, stem in zip(self.words[at + 1 : end], self.stems[at + 1 : end], strict=True):
            if word.isalpha() and word not in STOP_WORDS and word not in _ASKED:
                return stem
        return ""

    @cached_property
    def factor(self) -> int:
        """By what a result is multiplied in the end: 100 where a percentage is asked for."""
        start, end, _ = self.bounds
        return 100 if _PERCENT_ASKED.search(" ".join(self.words[start:end])) else 1

    @cached_property
    def lacks_price(self) -> bool:
        """Whether money is asked for and no number can be any: the price has to be looked up."""
        start, end, _ = self.bounds
        if not _COSTS & set(self.words[start:end]) | (MONEY & set(self.words[start:end])):
            return False
        for quantity in self.quantities:
            before = " ".join(self.words[max(0, quantity.place - 3) : quantity.place])
            priced = lexicon.PRICED.search(before) or re.search(r"\b(?:at|saved?|saves)\b", before)
            if quantity.unit == "$" or quantity.kind in "mp" or quantity.value % 1 or priced:
                return False
        return True

    @cached_property
    def question(self) -> list[str]:
        """Features: the words of the sentence that asks."""
        start, end, _ = self.bounds
        both = zip(self.words[start:end], self.stems[start:end], strict=True)
        return [f"Q:{stem}" for word, stem in both if word.isalpha()]

    @cached_property
    def around(self) -> list[list[str]]:
        """Features of each number."""
        start, end, at = self.bounds
        asking = set(self.stems[at:end])
        found: list[list[str]] = []
        for quantity in self.quantities:
            i = quantity.place
            before, behind = self.words[max(0, i - 3) : i], self.words[i + 1 : i + 5]
            features = [
                f"kind={quantity.kind}",
                f"unitasked={bool(self.asked) and quantity.unit == self.asked}",
                f"unitinq={quantity.unit in asking}",
                f"inq={i >= start}",
            ]
            features += [f"a:{near}" for near in _NEAR if near in behind]
            features += [f"b:{near}" for near in _NEAR if near in before]
            features += [f"B:{stem}" for stem in self.stems[max(0, i - 4) : i] if stem.isalpha()]
            features += [f"A:{stem}" for stem in self.stems[i + 1 : i + 6] if stem.isalpha()]
            found.append(features)
        return found

    def pair(self, i: int, j: int) -> list[str]:
        """Features of two numbers, by which the operation that joins them is told."""
        a, b = self.quantities[i], self.quantities[j]
        between = self.stems[a.place + 1 : b.place]
        asked_a, asked_b = (bool(self.asked) and q.unit == self.asked for q in (a, b))
        return [
            *(f"i{feature}" for feature in self.around[i]),
            *(f"j{feature}" for feature in self.around[j]),
            f"same={a.unit == b.unit and a.unit != ''}",
            f"gt={a.value > b.value}",
            f"lt1={a.value < 1}{b.value < 1}",
            f"adj={j - i}",
            f"samesent={not any(word in '.?!' for word in self.words[a.place : b.place])}",
            f"kinds={a.kind}{b.kind}",
            *[f"M:{stem}" for stem in between if stem.isalpha()][:12],
            *self.question,
            f"div={_whole(a.value, b.value)}",
            f"rdiv={_whole(b.value, a.value)}",
            f"uq={asked_a}{asked_b}{a.unit == b.unit}",
            *(f"uq{asked_a}{asked_b}&{feature}" for feature in self.question),
        ]

    def single(self, i: int) -> list[str]:
        """Features of a number, by which its being needed is told."""
        quantity, all_ = self.quantities[i], self.quantities
        return [
            *(f"r{feature}" for feature in self.around[i]),
            f"rn={min(len(all_), 7)}",
            f"rdup={sum(other.value == quantity.value for other in all_) > 1}",
            f"rsu={sum(other.unit == quantity.unit for other in all_) > 1}",
        ]

    def share(self, i: int) -> list[str]:
        """Features of a share, by which it is told whether it is meant itself, or what is left without it.

        The question repeats of its sentence what it asks for: three quarters *were taken*; how many *were taken*?
        """
        place = self.quantities[i].place
        end = next((k for k in range(place, len(self.words)) if self.words[k] in ".?!;"), len(self.words))
        start, stop, at = self.bounds
        said = {stem for stem in self.stems[place + 1 : end] if stem.isalpha()} - _LITTLE
        asked = {stem for stem in self.stems[max(start, at) : stop] if stem.isalpha()} - _LITTLE
        both = len(said & asked)
        return [
            *self.single(i),
            *self.question,
            f"repeats={min(both, 3)}",
            f"new={min(len(asked - said), 3)}",
            f"same sentence={place >= start}",
        ]

    def result(self, score: float, top: float, value: float, tree: Tree) -> dict[str, float]:
        """Features of an expression and its value, by which it is weighed against the others."""
        value *= self.factor
        start, end, _ = self.bounds
        said = self.words[start:end]
        many = any(a == "how" and b == "many" for a, b in zip(said, said[1:], strict=False))
        money = any(w in MONEY or w in ("cost", "costs", "pay", "price", "earn", "spend") for w in said)
        largest = max(quantity.value for quantity in self.quantities)
        size = max(-6, min(6, round(math.log(max(value, 1e-6) / max(largest, 1e-6)))))
        names = operations(tree)
        used = sum(name in ("q", "1-", "1+") for name in names)
        return {
            "score": score,
            "behind": score - top,
            "whole": float(_whole(value, 1.0)),
            f"many&whole={many}{_whole(value, 1.0)}": 1.0,
            f"money&cents={money}{_whole(100 * value, 1.0)}": 1.0,
            f"size={size}": 1.0,
            "unused": float(len(self.quantities) - used),
            "steps": float(used - 1),
            f"last={names[0]}": 1.0,
            f"percent&hundred={self.factor > 1}{value <= 100}": 1.0,
            "small": float(value < 1),
            "zero": float(value == 0),
            f"decimals&whole={any(not _whole(q.value, 1.0) and q.kind in 'nm' for q in self.quantities)}"
            f"{_whole(value, 1.0)}": 1.0,
            "given": float(any(abs(value - q.value) < 1e-9 for q in self.quantities)),
            f"operations={''.join(sorted(set(names)))}": 1.0,
        }


def operations(tree: Tree) -> list[str]:
    """The names of all nodes of an expression, and the forms of its numbers."""
    if isinstance(tree, Leaf):
        return [tree.form]
    return [tree.name, *operations(tree.left), *operations(tree.right)]


def _whole(value: float, by: float) -> bool:
    return bool(by) and abs(value / by - round(value / by)) < 1e-6
