"""Columns that hold the keys of another table."""

import asyncio
import json
from pathlib import Path

import pytest

from pointwork.errors import ToolError
from pointwork.tools import ToolContext, ToolResult, builtin_tools, references
from pointwork.tools.catalog import catalog, widened

STAFF = """staff_id,name,role,born
S1,Ada Moor,Guide,1980-02-03
S2,Ben Rook,Guide,1975-05-06
S3,Cy Park,Cook,1990-01-01
"""
TOURS = "tour,date,guide,seats\nT1,2024-05-01,S1,12\nT2,2024-05-08,S2,9\nT3,2024-05-15,S1,20\nT4,2024-05-22,,5\n"
CUSTOMERS = "id,name\n1,Ada Moor\n2,Ben Rook\n3,Cy Park\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "staff.csv").write_text(STAFF)
    (tmp_path / "tours.csv").write_text(TOURS)
    return tmp_path


def columns(root: Path, table: str) -> list[str]:
    return [column.name for info in catalog(root) if info.name == table for column in info.columns]


def call(root: Path, tool: str, **arguments: object) -> ToolResult:
    return asyncio.run(builtin_tools()[tool].call(arguments, ToolContext(root=root)))


def test_a_name_stands_beside_its_key(root: Path) -> None:
    assert columns(root, "tours") == ["tour", "date", "guide", "seats", "guide_name"]
    assert columns(root, "staff") == ["staff_id", "name", "role", "born"]
    found = call(root, "query_table", table="tours", column="guide_name", where_column="tour", where_value="T2")
    assert found.answer == "Ben Rook"
    by_name = {"where_column": "guide_name", "where_value": "Ada Moor"}
    assert call(root, "query_table", table="tours", aggregate="sum", column="seats", **by_name).answer == "32"


def test_rows_stay_all_there_are_and_in_their_order(root: Path) -> None:
    rows = call(root, "query_table", table="tours").value["rows"]
    assert [row[0] for row in rows] == ["T1", "T2", "T3", "T4"]
    assert [row[-1] for row in rows] == ["Ada Moor", "Ben Rook", "Ada Moor", None]


def test_few_rows_that_refer_to_many_stay_in_their_order(tmp_path: Path) -> None:
    many = range(3000)  # so many that they would be gone through first
    (tmp_path / "staff.csv").write_text("staff_id,name\n" + "".join(f"S{n},Name {n}\n" for n in many))
    tours = [f"T{n}" for n in range(50)]
    (tmp_path / "tours.csv").write_text(
        "tour,guide\n" + "".join(f"{t},S{n * 7919 % 3000}\n" for n, t in enumerate(tours))
    )
    assert "guide_name" in columns(tmp_path, "tours")
    rows = call(tmp_path, "query_table", table="tours", limit=60).value["rows"]
    assert [row[0] for row in rows] == tours


def test_written_queries_see_the_same_columns(root: Path) -> None:
    assert call(root, "sql", query="SELECT guide_name FROM tours WHERE tour = 'T3'").answer == "Ada Moor"
    both = "SELECT born FROM tours JOIN staff ON guide = staff_id WHERE tour = 'T2'"
    assert call(root, "sql", query=both).answer == "1975-05-06"


def test_numbers_are_keys_only_by_name(tmp_path: Path) -> None:
    (tmp_path / "customers.csv").write_text(CUSTOMERS)
    (tmp_path / "orders.csv").write_text("no,customer_id,pieces\n7,1,2\n8,3,1\n9,1,3\n")
    assert columns(tmp_path, "orders") == ["no", "customer_id", "pieces", "customer_name"]


@pytest.mark.parametrize(
    "orders",
    [
        "order,customer,pieces\nA,1,2\nB,3,1\n",  # no word says that it is a key
        "id,pieces\n1,2\n2,1\n",  # none says whose
        "order,supplier_id\nA,1\nB,3\n",  # another's
    ],
)
def test_numbers_that_are_no_keys(tmp_path: Path, orders: str) -> None:
    (tmp_path / "customers.csv").write_text(CUSTOMERS)
    (tmp_path / "orders.csv").write_text(orders)
    assert columns(tmp_path, "orders") == orders.splitlines()[0].split(",")


def test_a_number_called_as_the_key_itself(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(CUSTOMERS.replace("id", "customer_no"))
    (tmp_path / "orders.csv").write_text("order,customer_no\nA,1\nB,3\n")
    assert columns(tmp_path, "orders") == ["order", "customer_no", "customer_name"]


def test_a_key_called_key_alone_shows_the_table_s_name(tmp_path: Path) -> None:
    (tmp_path / "staff.csv").write_text(STAFF)
    (tmp_path / "tours.csv").write_text("tour,code\nT1,S1\nT2,S3\n")
    assert columns(tmp_path, "tours") == ["tour", "code", "staff_name"]


@pytest.mark.parametrize(
    ("staff", "shown"),
    [
        ("staff_id,mail,name\nS1,a@m.org,Ada\nS2,b@m.org,Ben\n", "guide_name"),  # called so, before others
        ("staff_id,badge,person\nS1,B7,Ada\nS2,B9,Ben\n", "guide_person"),  # no name is a code
        ("staff_id,house_name,who\nS1,Palm,Ada\nS2,Palm,Ben\nS3,Palm,Cy\n", "guide_who"),  # all of one house
    ],
)
def test_which_column_names_a_row(tmp_path: Path, staff: str, shown: str) -> None:
    (tmp_path / "staff.csv").write_text(staff)
    (tmp_path / "tours.csv").write_text("tour,guide\nT1,S1\nT2,S2\n")
    assert columns(tmp_path, "tours") == ["tour", "guide", shown]


@pytest.mark.parametrize(
    "staff",
    [
        "place,who\nFlat 1,Ada\nFlat 2,Ben\n",
        "place,who\nPalm,Ada\nFern,Ben\n",
        "place_id,who\nP1,Ada\n",  # one row
        "place_id,who\nP1,Ada\nP2,Ben\nP1,Cy\n",  # twice: which of them?
    ],
)
def test_what_is_no_key(tmp_path: Path, staff: str) -> None:
    (tmp_path / "staff.csv").write_text(staff)
    place = staff.splitlines()[1].split(",")[0]
    (tmp_path / "tours.csv").write_text(f"tour,place\nT1,{place}\nT2,{place}\n")
    assert columns(tmp_path, "tours") == ["tour", "place"]


def test_a_blank_is_no_key(tmp_path: Path) -> None:
    staff = [("S1", "Ada Moor"), ("S2", "Ben Rook"), ("", "Cy Park")]
    (tmp_path / "staff.json").write_text(json.dumps([{"staff_id": key, "name": name} for key, name in staff]))
    (tmp_path / "tours.json").write_text('[{"tour": "T1", "guide": "S1"}, {"tour": "T2", "guide": ""}]')
    assert columns(tmp_path, "tours") == ["tour", "guide"]


def test_a_table_that_refers_to_itself(tmp_path: Path) -> None:
    (tmp_path / "staff.csv").write_text("staff_id,name,mentor_id\nS1,Ada Moor,\nS2,Ben Rook,S1\nS3,Cy Park,S1\n")
    assert columns(tmp_path, "staff") == ["staff_id", "name", "mentor_id", "mentor_name"]
    asked = {
        "table": "staff",
        "column": "name",
        "where_column": "mentor_name",
        "where_op": "=",
        "where_value": "Ada Moor",
    }
    assert call(tmp_path, "query_table", **asked).value["rows"] == [["Ben Rook"], ["Cy Park"]]


def test_years_as_texts_are_no_codes(tmp_path: Path) -> None:
    (tmp_path / "years.json").write_text('[{"year": "1911", "what": "flood"}, {"year": "1932", "what": "fire"}]')
    (tmp_path / "mills.json").write_text('[{"mill": "Upper", "built": "1911"}, {"mill": "Low", "built": "1911"}]')
    assert columns(tmp_path, "mills") == ["mill", "built"]


def test_so_many_names_are_shown_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "staff.csv").write_text(STAFF)
    keys = ["guide", "cook", "driver", "host"]
    (tmp_path / "tours.csv").write_text(f"tour,{','.join(keys)}\nT1,S1,S2,S3,S1\nT2,S2,S2,S1,S3\n")
    assert columns(tmp_path, "tours") == ["tour", *keys, "guide_name", "cook_name", "driver_name"]
    (tmp_path / "tours.csv").write_text("tour,guide_id,guide_no\nT1,S1,S2\nT2,S2,S2\n")
    assert columns(tmp_path, "tours") == ["tour", "guide_id", "guide_no", "guide_name"]


def test_a_table_that_is_too_large_is_not_compared(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> frozenset[str]:
        raise AssertionError("its keys were read")

    monkeypatch.setattr(references, "ROWS", 2)
    monkeypatch.setattr(references, "cells_of", read)
    assert columns(root, "tours") == ["tour", "date", "guide", "seats"]


def test_tables_are_there_without_names_where_comparing_fails(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> None:
        raise ToolError("the query took longer than 10 s: ask for less")

    monkeypatch.setattr("pointwork.tools.catalog.referring", slow)
    assert columns(root, "tours") == ["tour", "date", "guide", "seats"]


def test_texts_of_digits_are_no_number_s_keys(tmp_path: Path) -> None:
    (tmp_path / "customers.csv").write_text(CUSTOMERS)
    (tmp_path / "tours.json").write_text('[{"tour": "T1", "grade": "1"}, {"tour": "T2", "grade": "3"}]')
    assert columns(tmp_path, "tours") == ["tour", "grade"]


@pytest.mark.parametrize(
    "tours",
    [
        "tour,guide\nT1,\nT2,\n",  # nobody
        "tour,guide\nT1,S1\nT2,S9\n",  # nobody has that number
        "tour,guide,guide_name\nT1,S1,Ada\n",  # it is there already
        "tour,guide\nT1,Ada Moor\nT2,Ben Rook\n",  # names, no keys
    ],
)
def test_what_is_no_reference(tmp_path: Path, tours: str) -> None:
    (tmp_path / "staff.csv").write_text(STAFF)
    (tmp_path / "tours.csv").write_text(tours)
    assert columns(tmp_path, "tours") == tours.splitlines()[0].split(",")


def test_a_change_of_the_other_file_is_seen(root: Path) -> None:
    assert columns(root, "tours")[-1] == "guide_name"
    (root / "staff.csv").write_text(STAFF.replace("Ben Rook", "Bea Rook, née Olin".replace(",", "")))
    found = call(root, "query_table", table="tours", column="guide_name", where_column="tour", where_value="T2")
    assert found.answer == "Bea Rook née Olin"
    (root / "staff.csv").unlink()
    assert columns(root, "tours") == ["tour", "date", "guide", "seats"]


def test_a_query_may_ask_for_what_stands_in_the_rows_of_others(root: Path) -> None:
    assert "guide_born" not in columns(root, "tours")
    wide = next(info for info in widened(root) if info.name == "tours")
    assert [c.name for c in wide.columns][-3:] == ["guide_name", "guide_role", "guide_born"]
    young = {"where_column": "guide_born", "where_op": ">", "where_value": "1979"}
    assert call(root, "query_table", table="tours", aggregate="sum", column="seats", **young).answer == "32"
    with pytest.raises(ToolError, match="there is no column 'guide_shoe'"):
        call(root, "query_table", table="tours", column="guide_shoe")


def test_rows_are_found_by_name_in_a_column_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "huts.csv").write_text("hut,valley,beds\nAlm,Rau,8\nEck,Rau,12\nSee,Lav,20\n")
    (tmp_path / "flights.csv").write_text("no,hut,kg\n1,Alm,100\n2,See,300\n3,Alm,50\n4,Eck,70\n")
    by_valley = {"where_column": "hut_valley", "where_value": "Rau"}
    found = call(tmp_path, "query_table", table="flights", aggregate="sum", column="kg", **by_valley)
    assert found.answer == "220"
    (tmp_path / "flights.csv").write_text("no,hut,kg\n1,Alm,100\n2,Elsewhere,300\n")
    assert "flights" not in [info.name for info in widened(tmp_path)]


def test_what_the_rows_of_others_refer_to_is_there_too(root: Path) -> None:
    (root / "diets.csv").write_text("diet_id,tour_id,dish\nD1,T1,Soup\nD2,T3,Stew\nD3,T2,Soup\n")
    tours = TOURS.replace("tour,", "tour_id,title,").replace(",2024-05", ",Walk,2024-05")
    for number, line in enumerate(tours.splitlines()):
        tours = tours.replace(line, line.replace("Walk", f"Walk {number}"))
    (root / "tours.csv").write_text(tours)
    of_ada = {"where_column": "tour_guide_name", "where_value": "Ada Moor"}
    assert call(root, "query_table", table="diets", aggregate="count", **of_ada).answer == "2"


def test_a_name_that_stands_for_a_key_is_no_key_itself(tmp_path: Path) -> None:
    (tmp_path / "books.csv").write_text("isbn,title,course\n978001,Ciao,IT1\n978002,Hola,ES1\n")
    (tmp_path / "courses.csv").write_text("course,teacher\nIT1,Ada\nES1,Ben\n")
    (tmp_path / "enrolments.csv").write_text("no,who,course\n1,Kim,IT1\n2,Lee,ES1\n3,Moe,IT1\n")
    wide = {info.name: [column.name for column in info.columns] for info in widened(tmp_path)}
    assert wide["enrolments"] == ["no", "who", "course", "course_title", "course_isbn", "course_course_teacher"]
    assert [column.name for column in catalog(tmp_path)[2].own] == ["no", "who", "course"]


def test_a_folder_of_many_tables_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pointwork.tools import catalog as tables
    from pointwork.tools.duck import Database

    for table in range(70):  # more columns than databases are kept, with more texts than a column lists
        rows = "".join(f"thing {row} of {table % 35},{row}\n" for row in range(60))
        (tmp_path / f"t{table}.csv").write_text(f"what,n\n{rows}")
    opened: list[str] = []
    load = Database._load  # pyright: ignore[reportPrivateUsage]

    def counted(self: Database, root: Path, source: tables.Source) -> None:
        opened.append(source.name)
        load(self, root, source)

    monkeypatch.setattr(Database, "_load", counted)

    def everything() -> list[object]:
        known = catalog(tmp_path)
        return [known, widened(tmp_path), [tables.texts_of(tmp_path, i, c) for i in known for c in i.columns]]

    catalog(tmp_path)
    assert sorted(opened) == sorted(f"t{table}" for table in range(70))
    first = everything()
    opened.clear()
    assert everything() == first
    assert opened == []
    (tmp_path / "t3.csv").write_text("what,n\nanother,1\n")  # what changes is read again
    catalog(tmp_path)
    assert opened == ["t3"]
    assert everything() != first
    assert opened


def test_cells_that_are_listed_are_compared_without_reading(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "duty.csv").write_text("name,hours\nBen Rook,5\nCy Park,6\nBen Rook,7\n")
    catalog(root)

    def read(*rest: object) -> None:
        pytest.fail("read")

    monkeypatch.setattr(references, "cells_of", read)
    assert "name_born" in {column.name for info in widened(root) if info.name == "duty" for column in info.columns}
