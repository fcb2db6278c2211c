"""What one try of a run did, no other try of it does again; and no tool works on when the time is over."""

import asyncio
import json
import time
from typing import Any

import pytest
from sqlalchemy import insert, select

from pointwork import Agent, Budget, Team
from pointwork.agents.calling import ToolCaller, Work
from pointwork.errors import BudgetExceeded
from pointwork.ledger import Ledger
from pointwork.models import ScriptedClient, Step
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.store.tables import tool_calls
from pointwork.tools import Tool, ToolContext, tool

Sent = list[tuple[str, str]]


def mailer(sent: Sent, *, takes_key: bool = False) -> Tool:
    def mail(to: str, ctx: ToolContext) -> str:
        """Send a mail."""
        sent.append((to, ctx.idempotency_key or ""))
        return f"sent {len(sent)}"

    return tool(labels=["egress"], takes_key=takes_key)(mail)


def called(store: Store, name: str, mail: Tool, *to: str) -> list[str]:
    """The tool's texts, called by one try for each of these."""

    async def call() -> list[str]:
        caller = ToolCaller(store, Work("r", name, Ledger(store).open("r")), ToolContext())
        return [(await caller.call(mail, {"to": one})).text for one in to]

    return asyncio.run(call())


def test_the_next_try_of_a_subtask_takes_up_what_was_done(store: Store) -> None:
    mail = mailer(sent := [])

    assert called(store, "p0.s1#1", mail, "Bob") == ["sent 1"]
    assert called(store, "p0.s1#2", mail, "Bob", "Ann", "Bob") == ["sent 1", "sent 2", "sent 3"]
    assert [to for to, _ in sent] == ["Bob", "Ann", "Bob"]


def test_of_one_try_and_of_two_subtasks_each_call_is_one(store: Store) -> None:
    mail = mailer(sent := [])

    assert called(store, "p0.s1#1", mail, "Bob", "Bob") == ["sent 1", "sent 2"]
    assert called(store, "p0.s2#1", mail, "Bob") == ["sent 3"]
    assert len(sent) == 3


def test_a_new_plan_takes_each_call_up_once_and_so_does_the_one_after(store: Store) -> None:
    mail = mailer(sent := [])
    called(store, "p0.s1#1", mail, "Bob")

    assert called(store, "p1.s1#1", mail, "Bob") == ["sent 1"]
    assert called(store, "p1.s2#1", mail, "Bob") == ["sent 2"]  # the plan has it twice
    assert called(store, "p2.s1#1", mail, "Bob") == ["sent 1"]
    assert called(store, "p2.s2#1", mail, "Bob") == ["sent 2"]
    assert called(store, "p1.s1#1", mail, "Bob") == ["sent 1"]  # gone on with after a kill
    assert len(sent) == 2


def test_another_run_and_another_argument_are_new(store: Store) -> None:
    mail = mailer(sent := [])
    called(store, "p0.s1#1", mail, "Bob")

    async def other() -> str:
        work = Work("other", "p0.s1#2", Ledger(store).open("other"))
        return (await ToolCaller(store, work, ToolContext()).call(mail, {"to": "Bob"})).text

    assert called(store, "p0.s1#2", mail, "Ann") == ["sent 2"]
    assert asyncio.run(other()) == "sent 3"
    assert len(sent) == 3


def test_a_call_that_may_have_taken_effect_is_made_with_its_own_key(store: Store) -> None:
    mail = mailer(sent := [], takes_key=True)
    called(store, "p0.s1#1", mail, "Bob")
    row = store.row(select(tool_calls))
    assert row is not None
    with store.write() as connection:
        connection.execute(tool_calls.delete())
        connection.execute(insert(tool_calls), {**row, "status": "intent", "result": None, "finished": None})

    assert called(store, "p0.s1#2", mail, "Bob") == ["sent 2"]
    assert sent[0][1] == sent[1][1] == row["id"]
    assert called(store, "p1.s1#1", mail, "Bob") == ["sent 2"]


def test_a_run_whose_check_fails_sends_one_mail() -> None:
    sent: list[str] = []

    @tool(labels=["egress"])
    def mail(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        return "sent"

    call = json.dumps({"tool": "mail", "arguments": {"to": "Bob"}})
    plan = {
        "subtasks": [{"task": "Write a mail to Bob with text hello.", "capability": "mail", "answer": "number"}]
    }
    planned = Step(json.dumps(plan), match=lambda asked: "subtasks" in json.dumps(asked.schema), times=None)
    agents = [Agent(f"mailer{n}", "You write.", {"mail": "send mail"}, (mail,), modes=("instant",)) for n in (1, 2)]
    client = ScriptedClient([planned, Step(call, times=None)])
    with Team(agents, Settings(), store="sqlite://", models={"worker-small": client}) as team:
        result = team.run("Write a mail to Bob with text hello, and then send an e-mail to Bob with text hello.")

    assert result.status == "failed"  # "sent" is no number, whoever is asked
    assert sent == ["Bob"]


@pytest.mark.parametrize("blocking", [True, False])
def test_a_tool_ends_when_the_seconds_of_the_budget_are_over(store: Store, *, blocking: bool) -> None:
    def waits() -> str:
        """Wait."""
        time.sleep(20)
        return "late"

    async def dozes() -> str:
        """Wait."""
        await asyncio.sleep(20)
        return "late"

    async def call() -> Any:
        account = Ledger(store).open("r", Budget(seconds=0.3))
        caller = ToolCaller(store, Work("r", "p0.s1#1", account), ToolContext())
        return await asyncio.wait_for(caller.call(tool(waits if blocking else dozes), {}), 10)

    with pytest.raises(BudgetExceeded, match="out of time while") as raised:
        asyncio.run(call())
    assert raised.value.limit == "seconds"
