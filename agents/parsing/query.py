"""A query as the parser says it: parts over the columns of a schema, without a word of SQL."""

from dataclasses import dataclass

AGGREGATES = ("none", "count", "distinct", "sum", "avg", "min", "max", "percent")
FORMS = ("plain", "-", "*", "+", "/", "day", "minute", "pair -", "pair /", "pair day")
"""What is done with the values: shown as they are; two columns of a row joined, or the days or minutes from the one
to the other; the same of two things compared."""

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
METRICS = ("count", "sum", "avg")


@dataclass(frozen=True)
class Condition:
    """A column compared with a value; ``empty`` and ``not empty`` have none. Dates as far as they are given."""

    field: int
    operator: str
    value: str = ""


@dataclass(frozen=True)
class Extreme:
    """The row in which a column is the largest (smallest), or the ``nth`` so."""

    field: int
    down: bool
    nth: int = 1


@dataclass(frozen=True)
class Group:
    """The value of ``field`` whose rows are the most (fewest), or whose ``of`` comes to the most."""

    field: int
    metric: str
    of: int | None
    down: bool
    nth: int = 1


@dataclass(frozen=True)
class Query:
    """What a question asks.

    Attributes:
        table: whose rows are shown or counted.
        shown: the column; None: the rows themselves, counted.
        aggregate, form: one of ``AGGREGATES`` and ``FORMS``.
        second: the other column of a form of two.
        conditions, extreme, group: over columns of any table.
        without: tables in which nothing refers to a row.
        joins: columns that are known to join tables.
    """

    table: int
    shown: int | None
    aggregate: str = "none"
    form: str = "plain"
    second: int | None = None
    conditions: tuple[Condition, ...] = ()
    extreme: Extreme | None = None
    group: Group | None = None
    without: tuple[int, ...] = ()
    joins: tuple[int, ...] = ()
