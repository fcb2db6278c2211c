"""The calculator's grammar: text in, an exact value out. Nothing is ever handed to Python's own ``eval``.

line    := sum [("to" | "in" | "into" | "as") unit ("and" unit)*]
sum     := product (("+" | "-") product)*         a percentage on the right is one of the left: 80 + 15%
product := signed (("*" | "/" | "//" | "mod" | "of" | "off") signed)*
signed  := ("-" | "+") signed | power
power   := postfix ["^" signed]
postfix := primary ("!" | "%")*
primary := number unit* (number unit)* | unit | constant | function "(" ... ")" | function "of" ... | "(" sum ")"
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from pointwork.errors import ToolError
from pointwork.tools import arithmetic, reading, units
from pointwork.tools.arithmetic import Number
from pointwork.tools.units import Measure, Value

MAX_CHARACTERS = 1000
MAX_DEPTH = 40


@dataclass
class Result:
    """What an expression came to.

    Attributes:
        value: the number, or the quantity.
        text: it as text, in the unit that was asked for.
        unit: that unit, empty for a plain number.
        operations: how much was computed; 0 for a mere literal.
        notes: how a part was read that some read otherwise.
        doubtful: one of the notes is about something that can as well mean the other thing.
    """

    value: Value
    text: str
    unit: str = ""
    operations: int = 0
    notes: list[str] = field(default_factory=list[str])
    doubtful: bool = False


@dataclass(frozen=True)
class _Term:
    value: Value
    percent: bool = False


def evaluate(written: str) -> Result:
    """Compute an arithmetic expression, with units, percentages and a conversion at the end if there is one.

    Raises:
        ToolError: it is not one, is too large, divides by zero, or mixes units that do not fit.
    """
    if len(written) > MAX_CHARACTERS:
        raise ToolError(f"the expression is longer than {MAX_CHARACTERS} characters")
    if date := reading.DATE.search(written):
        raise ToolError(f"{date[0]!r} looks like a date: use date_math for dates")
    body, target = reading.cut_conversion(reading.normalise(written))
    parser = _Parser(reading.tokens(body))
    term = parser.line()
    if target:
        parser.operations += 1
        return _converted(term, target, parser)
    shown = arithmetic.show(term.value * 100) + "%" if term.percent and not isinstance(term.value, Measure) else ""
    unit = units.unit_text(term.value.unit) if isinstance(term.value, Measure) else ""
    if unit and reading.has_currency(written):
        raise ToolError(f"the result would be money times {unit}: leave out the unit")
    text = shown or units.describe(term.value)
    return Result(term.value, text, unit, parser.operations, parser.notes, parser.doubtful)


def _converted(term: _Term, target: list[str], parser: "_Parser") -> Result:
    value = term.value
    if target[0].lower() in ("%", "fraction", "decimal"):
        if isinstance(value, Measure):
            raise ToolError(f"{units.describe(value)} has a unit: it can not become {target[0]}")
        text = arithmetic.show(value)
        if target[0] == "%":
            text = arithmetic.show(value * 100) + "%"
        elif target[0].lower() == "fraction" and isinstance(value, Fraction):
            text = str(value)
        return Result(value, text, "", parser.operations, parser.notes, parser.doubtful)
    wanted = [units.parse_unit(name) for name in target]
    parts = units.split(value, wanted)
    spelled = [f"{arithmetic.show(part.magnitude)} {name}" for part, name in zip(parts, target, strict=True)]
    whole = parts[0] if len(parts) == 1 else units.convert(value, wanted[-1])
    return Result(whole, " ".join(spelled), target[-1], parser.operations, parser.notes, parser.doubtful)


class _Parser:
    """Reads tokens and computes as it goes."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.operations = 0
        self.notes: list[str] = []
        self.doubtful = False

    def doubt(self, note: str) -> None:
        self.notes.append(note)
        self.doubtful = True

    def line(self) -> _Term:
        term = self.sum()
        if self.at < len(self.tokens):
            before = self.tokens[self.at - 1][1]
            raise ToolError(f"{self.peek()[1]!r} after {before!r} is not understood")
        return term

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else ("end", "")

    def take(self, *marks: str) -> str:
        """The next token's text in lower case if it is one of these, else empty."""
        text = self.peek()[1].lower()
        if text in marks:
            self.at += 1
            return text
        return ""

    def expect(self, mark: str) -> None:
        if not self.take(mark):
            raise ToolError(f"{mark!r} is missing before {self.peek()[1] or 'the end'!r}")

    def sum(self) -> _Term:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ToolError(f"more than {MAX_DEPTH} levels of brackets")
        left = self.product()
        while operator := self.take("+", "-"):
            right = self.product()
            self.operations += 1
            if right.percent and not left.percent:
                part = self.compute("*", left.value, right.value)
                percent = (
                    arithmetic.show(Fraction(100) * right.value) if not isinstance(right.value, Measure) else ""
                )
                self.notes.append(f"{percent}% is read as {percent}% of {units.describe(left.value)}")
                left = _Term(self.compute(operator, left.value, part))
            else:
                value = self.compute(operator, left.value, right.value)
                left = _Term(value, left.percent and right.percent)
        self.depth -= 1
        return left

    def product(self) -> _Term:
        left = self.signed()
        divided = False
        while True:
            operator = self.take("*", "/", "//", "mod", "of", "off") or self.times_sign() or self.remainder_sign()
            if not operator:
                if not self.starts_bracket():
                    return left
                if divided:
                    raise ToolError("write the multiplication after a division with *: 6/(2*3) or 6/2*3")
                operator = "*"
            right = self.signed()
            self.operations += 1
            divided = operator == "/"
            left = self.combine(operator, left, right)

    def combine(self, operator: str, left: _Term, right: _Term) -> _Term:
        if operator in ("of", "off"):
            share = left.value
            if isinstance(share, Measure) or not (left.percent or (operator == "of" and 0 <= share < 1)):
                raise ToolError(f"{operator!r} needs a percentage or a fraction before it: 15% {operator} 80")
            factor = 1 - share if operator == "off" else share
            return _Term(self.compute("*", factor, right.value), right.percent)
        return _Term(self.compute(operator, left.value, right.value))

    def times_sign(self) -> str:
        """``3 x 4``: an x between two values."""
        if self.peek()[1] in ("x", "X") and (self.peek(1)[0] == "number" or self.peek(1)[1] in ("(", "-")):
            self.at += 1
            return "*"
        return ""

    def remainder_sign(self) -> str:
        """``17 % 5``: a percent sign that was left over by ``postfix`` because a value follows."""
        if not self.take("%"):
            return ""
        self.doubt("% between two numbers is read as the remainder of a division")
        return "mod"

    def starts_bracket(self) -> bool:
        kind, text = self.peek()
        return text == "(" or (kind == "word" and (text in arithmetic.CONSTANTS or self.is_function(text)))

    def is_function(self, word: str) -> bool:
        name = arithmetic.ALIASES.get(word.lower(), word.lower())
        follows = self.peek(1)[1].lower()
        return arithmetic.known(name) and (
            follows in ("(", "of") or (name == "sqrt" and self.peek(1)[0] == "number")
        )

    def signed(self) -> _Term:
        negative = False
        while sign := self.take("-", "+"):
            negative ^= sign == "-"
        term = self.power()
        if not negative:
            return term
        if isinstance(term.value, units.Measure):  # 80 degrees below zero: no product, which °C would not have
            return _Term(units.Measure(-term.value.magnitude, term.value.unit), term.percent)
        return _Term(self.compute("*", Fraction(-1), term.value), term.percent)

    def power(self) -> _Term:
        base = self.postfix()
        if not self.take("^"):
            return base
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ToolError(f"more than {MAX_DEPTH} levels of powers")
        exponent = self.signed().value
        self.depth -= 1
        self.operations += 1
        if isinstance(exponent, Measure):
            raise ToolError("an exponent has no unit")
        if isinstance(base.value, Measure):
            if exponent != int(exponent):
                raise ToolError("the power of a quantity with a unit is a whole number")
            return _Term(units.raise_to(base.value, int(exponent)))
        return _Term(arithmetic.power(base.value, exponent))

    def postfix(self) -> _Term:
        term = self.primary()
        while True:
            if self.take("!"):
                self.operations += 1
                term = _Term(self.apply("factorial", [term.value]))
            elif self.peek()[1] == "%" and not self.is_remainder():
                self.at += 1
                self.operations += 1
                term = _Term(self.compute("/", term.value, Fraction(100)), percent=True)
            else:
                return term

    def is_remainder(self) -> bool:
        kind, text = self.peek(1)
        return kind == "number" or text == "(" or (kind == "word" and text.lower() not in ("of", "off", "mod", "x"))

    def primary(self) -> _Term:
        kind, text = self.peek()
        if kind == "number":
            return _Term(self.quantity())
        if self.take("("):
            term = self.sum()
            self.expect(")")
            return term
        if kind != "word":
            raise ToolError(f"a number is missing before {text or 'the end'!r}")
        if self.is_function(text):
            return _Term(self.call())
        self.at += 1
        if text in arithmetic.CONSTANTS or text.lower() == "pi":
            return _Term(arithmetic.CONSTANTS[text if text in arithmetic.CONSTANTS else "pi"])
        return _Term(Measure(Fraction(1), units.unit_named(text) ** self.unit_power()))

    def quantity(self) -> Value:
        """A number, with its unit, and with smaller units of the same kind behind it: 5 ft 11 in."""
        total = self.measured()
        while isinstance(total, Measure) and self.peek()[0] == "number":
            part = self.measured()
            if not (isinstance(part, Measure) and units.same_kind(total, part)):
                raise ToolError(
                    f"{units.describe(total)} {units.describe(part)}: an operator is missing between them"
                )
            total = self.compute("+", total, part)
        return total

    def measured(self) -> Value:
        number = self.number()
        unit: Any = None
        while self.peek()[0] == "word" and self.names_unit():
            named = units.unit_named(self.peek()[1])
            self.at += 1
            named = named ** self.unit_power()
            unit = named if unit is None else unit * named
        return number if unit is None else Measure(number, unit)

    def names_unit(self) -> bool:
        word = self.peek()[1]
        if word.lower() in ("of", "off", "mod", "and", "to", "in", "as") and word != "in":
            return False
        if word in arithmetic.CONSTANTS or self.is_function(word):
            return False
        return not (word in ("x", "X") and self.peek(1)[0] in ("number", "mark"))

    def unit_power(self) -> int:
        """The exponent written at a unit: m^2, m2."""
        if self.peek()[1] == "^" and self.peek(1)[1] in ("2", "3"):
            self.at += 2
            return int(self.tokens[self.at - 1][1])
        return 1

    def number(self) -> Number:
        text = self.peek()[1]
        self.at += 1
        if re.match(r"0\d", text):
            raise ToolError(f"{text!r} begins with a zero: that is not how a number is written")
        value: Number = Fraction(text.replace(",", "").replace("_", ""))
        arithmetic.check(value)
        value += self.mixed_fraction(value)
        value = self.proper_fraction(value)
        while (scale := reading.SCALES.get(self.peek()[1].lower())) is not None:
            self.at += 1
            value *= 10**scale
        return arithmetic.check(value)

    def mixed_fraction(self, whole: Fraction) -> Fraction:
        """The ``1/2`` of ``2 1/2``."""
        parts = [self.peek(i) for i in range(3)]
        if whole.denominator == 1 and [p[0] for p in parts] == ["number", "mark", "number"] and parts[1][1] == "/":
            top, bottom = (p[1] for p in (parts[0], parts[2]))
            if top.isdigit() and bottom.isdigit() and 0 < int(top) < int(bottom):
                self.at += 3
                return Fraction(int(top), int(bottom))
        return Fraction(0)

    def proper_fraction(self, top: Fraction) -> Fraction:
        """``1/2`` before a unit: half a mile, not one over two miles."""
        kind, text = self.peek(1)
        if self.peek()[1] != "/" or kind != "number" or not text.isdigit() or self.peek(2)[0] != "word":
            return top
        self.at += 2
        if top.denominator == 1 and 0 < top < int(text) and self.names_unit():
            return top / int(text)
        self.at -= 2
        return top

    def call(self) -> Value:
        word = self.peek()[1].lower()
        name = arithmetic.ALIASES.get(word, word)
        self.at += 1
        self.operations += 1
        if self.peek()[1] == "(":
            arguments = self.arguments()
        elif self.take("of"):
            arguments = [self.signed().value]
            while self.take(",", ";", "and"):
                self.take("and")
                arguments.append(self.signed().value)
        else:
            arguments = [self.signed().value]
        if name == "log" and len(arguments) == 1:
            self.doubt("log is read as the natural logarithm; write log10 for base 10")
        return self.apply(name, arguments)

    def arguments(self) -> list[Value]:
        """What stands in a function's brackets. A comma always separates there: no thousands separators."""
        reading.split_grouped_numbers(self.tokens, self.at)
        self.expect("(")
        found = [self.sum().value]
        while self.take(",", ";"):
            found.append(self.sum().value)
        self.expect(")")
        return found

    def apply(self, name: str, arguments: Sequence[Value]) -> Value:
        measures = [a for a in arguments if isinstance(a, Measure)]
        if not measures:
            return arithmetic.apply(name, [a for a in arguments if not isinstance(a, Measure)])
        if name == "sqrt" and len(arguments) == 1:
            return units.wrap(measures[0].quantity ** Fraction(1, 2))
        if name in ("sin", "cos", "tan"):
            return arithmetic.apply(name, [units.radians(measures[0])])
        if len(measures) < len(arguments) and name != "round":
            raise ToolError(f"{name}: some arguments have a unit and some have none")
        unit = measures[0].unit
        if name not in _KEEP_UNIT:
            raise ToolError(f"{name} takes plain numbers, not {units.describe(measures[0])}")
        numbers = [units.convert(a, unit).magnitude if isinstance(a, Measure) else a for a in arguments]
        return Measure(arithmetic.apply(name, numbers), unit)

    def compute(self, operator: str, a: Value, b: Value) -> Value:
        if isinstance(a, Measure) or isinstance(b, Measure):
            if operator not in ("+", "-", "*", "/"):
                raise ToolError(f"{operator!r} takes plain numbers, without units")
            return units.operate(operator, a, b)
        return _PLAIN[operator](a, b)


_KEEP_UNIT = {"abs", "floor", "ceil", "round", "min", "max", "sum", "mean", "median"}
_PLAIN: dict[str, Callable[[Number, Number], Number]] = {
    "+": arithmetic.add,
    "-": lambda a, b: arithmetic.add(a, -b),
    "*": arithmetic.multiply,
    "/": arithmetic.divide,
    "//": arithmetic.floor_divide,
    "mod": arithmetic.modulo,
}
