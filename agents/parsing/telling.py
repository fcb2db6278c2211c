"""A query in words, as a line that its result is put behind: "total takings where route is Island"."""

from pointwork.agents.parsing.query import Condition, Extreme, Group, Query
from pointwork.agents.parsing.schema import Schema

_AGGREGATED = {"count": "number of", "distinct": "number of different", "sum": "total", "avg": "average"}
_FORMS = {
    "-": "{} minus {}",
    "*": "{} times {}",
    "+": "{} plus {}",
    "/": "{} per {}",
    "day": "days from {1} to {0}",
    "minute": "minutes from {1} to {0}",
}
_PAIRS = {"pair -": "difference in", "pair /": "ratio of", "pair day": "days between"}
_NTH = {1: "", 2: "second ", 3: "third "}
_SIGNS = {"=": "is", "!=": "is not", "<": "below", "<=": "at most", ">": "above", ">=": "at least"}
_MOMENTS = _SIGNS | {"<": "before", "<=": "up to", ">": "after", ">=": "from"}


def told(query: Query, schema: Schema) -> str:
    """What a query asks, without the table that it asks."""
    return f"{_asked(query, schema)}{which(query, schema)}"


def which(query: Query, schema: Schema) -> str:
    """Which rows it takes: the extreme, the group, the conditions."""
    parts: list[str] = []
    if query.extreme is not None:
        parts.append(f" of the {_extreme(query.extreme, schema)}")
    if query.group is not None and query.shown != query.group.field:
        parts.append(f" of the {_grouped(query.group, schema)}")
    said = list(dict.fromkeys(_condition(one, schema) for one in query.conditions))
    said += [f"nothing in {schema.tables[table].name}" for table in query.without]
    if said:
        parts.append(f" where {' and '.join(said)}")
    return "".join(parts)


def _asked(query: Query, schema: Schema) -> str:
    if query.group is not None and query.shown == query.group.field:
        return _grouped(query.group, schema)
    name = "rows" if query.shown is None else spoken(schema.fields[query.shown].name)
    if query.form in _PAIRS:
        name = f"{_PAIRS[query.form]} {name}"
    elif query.second is not None and query.form in _FORMS:
        name = _FORMS[query.form].format(name, spoken(schema.fields[query.second].name))
    if query.aggregate in ("min", "max"):
        return f"{_end(query.shown, query.aggregate == 'max', schema)} {name}"
    if query.aggregate == "percent":
        return f"per cent of {'the rows' if query.shown is None else name}"
    return f"{_AGGREGATED[query.aggregate]} {name}" if query.aggregate in _AGGREGATED else name


def _end(field: int | None, down: bool, schema: Schema) -> str:
    if field is not None and schema.fields[field].kind in ("date", "time"):
        return "latest" if down else "earliest"
    return "highest" if down else "lowest"


def _extreme(one: Extreme, schema: Schema) -> str:
    return f"{_NTH[one.nth]}{_end(one.field, one.down, schema)} {spoken(schema.fields[one.field].name)}"


def _grouped(one: Group, schema: Schema) -> str:
    of = "rows" if one.of is None else f"{_AGGREGATED[one.metric]} {spoken(schema.fields[one.of].name)}"
    most = ("most " if one.down else "fewest ") if one.of is None else ("highest " if one.down else "lowest ")
    return f"{spoken(schema.fields[one.field].name)} with the {_NTH[one.nth]}{most}{of}"


def _condition(one: Condition, schema: Schema) -> str:
    field = schema.fields[one.field]
    signs = _MOMENTS if field.kind in ("date", "time") else _SIGNS
    return f"{spoken(field.name)} {signs.get(one.operator, f'is {one.operator}')} {one.value}".rstrip()


def spoken(name: str) -> str:
    """The name of a column as words."""
    return name.replace("_", " ")
