"""The likeliest query that a question to some tables means, if it runs and finds something."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pointwork.agents.parsing.composing import NoQuery, sql_of
from pointwork.agents.parsing.decoding import Decoded, queries
from pointwork.agents.parsing.encoder import Encoder, shipped
from pointwork.agents.parsing.layout import lay_out
from pointwork.agents.parsing.query import Query
from pointwork.agents.parsing.schema import Schema, schema_of
from pointwork.agents.parsing.scoring import scores_of
from pointwork.agents.readings.asking import KEY_ASKED
from pointwork.errors import ToolError
from pointwork.tools.catalog import TableInfo
from pointwork.tools.duck import Database, open_database

TABLES = 5
"""Tables that one look takes in."""

_TRIED = 12  # queries that are run
_CELLS = 12  # more are no short answer
_KEPT = 256
_SAID = 0.5  # probability that the tables say it, from which on a query is looked for


@dataclass(frozen=True)
class Parsed:
    """What a question means.

    Attributes:
        sql: one SELECT of one column.
        column: the name of the column whose values it shows, sums or compares; empty of a count.
        unit: "days" or "minutes", where it is those between two moments.
        chance: that this is what is meant, as the parser sees it.
    """

    sql: str
    column: str
    unit: str
    chance: float


@dataclass(frozen=True)
class Seen:
    """All that a question to some tables may mean.

    Attributes:
        answered: probability that the tables say it.
        queries: the likeliest first; whether they run was not tried.
        schema: what they ask.
    """

    answered: float
    queries: tuple[Decoded, ...]
    schema: Schema


def looked(question: str, root: Path, tables: Sequence[TableInfo]) -> Seen:
    """What a question to some tables may mean, the arguments as in ``parsed``.

    Raises:
        ToolError: a file is broken or gone.
    """
    return _looked(question, root.resolve(), tuple(tables[:TABLES]))


def parsed(question: str, root: Path, tables: Sequence[TableInfo]) -> Parsed | None:
    """What a question to some tables means; None: nothing that they answer.

    Args:
        question: of the user. root: of the tables. tables: at most ``TABLES`` are looked at, the first ones.

    Raises:
        ToolError: a file is broken or gone.
    """
    return _parsed(question, root.resolve(), tuple(tables[:TABLES]))


@functools.lru_cache(maxsize=_KEPT)
def _parsed(question: str, root: Path, tables: tuple[TableInfo, ...]) -> Parsed | None:
    return _first(question, root, _looked(question, root, tables))


@functools.lru_cache(maxsize=_KEPT)
def _looked(question: str, root: Path, tables: tuple[TableInfo, ...]) -> Seen:
    return _seen(question, schema_of(root, tables), shipped())


def parse(question: str, root: Path, schema: Schema, encoder: Encoder) -> Parsed | None:
    """The same with a given encoder; nothing is remembered."""
    return _first(question, root, _seen(question, schema, encoder))


def _seen(question: str, schema: Schema, encoder: Encoder) -> Seen:
    layout = lay_out(question, schema, encoder.pieces)
    scores = scores_of(layout, encoder.see(layout.pieces, layout.marks), encoder.weights)
    return Seen(math.exp(float(scores.answer[1])), tuple(queries(layout, schema, scores)), schema)


def _first(question: str, root: Path, seen: Seen) -> Parsed | None:
    """The likeliest query that finds something, unless the tables more likely say nothing."""
    if seen.answered < _SAID:
        return None
    schema = seen.schema
    database = open_database(root, tuple(info.source for info in schema.tables))
    named = KEY_ASKED.search(question) is None
    tried = 0
    for one in seen.queries:
        try:
            sql = sql_of(one.query, schema, named=named)
        except NoQuery:
            continue
        tried += 1
        if _finds(sql, database):
            return _told(one, sql, schema)
        if tried == _TRIED:
            break
    return None


def _finds(sql: str, database: Database) -> bool:
    """Whether a query runs, and finds a few cells that are not empty."""
    try:
        found = database.query(sql, _CELLS)
    except ToolError:
        return False
    return bool(found.rows) and not found.more and any(_is_value(row[0]) for row in found.rows)


def _is_value(cell: object) -> bool:
    return cell is not None and cell != "" and not (isinstance(cell, float) and not math.isfinite(cell))


def _told(one: Decoded, sql: str, schema: Schema) -> Parsed:
    return Parsed(sql, _column(one.query, schema), _unit(one.query), one.chance)


def _column(query: Query, schema: Schema) -> str:
    counts = query.aggregate in ("count", "distinct", "percent") or query.form not in ("plain", "-", "+", "pair -")
    return "" if counts or query.shown is None else schema.fields[query.shown].name


def _unit(query: Query) -> str:
    return {"day": "days", "pair day": "days", "minute": "minutes"}.get(query.form, "")
