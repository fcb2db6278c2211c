"""The starter suite's files as plain Python reads them, to work out its answers anew."""

import csv
import json
import re
import sqlite3
from collections.abc import Callable, Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from pointwork.bench.checkers import Date, Items, Name, Number, Time, YesNo
from pointwork.bench.tasks import STARTER, Task

Row = dict[str, Any]


class Figures:
    """Tables as lists of rows, and the figures that stand in notes and code."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.orders, self.staff, self.weather = (self._csv(name) for name in ("orders", "staff", "weather"))
        self.trips, self.stock = (self._lines(name) for name in ("trips", "stock"))
        address = f"file:{root / 'tables' / 'library.sqlite'}?mode=ro&immutable=1"
        connection = sqlite3.connect(address, uri=True)
        connection.row_factory = sqlite3.Row
        self.books = [dict(row) for row in connection.execute("SELECT * FROM books")]
        self.loans = [dict(row) for row in connection.execute("SELECT * FROM loans")]
        connection.close()

    def _csv(self, name: str) -> list[Row]:
        with (self.root / "tables" / f"{name}.csv").open(newline="") as file:
            return [{key: _number(value) for key, value in row.items()} for row in csv.DictReader(file)]

    def _lines(self, name: str) -> list[Row]:
        return [json.loads(line) for line in (self.root / "tables" / f"{name}.jsonl").read_text().splitlines()]

    def say(self, name: str, pattern: str) -> Any:
        """The only place of a note (or, with a suffix, of a program) that fits."""
        path = self.root / "code" / name if "." in name else self.root / "notes" / f"{name}.md"
        found = re.findall(pattern, re.sub(r"\s+", " ", path.read_text()))
        assert len(found) == 1, (name, pattern, found)
        return found[0]

    def num(self, name: str, pattern: str) -> float:
        """The same, as a number."""
        return float(self.say(name, pattern).replace(",", ""))

    def day(self, name: str, pattern: str) -> date:
        """The same, as a date."""
        return datetime.strptime(self.say(name, pattern), "%d %B %Y").date()

    @staticmethod
    def where(rows: Iterable[Row], **wanted: Any) -> list[Row]:
        """The rows with these values."""
        return [row for row in rows if all(row[key] == value for key, value in wanted.items())]

    @staticmethod
    def total(rows: Iterable[Row], key: str) -> float:
        """The sum of a column."""
        return sum(row[key] for row in rows)

    @staticmethod
    def mean(rows: list[Row], key: str) -> float:
        """The mean of a column."""
        return sum(row[key] for row in rows) / len(rows)

    @staticmethod
    def only(rows: list[Row], key: str, pick: Callable[..., Any] = max) -> Row:
        """The one row with the largest (or smallest) value: a task with two would have no answer."""
        best = pick(row[key] for row in rows)
        [found] = [row for row in rows if row[key] == best]
        return found

    @staticmethod
    def often(rows: list[Row], key: str, pick: Callable[..., Any] = max) -> Any:
        """The one value that stands in most (or fewest) rows."""
        counts: dict[Any, int] = {}
        for row in rows:
            counts[row[key]] = counts.get(row[key], 0) + 1
        best = pick(counts.values())
        [found] = [value for value, count in counts.items() if count == best]
        return found

    @staticmethod
    def months_after(day: date, months: int) -> date:
        """The same day of a later month, or its last."""
        year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
        for last in range(day.day, 27, -1):
            try:
                return date(year, month + 1, last)
            except ValueError:
                continue
        return date(year, month + 1, day.day)

    @staticmethod
    def clock(minutes: int) -> str:
        """Minutes from midnight as HH:MM."""
        return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"

    @staticmethod
    def check(task: Task, worked: Any) -> None:
        """The task's answer is what was worked out."""
        checker = task.checker
        if isinstance(worked, bool):
            assert checker == YesNo(worked)
        elif isinstance(worked, date):
            assert checker == Date(worked)
        elif isinstance(worked, list):
            assert isinstance(checker, Items)
            assert [names[0] for names in checker.values] == worked
        elif isinstance(worked, str):
            assert isinstance(checker, Name | Time)
            assert task.row["answer"] == worked
            assert checker.right(worked)
        else:
            assert isinstance(checker, Number)
            assert checker.value == pytest.approx(worked, rel=1e-9, abs=1e-4)
            # wide enough for rounding, too narrow for another way to work it out
            assert checker.tolerance <= max(0.01, 0.01 * abs(checker.value))


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


@pytest.fixture(scope="session")
def figures() -> Figures:
    """The starter suite's."""
    return Figures(STARTER / "files")
