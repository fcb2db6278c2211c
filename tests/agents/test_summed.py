"""What a table says as a whole and of what is named: sums that are true, each once, named as a person would."""

import asyncio
from pathlib import Path
from unittest.mock import Mock

import pytest

from pointwork.agents import calculated as plans
from pointwork.agents.facts.gathered import Fact
from pointwork.agents.facts.rows import rows_of
from pointwork.agents.facts.summed import COLUMNS, GROUPS, called, summed
from pointwork.agents.parsing.amounts import NUMBER, amounts_of
from pointwork.agents.parsing.calculating import Calculation, Reading, Step
from pointwork.agents.tabling import ranked
from pointwork.tools.catalog import catalog

TRIPS = """trip,day,boat,hours,takings
T1,2024-05-01,B1,2,202.4
T2,2024-05-02,B2,1.5,73.6
T3,2024-06-02,B1,3,90.5
T4,2024-06-03,B1,,223.56
T5,2024-06-04,B2,2,
"""
BOATS = "boat,name,berth\nB1,Heron,4\nB2,Marten,7\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "trips.csv").write_text(TRIPS)
    (tmp_path / "boats.csv").write_text(BOATS)
    return tmp_path


def lines(task: str, root: Path) -> list[str]:
    tables = catalog(root)
    return [one.text for one in summed(task, rows_of(root, tables), [table for _, table in ranked(task, tables)])]


def test_the_table_as_a_whole_comes_first_and_empty_cells_count_nothing(root: Path) -> None:
    first = lines("What did all trips bring in takings?", root)[0]
    assert first == (
        "trips in all: 5 rows; takings total 590.06, average 147.51, highest 223.56, lowest 73.6; "
        "hours total 8.5, average 2.12, highest 3, lowest 1.5; day first 2024-05-01, last 2024-06-04"
    )


def test_tables_and_columns_that_queries_mean_come_first(root: Path) -> None:
    (root / "weather.csv").write_text(
        "date,max,min,wind\n2024-06-01,18,9,30\n2024-06-02,21,11,42\n2024-07-02,25,15,3\n"
    )
    tables = {table.name: table for table in catalog(root)}
    likely = [tables["trips"], tables["boats"], tables["weather"]]
    every, task = rows_of(root, likely), "How stormy did it get in June?"
    plain = [one.text for one in summed(task, every, likely)]
    meant = [one.text for one in summed(task, every, likely, {(tables["weather"], "wind"): 0.9})]
    assert plain[0].startswith("trips in all: 5 rows; hours total")
    assert meant[0].startswith("weather in all: 3 rows; wind total 75, average 25, highest 42, lowest 3; max total")
    assert meant[1].startswith("weather where date is in 2024-06: 2 rows; wind total")


def test_rows_that_refer_to_what_is_named_are_summed(root: Path) -> None:
    found = lines("How many hours was the Heron out on her trips?", root)
    (heron,) = [line for line in found if "B1" in line]
    assert heron.startswith("trips where boat is B1 (Heron): 3 rows; hours total 5, average 2.5")
    assert not any("B2" in line for line in found)


def test_a_month_that_is_named_is_summed(root: Path) -> None:
    assert any(line.startswith("trips where day is in 2024-06: 3 rows") for line in lines("Trips in June?", root))
    assert not any(" is in " in line for line in lines("Trips in July?", root))
    assert not any(" is in " in line for line in lines("Trips of 2 June 2024?", root))


def test_the_same_rows_are_told_once_and_only_so_many(tmp_path: Path) -> None:
    cells = "\n".join(f"{i},red round plate,Delft red round plate,{i},{i},{i}" for i in range(4))
    (tmp_path / "plates.csv").write_text(f"number,sort,name,width,height,depth\n{cells}\n9,blue bowl,x,7,7,7\n")
    found = lines("How wide are the red round plates?", tmp_path)
    assert len(found) == 2  # the whole, and once those rows
    assert found[0].count(" total ") == COLUMNS
    assert len(lines("red round plate, Delft, blue bowl, June", tmp_path)) <= 1 + GROUPS


def test_a_table_of_one_row_and_no_table_sum_nothing(tmp_path: Path) -> None:
    assert lines("total", tmp_path) == []
    (tmp_path / "one.csv").write_text("name,width\nAda,3\n")
    assert lines("total width of Ada", tmp_path) == []


@pytest.mark.parametrize(
    ("amount", "name"),
    [
        ("12", "number of rows of trips where boat is Heron"),
        ("26.35", "total hours out of trips where boat is Heron"),
        ("2.2", "average hours out of trips where boat is Heron"),
        ("2024-05-02", "first day of trips where boat is Heron"),
        ("2024-05-30", "last day of trips where boat is Heron"),
    ],
)
def test_amounts_have_names(amount: str, name: str) -> None:
    line = (
        "trips where boat is Heron: 12 rows; hours out total 26.35, average 2.2, highest 4, lowest 1; "
        "day first 2024-05-02, last 2024-05-30"
    )
    assert called(line, line.index(amount)) == name


def test_a_step_says_which_sum_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "trips where day is in 2024-05: 12 rows; hours out total 26.35, average 2.2, highest 4, lowest 1"
    amount = next(one for one in amounts_of(["Twice that?", line]) if one.written == "26.35")
    read = Reading(1.0, (Calculation(0.9, 52.7, NUMBER, (Step(amount, 2.0, "*"),)),))

    def reads(task: str, lines: list[str], *, yes_no: bool) -> Reading:
        return read

    monkeypatch.setattr(plans, "calculations", reads)
    (one,) = asyncio.run(plans.calculated("Twice that?", [Fact("table:trips.csv", line)]))
    assert one.steps[0].text == "total hours out of trips where day is in 2024-05"


def test_other_lines_and_what_says_which_rows_have_no_name_of_a_sum() -> None:
    assert called("trips: hours total 26.35, average 2", 19) == ""
    line = "trips where day is 12 rows long: 12 rows; hours total 26.35, average 2"
    assert called(line, line.index("12")) == ""


ORDERS = """order,customer,quantity,unit_price,status
1,Ada,2,10.5,shipped
2,Bo,4,3,shipped
3,Ada,1,7,open
4,Ada,3,2,shipped
"""


def test_what_is_paid_by_the_piece_is_multiplied_row_by_row(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text(ORDERS)
    shown = lines("What do Ada's orders come to in money?", tmp_path)
    assert shown[0].startswith("orders in all: 4 rows; unit price times quantity total 46; quantity total 10, ")
    assert "customer is Ada: 3 rows; unit price times quantity total 34; " in shown[1]
    line = shown[0]
    assert called(line, line.index("46")) == "total unit price times quantity of orders in all"
    two = "order,customer,quantity,unit_price,pieces\n1,Ada,2,10.5,1\n2,Bo,4,3,2\n"  # which of the two is not clear
    (tmp_path / "orders.csv").write_text(two)
    assert "times" not in lines("What do Ada's orders come to in money?", tmp_path)[0]


def test_who_has_the_most_rows_is_looked_at_with_what_is_named(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text(ORDERS)
    shown = lines("Who has the most orders, and what do the shipped ones of theirs come to?", tmp_path)
    assert any(
        "customer is Ada" in one and "and status is shipped: 2 rows; unit price times quantity total 27;" in one
        for one in shown
    ), shown


def test_where_a_value_may_itself_be_the_answer_less_is_calculated(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "trips where day is in 2024-05: 12 rows; hours total 26.35, average 2.2, highest 4, lowest 1"
    amount = next(one for one in amounts_of(["Twice that?", line]) if one.written == "26.35")
    twice = Calculation(0.5, 52.7, NUMBER, (Step(amount, 2.0, "*"),))
    copied = Calculation(0.4, 26.35, NUMBER, (Step(amount, amount, "copy"),))
    monkeypatch.setattr(plans, "calculations", Mock(return_value=Reading(0.8, (twice, copied))))
    found = asyncio.run(plans.calculated("Twice that?", [Fact("table:trips.csv", line)]))
    assert [one.sure for one in found] == [pytest.approx(0.8 * 0.5 * 0.6), pytest.approx(0.8 * 0.4)]
