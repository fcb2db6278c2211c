"""Which way round a comparison with a number of the task is meant: the words before that number say it."""

from collections.abc import Sequence
from dataclasses import replace

from pointwork.agents.parsing.amounts import NUMBER, Amount
from pointwork.agents.parsing.calculating import Calculation
from pointwork.agents.parsing.operations import COMPARED, applied, kind_of
from pointwork.agents.readings.question import Question

_TURNED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}


def as_asked(task: str, found: Sequence[Calculation]) -> list[Calculation]:
    """Calculations, the likeliest first, none of which compares a number of the task the other way round.

    "Does the Swift weigh less than 15 kg?" is not whether 15 is less than what it weighs. What is turned and then
    comes to the same as another is one with it.

    Args:
        task: as it was shown to the network.
        found: what it may calculate.
    """
    compared = [(one.start, one.end, one.op) for one in Question(task).comparisons if one.op in COMPARED]
    turned = [_turned(one, compared) for one in found]
    if turned == list(found):
        return turned
    once: dict[tuple[int, float], Calculation] = {}
    for one in sorted(turned, key=lambda one: -one.chance):
        key = one.kind, round(one.value, 5)
        known = once.get(key)
        once[key] = replace(known, chance=min(1.0, known.chance + one.chance)) if known else one
    return sorted(once.values(), key=lambda one: -one.chance)


def _turned(one: Calculation, compared: Sequence[tuple[int, int, str]]) -> Calculation:
    last = one.steps[-1]
    said = next((op for side in (last.first, last.second) if (op := _said(side, compared))), None)
    if said is None or last.operation not in COMPARED:
        return one
    first = _said(last.first, compared) is not None
    way = _TURNED[last.operation] if first else last.operation  # of the other value with the task's
    if way[0] == said[0]:
        return one
    right = replace(last, operation=_TURNED[said] if first else said)
    made: list[tuple[float, int]] = []  # what each step comes to, and its kind
    for step in (*one.steps[:-1], right):
        (a, i), (b, j) = (_valued(side, made) for side in (step.first, step.second))
        made.append((applied(step.operation, a, b, i), kind_of(step.operation, i, j) or NUMBER))
    return replace(one, value=made[-1][0], steps=(*one.steps[:-1], right))


def _said(side: Amount | float | int, compared: Sequence[tuple[int, int, str]]) -> str | None:
    """How a number of the task is compared there; None: it is none, or nothing says it."""
    if not isinstance(side, Amount) or side.line:
        return None
    return next((op for start, end, op in compared if start <= side.start < end), None)


def _valued(side: Amount | float | int, made: Sequence[tuple[float, int]]) -> tuple[float, int]:
    if isinstance(side, Amount):
        return side.value, side.kind
    return made[side] if isinstance(side, int) else (side, NUMBER)
