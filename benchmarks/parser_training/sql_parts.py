"""A written query as the parts that the parser knows: what is shown, conditions, extremes, groups, joins.

DuckDB parses; a sub-select that is compared with a column joins two tables, and its conditions become the query's.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import duckdb

Node = dict[str, Any]
_connection = duckdb.connect()

_OPERATORS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "!=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
}
_TURNED = {"=": "=", "!=": "!=", ">": "<", ">=": "<=", "<": ">", "<=": ">="}
_AGGREGATES = {"sum", "avg", "min", "max"}
_BETWEEN = ("day", "minute")
_HUNDRED = ("100", "100.0")


class Other(Exception):
    """The query has a form that the parser does not know."""


@dataclass
class Parts:
    """One SELECT; columns are names in lower case. ``pair`` says what is done with this and ``other``."""

    table: str = ""
    shown: str = ""
    aggregate: str = "none"
    form: str = "plain"
    second: str = ""
    conditions: list[tuple[str, str, str, Any]] = field(default_factory=list)
    extreme: tuple[str, str, bool, int] | None = None
    group: tuple[str, str, str, str, bool, int] | None = None
    links: list[tuple[str, str, str, str]] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    pair: str = ""
    other: "Parts | None" = None


def parts_of(sql: str) -> Parts:
    """A query's parts.

    Raises:
        Other: it has a form that is not known.
    """
    parsed = json.loads(_connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()[0][0])
    if parsed.get("error"):
        raise Other("no SQL")
    node = parsed["statements"][0]["node"]
    outer = node["type"] == "SELECT_NODE" and node["from_table"]["type"] == "EMPTY"
    return _outer(node["select_list"][0]) if outer else _select(node)


def _outer(node: Node) -> Parts:
    """``SELECT (SELECT …) - (SELECT …)``, and shares of the whole."""
    while node["class"] == "FUNCTION" and node["function_name"] in ("abs", "round"):
        node = _arguments(node)[0]
    name = node.get("function_name", "")
    if name in ("datediff", "date_diff"):
        unit, first, second = _constant(_arguments(node)[0]), *_arguments(node)[1:]
        return _pair(unit, second, first)
    if name not in ("-", "/"):
        raise Other(f"outer {name}")
    first, second = _arguments(node)
    if name == "/" and first.get("function_name") == "*":
        by, inner = _arguments(first)
        if by["class"] == "CONSTANT" and _constant(by) in _HUNDRED:
            return _share(inner, second)
        first = inner if by["class"] == "CONSTANT" and _constant(by) == "1.0" else first
    return _pair(name, first, second)


def _pair(sign: str, first: Node, second: Node) -> Parts:
    if first["class"] != "SUBQUERY" or second["class"] != "SUBQUERY":
        raise Other(f"outer {sign}")
    found = _select(first["subquery"]["node"])
    found.pair, found.other = sign, _select(second["subquery"]["node"])
    return found


def _share(part: Node, whole: Node) -> Parts:
    if part["class"] != "SUBQUERY" or whole["class"] != "SUBQUERY":
        raise Other("another share")
    found, all_ = _select(part["subquery"]["node"]), _select(whole["subquery"]["node"])
    same = (found.aggregate, found.shown) == (all_.aggregate, all_.shown) and found.form == "plain"
    if all_.conditions or all_.links or not same or found.aggregate not in ("count", "sum") or found.extreme:
        raise Other("another share")
    found.aggregate = "percent"
    return found


def _select(node: Node) -> Parts:
    if node["type"] != "SELECT_NODE" or node["from_table"]["type"] != "BASE_TABLE":
        raise Other("no plain SELECT from one table")
    if len(node["select_list"]) != 1 or node["having"]:
        raise Other("several columns, or HAVING")
    found = Parts(node["from_table"]["table_name"].lower())
    counted = _value(node["select_list"][0], found)
    if node["where_clause"]:
        if counted:
            raise Other("a share of some")
        _where(node["where_clause"], found)
    found.conditions += counted
    modifiers = {one["type"]: one for one in node["modifiers"]}
    order, limit = modifiers.get("ORDER_MODIFIER"), modifiers.get("LIMIT_MODIFIER")
    if node["group_expressions"]:
        _grouped(node, found, order, limit)
    elif limit:
        _ordered(found, order, limit)
    return found


def _ordered(found: Parts, order: Node | None, limit: Node) -> None:
    if order is None or len(order["orders"]) != 1 or found.extreme:
        raise Other("a limit without an order")
    by = order["orders"][0]
    found.extreme = (found.table, _column(by["expression"]), by["type"] == "DESCENDING", _nth(limit))


def _nth(limit: Node) -> int:
    if _constant(limit["limit"]) != "1":
        raise Other("several rows")
    return int(_constant(limit["offset"])) + 1 if limit.get("offset") else 1


def _grouped(node: Node, found: Parts, order: Node | None, limit: Node | None) -> None:
    if order is None or limit is None or len(node["group_expressions"]) != 1:
        raise Other("groups without a first")
    by, metric = order["orders"][0], Parts(found.table)
    _value(by["expression"], metric)
    name = _column(node["group_expressions"][0])
    if metric.aggregate == "none" or metric.form != "plain" or found.aggregate != "none" or found.shown != name:
        raise Other("another group")
    found.group = (found.table, name, metric.aggregate, metric.shown, by["type"] == "DESCENDING", _nth(limit))


def _value(node: Node, found: Parts) -> list[tuple[str, str, str, Any]]:
    """What is selected; the conditions of a share's FILTER."""
    if node["class"] == "COLUMN_REF":
        found.shown = _column(node)
        return []
    if node["class"] == "CAST":
        return _value(node["child"], found)
    name = node.get("function_name", "")
    if name == "round":
        return _value(_arguments(node)[0], found)
    if name == "count_star":
        found.aggregate = "count"
    elif name == "count" and node.get("distinct"):
        found.aggregate, found.shown = "distinct", _column(_arguments(node)[0])
    elif name == "count":
        found.aggregate = "count"
        found.conditions.append((found.table, _column(_arguments(node)[0]), "not empty", ""))
    elif name in _AGGREGATES:
        _aggregate(node, name, found)
    elif name in ("+", "-", "*", "/") and len(_arguments(node)) == 2:
        return _joined(name, node, found)
    elif name in ("datediff", "date_diff"):
        _between(node, found)
    else:
        raise Other(f"selects {name or node['type']}")
    return []


def _aggregate(node: Node, name: str, found: Parts) -> None:
    inner = Parts(found.table)
    if node.get("filter") or _value(_arguments(node)[0], inner) or inner.aggregate != "none":
        raise Other("an aggregate of some")
    found.aggregate, found.shown, found.second, found.form = name, inner.shown, inner.second, inner.form


def _joined(sign: str, node: Node, found: Parts) -> list[tuple[str, str, str, Any]]:
    """Two columns; ``100 * count(*) FILTER (…) / count(*)``."""
    first, second = _arguments(node)
    if sign == "/" and first.get("function_name") == "*" and _arguments(first)[0]["class"] == "CONSTANT":
        by, inner = _arguments(first)
        whole = second.get("function_name")
        filtered = inner.get("filter") and inner["function_name"] == whole and not second.get("filter")
        if _constant(by) in _HUNDRED and filtered and whole in ("count_star", "sum"):
            part = Parts(found.table)
            _where(inner["filter"], part)
            if part.links or found.conditions:
                raise Other("a share of some")
            found.aggregate, found.shown = "percent", _column(_arguments(inner)[0]) if whole == "sum" else ""
            return part.conditions
        first = inner if _constant(by) == "1.0" else first
    if first["class"] != "COLUMN_REF" or second["class"] != "COLUMN_REF":
        raise Other("arithmetic")
    found.shown, found.second, found.form = _column(first), _column(second), sign
    return []


def _between(node: Node, found: Parts) -> None:
    unit, first, second = _constant(_arguments(node)[0]), *map(_uncast, _arguments(node)[1:])
    if unit not in _BETWEEN or first["class"] != "COLUMN_REF" or second["class"] != "COLUMN_REF":
        raise Other("another difference of dates")
    found.shown, found.second, found.form = _column(second), _column(first), unit


def _where(node: Node, found: Parts) -> None:
    kind = node["type"]
    if kind == "CONJUNCTION_AND":
        for one in node["children"]:
            _where(one, found)
    elif kind == "CONJUNCTION_OR":
        _either(node, found)
    elif node["class"] == "COMPARISON":
        _compared(node, found)
    elif node["class"] == "SUBQUERY":
        _below(node["subquery"], found, _column(node["child"]))
    elif kind == "OPERATOR_NOT":
        _negated(node["children"][0], found)
    else:
        _simple(node, found)


def _simple(node: Node, found: Parts) -> None:
    """A condition on one column."""
    kind, name = node["type"], node.get("function_name", "")
    if kind == "COMPARE_IN":
        values = [_constant(one) for one in node["children"][1:]]
        found.conditions.append((found.table, _column(node["children"][0]), "in", values))
    elif kind in ("OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"):
        empty = "empty" if kind == "OPERATOR_IS_NULL" else "not empty"
        found.conditions.append((found.table, _column(node["children"][0]), empty, ""))
    elif kind == "COMPARE_BETWEEN":
        for operator, bound in ((">=", "lower"), ("<=", "upper")):
            found.conditions.append((found.table, _column(node["input"]), operator, _constant(node[bound])))
    elif name in ("~~*", "~~", "contains"):
        text, part = _arguments(node)
        found.conditions.append((found.table, _column(text), "contains", _constant(part).strip("%")))
    elif node["class"] == "COLUMN_REF":
        found.conditions.append((found.table, _column(node), "=", "true"))
    else:
        raise Other(f"where {kind} {name}")


def _negated(node: Node, found: Parts) -> None:
    if node["class"] == "COLUMN_REF":
        found.conditions.append((found.table, _column(node), "=", "false"))
        return
    if node["class"] != "SUBQUERY" or node["subquery_type"] != "ANY":
        raise Other("another negation")
    below = _select(node["subquery"]["node"])
    rest = [one for one in below.conditions if one[2] != "not empty"]
    if rest or below.links or below.extreme or below.group or below.table == found.table:
        raise Other("not among some")
    found.without.append(below.table)
    found.links.append((found.table, _column(node["child"]), below.table, below.shown))


def _either(node: Node, found: Parts) -> None:
    each = Parts(found.table)
    for one in node["children"]:
        _where(one, each)
    if each.links or len({one[:2] for one in each.conditions}) != 1:
        raise Other("either of two columns")
    if any(one[2] not in ("=", "in") for one in each.conditions):
        raise Other("either of two comparisons")
    values = [v for one in each.conditions for v in (one[3] if isinstance(one[3], list) else [one[3]])]
    found.conditions.append((*each.conditions[0][:2], "in", values))


def _compared(node: Node, found: Parts) -> None:
    left, right, operator = node["left"], node["right"], _OPERATORS[node["type"]]
    if right["class"] == "COLUMN_REF" and left["class"] == "CONSTANT":
        left, right, operator = right, left, _TURNED[operator]
    left = _uncast(left)
    if right["class"] == "SUBQUERY":
        if operator != "=":
            raise Other("compared with what another query finds")
        _below(right["subquery"], found, _column(left))
        return
    name = left.get("function_name", "")
    if name in ("year", "month"):
        value: Any = (name, _constant(right))
        found.conditions.append((found.table, _column(_arguments(left)[0]), operator, value))
        return
    left = _arguments(left)[0] if name == "lower" else left
    if right["class"] == "COLUMN_REF":
        raise Other("column with column")
    found.conditions.append((found.table, _column(left), operator, _constant(right)))


def _below(node: Node, found: Parts, column: str) -> None:
    """A sub-select that a column is compared with."""
    below = _select(node["node"])
    if below.aggregate != "none" or below.form != "plain" or below.without:
        raise Other("compared with an aggregate")
    if (below.extreme and found.extreme) or (below.group and found.group):
        raise Other("two extremes")
    found.links += [(found.table, column, below.table, below.shown), *below.links]
    found.conditions += below.conditions
    found.extreme, found.group = found.extreme or below.extreme, found.group or below.group


def _arguments(node: Node) -> list[Node]:
    return [one["expression"] for one in node["arguments"]]


def _uncast(node: Node) -> Node:
    while node["class"] == "CAST":
        node = node["child"]
    return node


def _column(node: Node) -> str:
    if node["class"] != "COLUMN_REF":
        raise Other(f"{node['type']} for a column")
    return str(node["column_names"][-1]).lower()


def _constant(node: Node) -> str:
    node = _uncast(node)
    if node["class"] == "CONSTANT":
        return str(node["literal"]["text"]) if "literal" in node else str(node["value"].get("value"))
    if node.get("function_name") == "-" and len(node["arguments"]) == 1:
        return f"-{_constant(_arguments(node)[0])}"
    raise Other(f"{node['type']} for a constant")
