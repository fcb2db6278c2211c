"""What an expression over the numbers of a word problem is measured in, and units of one kind brought together.

``3.5 litres an hour`` times ``2 days`` is litres by hours times days, and comes to litres with a factor of 24;
litres and hours are never added. Dimensions tell right expressions from wrong ones where words do not (Roy and
Roth, "Unit Dependency Graph and its Application to Arithmetic Word Problem Solving", AAAI 2017).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from pointwork.agents.readings.problem_text import Leaf, Problem, Tree
from pointwork.text import STOP_WORDS

# Units of a kind: stems by how many of the smallest they are.
_KINDS: tuple[dict[str, float], ...] = (
    {"second sec": 1, "minut min": 60, "hour h hr": 3600, "day night": 86400, "week": 604800, "fortnight": 1209600},
    {"month": 1, "year": 12},
    {"mm millimetr": 1, "cm centimetr": 10, "m metr meter": 1000, "km kilometr": 1000000},
    {"g gram": 1, "kg kilo kilogram": 1000, "tonn": 1000000},
    {"ml millilitr": 1, "cl": 10, "l litr liter": 1000},
    {"cent": 1, "$": 100},
)
_SCALE = {
    stem: (kind, float(size))
    for kind, units in enumerate(_KINDS)
    for stems, size in units.items()
    for stem in stems.split()
}
MEASURES = frozenset(_SCALE)
"""Stems of units of measure."""
# What "each" is by: whatever it is multiplied with.
ANY = "*"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CENTS = _words("cent cents pence")
_MONEY = _words("$ € £ euro euros eur dollars pounds money earn change profit cost costs pay pays price")
_PRICED = _words("cost costs pay pays price paid spent spend charges")
_ENDS = _words("and or but which who that")
_SINGLE = _words("each every per a an one")
_HOLDS = _words(
    "of holds hold has have contains costs cost weighs weigh takes take needs need gives uses is makes sells eats "
    "drinks lasts burns earns seats fits covers produces lays"
)

Dimensions = dict[str, int]
"""Exponents by unit."""


@dataclass(frozen=True)
class Measured:
    """An expression with its dimensions.

    Attributes:
        value: with units of one kind brought together.
        written: for the calculator.
        of: its dimensions; none of a share, and of a number whose unit is not told.
        known: whether the units of all its numbers are told.
        joins: of each operation how its two sides go together.
        factors: how often units were brought together.
    """

    value: float
    written: str
    of: Dimensions
    known: bool
    joins: tuple[str, ...] = ()
    factors: int = 0

    def times(self, factor: float, of: Dimensions) -> "Measured":
        """The same in other units."""
        number = factor if factor >= 1 else 1 / factor
        sign = "*" if factor >= 1 else "/"
        written = f"({self.written} {sign} {number:.12g})"
        return replace(self, value=self.value * factor, written=written, of=of, factors=self.factors + 1)


class Measures:
    """The dimensions of the numbers of a problem, and of expressions over them."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.words, self.stems = problem.words, problem.stems

    @cached_property
    def numbers(self) -> list[tuple[Dimensions, bool]]:
        """Of each number its dimensions, and whether its unit is told."""
        return [self._number(i) for i in range(len(self.problem.quantities))]

    def _number(self, i: int) -> tuple[Dimensions, bool]:
        quantity = self.problem.quantities[i]
        if quantity.kind in "pfx":
            return {}, True
        at, unit = quantity.place, quantity.unit
        if unit == "$" and _CENTS & set(self.words[at + 1 : at + 3]):
            unit = "cent"
        elif not unit and _PRICED & set(self.words[max(0, at - 4) : at]):
            unit = "$"
        by = self._behind(at) or self._before(at)
        of = {unit: 1} if unit else {}
        return of | ({by: -1} if by and by != unit else {}), bool(unit)

    def _behind(self, at: int) -> str:
        """By what a number is: ``3 euros a bag``, ``12 eggs per box``, ``22 seats each``."""
        for k in range(at + 1, min(at + 6, len(self.words))):
            word = self.words[k]
            if word in _ENDS or (not word.isalpha() and word not in "$€£"):
                return ""
            if word == "apiece" or (word == "each" and not self._is_noun(k + 1)):
                return ANY
            if word in ("a", "an", "each", "per", "every") and self._is_noun(k + 1):
                return self.stems[k + 1]
        return ""

    def _before(self, at: int) -> str:
        """The same told before it: ``each box holds 12``, ``a ticket costs 8``, ``boxes of 12``."""
        if at < 2 or self.words[at - 1] not in _HOLDS or not self._is_noun(at - 2):
            return ""
        single = {"each", "every", "per"} if self.words[at - 1] in ("is", "has", "have") else _SINGLE
        told = single & set(self.words[max(0, at - 5) : at - 2])
        return self.stems[at - 2] if told or self.words[at - 1] == "of" else ""

    def _is_noun(self, k: int) -> bool:
        return 0 <= k < len(self.words) and self.words[k].isalpha() and self.words[k] not in STOP_WORDS

    @cached_property
    def asked(self) -> str:
        """The unit of what is asked for; empty where that is not told."""
        start, end, _ = self.problem.bounds
        said = set(self.words[start:end])
        if _CENTS & said:
            return "cent"
        return "$" if _MONEY & said else self.problem.asked if "many" in said else ""

    def of(self, tree: Tree) -> Measured:
        """An expression, units of a kind brought together."""
        if isinstance(tree, Leaf):
            quantity = self.problem.quantities[tree.place]
            of, known = self.numbers[tree.place]
            if tree.form == "q":
                return Measured(quantity.value, quantity.written, of, known)
            value = 1 + quantity.value if tree.form == "1+" else 1 - quantity.value
            return Measured(value, f"(1 {tree.form[1]} {quantity.written})", {}, known)
        left, right = self.of(tree.left), self.of(tree.right)
        return _sum(tree.name, left, right) if tree.name in "+-" else _product(tree.name, left, right)

    def answered(self, tree: Tree) -> Measured:
        """The same in the unit that is asked for, where it is of its kind."""
        found = self.of(tree)
        if len(found.of) == 1:
            ((unit, exponent),) = found.of.items()
            if exponent == 1 and (factor := _factor(unit, self.asked)) not in (0.0, 1.0):
                return found.times(factor, {self.asked: 1})
        return found

    def features(self, found: Measured) -> dict[str, float]:
        """Features of an expression, by which it is weighed against the others."""
        above = _above(found)
        below = found.of.keys() - above
        if not self.asked:
            fits = "not told"
        elif not found.of:
            fits = "nothing" if found.known else "unknown"
        elif found.of == {self.asked: 1}:
            fits = "yes"
        else:
            fits = "part" if self.asked in above else "below" if self.asked in below else "no"
        features = {f"asked={fits}": 1.0, f"asked={fits}&{found.known}": 1.0, "factors": float(found.factors)}
        features |= {"below": float(len(below)), "square": float(any(abs(e) > 1 for e in found.of.values()))}
        for join in found.joins:
            features[join] = features.get(join, 0.0) + 1.0
        return features


def _factor(unit: str, other: str) -> float:
    """How many of the other a unit is; 0 if they are of different kinds."""
    if unit == other:
        return 1.0
    a, b = _SCALE.get(unit), _SCALE.get(other)
    return a[1] / b[1] if a is not None and b is not None and a[0] == b[0] else 0.0


def _sum(name: str, left: Measured, right: Measured) -> Measured:
    how = "alike" if left.of == right.of and left.of else "unknown"
    sides = _sides(name, left, right)
    if left.of and right.of and left.of != right.of:
        ours, theirs = ({unit for unit in side.of if unit != ANY} for side in (left, right))
        how = "alike" if ours == theirs else "nearly" if _above(left) == _above(right) else "mixed"
        if len(ours) == len(theirs) == 1 and set(left.of.values()) == {1} == set(right.of.values()):
            (unit,), (other,) = ours, theirs
            factor = _factor(other, unit)
            if factor not in (0.0, 1.0):
                how = "brought together"
                left, right = (
                    (left, right.times(factor, left.of))
                    if factor > 1
                    else (left.times(1 / factor, right.of), right)
                )
    value = left.value + right.value if name == "+" else left.value - right.value
    return _joined(name, left, right, value, left.of or right.of, how, sides)


def _above(side: Measured) -> set[str]:
    return {unit for unit, exponent in side.of.items() if exponent > 0}


def _product(name: str, left: Measured, right: Measured) -> Measured:
    sides, sign = _sides(name, left, right), 1 if name == "*" else -1
    of = dict(left.of)
    for unit, exponent in right.of.items():
        of[unit] = of.get(unit, 0) + sign * exponent
    for side, other in ((left, right), (right, left)) if name == "*" else ():
        counts = [unit for unit, exponent in other.of.items() if exponent == 1]
        if ANY in side.of and ANY not in other.of and counts:
            of[ANY] += 1
            of[counts[0]] -= 1
    of = {unit: exponent for unit, exponent in of.items() if exponent}
    factor = 1.0
    for unit, other in [(u, o) for u in of for o in of if of[u] == 1 and of[o] == -1]:
        if unit in of and other in of and (one := _factor(unit, other)):
            factor *= one
            of = {u: e for u, e in of.items() if u not in (unit, other)}
    whole = _size(left.of) + _size(right.of)
    how = "cancels" if _size(of) < whole else "piles" if left.of and right.of else "plain"
    value = left.value * right.value if name == "*" else left.value / right.value if right.value else 0.0
    found = _joined(name, left, right, value, of, how, sides)
    return found if factor == 1.0 else found.times(factor, of)


def _joined(
    name: str, left: Measured, right: Measured, value: float, of: Dimensions, how: str, sides: str
) -> Measured:
    joins = (*left.joins, *right.joins, f"{name} {how}", sides)
    known, factors = left.known and right.known, left.factors + right.factors
    return Measured(value, f"({left.written} {name} {right.written})", of, known, joins, factors)


def _size(of: Dimensions) -> int:
    return sum(map(abs, of.values()))


def _sides(name: str, left: Measured, right: Measured) -> str:
    return f"{name} {_shape(left)} {_shape(right)}"


def _shape(side: Measured) -> str:
    """``$/n`` is a price, ``n`` a number of things, ``1`` a share, ``?`` not told."""
    if not side.of:
        return "1" if side.known else "?"
    below = side.of.keys() - _above(side)
    return _letters(_above(side)) + ("/" + _letters(below) if below else "")


def _letters(units: Iterable[str]) -> str:
    return "".join(sorted("$" if unit == "$" else "n" for unit in units))
