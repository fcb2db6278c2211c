"""Several looks: what the network says of an item finds its place whatever the order, and their mean counts."""

import random
import zlib
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from pointwork.agents.parsing import calculating, orders
from pointwork.agents.parsing.amounts import NUMBER, Amount
from pointwork.agents.parsing.calculating import Reading, calculations
from pointwork.agents.parsing.encoder import shipped
from pointwork.agents.parsing.layout import Item, Layout, lay_out
from pointwork.agents.parsing.operations import OPERATIONS
from pointwork.agents.parsing.query import AGGREGATES, FORMS, METRICS, OPERATORS
from pointwork.agents.parsing.schema import Schema, schema_of
from pointwork.agents.parsing.scoring import CELLS, FLAGS, NTH, Array, Scores, scores_of
from pointwork.tools.catalog import catalog

QUESTION = "What did Ann Reed pay for the drill after 2 March 2024, over 3?"
LINES = (
    "staff: name Mabel Orme; hours a week 24; pay an hour (£) 13.50; started 2019-05-06",
    "Rules: A key costs £3.50, and notice is 6 weeks.",
    "staff: name Idris Vaughan; hours a week 30; pay an hour (£) 12.00; started 2021-02-01",
)


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Schema:
    root = tmp_path_factory.mktemp("tools")
    (root / "tools.csv").write_text("id,name,shelf\nT1,Lathe,A\nT2,Drill,B\nT3,Saw,B\n", encoding="utf-8")
    (root / "people.csv").write_text("code,full_name\nP1,Ann Reed\nP2,Bob Stone\n", encoding="utf-8")
    (root / "loans.csv").write_text(
        "tool_id,person,lent_on,fee\nT1,P1,2024-03-02,12\nT2,P1,2024-04-01,4\nT2,P2,2024-04-02,4\n",
        encoding="utf-8",
    )
    return schema_of(root, catalog(root))


def of_items(schema: Schema, layout: Layout) -> Scores:
    """Scores that depend on what an item is called, and on nothing else."""

    def called(item: Item) -> str:
        if item.kind == "mention":
            return f"mention {item.place}"
        if item.kind == "table":
            return schema.tables[item.place].name
        field = schema.fields[item.place]
        return f"{schema.tables[field.table].name}.{field.name} {item.cell}"

    def drawn(*key: object, size: int) -> Array:
        return np.random.default_rng(zlib.crc32(repr(key).encode())).random(size).astype(np.float32) + 0.1

    def logs(*rows: Array) -> Array:
        stacked = np.stack(rows)
        return np.log(stacked / stacked.sum(-1, keepdims=True)).astype(np.float32)

    kinds = ("column", "table", "cell", "mention")
    columns, tables, cells, said = ([i for i, x in enumerate(layout.items) if x.kind == kind] for kind in kinds)
    names = [called(layout.items[i]) for i in columns]
    owners = [called(layout.items[i]) for i in tables]

    def each(part: str, *of: str) -> Array:
        return logs(np.concatenate([drawn(part, name, size=1) for name in of]))[0]

    links = [
        logs(np.concatenate([drawn("link", number, name, size=1) for name in ("none", *names)]))[0]
        for number in range(len(said))
    ]
    return Scores(
        columns,
        tables,
        cells,
        said,
        *(logs(drawn(part, size=size))[0] for part, size in (("a", len(AGGREGATES)), ("f", len(FORMS)), ("y", 2))),
        *(logs(drawn(part, size=size))[0] for part, size in (("d", 2), ("n", NTH), ("m", len(METRICS)))),
        shown=each("shown", *owners, *names),
        second=each("second", *names),
        order=each("order", "none", *names),
        group=each("group", "none", *names),
        used=np.concatenate([drawn("used", name, size=1) for name in names]),
        without=np.concatenate([drawn("without", name, size=1) for name in owners]),
        flags=logs(*(drawn("flags", name, size=len(FLAGS)) for name in names)),
        cell=logs(*(drawn("cell", called(layout.items[i]), size=len(CELLS)) for i in cells)),
        link=np.stack(links),
        operator=logs(*(drawn("op", number, size=len(OPERATORS)) for number in range(len(said)))),
    )


def test_what_is_said_of_an_item_finds_its_place(schema: Schema, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Schema] = []

    def laid(question: str, given: Schema, pieces: object) -> Layout:
        asked.append(given)
        return lay_out(question, given, shipped().pieces)

    def said(layout: Layout, _seen: Array, _heads: Mapping[str, Array]) -> Scores:
        return of_items(asked[-1], layout)

    monkeypatch.setattr(orders, "lay_out", laid)
    monkeypatch.setattr(orders, "scores_of", said)
    layout, mean = orders.scored(QUESTION, schema, shipped(), looks=5)
    first = of_items(schema, layout)

    assert len({tuple(one.name for one in given.fields) for given in asked}) == 5
    for part in fields(Scores):
        assert np.allclose(getattr(mean, part.name), getattr(first, part.name), atol=1e-5), part.name


def test_in_another_order_tables_have_their_own_columns_and_keys(schema: Schema) -> None:
    def told(one: Schema) -> tuple[set[tuple[str, str]], set[tuple[str, ...]]]:
        names = [(one.tables[field.table].name, field.name) for field in one.fields]
        return set(names), {(*names[edge.holds], *names[edge.key]) for edge in one.edges}

    assert schema.edges
    for seed in range(9):
        order = orders.reordered(schema, random.Random(seed))
        assert told(order.schema) == told(schema)
        assert [schema.tables[i] for i in order.tables] == list(order.schema.tables)
        assert [schema.fields[i].name for i in order.fields] == [field.name for field in order.schema.fields]


def test_one_look_is_that_of_the_files_and_more_are_probabilities(schema: Schema) -> None:
    layout, one = orders.scored(QUESTION, schema, shipped(), looks=1)
    alone = scores_of(layout, shipped().see(layout.pieces, layout.marks), shipped().weights)
    assert np.array_equal(one.shown, alone.shown)
    _, mean = orders.scored(QUESTION, schema, shipped(), looks=3)
    assert not np.allclose(mean.shown, one.shown, atol=1e-4)
    for name in ("aggregate", "shown", "order", "group", "flags", "cell", "link", "operator"):
        assert np.allclose(np.exp(getattr(mean, name)).sum(-1), 1, atol=1e-3), name
    assert ((mean.used >= 0) & (mean.used <= 1)).all()


def test_what_is_cut_off_in_another_order_counts_as_it_was_seen(tmp_path: Path) -> None:
    for table in range(4):
        names = ",".join(f"quite_a_long_name_of_column_{table}_{column}" for column in range(16))
        (tmp_path / f"wide{table}.csv").write_text(f"{names}\n{','.join('1' * 16)}\n", encoding="utf-8")
    wide = schema_of(tmp_path, catalog(tmp_path))
    layout, mean = orders.scored("How many of column 3 since 2024?", wide, shipped(), looks=4)

    assert len(mean.columns) == sum(item.kind == "column" for item in layout.items) < len(wide.fields)
    assert all(np.isfinite(getattr(mean, part.name)).all() for part in fields(Scores))


def test_amounts_are_counted_in_the_lines_that_were_given() -> None:
    read = calculations("What does Mabel Orme earn a week?", LINES)
    sides = [side for one in read.calculations for step in one.steps for side in (step.first, step.second)]
    found = [side for side in sides if isinstance(side, Amount) and side.line]

    assert len({side.line for side in found}) > 1
    for side in found:
        assert LINES[side.line - 1][side.start : side.end] == side.written


def test_what_comes_to_the_same_in_several_looks_is_one() -> None:
    def found(value: float, chance: float) -> calculating.Calculation:
        amount = Amount(chance, NUMBER, "7", 0, 1)
        return calculating.Calculation(chance, value, NUMBER, (calculating.Step(amount, amount, OPERATIONS[0]),))

    read = [Reading(0.8, (found(7, 0.5), found(9, 0.4))), Reading(0.4, (found(9, 0.9),))]
    mean = calculating.mean_of(read)

    assert mean.answered == pytest.approx(0.6)
    assert [one.value for one in mean.calculations] == [9, 7]
    sure = [mean.answered * one.chance for one in mean.calculations]
    assert sure == pytest.approx([(0.8 * 0.4 + 0.4 * 0.9) / 2, 0.8 * 0.5 / 2])
    assert mean.calculations[0].steps[0].first == Amount(0.9, NUMBER, "7", 0, 1)  # of the look that is the surest
    assert calculating.mean_of([replace(one, answered=0.0, calculations=()) for one in read]) == Reading(0.0, ())


def test_the_looks_are_the_same_every_time() -> None:
    once, again = (calculations("What does Mabel Orme earn a week?", LINES) for _ in range(2))
    assert once == again
    assert once != calculations("What does Mabel Orme earn a week?", LINES, looks=1)
