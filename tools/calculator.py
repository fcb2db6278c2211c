"""Tools that compute with numbers and units. Exact, bounded, without side effects."""

import math
import operator
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator

from pointwork.errors import ToolError
from pointwork.tools import arithmetic, expressions, units
from pointwork.tools.date_math import COMPARED, JSON, date_phrase, in_brackets
from pointwork.tools.spec import ToolResult, tool
from pointwork.tools.units import Measure

_LEAD = re.compile(
    r"^(?:(?:please|can you|could you)\s+)*(?:(?:what(?:'s| is| are)|how much (?:is|are|does)|calculate|compute"
    r"|evaluate|convert|work out|find|solve)\s*:?\s+)?(?:the\s+(?:(?:value|result)\s+of\s+)?)?",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(
    r"^how many\s+(.+?)\s+(?:are\s+(?:there\s+)?in|is|are|make(?: up)?|equals?|in)\s+(.+)$", re.IGNORECASE
)
_DOUBT = re.compile(r"\d!$|^[\d\s-]*\d-\d[\d-]*$")


@dataclass(frozen=True)
class Evaluated:
    """What a text came to.

    Attributes:
        expression: what was computed, as it was read.
        value: the number, in ``unit``.
        unit: as it was asked for; empty for a plain number.
        text: number and unit, for a reader.
    """

    expression: str
    value: int | float
    unit: str
    text: str


def evaluate_text(text: str) -> Evaluated | None:
    """The result, if the whole text is an expression or conversion, apart from a leading question phrase.

    Never guesses: None for anything else, for a mere number, for what has two common readings, and on every error.
    """
    if len(text) > expressions.MAX_CHARACTERS:
        return None
    try:
        body = _expression_in(text)
        if _DOUBT.search(body):
            return None
        result = expressions.evaluate(body)
        if not result.operations or result.doubtful or not re.search(r"\d", body):
            return None
        value = result.value.magnitude if isinstance(result.value, Measure) else result.value
        return Evaluated(body, arithmetic.plain(value), result.unit, result.text)
    except ToolError:
        return None


def _expression_in(text: str) -> str:
    body = text.strip().rstrip("?.=; ").strip()
    conversion = _HOW_MANY.match(body)
    if conversion:
        of = conversion[2].strip()
        return f"{of} to {units.of_the_same_country(conversion[1].strip(), of)}"
    return _LEAD.sub("", body, count=1).strip()


@tool
def calculate(expression: str) -> ToolResult:
    """Compute an arithmetic expression exactly, such as 17% of 2340, sqrt(2)*3 or 3 miles + 400 m in km.

    Args:
        expression: numbers, + - * / ^ % ( ), functions such as sqrt, round, min, max, sum, mean; units; "to UNIT";
            two of these with one of < <= > >= between them

    Raises:
        ToolError: not an expression, too large, a division by zero, or units that do not fit.
    """
    if len(expression) > expressions.MAX_CHARACTERS:
        raise ToolError(f"the expression is longer than {expressions.MAX_CHARACTERS} characters")
    body = _expression_in(expression)
    if compared := COMPARED.fullmatch(body):
        return _comparison(compared["a"].strip(), compared["sign"], compared["b"].strip())
    try:
        result = expressions.evaluate(body)
    except ToolError as error:
        dated = date_phrase(body)
        if dated is not None:
            return dated
        raise ToolError(
            f"{error} (in {body[:80]!r}); write numbers with + - * / ^ or PERCENT% of NUMBER, NUMBER UNIT to UNIT"
        ) from error
    value = result.value.magnitude if isinstance(result.value, Measure) else result.value
    exact = arithmetic.is_short(value)
    text = f"{body} {'=' if exact else '≈'} {result.text}" + in_brackets(result.notes)
    given: JSON = {"value": arithmetic.plain(value), "unit": result.unit, "text": result.text}
    return ToolResult(given, text, (("tool:calculate", text),), result.text)


_SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def _comparison(first: str, sign: str, second: str) -> ToolResult:
    """Whether one expression comes to more, or less, than another; a bare number beside a quantity has its unit."""
    try:
        a, b = (expressions.evaluate(side).value for side in (first, second))
    except ToolError:
        dated = date_phrase(f"{first} {sign} {second}")
        if dated is None:
            raise
        return dated
    alike = units.convert(b, a.unit) if isinstance(a, Measure) and isinstance(b, Measure) else b
    left, right = (side.magnitude if isinstance(side, Measure) else side for side in (a, alike))
    so = _SIGNS[sign](left, right)
    answer = "yes" if so else "no"
    text = f"{first} {sign} {second}: {answer} ({units.describe(a)} and {units.describe(b)})"
    return ToolResult({"value": so, "text": answer}, text, (("tool:calculate", text),), answer)


def _without_separators(value: object) -> object:
    return re.sub(r",(?=\d{3}(?!\d))|[\s_]", "", value) if isinstance(value, str) else value


@tool
def convert(
    value: Annotated[float, BeforeValidator(_without_separators)], from_unit: str, to_unit: str
) -> ToolResult:
    """Convert a number from one unit to another: length, mass, volume, temperature, time, speed, data and more.

    Args:
        value: the number
        from_unit: such as miles, kg, degF, km/h
        to_unit: such as km, lb, degC, m/s

    Raises:
        ToolError: an unknown unit, a currency, or units of different things.
    """
    exact = Fraction(str(value)) if math.isfinite(value) else None
    if exact is None:
        raise ToolError("the value must be a finite number")
    source, target = (units.parse_unit(name) for name in (from_unit, to_unit))
    result = units.convert(Measure(exact, source), target)
    sign = "=" if arithmetic.is_short(result.magnitude) else "≈"
    shown = f"{arithmetic.show(result.magnitude)} {to_unit.strip()}"
    text = f"{arithmetic.show(exact)} {from_unit.strip()} {sign} {shown}"
    given: JSON = {"value": arithmetic.plain(result.magnitude), "unit": to_unit.strip(), "text": shown}
    return ToolResult(given, text, (("tool:convert", text),), shown)
