"""What a word problem computes: by its pairs of numbers and by deduction, whichever is surer."""

from pointwork.agents.parsing.problems import deduced
from pointwork.agents.readings import Reading, problems, rounding
from pointwork.agents.readings.listed import listed
from pointwork.agents.readings.problem_text import Problem
from pointwork.tools import expressions
from pointwork.tools.units import Measure

LEAST = problems.LEAST
"""From here on an expression is given at all."""

_SAME = 1e-4
# The pairs are taken where they are so many times surer: what they are sure of is less often right.
_SURER = 2.0


def value_of(reading: Reading) -> float:
    """What the expression of a reading comes to."""
    found = expressions.evaluate(str(reading.arguments["expression"])).value
    return float("nan") if isinstance(found, Measure) else float(found)


def computed(text: str) -> Reading | None:
    """The expression that answers a word problem, with the probability that it is right; None below ``LEAST``.

    What is only listed to be added up needs neither. Where both readings come to the same, it is taken for right
    unless both are wrong.
    """
    if (of_list := listed(text)) is not None:
        return of_list
    by_pairs = problems.solved(text, least=0.0)
    by_steps = None if Problem(text).lacks_price else deduced(text)
    best = by_pairs
    if by_steps is not None and (by_pairs is None or by_pairs.score <= _SURER * by_steps.chance):
        score = by_steps.chance
        if by_pairs is not None and abs(value_of(by_pairs) - by_steps.value) <= _SAME * abs(by_steps.value):
            score = 1 - (1 - score) * (1 - by_pairs.score)
        best = Reading("calculate", {"expression": by_steps.expression}, score)
    return _rounded(text, _in_percent(text, best)) if best is not None and best.score >= LEAST else None


def _in_percent(text: str, reading: Reading) -> Reading:
    """Of a share that is asked for in percent a hundred times as much, unless it is so already."""
    expression = str(reading.arguments["expression"])
    if Problem(text).factor == 1 or "100" in expression or not 0 < value_of(reading) <= 1:
        return reading
    return Reading(reading.tool, {"expression": f"100 * {expression}"}, reading.score)


def _rounded(text: str, reading: Reading) -> Reading:
    """With a whole number of what is only had whole."""
    way = rounding.way(Problem(text), value_of(reading))
    if not way:
        return reading
    return Reading(reading.tool, {"expression": f"{way}({reading.arguments['expression']})"}, reading.score)
