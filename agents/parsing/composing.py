"""A query as SQL: what stands in other tables is reached through their keys, as conditions that are sub-selects."""

import heapq
import itertools
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from pointwork.agents.parsing.query import Condition, Query
from pointwork.agents.parsing.schema import Schema
from pointwork.errors import ToolError
from pointwork.tools import alternatives
from pointwork.tools.dates import date_span
from pointwork.tools.table_loading import quote_name, quote_text
from pointwork.tools.table_query import date_condition, emptiness

_OTHER = 4.0  # how much longer the way is over a column that is not known to join


class NoQuery(Exception):
    """The parts do not make one query: tables that nothing joins, a mean of texts."""


@dataclass
class _Node:
    """A table in the tree of sub-selects; ``up`` and ``down`` are the columns that join it to the one above."""

    table: int
    up: int = -1
    down: int = -1
    below: "list[_Node]" = field(default_factory=list["_Node"])


def sql_of(query: Query, schema: Schema, *, named: bool = False) -> str:
    """The query as one SELECT of one column.

    Args:
        query, schema: what is asked of what.
        named: a key is shown as the name that it stands for, where the table has one.

    Raises:
        NoQuery: its parts do not fit each other.
    """
    if query.aggregate == "percent":
        return _share(query, schema)
    if not query.form.startswith("pair "):
        return _Writer(query, schema, query.conditions, named=named).select()
    first, second = _sides(query)
    a, b = (_Writer(query, schema, side).select() for side in (first, second))
    sign = query.form.removeprefix("pair ")
    if sign == "day":
        return f"SELECT abs(datediff('day', CAST(({b}) AS DATE), CAST(({a}) AS DATE)))"
    return f"SELECT abs(({a}) - ({b}))" if sign == "-" else f"SELECT 1.0 * ({a}) / ({b})"


def _share(query: Query, schema: Schema) -> str:
    """Of a hundred rows, or of what a column comes to, how much meets the conditions."""
    whole = replace(query, aggregate="count" if query.shown is None else "sum", conditions=())
    if not query.conditions or query.form != "plain" or query.extreme or query.group or query.without:
        raise NoQuery("a share needs a condition")
    part = _Writer(replace(whole, conditions=query.conditions), schema, query.conditions).select()
    return f"SELECT 100.0 * ({part}) / ({_Writer(whole, schema, ()).select()})"


def _sides(query: Query) -> tuple[tuple[Condition, ...], tuple[Condition, ...]]:
    """The conditions of the two things compared: they differ in the value of one column."""
    for one in query.conditions:
        both = [c for c in query.conditions if c.field == one.field and c.operator == "="]
        if len(both) == 2:
            rest = tuple(c for c in query.conditions if c not in both)
            return (*rest, both[0]), (*rest, both[1])
    raise NoQuery("nothing to compare")


class _Writer:
    def __init__(
        self, query: Query, schema: Schema, conditions: Collection[Condition], *, named: bool = False
    ) -> None:
        self.query, self.schema, self.conditions, self.named = query, schema, conditions, named

    def select(self) -> str:
        query, schema = self.query, self.schema
        needed = {schema.fields[c.field].table for c in self.conditions}
        if query.extreme is not None:
            needed.add(schema.fields[query.extreme.field].table)
        if query.group is not None:
            needed.add(schema.fields[query.group.field].table)
        root = self._tree(needed - {query.table})
        value, tail = self._value()
        return f"SELECT {value} FROM {self._name(query.table)}{self._where(root)}{tail}"  # noqa: S608

    def _name(self, table: int) -> str:
        return quote_name(self.schema.tables[table].name)

    def _column(self, place: int) -> str:
        return quote_name(self.schema.fields[place].name)

    def _shown(self, place: int, *, grouped: bool = False) -> str:
        """A column as it is told: of a key the name that it stands for."""
        column = self.schema.fields[place]
        names = [
            each.name
            for each in self.schema.tables[column.table].source.references
            if self.named and each.names and each.column == column.name
        ]
        if not names:
            return self._column(place)
        name = quote_name(names[0])
        return f"any_value({name}) AS {name}" if grouped else name

    def _value(self) -> tuple[str, str]:
        """What is selected, and what follows the conditions."""
        query = self.query
        group, extreme = query.group, query.extreme
        if group is not None and self.schema.fields[group.field].table == query.table:
            if query.shown != group.field or query.aggregate != "none":
                raise NoQuery("a group of something else")
            return self._shown(group.field, grouped=True), self._grouped()
        tail = ""
        if extreme is not None and self.schema.fields[extreme.field].table == query.table:
            if query.aggregate != "none":
                raise NoQuery("an aggregate of one row")
            tail = self._ordered()
        if query.shown is None:
            if query.aggregate != "count" or query.form not in ("plain", "pair -", "pair /"):
                raise NoQuery("rows are only counted")
            return "count(*)", tail
        value = self._computed()
        if query.aggregate == "none":
            return (self._shown(query.shown) if query.form == "plain" else value), tail
        if query.aggregate == "distinct":
            return f"count(DISTINCT {value})", tail
        if query.aggregate == "count":
            return "count(*)", tail
        kind = self.schema.fields[query.shown].kind
        if kind != "number" and query.form == "plain" and query.aggregate in ("sum", "avg"):
            raise NoQuery(f"{query.aggregate} of {kind}")
        if kind in ("text", "bool", "other"):
            raise NoQuery(f"{query.aggregate} of {kind}")
        return f"{query.aggregate}({value})", tail

    def _computed(self) -> str:
        query, fields = self.query, self.schema.fields
        assert query.shown is not None
        a = self._column(query.shown)
        if query.form == "plain" or query.form.startswith("pair "):
            if query.form in ("pair -", "pair /") and fields[query.shown].kind != "number":
                raise NoQuery("no numbers")
            if query.form == "pair day" and fields[query.shown].kind != "date":
                raise NoQuery("no dates")
            return a
        if query.second is None or fields[query.second].table != query.table or query.second == query.shown:
            raise NoQuery("two columns of one row are needed")
        b, kinds = self._column(query.second), {fields[query.shown].kind, fields[query.second].kind}
        if query.form in ("day", "minute"):
            if kinds - {"date", "time"} or len(kinds) != 1:
                raise NoQuery("no dates")
            kind = "DATE" if kinds == {"date"} else "TIME"
            return f"abs(datediff('{query.form}', CAST({b} AS {kind}), CAST({a} AS {kind})))"
        if kinds != {"number"}:
            raise NoQuery("no numbers")
        return f"{a} {query.form} {b}" if query.form != "/" else f"1.0 * {a} / {b}"

    def _ordered(self) -> str:
        extreme = self.query.extreme
        assert extreme is not None
        offset = f" OFFSET {extreme.nth - 1}" if extreme.nth > 1 else ""
        way = "DESC" if extreme.down else "ASC"
        return f" ORDER BY {self._column(extreme.field)} {way} LIMIT 1{offset}"

    def _grouped(self) -> str:
        group = self.query.group
        assert group is not None
        if group.metric != "count" and (
            group.of is None
            or self.schema.fields[group.of].kind != "number"
            or self.schema.fields[group.of].table != self.schema.fields[group.field].table
        ):
            raise NoQuery("a total of nothing")
        metric = (
            "count(*)"
            if group.metric == "count" or group.of is None
            else f"{group.metric}({self._column(group.of)})"
        )
        offset = f" OFFSET {group.nth - 1}" if group.nth > 1 else ""
        name, way = self._column(group.field), "DESC" if group.down else "ASC"
        return f" GROUP BY {name} ORDER BY {metric} {way} LIMIT 1{offset}"

    def _where(self, node: _Node) -> str:
        group = self.query.group
        parts = self._conditions(node.table)
        parts += [f"{self._column(one.up)} IN ({self._below(one)})" for one in node.below]
        parts += self._lacking() if node.table == self.query.table else []
        if group is not None and self.schema.fields[group.field].table == node.table:
            parts.append(f"{self._column(group.field)} IS NOT NULL")
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def _below(self, node: _Node) -> str:
        query, tail = self.query, ""
        if query.group is not None and self.schema.fields[query.group.field].table == node.table:
            if query.group.field != node.down:
                raise NoQuery("a group by something that joins nothing")
            tail = self._grouped()
        elif query.extreme is not None and self.schema.fields[query.extreme.field].table == node.table:
            tail = self._ordered()
        return f"SELECT {self._column(node.down)} FROM {self._name(node.table)}{self._where(node)}{tail}"  # noqa: S608

    def _lacking(self) -> list[str]:
        found: list[str] = []
        for table in self.query.without:
            edge = next(
                (
                    e
                    for e in self.schema.edges
                    if self.schema.fields[e.holds].table == table
                    and self.schema.fields[e.key].table == self.query.table
                ),
                None,
            )
            if edge is None:
                raise NoQuery("nothing refers to it")
            holds, key = self._column(edge.holds), self._column(edge.key)
            named = f"SELECT {holds} FROM {self._name(table)} WHERE {holds} IS NOT NULL"  # noqa: S608
            found.append(f"{key} NOT IN ({named})")
        return found

    def _conditions(self, table: int) -> list[str]:
        fields = self.schema.fields
        here = [c for c in self.conditions if fields[c.field].table == table]
        return alternatives.joined(self._condition(c) for c in here)

    def _condition(self, one: Condition) -> alternatives.Condition:
        written, field = self._compared(one), self.schema.fields[one.field]
        if one.operator != "=":
            return alternatives.Condition(written)
        dated = field.kind == "date" and not one.value.startswith("--")
        span = date_span(one.value) if dated else None
        return alternatives.Condition(written, field.name, one.value, span)

    def _compared(self, one: Condition) -> str:
        name, kind = self._column(one.field), self.schema.fields[one.field].kind
        if one.operator in ("empty", "not empty"):
            return emptiness(name, one.operator)
        sign = "<>" if one.operator == "!=" else one.operator
        if kind in ("bool", "number"):
            return f"{name} {sign} {one.value}"
        if kind == "time":
            return f"CAST({name} AS TIME) {sign} TIME '{one.value}'"
        return _dated(name, one) if kind == "date" else f"{name} {sign} {quote_text(one.value)}"

    def _tree(self, needed: Collection[int]) -> _Node:
        """The tables from the one that is shown to all that are needed."""
        root = _Node(self.query.table)
        nodes = {self.query.table: root}
        for table in sorted(needed):
            for up, down in self._way(table):
                above, below = self.schema.fields[up].table, self.schema.fields[down].table
                if below not in nodes:
                    nodes[below] = _Node(below, up, down)
                    nodes[above].below.append(nodes[below])
        return root

    def _way(self, table: int) -> list[tuple[int, int]]:
        """Pairs of columns that lead to a table, over as few others as may be."""
        counter = itertools.count()
        queue: list[tuple[float, int, int, list[tuple[int, int]]]] = [(0.0, next(counter), self.query.table, [])]
        seen: set[int] = set()
        while queue:
            cost, _, at, way = heapq.heappop(queue)
            if at == table:
                return way
            if at in seen:
                continue
            seen.add(at)
            for edge in self.schema.edges:
                for up, down in ((edge.holds, edge.key), (edge.key, edge.holds)):
                    if self.schema.fields[up].table == at:
                        known = (up in self.query.joins) + (down in self.query.joins)
                        step = cost + 1.0 + _OTHER * (2 - known)
                        heapq.heappush(
                            queue, (step, next(counter), self.schema.fields[down].table, [*way, (up, down)])
                        )
        raise NoQuery("nothing joins the tables")


def _dated(name: str, one: Condition) -> str:
    """Compare with a date; with one without a year in any year."""
    if one.value.startswith("--"):
        month, _, day = one.value[2:].partition("-")
        parts = [f"month({name}) = {int(month)}", *([f"day({name}) = {int(day)}"] if day else [])]
        inside = " AND ".join(parts)
        return f"NOT ({inside})" if one.operator == "!=" else inside
    try:
        return date_condition(name, one.operator, one.value)
    except ToolError as error:  # 29 February in the only year that there is
        raise NoQuery(str(error)) from error
