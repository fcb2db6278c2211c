"""A word problem that the calculator's network reads: no lines around it, and its sum as an expression."""

from pointwork.agents.parsing.amounts import NUMBER, Amount
from pointwork.agents.parsing.calculating import Calculation, calculations
from pointwork.agents.parsing.operations import SUMS, WRITTEN
from pointwork.agents.parsing.problems import Deduced


def worked(text: str) -> Deduced | None:
    """What a word problem computes; None: nothing is calculated with its numbers.

    Args:
        text: dates, times, numbers and shares in one form (``facts.figures``).
    """
    read = calculations(text, (), yes_no=False)
    best = next((one for one in read.calculations if _sums(one)), None)
    return best and Deduced(expression_of(best), best.value, read.answered * best.chance)


def _sums(found: Calculation) -> bool:
    return found.kind == NUMBER and all(step.operation in SUMS for step in found.steps)


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
