"""What tables say around a task by queries: lines that are true, told in words, each once."""

import asyncio
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from pointwork.agents.calculated import beside
from pointwork.agents.facts import queried
from pointwork.agents.facts.gathered import Fact
from pointwork.agents.facts.queried import ALIKE, LED, QUERIES, queried_around
from pointwork.agents.facts.rows import Rows
from pointwork.agents.parsing.query import Condition, Extreme, Group, Query
from pointwork.agents.parsing.schema import Schema, schema_of
from pointwork.agents.parsing.telling import told, which
from pointwork.errors import ToolError
from pointwork.tools import ToolContext
from pointwork.tools.catalog import catalog

TRIPS = """trip,day,boat,route,passengers,takings
T1,2024-05-01,Heron,Island,44,202.4
T2,2024-05-02,Marten,Island,16,73.6
T3,2024-05-02,Heron,Lighthouse,18,90.5
T4,2024-05-03,Heron,Island,54,223.56
T5,2024-06-04,Marten,Night,35,416.5
"""
BOATS = "boat,length_m,seats\nHeron,18.5,58\nMarten,11.2,20\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "trips.csv").write_text(TRIPS)
    (tmp_path / "boats.csv").write_text(BOATS)
    (tmp_path / "fuel.md").write_text("# Fuel\n\nThe Heron takes 21 litres an hour, the Marten 14.\n")
    return tmp_path


def facts(task: str, root: Path | None) -> list[Fact]:
    return asyncio.run(queried_around(task, ToolContext(root=root)))


def test_a_total_of_what_a_task_names_is_there_with_its_source(root: Path) -> None:
    found = facts("A quarter of all takings of the Island route goes to the town. How much is that?", root)
    assert Fact("table:trips.csv", "trips: total takings where route is Island: 499.56") in found


def test_what_rows_come_to_is_there_whatever_is_asked(root: Path) -> None:
    found = facts("What were all those trips of ours like?", root)
    (whole,) = [fact for fact in found if fact.text.startswith("trips in all: ")]
    assert whole.source == "table:trips.csv"
    assert "takings total " in whole.text


def test_rows_are_summed_by_what_queries_mean_in_other_words(root: Path) -> None:
    (root / "trips.csv").write_text(
        "trip,day,route,tide,passengers,takings\nT1,2024-05-01,Island,2,44,202.4\nT2,2024-05-02,Island,3,16,73.6\n"
        "T3,2024-05-02,Lighthouse,1,18,90.5\n"
    )
    found = facts("A quarter of what the Island route took in goes to the town. How much is that?", root)
    (island,) = [fact.text for fact in found if fact.text.startswith("trips where route is Island: ")]
    assert "; takings total 276, " in island
    assert "tide" not in island


def test_the_row_with_the_most_is_shown_whole_and_what_it_leads_to(root: Path) -> None:
    found = facts("Which boat made the trip with the most passengers, and how many seats does it have?", root)
    best = next(fact for fact in found if fact.row is not None and "T4" in fact.text)
    assert "passengers 54" in best.text
    assert any(fact.text.startswith("boats") and "seats 58" in fact.text for fact in found)
    assert any("21 litres" in fact.text for fact in found)  # it speaks of the boat, which the task does not


@pytest.mark.parametrize(
    ("task", "line"),
    [
        (
            "Sum up the takings of the Marten's trips. What is 15 per cent of that?",
            "trips: total takings where boat is Marten: 490.1",
        ),
        (
            "How many trips went to the Island, and what do 3 euros for each come to?",
            "trips: number of rows where route is Island: 3",
        ),
    ],
)
def test_what_is_said_is_true_short_and_said_once(root: Path, task: str, line: str) -> None:
    found = [fact.text for fact in facts(task, root)]
    assert line in found
    assert len(set(found)) == len(found)
    assert len(found) <= QUERIES + 2 * LED


def test_queries_that_say_the_same_of_other_rows_are_few(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def alike() -> Counter[str]:
        found = [fact.text for fact in facts("Which trips of the Heron and the Marten took most, and when?", root)]
        found = [text for text in found if " rows; " not in text]  # those are of facts/summed
        return Counter(text.partition(" where ")[0].partition(" of the ")[0] for text in found)

    assert max(alike().values()) <= ALIKE
    monkeypatch.setattr(queried, "ALIKE", 9)
    assert max(alike().values()) > ALIKE


def test_over_large_tables_few_queries_are_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = "A quarter of all takings of the Island route goes to the town. How much is that?"
    every = facts(task, root)
    monkeypatch.setattr(queried, "_LARGE", 6)
    monkeypatch.setattr(queried, "_FEW", 1)
    assert len(facts(task, root)) < len(every)


def test_without_tables_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\nThe ferry sails at nine.\n")
    assert facts("How many trips are there?", tmp_path) == []
    assert facts("How many trips are there?", None) == []


def test_a_file_that_is_just_being_written_says_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Rows:
        raise ToolError("half a file")

    monkeypatch.setattr("pointwork.agents.facts.queried.rows_of", broken)
    assert facts("How many trips are there?", root) == []


def test_databases_are_asked_too(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER, customer TEXT, total REAL)")
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", [(1, "Hale", 10.5), (2, "Hale", 4.25)])
    connection.close()
    found = facts("What is the total of all orders of Hale? Half of that, please.", tmp_path)
    assert Fact("table:shop.db#orders", "orders: total total where customer is Hale: 14.75") in found


def test_what_both_show_is_there_once(root: Path) -> None:
    found = facts("Which boat made the trip with the most passengers?", root)
    row = next(fact for fact in found if fact.row is not None)
    again = [Fact("table:trips.csv", "trips: told otherwise", row.row), Fact("file:a.md", "Fuel: 21 litres")]
    assert beside(found, again) == [*found, again[1]]


@pytest.fixture
def schema(root: Path) -> Schema:
    tables = sorted((table for table in catalog(root) if not table.problem), key=lambda table: table.name)
    return schema_of(root, tables)


def _field(schema: Schema, table: str, name: str) -> int:
    return next(
        place
        for place, field in enumerate(schema.fields)
        if field.name == name and schema.tables[field.table].name == table
    )


def test_queries_in_words(schema: Schema) -> None:
    trips = next(number for number, table in enumerate(schema.tables) if table.name == "trips")
    boat, day, takings, passengers = (
        _field(schema, "trips", name) for name in ("boat", "day", "takings", "passengers")
    )
    heron = Condition(boat, "=", "Heron")
    for query, words in (
        (Query(trips, None, "count", conditions=(heron,)), "number of rows where boat is Heron"),
        (
            Query(trips, takings, "avg", conditions=(heron, heron, Condition(day, ">=", "2024-05-02"))),
            "average takings where boat is Heron and day from 2024-05-02",
        ),
        (Query(trips, day, "max"), "latest day"),
        (Query(trips, takings, "min"), "lowest takings"),
        (Query(trips, takings, "sum", "/", passengers), "total takings per passengers"),
        (Query(trips, day, "none", "pair day"), "days between day"),
        (Query(trips, None, "percent", conditions=(heron,)), "per cent of the rows where boat is Heron"),
        (
            Query(trips, boat, extreme=Extreme(passengers, True, 2)),
            "boat of the second highest passengers",
        ),
        (Query(trips, boat, group=Group(boat, "sum", takings, False)), "boat with the lowest total takings"),
        (Query(trips, boat, group=Group(boat, "count", None, True)), "boat with the most rows"),
        (Query(trips, boat, conditions=(Condition(takings, "empty"),)), "boat where takings is empty"),
    ):
        assert told(query, schema) == words
    assert which(Query(trips, boat, extreme=Extreme(day, False)), schema) == " of the earliest day"
