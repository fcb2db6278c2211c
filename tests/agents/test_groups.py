"""Rows about what a task names: of two things at once, by number, the most of them, and what they lead to."""

import asyncio
from pathlib import Path
from unittest.mock import Mock

import pytest

from pointwork.agents import preparing
from pointwork.agents.facts import rows
from pointwork.agents.facts.gathered import facts_around
from pointwork.agents.facts.groups import meeting, named_groups
from pointwork.agents.facts.queried import queried_around
from pointwork.agents.facts.rows import Row, rows_of
from pointwork.agents.facts.summed import summed
from pointwork.agents.facts.topmost import topmost, topmost_of
from pointwork.agents.preparing import SOLVED, fits_calculator
from pointwork.tools import ToolContext
from pointwork.tools.catalog import catalog

LOADS = """ticket,date,customer,product,tonnes,lorry
1001,2025-04-01,Dunmore Roads,gravel 8/16,22,L1
1002,2025-04-02,Corry Build,sharp sand,3,L2
1003,2025-05-02,Dunmore Roads,gravel 8/16,21,L1
1004,2025-05-04,Corry Build,gravel 8/16,9,L2
1005,2025-05-09,Dunmore Roads,sharp sand,30,L3
1006,2025-05-11,Corry Build,hoggin,14,L3
"""
LORRIES = "reg,driver,axles\nL1,Sean,4\nL2,Eve,2\nL3,Milo,3\n"
DRIVERS = "name,hourly\nSean,17.5\nEve,16.25\nMilo,18\n"
RIDES = "ride,km\n1,8\n2,9\n3,7\n4,6\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in (("loads", LOADS), ("lorries", LORRIES), ("drivers", DRIVERS), ("rides", RIDES)):
        (tmp_path / f"{name}.csv").write_text(text)
    return tmp_path


def sums(task: str, root: Path) -> list[str]:
    tables = sorted(catalog(root), key=lambda table: table.name != "loads")
    return [fact.text.partition("; date")[0] for fact in summed(task, rows_of(root, tables), tables)]


def test_rows_that_two_names_meet_in_are_summed_before_those_of_one(root: Path) -> None:
    lines = sums("Gravel for Dunmore, tonnes all told?", root)
    assert lines[1] == (
        "loads where product is gravel 8/16 and customer is Dunmore Roads: 2 rows; "
        "tonnes total 43, average 21.5, highest 22, lowest 21"
    )
    assert {line.partition(":")[0] for line in lines[2:]} == {
        "loads where product is gravel 8/16", "loads where customer is Dunmore Roads"
    }  # fmt: skip


def test_three_names_meet_too_and_one_row_is_no_sum(root: Path) -> None:
    (root / "loads.csv").write_text(f"{LOADS}1007,2025-05-12,Dunmore Roads,gravel 8/16,20,L1\n")
    lines = sums("Gravel for Dunmore in May: tonnes?", root)
    assert lines[1].startswith("loads where product is gravel 8/16 and ")
    assert "date is in 2025-05" in lines[1]
    assert "2 rows; tonnes total 41" in lines[1]
    assert not any(
        " and " in line.partition(":")[0] for line in lines[2:]
    )  # that of two says less exactly the same
    assert not any("and" in line.partition(":")[0] for line in sums("Hoggin for Corry: tonnes?", root))


def test_what_all_rows_are_of_is_no_group(root: Path) -> None:
    (root / "loads.csv").write_text(LOADS.replace("2025-05", "2025-04"))
    assert not any("2025-04" in line.partition(":")[0] for line in sums("Gravel in April?", root)[1:])
    every, tables = rows_of(root, catalog(root)), catalog(root)
    assert not meeting(named_groups("Gravel in April?", every, tables))


@pytest.mark.parametrize(
    ("task", "tickets"),
    [
        ("1003's stay and that of 1005", ["1003", "1005"]),
        ("What did ticket 1004 weigh? And no. 1001?", ["1004", "1001"]),
        ("Ride 4 against ride no. 2: how much longer?", ["4", "2"]),
        ("Loads #1002, please.", ["1002"]),
        ("4 rides of 2 km, at 3 pounds in 1003.5 or 10:03", []),
        ("On 2025-10-02 we have 1002-B", []),
        ("At 1004:30 of the film", []),
    ],
)
def test_rows_are_named_by_their_number(task: str, tickets: list[str], root: Path) -> None:
    assert [row.cells[0] for row in rows_of(root, catalog(root)).numbered(task, 4)] == tickets


def test_numbers_of_rows_are_no_word_problem(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(text: str, root: Path | None) -> float:
        return asyncio.run(fits_calculator(text, ToolContext(root=root)))

    tickets = "Ticket 1005 against ticket 1004: how many tonnes more?"
    assert fit(tickets, root) == 0 < fit(tickets, None)
    priced = "Ticket 1005 at 14 euros a tonne: what does it cost?"
    assert fit(priced, root) == 0
    assert fit(priced, None) == SOLVED
    assert (
        fit("Load 1005 is 20 tonnes at 14 euros a tonne. What does it cost?", root) == SOLVED
    )  # without its number
    assert fit("A crate of 1005 eggs and one of 1004 eggs: how many eggs are in both?", root) == SOLVED
    monkeypatch.setattr(preparing, "_problem", Mock(return_value=None))  # read as no problem
    assert fit(tickets, root) == 0 < fit("Ticket 1005 weighs as much as 2 of Corry's.", root) < SOLVED


def test_a_number_that_tells_no_rows_apart_names_none(root: Path) -> None:
    (root / "loads.csv").write_text(LOADS.replace("1002", "1001"))
    every = rows_of(root, catalog(root))
    assert not every.numbered("ticket 1001", 4)
    assert every.numbered("ticket 1003 and ticket 1004", 1) == every.numbered("ticket 1003", 4) == []


@pytest.mark.parametrize(
    ("task", "tickets"),
    [
        ("What came on 2 April 2025, and what on the 9th of May?", ["1002", "1005"]),
        ("The load of 4 May: by which lorry?", ["1004"]),
        ("What came on 2 April 2024?", []),
        ("All of May 2025", []),
    ],
)
def test_rows_are_named_by_their_day(task: str, tickets: list[str], root: Path) -> None:
    assert [row.cells[0] for row in rows_of(root, catalog(root)).dated(task, 4)] == tickets


def test_a_day_of_many_rows_names_none_and_they_are_shown_with_others_that_are_named(root: Path) -> None:
    (root / "loads.csv").write_text(LOADS.replace("2025-05-09", "2025-05-11").replace("2025-05-04", "2025-05-11"))
    every = rows_of(root, catalog(root))
    assert not every.dated("The loads of 11 May 2025", 4)
    assert len(every.dated("1 April, 2 April and 2 May 2025", 2)) == 2
    task = "Gravel to Dunmore on 1 April and 2 April and 2 May 2025, and tickets 1004 and 1005, with Sean and Milo"
    told = [fact.text for fact in asyncio.run(facts_around(task, ToolContext(root=root)))]
    assert all(any(number in line for line in told) for number in ("1004", "1005", "1001", "1002", "Milo"))


def test_the_most_among_those_of_a_name_is_shown(root: Path) -> None:
    tables = catalog(root)
    every = rows_of(root, tables)

    def most(task: str) -> list[tuple[str, str]]:
        found = topmost_of(task, every, tables, {})
        return [
            (fact.text.partition(":")[0], fact.row.cells[0] if isinstance(fact.row, Row) else "") for fact in found
        ]

    assert most("Corry's heaviest load by tonnes: what is it?") == [
        ("loads of the highest tonnes where customer is Corry Build", "1006")
    ]
    assert most("Dunmore's last load: who drove?")[0] == (
        "loads of the latest date where customer is Dunmore Roads", "1005"
    )  # fmt: skip
    assert not most("Corry's loads by tonnes")


def test_what_is_empty_or_too_large_has_no_most(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "loads.csv").write_text(LOADS.partition("\n")[0] + "\n")
    tables = {table.name: table for table in catalog(root)}
    monkeypatch.setattr(rows, "MAX_ROWS", 3)
    every, task = rows_of(root, list(tables.values())), "The heaviest of all, the longest one?"
    assert not [fact for name in ("loads", "rides") for fact in topmost(task, every, [tables[name]], {})]
    assert list(topmost(task, every, [tables["lorries"]], {}))


def test_what_the_most_leads_to_leads_further(root: Path) -> None:
    task = "Who drove Corry's load with the most tonnes, and what does that one earn in three hours?"
    lines = [fact.text for fact in asyncio.run(queried_around(task, ToolContext(root=root)))]
    assert any(line.startswith("loads of the highest tonnes") and "1006" in line for line in lines)
    assert any("reg L3; driver Milo" in line for line in lines)
    assert any("name Milo; hourly 18" in line for line in lines)
    assert not any("ticket 1005" in line for line in lines)  # that lorry's other load


def test_what_tells_rows_apart_is_not_summed(root: Path) -> None:
    assert not any("ticket" in line for line in sums("All loads together: tonnes?", root))
