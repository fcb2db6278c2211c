"""Tables with what a thing costs us and what it is sold for, and which row comes last."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pointwork.agents.parsing.parser import Parsed
from pointwork.agents.tabling import read_tables
from pointwork.tools import ToolContext


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    (tmp_path / "kiosk.csv").write_text(
        "item,category,cost_gbp,price_gbp,bought_on\nSausage Twist,bakery,0.98,2.5,2025-03-01\n"
        "Choc Ice,ice cream,0.55,1.6,2025-05-02\nStill Water,drink,0.3,1.1,2025-04-09\n"
    )
    return ToolContext(root=tmp_path)


def _nothing(*_: Any) -> None:
    return None


@pytest.mark.parametrize(
    "question", ["How much is a Sausage Twist?", "What does the kiosk charge for a Sausage Twist?"]
)
def test_what_is_charged_is_the_price(question: str, context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pointwork.agents.tabling.parsed", _nothing)
    best = asyncio.run(read_tables(question, context))[0]
    assert best.arguments.get("column") == "price_gbp"


@pytest.mark.parametrize(("way", "agrees"), [("DESC", True), ("ASC", False)])
def test_two_readings_of_the_last_row_are_as_sure_as_the_surer(
    way: str, agrees: bool, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = f'SELECT "bought_on" FROM "kiosk" ORDER BY "bought_on" {way} LIMIT 1'

    def meant(*_: Any) -> Parsed:
        return Parsed(sql, "bought_on", "", 0.5)

    question = "On what date was the most recent purchase in the kiosk list?"
    monkeypatch.setattr("pointwork.agents.tabling.parsed", _nothing)
    words = asyncio.run(read_tables(question, context))[0]
    monkeypatch.setattr("pointwork.agents.tabling.parsed", meant)
    best = asyncio.run(read_tables(question, context))[0]
    assert words.arguments.get("order_by") == "bought_on"
    assert (best.tool == "query_table" and best.score >= max(words.score, 0.5)) == agrees
