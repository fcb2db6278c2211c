"""Questions in a table's own words, as queries."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from pointwork.agents.readings.stated import stated
from pointwork.agents.tabling import read_tables
from pointwork.tools import ToolContext
from pointwork.tools.catalog import catalog, texts_of
from pointwork.tools.duck import open_database
from pointwork.tools.tables import NOTHING, cell_text

TRIPS = """trip,boat,guests,hours out,fee (£),left,on
T1,Heron,12,1.5,40,09:30,2026-05-01
T2,Heron,9,2,55,14:00,2026-05-02
T3,Otter,7,1,40,08:15,2026-06-02
T4,Marsh Hen,,3.5,70,10:00,2026-06-09
"""
BOATS = """name,kind,length m,keeper,insured
Heron,canoe,5.2,Ada Birk,yes
Otter,raft,4.1,Jonah Pike,no
Marsh Hen,canoe,4.8,Ada Birk,yes
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "trips.csv").write_text(TRIPS)
    (tmp_path / "boats.csv").write_text(BOATS)
    return tmp_path


def answer(question: str, root: Path) -> str | None:
    known = catalog(root)
    reading = stated(question, known, partial(texts_of, root.resolve()))
    if reading is None:
        return None
    assert (reading.tool, reading.score) == ("sql", 1.0)
    database = open_database(root.resolve(), tuple(table.source for table in known))
    rows = database.query(str(reading.arguments["query"]), 20).rows
    return ", ".join(sorted(cell_text(row[0]) for row in rows))


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("total guests of the trips whose boat is Heron", "21"),
        ("What is the average hours out of the trips whose boat is heron?", "1.75"),
        ("total guests of the trips", "28"),
        ("total guests of the trips whose fee is 40", "19"),
        ("total guests of the trips whose boat is Heron and fee is more than 50", "9"),
        ("number of trips whose boat is Heron", "2"),
        ("number of trips whose boat is not Heron", "2"),
        ("number of trips whose on is before 2026-06-01", "2"),
        ("number of boats whose insured is yes", "2"),
        ("highest fee of the trips whose boat is Heron", "55"),
        ("earliest left of the trips", "08:15:00"),
        ("boat of the trip with the highest fee (£)", "Marsh Hen"),
        ("trip with the lowest guests", "T3"),
        ("trip with the lowest fee", "T1, T3"),
        ("name of the boat with the most length m", "Heron"),
        ("boat with the lowest length m", "Otter"),
        ("trip with the highest fee of the trips whose boat is Heron", "T2"),
        ("name of the boat whose kind is raft", "Otter"),
        ("keeper whose kind is canoe", "Ada Birk"),
        ("name whose keeper starts with Jonah", "Otter"),
        ("on date of the trip with the highest fee", "2026-06-09"),
        ("number of trips whose boat is Heron and fee is 40 and guests is 12", "1"),
        ("left of the trip whose on is 2026-06-09", "10:00:00"),
    ],
)
def test_what_is_spelled_out_is_a_query(root: Path, question: str, said: str) -> None:
    assert answer(question, root) == said


@pytest.mark.parametrize(
    "question",
    [
        "total guests of the trips whose boat is Herons",  # which is one way to write it
        "guests whose boat is Swan",  # of which table?
        "number of boats whose kind contains x",
        "total guests",  # of what?
        "total guests of the weddings",
        "total guests of the trips whose colour is red",
        "total boat of the trips whose fee is 40",  # no number
        "number of guests whose boat is Heron",  # each trip has several
        "number of weddings whose boat is Heron",
        "name of the raft with the highest length m",  # some of the boats
        "number of Heron trips whose fee is 40",  # some of the trips
        "number of trips whose boat is Heron and fee is 40 and guests is 12 and trip is T1",  # too many
        "highest length m of the canoe boats whose keeper is Ada Birk",
        "total guests of the trips whose fee is 40" + " and fee is 40" * 60 + " and colour is red",
        "boat with the highest keeper",
        "trip with the highest price",
        "boat with the most trips",  # it is in most rows, and has not the highest number
        "number of trips whose fee contains 4",
        "number of trips whose boat is more than Heron",
        "number of trips whose on is before June",
        "Who keeps the Heron?",
        "",
    ],
)
def test_what_is_not_is_left_to_the_other_readings(root: Path, question: str) -> None:
    assert answer(question, root) is None


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("total guests of the trips whose boat is Swan", NOTHING),
        ("number of trips whose boat is Swan", "0"),
        ("fee of the trip whose boat is Swan", ""),
    ],
)
def test_of_what_is_not_there_nothing_is_said(root: Path, question: str, said: str) -> None:
    assert answer(question, root) == said
    (root / "hires.csv").write_text("hire,boat,guests\nH1,Swan,2\n")  # a boat of another table
    assert answer(question, root) == said


def test_what_two_tables_say_is_not_read(root: Path) -> None:
    (root / "hires.csv").write_text("hire,boat,guests\nH1,Heron,2\n")
    assert answer("guests whose boat is Heron", root) is None
    assert answer("total guests of the hires whose boat is Heron", root) == "2"


def test_the_most_orders_are_not_the_highest_number_of_one(root: Path) -> None:
    (root / "orders.csv").write_text("order_id,customer,kg\n1,Ada,5\n2,Ada,6\n3,Jonah,2\n")
    assert answer("Who is the customer with the most orders?", root) is None
    assert answer("customer with the most kg", root) == "Ada"


def test_a_quote_in_a_value_stays_one(root: Path) -> None:
    (root / "boats.csv").write_text(BOATS + "Cap'n,raft,3,O'Neill,no\n")
    assert answer("name of the boat whose keeper is O'Neill", root) == "Cap'n"


def test_a_name_is_what_stands_outside_brackets(root: Path) -> None:
    (root / "bills.csv").write_text("bill,fee (£),fee paid,payer\n71,40,0,Ada\n72,55,55,Ada\n73,60,0,Jonah\n")
    assert answer("total fee of the bills whose payer is Ada", root) == "95"
    assert answer("number of bills whose payer is Ada", root) == "2"  # which are numbered by a column "bill"


def test_it_is_read_before_what_the_words_may_mean(root: Path) -> None:
    read = asyncio.run(read_tables("total guests of the trips whose boat is Heron", ToolContext(root=root)))
    assert [(one.tool, one.score) for one in read] == [("sql", 1.0)]
