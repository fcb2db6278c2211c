"""A word problem that the calculator's network reads: no lines around it, and its sum as an expression."""

from dataclasses import dataclass

from pointwork.agents.parsing.amounts import DATE, NUMBER, TIME, TRUTH, Amount
from pointwork.agents.parsing.calculating import Calculation, calculations
from pointwork.agents.parsing.operations import COMPARED, SUMS, WRITTEN
from pointwork.agents.parsing.problems import Deduced


@dataclass(frozen=True)
class Worked:
    """What the calculator reads in a word problem.

    Attributes:
        answered: probability that the text holds all that is needed.
        best: what it computes; None: nothing is calculated with its numbers.
        moment: probability of what is likeliest of all that dates and times of day take part in.
    """

    answered: float
    best: Deduced | None
    moment: float = 0.0


def worked(text: str, *, yes_no: bool = False) -> Worked:
    """What a word problem computes.

    Args:
        text: dates, times, numbers and shares in one form (``facts.figures``).
        yes_no: whether something is more or less, instead of how much it is.
    """
    read = calculations(text, (), yes_no=yes_no)
    best = next((one for one in read.calculations if _sums(one)), None)
    found = best and Deduced(expression_of(best), best.value, read.answered * best.chance)
    moments = (one.chance for one in read.calculations if _of_moments(one))
    return Worked(read.answered, found, read.answered * max(moments, default=0.0))


def _of_moments(found: Calculation) -> bool:
    sides = (side for step in found.steps for side in (step.first, step.second))
    return any(isinstance(side, Amount) and side.kind in (DATE, TIME) for side in sides)


def _sums(found: Calculation) -> bool:
    *before, last = found.steps
    compared = found.kind == TRUTH and last.operation in COMPARED
    numbers = all(side.kind == NUMBER for side in (last.first, last.second) if isinstance(side, Amount))
    return numbers and (compared or last.operation in SUMS) and all(one.operation in SUMS for one in before)


def expression_of(found: Calculation) -> str:
    """The steps of a calculation over numbers as one expression."""
    made: list[str] = []
    for step in found.steps:
        first, second = (_written(side, made) for side in (step.first, step.second))
        operation = step.operation
        if operation[0] == "r":
            first, second, operation = second, first, operation[1:]
        made.append(WRITTEN.get(operation, f"{{0}} {operation} {{1}}").format(first, second))
    return made[-1]


def _written(side: "Amount | float | int", made: list[str]) -> str:
    if isinstance(side, Amount):
        return side.written.replace(",", "")
    return f"({made[side]})" if isinstance(side, int) else f"{side:g}"
