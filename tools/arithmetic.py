"""Numbers for the calculator: exact as long as it can be (fractions), bounded in size, and how they are written.

A number is a ``Fraction`` while the result is exact and a ``float`` after a root, logarithm or the like. No result
is ever infinite, complex or not-a-number: those are errors.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction

from pointwork.errors import ToolError

Number = Fraction | float

MAX_BITS = 10_000
"""Most bits of an exact numerator or denominator: about 3,000 decimal digits."""

DIGITS = 12
"""Significant digits that are shown of a number that has no short exact form."""


def check(value: Number) -> Number:
    """The value, if it can be shown.

    Raises:
        ToolError: it is infinite, not a number, or an exact number of more than ``MAX_BITS``.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ToolError("the result is too large or is not a number")
    elif max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise ToolError("the result is too large: more than 3000 digits")
    return value


def add(a: Number, b: Number) -> Number:
    """a + b."""
    return check(a + b)


def multiply(a: Number, b: Number) -> Number:
    """a × b."""
    return check(a * b)


def divide(a: Number, b: Number) -> Number:
    """a ÷ b.

    Raises:
        ToolError: b is zero.
    """
    if b == 0:
        raise ToolError("division by zero: the divisor is 0")
    return check(a / b)


def floor_divide(a: Number, b: Number) -> Number:
    """The largest integer not above a ÷ b."""
    return Fraction(math.floor(divide(a, b)))


def modulo(a: Number, b: Number) -> Number:
    """What is left of a after whole steps of b; it has the sign of b."""
    divide(a, b)
    return check(a % b)


def power(base: Number, exponent: Number) -> Number:
    """base to the exponent, exact where it can be.

    Raises:
        ToolError: too large, division by zero, or a root of a negative number.
    """
    if base == 0 and exponent < 0:
        raise ToolError("division by zero: 0 to a negative power")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        exact = _exact_power(base, exponent)
        if exact is not None:
            return exact
    if base < 0 and exponent != math.floor(exponent):
        raise ToolError("a root of a negative number is not a real number")
    return check(float(base) ** float(exponent))


def _exact_power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator > 1:
        if exponent.denominator > 64 or base < 0:
            return None
        top = _exact_root(base.numerator, exponent.denominator)
        bottom = _exact_root(base.denominator, exponent.denominator)
        if top is None or bottom is None:
            return None
        base, exponent = Fraction(top, bottom), Fraction(exponent.numerator)
    if base in (0, 1) or exponent == 0:
        return Fraction(1) if exponent == 0 else base
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if base == -1:
        return Fraction(-1 if exponent.numerator % 2 else 1)
    # a base of b bits to the n-th power has more than (b - 1)·n bits
    if (bits - 1) * abs(exponent.numerator) > MAX_BITS or abs(exponent.numerator) > MAX_BITS:
        raise ToolError("the result is too large: more than 3000 digits")
    return Fraction(check(Fraction(base ** int(exponent))))


def _exact_root(value: int, degree: int) -> int | None:
    if degree == 2:
        root = math.isqrt(value)
    elif value.bit_length() > 1000:
        return None
    else:
        root = round(value ** (1 / degree))
    return root if root**degree == value else None


def rounded(value: Number, places: Number = Fraction(0)) -> Number:
    """Rounded to decimal places, halves away from zero."""
    if places != math.floor(places) or abs(places) > 300:
        raise ToolError("round(x, places): places is a whole number")
    scale = Fraction(10) ** int(places)
    shifted = abs(Fraction(value)) * scale
    return (-1 if value < 0 else 1) * Fraction(math.floor(shifted + Fraction(1, 2))) / scale


def _whole(value: Number, name: str) -> int:
    if value != math.floor(value):
        raise ToolError(f"{name} takes whole numbers, not {show(value)}")
    return int(value)


def _factorial(value: Number) -> Number:
    n = _whole(value, "factorial")
    if n < 0:
        raise ToolError("factorial takes a number from 0 on")
    if n > 1200:
        raise ToolError("the result is too large: more than 3000 digits")
    return check(Fraction(math.factorial(n)))


def _real(function: Callable[[float], float]) -> Callable[[Number], Number]:
    def run(value: Number) -> Number:
        result = function(float(value))
        return check(0.0 if abs(result) < 1e-15 else result)

    return run


def _median(values: Sequence[Number]) -> Number:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else divide(ordered[middle - 1] + ordered[middle], Fraction(2))


def _log(value: Number, base: Number = math.e) -> Number:
    return check(math.log10(value) if base == 10 else math.log(value, base))


ONE: dict[str, Callable[[Number], Number]] = {
    "sqrt": lambda x: power(x, Fraction(1, 2)),
    "cbrt": lambda x: -power(-x, Fraction(1, 3)) if x < 0 else power(x, Fraction(1, 3)),
    "abs": abs,
    "floor": lambda x: Fraction(math.floor(x)),
    "ceil": lambda x: Fraction(math.ceil(x)),
    "trunc": lambda x: Fraction(math.trunc(x)),
    "sign": lambda x: Fraction((x > 0) - (x < 0)),
    "factorial": _factorial,
    "exp": _real(math.exp),
    "ln": _real(math.log),
    "log2": _real(math.log2),
    "log10": _real(math.log10),
    "sin": _real(math.sin),
    "cos": _real(math.cos),
    "tan": _real(math.tan),
    "asin": _real(math.asin),
    "acos": _real(math.acos),
    "atan": _real(math.atan),
    "degrees": _real(math.degrees),
    "radians": _real(math.radians),
}
"""Functions of one number."""

SEVERAL: dict[str, Callable[[Sequence[Number]], Number]] = {
    "min": min,
    "max": max,
    "sum": lambda xs: check(sum(xs, Fraction(0))),
    "product": lambda xs: check(math.prod(xs, start=Fraction(1))),
    "mean": lambda xs: divide(sum(xs, Fraction(0)), Fraction(len(xs))),
    "median": _median,
    "gcd": lambda xs: Fraction(math.gcd(*(_whole(x, "gcd") for x in xs))),
    "lcm": lambda xs: check(Fraction(math.lcm(*(_whole(x, "lcm") for x in xs)))),
    "hypot": lambda xs: power(sum((x * x for x in xs), Fraction(0)), Fraction(1, 2)),
}
"""Functions of one number or more."""

FIXED: dict[str, tuple[Callable[..., Number], int, int]] = {
    "round": (rounded, 1, 2),
    "log": (_log, 1, 2),
    "pow": (power, 2, 2),
    "mod": (modulo, 2, 2),
    "atan2": (math.atan2, 2, 2),
}
"""Other functions, with the least and most arguments."""

ALIASES = {"average": "mean", "avg": "mean", "ceiling": "ceil", "root": "sqrt", "maximum": "max", "minimum": "min"}
CONSTANTS: dict[str, Number] = {"pi": math.pi, "e": math.e, "tau": math.tau}


def apply(name: str, arguments: Sequence[Number]) -> Number:
    """The function called ``name`` of the arguments.

    Raises:
        ToolError: unknown name, wrong count, or outside the function's domain.
    """
    least, most = (1, 1) if name in ONE else (1, 500) if name in SEVERAL else FIXED[name][1:]
    if not least <= len(arguments) <= most:
        expected = f"{least}" if least == most else f"{least} to {most}"
        raise ToolError(f"{name} takes {expected} number(s), not {len(arguments)}")
    try:
        if name in ONE:
            return check(ONE[name](arguments[0]))
        if name in SEVERAL:
            return check(SEVERAL[name](arguments))
        return check(FIXED[name][0](*arguments))
    except (ValueError, ZeroDivisionError) as error:
        raise ToolError(f"{name} is not defined for {', '.join(map(show, arguments))}") from error
    except OverflowError as error:
        raise ToolError("the result is too large") from error


def known(name: str) -> bool:
    """Whether ``name`` is a function."""
    return name in ONE or name in SEVERAL or name in FIXED


def is_short(value: Number) -> bool:
    """Whether ``show`` writes the value exactly."""
    if isinstance(value, float):
        return False
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    return rest == 1 and (places == 0 or len(str(abs(value.numerator) * 10**places // value.denominator)) <= 20)


def show(value: Number) -> str:
    """The number as text: exact if that is short, else to ``DIGITS`` significant digits."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return str(value.numerator)
    context = Context(prec=24 if is_short(value) else DIGITS)
    if isinstance(value, float):
        number = context.create_decimal_from_float(value)
    else:
        number = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    if number == 0:
        return "0"
    if -7 <= number.adjusted() < 15:
        text = f"{number:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, exponent = f"{number:e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{int(exponent)}"


def plain(value: Number) -> int | float:
    """The number as JSON has it.

    Raises:
        ToolError: it has a fraction and is beyond the range of a float.
    """
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    try:
        return float(value)
    except OverflowError as error:
        raise ToolError("the result is too large") from error
