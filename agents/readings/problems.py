"""Word problems: a learned reading of what is to be computed with the numbers of a text.

An expression is scored by its pairs of numbers: for each, how likely the operation that joins them is (at their
lowest common node), and for each number, how likely it is needed at all (Roy and Roth, EMNLP 2015, eqs. 1-2). The
best expressions over each set of numbers are built from those over its parts; the best of all are weighed once more
by what they come to (a whole number of things, cents of money), which gives a probability of being right.
``benchmarks/train_word_problems.py`` remakes the weights of the regressions and says what they are worth.
"""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pointwork.agents.readings import Reading
from pointwork.agents.readings.dimensions import Measured, Measures
from pointwork.agents.readings.linear import Linear, stored_in
from pointwork.agents.readings.problem_text import Leaf, Node, Problem, Tree

Array = npt.NDArray[np.float64]

# Numbers that a text may have, and that an expression takes of them; expressions kept for each set of numbers.
MOST, USED, KEPT = 8, 5, 6
# Different results that are weighed against each other.
WEIGHED = 24
# From here on a reading is given at all (what that means: docs/readings.md).
LEAST = 0.2

# Classes of a pair: what joins the first with the second; ``r`` takes them the other way round.
PAIR_CLASSES = ("+", "-", "r-", "*", "/", "r/")
# Kinds of numbers that may be shares, and their classes: it is a factor itself, it is taken off, it is added.
SHARES = "pfx"
SHARE_CLASSES = ("q", "1-", "1+")

_OPERATIONS = ("+", "-", "*", "/")


@dataclass(frozen=True)
class Weights:
    """Which operation, whether a number is needed, in which form a share is, and how an expression weighs."""

    pair: Linear
    needed: Linear
    share: Linear
    result: Linear


@dataclass(frozen=True)
class Candidate:
    """An expression with its score and value."""

    score: float
    value: float
    tree: Tree


@functools.cache
def shipped() -> Weights:
    """The weights that come with the package."""
    stored = stored_in(Path(__file__).with_name("problems.npz"))
    return Weights(stored["pair"], stored["needed"], stored["share"], stored["result"])


def candidates(problem: Problem, weights: Weights) -> list[Candidate]:
    """Expressions over the numbers of a problem, best first, each value once; none for too few or too many."""
    quantities = problem.quantities
    n = len(quantities)
    if not 2 <= n <= MOST:
        return []
    joins = _joins(problem, weights.pair)
    needed = [weights.needed.log_proba(problem.single(i)) for i in range(n)]
    best = {1 << i: _leaves(problem, i, weights.share) for i in range(n)}
    for members in sorted(range(1, 1 << n), key=int.bit_count):
        if 2 <= members.bit_count() <= USED:
            found = sorted(_joined(members, best, joins), key=lambda one: -one.score)
            best[members] = found[:KEPT]
    ranked: list[Candidate] = []
    for members, found in best.items():
        if members.bit_count() < 2:
            continue
        rest = sum(float(needed[i][members >> i & 1]) for i in range(n))
        ranked += [Candidate(one.score + rest, one.value, one.tree) for one in found]
    different: dict[float, Candidate] = {}
    for one in sorted(ranked, key=lambda one: -one.score):
        different.setdefault(round(one.value, 6), one)
    return list(different.values())[:WEIGHED]


def _joins(problem: Problem, pair: Linear) -> Array:
    """Log-probability of each operation from the one number to the other: shape (n, n, 4)."""
    n = len(problem.quantities)
    joins = np.zeros((n, n, len(_OPERATIONS)))
    for i in range(n):
        for j in range(i + 1, n):
            add, less, less_of, times, over, over_of = pair.log_proba(problem.pair(i, j))
            joins[i, j] = add, less, times, over
            joins[j, i] = add, less_of, times, over_of
    return joins


def _leaves(problem: Problem, i: int, share: Linear) -> list[Candidate]:
    quantity = problem.quantities[i]
    if quantity.kind not in SHARES:
        return [Candidate(0.0, quantity.value, Leaf("q", i))]
    forms = share.log_proba(problem.share(i))
    values = (quantity.value, 1 - quantity.value, 1 + quantity.value)
    return [
        Candidate(float(score), value, Leaf(name, i))
        for score, value, name in zip(forms, values, SHARE_CLASSES, strict=True)
    ]


def _joined(members: int, best: Mapping[int, Sequence[Candidate]], joins: Array) -> Iterable[Candidate]:
    """All ways to join the best expressions over two parts of a set of numbers."""
    left = (members - 1) & members
    while left:
        right = members ^ left
        a, b = ([i for i in range(members.bit_length()) if part >> i & 1] for part in (left, right))
        mean = joins[np.ix_(a, b)].mean((0, 1))
        for place, name in enumerate(_OPERATIONS):
            if name in "+*" and left < right:  # the same the other way round
                continue
            for one in best[left]:
                for other in best[right]:
                    if (name == "-" and one.value < other.value) or (name == "/" and not other.value):
                        continue
                    score = one.score + other.score + float(mean[place])
                    yield Candidate(score, _applied(name, one.value, other.value), Node(name, one.tree, other.tree))
        left = (left - 1) & members


def _applied(name: str, a: float, b: float) -> float:
    return a + b if name == "+" else a - b if name == "-" else a * b if name == "*" else a / b


def weighed(problem: Problem, found: Sequence[Candidate]) -> list[tuple[Measured, dict[str, float]]]:
    """Each expression with its units brought together, and the features by which it is weighed."""
    measures = Measures(problem)
    rows: list[tuple[Measured, dict[str, float]]] = []
    for one in found:
        measured = measures.answered(one.tree)
        features = problem.result(one.score, found[0].score, measured.value, one.tree)
        rows.append((measured, features | measures.features(measured)))
    return rows


def solved(text: str, weights: Weights | None = None, *, least: float = LEAST) -> Reading | None:
    """What a word problem computes, with the probability that this is right; None if that is below ``least``."""
    problem = Problem(text)
    weights = weights or shipped()
    found = [] if problem.lacks_price else candidates(problem, weights)
    if not found:
        return None
    rows = weighed(problem, found)
    rated = [weights.result.logits(features)[0] for _, features in rows]
    best = int(np.argmax(rated))
    sure = 1 / (1 + math.exp(-float(rated[best])))
    if sure < least:
        return None
    expression = rows[best][0].written
    return Reading("calculate", {"expression": f"{expression} * 100" if problem.factor > 1 else expression}, sure)
