"""What is known of a table before any query: its columns, their types and values, its rows."""

import re
from dataclasses import dataclass

from pointwork.tools.table_loading import Source

_NUMBERS = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)")


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        name: as in the file.
        type: DuckDB's.
        values: the distinct texts of a text column, most frequent first; empty if they are too many or too long.
        empties: how many cells are empty.
        distinct: how many different values there are.
        coded: whether all values of a text column are codes such as E01.
    """

    name: str
    type: str
    values: tuple[str, ...] = ()
    empties: int = 0
    distinct: int = 0
    coded: bool = False

    @property
    def kind(self) -> str:
        """``number``, ``text``, ``date`` (with or without time), ``bool`` or ``other``."""
        if _NUMBERS.fullmatch(self.type):
            return "number"
        if self.type.startswith(("DATE", "TIMESTAMP")):
            return "date"
        return {"VARCHAR": "text", "BOOLEAN": "bool"}.get(self.type, "other")


@dataclass(frozen=True)
class TableInfo:
    """A table.

    Attributes:
        name: what queries call it: the file's stem, with the folder before it where two would be called the same.
        source: file, moment and inner table.
        columns: in the file's order.
        rows: how many.
        problem: why it can not be read; empty if it can.
    """

    name: str
    source: Source
    columns: tuple[Column, ...] = ()
    rows: int = 0
    problem: str = ""

    @property
    def evidence(self) -> str:
        """As evidence names it: ``table:sales.csv``, ``table:shop.db#orders``."""
        return f"table:{self.source.path}" + (f"#{self.source.inner}" if self.source.inner else "")

    @property
    def own(self) -> tuple[Column, ...]:
        """The columns that stand in the table itself, not those of rows that its keys stand for."""
        joined = {reference.name for reference in self.source.references}
        return tuple(column for column in self.columns if column.name not in joined)

    def column(self, name: str) -> Column:
        """The column of exactly this name."""
        return next(column for column in self.columns if column.name == name)


# A code such as E01: one word with digits in it, and more than digits.
CODE = r"[^ ]*[0-9][^ ]*"
DIGITS = r"[0-9]+"
_TIME = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?")


def holds_times(column: Column) -> bool:
    """Whether a column has times of day: 07:15."""
    listed = column.kind == "text" and bool(column.values) and all(map(_TIME.fullmatch, column.values))
    return column.type == "TIME" or listed
