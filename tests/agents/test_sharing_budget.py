"""Subtasks side by side share a budget: none takes all that is left and ends the run for the others."""

import json
import re

import pytest

from pointwork import Agent, Budget, Team
from pointwork.ledger import Amount, Ledger
from pointwork.models import ChatRequest, Price, ScriptedClient, Step
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.tools import tool


@tool
def dbl(n: int) -> int:
    """Double."""
    return 2 * n


def doubled(request: ChatRequest) -> str:
    said = re.findall(r"[Dd]ouble (\d+)", str(request.messages[-1]["content"]))
    return json.dumps({"tool": "dbl", "arguments": {"n": int(said[-1])}})


@pytest.mark.parametrize("budget", [Budget(tokens=800), Budget(usd=0.08)])
def test_each_waits_for_what_another_holds_and_does_not_need(budget: Budget) -> None:
    agents = [Agent(f"a{n}", "Double.", {"double": "double numbers"}, (dbl,), modes=("instant",)) for n in range(3)]
    planned = Step("nonsense", match=lambda asked: "subtasks" in json.dumps(asked.schema), times=None)
    client = ScriptedClient([planned, Step(doubled, times=None)], price=Price(100.0, 100.0))
    with Team(agents, Settings(), store="sqlite://", models={"worker-small": client}) as team:
        result = team.run("Double 1, and then double 2, and then double 3.", budget=budget)

    assert (result.status, result.text) == ("ok", "2; 4; 6")
    assert result.cost.tokens <= 800
    assert result.cost.usd <= 0.08


def test_what_is_under_way_is_held(store: Store) -> None:
    account = Ledger(store).open("r", Budget(tokens=100))
    child = account.child("subtask", "s1")

    assert not account.held()
    reservation = child.reserve(Amount(tokens=60), by="x")
    assert account.held()
    assert child.held()
    child.settle(reservation, Amount(tokens=10))
    assert not account.held()
    with account.spending(Amount(tool_calls=1), by="tool"):
        assert not account.held()  # tools hold neither tokens nor money
