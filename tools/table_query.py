"""From ``query_table``'s flat arguments to SQL: names and values are matched to what the table has."""

import difflib
import re
from dataclasses import dataclass, field

from pointwork.errors import ToolError
from pointwork.tools.alternatives import Condition, joined
from pointwork.tools.catalog import Column, TableInfo
from pointwork.tools.dates import date_span
from pointwork.tools.duck import Database
from pointwork.tools.table_info import holds_times
from pointwork.tools.table_loading import quote_name, quote_text

_FUNCTIONS = {"sum": "fsum", "avg": "favg"}  # the exact ones, for floating point
_PART = re.compile(r"^(year|month)s?\s*(?:\(\s*(.+?)\s*\)|of\s+(.+))$", re.IGNORECASE)


@dataclass
class Query:
    """The arguments of ``query_table``, as given."""

    aggregate: str = "none"
    column: str = ""
    group_by: str = ""
    where: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    order_by: str = ""
    order: str = "none"
    limit: int = 20


@dataclass(frozen=True)
class Compiled:
    """SQL and what a reader must know.

    Attributes:
        sql: the query.
        condition: its ``WHERE`` part, empty or with a leading space.
        label: what is computed, in words.
        where: the condition in words, empty or with a leading space.
        notes: how names and values were read.
        scalar: the answer is one value.
        extreme: the column whose minimum or maximum is asked for, empty otherwise.
    """

    sql: str
    condition: str
    label: str
    where: str
    notes: list[str]
    scalar: bool = False
    extreme: str = ""


def _norm(name: str) -> str:
    """Lower case, letters and digits only, each word without its plural."""
    words = re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return "".join(_singular(word) for word in words)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith(("ses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def match_name(wanted: str, names: list[str], what: str) -> str:
    """The name that is meant: the same but for case, plural, spaces and underscores, or the only one it is part of.

    Raises:
        ToolError: none or several; the message lists what there is.
    """
    text = wanted.strip().strip("\"'`").strip()
    if text in names:
        return text
    norm = _norm(text)
    for found in (
        [name for name in names if _norm(name) == norm],
        [name for name in names if len(norm) > 2 and norm in _norm(name)],
    ):
        if len(found) == 1:
            return found[0]
    near = difflib.get_close_matches(norm, [_norm(name) for name in names], n=2, cutoff=0.8)
    if len(near) == 1:
        return next(name for name in names if _norm(name) == near[0])
    raise ToolError(f"there is no {what} {text!r}; there are: {', '.join(names[:40]) or 'none'}")


def compile_query(info: TableInfo, query: Query, database: Database) -> Compiled:
    """The SQL for a query.

    Raises:
        ToolError: a name, value or type does not fit; the message says what would.
    """
    notes: list[str] = []
    conditions = joined(
        _condition(info, *one, database, notes) for one in query.where if one[0].strip() or one[2].strip()
    )
    condition = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    where = re.sub(r"\bDATE '|[\"']|CAST\(| AS VARCHAR\)", "", condition).replace(" WHERE ", " where ", 1)
    aggregate = query.aggregate
    if aggregate == "none" and query.group_by.strip():
        aggregate = "count"
        notes.append("grouped rows are counted")
    if aggregate == "none":
        return _rows(info, query, condition, where, notes)
    table = quote_name(info.name)
    if aggregate == "percent":
        return _percent(table, conditions, where, notes)
    value, label, column = _aggregate(info, aggregate, query.column, notes)
    if not query.group_by.strip():
        extreme = column if aggregate in ("min", "max") else ""
        sql = f"SELECT {value} AS {quote_name(label)} FROM {table}{condition}"  # noqa: S608
        return Compiled(sql, condition, label, where, notes, scalar=True, extreme=extreme)
    group, name = _group(info, query.group_by)
    direction = {"asc": "2 ASC, 1", "desc": "2 DESC, 1"}.get(query.order, "1")
    if query.order != "none" and query.order_by.strip() and _same_column(info, query.order_by, group):
        direction = f"1 {query.order.upper()}"
    sql = (
        f"SELECT {group} AS {quote_name(name)}, {value} AS {quote_name(label)} FROM {table}{condition} "  # noqa: S608
        f"GROUP BY 1 ORDER BY {direction} LIMIT {query.limit}"
    )
    return Compiled(sql, condition, f"{label} by {name}", where, notes)


def _percent(table: str, conditions: list[str], where: str, notes: list[str]) -> Compiled:
    """Of a hundred rows that meet all conditions but the last, how many meet that too."""
    if not conditions:
        raise ToolError("percent needs a condition: which rows are to be counted")
    base = f" WHERE {' AND '.join(conditions[:-1])}" if len(conditions) > 1 else ""
    value = f"100.0 * count(*) FILTER (WHERE {conditions[-1]}) / count(*)"
    sql = f"SELECT {value} AS {quote_name('percent')} FROM {table}{base}"  # noqa: S608
    return Compiled(sql, base, "percent", where, notes, scalar=True)


def _same_column(info: TableInfo, name: str, group: str) -> bool:
    try:
        return _group(info, name)[0] == group
    except ToolError:
        return False


def _names(info: TableInfo) -> list[str]:
    return [column.name for column in info.columns]


def _is_all(name: str) -> bool:
    return name.strip().lower() in ("", "*", "all", "any", "none", "rows", "row")


def _rows(info: TableInfo, query: Query, condition: str, where: str, notes: list[str]) -> Compiled:
    computed = _computed(info, query.column)
    if computed is not None:
        shown, table = f"{computed[0]} AS {quote_name(computed[1])}", quote_name(info.name)
        sql = f"SELECT {shown} FROM {table}{condition} LIMIT {query.limit}"  # noqa: S608
        return Compiled(sql, condition, computed[1], where, notes)
    wanted = [] if _is_all(query.column) and query.column not in _names(info) else _split_names(info, query.column)
    columns = [match_name(name, _names(info), "column") for name in wanted]
    ordered = ""
    if query.order != "none" or query.order_by.strip():
        by = (
            match_name(query.order_by, _names(info), "column")
            if query.order_by.strip()
            else (columns or _names(info))[0]
        )
        ordered = f" ORDER BY {quote_name(by)} {'DESC' if query.order == 'desc' else 'ASC'} NULLS LAST"
    shown = ", ".join(map(quote_name, columns)) or "*"
    sql = f"SELECT {shown} FROM {quote_name(info.name)}{condition}{ordered} LIMIT {query.limit}"  # noqa: S608
    return Compiled(sql, condition, ", ".join(columns) or "rows", where, notes)


def _split_names(info: TableInfo, text: str) -> list[str]:
    if text in _names(info):
        return [text]
    return [part for part in text.split(",") if part.strip()]


def _aggregate(info: TableInfo, aggregate: str, column: str, notes: list[str]) -> tuple[str, str, str]:
    """(SQL, label, column) of an aggregate."""
    if aggregate in ("count", "distinct"):
        if aggregate == "distinct":
            name = match_name(column, _names(info), "column")
            return f"count(DISTINCT {quote_name(name)})", f"different {name}", name
        if _is_all(column):
            return "count(*)", "count", ""
        name = match_name(column, _names(info), "column")
        return f"count({quote_name(name)})", f"count of {name}", name
    numbers = [c.name for c in info.columns if c.kind == "number"]
    if _is_all(column) and column not in _names(info):
        if len(numbers) != 1:
            raise ToolError(f"{aggregate} needs a column; numbers are in: {', '.join(numbers) or 'none'}")
        notes.append(f"column is taken to be {numbers[0]}")
        column = numbers[0]
    computed = _computed(info, column)
    if computed is not None:
        value, name = computed
        return f"{_FUNCTIONS.get(aggregate, aggregate)}(CAST({value} AS DOUBLE))", f"{aggregate} of {name}", ""
    name = match_name(column, _names(info), "column")
    found = info.column(name)
    if found.kind != "number" and aggregate not in ("min", "max"):
        raise ToolError(
            f"{aggregate} needs numbers, {name!r} is {found.kind}; numbers are in: {', '.join(numbers) or 'none'}"
        )
    floating = found.type in ("DOUBLE", "FLOAT")
    function = _FUNCTIONS.get(aggregate, aggregate) if floating else aggregate
    return f"{function}({quote_name(name)})", f"{aggregate} of {name}", name


def _computed(info: TableInfo, text: str) -> tuple[str, str] | None:
    """(SQL, name) of a product or difference of two number columns, or of the days or minutes from one date or time
    to another; None if the text is none.
    """
    match = re.fullmatch(r"(?P<a>[^*]*\w[^*]*?)(?:\s*(?P<times>\*)\s*|\s+[-−]\s+)(?P<b>[^*]*\w[^*]*)", text)
    if match is None or any(_norm(name) == _norm(text) for name in _names(info)):  # a column may be called so
        return None
    if match["times"]:
        numbers = [c.name for c in info.columns if c.kind == "number"]
        first, second = (match_name(match[part], numbers, "number column") for part in "ab")
        return f"{quote_name(first)} * {quote_name(second)}", f"{first} * {second}"
    kinds = {c.name: "time" if holds_times(c) else c.kind for c in info.columns}
    both = [name for name, kind in kinds.items() if kind in ("number", "date", "time")]
    first, second = (match_name(match[part], both, "number, date or time column") for part in "ab")
    if kinds[first] != kinds[second]:
        raise ToolError(f"{first!r} and {second!r} are not both numbers, dates or times")
    a, b = quote_name(first), quote_name(second)
    minutes = f"date_diff('minute', CAST({b} AS TIME), CAST({a} AS TIME))"
    less = {
        "number": f"{a} - {b}",
        "date": f"date_diff('day', CAST({b} AS DATE), CAST({a} AS DATE))",
        # from 22:30 to 06:30 is past midnight; ten minutes early is not
        "time": f"{minutes} + CASE WHEN {minutes} < -720 THEN 1440 ELSE 0 END",
    }
    return less[kinds[first]], f"{first} - {second}"


def _group(info: TableInfo, group: str) -> tuple[str, str]:
    """(SQL, name) of what to group by: a column, or the year or month of a date column."""
    part = _PART.match(group.strip())
    if part and group.strip() not in _names(info):
        name = match_name(part[2] or part[3], [c.name for c in info.columns if c.kind == "date"], "date column")
        form = "%Y" if part[1].lower() == "year" else "%Y-%m"
        return f"strftime({quote_name(name)}, '{form}')", f"{part[1].lower()} of {name}"
    name = match_name(group, _names(info), "column")
    return quote_name(name), name


def _condition(
    info: TableInfo, column: str, operator: str, value: str, database: Database, notes: list[str]
) -> Condition:
    if operator in ("empty", "not empty"):
        return Condition(emptiness(quote_name(match_name(column, _names(info), "column")), operator))
    if not value.strip():
        raise ToolError(f"where_value is missing: what {column!r} is compared with")
    if not column.strip():
        column = _column_with(info, value)
        notes.append(f"where_column is taken to be {column}")
    found = info.column(match_name(column, _names(info), "column"))
    name, same = quote_name(found.name), found.name if operator == "=" else ""
    if operator == "contains":
        return Condition(f"contains(lower(CAST({name} AS VARCHAR)), {quote_text(value.strip().lower())})")
    if found.kind == "number":
        other = next((c.name for c in info.columns if c.kind == "number" and c.name == value.strip()), None)
        if other is not None:
            return Condition(f"{name} {_sql(operator)} {quote_name(other)}")
        number = _number(found, value)
        return Condition(f"{name} {_sql(operator)} {number}", same, number)
    if found.kind == "date":
        return Condition(date_condition(name, operator, value), same, value, date_span(value))
    if found.kind == "bool":
        return Condition(f"{name} {_sql(operator)} {_truth(found, value)}", same, _truth(found, value))
    if operator not in ("=", "!="):
        return Condition(f"{name} {_sql(operator)} {quote_text(value.strip())}")
    texts = [quote_text(text) for text in _existing(info, found, value, database, notes)]
    several = f"{'IN' if operator == '=' else 'NOT IN'} ({', '.join(texts)})"
    return Condition(f"{name} {several if len(texts) > 1 else f'{_sql(operator)} {texts[0]}'}", same, several)


def emptiness(name: str, operator: str) -> str:
    """NULL, and in texts what is only space: CSV files know no difference."""
    written = f"trim(CAST({name} AS VARCHAR))"
    return f"({name} IS NULL OR {written} = '')" if operator == "empty" else f"({written} <> '')"


def _sql(operator: str) -> str:
    return "<>" if operator == "!=" else operator


def _column_with(info: TableInfo, value: str) -> str:
    norm = _norm(value)
    having = [c.name for c in info.columns if any(_norm(v) == norm for v in c.values)]
    if len(having) == 1:
        return having[0]
    raise ToolError(f"where_column is missing for {value!r}; columns: {', '.join(_names(info))}")


def _number(column: Column, value: str) -> str:
    text = re.sub(r"[\s$€£¥_']|,(?=\d{3}(?!\d))", "", value)
    if not re.fullmatch(r"[-+]?(\d{1,30}(\.\d{1,30})?|\.\d{1,30})([eE][-+]?\d{1,3})?", text):
        raise ToolError(f"{column.name!r} has numbers: {value!r} is none")
    return text.removeprefix("+")


def _truth(column: Column, value: str) -> str:
    word = value.strip().lower()
    if word in ("true", "yes", "y", "1", "t", "on"):
        return "true"
    if word in ("false", "no", "n", "0", "f", "off"):
        return "false"
    raise ToolError(f"{column.name!r} is true or false: {value!r} is neither")


def date_condition(name: str, operator: str, value: str) -> str:
    """Compare a column of dates (quoted) with a year, a month or a day as the span that it is.

    Raises:
        ToolError: the value is none of these.
    """
    first, end = date_span(value)
    inside = f"({name} >= DATE '{first}' AND {name} < DATE '{end}')"
    if operator in ("=", "!="):
        return inside if operator == "=" else f"NOT {inside}"
    bound = first if operator in ("<", ">=") else end
    return f"{name} {'<' if operator in ('<', '<=') else '>='} DATE '{bound}'"


def _existing(info: TableInfo, column: Column, value: str, database: Database, notes: list[str]) -> list[str]:
    """The values of a text column that are meant.

    Raises:
        ToolError: none is; the message says which there are.
    """
    found = _matching(info, column, value.strip(), database)
    if not found:
        parts = [part.strip() for part in re.split(r",|\bor\b|\band\b", value) if part.strip()]
        matched = [_matching(info, column, part, database) for part in parts]
        if len(parts) > 1 and all(matched):
            found = [text for texts in matched for text in texts]
    if not found:
        values = column.values or tuple(_sample(info, column, database))
        near = list(values)
        if len(values) > 10:
            near = difflib.get_close_matches(value, values, n=5, cutoff=0.4) or list(values[:10])
        more = "" if len(near) == len(values) else f" (of {len(values)})" if column.values else ", ..."
        listed = ", ".join(repr(text) for text in near) or "none"
        raise ToolError(f"no row has {column.name} = {value!r}; values are: {listed}{more}")
    others = [v for v in column.values if v not in found and any(v.lower() == f.lower() for f in found)]
    if found != [value.strip()]:
        notes.append(f"{value.strip()!r} is read as {', '.join(map(repr, found))}")
    if others:
        notes.append(f"{', '.join(map(repr, others))} is not counted in")
    return found


def _sample(info: TableInfo, column: Column, database: Database) -> list[str]:
    name = quote_name(column.name)
    sql = f"SELECT DISTINCT {name} FROM {quote_name(info.name)} WHERE {name} IS NOT NULL ORDER BY 1"  # noqa: S608
    return [str(row[0]) for row in database.query(sql, 200).rows]


def _matching(info: TableInfo, column: Column, value: str, database: Database) -> list[str]:
    name, text = quote_name(column.name), quote_text(value)
    table = quote_name(info.name)
    plain = f"regexp_replace(lower({name}), '[^\\p{{L}}\\p{{N}}]', '', 'g')"
    words = quote_text(re.sub(r"[\W_]", "", value.lower()))
    singular = quote_text(_norm(value))
    for test in (
        f"{name} = {text}",
        f"lower(trim({name})) = lower({text})",
        f"{plain} <> '' AND ({plain} IN ({words}, {singular}) OR rtrim({plain}, 's') = {singular})",
    ):
        sql = f"SELECT DISTINCT {name} FROM {table} WHERE {test} ORDER BY 1"  # noqa: S608
        found = [str(row[0]) for row in database.query(sql, 20).rows]
        if found:
            return found
    return []
