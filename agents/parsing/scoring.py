"""What the trained heads say of a laid out question: log-probabilities of each part of a query."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pointwork.agents.parsing.layout import Layout
from pointwork.agents.parsing.query import AGGREGATES, FORMS, METRICS

Array = npt.NDArray[np.float32]

FLAGS = ("", "empty", "not empty", "true", "false")
"""Of a column without a value in the question; of numbers "false" is none, 0, and "true" more."""
CELLS = ("", "=", "!=")
NTH = 3

GLOBAL = (
    *(("aggregate", len(AGGREGATES)), ("form", len(FORMS)), ("answer", 2), ("down", 2), ("nth", NTH)),
    *(("metric", len(METRICS)), ("none", 2)),
)
"""Heads over the whole question, with how many numbers each has; ``none`` are those of no extreme and no group."""
COLUMN = ("shown", "second", "order", "group", "used", "without")
"""Heads over columns and tables, one number each; behind them stand those of ``FLAGS``."""
LINKED = 8.0  # square root of how many dimensions a mention and its column are compared in


@dataclass(frozen=True)
class Scores:
    """Log-probabilities; columns, tables, cells and mentions in the order of the layout's items.

    Attributes:
        columns, tables, cells, mentions: indices of the items.
        aggregate, form, answer, down, nth, metric: of each choice.
        shown: of tables, then columns. second: of columns.
        order, group: of none, then columns.
        used: probability that a column joins tables; without: that nothing in a table refers to a row.
        flags: (columns, ``FLAGS``). cell: (cells, ``CELLS``).
        link: (mentions, none and columns). operator: (mentions, ``OPERATORS``).
    """

    columns: list[int]
    tables: list[int]
    cells: list[int]
    mentions: list[int]
    aggregate: Array
    form: Array
    answer: Array
    down: Array
    nth: Array
    metric: Array
    shown: Array
    second: Array
    order: Array
    group: Array
    used: Array
    without: Array
    flags: Array
    cell: Array
    link: Array
    operator: Array


def scores_of(layout: Layout, seen: Array, heads: Mapping[str, Array]) -> Scores:
    """The heads over what the encoder saw.

    Args:
        layout: of the question.
        seen: the encoder's last layer, (pieces, width).
        heads: weight (outputs, width) and bias of ``glob``, ``col``, ``cell``, ``ma``, ``mb``, ``mnone``, ``op``.
    """
    found: dict[str, Array] = {}
    said, start = _linear(seen[:1], heads, "glob")[0], 0
    for name, size in GLOBAL:
        found[name] = said[start : start + size]
        start += size
    pooled = np.stack([seen[item.start : item.end].mean(0) for item in layout.items])
    kinds = [item.kind for item in layout.items]
    columns, tables, cells, mentions = (
        [i for i, kind in enumerate(kinds) if kind == wanted] for wanted in ("column", "table", "cell", "mention")
    )
    columned, celled = _linear(pooled, heads, "col"), _linear(pooled, heads, "cell")
    none, own = found["none"], columned[columns]
    mentioned = pooled[mentions]
    link = _linear(mentioned, heads, "ma") @ _linear(pooled[columns], heads, "mb").T / LINKED
    return Scores(
        columns,
        tables,
        cells,
        mentions,
        **{name: _log(found[name]) for name in ("aggregate", "form", "answer", "down", "nth", "metric")},
        shown=_log(columned[[*tables, *columns], 0]),
        second=_log(own[:, 1]),
        order=_log(np.concatenate([none[:1], own[:, 2]])),
        group=_log(np.concatenate([none[1:], own[:, 3]])),
        used=_chance(own[:, 4]),
        without=_chance(columned[tables, 5]),
        flags=_log(own[:, 6:]),
        cell=_log(celled[cells]),
        link=_log(np.concatenate([_linear(mentioned, heads, "mnone"), link], 1)),
        operator=_log(_linear(mentioned, heads, "op")),
    )


def _linear(x: Array, heads: Mapping[str, Array], name: str) -> Array:
    return np.asarray(x @ heads[f"{name}.weight"].T + heads[f"{name}.bias"], np.float32)


def _log(logits: Array) -> Array:
    shifted = logits - logits.max(-1, keepdims=True, initial=-np.inf)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)), np.float32)


def _chance(logits: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-logits)), np.float32)
