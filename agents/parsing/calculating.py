"""What a task calculates with what files say: which amounts of a task and the lines around it, joined how.

An encoder reads task and lines in one row and weighs each amount; the most relevant are joined two by two, and what
comes of it is there for the next step, as in ``problems`` (Jie, Li and Lu, "Learning to Reason Deductively", ACL
2022, §3), but that dates and times are amounts too. ``benchmarks/train_calculations.py`` teaches it.
"""

import functools
import math
import random
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pointwork.agents.parsing import encoder
from pointwork.agents.parsing.amounts import NUMBER, TRUTH, Amount
from pointwork.agents.parsing.encoder import Encoder, gelu
from pointwork.agents.parsing.operations import CONSTANTS, COPY, OPERATIONS, applied, goes_on, kind_of
from pointwork.agents.parsing.showing import Shown, show, size_of

Array = npt.NDArray[np.float32]
Ints = npt.NDArray[np.intp]

LOOKS, SEEN = 4, 220
"""Orders in which lines are read, and word pieces of a task and the lines that are read at once."""

DEALT, ROW = 2, 230  # how often lines that are too many are dealt into rows, and a row's word pieces
RELEVANT = 9  # amounts that are joined
STEPS = 4
_BEAM = 6
_NEVER = np.float32(-1e9)
_KINDS = 4

# the kind of what comes of it, by the kinds of two and the operation; -1: they can not be joined so
COMES_TO = np.array(
    [
        [[-1 if (kind := kind_of(name, a, b)) is None else kind for name in OPERATIONS] for b in range(_KINDS)]
        for a in range(_KINDS)
    ]
)

_lock = threading.Lock()


@dataclass(frozen=True)
class Step:
    """Two values joined: each an amount, a constant, or the number of an earlier step."""

    first: "Amount | float | int"
    second: "Amount | float | int"
    operation: str


@dataclass(frozen=True)
class Calculation:
    """What a task may calculate.

    Attributes:
        chance: that it is this, of all that it may be (ways that come to the same are one).
        value, kind: what it comes to (``amounts``).
        steps: the likeliest way; the last one's value is the answer.
    """

    chance: float
    value: float
    kind: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Reading:
    """All that was seen in a task.

    Attributes:
        answered: probability that the lines hold all that it needs, and that a name is not asked for.
        calculations: the likeliest first.
    """

    answered: float
    calculations: tuple[Calculation, ...]


@dataclass(frozen=True)
class _State:
    chance: float
    vectors: Array
    kinds: Ints
    relevance: Array
    values: tuple[float, ...]
    refs: tuple["Amount | float | int", ...]
    last: Array
    steps: tuple[Step, ...] = ()


def calculations(
    task: str,
    lines: Sequence[str],
    *,
    yes_no: bool | None = None,
    network: Encoder | None = None,
    looks: int = LOOKS,
) -> Reading:
    """What a task may calculate with the lines that are shown around it.

    Too many lines are dealt into rows, which tell what is needed at all; those that are needed most are then read
    together. In which order they stand means nothing, but it moves what a small network says: so it is the mean of
    several (test-time augmentation: Shanmugam et al., "Better Aggregation in Test-Time Augmentation", ICCV 2021).

    Args:
        task, lines: dates, times and numbers in one form (``facts.figures``).
        yes_no: only comparisons, or none of them; None: all.
        network: default: those that come with the package; without lines, who learnt only what needs none says what
            is calculated, and the other, who knows tasks that need some, how likely anything is.
        looks: in how many orders they are read.
    """
    alone = network is None and not lines
    judge = shipped() if alone else None
    reader = _Reader(task, lines, yes_no, network or shipped(alone=alone), judge)
    return mean_of([reader.read(order) for order in _orders(reader.needed(), looks)])


def _orders(lines: Sequence[int], looks: int) -> Iterator[list[int]]:
    for number in range(looks if len(lines) > 1 else 1):
        order = list(lines)
        if number:
            random.Random(number).shuffle(order)
        yield order


@dataclass(frozen=True)
class _Reader:
    task: str
    lines: Sequence[str]
    yes_no: bool | None
    network: Encoder
    judge: Encoder | None = None  # who says how likely anything is calculated, if another

    def read(self, order: Sequence[int]) -> Reading:
        """What is read of these lines in this order."""
        search = self._search(order)
        if search is None:
            return Reading(0.0, ())
        found = tuple(_in_place(one, order) for one in search.found(self.yes_no))
        judged = search if self.judge is None else _Search(search.shown, self.judge)
        return Reading(judged.answered(bool(self.lines)), found)

    def _search(self, order: Sequence[int]) -> "_Search | None":
        shown = show(self.task, [self.lines[line] for line in order], self.network.pieces)
        return _Search(shown, self.network) if shown.amounts else None

    def needed(self) -> list[int]:
        """The lines that are needed most, as many as are read at once, in the order they are given in."""
        pieces = self.network.pieces
        sizes = [size_of(line, pieces) for line in self.lines]
        own = 1 + size_of(self.task, pieces)
        room, kept = SEEN - own, list[int]()
        if sum(sizes) <= room:
            return list(range(len(sizes)))
        for line in self._ranked(_dealt(sizes, ROW - own)):
            if sizes[line] <= room:
                kept.append(line)
                room -= sizes[line]
        return sorted(kept)

    def _ranked(self, rows: Iterable[Sequence[int]]) -> list[int]:
        """Lines in which amounts stand, by how much the amount is needed that is needed most."""
        weights: dict[int, list[float]] = {}
        for row in rows:
            best: dict[int, float] = {}
            if (search := self._search(row)) is not None:
                for amount, weight in search.needed:
                    if amount.line:
                        line = row[amount.line - 1]
                        best[line] = max(best.get(line, -math.inf), weight)
            for line, weight in best.items():
                weights.setdefault(line, []).append(weight)
        return sorted(weights, key=lambda line: -sum(weights[line]) / len(weights[line]))


def _dealt(sizes: Sequence[int], room: int) -> Iterator[list[int]]:
    """Rows of lines, each line in ``DEALT`` of them with others beside it."""
    for number in range(DEALT):
        yield from dealt_into_rows(sizes, room, random.Random(number))


def dealt_into_rows(sizes: Sequence[int], room: int, chance: random.Random) -> Iterator[list[int]]:
    """Rows of lines, each line in one of them; about so many word pieces each."""
    order, rows, used = list(range(len(sizes))), -(-sum(sizes) // max(room, 1)), 0
    chance.shuffle(order)
    dealt: list[list[int]] = [[] for _ in range(rows)]
    for line in order:
        dealt[min(rows - 1, rows * used // sum(sizes))].append(line)
        used += sizes[line]
    yield from filter(None, dealt)


def _in_place(found: Calculation, order: Sequence[int]) -> Calculation:
    """With the lines counted as they were given."""

    def placed(one: "Amount | float | int") -> "Amount | float | int":
        return replace(one, line=order[one.line - 1] + 1) if isinstance(one, Amount) and one.line else one

    steps = (Step(placed(step.first), placed(step.second), step.operation) for step in found.steps)
    return replace(found, steps=tuple(steps))


def mean_of(read: Sequence[Reading]) -> Reading:
    """Of several readings: what comes to the same is one, by the way that is the likeliest in any of them."""
    whole = sum(one.answered for one in read) or 1.0
    sums: dict[tuple[int, float], float] = {}
    best: dict[tuple[int, float], Calculation] = {}
    for one in read:
        for made in one.calculations:
            key = made.kind, round(made.value, 5)
            sums[key] = sums.get(key, 0.0) + one.answered / whole * made.chance
            if key not in best or made.chance > best[key].chance:
                best[key] = made
    ranked = sorted(sums, key=lambda key: -sums[key])
    found = tuple(replace(best[key], chance=min(1.0, sums[key])) for key in ranked)
    return Reading(sum(one.answered for one in read) / len(read), found)


class _Search:
    def __init__(self, shown: Shown, network: Encoder) -> None:
        self.shown, self._weights = shown, network.weights
        seen = network.see(shown.pieces, shown.marks)
        self._whole = seen[0]
        pooled = np.stack([seen[a:b].mean(0) for a, b in shown.places])
        both = np.concatenate([pooled, np.broadcast_to(seen[0], pooled.shape)], 1)
        weights = self._linear(gelu(self._linear(both, "u.0")), "u.2")[:, 0]
        self.needed: list[tuple[Amount, float]] = list(zip(shown.amounts, map(float, weights), strict=True))
        chosen = sorted(map(int, np.argsort(-weights, kind="stable")[:RELEVANT]))
        self._context = self._linear(self._whole, "cls")
        self._count = len(chosen)
        self._amounts = [shown.amounts[place] for place in chosen]
        self._start = self._first(pooled[chosen], weights[chosen])

    def answered(self, lines: bool) -> float:
        """Probability that these lines hold all that is needed; of a task without any, that it needs none."""
        # who knows tasks with lines and tasks without tells those apart by weights of their own
        head = "answer" if lines or "bare.weight" not in self._weights else "bare"
        return float(1 / (1 + np.exp(-self._linear(self._whole, head)[0])))

    def _linear(self, x: Array, name: str) -> Array:
        return np.asarray(x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"], np.float32)

    def _first(self, pooled: Array, weights: Array) -> _State:
        kinds = np.array([one.kind for one in self._amounts], np.intp)
        kind, asked = self._weights["kind.weight"], self._weights["intask.weight"]
        own = self._linear(pooled, "wide") + kind[kinds] + asked[[int(one.line == 0) for one in self._amounts]]
        vectors = np.concatenate([own, self._weights["const.weight"] + kind[NUMBER]])
        relevance = np.concatenate([-np.logaddexp(0, -weights), np.zeros(len(CONSTANTS), np.float32)])
        return _State(
            0.0,
            vectors,
            np.concatenate([kinds, np.full(len(CONSTANTS), NUMBER, np.intp)]),
            relevance.astype(np.float32),
            (*(one.value for one in self._amounts), *CONSTANTS),
            (*self._amounts, *CONSTANTS),
            np.zeros_like(vectors[0]),
        )

    def found(self, yes_no: bool | None) -> tuple[Calculation, ...]:
        """By beam search; ways that come to the same are added up."""
        states, done = [self._start], list[_State]()
        for _ in range(STEPS):
            new: list[_State] = []
            for state in states:
                for one, stops in self._next(state):
                    (done if stops else new).append(one)
            states = sorted(new, key=lambda one: -one.chance)[:_BEAM]
            if not states or (len(done) >= _BEAM and max(one.chance for one in done) > states[0].chance + 2):
                break
        chances: dict[tuple[int, float], float] = {}
        first: dict[tuple[int, float], _State] = {}
        for one in sorted(done, key=lambda one: -one.chance):
            kind, value = int(one.kinds[-1]), one.values[-1]
            if yes_no is None or yes_no == (kind == TRUTH):
                key = kind, round(value, 5)
                chances[key] = chances.get(key, 0.0) + math.exp(one.chance)
                first.setdefault(key, one)
        ranked = sorted(chances, key=lambda key: -chances[key])
        return tuple(
            Calculation(min(1.0, chances[key]), first[key].values[-1], key[0], first[key].steps) for key in ranked
        )

    def _next(self, state: _State) -> Iterator[tuple[_State, bool]]:
        """The likeliest next steps, and whether each is the last."""
        first, second = self._pairs(state)
        made, logits = self._joined(state, first, second)
        flat = logits.reshape(-1)
        if not state.steps:  # or nothing is calculated, and one amount is the answer
            flat = np.concatenate([flat, self._copied(state)])
        logs = flat - (flat.max() + math.log(float(np.exp(flat - flat.max()).sum())))
        for place in map(int, np.argsort(-logs, kind="stable")[: 3 * _BEAM]):
            chance = state.chance + float(logs[place])
            if place >= logits.size:
                yield self._taken(state, chance, place - logits.size), True
                continue
            pair, rest = divmod(place, 2 * len(OPERATIONS))
            operation, stops = divmod(rest, 2)
            one = self._stepped(
                state, chance, int(first[pair]), int(second[pair]), operation, made[pair, operation]
            )
            if one is not None:
                yield one, bool(stops)

    def _pairs(self, state: _State) -> tuple[Ints, Ints]:
        first, second = np.triu_indices(len(state.values), 1)
        fixed = range(self._count, self._count + len(CONSTANTS))
        keep = ~(np.isin(first, fixed) & np.isin(second, fixed))
        keep &= COMES_TO[state.kinds[first], state.kinds[second]].max(1) >= 0
        return first[keep], second[keep]

    def _joined(self, state: _State, first: Ints, second: Ints) -> tuple[Array, Array]:
        """What each two come to by each operation, (pairs, operations, width); logits of going on, of stopping."""
        a, b = state.vectors[first], state.vectors[second]
        around = [np.broadcast_to(one, a.shape) for one in (self._context, state.last)]
        inner = self._linear(gelu(self._linear(np.concatenate([a, b, a * b, *around], 1), "pair")), "op")
        made = gelu(inner).reshape(len(a), len(OPERATIONS), -1) + (a + b)[:, None] / 2
        centred = made - made.mean(2, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(2, keepdims=True) + np.float32(1e-5))
        made = np.asarray(centred / spread * self._weights["norm.weight"] + self._weights["norm.bias"], np.float32)
        weighed = np.asarray(self._weights["mix"] * (state.relevance[first] + state.relevance[second]))
        logits = np.asarray(self._linear(made, "score") + weighed[:, None, None], np.float32)
        logits[COMES_TO[state.kinds[first], state.kinds[second]] < 0] = _NEVER
        return made, logits

    def _copied(self, state: _State) -> Array:
        own = state.vectors[: self._count]
        both = np.concatenate([own, np.broadcast_to(self._context, own.shape)], 1)
        weighed = 2 * self._weights["mix"] * state.relevance[: self._count]
        return np.asarray(self._linear(both, "copy")[:, 0] + weighed, np.float32)

    def _taken(self, state: _State, chance: float, place: int) -> _State:
        amount = self._amounts[place]
        return self._grown(state, chance, Step(amount, amount, COPY), amount.kind, amount.value, state.last)

    def _stepped(
        self, state: _State, chance: float, i: int, j: int, operation: int, vector: Array
    ) -> _State | None:
        kinds = state.kinds
        value = applied(OPERATIONS[operation], state.values[i], state.values[j], int(kinds[i]))
        kind = int(COMES_TO[kinds[i], kinds[j], operation])
        if not goes_on(value, kind):
            return None
        step = Step(state.refs[i], state.refs[j], OPERATIONS[operation])
        return self._grown(state, chance, step, kind, value, vector)

    def _grown(self, state: _State, chance: float, step: Step, kind: int, value: float, vector: Array) -> _State:
        return _State(
            chance,
            np.concatenate([state.vectors, vector[None]]),
            np.append(state.kinds, kind),
            np.append(state.relevance, np.float32(0)),
            (*state.values, value),
            (*state.refs, len(state.steps)),
            vector,
            (*state.steps, step),
        )


@functools.cache
def _shipped(name: str) -> Encoder:
    return Encoder(Path(__file__).with_name(name), words=encoder.shipped())


def shipped(*, alone: bool = False) -> Encoder:
    """One that comes with the package, read at its first use.

    Args:
        alone: what learnt only tasks that need no files; of those it knows more, of all others nothing.
    """
    with _lock:
        return _shipped("alone.npz" if alone else "calculations.npz")
