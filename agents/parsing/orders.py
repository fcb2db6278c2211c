"""A question's tables in several orders: the order is nobody's meaning, so what is scored is the mean over some.

Tables and columns change places, the network looks again, and each item's probabilities are averaged (as augmented
views are at test time: Shanmugam et al., "Better Aggregation in Test-Time Augmentation", ICCV 2021).
"""

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pointwork.agents.parsing.encoder import Encoder
from pointwork.agents.parsing.layout import Item, Layout, lay_out
from pointwork.agents.parsing.schema import Edge, Schema
from pointwork.agents.parsing.scoring import Array, Scores, scores_of

LOOKS = 4
"""Orders that a question is looked at in, the files' own the first."""

_WHOLE = ("aggregate", "form", "answer", "down", "nth", "metric")
_NONE = "none"
# what the rows of each score stand for, one kind of item after the other
_ROWS = {
    "shown": ("tables", "columns"),
    "second": ("columns",),
    "order": (_NONE, "columns"),
    "group": (_NONE, "columns"),
    "used": ("columns",),
    "without": ("tables",),
    "flags": ("columns",),
    "cell": ("cells",),
    "operator": ("mentions",),
    "link": ("mentions",),
}
_PLAIN = ("used", "without")  # probabilities, the others their logarithms
_TINY = 1e-9


@dataclass(frozen=True)
class Order:
    """A schema with other places: ``tables[i]`` and ``fields[i]`` is where its i-th stands in the first order."""

    schema: Schema
    tables: Sequence[int]
    fields: Sequence[int]


def scored(question: str, schema: Schema, encoder: Encoder, looks: int = LOOKS) -> tuple[Layout, Scores]:
    """A question laid out over the tables as they stand, scored as the mean over several orders of them."""
    layout = lay_out(question, schema, encoder.pieces)
    own = scores_of(layout, encoder.see(layout.pieces, layout.marks), encoder.weights)
    items = _items(layout, own)
    seen = [(items, own)]
    for number in range(1, looks if len(schema.fields) > 1 else 1):
        order = reordered(schema, random.Random(number))
        other = lay_out(question, order.schema, encoder.pieces)
        scores = scores_of(other, encoder.see(other.pieces, other.marks), encoder.weights)
        seen.append((_items(other, scores, order), scores))
    return layout, _mean(own, items, seen) if len(seen) > 1 else own


def reordered(schema: Schema, draw: random.Random) -> Order:
    """Tables, and the columns of each, in another order."""
    tables = draw.sample(range(len(schema.tables)), len(schema.tables))
    fields: list[int] = []
    for table in tables:
        own = schema.of(table)
        fields += draw.sample(own, len(own))
    at = {field: place for place, field in enumerate(fields)}
    moved = Schema(
        tuple(schema.tables[table] for table in tables),
        tuple(replace(schema.fields[field], table=tables.index(schema.fields[field].table)) for field in fields),
        tuple(Edge(at[edge.holds], at[edge.key]) for edge in schema.edges),
    )
    return Order(moved, tables, fields)


_Items = dict[str, list[Hashable]]
"""Of each kind, what the rows of its scores are, as the first order calls them."""


def _items(layout: Layout, scores: Scores, order: Order | None = None) -> _Items:
    def called(item: Item) -> Hashable:
        if order is None or item.kind == "mention":
            return item.place, item.cell
        return (order.tables if item.kind == "table" else order.fields)[item.place], item.cell

    kinds = {"columns": scores.columns, "tables": scores.tables, "cells": scores.cells, "mentions": scores.mentions}
    found: _Items = {kind: [called(layout.items[item]) for item in items] for kind, items in kinds.items()}
    return {**found, _NONE: [_NONE]}


def _mean(own: Scores, items: _Items, seen: Sequence[tuple[_Items, Scores]]) -> Scores:
    """Of what the first look has, the mean over all that have it: of a long schema each sees the beginning."""
    means: dict[str, Array] = {}
    for name in (*_WHOLE, *_ROWS):
        looks = [_as_first(name, getattr(scores, name), items, others) for others, scores in seen]
        stacked = np.stack(looks) if name in _PLAIN else np.exp(np.stack(looks))
        mean = np.nanmean(stacked, 0)
        means[name] = np.asarray(mean if name in _PLAIN else np.log(mean + _TINY), np.float32)
    return replace(own, **means)


def _as_first(name: str, scores: Array, items: _Items, others: _Items) -> Array:
    """The scores of another order in the places of the first; what it does not show is no number."""
    if name in _WHOLE:
        return scores
    scores = _taken(scores, _ROWS[name], items, others)
    return _taken(scores.T, (_NONE, "columns"), items, others).T if name == "link" else scores


def _taken(scores: Array, kinds: Sequence[str], items: _Items, others: _Items) -> Array:
    rows, start = list[int](), 0
    for kind in kinds:
        at = {item: start + row for row, item in enumerate(others[kind])}
        rows += [at.get(item, -1) for item in items[kind]]
        start += len(others[kind])
    padded = np.concatenate([scores, np.full_like(scores[:1], np.nan)]) if len(scores) else scores
    return padded[rows] if rows else scores[:0]
