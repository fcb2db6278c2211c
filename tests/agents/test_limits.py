"""Rows beyond a limit: told by the task or by a sentence, counted, summed, and the most of them shown."""

import asyncio
from pathlib import Path

import pytest

from pointwork.agents.facts.gathered import facts_around
from pointwork.agents.facts.limits import limited
from pointwork.agents.facts.queried import queried_around
from pointwork.agents.facts.rows import rows_of
from pointwork.agents.facts.topmost import topmost_of
from pointwork.tools import ToolContext
from pointwork.tools.catalog import catalog

FLIGHTS = """flight,day,pilot,wind_kmh,km
F1,2025-05-01,Ada,12,30
F2,2025-05-02,Bo,25,41
F3,2025-05-03,Ada,31,55
F4,2025-05-04,Cleo,40,12
F5,2025-05-05,Bo,8,22
"""
HOSTS = "host,ram_gb,bought,rent\nash,32,2018-01-02,40\nbirch,64,2021-06-02,55\ncedar,128,2023-03-01,70\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "flights.csv").write_text(FLIGHTS)
    return tmp_path


def groups(task: str, root: Path, *lines: str) -> list[tuple[str, int]]:
    tables = catalog(root)
    return [(one.which, len(one.rows)) for one in limited(task, lines, rows_of(root, tables), tables)]


@pytest.mark.parametrize(
    ("task", "line", "found"),
    [
        ("How many flights were too windy?", "In wind above 25 km/h nobody flies.", [("more than 25", 2)]),
        (
            "How many flights had less wind than that?",
            "In wind from 25 km/h on nobody flies.",
            [("less than 25", 2)],
        ),
        (
            "Count the flights windy enough for kites.",
            "Kites need a wind of at least 25 km/h.",
            [("at least 25", 3)],
        ),
        ("How many flights were too windy?", "With a wind of 25 km/h or more we stay.", [("at least 25", 3)]),
        (
            "Count the kite days of the flights.",
            "On kite days the wind is more than 12 km/h.",
            [("more than 12", 3)],
        ),
        (
            "Count the flights that were not calm.",
            "It is calm with a wind of at most 12 km/h.",
            [("more than 12", 3), ("at most 12", 2)],
        ),
        ("Count the calm flights.", "It is calm with a wind of at most 12 km/h.", [("at most 12", 2)]),
        (
            "What share of flights kept to the limit of wind?",
            "The wind may be 25 km/h.",
            [("more than 25", 2), ("at most 25", 3)],
        ),
    ],
)
def test_a_sentence_tells_the_limit_and_the_task_the_side(
    root: Path, task: str, line: str, found: list[tuple[str, int]]
) -> None:
    assert groups(task, root, line) == [(f"wind kmh is {said}", count) for said, count in found]


@pytest.mark.parametrize(
    ("task", "line"),
    [
        ("How many flights did Ada make?", "In wind above 25 km/h nobody flies."),  # no limit is spoken of
        ("Is the wind over the limit?", "In wind above 25 km/h nobody flies."),  # rows are not
        ("By how many km was that too windy?", "In wind above 25 km/h nobody flies."),
        ("How many flights were too windy?", "In wind above 60 km/h nobody flies."),  # all are on one side
        ("How many flights were too windy?", "In wind above 5 km/h nobody flies."),
        ("How many flights were too windy?", "In wind nobody flies for 25 minutes."),  # another unit
        ("How many guests came too late?", "In the wind of 25 km/h they came."),  # not of these rows
    ],
)
def test_no_rows_are_shown_where_none_are_meant(root: Path, task: str, line: str) -> None:
    assert groups(task, root, line) == []


def test_what_the_task_says_itself_comes_first_and_a_year_is_no_limit(root: Path) -> None:
    line = "In wind above 25 km/h nobody flies."
    task = "Which flight with a wind of more than 10 km/h was the longest?"
    assert groups(task, root, line)[0] == ("wind kmh is more than 10", 4)
    assert groups("Which was the longest after more than 2024?", root) == []
    # a query counts them
    assert groups("How many flights had a wind of more than 10 km/h?", root) == []


def test_of_two_tables_the_likelier_comes_first(root: Path) -> None:
    (root / "sails.csv").write_text(FLIGHTS.replace("flight,", "sail,"))
    tables = sorted(catalog(root), key=lambda table: table.name)
    task, line = "How many days had too much wind on all flights and sails?", "In wind above 25 km/h nobody goes."
    for likely in (tables, tables[::-1]):
        found = limited(task, [line], rows_of(root, tables), likely)
        assert [one.rows[0].table for one in found] == likely


def test_of_two_limits_the_one_whose_words_the_task_has_comes_first(root: Path) -> None:
    lines = ("Beginners stay down with a wind over 10 km/h.", "For a voucher the wind has to be over 30 km/h.")
    assert (
        groups("Count the flights that were windy enough for a voucher.", root, *lines)[0][0]
        == "wind kmh is more than 30"
    )


def test_they_are_summed_in_a_line_and_one_is_shown_as_it_is(root: Path) -> None:
    (root / "rules.md").write_text("# Rules\n\nIn wind above 25 km/h nobody flies.\n")
    context = ToolContext(root=root)

    def lines(task: str) -> list[str]:
        async def asked() -> list[str]:
            return [fact.text for fact in await queried_around(task, context, await facts_around(task, context))]

        return asyncio.run(asked())

    task = "How many km were flown on all flights that were too windy?"
    assert any(one.startswith("flights where wind kmh is more than 25: 2 rows; ") for one in lines(task))
    (root / "hosts.csv").write_text(HOSTS)
    (root / "rules.md").write_text("# Rules\n\nOnly hosts with more than 100 GB of ram are large.\n")
    task = "How many of the hosts are large?"
    assert any(one.startswith("hosts where ram gb is more than 100: host cedar; ") for one in lines(task))


def test_the_most_of_them_is_shown(root: Path) -> None:
    (root / "hosts.csv").write_text(HOSTS)
    tables = [table for table in catalog(root) if table.name == "hosts"]
    every, task = rows_of(root, tables), "Of the hosts with at least 64 GB of ram, which is the oldest?"
    limits = limited(task, (), every, tables)
    shown = [fact.text for fact in topmost_of(task, every, tables, {}, limits)]
    assert shown[0].startswith("hosts of the earliest bought where ram gb is at least 64: host birch; ")
    assert not list(topmost_of("Of the hosts with at least 64 GB of ram, the rent?", every, tables, {}, limits))
