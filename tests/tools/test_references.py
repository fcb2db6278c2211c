"""Columns that hold the keys of another table."""

import asyncio
from pathlib import Path

import pytest

from pointwork.tools import ToolContext, ToolResult, builtin_tools
from pointwork.tools.catalog import catalog

STAFF = """staff_id,name,role,born
S1,Ada Moor,Guide,1980-02-03
S2,Ben Rook,Guide,1975-05-06
S3,Cy Park,Cook,1990-01-01
"""
TOURS = "tour,date,guide,seats\nT1,2024-05-01,S1,12\nT2,2024-05-08,S2,9\nT3,2024-05-15,S1,20\nT4,2024-05-22,,5\n"


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


def test_written_queries_see_the_same_columns(root: Path) -> None:
    assert call(root, "sql", query="SELECT guide_name FROM tours WHERE tour = 'T3'").answer == "Ada Moor"
    both = "SELECT born FROM tours JOIN staff ON guide = staff_id WHERE tour = 'T2'"
    assert call(root, "sql", query=both).answer == "1975-05-06"


def test_numbers_are_keys_only_by_name(tmp_path: Path) -> None:
    (tmp_path / "customers.csv").write_text("id,name\n1,Ada Moor\n2,Ben Rook\n3,Cy Park\n")
    (tmp_path / "orders.csv").write_text("no,customer_id,pieces\n7,1,2\n8,3,1\n9,1,3\n")
    assert columns(tmp_path, "orders") == ["no", "customer_id", "pieces", "customer_name"]


@pytest.mark.parametrize(
    "tours",
    [
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
