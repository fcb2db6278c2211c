"""Solutions of word problems as steps over the numbers of their texts, as ``agents/parsing/problems`` has them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pointwork.agents.parsing.layout import Pieces
from pointwork.agents.parsing.problems import CONSTANTS, FORMS, MOST, OPERATIONS, STEPS, Number, lay_out, numbers

Step = tuple[int, int, int]
"""Two things that are there (numbers of the text, constants, what earlier steps made), and the operation."""

_SHARES = "pfx"
_NEAR = 1e-9


class NoSteps(Exception):
    """The solution takes a number that is neither in the text nor a constant, or has another form."""


@dataclass
class Solved:
    """One problem as numbers: the network's input and the steps."""

    pieces: list[int]
    marks: list[int]
    places: list[tuple[int, int]]
    forms: list[int]
    steps: list[Step]


def solved(text: str, tree: Any, answer: float, pieces: Pieces) -> Solved:
    """A problem with its solution.

    Args:
        text: of the problem. tree: its solution, nested (operation, left, right) over numbers. answer: for a check.
        pieces: that the text is read in.

    Raises:
        NoSteps: it can not be said in steps, or they come to something else.
    """
    found = numbers(text)
    if not 1 <= len(found) <= MOST:
        raise NoSteps
    steps = _Writer(found).written(tree)
    value = _value(steps, found)
    whole = answer in (math.floor(value), math.ceil(value)) if math.isfinite(value) else False
    if len(steps) > STEPS or not (whole or abs(value - answer) < max(0.02, abs(answer) * 0.02)):
        raise NoSteps
    laid = lay_out(text, found, pieces)
    forms = [FORMS.index(one.form) for one in found]
    return Solved(list(laid.pieces), list(laid.marks), list(laid.places), forms, steps)


def all_solved(rows: Iterable[tuple[str, Any, float]], pieces: Pieces) -> list[Solved]:
    """Those problems that can be said in steps."""
    found: list[Solved] = []
    for text, tree, answer in rows:
        try:
            found.append(solved(text, tree, answer, pieces))
        except (NoSteps, RecursionError):
            continue
    return found


def _value(steps: Sequence[Step], found: Sequence[Number]) -> float:
    values = [*(one.value for one in found), *CONSTANTS]
    for i, j, operation in steps:
        name = OPERATIONS[operation]
        a, b = (values[j], values[i]) if name[0] == "r" else (values[i], values[j])
        if name[-1] == "/" and not b:
            return math.nan
        values.append({"+": a + b, "-": a - b, "*": a * b}.get(name[-1], a / b if b else 0.0))
    return values[-1]


class _Writer:
    def __init__(self, found: Sequence[Number]) -> None:
        self.found = found
        self.taken: set[int] = set()
        self.steps: list[Step] = []
        self.start = len(found) + len(CONSTANTS)

    def written(self, tree: Any) -> list[Step]:
        if not isinstance(tree, tuple) or self._of(tree) != self.start + len(self.steps) - 1:
            raise NoSteps
        return self.steps

    def _of(self, tree: Any) -> int:
        if tree is None:
            raise NoSteps
        if isinstance(tree, float):
            return self._number(tree)
        share = self._share(tree)
        if share is not None:
            return share
        name, left, right = tree
        if name == "/" and isinstance(right, float) and right:
            for part, other in ((left[2], left[1]), (left[1], left[2])) if _is(left, "*") else ():
                place = self._find(part / right, kinds=_SHARES) if isinstance(part, float) else None
                if place is not None:  # x * 35 / 100 of 35 %
                    return self._join(self._of(other), place, "*")
            if self._peek(right) is None and (place := self._find(1 / right, kinds="f")) is not None:
                return self._join(self._of(left), place, "*")  # a third of
        return self._join(self._of(left), self._of(right), name)

    def _number(self, value: float) -> int:
        place = self._find(value)
        if place is not None:
            return place
        if value in CONSTANTS:
            return len(self.found) + CONSTANTS.index(value)
        raise NoSteps

    def _share(self, tree: Any) -> int | None:
        """``35 / 100``, ``1 - 35 / 100`` and ``(100 - 35) / 100`` of 35 %."""
        name, left, right = tree
        if name == "/" and isinstance(left, float) and isinstance(right, float) and right:
            return self._find(left / right, kinds=_SHARES)
        if name == "/" and right == 100.0 and isinstance(left, tuple) and left[1] == 100.0:
            left = (left[0], 1.0, ("/", left[2], 100.0))
            name, left, right = left
        if name in ("+", "-") and left == 1.0 and (part := _plain(right)) is not None:
            return self._find(1 + part if name == "+" else 1 - part, form=f"1{name}")
        return None

    def _peek(self, value: float) -> int | None:
        fits = (i for i, one in enumerate(self.found) if one.form == "q" and abs(one.value - value) < _NEAR)
        return next(fits, None)

    def _find(self, value: float, *, form: str = "q", kinds: str = "") -> int | None:
        """A number of the text, one that is not taken yet before others."""
        fits = [
            i
            for i, one in enumerate(self.found)
            if one.form == form
            and abs(one.value - value) < _NEAR * max(1, abs(value)) + _NEAR
            and (not kinds or one.kind in kinds)
        ]
        if not fits:
            return None
        place = next((i for i in fits if i not in self.taken), fits[0])
        self.taken.add(place)
        return place

    def _join(self, i: int, j: int, name: str) -> int:
        fixed = range(len(self.found), self.start)
        if i == j or (i in fixed and j in fixed):
            raise NoSteps
        if i > j:
            i, j, name = j, i, f"r{name}" if name in "-/" else name
        step = (i, j, OPERATIONS.index(name))
        if step not in self.steps:
            self.steps.append(step)
        return self.start + self.steps.index(step)


def _is(tree: Any, name: str) -> bool:
    return isinstance(tree, tuple) and tree[0] == name


def _plain(tree: Any) -> float | None:
    if isinstance(tree, float):
        return tree
    if not isinstance(tree, tuple):
        return None
    left, right = _plain(tree[1]), _plain(tree[2])
    if left is None or right is None or (tree[0] == "/" and not right):
        return None
    return {"+": left + right, "-": left - right, "*": left * right}.get(tree[0], left / right if right else 0.0)
