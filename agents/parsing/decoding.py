"""The likeliest queries that the scores allow."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pointwork.agents.parsing.layout import Layout
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
from pointwork.agents.parsing.schema import Schema
from pointwork.agents.parsing.scoring import CELLS, FLAGS, Array, Scores
from pointwork.agents.readings.measured import in_percent

_FLIPS = 3  # the least certain conditions are taken both ways
_TOP = 3  # choices of each part
_JOINS = 0.3  # probability from which on a column is taken to join
_MOST = 40  # queries
_FAINT = 1e-3  # what is less likely is no alternative
_LACKED = 0.1  # probability from which on nothing in a table may refer to a row
_TINY = 1e-6
_UNUSED = 0.2  # how much less likely it is than the scores say that a number or a date means nothing


@dataclass(frozen=True)
class Decoded:
    """A query with its probability."""

    query: Query
    chance: float


def queries(layout: Layout, schema: Schema, scores: Scores) -> list[Decoded]:
    """The likeliest queries, best first."""
    found: list[tuple[float, Query]] = []
    joins = tuple(
        layout.items[scores.columns[i]].place for i in range(len(scores.columns)) if scores.used[i] >= _JOINS
    )
    answered = float(scores.answer[1])
    for (conditions, said), (without, lacked) in itertools.product(
        _conditions(layout, schema, scores), _without(layout, scores)
    ):
        for chance, query in _shapes(layout, schema, scores):
            whole = replace(query, conditions=conditions, without=without, joins=joins)
            found.append((chance + said + lacked + answered, whole))
    found.sort(key=lambda one: -one[0])
    return [Decoded(query, math.exp(chance)) for chance, query in found[:_MOST]]


def _top(logs: Array, most: int = _TOP) -> list[tuple[int, float]]:
    order = np.argsort(-logs)[:most]
    return [(int(i), float(logs[i])) for n, i in enumerate(order) if n == 0 or logs[i] > math.log(_FAINT)]


def _shapes(layout: Layout, schema: Schema, scores: Scores) -> Iterator[tuple[float, Query]]:
    """All but the conditions."""
    both = [layout.items[i] for i in (*scores.tables, *scores.columns)]
    for (a, pa), (f, pf), (s, ps) in itertools.product(
        _top(scores.aggregate), _top(scores.form, 2), _top(scores.shown, 4)
    ):
        item, aggregate, form = both[s], AGGREGATES[a], FORMS[f]
        rows = item.kind == "table"
        if aggregate not in ("count", "percent") if rows else aggregate == "count":
            continue
        table, shown = (item.place, None) if rows else (schema.fields[item.place].table, item.place)
        if aggregate == "percent" and shown is not None and in_percent(schema.fields[shown].name):
            aggregate = "none"  # the cells are what is asked for
        for second, pb in _seconds(layout, scores, form):
            for chance, extreme, group in _ordered(layout, scores):
                query = Query(table, shown, aggregate, form, second, extreme=extreme, group=group)
                yield pa + pf + ps + pb + chance, query


def _seconds(layout: Layout, scores: Scores, form: str) -> list[tuple[int | None, float]]:
    if form == "plain" or form.startswith("pair "):
        return [(None, 0.0)]
    return [(layout.items[scores.columns[i]].place, p) for i, p in _top(scores.second, 2)]


def _ordered(layout: Layout, scores: Scores) -> Iterator[tuple[float, Extreme | None, Group | None]]:
    for (o, po), (g, pg) in itertools.product(_top(scores.order, 2), _top(scores.group, 2)):
        field = layout.items[scores.columns[o - 1]].place if o else None
        group = layout.items[scores.columns[g - 1]].place if g else None
        if field is None and group is None:
            yield po + pg, None, None
            continue
        for (d, pd), (n, pn) in itertools.product(_top(scores.down, 2), _top(scores.nth, 2)):
            if group is None and field is not None:
                yield po + pg + pd + pn, Extreme(field, bool(d), n + 1), None
            elif group is not None:
                for m, pm in _top(scores.metric, 2):
                    if (METRICS[m] == "count") == (field is None):
                        yield po + pg + pd + pn + pm, None, Group(group, METRICS[m], field, bool(d), n + 1)


def _without(layout: Layout, scores: Scores) -> list[tuple[tuple[int, ...], float]]:
    chances: list[float] = np.clip(scores.without, _TINY, 1 - _TINY).tolist()
    none = sum(math.log(1 - chance) for chance in chances)
    found: list[tuple[tuple[int, ...], float]] = [((), none)]
    for chance, item in zip(chances, scores.tables, strict=True):
        if chance > _LACKED:
            found.append(((layout.items[item].place,), none + math.log(chance / (1 - chance))))
    return found


@dataclass(frozen=True)
class _Choice:
    """A place in which a condition may be, with its likeliest ways: (log-probability, condition or none)."""

    ways: tuple[tuple[float, Condition | None], ...]
    at: int


def _conditions(layout: Layout, schema: Schema, scores: Scores) -> list[tuple[tuple[Condition, ...], float]]:
    choices = list(_choices(layout, schema, scores))
    certain = sum(choice.ways[0][0] for choice in choices)
    open_ = sorted((c for c in choices if len(c.ways) > 1), key=lambda c: c.ways[0][0] - c.ways[1][0])[:_FLIPS]
    found: list[tuple[tuple[Condition, ...], float]] = []
    for picked in itertools.product((0, 1), repeat=len(open_)):
        taken = {id(choice): way for choice, way in zip(open_, picked, strict=True)}
        chance = certain
        made: list[tuple[int, Condition]] = []
        for choice in choices:
            logs, condition = choice.ways[taken.get(id(choice), 0)]
            chance += logs - choice.ways[0][0]
            if condition is not None:
                made.append((choice.at, condition))
        made.sort(key=lambda one: one[0])
        found.append((tuple(condition for _, condition in made), chance))
    return found


def _choices(layout: Layout, schema: Schema, scores: Scores) -> Iterator[_Choice]:
    for number, i in enumerate(scores.cells):
        item = layout.items[i]
        yield _choice(
            [
                (float(scores.cell[number, c]), Condition(item.place, CELLS[c], item.cell) if c else None)
                for c in range(len(CELLS))
            ],
            item.at,
        )
    for number, i in enumerate(scores.columns):
        place = layout.items[i].place
        kind = schema.fields[place].kind
        yield _choice(
            [(float(scores.flags[number, c]), _flag(place, kind, FLAGS[c])) for c in range(len(FLAGS))], 98
        )
    for same in _places(layout, scores):
        yield _choice(_bound(same, layout, schema, scores), 99)


def _places(layout: Layout, scores: Scores) -> list[list[int]]:
    """The mentions by where they stand: "ten" may be a number and a time of day."""
    found: dict[tuple[int, int], list[int]] = {}
    for number, i in enumerate(scores.mentions):
        found.setdefault((layout.items[i].start, layout.items[i].end), []).append(number)
    return list(found.values())


def _bound(
    same: Sequence[int], layout: Layout, schema: Schema, scores: Scores
) -> list[tuple[float, Condition | None]]:
    """What one place in the question may be compared with.

    To the encoder all mentions of a place look alike, and one of them at most is bound: so each is bound with its
    share of the probability that the place is. Who says a number or a date mostly means something by it.
    """
    many, links = len(same), np.exp(scores.link[same[0]])
    free = max(_FAINT**2, 1 - many * (1 - float(links[0])))
    meant = 1 / (1 - free + _UNUSED * free)
    ways: list[tuple[float, Condition | None]] = [(math.log(_UNUSED * free * meant), None)]
    for c, column in enumerate(scores.columns):
        chance = min(1.0, many * float(links[c + 1]) * meant)
        place = layout.items[column].place
        said = (layout.mentions[layout.items[scores.mentions[number]].place] for number in same)
        fits = ((m, v) for m in said if (v := _value(m.kind, m.value, schema, place)))
        mention, value = next(fits, (None, ""))
        if mention is None or chance <= _FAINT:
            continue
        if mention.operator:
            ways.append((math.log(chance), Condition(place, mention.operator, value)))
            continue
        ways += [
            (math.log(chance) + p, Condition(place, OPERATORS[o], value))
            for o, p in _top(scores.operator[same[0]], 2)
        ]
    return ways


def _choice(ways: list[tuple[float, Condition | None]], at: int) -> _Choice:
    best = sorted(ways, key=lambda one: -one[0])[:2]
    return _Choice(tuple(best[:1] + [one for one in best[1:] if one[0] > math.log(_FAINT)]), at)


def _flag(place: int, kind: str, flag: str) -> Condition | None:
    if not flag:
        return None
    if flag in ("true", "false"):
        if kind == "number":
            return Condition(place, ">" if flag == "true" else "=", "0")
        return Condition(place, "=", flag) if kind == "bool" else None
    return Condition(place, flag)


def _value(kind: str, value: str, schema: Schema, place: int) -> str:
    """A mention's value as a column has it; empty: no such column holds one."""
    field = schema.fields[place]
    if field.kind == "number":
        year = kind == "date" and value.isdigit()
        return value if kind == "number" or year else ""
    if field.kind != kind:
        return ""
    if kind == "date" and value.startswith("--") and len(field.years) == 1:
        return f"{field.years[0]}{value[1:]}"
    return value
