"""How well tables fit a question that names one."""

import asyncio
from pathlib import Path

import pytest

from pointwork.agents.preparing import NAMED, fits_calculator, fits_tables
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


@pytest.mark.parametrize("said", ["past week", "a table", "fourteen days of this weather"])
def test_others_do_not(root: Path, said: str) -> None:
    question = QUESTION.format(said)
    assert asyncio.run(fits_tables(question, ToolContext(root=root))) < NAMED


def test_a_name_without_a_reading_is_not_enough(root: Path) -> None:
    question = "Who painted the wind and weather table blue?"
    assert asyncio.run(fits_tables(question, ToolContext(root=root))) < NAMED
