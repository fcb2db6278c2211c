"""The parser: what it knows of tables, what a query comes to as SQL, and what it makes of scores and questions."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.agents.parsing import parser
from pointwork.agents.parsing.composing import NoQuery, sql_of
from pointwork.agents.parsing.decoding import Decoded, queries
from pointwork.agents.parsing.encoder import gelu, packed, rounded, shipped, unpacked
from pointwork.agents.parsing.layout import PIECES, Layout, lay_out
from pointwork.agents.parsing.mentions import mentions
from pointwork.agents.parsing.parser import parsed
from pointwork.agents.parsing.query import AGGREGATES, FORMS, METRICS, OPERATORS, Condition, Extreme, Group, Query
from pointwork.agents.parsing.schema import Schema, schema_of
from pointwork.agents.parsing.scoring import CELLS, FLAGS, NTH, Scores
from pointwork.agents.readings.asking import KEY_ASKED
from pointwork.tools.catalog import catalog
from pointwork.tools.duck import open_database

TOOLS = """id,name,shelf,price_eur
T1,Lathe,A,900
T2,Drill,B,120
T3,Saw,B,60
T4,Plane,C,
"""
PEOPLE = """code,full_name,town
P1,Ann Reed,York
P2,Bob Stone,Leeds
P3,Cy Young,York
"""
LOANS = """tool_id,person,lent_on,back_on,fee
T1,P1,2024-03-02,2024-03-05,12
T2,P2,2024-03-09,2024-03-10,4
T2,P1,2024-04-01,,4
T3,P2,2024-05-20,2024-06-02,2
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tools")
    for name, text in (("tools", TOOLS), ("people", PEOPLE), ("loans", LOANS)):
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def schema(root: Path) -> Schema:
    return schema_of(root, catalog(root))


def place(schema: Schema, table: str, column: str) -> int:
    return next(i for i, f in enumerate(schema.fields) if (schema.tables[f.table].name, f.name) == (table, column))


def table(schema: Schema, name: str) -> int:
    return [info.name for info in schema.tables].index(name)


def found(root: Path, schema: Schema, query: Query) -> list[object]:
    database = open_database(root, tuple(info.source for info in schema.tables))
    return [row[0] for row in database.query(sql_of(query, schema), 50).rows]


def test_a_key_is_told_as_the_name_that_it_stands_for(root: Path, schema: Schema) -> None:
    loans, person = table(schema, "loans"), place(schema, "loans", "person")
    fee = Condition(place(schema, "loans", "fee"), "=", "12")
    database = open_database(root, tuple(info.source for info in schema.tables))

    def told(query: Query, *, named: bool) -> list[object]:
        return [row[0] for row in database.query(sql_of(query, schema, named=named), 5).rows]

    who = Query(loans, person, conditions=(fee,))
    assert (told(who, named=True), told(who, named=False)) == (["Ann Reed"], ["P1"])
    most = Query(loans, person, group=Group(person, "sum", place(schema, "loans", "fee"), down=True))
    assert (told(most, named=True), told(most, named=False)) == (["Ann Reed"], ["P1"])
    assert told(Query(loans, person, aggregate="distinct"), named=True) == [2]


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("lent_on", ("2024-03", "2024-04"), 3),
        ("lent_on", ("2024", "2024-04"), 1),
        ("lent_on", ("--03", "--05"), 3),
        ("fee", ("12", "2"), 2),
        ("person", ("P1", "P2"), 4),
    ],
)
def test_values_that_exclude_each_other_are_alternatives(
    root: Path, schema: Schema, column: str, values: tuple[str, ...], expected: int
) -> None:
    conditions = tuple(Condition(place(schema, "loans", column), "=", value) for value in values)
    query = Query(table(schema, "loans"), None, "count", conditions=conditions)
    assert found(root, schema, query) == [expected]


@pytest.mark.parametrize(
    ("question", "told"), [("Who paid a fee of 12?", "person_full_name"), ("Whose id paid a fee of 12?", "person")]
)
def test_the_question_says_whether_a_key_is_told(
    root: Path, schema: Schema, monkeypatch: pytest.MonkeyPatch, question: str, told: str
) -> None:
    conditions = (Condition(place(schema, "loans", "fee"), "=", "12"),)
    query = Query(table(schema, "loans"), place(schema, "loans", "person"), conditions=conditions)

    def decoded(*_: object) -> list[Decoded]:
        return [Decoded(query, 0.9)]

    monkeypatch.setattr(parser, "queries", decoded)
    meant = parser.parse(question, root, schema, shipped())
    assert meant is not None
    assert meant.sql.startswith(f'SELECT "{told}" FROM')


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Who is Ann's mentor?", False),
        ("Which guide led the highest number of tours?", False),
        ("Who has no mentor?", False),
        ("What is the id of Ann's mentor?", True),
        ("What is Ann's member no?", True),
        ("Ann's locker number?", True),
    ],
)
def test_whether_a_key_is_asked_for(question: str, asked: bool) -> None:
    assert bool(KEY_ASKED.search(question)) is asked


def test_the_keys_of_one_table_that_stand_in_another_join_them(schema: Schema) -> None:
    joins = {(schema.fields[e.holds].name, schema.fields[e.key].name) for e in schema.edges}

    assert {("tool_id", "id"), ("person", "code")} <= joins
    assert ("lent_on", "back_on") not in joins


def test_conditions_on_other_tables_go_through_their_keys(root: Path, schema: Schema) -> None:
    town = Condition(place(schema, "people", "town"), "=", "York")
    fees = Query(table(schema, "loans"), place(schema, "loans", "fee"), "sum", conditions=(town,))
    shelf = Condition(place(schema, "tools", "shelf"), "=", "B")
    people = Query(table(schema, "people"), place(schema, "people", "full_name"), conditions=(shelf,))

    assert found(root, schema, fees) == [16]
    assert sorted(map(str, found(root, schema, people))) == ["Ann Reed", "Bob Stone"]


def test_an_extreme_row_of_another_table(root: Path, schema: Schema) -> None:
    latest = Extreme(place(schema, "loans", "lent_on"), down=True)
    query = Query(table(schema, "people"), place(schema, "people", "full_name"), extreme=latest)

    assert found(root, schema, query) == ["Bob Stone"]
    second = Query(query.table, query.shown, extreme=Extreme(latest.field, down=True, nth=2))
    assert found(root, schema, second) == ["Ann Reed"]


def test_groups_and_what_nothing_refers_to(root: Path, schema: Schema) -> None:
    tool = place(schema, "loans", "tool_id")
    name = place(schema, "tools", "name")
    most = Query(table(schema, "tools"), name, group=Group(tool, "count", None, down=True))
    never = Query(table(schema, "tools"), name, without=(table(schema, "loans"),))

    assert found(root, schema, most) == ["Drill"]
    assert found(root, schema, never) == ["Plane"]


def test_a_group_is_named_and_an_extreme_row_holds_a_value(root: Path, schema: Schema, tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("garden,guide\nRose,\nHerb,\nFern,Ann\n", encoding="utf-8")
    visits = schema_of(tmp_path, catalog(tmp_path))
    guide = place(visits, "visits", "guide")
    busiest = Query(0, guide, group=Group(guide, "count", None, down=True))
    tools, price = table(schema, "tools"), place(schema, "tools", "price_eur")

    assert found(tmp_path, visits, busiest) == ["Ann"]
    for down, name in ((True, "Lathe"), (False, "Saw")):
        query = Query(tools, place(schema, "tools", "name"), extreme=Extreme(price, down))
        assert found(root, schema, query) == [name]


def test_of_two_ways_between_tables_the_columns_that_join_decide(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("code,full_name\nP1,Ann\nP2,Bob\nP3,Cy\n", encoding="utf-8")
    (tmp_path / "matches.csv").write_text("match,winner,loser\nM1,P1,P2\nM2,P3,P1\nM3,P2,P3\n", encoding="utf-8")
    schema = schema_of(tmp_path, catalog(tmp_path))
    code, match = place(schema, "people", "code"), place(schema, "matches", "match")
    ann = Condition(place(schema, "people", "full_name"), "=", "Ann")
    for column, expected in (("winner", ["M1"]), ("loser", ["M2"])):
        joins = (place(schema, "matches", column), code)
        query = Query(table(schema, "matches"), match, conditions=(ann,), joins=joins)
        assert found(tmp_path, schema, query) == expected


def test_numbers_join_only_where_a_name_says_so(tmp_path: Path) -> None:
    (tmp_path / "boats.csv").write_text("id,name\n1,Otter\n2,Heron\n3,Teal\n", encoding="utf-8")
    (tmp_path / "trips.csv").write_text("boat_id,guests\n1,2\n2,3\n2,1\n", encoding="utf-8")
    schema = schema_of(tmp_path, catalog(tmp_path))

    assert [(schema.fields[e.holds].name, schema.fields[e.key].name) for e in schema.edges] == [("boat_id", "id")]


def test_pairs_shares_days_and_empty_cells(root: Path, schema: Schema) -> None:
    tools, price, name = table(schema, "tools"), place(schema, "tools", "price_eur"), place(schema, "tools", "name")
    two = (Condition(name, "=", "Saw"), Condition(name, "=", "Lathe"))
    loans, back = table(schema, "loans"), place(schema, "loans", "back_on")
    march = Condition(place(schema, "loans", "lent_on"), "=", "2024-03")
    days = Query(loans, back, "max", "day", place(schema, "loans", "lent_on"), (Condition(back, "not empty"),))

    assert found(root, schema, Query(tools, price, form="pair -", conditions=two)) == [840]
    assert found(root, schema, Query(tools, price, form="pair /", conditions=two[::-1])) == [15]
    assert found(root, schema, Query(loans, None, "percent", conditions=(march,))) == [50]
    assert found(root, schema, days) == [13]
    assert found(root, schema, Query(loans, None, "count", conditions=(Condition(back, "empty"),))) == [1]


def test_parts_that_make_no_query_are_refused(schema: Schema) -> None:
    tools, name = table(schema, "tools"), place(schema, "tools", "name")
    on = place(schema, "loans", "lent_on")
    lent = schema.fields[on]
    for query in (
        Query(tools, name, "avg"),
        Query(tools, name, "max", extreme=Extreme(name, down=True)),
        Query(tools, None, "none"),
        Query(tools, name, form="pair -", conditions=(Condition(name, "=", "Saw"),)),
        Query(tools, None, "percent"),
        Query(lent.table, None, "count", conditions=(Condition(on, "=", "2023-02-29"),)),
    ):
        with pytest.raises(NoQuery):
            sql_of(query, schema)


def test_what_stands_in_a_cell_can_not_leave_its_quotes(root: Path, schema: Schema) -> None:
    name = place(schema, "tools", "name")
    query = Query(
        table(schema, "tools"), None, "count", conditions=(Condition(name, "=", "x'; DROP TABLE tools;"),)
    )

    assert found(root, schema, query) == [0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("more than 1,250.50 since May 2024", {("number", "1250.5"), ("date", "2024-05")}),
        ("before ten in the morning on 3 March", {("time", "10:00"), ("number", "10"), ("date", "--03-03")}),
        ("after 14:30", {("time", "14:30"), ("number", "14"), ("number", "30")}),
        ("until 12 am", {("time", "00:00")}),
        ("at twelve at night, not 12 pm", {("time", "00:00"), ("time", "12:00")}),
        ("a dozen at noon", {("number", "12"), ("time", "12:00")}),
    ],
)
def test_mentions(text: str, expected: set[tuple[str, str]]) -> None:
    assert expected <= {(one.kind, one.value) for one in mentions(text)}


@pytest.mark.parametrize(
    ("text", "kind", "value", "operator"),
    [
        ("whose pay is above 25", "number", "25", ">"),
        ("at least 3 nights", "number", "3", ">="),
        ("since 2020", "date", "2020", ">="),
        ("in 2020", "date", "2020", ""),
        ("more than 1234567.891", "number", "1234567.891", ">"),
    ],
)
def test_a_mention_compares_as_its_words_say(text: str, kind: str, value: str, operator: str) -> None:
    found = next(one for one in mentions(text) if one.kind == kind)

    assert (found.value, found.operator) == (value, operator)


def test_what_no_calendar_has_is_no_date_and_no_column_has_a_numeral_of_400_digits() -> None:
    assert not [one for one in mentions("on 31 February 2024") if one.kind == "date"]
    assert [one.value for one in mentions("on 29 February")] == ["--02-29"]
    assert mentions("9" * 400) == []


@given(st.lists(st.lists(st.floats(-3, 3, width=32), min_size=64, max_size=64), min_size=1, max_size=4))
def test_stored_vectors_are_near_what_they_were(rows: list[list[float]]) -> None:
    vectors = np.array(rows, np.float32)
    step = np.abs(vectors.reshape(len(vectors), -1, 32)).max(2, keepdims=True) / 7

    assert np.all(np.abs(unpacked(*packed(vectors)) - vectors).reshape(len(vectors), -1, 32) <= 0.51 * step + 1e-3)
    codes, scales = rounded(vectors)
    assert np.all(np.abs(codes * scales[:, None] - vectors) <= 0.51 * scales[:, None] + 1e-6)


def test_gelu_is_what_it_is_called() -> None:
    x = np.linspace(-6, 6, 241, dtype=np.float32)
    exact = [0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.tolist()]

    assert np.allclose(gelu(x), exact, atol=1e-5)


def scores(layout: Layout, seed: int) -> Scores:
    chance = np.random.default_rng(seed)

    def logs(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        logits = chance.normal(0, 3, shape)
        return np.asarray(logits - np.log(np.exp(logits).sum(-1, keepdims=True)), np.float32)

    kinds = [item.kind for item in layout.items]
    columns, tables, cells, said = (
        [i for i, kind in enumerate(kinds) if kind == wanted] for wanted in ("column", "table", "cell", "mention")
    )
    width = len(columns)
    return Scores(
        columns,
        tables,
        cells,
        said,
        logs(len(AGGREGATES)),
        logs(len(FORMS)),
        logs(2),
        logs(2),
        logs(NTH),
        logs(len(METRICS)),
        logs(len(tables) + width),
        logs(width),
        logs(width + 1),
        logs(width + 1),
        np.asarray(chance.random(width), np.float32),
        np.asarray(chance.random(len(tables)), np.float32),
        logs(width, len(FLAGS)),
        logs(len(cells), len(CELLS)),
        logs(len(said), width + 1),
        logs(len(said), len(OPERATORS)),
    )


@settings(max_examples=40)  # each looks through some thousand queries
@given(st.integers(0, 10_000))
def test_queries_come_likeliest_first_and_are_refused_or_run(root: Path, schema: Schema, seed: int) -> None:
    layout = lay_out("What did Ann Reed pay for the drill after 2 March 2024, over 3?", schema, shipped().pieces)
    made = queries(layout, schema, scores(layout, seed))
    chances = [one.chance for one in made]

    assert chances == sorted(chances, reverse=True)
    assert 0 <= sum(chances) <= 1 + 1e-6
    for one in made[:3]:
        try:
            sql = sql_of(one.query, schema)
        except NoQuery:
            continue
        assert sql.startswith("SELECT ")
        assert ";" not in sql


def bound(layout: Layout, schema: Schema, column: str, share: float) -> tuple[Scores, Query]:
    """Scores in which all that is open is whether the mention of one place, laid out twice, binds a column."""

    def sure(size: int, place: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        chances = np.full(size, 1e-9)
        chances[place] = 1.0
        return np.log(chances).astype(np.float32)

    base = scores(layout, 0)
    columns = [schema.fields[layout.items[i].place].name for i in base.columns]
    width, table_of_loans = len(columns), table(schema, "loans")
    link = np.full((len(base.mentions), width + 1), 1e-9)
    link[:, 0], link[:, 1 + columns.index(column)] = 1 - share, share
    made = replace(
        base,
        aggregate=sure(len(AGGREGATES), AGGREGATES.index("count")),
        form=sure(len(FORMS), 0),
        answer=sure(2, 1),
        shown=sure(len(base.tables) + width, table_of_loans),
        order=sure(width + 1, 0),
        group=sure(width + 1, 0),
        without=np.zeros(len(base.tables), np.float32),
        flags=np.tile(sure(len(FLAGS), 0), (width, 1)),
        cell=np.tile(sure(len(CELLS), 0), (len(base.cells), 1)),
        link=np.log(link).astype(np.float32),
        operator=np.tile(sure(len(OPERATORS), OPERATORS.index("=")), (len(base.mentions), 1)),
    )
    return made, Query(table_of_loans, None, "count")


def test_mentions_of_one_place_are_bound_once_and_with_their_likelihood_together(schema: Schema) -> None:
    layout = lay_out("How many loans since 2024?", schema, shipped().pieces)
    assert [one.kind for one in layout.mentions] == ["date", "number"]
    made, plain = bound(layout, schema, "lent_on", 0.4)
    found = queries(layout, schema, made)

    # .4 of each of two is .8 of the place, and that a year means nothing is a fifth as likely as it looks
    since = Condition(place(schema, "loans", "lent_on"), ">=", "2024")
    assert found[0].query.conditions == (since,)
    assert found[0].chance == pytest.approx(0.8 / (0.8 + 0.2 * 0.2), rel=1e-2)
    assert replace(found[1].query, joins=()) == plain
    assert all(len(one.query.conditions) <= 1 for one in found)


def test_what_nothing_refers_to_is_asked_for_where_it_is_likely_enough(schema: Schema) -> None:
    layout = lay_out("Which tools were never lent?", schema, shipped().pieces)
    made, _ = bound(layout, schema, "lent_on", 0.1)
    for chance, expected in ((0.05, set[tuple[int, ...]]()), (0.2, {(table(schema, "loans"),)})):
        without = np.zeros(len(made.tables), np.float32)
        without[[layout.items[i].place for i in made.tables].index(table(schema, "loans"))] = chance
        given_ = queries(layout, schema, replace(made, without=without))
        assert {one.query.without for one in given_} == {(), *expected}


def test_a_long_question_to_wide_tables_is_cut(root: Path, schema: Schema) -> None:
    layout = lay_out("drill " * 500, schema, shipped().pieces)

    assert len(layout.pieces) == len(layout.marks) <= PIECES + 40
    assert all(item.end <= len(layout.pieces) for item in layout.items)


def test_what_the_tables_do_not_answer_is_not_read(root: Path) -> None:
    assert parsed("What is the capital of France?", root, catalog(root)) is None


def test_odd_text_is_no_error(root: Path) -> None:
    for text in ("", "?", "\ud800 lathe", "💡" * 50, "SELECT 1", f"over {'9' * 400}", "since 31 February 2024"):
        parsed(text, root, catalog(root))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many loans were there in March 2024?", ["2"]),
        ("Who borrowed the saw?", ["Bob Stone"]),
        ("What does the drill cost?", ["120"]),
        ("In which town does Bob Stone live?", ["Leeds"]),
        ("What did we take in fees from Ann Reed?", ["16"]),
        ("Which tool is the most expensive?", ["Lathe"]),
    ],
)
def test_questions_that_are_read(root: Path, question: str, answer: list[str]) -> None:
    known = catalog(root)
    meant = parsed(question, root, known)

    assert meant is not None
    assert 0 < meant.chance <= 1
    rows = open_database(root, tuple(info.source for info in known)).query(meant.sql, 50).rows
    assert [f"{row[0]}" for row in rows] == answer
