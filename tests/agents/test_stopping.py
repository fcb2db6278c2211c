"""Teams that are closed and runs that are stopped: nobody waits for ever, and what was going on can be resumed."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, update

from pointwork import Agent, Team
from pointwork.agents.background import BackgroundLoop
from pointwork.errors import RunError, UsageError
from pointwork.models import ChatRequest, ScriptedClient, Step
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.store.tables import runs

TASK = "Say something about gates, and then say something about barns."


class Asked:
    """Tells that a model was asked, and how often."""

    def __init__(self) -> None:
        self.now = threading.Event()

    def __call__(self, _: ChatRequest) -> bool:
        self.now.set()
        return True


def team(store: Store, asked: Asked, delay: float = 60.0) -> Team:
    client = ScriptedClient([Step('{"answer": "a gate"}', match=asked, delay=delay, times=None)])
    speaker = Agent("speaker", "You speak.", {"speaking": "say something about things"}, modes=("instant",))
    return Team([speaker], Settings(), store=store, models={"worker-small": client})


def statuses(store: Store) -> list[str]:
    return [row["status"] for row in store.rows(select(runs).order_by(runs.c.created))]


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "pointwork"]


def in_thread(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    came: list[Any] = []

    def go() -> None:
        try:
            came.append(work())
        except Exception as error:
            came.append(error)

    thread = threading.Thread(target=go, daemon=True)
    thread.start()
    return thread, came


@pytest.mark.parametrize("way", ["run", "stream", "arun", "astream"])
def test_closing_a_team_stops_its_runs_and_those_who_wait_for_them(store: Store, way: str) -> None:
    asked = Asked()
    made = team(store, asked)

    async def followed() -> list[Any]:
        return [event async for event in made.astream(TASK)]

    ways: dict[str, Callable[[], Any]] = {
        "run": lambda: made.run(TASK),
        "stream": lambda: list(made.stream(TASK)),
        "arun": lambda: asyncio.run(made.arun(TASK)),
        "astream": lambda: asyncio.run(followed()),
    }
    waiting, came = in_thread(ways[way])
    assert asked.now.wait(30)
    made.close()
    waiting.join(30)
    assert not waiting.is_alive()
    assert isinstance(came[0], RunError)
    assert "resume" in str(came[0])
    assert statuses(store) == ["interrupted"]
    with team(store, asked, delay=0.0) as again:
        [row] = store.rows(select(runs))
        assert again.resume(row["id"]).run_id == row["id"]


def test_a_closed_team_begins_nothing(store: Store) -> None:
    made = team(store, Asked(), delay=0.0)
    run_id = made.run(TASK).run_id
    before = workers()
    made.close()

    async def resumed() -> list[Any]:
        return [event async for event in made.astream_resume(run_id)]

    attempts: list[Callable[[], Any]] = [
        lambda: made.run(TASK),
        lambda: made.resume(run_id),
        lambda: made.questions(run_id),
        lambda: made.answer(run_id, "approve"),
        lambda: list(made.stream_resume(run_id)),
        lambda: asyncio.run(resumed()),
    ]
    for attempt in attempts:
        with pytest.raises(UsageError, match="closed"):
            attempt()
    assert not set(workers()) - set(before)


def test_a_cancelled_arun_has_stored_what_it_came_to(store: Store) -> None:
    asked = Asked()

    async def cancelled(made: Team) -> None:
        job = asyncio.create_task(made.arun(TASK))
        await asyncio.to_thread(asked.now.wait, 30)
        job.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await job
        assert statuses(store) == ["interrupted"]

    with team(store, asked) as made:
        asyncio.run(cancelled(made))


def test_who_stops_one_run_does_not_wait_for_another(store: Store) -> None:
    asked = Asked()
    made = team(store, asked)
    waiting, _ = in_thread(lambda: made.run(TASK))
    assert asked.now.wait(30)
    stream = made.stream("Say something about barns.")
    next(stream)
    ended = threading.Event()
    closing = threading.Thread(target=lambda: (stream.close(), ended.set()), daemon=True)
    closing.start()
    # less than what it would wait for work that does not end, and far more than it needs
    assert ended.wait(8)
    assert statuses(store) == ["running", "interrupted"]
    made.close()
    waiting.join(30)


def test_who_leaves_when_the_answer_comes_leaves_a_run_that_has_ended(store: Store) -> None:
    async def until_answered(made: Team) -> None:
        events = made.astream(TASK)
        async for event in events:
            if event["event"] == "answer":
                break
        await events.aclose()

    with team(store, Asked(), delay=0.0) as made:
        for _ in range(3):
            events = made.stream(TASK)
            for event in events:
                if event["event"] == "answer":
                    break
            events.close()
            asyncio.run(until_answered(made))
        rows = store.rows(select(runs))
        assert {row["status"] for row in rows} == {row["result"]["status"] for row in rows} <= {"ok", "failed"}


def test_an_ended_run_that_was_called_interrupted_ends_when_it_is_resumed(store: Store) -> None:
    with team(store, Asked(), delay=0.0) as made:
        ended = made.run(TASK)
        with store.write() as connection:
            connection.execute(update(runs).values(status="interrupted"))
        assert made.resume(ended.run_id).status == ended.status
        assert statuses(store) == [ended.status]


def test_what_cleans_up_is_not_cancelled_a_second_time() -> None:
    """A team is closed while a run that was stopped is still storing what it came to."""
    loop = BackgroundLoop()
    begun, cleaning, cleaned = threading.Event(), threading.Event(), threading.Event()

    async def going() -> None:
        try:
            begun.set()
            await asyncio.sleep(60)
        finally:
            cleaning.set()
            await asyncio.sleep(0.05)
            cleaned.set()

    work = going()
    loop.submit(work)
    assert begun.wait(10)
    loop.dropping(work)
    assert cleaning.wait(10)
    loop.cancel()
    loop.stop()
    assert cleaned.is_set()
