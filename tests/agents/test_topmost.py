"""Rows with the most or the least of something, where a task speaks of one; and about whom there is the most."""

import asyncio
from pathlib import Path
from unittest.mock import Mock

import pytest

from pointwork.agents.facts.queried import queried_around
from pointwork.agents.facts.rows import rows_of
from pointwork.agents.facts.summed import summed
from pointwork.agents.facts.topmost import asked_end, topmost
from pointwork.tools import ToolContext
from pointwork.tools.catalog import TableInfo, catalog

BIKES = """bike,no,price,weight_kg,owner,bought
Swift,7,420,14.5,Ada,2021-03-04
Otter,3,980,19,Bo,2023-06-01
Hare,9,150,11.2,Ada,2019-09-30
Mole,5,310,19,Cleo,2024-01-15
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "bikes.csv").write_text(BIKES)
    return tmp_path


def found(task: str, root: Path, meant: str = "") -> list[str]:
    (table,) = catalog(root)
    likely: dict[tuple[TableInfo, str], float] = {(table, meant): 1.0} if meant else {}
    return [fact.text for fact in topmost(task, rows_of(root, [table]), [table], likely)]


@pytest.mark.parametrize(
    ("task", "end"),
    [
        ("Our dearest bike with three new tyres: what does it come to?", 1),
        ("Who rides the most, and what is that at 2 pounds?", 1),
        ("Three new tyres for the cheapest one", -1),
        ("What did the first bike cost with tax?", -1),
        ("What did the newest bike cost with tax?", 1),
        ("Are there at least three guests at the harvest test?", 0),
        ("Does the rest of the forest cost at most 30 pounds?", 0),
    ],
)
def test_which_end_is_asked_for(task: str, end: int) -> None:
    assert asked_end(task) == end


def test_the_row_is_told_by_what_it_has_the_most_of(root: Path) -> None:
    first = found("Our dearest bike and three tyres at 12: how much?", root, "price")[0]
    assert first == (
        "bikes of the highest price: bike Otter; no 3; price 980; weight_kg 19; owner Bo; bought 2023-06-01"
    )
    assert found("The cheapest by price and three tyres?", root)[0].startswith(
        "bikes of the lowest price: bike Hare"
    )


def test_days_count_where_the_last_or_first_is_asked_for(root: Path) -> None:
    assert found("The last one bought, with tax?", root)[0].startswith("bikes of the latest bought: bike Mole")
    assert found("The oldest, with tax?", root)[0].startswith("bikes of the earliest bought: bike Hare")
    assert not any("bought:" in line for line in found("The dearest, with tax?", root))


def test_two_alike_and_numbers_that_only_tell_rows_apart_are_no_most(root: Path) -> None:
    lines = found("What does the heaviest weight cost to send at 3 a kilo?", root)
    assert [line.partition(":")[0] for line in lines] == ["bikes of the highest price"]


def test_without_a_most_and_without_a_table_there_is_none(root: Path, tmp_path: Path) -> None:
    assert not found("What does the Otter cost?", root)
    assert not list(topmost("The dearest?", rows_of(tmp_path, []), [], {}))


def test_about_whom_there_is_the_most(root: Path) -> None:
    (table,) = catalog(root)

    def said(task: str) -> list[str]:
        lines = [fact.text for fact in summed(task, rows_of(root, [table]), [table], {(table, "price"): 1.0})]
        return [line.partition(": ")[0] for line in lines[1:]]

    assert said("The owner with the most bikes: what is theirs worth by price?") == [
        "bikes where owner is Bo (highest total price)",
        "bikes where owner is Ada (most rows)",
    ]
    assert said("The owner with the least in price, in percent?") == [
        "bikes where owner is Cleo (lowest total price)"
    ]
    assert not said("What is each owner's price?")


def test_what_one_owner_has_the_most_of_twice_is_said_once(root: Path) -> None:
    (root / "bikes.csv").write_text(f"{BIKES}Crow,11,900,12,Ada,2024-02-02\n")
    (table,) = catalog(root)
    task = "Who owns the most, and what part of all is it?"
    lines = [fact.text for fact in summed(task, rows_of(root, [table]), [table], {(table, "price"): 1.0})]
    assert [line.partition(": ")[0] for line in lines[1:]] == [
        "bikes where owner is Ada (highest total price, most rows)"
    ]


def test_a_row_with_the_least_of_two_columns_is_shown_once(root: Path) -> None:
    assert len(found("The one of the least price and weight?", root)) == 1


def test_columns_that_are_named_come_before_others_and_empty_cells_are_none(root: Path) -> None:
    (root / "bikes.csv").write_text(f"{BIKES}Crow,11,,9,Ada,2024-02-02\n")
    lines = found("The one of the least weight, and the lowest of the prices?", root)
    assert [line[: line.index(";")] for line in lines] == [
        "bikes of the lowest price: bike Hare",
        "bikes of the lowest weight kg: bike Crow",
    ]
    assert found("The least in weight?", root)[0].startswith("bikes of the lowest weight kg")


@pytest.mark.parametrize(
    ("more", "task", "which"),
    [
        (
            "Crow,11,,12,Bo,2024-02-02",
            "Whose, of the owners, are the fewest?",
            ["owner is Cleo", "lowest total price, fewest rows"],
        ),
        (
            "Crow,11,,12,Dan,2024-02-02\nWren,12,5,9,Eve,2022-05-05",
            "The owner of the least by price?",
            ["owner is Dan", "lowest total price"],
        ),
        ("Crow,11,90,12,Ada,2024-02-02", "Which bike is worth the most?", ["owner is Bo", "highest total price"]),
    ],
)
def test_names_that_repeat_are_compared_and_what_is_empty_is_nothing(
    root: Path, more: str, task: str, which: list[str]
) -> None:
    rows = f"{BIKES}{more}".splitlines()
    (root / "bikes.csv").write_text(
        "".join(f"{line},{'town' if not n else 'Quay'}\n" for n, line in enumerate(rows))
    )
    (table,) = catalog(root)
    lines = [fact.text for fact in summed(task, rows_of(root, [table]), [table], {(table, "price"): 1.0})]
    assert [line.partition(": ")[0] for line in lines[1:2]] == [f"bikes where {which[0]} ({which[1]})"]


def test_a_name_is_told_by_the_column_that_is_compared(tmp_path: Path) -> None:
    (tmp_path / "gifts.csv").write_text("child,giver,price\nBo,Bo,9\nAda,Bo,8\nCleo,Ada,4\nDan,Cleo,1\n")
    (table,) = catalog(tmp_path)
    task = "What did the giver with the most by price give?"
    lines = [fact.text for fact in summed(task, rows_of(tmp_path, [table]), [table], {(table, "price"): 1.0})]
    assert lines[1].startswith("gifts where giver is Bo (highest total price, most rows): 2 rows")


def test_a_name_with_of_the_in_it_is_no_query_for_the_most(root: Path) -> None:
    (root / "bikes.csv").write_text(BIKES.replace("Bo", "Friends of the Quay").replace("19,Cleo", "21,Cleo"))
    task = "What is the price of the bike of the Friends of the Quay plus the longest chain at 12?"
    lines = [fact.text for fact in asyncio.run(queried_around(task, ToolContext(root=root)))]
    assert any("where" in line and "Friends of the Quay: " in line for line in lines)
    assert any(line.startswith("bikes of the highest") for line in lines)


def test_a_query_that_finds_it_is_enough_and_no_row_is_told_twice(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ToolContext(root=root)
    twice = asyncio.run(queried_around("What is the price of the Otter plus the longest chain at 12?", context))
    assert sum("bike Otter" in fact.text for fact in twice) == 1
    called = Mock(return_value=iter(()))
    monkeypatch.setattr("pointwork.agents.facts.queried.topmost", called)
    asyncio.run(queried_around("Which bike has the highest price?", context))
    assert not called.called
    asyncio.run(queried_around("What is the price of the Otter plus the longest chain at 12?", context))
    assert called.called
