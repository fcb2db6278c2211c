"""One value, one line of JSON: the same bytes for the same rows, on every machine.

Plain JSON as far as it goes. What a store can hold and JSON can not (infinite log-probabilities) is written as
``{"$float": "-inf"}``. The keys of objects keep the order they have in the store: in a JSON schema, or in the
arguments of a tool, it is part of what a model saw.
"""

import json
import math
from typing import Any, NoReturn, cast

_MARK = "$float"
_QUOTED_MARK = f'"{_MARK}"'
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def dump(value: Any) -> bytes:
    """A JSON value as one line of UTF-8, with the line end."""
    try:
        text = _encode(value)
        if _QUOTED_MARK in text:  # somebody's own key: must not be taken for ours
            text = _encode(_mark(value))
    except ValueError:
        text = _encode(_mark(value))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        # half of a surrogate pair is no UTF-8, but JSON can escape it
        return json.dumps(json.loads(text), separators=(",", ":"), allow_nan=False).encode() + b"\n"


def load(line: bytes) -> Any:
    """The inverse of ``dump``; also reads any other JSON.

    Raises:
        ValueError: it is not JSON in UTF-8; the message says why.
    """
    try:
        text = str(line, "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text at byte {error.start + 1}") from None
    try:
        value = json.loads(text, parse_constant=_refuse)
        return _unmark(value) if _QUOTED_MARK in text else value
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} " if error.lineno > 1 else ""
        raise ValueError(f"not JSON: {error.msg} at {where}column {error.colno}") from None
    except RecursionError:
        raise ValueError("not usable JSON: nested too deeply") from None


def _encode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"not JSON: {name} is no JSON number")


def _mark(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {_MARK: "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if isinstance(value, dict):
        known = cast(dict[str, Any], value)
        marked = {key: _mark(item) for key, item in known.items()}
        return {_MARK: marked} if list(known) == [_MARK] else marked
    if isinstance(value, list):
        return [_mark(item) for item in cast(list[Any], value)]
    return value


def _unmark(value: Any) -> Any:
    if isinstance(value, dict):
        known = cast(dict[str, Any], value)
        if list(known) == [_MARK]:
            inner = known[_MARK]
            if isinstance(inner, str) and inner in _SPECIAL:
                return _SPECIAL[inner]
            if isinstance(inner, dict) and list(cast(dict[str, Any], inner)) == [_MARK]:
                return {_MARK: _unmark(inner[_MARK])}
        return {key: _unmark(item) for key, item in known.items()}
    if isinstance(value, list):
        return [_unmark(item) for item in cast(list[Any], value)]
    return value
