"""Memory's model in a run: who pays, what is logged, and that it holds nobody up."""

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from pointwork import Agent, Budget, Team
from pointwork.agents.remembering import ROLE, RunReader, recalled
from pointwork.agents.replay import Replay
from pointwork.errors import ProviderError, RunError, UsageError
from pointwork.ledger import Ledger
from pointwork.memory import Memory, Recall
from pointwork.memory.reader import ClientReader, Reader
from pointwork.models import ChatRequest, Completion, Price, ScriptedClient, Step
from pointwork.models.gateway import Caller, Models
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.store.tables import runs, steps

TASK = "Say something about the gate."
SPEAKER = Agent("speaker", "You speak.", {"speaking": "say something about things"}, modes=("instant",))


def asked(request: ChatRequest) -> bool:
    return "search" in (request.schema or {}).get("properties", {})


def team(store: Store, *replies: Step, tiers: Any = None) -> tuple[Team, ScriptedClient]:
    client = ScriptedClient(
        [*replies, Step('{"answer": "a gate"}', match=lambda request: not asked(request), times=None)],
        price=Price(1.0, 1.0),
    )
    settings = Settings.model_validate({"memory": {"tiers": tiers or {"entity": "high"}}})
    made = Team([SPEAKER], settings, store=store, models={"worker-small": client})
    made.memory.add("The gate is next to the weir.", source="gate")
    made.memory.add("Water falls over a wall of stone.", source="water")
    return made, client


def test_a_run_asks_pays_and_logs_it(store: Store) -> None:
    made, client = team(store, Step('{"search": ["water over stone"]}', match=asked, times=None))
    with made:
        result = made.run(TASK, budget=Budget(usd=1.0))
    rows = store.rows(select(steps).where(steps.c.role == ROLE))
    assert [(row["kind"], row["subtask"].partition("#")[2], row["agent"]) for row in rows] == [("model", "1", ROLE)]
    everything = [request for request in client.requests if asked(request)]
    assert len(everything) == len(rows)
    assert result.cost.usd == pytest.approx(sum(row["usd_nano"] or 0 for row in store.rows(select(steps))) / 1e9)
    assert rows[0]["usd_nano"] > 0


def test_without_tiers_no_model_is_asked_by_memory(store: Store) -> None:
    client = ScriptedClient([Step('{"answer": "a gate"}', match=lambda request: not asked(request), times=None)])
    with Team([SPEAKER], Settings(), store=store, models={"worker-small": client}) as made:
        made.memory.add("The gate is next to the weir.")
        assert made.run(TASK).status == "ok"
    assert not any(asked(request) for request in client.requests)


def test_the_agent_comes_before_memory_when_little_is_left(store: Store) -> None:
    made, client = team(store, Step('{"search": []}', match=asked, times=None))
    with made:
        assert made.run(TASK, budget=Budget(turns=1)).status == "ok"
    assert not any(asked(request) for request in client.requests)


def test_recalls_that_wait_leave_the_loop_its_threads(store: Store) -> None:
    class Resolving(ScriptedClient):
        async def chat(self, request: ChatRequest) -> Completion:
            await asyncio.to_thread(int)  # as litellm does, and the look-up of a host's address
            return await super().chat(request)

    store.append(runs, {"id": "r1", "task": TASK, "status": "running", "created": 1.0, "package_version": "0"})
    models = Models(Settings(), store, {"worker-small": Resolving([Step('{"search": []}', times=None)])})
    memory = Memory(encoder="static")
    memory.add("The gate is next to the weir.")

    async def many() -> list[Recall]:
        pays = Caller(Ledger(store).open("r1", Budget()), ROLE, "r1", "s")
        asked = [
            recalled(memory.recall, RunReader(models, pays), f"Where is gate {n}?", tiers={"entity": "high"})
            for n in range(40)
        ]
        return await asyncio.wait_for(asyncio.gather(*asked), 60)

    assert {recall.tiers["entity"] for recall in asyncio.run(many())} == {"high"}


def test_tools_do_not_ask_it(store: Store) -> None:
    made, client = team(store)
    with made:
        memory = made.services.tool_context(None, None).memory
        assert memory is not None
        found = memory.recall("Where is the gate?", k=1)
        assert [memory.read(item.id) for item in found.items] == ["The gate is next to the weir."]
    assert client.requests == []


def test_a_budget_that_can_not_pay_it_leaves_the_run_to_mid(store: Store) -> None:
    made, client = team(store, Step('{"search": []}', match=asked, times=None))
    with made:
        made.run(TASK, budget=Budget(tokens=10))
    assert not any(asked(request) for request in client.requests)


def test_a_tier_that_is_not_there_is_an_error_of_the_configuration(store: Store) -> None:
    with pytest.raises(UsageError, match="tier 'best' of memory module entity is unknown"):
        team(store, tiers={"entity": "best"})


def test_closing_the_team_ends_the_call(store: Store) -> None:
    began = threading.Event()

    def slow(request: ChatRequest) -> bool:
        if asked(request):
            began.set()
        return asked(request)

    made, _ = team(store, Step('{"search": []}', match=slow, delay=60.0, times=None))
    came: list[Any] = []

    def go() -> None:
        try:
            came.append(made.run(TASK))
        except Exception as error:
            came.append(error)

    waiting = threading.Thread(target=go, daemon=True)
    waiting.start()
    assert began.wait(30)
    made.close()
    waiting.join(30)
    assert not waiting.is_alive()
    assert [type(one) for one in came] == [RunError]
    assert not any(asking(thread) for thread in threading.enumerate())


def asking(thread: threading.Thread) -> bool:
    """Whether it still waits for the model, some time from now."""
    if thread.name.startswith("asyncio_"):
        thread.join(0.2)
    frame = sys._current_frames().get(thread.ident or 0)  # pyright: ignore[reportPrivateUsage]
    return any(frame.name == "ask" for frame in traceback.extract_stack(frame)) if frame else False


# -- both readers ------------------------------------------------------------------------------------------

REQUEST = ChatRequest([{"role": "user", "content": "one two three"}], schema={"type": "object"})


@pytest.fixture(params=["by itself", "of a run"])
def ask(request: pytest.FixtureRequest, store: Store) -> Callable[[ScriptedClient, int], list[Any]]:
    """Ask a reader so many times at once, from threads; what came, errors too."""
    store.append(runs, {"id": "r1", "task": TASK, "status": "running", "created": 1.0, "package_version": "0"})

    async def all_of(client: ScriptedClient, count: int) -> list[Any]:
        reader: Reader = ClientReader(lambda: client)
        if request.param == "of a run":
            account = Ledger(store).open("r1", Budget())
            reader = RunReader(
                Models(Settings(), store, {"worker-small": client}), Caller(account, ROLE, "r1", "s")
            )
        assert isinstance(reader, Reader)
        asked = [asyncio.to_thread(reader.ask, REQUEST) for _ in range(count)]
        return await asyncio.gather(*asked, return_exceptions=True)

    return lambda client, count: asyncio.run(all_of(client, count))


def test_readers_answer_and_say_what_it_took(ask: Callable[[ScriptedClient, int], list[Any]]) -> None:
    [reply] = ask(ScriptedClient(['{"a": 1}'], price=Price(1.0, 2.0)), 1)
    assert (reply.text, reply.tokens, reply.usd) == ('{"a": 1}', 6, pytest.approx((4 * 1.0 + 2 * 2.0) / 1e6))


def test_readers_are_asked_by_several_at_once(ask: Callable[[ScriptedClient, int], list[Any]]) -> None:
    replies = ask(ScriptedClient([Step('{"a": 1}', times=None, delay=0.01)]), 12)
    assert [reply.text for reply in replies] == ['{"a": 1}'] * 12


def test_readers_try_again_what_can_succeed(ask: Callable[[ScriptedClient, int], list[Any]]) -> None:
    [reply] = ask(ScriptedClient([ProviderError("busy", retryable=True), "{}"]), 1)
    assert reply.text == "{}"


def test_readers_fail_with_an_error_of_ours(ask: Callable[[ScriptedClient, int], list[Any]]) -> None:
    [error] = ask(ScriptedClient([ProviderError("gone", retryable=False)]), 1)
    assert isinstance(error, ProviderError)


def test_readers_leave_it_to_others_whether_an_answer_is_of_use(
    ask: Callable[[ScriptedClient, int], list[Any]],
) -> None:
    [reply] = ask(ScriptedClient(["no JSON"]), 1)
    assert reply.text == "no JSON"


def test_what_was_answered_before_a_crash_is_not_asked_again(store: Store) -> None:
    """Whatever else memory asks the next time, the agent's answers are taken as they were given."""
    store.append(runs, {"id": "r1", "task": TASK, "status": "running", "created": 1.0, "package_version": "0"})
    first = ChatRequest([{"role": "user", "content": "What next?"}], schema={"type": "object", "title": "entity"})
    second = ChatRequest([{"role": "user", "content": "What then?"}], schema={"type": "object", "title": "summary"})
    client = ScriptedClient(
        [Step("{}", match="then"), Step("the agent's", match="agent"), Step("{}", match="next")]
    )
    models = Models(Settings(), store, {"worker-small": client})
    account = Ledger(store).open("r1", Budget())
    agent = ChatRequest([{"role": "user", "content": "agent"}])

    async def asked_again() -> list[str]:
        name = "p0.s1#1"
        before = RunReader(models, Caller(account, ROLE, "r1", name))
        await asyncio.to_thread(before.ask, second)  # the first failed before it was logged
        await models.chat("worker-small", agent, Caller(account, "speaker", "r1", name))
        store.flush()
        replay = Replay(store, "r1", name)
        again = RunReader(models, Caller(account, ROLE, "r1", name), replay)
        replies = [await asyncio.to_thread(again.ask, one) for one in (first, second)]
        known = replay.take("worker-small", agent)
        return [*(reply.text for reply in replies), known.text if known else "lost"]

    assert asyncio.run(asked_again()) == ["{}", "{}", "the agent's"]
    assert len(client.requests) == 3
