"""A question in a table's own words: "total kg of the harvests whose room is R1", "tour with the lowest fee".

So steps of a plan are written, by people and by models. Every column has to be called as it is and every value
has to stand in its column, so that nothing is guessed; anything else is for the other readings.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from pointwork.agents.readings import Reading, measured
from pointwork.agents.readings.linking import called, is_key, name_stems
from pointwork.agents.readings.tables import MOST_CONDITIONS
from pointwork.tools.catalog import Column, TableInfo
from pointwork.tools.table_info import holds_times
from pointwork.tools.table_loading import quote_name

Texts = Callable[[TableInfo, Column], tuple[str, ...]]
"""The distinct texts of a text column."""

_ASKED = re.compile(
    r"^(?:what|which|who|when|where)\s+(?:is|are|was|were)\s+(?:the\s+)?|^the\s+|[\s?.]+$", re.IGNORECASE
)
_MOST, _LEAST = (
    "highest|most|largest|greatest|biggest|latest|longest",
    "lowest|fewest|least|smallest|earliest|shortest",
)
_ROWS = r"(?: (?:of|for|over|in) (?:all the|the|all) (?P<rows>.+?))?"
_WHERE = r"(?: (?:whose|where(?: the)?) (?P<conditions>.+))?"
_EXTREME = re.compile(
    rf"(?P<head>.+?) (?:with|that has|which has) the (?:(?P<most>{_MOST})|{_LEAST}) (?P<by>.+?){_ROWS}{_WHERE}",
    re.I,
)
_SUMS = {"total": "fsum", "sum": "fsum", "average": "favg", "mean": "favg"}  # without rounding on the way
_COMPUTED = re.compile(
    rf"(?:(?P<sum>{'|'.join(_SUMS)})|(?P<most>{_MOST})|(?P<least>{_LEAST})) (?:of (?:the )?)?"
    rf"(?P<column>.+?){_ROWS}{_WHERE}",
    re.I,
)
_COUNTED = re.compile(r"(?:number|count) of (?:the )?(?P<rows>.+?) whose (?P<conditions>.+)", re.I)
_LOOKED_UP = re.compile(r"(?P<column>.+?)(?: of the (?P<rows>.+?))? whose (?P<conditions>.+)", re.I)

_OPERATORS = {
    r"is not|are not": "<>",
    r"is at least": ">=",
    r"is at most": "<=",
    r"is (?:more|higher|greater|later) than|is (?:over|above|after)": ">",
    r"is (?:less|fewer|lower|earlier) than|is (?:under|below|before)": "<",
    r"ends (?:in|with)|end (?:in|with)": "ends",
    r"starts with|begins with": "starts",
    r"contains|has": "contains",
    r"is|are|was|were|equals|=": "=",
}
_CONDITION = re.compile(
    "|".join(f"(?P<column{n}>.+?) (?:{said}) (?P<value{n}>.+)" for n, said in enumerate(_OPERATORS)), re.I
)
# A table of kit has its names under "item".
_THINGS = frozenset(["item", "thing", "articl", "titl"])
_NUMBER = re.compile(r"[£€$]?\s*(-?\d+(?:,\d{3})*(?:\.\d+)?)")


@dataclass(frozen=True)
class _Query:
    """What a text asks of one table; ``nowhere``: also of what is not in it, by no part of its name."""

    info: TableInfo
    texts: Texts
    nowhere: bool = False

    def column(self, said: str) -> Column | None:
        """The only column that is called so, by its whole name or by what stands outside brackets, or by a part."""
        stems = frozenset(name_stems(said))
        for names in (self._whole, self._bare):
            if found := [column for column in self.info.own if names(column) == stems]:
                return found[0] if len(found) == 1 else None
        part = [column for column in self.info.own if stems and stems <= self._whole(column)]
        if not part:  # "born date" is the date "born"
            dated = stems - {"date"}
            part = [column for column in self.info.own if column.kind == "date" and self._whole(column) == dated]
        return part[0] if len(part) == 1 else None

    @staticmethod
    def _whole(column: Column) -> frozenset[str]:
        return frozenset(name_stems(column.name))

    @staticmethod
    def _bare(column: Column) -> frozenset[str]:
        return frozenset(name_stems(re.sub(r"\(.*?\)|\[.*?\]", "", column.name)))

    def rows(self, said: str | None) -> float:
        """How well words fit the table's rows: by its name, or by that of the column with their names."""
        stems, named = set(name_stems(said or "")), set(name_stems(self.info.name))
        columns = {stem for column in self.info.own for stem in name_stems(column.name)}
        return len(stems & named) / len(stems) + 0.1 * len(stems & columns) if stems else 0.0

    def names(self) -> Column | None:
        """The column with the names of the rows."""
        things = (column for column in self.info.own if column.kind == "text" and self._whole(column) & _THINGS)
        return called(self.info) or next(things, None)

    def chosen(self, said: str | None) -> bool:
        """Whether words for the rows name some of them only, by a value: "the car" among vehicles."""
        stems = set(name_stems(said or ""))
        texts = (
            text for column in self.info.own if column.kind == "text" for text in self.texts(self.info, column)
        )
        return any(len(words := set(name_stems(text))) > 0 and words <= stems for text in texts)

    def where(self, said: str | None) -> str | None:
        """A clause for conditions; None: they are not all of this table."""
        clauses = self._conditions(said, MOST_CONDITIONS) if said else []
        return None if clauses is None else f" WHERE {' AND '.join(clauses)}" if clauses else ""

    def _conditions(self, said: str, most: int) -> list[str] | None:
        """At most so many: a value may have an "and" in it, so every place to cut is tried."""
        if (single := self._condition(said)) is not None:
            return [single]
        for cut in re.finditer(r"(?:,| and)(?: whose)? ", said) if most > 1 else ():
            first = self._condition(said[: cut.start()])
            rest = self._conditions(said[cut.end() :], most - 1) if first is not None else None
            if first is not None and rest is not None:
                return [first, *rest]
        return None

    def _condition(self, said: str) -> str | None:
        match = _CONDITION.fullmatch(said)
        if match is None:
            return None
        number = next(n for n in range(len(_OPERATORS)) if match[f"column{n}"] is not None)
        column = self.column(match[f"column{number}"])
        operator = list(_OPERATORS.values())[number]
        return None if column is None else self._compared(column, operator, match[f"value{number}"].strip())

    def _compared(self, column: Column, operator: str, value: str) -> str | None:
        name = quote_name(column.name)
        if column.kind == "text":
            return self._text(column, operator, value.strip("\"'“”‘’"))
        if operator not in ("=", "<>", "<", ">", "<=", ">="):
            return None
        if column.kind == "number" and (figure := _NUMBER.fullmatch(value)):
            return f"{name} {operator} {figure[1].replace(',', '')}"
        if column.kind == "date" and _is_day(value):
            return f"CAST({name} AS DATE) {operator} DATE '{value}'"
        if column.kind == "bool" and operator == "=" and value.lower() in ("yes", "no", "true", "false"):
            return f"{name} = {value.lower() in ('yes', 'true')}"
        return None

    def _text(self, column: Column, operator: str, value: str) -> str | None:
        low, name = value.lower(), f"lower({quote_name(column.name)})"
        literal = "'" + low.replace("'", "''") + "'"
        stand = {
            "=": (str.__eq__, f"{name} = {literal}"),
            "<>": (str.__eq__, f"{name} <> {literal}"),
            "ends": (str.endswith, f"ends_with({name}, {literal})"),
            "starts": (str.startswith, f"starts_with({name}, {literal})"),
            "contains": (str.__contains__, f"contains({name}, {literal})"),
        }
        if operator not in stand:
            return None
        holds, clause = stand[operator]
        texts = self.texts(self.info, column)
        if any(holds(text.lower(), low) for text in texts):
            return clause
        stems = set(name_stems(value))
        unknown = self.nowhere and operator == "=" and not any(stems & set(name_stems(text)) for text in texts)
        return clause if stems and unknown else None


def stated(question: str, tables: Sequence[TableInfo], texts: Texts) -> Reading | None:
    """The query that a question spells out; None: not in one table's words alone, or in those of two.

    Args:
        question: as it is asked.
        tables: that may be meant.
        texts: what stands in their columns.
    """
    text, before = question.strip(), ""
    while text != before:
        text, before = _ASKED.sub("", text), text
    found = _asked(text, [_Query(info, texts) for info in tables])
    # of what is not in the table that is named nothing is said, instead of something of all the rest
    nowhere = [one for one in _asked(text, [_Query(info, texts, True) for info in tables]) if one not in found]
    found += [(fit, replace(reading, absent=True)) for fit, reading in nowhere if fit >= 1]
    best = [reading for fit, reading in found if fit == max(fit for fit, _ in found)]
    return best[0] if len(best) == 1 else None


_Asked = tuple[float, Reading]


def _asked(text: str, queries: Sequence[_Query]) -> list[_Asked]:
    """What a text asks of each table in the first form that it has of any, with how well its words for rows fit."""
    for pattern, ask in _FORMS:
        if (match := pattern.fullmatch(text)) is None:
            continue
        asked = [ask(match, query) for query in queries if not query.chosen(match["rows"])]
        if found := [one for one in asked if one is not None]:
            return found
    return []


def _extreme(match: re.Match[str], query: _Query) -> _Asked | None:
    head = re.fullmatch(r"(.+?) of (?:the )?(.+)", match["head"])
    column, rows = query.column(match["head"]), match["rows"]
    if column is None and head is not None:
        column, rows = query.column(head[1]) or (query.column(head[2]) if head[1] == "name" else None), head[2]
    if column is None and query.rows(match["head"]) >= 1:
        column, rows = query.names(), match["head"]
    if query.chosen(rows):
        return None
    by, where = query.column(match["by"]), query.where(match["conditions"])
    if column is None or by is None or column == by or where is None or not _ordered(by):
        return None
    if is_key(query.info, by):  # who has the most orders has not the highest number of one
        return None
    table, measure = quote_name(query.info.name), quote_name(by.name)
    best = f"SELECT {'max' if match['most'] else 'min'}({measure}) FROM {table}{where}"  # noqa: S608
    also = f"{where} AND" if where else " WHERE"
    sql = f"SELECT DISTINCT {quote_name(column.name)} FROM {table}{also} {measure} = ({best})"  # noqa: S608
    return query.rows(rows), _reading(sql, column)


def _computed(match: re.Match[str], query: _Query) -> _Asked | None:
    column, where = query.column(match["column"]), query.where(match["conditions"])
    if column is None or where is None or not (where or query.rows(match["rows"]) >= 1):
        return None
    if column.kind != "number" and (match["sum"] or not _ordered(column)):
        return None
    by = _SUMS[match["sum"].lower()] if match["sum"] else "max" if match["most"] else "min"
    sql = f"SELECT {by}({quote_name(column.name)}) FROM {quote_name(query.info.name)}{where}"  # noqa: S608
    return query.rows(match["rows"]), _reading(sql, column)


def _counted(match: re.Match[str], query: _Query) -> _Asked | None:
    where, fit = query.where(match["conditions"]), query.rows(match["rows"])
    column = query.column(match["rows"])
    in_each = column is not None and column.kind == "number" and not is_key(query.info, column)
    if not where or not fit or in_each:  # each row has a number of children
        return None
    return fit, Reading("sql", {"query": f"SELECT count(*) FROM {quote_name(query.info.name)}{where}"}, 1.0)  # noqa: S608


def _looked_up(match: re.Match[str], query: _Query) -> _Asked | None:
    column, where = query.column(match["column"]), query.where(match["conditions"])
    if column is None or not where:
        return None
    sql = f"SELECT DISTINCT {quote_name(column.name)} FROM {quote_name(query.info.name)}{where}"  # noqa: S608
    return query.rows(match["rows"] or match["column"]), _reading(sql, column)


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], _Query], _Asked | None]], ...] = (
    (_EXTREME, _extreme),
    (_COUNTED, _counted),
    (_COMPUTED, _computed),
    (_LOOKED_UP, _looked_up),
)


def _reading(sql: str, column: Column) -> Reading:
    return Reading("sql", {"query": sql}, 1.0, unit=measured.unit_named(column.name))


def _ordered(column: Column) -> bool:
    return column.kind in ("number", "date") or holds_times(column)


def _is_day(value: str) -> bool:
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True
