"""What the parser should say of a question: a query over the schema that it is shown, checked by what it finds."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from parser_training.sql_parts import Other, Parts, parts_of
from pointwork.agents.parsing.composing import NoQuery, sql_of
from pointwork.agents.parsing.layout import Layout, Pieces, lay_out
from pointwork.agents.parsing.query import (
    AGGREGATES,
    FORMS,
    METRICS,
    OPERATORS,
    Condition,
    Extreme,
    Group,
    Query,
)
from pointwork.agents.parsing.schema import Field, Schema, schema_of
from pointwork.agents.parsing.scoring import CELLS, FLAGS, NTH
from pointwork.errors import ToolError
from pointwork.tools.dates import date_span
from pointwork.training.recipes.querying import World, shuffled

MISSING = 0.12  # questions that are shown without one of the tables
_TRUTHS = {
    "yes": "true",
    "y": "true",
    "t": "true",
    "1": "true",
    "no": "false",
    "n": "false",
    "f": "false",
    "0": "false",
}
_DAY = timedelta(days=1)


@dataclass
class Example:
    """One question as numbers: the network's input, and the index of each right choice (-1: none).

    ``flags``, ``cells`` and ``mentions`` map an item to its choice; of a mention that is (column, operator).
    """

    pieces: list[int]
    marks: list[int]
    items: list[tuple[int, int]]
    kinds: dict[str, list[int]]
    answered: bool
    aggregate: int = -1
    form: int = -1
    shown: int = -1
    second: int = -1
    order: int = -1
    group: int = -1
    down: int = -1
    nth: int = -1
    metric: int = -1
    used: list[int] = field(default_factory=list)
    without: list[int] = field(default_factory=list)
    flags: dict[int, int] = field(default_factory=dict)
    cells: dict[int, int] = field(default_factory=dict)
    mentions: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass
class _Label:
    query: Query
    flags: dict[int, str] = field(default_factory=dict)
    cells: dict[int, str] = field(default_factory=dict)
    mentions: dict[int, tuple[int, str]] = field(default_factory=dict)


def examples(world: dict[str, Any], pieces: Pieces, variant: int) -> Iterator[Example]:
    """The questions of a world that the parser can say, its tables, columns and rows in another order each time."""
    chance = random.Random(f"{variant} {world['world']}")
    shown = World({name: shuffled(text, chance) for name, text in world["tables"].items()})
    names = list(shown.infos)
    chance.shuffle(names)
    whole = schema_of(shown.root, [shown.infos[name] for name in names])
    for asked in world["qa"]:
        schema, sql = whole, asked["sql"]
        if len(names) > 1 and chance.random() < MISSING:
            gone = chance.choice(names)
            schema = schema_of(shown.root, [shown.infos[name] for name in names if name != gone])
            sql = "NONE" if gone in sql.replace("(", " ").replace(")", " ").split() else sql
        layout = lay_out(asked["q"], schema, pieces)
        if sql == "NONE":
            yield _numbers(layout, None)
            continue
        try:
            label = _label(sql, schema, layout)
            if _same(shown.answer(sql_of(label.query, schema)), shown.answer(sql)):
                yield _numbers(layout, label)
        except (Other, NoQuery, KeyError):
            continue


def _same(found: Sequence[str] | None, wanted: Sequence[str] | None) -> bool:
    """The same cells; a difference may have the other sign."""
    if found == wanted:
        return True
    try:
        return len(found or ()) == len(wanted or ()) == 1 and abs(
            abs(float((found or "")[0])) - abs(float((wanted or "")[0]))
        ) <= 1e-6 * abs(float((wanted or "")[0]))
    except ValueError:
        return False


def _label(sql: str, schema: Schema, layout: Layout) -> _Label:
    parts = parts_of(sql)
    form = _paired(parts) if parts.pair else parts.form
    if form not in FORMS or parts.aggregate not in AGGREGATES:
        raise Other(form)
    label = _Label(Query(0, None))
    conditions = list(_conditions(parts, schema, layout, label))
    if form.startswith("pair"):
        conditions.sort(key=lambda one: one[0])
    extreme, group = parts.extreme, parts.group
    if extreme and group:
        raise Other("two extremes")
    joins = [_index(schema, *side) for link in parts.links for side in (link[:2], link[2:])]
    label.query = Query(
        _table(schema, parts.table),
        _index(schema, parts.table, parts.shown) if parts.shown else None,
        parts.aggregate,
        form,
        _index(schema, parts.table, parts.second) if parts.second else None,
        tuple(condition for _, condition in conditions),
        Extreme(_index(schema, extreme[0], extreme[1]), extreme[2], extreme[3]) if extreme else None,
        _group(schema, group) if group else None,
        tuple(_table(schema, name) for name in parts.without),
        tuple(joins),
    )
    return label


def _group(schema: Schema, group: tuple[str, str, str, str, bool, int]) -> Group:
    table, name, metric, of, down, nth = group
    if metric not in METRICS:
        raise Other(metric)
    return Group(_index(schema, table, name), metric, _index(schema, table, of) if of else None, down, nth)


def _paired(parts: Parts) -> str:
    """Two selects that differ in the value of one condition, put together in the first."""
    other = parts.other
    assert other is not None
    alike = (parts.table, parts.shown, parts.aggregate) == (other.table, other.shown, other.aggregate)
    if not alike or parts.form != "plain" or parts.extreme or other.extreme or parts.group or other.group:
        raise Other("an unlike pair")
    ours = [one for one in parts.conditions if one not in other.conditions]
    theirs = [one for one in other.conditions if one not in parts.conditions]
    if len(ours) != 1 or len(theirs) != 1 or ours[0][:3] != theirs[0][:3]:
        raise Other("an unlike pair")
    parts.conditions = [one for one in parts.conditions if one in other.conditions] + ours + theirs
    return f"pair {parts.pair}"


def _index(schema: Schema, table: str, name: str) -> int:
    for place, one in enumerate(schema.fields):
        if schema.tables[one.table].name.lower() == table and one.name.lower() == name:
            return place
    raise Other("a column that is not shown")


def _table(schema: Schema, name: str) -> int:
    for place, info in enumerate(schema.tables):
        if info.name.lower() == name:
            return place
    raise Other("a table that is not shown")


def _conditions(parts: Parts, schema: Schema, layout: Layout, label: _Label) -> Iterator[tuple[int, Condition]]:
    """Each condition with where the question says it; also written into the label."""
    dated: dict[int, list[tuple[str, Any]]] = {}
    for table, name, operator, value in parts.conditions:
        place = _index(schema, table, name)
        one = schema.fields[place]
        if operator in ("empty", "not empty"):
            label.flags[place] = operator
            yield 99, Condition(place, operator)
        elif one.kind == "date":
            dated.setdefault(place, []).append((operator, value))
        elif one.kind == "bool":
            said = _TRUTHS.get(str(value).lower(), str(value).lower())
            if operator != "=" or said not in ("true", "false"):
                raise Other("a truth that is compared")
            label.flags[place] = said
            yield 99, Condition(place, "=", said)
        elif one.kind == "text":
            yield from _texts(place, one, operator, value, layout, label)
        elif one.kind in ("number", "time"):
            for single in value if isinstance(value, list) else [value]:
                yield 99, _number(place, one, "=" if operator == "in" else operator, str(single), layout, label)
        else:
            raise Other(f"a condition on {one.kind}")
    for place, conditions in dated.items():
        for mention, operator, value in _dates(schema.fields[place], conditions, layout):
            label.mentions[mention] = (place, operator)
            yield 99, Condition(place, operator, value)


def _texts(
    place: int, one: Field, operator: str, value: Any, layout: Layout, label: _Label
) -> Iterator[tuple[int, Condition]]:
    if operator not in ("=", "!=", "in", "contains"):
        raise Other("texts that are compared")
    cells = {i: item for i, item in enumerate(layout.items) if item.kind == "cell" and item.place == place}
    for text in value if isinstance(value, list) else [value]:
        low = str(text).lower()
        if operator == "contains":
            found = [i for i, item in cells.items() if low in item.cell.lower()]
            if len(found) != sum(low in cell.lower() for cell in one.cells):
                raise Other("cells that are not shown")
        else:
            found = [i for i, item in cells.items() if item.cell.lower() == low][:1]
        if not found:
            raise Other("a cell that is not shown")
        for i in found:
            label.cells[i] = "!=" if operator == "!=" else "="
            yield layout.items[i].at, Condition(place, label.cells[i], layout.items[i].cell)


def _number(place: int, one: Field, operator: str, value: str, layout: Layout, label: _Label) -> Condition:
    if one.kind == "time":
        value = value.strip()[:5].rjust(5, "0")
        found = [i for i, m in enumerate(layout.mentions) if m.kind == "time" and m.value == value]
    else:
        number = float(value)
        said = [(i, m) for i, m in enumerate(layout.mentions) if m.kind == "number" or m.value.isdigit()]
        found = [i for i, m in sorted(said, key=lambda pair: pair[1].kind != "number") if float(m.value) == number]
        if not found and number == 0 and operator in ("=", ">"):  # "nothing left", "anything at all"
            label.flags[place] = "false" if operator == "=" else "true"
            return Condition(place, operator, "0")
    if not found:
        raise Other(f"a {one.kind} that is not said")
    label.mentions[found[0]] = (place, operator)
    return Condition(place, operator, layout.mentions[found[0]].value)


_Span = tuple[int, str, date, date]


def _dates(one: Field, conditions: Sequence[tuple[str, Any]], layout: Layout) -> list[tuple[int, str, str]]:
    """Bounds of a column of dates as (mention, operator, value): a span that is a month or a year is that."""
    spans = list(_spans(one, layout))
    low: date | None = None
    high: date | None = None
    found: list[tuple[int, str, str]] = []
    for operator, value in conditions:
        if isinstance(value, tuple) and value[0] == "month":
            return _any_year(int(value[1]), operator, layout)
        first, end = _bounds(value)
        if operator in ("=", "!="):
            found.append(_named(spans, first, end, operator))
        elif operator in (">=", ">"):
            low = first if operator == ">=" else end
        else:
            high = first if operator == "<" else end
    if low and high:
        exact = next(((i, "=", v) for i, v, a, b in spans if (a, b) == (low, high)), None)
        return [*found, exact] if exact else [*found, _from(spans, low), _until(spans[::-1], high)]
    return found + ([_from(spans, low)] if low else []) + ([_until(spans, high)] if high else [])


def _bounds(value: Any) -> tuple[date, date]:
    if isinstance(value, tuple):
        return date(int(value[1]), 1, 1), date(int(value[1]) + 1, 1, 1)
    try:
        day = date.fromisoformat(str(value)[:10])
    except ValueError as error:
        raise Other("no date") from error
    return day, day + _DAY


def _spans(one: Field, layout: Layout) -> Iterator[_Span]:
    for i, mention in enumerate(layout.mentions):
        if mention.kind != "date":
            continue
        years = one.years if mention.value.startswith("--") else ("",)
        for year in years:
            value = f"{year}{mention.value[1:]}" if year else mention.value
            try:
                yield i, value, *date_span(value)
            except ToolError:  # 29 February in another year
                continue


def _any_year(month: int, operator: str, layout: Layout) -> list[tuple[int, str, str]]:
    for i, mention in enumerate(layout.mentions):
        if operator == "=" and mention.kind == "date" and mention.value == f"--{month:02}":
            return [(i, "=", mention.value)]
    raise Other("a month that is not said")


def _named(spans: Sequence[_Span], first: date, end: date, operator: str) -> tuple[int, str, str]:
    for i, value, a, b in spans:
        if (a, b) == (first, end):
            return i, operator, value
    raise Other("a date that is not said")


def _from(spans: Sequence[_Span], low: date) -> tuple[int, str, str]:
    for i, value, first, end in spans:
        if low in (first, end):
            return i, ">=" if low == first else ">", value
    raise Other("a date that is not said")


def _until(spans: Sequence[_Span], high: date) -> tuple[int, str, str]:
    for i, value, first, end in spans:
        if high in (first, end):
            return i, "<=" if high == end else "<", value
    raise Other("a date that is not said")


def _numbers(layout: Layout, label: _Label | None) -> Example:
    """A label as indices of items and choices."""
    kinds = {
        kind: [i for i, item in enumerate(layout.items) if item.kind == kind]
        for kind in ("table", "column", "cell", "mention")
    }
    made = Example(
        list(layout.pieces), list(layout.marks), [(i.start, i.end) for i in layout.items], kinds, label is not None
    )
    if label is None:
        return made
    column = {layout.items[i].place: i for i in kinds["column"]}
    table = {layout.items[i].place: i for i in kinds["table"]}
    mention = {layout.items[i].place: i for i in kinds["mention"]}
    query, top = label.query, label.query.extreme or label.query.group
    of = query.extreme.field if query.extreme else query.group.of if query.group else None
    made.aggregate, made.form = AGGREGATES.index(query.aggregate), FORMS.index(query.form)
    made.shown = table[query.table] if query.shown is None else column[query.shown]
    made.second = -1 if query.second is None else column[query.second]
    made.order = -1 if of is None else column[of]
    made.group = column[query.group.field] if query.group else -1
    if top is not None:
        made.down, made.nth = int(top.down), min(top.nth, NTH) - 1
    made.metric = METRICS.index(query.group.metric) if query.group else -1
    made.used = [column[place] for place in query.joins if place in column]
    made.without = [table[place] for place in query.without]
    made.flags = {column[place]: FLAGS.index(flag) for place, flag in label.flags.items()}
    made.cells = {i: CELLS.index(operator) for i, operator in label.cells.items()}
    made.mentions = {mention[i]: (column[p], OPERATORS.index(o)) for i, (p, o) in label.mentions.items()}
    return made
