"""Whether what a word problem comes to is rounded: 2.4 coaches are three, 57.6 full bottles are 57.

A question hardly ever says so. It is told by its words, by whether things or a measure are asked for, and by the
value (``benchmarks/train_rounding.py`` remakes the weights and says what they are worth).
"""

import functools
import itertools
import math
from pathlib import Path

from pointwork.agents.readings.dimensions import MEASURES
from pointwork.agents.readings.linear import Linear, stored_in
from pointwork.agents.readings.problem_text import MONEY, Problem

WAYS = ("", "ceil", "floor")
"""As it is; up, down to a whole number, by the calculator's functions."""

_PAID = MONEY | {"cost", "costs", "pay", "price", "earn", "spend"}


@functools.cache
def shipped() -> Linear:
    """The weights that come with the package."""
    return stored_in(Path(__file__).with_name("rounding.npz"))["rounding"]


def features(problem: Problem, value: float) -> list[str]:
    """By what it is told."""
    start, end, _ = problem.bounds
    words, stems = problem.words[start:end], problem.stems[start:end]
    said, asked = set(words), problem.asked
    return [
        *problem.question,
        *(f"2:{first} {second}" for first, second in itertools.pairwise(words)),
        *(f"W:{stem}" for stem in problem.stems if stem.isalpha()),
        f"measure={asked in MEASURES}",
        f"unit={not MEASURES.isdisjoint(stems)}",
        f"money={not _PAID.isdisjoint(said)}",
        f"given={asked in {quantity.unit for quantity in problem.quantities}}",
        f"decimals={any(quantity.value % 1 for quantity in problem.quantities)}",
        f"small={value < 1}",
        f"tenths={is_whole(10 * value)}",
        f"cents={is_whole(100 * value)}",
        f"many={'many' in said}",
        f"much={'much' in said}",
    ]


def is_whole(value: float) -> bool:
    """Whether a value is a whole number but for rounding errors."""
    return abs(value - round(value)) < 1e-6


def way(problem: Problem, value: float, weights: Linear | None = None) -> str:
    """One of ``WAYS``, for a value that is finite."""
    if not math.isfinite(value) or is_whole(value) or problem.factor > 1:
        return ""
    return WAYS[int((weights or shipped()).log_proba(features(problem, value)).argmax())]
