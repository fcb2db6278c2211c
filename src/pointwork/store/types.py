"""Column types that give back on every database the Python value that was stored, or refuse it before it is sent.

Databases differ in what they take without a word: PostgreSQL refuses NUL in text and cuts nothing, SQLite keeps any
text in any column, turns NaN into NULL and a number of 70 bits into a float. Here, for both:

- **Text** may hold any ``str``. NUL, lone surrogates and the escape character itself (U+0010) are stored as U+0010
  and four hex digits; all other text is stored as it is, so it can be searched and compared in SQL.
- **JSON** is plain JSON text. What JSON or a database can not hold exactly (NaN, infinities, lone surrogates, a
  bare number, the wrapper itself) is kept as ``{"$pointwork": "<JSON as Python writes it>"}``. As always in JSON,
  tuples come back as lists and the keys of objects as strings. None is SQL's NULL.
- A label too long for its column, NaN in a number column, a number beyond 64 bits: refused, on both alike.
"""

import json
import math
import re
from numbers import Integral, Real
from typing import Any

from sqlalchemy import JSON, BigInteger, Float, String
from sqlalchemy import Text as SqlText
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

MOST = 2**63 - 1

_ESCAPE = "\x10"
_REFUSED = re.compile("[\0\x10\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile("\x10(0000|0010|d[89a-f][0-9a-f]{2})")

_WRAPPER = "$pointwork"
_strict = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_lenient = json.JSONEncoder(ensure_ascii=False, allow_nan=True, separators=(",", ":"))


def encode_text(text: str) -> str:
    """The text as it is stored.

    Raises:
        TypeError: it is no text.
    """
    if type(text) is not str:
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"text expected, not {type(text).__name__}")
        text = str.__str__(text)  # an enum of strings: drivers treat those in ways of their own
    if text.isascii() and "\0" not in text and _ESCAPE not in text:
        return text  # three quick looks instead of a slow one
    return _REFUSED.sub(lambda found: f"{_ESCAPE}{ord(found[0]):04x}", text)


def decode_text(stored: str) -> str:
    """What ``encode_text`` was given."""
    if _ESCAPE not in stored:
        return stored
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), stored)


def dump_json(value: Any) -> str:
    """A JSON value as it is stored.

    Raises:
        TypeError, ValueError, RecursionError: JSON has nothing for it.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):  # SQLite would make a bare number a float
        try:
            text = _strict.encode(value)
        except ValueError:
            text = ""  # not finite, or going round in a circle: the other encoder will tell
        if text and not text.startswith('{"' + _WRAPPER) and (text.isascii() or not _SURROGATE.search(text)):
            return text
    return json.dumps({_WRAPPER: encode_text(_lenient.encode(value))})


def load_json(stored: Any) -> Any:
    """What ``dump_json`` was given."""
    if not isinstance(stored, str | bytes):
        return stored  # SQLite: a bare number, written by other hands
    value: Any = json.loads(stored)
    if isinstance(value, dict) and len(value) == 1 and _WRAPPER in value:  # pyright: ignore[reportUnknownArgumentType]
        return json.loads(decode_text(value[_WRAPPER]))  # pyright: ignore[reportUnknownArgumentType]
    return value  # pyright: ignore[reportUnknownVariableType]


class JsonText(str):
    """A JSON value that is text already, as ``dump_json`` would write it but for white space."""

    __slots__ = ()


class Encoded(TypeDecorator[Any]):
    """A column type with one function from the Python value to what is stored."""

    cache_ok = True

    def encode(self, value: Any) -> Any:
        """The value, which is not None, as it is stored.

        Raises:
            TypeError, ValueError, OverflowError, RecursionError: it can not be stored.
        """
        raise NotImplementedError

    def bind_processor(self, dialect: Dialect) -> Any:
        def process(value: Any) -> Any:
            # done here, not by the driver while it sends: what can not be stored is found before
            return None if value is None else self.encode(value)

        return process


def _decoded(stored: str | None) -> str | None:
    return stored if stored is None or _ESCAPE not in stored else decode_text(stored)


class Text(Encoded):
    """Text of any length, with any character that a Python string can hold."""

    impl = SqlText
    cache_ok = True

    def encode(self, value: Any) -> str:
        return encode_text(value)

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        # not ``process_result_value``: that is called through one function more, and texts come by the thousand
        return _decoded


class Label(Encoded):
    """Text of at most ``length`` characters."""

    impl = String
    cache_ok = True

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length

    def encode(self, value: Any) -> str:
        text = encode_text(value)
        if len(text) > self.length:
            raise ValueError(f"{text[:40]!r}… has {len(text)} characters, the column takes {self.length}")
        return text

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        # not ``process_result_value``: that is called through one function more, and texts come by the thousand
        return _decoded

    def coerce_compared_value(self, op: Any, value: Any) -> TypeEngine[Any]:
        return Text()  # to look for a longer text is no error: there is none


class Whole(Encoded):
    """An integer of 64 bits."""

    impl = BigInteger
    cache_ok = True

    def encode(self, value: Any) -> int:
        if type(value) is int:
            number = value
        elif isinstance(value, Integral):
            number = int(value)
        elif isinstance(value, Real) and float(value).is_integer():
            number = int(float(value))
        else:
            raise TypeError(f"an integer expected, not {value!r}")
        if not -MOST <= number <= MOST:
            raise ValueError(f"{number} does not fit in 64 bits")
        return number


class Number(Encoded):
    """A float, infinite perhaps, but not NaN: what is not known is None. -0.0 may come back as 0.0."""

    impl = Float
    cache_ok = True

    def encode(self, value: Any) -> float:
        if type(value) is not float:
            if not isinstance(value, Real):
                raise TypeError(f"a number expected, not {value!r}")
            value = float(value)
        if math.isnan(value):
            raise ValueError("NaN can not be stored in a number column; None says that a value is not known")
        return value


class Json(Encoded):
    """A JSON value. None is NULL, not JSON's null: left out and None read the same in SQL too."""

    impl = JSON
    cache_ok = True

    def __init__(self) -> None:
        super().__init__(none_as_null=True)

    def encode(self, value: Any) -> str:
        return str.__str__(value) if type(value) is JsonText else dump_json(value)
