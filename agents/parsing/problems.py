"""A word problem as steps over its numbers.

At each step two of what there is are joined, and what comes of it is there from then on (Jie, Li and Lu, "Learning
to Reason Deductively", ACL 2022, §3). Numbers may be used twice, and constants that no text says (60 minutes, 7
days) are there from the beginning.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pointwork.agents.parsing.encoder import Encoder, gelu, shipped
from pointwork.agents.parsing.layout import MARKS, Pieces
from pointwork.agents.readings.problem_text import Problem

Array = npt.NDArray[np.float32]
Places = npt.NDArray[np.intp]

CONSTANTS = (1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 12.0, 24.0, 30.0, 52.0, 60.0, 100.0, 365.0, 1000.0, 3600.0, 0.5)
OPERATIONS = ("+", "-", "r-", "*", "/", "r/")
"""What joins the first with the second; ``r`` takes them the other way round."""
FORMS = ("q", "1-", "1+")
"""How a number is there: as it stands; a share taken from one, added to one."""

MOST = 16  # numbers of a text
STEPS = 7
_PIECES = 160
_BEAM = 6
_SHARES = "pfx"


@dataclass(frozen=True)
class Number:
    """A number of a text, with the places of its characters; ``kind`` as of ``problem_text.Quantity``."""

    value: float
    written: str
    form: str
    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class Deduced:
    """What a word problem computes: for the calculator, what that comes to, and how probable it is."""

    expression: str
    value: float
    chance: float


def numbers(text: str) -> list[Number]:
    """The numbers of a text; a share is there as it is, taken from one and added to one."""
    problem = Problem(text)
    found: list[Number] = []
    for one in problem.quantities:
        start, end = problem.places[one.place]
        found.append(Number(one.value, one.written, "q", one.kind, start, end))
        if one.kind in _SHARES and 0 < one.value < 1:
            found.append(Number(1 - one.value, f"(1 - {one.written})", "1-", one.kind, start, end))
            found.append(Number(1 + one.value, f"(1 + {one.written})", "1+", one.kind, start, end))
    return found


@dataclass(frozen=True)
class Laid:
    """Word pieces of a problem with their marks, and which of them each number is."""

    pieces: tuple[int, ...]
    marks: tuple[int, ...]
    places: tuple[tuple[int, int], ...]


def lay_out(text: str, found: Sequence[Number], pieces: Pieces) -> Laid:
    """A problem as the encoder reads it."""
    ids, places = pieces.placed(text.encode("utf-8", "replace").decode())
    ids, places = ids[:_PIECES], places[:_PIECES]
    marks = [0] * (len(ids) + 2)
    at: list[tuple[int, int]] = []
    for one in found:
        inside = [i for i, (a, b) in enumerate(places) if a < one.end and one.start < b] or [0]
        at.append((1 + inside[0], 2 + inside[-1]))
        for i in inside:
            marks[1 + i] = MARKS.index("number")
    return Laid((pieces.special("[CLS]"), *ids, pieces.special("[SEP]")), tuple(marks), tuple(at))


@dataclass(frozen=True)
class _State:
    chance: float
    vectors: Array
    last: Array
    values: tuple[float, ...]
    written: tuple[str, ...]


def deduced(text: str, encoder: Encoder | None = None) -> Deduced | None:
    """What a word problem computes; None: it has no numbers, or too many."""
    found = numbers(text)
    if not 1 <= len(found) <= MOST:
        return None
    encoder = encoder or shipped()
    laid = lay_out(text, found, encoder.pieces)
    done = _searched(found, laid, encoder.see(laid.pieces, laid.marks), encoder.weights)
    chances: dict[float, float] = {}
    first: dict[float, str] = {}
    for chance, value, written in sorted(done, key=lambda one: -one[0])[: 2 * _BEAM]:
        key = round(value, 6)
        chances[key] = chances.get(key, 0.0) + math.exp(chance)  # ways that come to the same are one answer
        first.setdefault(key, written)
    if not chances:
        return None
    best = max(chances, key=lambda key: chances[key])
    return Deduced(first[best], best, min(1.0, chances[best]))


def _searched(
    found: Sequence[Number], laid: Laid, seen: Array, weights: Mapping[str, Array]
) -> list[tuple[float, float, str]]:
    """Finished deductions by beam search: (log-probability, value, expression)."""
    states = [_start(found, laid, seen, weights)]
    context = _linear(seen[0], weights, "cls")
    done: list[tuple[float, float, str]] = []
    for _ in range(STEPS):
        new: list[_State] = []
        for state in states:
            for one, stops in _steps(state, len(found), context, weights):
                if stops:
                    done.append((one.chance, one.values[-1], one.written[-1]))
                else:
                    new.append(one)
        states = sorted(new, key=lambda one: -one.chance)[:_BEAM]
        if not states or (len(done) >= _BEAM and max(one[0] for one in done) > states[0].chance + 2):
            break
    return done


def _start(found: Sequence[Number], laid: Laid, seen: Array, weights: Mapping[str, Array]) -> _State:
    pooled = np.stack([seen[a:b].mean(0) for a, b in laid.places])
    forms = weights["deduce.form.weight"][[FORMS.index(one.form) for one in found]]
    vectors = np.concatenate([_linear(pooled, weights, "wide") + forms, weights["deduce.const.weight"]])
    nothing = np.zeros_like(vectors[0])
    values = (*(one.value for one in found), *CONSTANTS)
    written = (*(one.written for one in found), *(f"{value:g}" for value in CONSTANTS))
    return _State(0.0, vectors, nothing, values, written)


def _steps(state: _State, count: int, context: Array, weights: Mapping[str, Array]) -> list[tuple[_State, bool]]:
    """The likeliest next steps, and whether each is the last."""
    first, second = np.triu_indices(len(state.values), 1)
    fixed = range(count, count + len(CONSTANTS))
    keep = ~(np.isin(first, fixed) & np.isin(second, fixed))
    first, second = first[keep], second[keep]
    made, logits = _joined(state, first, second, context, weights)
    flat = logits.reshape(-1)
    logs = flat - (flat.max() + math.log(float(np.exp(flat - flat.max()).sum())))
    found: list[tuple[_State, bool]] = []
    for place in np.argsort(-logs)[: 2 * _BEAM]:
        pair, rest = divmod(int(place), 2 * len(OPERATIONS))
        operation, stops = divmod(rest, 2)
        i, j = int(first[pair]), int(second[pair])
        value, written = _applied(OPERATIONS[operation], state, i, j)
        if value < 0 or not math.isfinite(value):
            continue
        vector = made[pair, operation]
        one = _State(
            state.chance + float(logs[place]),
            np.concatenate([state.vectors, vector[None]]),
            vector,
            (*state.values, value),
            (*state.written, written),
        )
        found.append((one, bool(stops)))
    return found


def _joined(
    state: _State, first: Places, second: Places, context: Array, weights: Mapping[str, Array]
) -> tuple[Array, Array]:
    """What each two come to by each operation, (pairs, operations, width); logits of going on and of stopping."""
    a, b = state.vectors[first], state.vectors[second]
    around = [np.broadcast_to(one, a.shape) for one in (context, state.last)]
    wide = np.concatenate([a, b, a * b, *around], 1)
    inner = _linear(gelu(_linear(wide, weights, "pair")), weights, "op")
    made = gelu(inner).reshape(len(a), len(OPERATIONS), -1) + (a + b)[:, None] / 2
    centred = made - made.mean(2, keepdims=True)
    spread = np.sqrt(np.square(centred).mean(2, keepdims=True) + 1e-5)
    made = centred / spread * weights["deduce.norm.weight"] + weights["deduce.norm.bias"]
    return made, _linear(made, weights, "score")


def _linear(x: Array, weights: Mapping[str, Array], name: str) -> Array:
    return np.asarray(x @ weights[f"deduce.{name}.weight"].T + weights[f"deduce.{name}.bias"], np.float32)


def _applied(operation: str, state: _State, i: int, j: int) -> tuple[float, str]:
    """Value and expression of a step; not finite where it divides by nothing."""
    if operation[0] == "r":
        i, j, operation = j, i, operation[1]
    a, b = state.values[i], state.values[j]
    written = f"({state.written[i]} {operation} {state.written[j]})"
    if operation == "+":
        return a + b, written
    if operation == "-":
        return a - b, written
    if operation == "*":
        return a * b, written
    return (a / b if b else math.nan), written
