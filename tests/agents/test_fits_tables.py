"""How well tables fit a question that names one."""

import asyncio
from pathlib import Path

import pytest

from pointwork.agents.preparing import CLEAR, NAMED, fits_calculator, fits_tables
from pointwork.agents.tabling import read_tables
from pointwork.tools import ToolContext

QUESTION = "On how many days in the {} did more than 10 mm of rain fall?"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    days = "\n".join(f"2026-05-{day:02},{day},{day % 7 * 3}" for day in range(1, 15))
    (tmp_path / "wind_and_weather.csv").write_text(f"date,max_c,rain_mm\n{days}\n")
    (tmp_path / "a.csv").write_text("name,price\nmap,3\n")
    return tmp_path


@pytest.mark.parametrize("said", ["wind and weather table", "wind_and_weather.csv", "table wind and weather"])
def test_who_names_a_table_wants_it_read(root: Path, said: str) -> None:
    question, context = QUESTION.format(said), ToolContext(root=root)
    assert asyncio.run(fits_tables(question, context)) >= NAMED > asyncio.run(fits_calculator(question, context))


@pytest.mark.parametrize(
    ("question", "fits"),
    [
        (QUESTION.replace("in the {}", "of this weather"), "as its share"),
        ("What price does the map have in a table?", "as its share"),  # a short name is a word of any question
        ("In a table, what is the price of the map?", "as its share"),
        ("What is the price of the map in a.csv?", "as one that is named"),
        # a table is named, and another is read
        ("What is the selling price of the large red wall map on the wind and weather table?", "as its share"),
    ],
)
def test_others_fit_as_their_reading_does(root: Path, question: str, fits: str) -> None:
    if "large red wall map" in question:
        (root / "goods.csv").write_text("name,selling price,bought on\nlarge red wall map,3,2026-01-02\n")
    context = ToolContext(root=root)
    found, read = asyncio.run(fits_tables(question, context)), asyncio.run(read_tables(question, context))[0]
    assert read.score >= CLEAR
    if fits == "as its share":
        assert found == min(0.97, read.score)
    else:
        assert found > read.score
        assert found >= NAMED
