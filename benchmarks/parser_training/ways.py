"""All ways to come to what a task comes to: a price times nights times guests is one sum, joined in three orders.

Which of them somebody wrote down, and in which of two lines that say the same a value was read, tells nothing. So a
step is right if it begins any of these ways (a dynamic oracle: Goldberg and Nivre, COLING 2012), and the next is
asked for after the one that is taken.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from parser_training.calculations import TURNED, Calculated, Step
from pointwork.agents.parsing.amounts import NUMBER, TRUTH
from pointwork.agents.parsing.operations import CONSTANTS, COPY, OPERATIONS, applied, goes_on, kind_of

Way = tuple[Step, ...]
"""Steps: two values and how they are joined; a value is a leaf's number, or that of an earlier step behind them."""

_ALIKE = (("*", "/", "r/"), ("+", "-", "r-"), *((one, other) for one, other in TURNED.items()))
_MOST = 20_000  # ways that are tried
_NEAR = 1e-9

_Value = tuple[float, int]  # and its kind


@dataclass(frozen=True)
class Ways:
    """What a task may be calculated by.

    Attributes:
        leaves: the places of each value that is needed, of all where it stands; constants stand behind the amounts.
        ways: all that come to the same; empty: one leaf is the answer.
    """

    leaves: tuple[tuple[int, ...], ...]
    ways: tuple[Way, ...]


class Course:
    """Which next steps are right, and what is left of the ways after one is taken.

    Args:
        ways: of a task.
        placed: where the places of its leaves stand among what can be joined; of each leaf one at least.
    """

    def __init__(self, ways: Ways, placed: Mapping[int, int]) -> None:
        self._at = {
            leaf: [placed[one] for one in places if one in placed] for leaf, places in enumerate(ways.leaves)
        }
        self._left, self.step = ways.ways, 0
        self._next: dict[Step, Step] = {}

    @property
    def copied(self) -> Sequence[int]:
        """Where the answer stands, if nothing is joined."""
        return () if self._left else self._at[0]

    @property
    def stops(self) -> bool:
        """Whether the next step is the last."""
        return self.step == len(self._left[0]) - 1

    def right(self) -> list[Step]:
        """Steps that begin one of the ways that are left, the first of two values before the second."""
        self._next = {
            placed: step for step in sorted({way[self.step] for way in self._left}) for placed in self._placed(step)
        }
        return list(self._next)

    def taken(self, step: Step, place: int) -> None:
        """One of those that are right is taken, and what comes of it stands at this place."""
        own = self._next[step]
        self._left = tuple(way for way in self._left if way[self.step] == own)
        self._at[len(self._at)] = [place]
        self.step += 1

    def _placed(self, step: Step) -> Iterator[Step]:
        i, j, operation = step
        turned = OPERATIONS.index(TURNED.get(OPERATIONS[operation], OPERATIONS[operation]))
        for a, b in itertools.product(self._at[i], self._at[j]):
            if a != b:
                yield (a, b, operation) if a < b else (b, a, turned)


def ways_of(one: Calculated) -> Ways:
    """Of a task that its lines answer."""
    amounts, steps = one.shown.amounts, one.steps
    fixed = len(amounts) + len(CONSTANTS)
    copied = len(steps) == 1 and OPERATIONS[steps[0][2]] == COPY
    places = [place for step in steps for place in step[: 1 if copied else 2]]
    leaves = sorted({place for place in places if place < fixed})
    values = [
        (amounts[place].value, amounts[place].kind)
        if place < len(amounts)
        else (CONSTANTS[place - len(amounts)], NUMBER)
        for place in leaves
    ]
    found = tuple(
        tuple(other for other, amount in enumerate(amounts) if _same((amount.value, amount.kind), value))
        if place < len(amounts)
        else (place,)
        for place, value in zip(leaves, values, strict=True)
    )
    if copied:
        return Ways(found, ())

    def leaf(place: int) -> int:
        return leaves.index(place) if place < fixed else len(leaves) + place - fixed

    way = tuple((leaf(i), leaf(j), operation) for i, j, operation in steps)
    others = _others(values, way) if len(places) == len(set(places)) else []
    return Ways(found, tuple(dict.fromkeys([way, *others])))


def _same(one: _Value, other: _Value) -> bool:
    return one[1] == other[1] and abs(one[0] - other[0]) <= _NEAR * max(1.0, abs(other[0]))


def _others(values: Sequence[_Value], way: Way) -> list[Way]:
    """Ways that use each value once, by operations of the same sort."""
    own = {OPERATIONS[operation] for _, _, operation in way}
    allowed = own.union(*(alike for alike in _ALIKE if own & set(alike)))
    operations = [number for number, name in enumerate(OPERATIONS) if name in allowed]
    tried, many = 1, len(values)
    for left in range(many, 1, -1):
        tried *= left * (left - 1) // 2 * len(operations)
    if tried > _MOST:
        return []
    made = list(values)
    for i, j, operation in way:
        value = _joined(made[i], made[j], operation)
        if value is None:
            return []
        made.append(value)
    wanted = _said(made, way)
    return [
        other
        for all_of_them, other in _all(list(values), list(range(many)), operations, ())
        if _said(all_of_them, other) == wanted
    ]


def _all(
    values: list[_Value], left: list[int], operations: Sequence[int], made: Way
) -> Iterator[tuple[list[_Value], Way]]:
    """Ways to join all that are left, with the values of their steps."""
    if len(left) == 1:
        yield values, made
        return
    for at, i in enumerate(left):
        for j in left[at + 1 :]:
            for operation in operations:
                value = _joined(values[i], values[j], operation)
                if value is not None:
                    rest = [k for k in left if k not in (i, j)] + [len(values)]
                    yield from _all([*values, value], rest, operations, (*made, (i, j, operation)))


def _joined(one: _Value, other: _Value, operation: int) -> _Value | None:
    name = OPERATIONS[operation]
    kind = kind_of(name, one[1], other[1])
    if kind is None:
        return None
    value = applied(name, one[0], other[0], one[1])
    return (value, kind) if goes_on(value, kind) else None


def _said(values: Sequence[_Value], way: Way) -> tuple[object, ...]:
    """What it comes to; of a comparison, what is compared with what."""
    if values[-1][1] != TRUTH:
        return _written(values[-1])
    i, j, operation = way[-1]
    name = OPERATIONS[operation]
    first, second = (values[i], values[j]) if name[0] == ">" else (values[j], values[i])
    return name.replace("<", ">"), *_written(first), *_written(second)


def _written(value: _Value) -> tuple[str, int]:
    return f"{value[0]:.9g}", value[1]
