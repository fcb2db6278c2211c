"""What a word problem computes: by its pairs of numbers, by deduction and by the calculator that reads files."""

import re
from collections.abc import Iterator

from pointwork.agents.facts.figures import in_one_form
from pointwork.agents.parsing.problems import Deduced, deduced
from pointwork.agents.parsing.worded import worked
from pointwork.agents.readings import Reading, problems, rounding
from pointwork.agents.readings.conversions import without_decimals
from pointwork.agents.readings.forms import in_money, of_form
from pointwork.agents.readings.listed import listed
from pointwork.agents.readings.one_unit import in_one_unit
from pointwork.agents.readings.problem_text import Problem
from pointwork.agents.splitter import answer_type_of
from pointwork.tools import expressions
from pointwork.tools.units import Measure

LEAST = problems.LEAST
"""From here on an expression is given at all."""

_SAME = 1e-4
_ENDLESS = re.compile(r"\d{30}")  # a numeral that is no quantity
# What the pairs and deduction are sure of is less often right.
_PAIRS, _STEPS = 0.5, 0.7
# Of a text that holds less likely all that it needs nothing is read: of 367 tasks that need no files so is one, of
# 955 over files 805.
_HELD = 0.1


def value_of(reading: Reading) -> float:
    """What the expression of a reading comes to."""
    found = expressions.evaluate(str(reading.arguments["expression"])).value
    return float("nan") if isinstance(found, Measure) else float(found)


def as_read(text: str) -> str:
    """A word problem as its readings get it: amounts of one kind in one unit, no decimals that are asked for."""
    return in_one_unit(without_decimals(in_money(text)))


def computed(text: str) -> Reading | None:
    """The expression that answers a word problem, with the probability that it is right; None below ``LEAST``.

    What is only listed to be added up needs no reading. Of what three readings come to, that is taken which is
    wrong least likely: it is so only where all that come to it are.
    """
    if (of_list := listed(text)) is not None:
        return of_list
    yes_no = answer_type_of(text) == "yes-no"
    if not yes_no and (known := of_form(text)) is not None:
        return _rounded(text, known)
    if _ENDLESS.search(text):
        return None  # what is left of the text is not what it asks
    text = as_read(text)
    by_sums = worked(in_one_form(text), yes_no=yes_no)
    if by_sums.answered < _HELD or by_sums.moment > max(LEAST, by_sums.best.chance if by_sums.best else 0.0):
        return None  # what is done with days and times of day is no sum: who plans the task calculates it
    if yes_no:  # only the calculator compares
        return _read(by_sums.best) if by_sums.best and by_sums.best.chance >= LEAST else None
    wrong: list[tuple[Reading, float, float]] = []  # one of those that come to the same, its value, that all err
    for reading, worth in _readings(text, by_sums.best):
        value, doubt = value_of(reading), 1 - worth * reading.score
        place = next((n for n, one in enumerate(wrong) if abs(one[1] - value) <= _SAME * abs(value)), None)
        if place is None:
            wrong.append((reading, value, doubt))
        else:
            wrong[place] = (*wrong[place][:2], wrong[place][2] * doubt)
    best = min(wrong, key=lambda one: one[2], default=None)
    if best is None or (score := 1 - best[2]) < LEAST:
        return None
    return Reading("calculate", best[0].arguments, score)


def _readings(text: str, by_sums: Deduced | None) -> Iterator[tuple[Reading, float]]:
    """What a text may compute, in the form that it asks for, and how much each reading's certainty is worth."""
    if not Problem(text).lacks_price:
        for one, worth in ((by_sums, 1.0), (deduced(text), _STEPS)):
            if one is not None:
                yield _as_asked(text, _read(one)), worth
    if (by_pairs := problems.solved(text, least=0.0)) is not None:
        yield _as_asked(text, by_pairs), _PAIRS


def _read(found: Deduced) -> Reading:
    return Reading("calculate", {"expression": found.expression}, found.chance)


def _as_asked(text: str, reading: Reading) -> Reading:
    return _rounded(text, _in_percent(text, reading))


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
