"""What a program finds there already. Runs in the sandbox, with the standard library only."""

import calendar
import json
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

_ROOM = Path(__file__).parent
_given: dict[str, Any] = json.loads((_ROOM / "given.json").read_text("utf-8"))


def add(day: date, years: int = 0, months: int = 0, weeks: float = 0, days: float = 0) -> date:
    """A day so much later (earlier with negative numbers); the 31st becomes a shorter month's last day."""
    whole = day.year * 12 + day.month - 1 + 12 * years + months
    year, month = divmod(whole, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return day.replace(year=year, month=month + 1, day=min(day.day, last)) + timedelta(weeks=weeks, days=days)


def weekday(day: date) -> str:
    """The day's name."""
    return f"{day:%A}"


def convert(value: float, unit: str, to: str) -> float:
    """A quantity in another unit."""
    kind, factor, offset = _unit(unit)
    other, divisor, zero = _unit(to)
    if kind != other:
        raise ValueError(f"{unit} is no {to}")
    return (value * factor + offset - zero) / divisor


def _unit(name: str) -> tuple[str, float, float]:
    known: dict[str, tuple[str, float, float]] = _given["units"]
    for spelled in (name, name.lower(), name.lower().removesuffix("s"), name.replace(" ", "")):
        if spelled in known:
            return known[spelled]
    raise ValueError(f"there is no unit {name!r}; there are {', '.join(sorted(known))}")


def _rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    days = set(table["dates"])
    return [
        {
            name: _moment(cell) if name in days and isinstance(cell, str) else cell
            for name, cell in zip(table["columns"], row, strict=True)
        }
        for row in table["rows"]
    ]


def _moment(cell: str) -> date:
    """A date; with a time of day a datetime."""
    return date.fromisoformat(cell) if len(cell) == len("2024-05-01") else datetime.fromisoformat(cell)


def tables() -> dict[str, list[dict[str, Any]]]:
    """The tables by name."""
    return {name: _rows(table) for name, table in _given["tables"].items()}
