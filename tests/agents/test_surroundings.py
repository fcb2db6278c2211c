"""What the files hold around a task, as the planner of steps is shown it."""

import asyncio
from pathlib import Path

import pytest

from pointwork.agents.surroundings import COLUMNS, SENTENCES, TABLES, WORDS, surroundings
from pointwork.tools import ToolContext

STAFF = "name,hours a week,pay an hour\nMabel Orme,24,13.50\nJonah Pike,10,12.00\n"
RULES = """# Rules

## Care

The autoclave is serviced every eighteen months. It stands in the cellar.

## Guests

Nobody may bring a dog.
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "staff.csv").write_text(STAFF)
    (tmp_path / "rules.md").write_text(RULES)
    return tmp_path


def around(task: str, root: Path | None) -> list[str]:
    return asyncio.run(surroundings(task, ToolContext(root=root))).splitlines()


def test_columns_are_named_that_the_task_does_not_speak_of(root: Path) -> None:
    assert around("What does Mabel earn in a full week?", root)[0] == (
        "staff: name, hours a week, pay an hour | name Mabel Orme"
    )


def test_sentences_stand_behind_their_heading(root: Path) -> None:
    assert "Care: The autoclave is serviced every eighteen months." in around("When is the autoclave due?", root)
    assert not [line for line in around("When is the autoclave due?", root) if "dog" in line or "#" in line]


def test_a_table_that_is_named_comes_first(root: Path) -> None:
    (root / "aviary.csv").write_text("bird,age\nHeron,3\nKestrel,4\n")
    lines = around("How much older is the Kestrel than Jonah thinks?", root)
    assert {line.partition(":")[0] for line in lines[:2]} == {"aviary", "staff"}
    assert around("How old is the Kestrel?", root)[0] == "aviary: bird, age | bird Kestrel"


def test_a_name_among_many_brings_its_table_first(root: Path) -> None:
    (root / "staff.csv").write_text(STAFF + "".join(f"Person {number},{number},9\n" for number in range(60)))
    (root / "a_full_week.csv").write_text("full week,earn\n1,2\n")
    assert around("What does Mabel earn in a full week?", root)[0].startswith("staff:")


def test_a_value_of_small_letters_is_named_too(root: Path) -> None:
    (root / "goods.csv").write_text("product,kind\nTin,bread\nSlab,cake\n")
    assert "goods: product, kind | kind bread" in around("Our dearest loaf of bread?", root)


def test_a_section_of_settings_says_nothing(root: Path) -> None:
    (root / "vans.toml").write_text("[vans.Clover]\nmot_expires = 2026-06-19\n")
    lines = around("Will Clover still have an MOT in July?", root)
    assert [line for line in lines if "mot_expires" in line]
    assert not [line for line in lines if line.endswith("[vans.Clover]")]


def test_where_nothing_is_to_be_read_there_is_nothing(tmp_path: Path) -> None:
    assert around("What does Mabel earn?", None) == []
    assert around("What does Mabel earn?", tmp_path) == []


def test_it_does_not_grow_with_the_files(tmp_path: Path) -> None:
    for number in range(3 * TABLES):
        head = ",".join(f"c{place}" for place in range(3 * COLUMNS))
        (tmp_path / f"t{number}.csv").write_text(f"{head}\n{','.join('1' * 3 * COLUMNS)}\n")
    boiler = "The boiler " + "is very old and " * WORDS
    (tmp_path / "page.md").write_text("\n\n".join(f"{boiler} no {number}." for number in range(40)))
    lines = around("How old is the boiler?", tmp_path)
    assert len([line for line in lines if line.startswith("t")]) == TABLES
    assert len([line for line in lines if "boiler" in line]) <= SENTENCES
    assert max(len(line.split()) for line in lines) <= WORDS + 2
