"""Tables: what they hold, found by forgiving names; and no SQL, file name or link that gets anywhere else."""

import asyncio
import csv
import sqlite3
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # pyright: ignore[reportMissingModuleSource, reportMissingTypeStubs]

from pointwork.errors import ToolError
from pointwork.tools import Tool, ToolContext, ToolResult, duck
from pointwork.tools.duck import open_database
from pointwork.tools.table_info import Column
from pointwork.tools.tables import arguments_schema, catalog, describe_table, list_tables, query_table, sql

SALES = """region,product,amount,qty,day,zip,ok
North,Apples,10.1,1,2024-01-05,00123,true
South,Pears,0.2,2,2024-02-05,00456,false
South,Apples,30.3,3,2024-02-15,10000,true
East,"Plums, dried",5,4,2023-12-31,99999,true
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "sales.csv").write_text(SALES)
    (tmp_path / "secret.csv").write_text("a,b\ntreasure,2\n")
    return folder


def run(tool: Tool, root: Path, **arguments: Any) -> ToolResult:
    return asyncio.run(tool.call(arguments, ToolContext(root=root)))


def database(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ((("day", "2024-01"), ("day", "2024-02")), 3),  # no day is in both: the rows of either
        ((("day", "2024"), ("day", "2024-02")), 2),  # one lies within the other: both have to hold
        ((("day", "2024-02"), ("day", "2024-02-15")), 1),
        ((("day", "2024"), ("Day", "February 2024")), 2),
        ((("qty", "1"), ("qty", "4")), 2),
        ((("qty", "5000"), ("qty", "6000")), 0),
        ((("qty", "1"), ("qty", "amount")), 0),  # another column is no value
        ((("ok", "yes"), ("ok", "no")), 4),
        ((("region", "North"), ("region", "East")), 2),
        ((("region", "North"), ("product", "Apples")), 1),
        ((("region", "South"), ("day", "2024-01"), ("day", "2023-12")), 0),
    ],
)
def test_values_that_exclude_each_other_are_alternatives(
    root: Path, conditions: tuple[tuple[str, str], ...], expected: int
) -> None:
    places = ("where", "and", "also")
    given = {
        f"{place}_{part}": text
        for place, one in zip(places, conditions, strict=False)
        for part, text in zip(("column", "op", "value"), (one[0], "=", one[1]), strict=True)
    }
    assert run(query_table, root, table="sales", aggregate="count", **given).value["value"] == expected


def test_list_and_describe(root: Path) -> None:
    assert run(list_tables, root).text == "sales (4 rows): region, product, amount, qty, day, zip, ok"
    result = run(describe_table, root, table="Sale")
    assert "- region (text): South, East, North" in result.text
    assert "- zip (text): 00123, 00456, 10000, 99999" in result.text  # leading zeros stay
    assert "- day (date)" in result.text
    assert len(result.value["sample"]) == 3
    assert result.evidence[0][0] == "table:sales.csv"


def test_kinds_of_files(root: Path) -> None:
    (root / "a.tsv").write_text("x\ty\n1\tu v\n")
    (root / "b.json").write_text('[{"x": 1, "y": "u"}, {"x": 2, "y": null}]')
    (root / "c.jsonl").write_text('{"x": 1}\n{"x": 2.5, "z": {"k": 1}}\n')
    duckdb.connect().execute(f"COPY (SELECT 1 AS x, DATE '2024-01-01' AS d) TO '{root / 'd.parquet'}'")
    database(
        root / "e.db",
        "CREATE TABLE orders(id INTEGER, t TEXT, at TEXT); INSERT INTO orders VALUES(1, NULL, '2024-01-01')",
    )
    (root / "settings.json").write_text('{"not": "a table"}')
    (root / "club.json").write_text(
        '{"club": "Chess", "members": [{"x": 7}, {"x": 8}], "rooms": ["a"], "none": []}'
    )
    (root / "note.db").write_text("not a database")
    (root / "semicolons.csv").write_text("name;price\nA;1,5\nB;2,5\n")
    (root / "latin.csv").write_bytes("name,n\nJosé,1\n".encode("latin-1"))
    found = {info.name: [(c.name, c.kind) for c in info.columns] for info in catalog(root)}
    assert found == {
        "a": [("x", "number"), ("y", "text")],
        "b": [("x", "number"), ("y", "text")],
        "c": [("x", "number"), ("z", "other")],
        "d": [("x", "number"), ("d", "date")],
        "orders": [("id", "number"), ("t", "text"), ("at", "date")],
        "latin": [("name", "text"), ("n", "number")],
        "members": [("x", "number")],
        "sales": found["sales"],
        "semicolons": [("name", "text"), ("price", "number")],
    }
    assert run(query_table, root, table="semicolons", aggregate="sum", column="price").value["value"] == 4
    assert run(query_table, root, table="latin", column="name").value["rows"] == [["José"]]
    assert run(query_table, root, table="orders").evidence[0][0] == "table:e.db#orders"
    result = run(query_table, root, table="members", aggregate="sum", column="x")
    assert (result.value["value"], result.evidence[0][0]) == (15, "table:club.json#members")


def test_names_that_clash_get_their_folder(root: Path) -> None:
    for folder in ("eu", "us"):
        (root / folder).mkdir()
        (root / folder / "data-2024.csv").write_text("x\n1\n")
    (root / "sales.json").write_text('[{"x": 1}]')
    (root / "2024.csv").write_text("x\n1\n")
    names = {info.name: info.source.path for info in catalog(root)}
    assert names == {
        "eu_data_2024": "eu/data-2024.csv",
        "us_data_2024": "us/data-2024.csv",
        "sales_csv": "sales.csv",
        "sales_json": "sales.json",
        "t_2024": "2024.csv",
    }
    assert run(query_table, root, table="eu/data-2024.csv", aggregate="count").value["value"] == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "broken.csv",
            "a,b\n1,2\n3,4,5\n",
            r"'broken.csv' is broken at line 3: 3 fields, but the first line has 2",
        ),
        ("broken.csv", 'a,b\n1,"2\n3,4\n', "broken at line 2"),
        ("broken.csv", "", "is empty"),
        ("broken.jsonl", '{"a": 1}\n{"a": \n', "broken"),
        ("broken.parquet", "no parquet", "can not be read as a table"),
    ],
)
def test_broken_files_say_where(root: Path, name: str, text: str, message: str) -> None:
    (root / name).write_text(text)
    with pytest.raises(ToolError, match=message) as caught:
        run(query_table, root, table="broken")
    assert "/tmp" not in str(caught.value)
    assert run(query_table, root, table="sales", aggregate="count").value["value"] == 4  # the others still work
    assert "broken" in run(list_tables, root).text


def test_a_changed_file_is_read_again(root: Path) -> None:
    assert run(query_table, root, table="sales", aggregate="count").value["value"] == 4
    (root / "sales.csv").write_text(SALES + "West,Figs,1,1,2024-05-05,1,true\n")
    assert run(query_table, root, table="sales", aggregate="count").value["value"] == 5


QUERIES: list[tuple[dict[str, Any], Any]] = [
    ({"aggregate": "sum", "column": "amount"}, 45.6),
    (
        {
            "aggregate": "Total",
            "column": "Amounts",
            "where_column": "Region",
            "where_op": "is",
            "where_value": "south",
        },
        30.5,
    ),
    ({"aggregate": "average", "column": "qty", "where_column": "product", "where_value": "apple"}, 2),
    ({"aggregate": "median", "column": "qty"}, 2.5),
    ({"aggregate": "max", "column": "amount"}, 30.3),
    ({"aggregate": "min", "column": "day"}, "2023-12-31"),
    ({"aggregate": "count"}, 4),
    ({"aggregate": "count", "column": "*"}, 4),
    ({"aggregate": "count", "where_column": "day", "where_value": "2024"}, 3),
    ({"aggregate": "count", "where_column": "day", "where_op": "<=", "where_value": "January 2024"}, 2),
    ({"aggregate": "count", "where_column": "day", "where_op": ">", "where_value": "2024-02-05"}, 1),
    ({"aggregate": "count", "where_column": "day", "where_op": "!=", "where_value": "2024-02"}, 2),
    ({"aggregate": "count", "where_column": "amount", "where_op": ">=", "where_value": 5}, 3),
    ({"aggregate": "count", "where_column": "amount", "where_op": "<", "where_value": "$1,000.00"}, 4),
    ({"aggregate": "count", "where_column": "ok", "where_value": "yes"}, 3),
    ({"aggregate": "count", "where_column": "product", "where_op": "contains", "where_value": "PLUM"}, 1),
    ({"aggregate": "count", "where_column": "product", "where_value": "plums dried"}, 1),
    ({"aggregate": "count", "where_column": "region", "where_value": "North, East"}, 2),
    ({"aggregate": "count", "where_column": "region", "where_op": "!=", "where_value": "North"}, 3),
    ({"aggregate": "count", "where_value": "Pears"}, 1),
    (
        {
            "aggregate": "count",
            "where_column": "region",
            "where_value": "south",
            "and_column": "ok",
            "and_value": "true",
        },
        1,
    ),
    (
        {"aggregate": "sum", "column": "amount", "where_column": "amount", "where_op": ">", "where_value": "99"},
        None,
    ),
]


@pytest.mark.parametrize(("arguments", "value"), QUERIES)
def test_one_value(root: Path, arguments: dict[str, Any], value: Any) -> None:
    result = run(query_table, root, table="sales", **arguments)
    assert result.value["value"] == value
    assert result.evidence[0][0] == "table:sales.csv"
    assert result.value["sql"] in result.evidence[0][1]


def test_rows_and_groups(root: Path) -> None:
    result = run(query_table, root, table="sales", aggregate="max", column="amount")
    assert result.value["rows"] == [["South", "Apples", 30.3, 3, "2024-02-15", "10000", True]]  # which one it is
    grouped = run(
        query_table,
        root,
        table="sales",
        aggregate="sum",
        column="amount",
        group_by="regions",
        order="desc",
        limit=2,
    )
    assert grouped.value["rows"] == [["South", 30.5], ["North", 10.1]]
    months = run(query_table, root, table="sales", aggregate="none", group_by="month(day)")
    assert months.value["rows"] == [["2023-12", 1], ["2024-01", 1], ["2024-02", 2]]
    years = run(query_table, root, table="sales", aggregate="sum", column="qty", group_by="year of day")
    assert years.value["rows"] == [["2023", 4], ["2024", 6]]
    rows = run(
        query_table, root, table="sales", column="product, Amount", order_by="amount", order="descending", limit=2
    )
    assert rows.value["rows"] == [["Apples", 30.3], ["Apples", 10.1]]
    assert "(2 of 4 rows)" in rows.text
    assert len(run(query_table, root, table="", limit=10_000).value["rows"]) == 4  # the only table


def test_products_differences_and_days(tmp_path: Path) -> None:
    (tmp_path / "loans.csv").write_text(
        "loan,taken,back,check-in,fee,paid\nL1,2024-02-27,2024-03-02,3,5.5,2\nL2,2024-03-01,2024-03-11,4,7,7\nL3,2024-03-05,,1,7,0\n"
    )
    days = run(query_table, tmp_path, table="loans", column="back - taken")
    assert days.value["rows"] == [[4], [10], [None]]
    assert run(query_table, tmp_path, table="loans", aggregate="avg", column="back - Taken").value["value"] == 7
    one = run(query_table, tmp_path, table="loans", column="back - taken", where_column="loan", where_value="L2")
    assert one.answer == "10"
    assert run(query_table, tmp_path, table="loans", aggregate="sum", column="fee - paid").value["value"] == 10.5
    assert run(query_table, tmp_path, table="loans", aggregate="sum", column="fee * paid").value["value"] == 60
    assert (
        run(query_table, tmp_path, table="loans", aggregate="sum", column="check-in").value["value"] == 8
    )  # a name, no difference


def test_minutes_from_one_time_to_another(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text(
        "trip,due,off,back\nT1,08:30,08:35,10:15\nT2,22:30,22:25,06:30\nT3,09:00,09:00,21:30\n"
    )
    gone = run(query_table, tmp_path, table="trips", column="back - off")
    assert gone.value["rows"] == [[100], [485], [750]]  # the second past midnight
    late = run(query_table, tmp_path, table="trips", column="off - due")
    assert late.value["rows"] == [[5], [-5], [0]]  # and early is early


def test_a_column_that_is_called_like_a_difference(tmp_path: Path) -> None:
    (tmp_path / "plots.csv").write_text("plot,Price - net,net\nA,7,5\nB,9,6\n")
    for column in ("Price - net", "price - net"):
        assert run(query_table, tmp_path, table="plots", aggregate="sum", column=column).value["value"] == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"table": "nope"}, "no table 'nope'; there are: sales"),
        ({"column": "price"}, "no column 'price'; there are: region, product"),
        (
            {"where_column": "region", "where_value": "West"},
            "no row has region = 'West'; values are: 'South', 'East', 'North'",
        ),
        ({"where_column": "region"}, "where_value is missing"),
        ({"where_value": "Mars"}, "where_column is missing for 'Mars'"),
        ({"where_column": "qty", "where_value": "many"}, "'qty' has numbers: 'many' is none"),
        ({"where_column": "ok", "where_value": "perhaps"}, "neither"),
        ({"where_column": "day", "where_value": "someday"}, "not a date"),
        ({"aggregate": "sum"}, "needs a column; numbers are in: amount, qty"),
        ({"aggregate": "avg", "column": "region"}, "'region' is text; numbers are in: amount, qty"),
        ({"aggregate": "variance"}, "aggregate"),
        ({"group_by": "month(region)"}, "no date column 'region'; there are: day"),
        ({"column": "qty - day"}, "'qty' and 'day' are not both numbers, dates or times"),
        ({"column": "qty - region"}, "no number, date or time column 'region'"),
        ({"column": "qty * day"}, "no number column 'day'"),
    ],
)
def test_errors_say_how_to_mend_the_call(root: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        run(query_table, root, **{"table": "sales", **arguments})


@pytest.mark.parametrize(
    "value", ["'; DROP TABLE sales; --", "' OR 1=1 --", "x') UNION SELECT * FROM sales --", '"', "\\'", "a\0b"]
)
def test_values_and_names_are_never_sql(root: Path, value: str) -> None:
    (root / "odd.csv").write_text('"a""b; DROP TABLE odd","c\'d"\nx,y\n')
    for arguments in ({"where_column": "region", "where_value": value}, {"column": value}, {"group_by": value}):
        with pytest.raises(ToolError):
            run(query_table, root, table="sales", **arguments)
    assert run(query_table, root, table="odd", column="c'd").value["rows"] == [["y"]]
    assert run(query_table, root, table="odd", aggregate="count", group_by='a"b; DROP TABLE odd').value["rows"] == [
        ["x", 1]
    ]


regions = st.sampled_from(["North", "South", "East"])
records = st.lists(
    st.tuples(regions, st.integers(-1000, 1000), st.dates(date(2020, 1, 1), date(2026, 1, 1))),
    min_size=1,
    max_size=30,
)
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}
AGGREGATE: dict[str, Callable[[list[int]], Any]] = {
    "count": len,
    "sum": lambda xs: sum(xs) if xs else None,
    "avg": lambda xs: sum(xs) / len(xs) if xs else None,
    "min": lambda xs: min(xs, default=None),
    "max": lambda xs: max(xs, default=None),
    "median": lambda xs: statistics.median(xs) if xs else None,
}


@given(
    records,
    st.sampled_from(list(AGGREGATE)),
    st.sampled_from(list(COMPARE)),
    st.sampled_from(["amount", "day"]),
    st.data(),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_agrees_with_plain_python(
    tmp_path: Path,
    rows: list[tuple[str, int, date]],
    aggregate: str,
    operator: str,
    where: str,
    data: st.DataObject,
) -> None:
    folder = tmp_path / str(time.time_ns())
    folder.mkdir()
    with (folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("region", "amount", "day"), *rows])
    place = 1 if where == "amount" else 2
    value = data.draw(st.sampled_from([row[place] for row in rows]))
    kept = [row for row in rows if COMPARE[operator](row[place], value)]
    arguments = {
        "aggregate": aggregate,
        "column": "amount",
        "where_column": where,
        "where_op": operator,
        "where_value": str(value),
    }
    assert run(query_table, folder, table="t", **arguments).value["value"] == pytest.approx(
        AGGREGATE[aggregate]([r[1] for r in kept])
    )
    grouped = run(query_table, folder, table="t", group_by="region", **arguments).value["rows"]
    names = sorted({row[0] for row in kept})
    assert [row[0] for row in grouped] == names
    for name, found in grouped:
        assert found == pytest.approx(AGGREGATE[aggregate]([row[1] for row in kept if row[0] == name]))


def test_arguments_schema_is_narrow_and_fits_the_tool(root: Path) -> None:
    (info,) = catalog(root)
    schema = arguments_schema(info)
    assert schema["properties"]["column"]["enum"] == ["", *[c.name for c in info.columns]]
    assert "month(day)" in schema["properties"]["group_by"]["enum"]
    validator = Draft202012Validator(schema)

    def given_value(value: str) -> dict[str, Any]:
        return {
            "table": "sales",
            "aggregate": "count",
            "column": "",
            "group_by": "",
            "where_column": "region",
            "where_op": "=",
            "where_value": value,
            "order": "none",
            "limit": 5,
        }

    for value, fits in [("South", True), ("12.5", True), ("2024-01", True), ("", True), ("West", False)]:
        assert validator.is_valid(given_value(value)) == fits, value  # pyright: ignore[reportUnknownMemberType]
    assert set(schema["properties"]) <= set(query_table.input_schema["properties"])
    assert run(query_table, root, **given_value("South")).value["value"] == 2


def test_sql(root: Path) -> None:
    (root / "prices.csv").write_text("product,price\nApples,2\nPears,3\n")
    result = run(
        sql,
        root,
        query="SELECT product, sum(qty * price) s FROM Sales JOIN prices USING (product) GROUP BY 1 ORDER BY 1;",
    )
    assert result.value == {"columns": ["product", "s"], "rows": [["Apples", 8], ["Pears", 6]], "more": False}
    assert result.evidence[0][0] == "table:prices.csv,sales.csv"
    assert run(sql, root, query="-- all\nWITH x AS (SELECT 0.1 + 0.2 AS y) SELECT * FROM x -- end").value[
        "rows"
    ] == [[0.3]]
    capped = run(sql, root, query="SELECT range AS i FROM range(1000) ORDER BY i DESC")
    assert capped.value["rows"][0] == [999]
    assert len(capped.value["rows"]) == 50
    assert capped.value["more"]
    with pytest.raises(ToolError, match="tables: prices, sales"):
        run(sql, root, query="SELECT * FROM nope")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('{outside}')",
        "SELECT * FROM '{outside}'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM sales, read_csv('{outside}')",
        "SELECT getenv('PATH')",
        "SELECT * FROM sqlite_scan('{outside}', 'x')",
        "COPY sales TO '{outside}.copy'",
        "COPY (SELECT 1) TO '{outside}.copy'",
        "ATTACH '{outside}.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "PRAGMA database_list",
        "SET enable_external_access = true",
        "EXPORT DATABASE '{outside}.dir'",
        "CREATE TABLE x AS SELECT 1",
        "INSERT INTO sales SELECT * FROM sales",
        "WITH x AS (DELETE FROM sales RETURNING *) SELECT * FROM x",
        "SELECT 1; COPY sales TO '{outside}.copy'",
        "SELECT 1) TO '{outside}.copy'; SELECT (1",
        "SELECT * FROM read_json('http://127.0.0.1:9/x')",
        "SELECT length(repeat('x', 4000000000))",
        "SELECT string_agg(repeat('x', 1000000), '') FROM range(100000)",
        "",
    ],
)
def test_sql_gets_nowhere_else(root: Path, query: str) -> None:
    outside = root.parent / "secret.csv"
    before = sorted(root.parent.rglob("*"))
    with pytest.raises(ToolError) as caught:
        run(sql, root, query=query.format(outside=outside))
    assert "treasure" not in str(caught.value)
    assert sorted(root.parent.rglob("*")) == before
    assert run(query_table, root, table="sales", aggregate="count").value["value"] == 4


def test_sql_that_takes_too_long_is_ended(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pointwork.tools import tables
    from pointwork.tools.duck import run_foreign

    def quick(root: Path, sources: Any, text: str, limit: int) -> Any:
        return run_foreign(root, sources, text, limit, seconds=0.5)

    monkeypatch.setattr(tables, "run_foreign", quick)
    start = time.perf_counter()
    with pytest.raises(ToolError, match="longer than 0.5 s"):
        run(
            sql,
            root,
            query="SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range % 7 = b.range % 3",
        )
    assert time.perf_counter() - start < 60


def test_links_and_globs_in_names_lead_nowhere(root: Path) -> None:
    (root / "linked.csv").symlink_to(root.parent / "secret.csv")
    (root / "dir").symlink_to(root.parent)
    (root / "*.csv").write_text("a\nstar\n")
    names = {info.name: info.source.path for info in catalog(root)}
    assert names == {"sales": "sales.csv", "table": "*.csv"}
    assert run(query_table, root, table="table").value["rows"] == [["star"]]


def test_sqlite_is_not_touched(root: Path) -> None:
    path = root / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        connection.execute("CREATE TABLE orders(id INTEGER, customer TEXT, zip TEXT, total REAL)")
        connection.executemany(
            "INSERT INTO orders VALUES(?,?,?,?)", [(1, 'O\'N "x"\nline', "007", 1.5), (2, None, "1", None)]
        )
        connection.execute("CREATE VIEW v AS SELECT 1")
        connection.commit()
        before = {p.name: p.read_bytes() for p in root.iterdir()}
        rows = run(query_table, root, table="order").value["rows"]
        assert {p.name: p.read_bytes() for p in root.iterdir()} == before
    assert rows == [[1, 'O\'N "x"\nline', "007", 1.5], [2, None, "1", None]]


def test_a_large_sqlite_table_is_quick(root: Path) -> None:
    with closing(sqlite3.connect(root / "big.db")) as connection:
        connection.execute("CREATE TABLE big(id INTEGER, name TEXT)")
        connection.executemany("INSERT INTO big VALUES(?,?)", ((i, f"n{i}") for i in range(100_000)))
        connection.commit()
    start = time.perf_counter()
    assert run(query_table, root, table="big", aggregate="sum", column="id").value["value"] == 99_999 * 50_000
    assert time.perf_counter() - start < 60


def test_no_tables(tmp_path: Path) -> None:
    assert run(list_tables, tmp_path).text == "there are no tables"
    with pytest.raises(ToolError, match="there are no tables"):
        run(query_table, tmp_path, table="x")


def test_pointworks_own_store_is_no_data(tmp_path: Path) -> None:
    from pointwork.store import Store

    Store(f"sqlite:///{tmp_path / 'own.db'}").close()
    assert catalog(tmp_path) == []


@pytest.mark.parametrize("name", ["tables", "databases", "select", "all", "order"])
def test_tables_named_like_words_of_sql(tmp_path: Path, name: str) -> None:
    """``DESCRIBE tables`` lists tables, even in quotes."""
    (tmp_path / f"{name}.csv").write_text("product,units\ncheese,40\nwool,12\n")
    [info] = catalog(tmp_path)
    assert [(column.name, column.kind) for column in info.columns] == [("product", "text"), ("units", "number")]
    result = asyncio.run(
        query_table.call({"table": name, "aggregate": "sum", "column": "units"}, ToolContext(root=tmp_path))
    )
    assert result.answer == "52"


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        ("HUGEINT", "number"),
        ("DECIMAL(18,3)", "number"),
        ("DATE", "date"),
        ("TIMESTAMP WITH TIME ZONE", "date"),
        ("VARCHAR", "text"),
        ("BOOLEAN", "bool"),
        ("INTEGER[]", "other"),
    ],
)
def test_kinds_of_columns(type_: str, kind: str) -> None:
    assert Column("x", type_).kind == kind


def test_small_tables_of_a_folder_lie_in_one_database(root: Path) -> None:
    (root / "staff.csv").write_text("name,hours\nAnn,5\nBen,7\n")
    (root / "broken.csv").write_text("a,b\n1,2\n3\n")
    known = {info.name: info for info in catalog(root)}
    assert "broken at line 3" in known["broken"].problem
    with pytest.raises(ToolError, match="broken at line 3"):
        open_database(root.resolve(), (known["broken"].source,))
    sales, staff = (open_database(root.resolve(), (known[name].source,)) for name in ("sales", "staff"))
    assert sales is staff
    assert sales.query("SELECT sum(hours) FROM staff", 1).rows == [[12]]
    # a file that is changed is another table; the others stay where they are
    (root / "staff.csv").write_text("name,hours\nAnn,50\nBen,7\n")
    again = {info.name: info for info in catalog(root)}
    assert open_database(root.resolve(), (again["sales"].source,)) is sales
    changed = open_database(root.resolve(), (again["staff"].source,))
    assert changed.query("SELECT sum(hours) FROM staff", 1).rows == [[57]]


def test_large_tables_lie_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duck, "_SMALL", 200)
    for name in "abc":
        (root / f"{name}.csv").write_text(f"{name},n\nx,1\n")
    known = {info.name: info.source for info in catalog(root)}
    opened = {name: open_database(root.resolve(), (source,)) for name, source in known.items()}
    assert opened["a"] is opened["b"] is opened["c"] is not opened["sales"]
    assert opened["sales"].query("SELECT count(*) FROM sales", 1).rows == [[4]]
