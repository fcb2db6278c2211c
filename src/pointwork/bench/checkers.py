"""Whether an answer is right. Only the short text of a result is looked at, never its evidence."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol, cast

from pointwork.bench.reading import last_dates, last_number, last_time, place_of, words

# An answer with more words than this quotes a page: then a name in it is no answer.
MAX_WORDS = 25

# How far a number may be off when the task does not say.
TOLERANCE = 0.01


class SpecError(ValueError):
    """An answer that can not be checked: ``field`` is wrong, and why."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(why)
        self.field = field


class Checker(Protocol):
    """Says whether an answer is right."""

    def right(self, text: str) -> bool:
        """Whether a short text says what was asked for."""
        ...


@dataclass(frozen=True)
class Number:
    """The last number of the answer is within a tolerance."""

    value: float
    tolerance: float = TOLERANCE

    def right(self, text: str) -> bool:
        """The text's last number, whatever its unit."""
        said = last_number(text)
        # a hair more than the tolerance: 0.3 - 0.29 is over 0.01 in floating point
        return said is not None and abs(said - self.value) <= self.tolerance * (1 + 1e-9) + 1e-12


@dataclass(frozen=True)
class Name:
    """One of the accepted names stands in a short answer, before any of those that would be wrong."""

    accepted: tuple[str, ...]
    wrong: tuple[str, ...] = ()

    def right(self, text: str) -> bool:
        """The name, as whole words, in at most ``MAX_WORDS`` words."""
        said = words(text)
        if len(text.split()) > MAX_WORDS:
            return False
        places = [p for p in (place_of(words(name), said) for name in self.accepted) if p is not None]
        before = [p for p in (place_of(words(name), said) for name in self.wrong) if p is not None]
        return bool(places) and all(min(places) < place for place in before)


@dataclass(frozen=True)
class Date:
    """The last date of the answer, in any common written form."""

    value: date

    def right(self, text: str) -> bool:
        """Day, month and year."""
        return self.value in last_dates(text)


@dataclass(frozen=True)
class Time:
    """The last time of day of the answer."""

    value: int

    def right(self, text: str) -> bool:
        """Hour and minute, with or without am and pm."""
        return last_time(text) == self.value


@dataclass(frozen=True)
class YesNo:
    """Yes or no: the answer's first word, or the only one of the two in it."""

    value: bool

    def right(self, text: str) -> bool:
        """``true`` and ``false`` count too."""
        said = words(text)
        known = {"yes": True, "true": True, "no": False, "false": False}
        if said and said[0] in known:
            return known[said[0]] is self.value
        found = {known[word] for word in said if word in known}
        return len(said) <= MAX_WORDS and found == {self.value}


def _whole(name: str) -> str:
    """A name without what would separate it from others: "Reed and River"."""
    return " ".join(re.sub(r"[,;•&-]|\band\b", " ", name).split()) or name


@dataclass(frozen=True)
class Items:
    """A list of names: all of them and no other, in any order unless ``ordered``."""

    values: tuple[tuple[str, ...], ...]
    ordered: bool = False

    def right(self, text: str) -> bool:
        """Items between commas, semicolons, lines, bullets or ``and``; what is part of a name separates nothing."""
        for name in {name for item in self.values for name in item if _whole(name) != name}:
            written = r"(?:\W|\band\b)+".join(map(re.escape, _whole(name).split()))
            text = re.sub(written, _whole(name), text, flags=re.IGNORECASE)
        said = [part for part in re.split(r"[,;\n•]|\band\b|(?:^|\s)[-*]\s|(?:^|\s)\d+[.)]\s", text) if words(part)]
        left = list(self.values)
        if len(said) != len(left) or len(text.split()) > 2 * MAX_WORDS:
            return False
        for part in said:
            fits = [
                item
                for item in left
                if any(place_of(words(_whole(name)), words(part)) is not None for name in item)
            ]
            if not fits or (self.ordered and left[0] not in fits):
                return False
            left.remove(left[0] if self.ordered else fits[0])
        return True


def from_row(row: Mapping[str, Any]) -> Checker:
    """The checker of a task: of its ``checker`` if it has one, else what its ``answer`` looks like.

    A number, true or false, a list, a date as 2024-05-31, a time as 16:35, or else a name. ``tolerance`` and
    ``aliases`` may stand beside ``answer``.

    Raises:
        SpecError: there is no answer, or it does not fit; it names the field.
    """
    if "checker" in row:
        if "answer" in row:
            raise SpecError("checker", "give either 'answer' or 'checker', not both")
        return _from_spec(row["checker"])
    if "answer" not in row:
        raise SpecError("answer", "is missing: give the answer, or a 'checker'")
    answer = row["answer"]
    kind = _kind_of(answer)
    options = {name: row[name] for name in ("tolerance", "aliases", "not", "ordered") if name in row}
    unfit = set(options) - _OPTIONS[kind]
    if unfit:
        raise SpecError(sorted(unfit)[0], f"does not fit an answer of type {kind}")
    return _MAKERS[kind](answer, options, "answer")


def _kind_of(answer: object) -> str:
    if isinstance(answer, bool) or (isinstance(answer, str) and answer.lower() in ("yes", "no")):
        return "yes-no"
    if isinstance(answer, int | float):
        return "number"
    if isinstance(answer, list):
        return "list"
    if isinstance(answer, str) and answer.strip():
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", answer):
            return "date"
        return "time" if re.fullmatch(r"\d{2}:\d{2}", answer) else "name"
    raise SpecError("answer", f"must be a number, a text, true or false, or a list, not {answer!r}")


def _from_spec(spec: object) -> Checker:
    if not isinstance(spec, dict):
        raise SpecError("checker", f'must be an object such as {{"type": "number", "value": 42}}, not {spec!r}')
    spec = cast(dict[str, Any], spec)
    kind = spec.get("type")
    if not isinstance(kind, str) or kind not in _MAKERS:
        raise SpecError("checker.type", f"must be one of {', '.join(_MAKERS)}, not {kind!r}")
    if "value" not in spec:
        raise SpecError("checker.value", "is missing")
    unknown = spec.keys() - {"type", "value"} - _OPTIONS[kind]
    if unknown:
        raise SpecError(f"checker.{sorted(unknown)[0]}", f"is not an option of type {kind}")
    return _MAKERS[kind](spec["value"], spec, "checker.value")


def _number(value: object, options: Mapping[str, Any], field: str) -> Checker:
    tolerance = options.get("tolerance", TOLERANCE)
    for name, given in ((field, value), ("tolerance", tolerance)):
        if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
            raise SpecError(name, f"must be a number, not {given!r}")
    if tolerance < 0:
        raise SpecError("tolerance", f"must not be negative, not {tolerance!r}")
    return Number(float(cast(float, value)), float(tolerance))


def _names(value: object, field: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise SpecError(field, f"must be a list of texts, not {value!r}")
    for name in cast(list[object], value):
        if not isinstance(name, str) or not words(name):
            raise SpecError(field, f"must be a list of texts with words in them, not {name!r}")
    return tuple(cast(list[str], value))


def _name(value: object, options: Mapping[str, Any], field: str) -> Checker:
    accepted = _names([value], field) + _names(options.get("aliases", []), "aliases")
    return Name(accepted, _names(options.get("not", []), "not"))


def _date(value: object, _: Mapping[str, Any], field: str) -> Checker:
    try:
        return Date(date.fromisoformat(str(value)))
    except ValueError:
        raise SpecError(field, f"must be a date such as 2024-05-31, not {value!r}") from None


def _time(value: object, _: Mapping[str, Any], field: str) -> Checker:
    minutes = last_time(value) if isinstance(value, str) else None
    if minutes is None:
        raise SpecError(field, f"must be a time of day such as 16:35, not {value!r}")
    return Time(minutes)


def _yes_no(value: object, _: Mapping[str, Any], field: str) -> Checker:
    said = {"yes": True, "no": False}.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(said, bool):
        raise SpecError(field, f"must be yes or no, not {value!r}")
    return YesNo(said)


def _list(value: object, options: Mapping[str, Any], field: str) -> Checker:
    rows: Sequence[object] = cast(list[object], value) if isinstance(value, list) else []
    # an item may be a list itself: the names that it goes by
    items = tuple(_names(cast(object, row) if isinstance(row, list) else [row], field) for row in rows)
    if not all(items) or not items:
        raise SpecError(field, f"must be a list of texts that is not empty, not {value!r}")
    ordered = options.get("ordered", False)
    if not isinstance(ordered, bool):
        raise SpecError("ordered", f"must be true or false, not {ordered!r}")
    return Items(items, ordered)


_MAKERS: dict[str, Callable[[object, Mapping[str, Any], str], Checker]] = {
    "number": _number,
    "name": _name,
    "date": _date,
    "time": _time,
    "yes-no": _yes_no,
    "list": _list,
}
_OPTIONS: dict[str, set[str]] = {
    "number": {"tolerance"},
    "name": {"aliases", "not"},
    "list": {"ordered"},
    "date": set(),
    "time": set(),
    "yes-no": set(),
}
