"""Routers of several processes on one store, on both databases."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, insert, select, text, update

from pointwork.errors import StoreError
from pointwork.portable import export_decisions, import_decisions
from pointwork.router import Arm, Outcome, Router, kept, persistence, trial
from pointwork.router.log import Log
from pointwork.store import Store, tables

ARMS = [Arm("small", usd_per_mtok=(0.1, 0.4)), Arm("large", usd_per_mtok=(3, 15))]


def test_versions_that_are_written_at_once_have_numbers_of_their_own(database_url: str):
    routers = [Router(ARMS, store=Store(database_url)) for _ in range(3)]
    for number, router in enumerate(routers):
        router.decide(f"text {number}")
    start, numbers = threading.Barrier(len(routers)), list[int]()

    def keep(router: Router) -> None:
        start.wait()
        numbers.extend(router.checkpoint() for _ in range(5))

    threads = [threading.Thread(target=keep, args=(router,)) for router in routers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(numbers)) == len(numbers) == 15
    assert [row["version"] for row in routers[0].versions() if row["live"]] == [max(numbers)]


def until_it_waits(writer: threading.Thread, store: Store) -> None:
    """Until a thread waits for another's transaction, or has ended; on SQLite it can do nothing else than wait."""
    while not store.one_writer and writer.is_alive():
        if store.rows(text("SELECT pid FROM pg_locks WHERE NOT granted")):
            return


@pytest.mark.parametrize("name", ["default", "other"])
def test_an_outcome_that_another_process_is_still_storing_is_not_passed_over(database_url: str, name: str):
    stores = [Store(database_url) for _ in range(3)]
    router, other = (Router(ARMS, store=store, name=n) for store, n in zip(stores, ("default", name), strict=False))
    ids = [router.decide(f"text {number}").id for number in range(2)]
    stores[0].flush()
    other.learn(ids[1] if name == "default" else other.decide("text").id, Outcome(1.0))
    later = threading.Thread(target=stores[1].flush)
    row = {"decision_id": ids[0], "created": 1e9, "quality": 1.0, "source": "judge"}
    with stores[2].write() as connection:
        stores[2].insert(connection, tables.outcomes, row)  # it has its number, but does not show yet
        later.start()
        until_it_waits(later, stores[0])
        router.sync()
    later.join()
    router.sync()
    assert sum(row["graded"] for row in router.show()) == (2 if name == "default" else 1)


def test_what_was_learnt_of_an_arm_is_not_lost_by_a_process_that_does_not_have_it(database_url: str):
    older = Router(ARMS, store=Store(database_url))
    more = [*ARMS, Arm("new", usd_per_mtok=(1, 1))]
    store = Store(database_url)
    newer = Router(more, store=store)
    for number in range(10):
        newer.learn(newer.decide(f"text {number}", ["new"]).id, Outcome(0.9, 1e-3))
    store.flush()
    older.checkpoint()
    assert [arm.name for arm in older.arms] == ["small", "large"]
    assert Router(more, store=Store(database_url)).show()[2]["graded"] == 10


def test_the_clock_counts_the_decisions_of_all_processes(database_url: str):
    routers = [Router(ARMS, store=Store(database_url), seed=seed) for seed in range(3)]
    for number in range(10):
        for one in routers:
            one.learn(one.decide(f"text {number}").id, Outcome(0.5))
    for one in routers:
        one.checkpoint()
    assert {Router(ARMS, store=Store(database_url)).clock, *(one.clock for one in routers[2:])} == {30}


def debt_of(router: Router) -> float:
    return router._core.pacer.debt  # pyright: ignore[reportPrivateUsage]


def test_a_decision_that_another_process_stores_late_is_not_passed_over(database_url: str):
    """It was made before this process last looked, and stored after: its money is spent all the same."""
    stores = [Store(database_url) for _ in range(2)]
    router, other = (Router(ARMS, budget_per_request=1e-3, store=store) for store in stores)
    for number in range(3):
        other.decide(f"text {number}", ["large"])  # waits in its process
    own = router.decide("text", ["large"])
    router.sync()
    router.checkpoint()
    before, clock = debt_of(router), router.clock
    stores[1].flush()
    assert router.sync() == 3
    assert router.clock > clock
    assert debt_of(router) > before
    found = debt_of(router)
    assert router.sync() == 0
    again = Router(ARMS, budget_per_request=1e-3, store=Store(database_url))  # from the version of before
    assert (again.clock, debt_of(again)) == (router.clock, found)
    for one in (router, again):
        one.learn(own.id, Outcome(0.5, 5e-3))
        assert debt_of(one) == debt_of(router)
        assert one.sync() in (0, 1)  # the other's outcome, but no decision twice
    assert debt_of(router) == debt_of(again)


def test_an_outcome_of_a_decision_that_was_stored_late_charges_it_too(database_url: str):
    stores = [Store(database_url) for _ in range(2)]
    router, other = (Router(ARMS, budget_per_request=1e-3, store=store) for store in stores)
    late = other.decide("text", ["large"])
    for _ in range(3):
        router.decide("text", ["small"])
    router.sync()
    stores[1].flush()
    before = debt_of(router)
    router.learn(late.id, Outcome(0.5, 4e-3))
    assert router.clock == 4  # of all processes
    assert debt_of(router) - before > 2.9  # of budgets: what it cost, less its own
    assert router.sync() == 0


def test_a_decision_that_is_stored_hours_late_counts_once(database_url: str):
    """Its process was suspended, or wrote late: when it was made says nothing about when it came."""
    now = [1e9]
    stores = [Store(database_url) for _ in range(2)]
    router, other = (
        Router(ARMS, budget_per_request=1e-3, store=store, time_source=lambda: now[0]) for store in stores
    )
    late = [other.decide(f"text {number}", ["large"]).id for number in range(3)]
    other.learn(late[0], Outcome(0.5, 4e-3))
    now[0] += 30_000
    for number in range(5):
        router.decide(f"own {number}", ["large"])
    router.sync()
    router.checkpoint()
    before, now[0] = debt_of(router), now[0] + 30_000
    stores[1].flush()
    assert router.sync() == 4
    assert debt_of(router) > before + 4
    assert router.show()[1]["graded"] == 1
    assert router.sync() == 0
    again = Router(ARMS, budget_per_request=1e-3, store=Store(database_url))  # from the version of before
    assert debt_of(again) == pytest.approx(debt_of(router))
    router.checkpoint()
    again = Router(ARMS, budget_per_request=1e-3, store=Store(database_url))  # from the version of after
    assert debt_of(again) == debt_of(router)
    assert again.sync() == 0


@pytest.mark.parametrize("way", ["flush", "flush of another router", "import"])
def test_a_decision_that_another_process_is_still_storing_is_not_passed_over(
    database_url: str, way: str, tmp_path: Path
):
    """On PostgreSQL a row has its number before it shows: one with a higher number must not show before it."""
    stores = [Store(database_url) for _ in range(3)]
    router = Router(ARMS, store=stores[0])
    other = Router(ARMS, store=stores[1], name="other" if "another" in way else "default")
    first = router.decide("text").id
    lines = tmp_path / "lines.jsonl"
    lines.write_bytes(b"".join(export_decisions(stores[0])).replace(first.encode(), b"imported"))
    (row,) = stores[0].rows(select(tables.decisions))
    del row["number"]
    router.sync()
    if way != "import":
        other.decide("text")
        later = threading.Thread(target=stores[1].flush)
    else:
        later = threading.Thread(target=import_decisions, args=(stores[1], lines))
    with stores[2].write() as connection:
        stores[2].insert(
            connection, tables.decisions, {**row, "id": "slow"}
        )  # it has its number, but does not show yet
        later.start()
        until_it_waits(later, stores[0])
        seen = router.sync()
    later.join()
    assert seen + router.sync() == (1 if "another" in way else 2)


def test_what_other_routers_store_is_looked_at_once(database_url: str):
    stores = [Store(database_url) for _ in range(2)]
    idle, busy = (
        Router(ARMS, store=store, name=name) for store, name in zip(stores, ("idle", "busy"), strict=True)
    )
    idle.learn(idle.decide("text").id, Outcome(0.5))
    idle.keep()
    versions, asked = len(idle.versions()), list[str]()
    engine = stores[0]._database.engine  # pyright: ignore[reportPrivateUsage]
    for _ in range(2):
        for number in range(3):
            busy.learn(busy.decide(f"text {number}").id, Outcome(0.5))
        stores[1].flush()
        assert idle.sync() == 0
        tie = idle._link  # pyright: ignore[reportPrivateUsage]
        assert tie is not None
        assert (tie.cursor, tie.arrived) == tie.log.tail()
    event.listen(engine, "before_cursor_execute", lambda *call: asked.append(call[2]))
    idle.sync()
    assert not [query for query in asked if "decisions.number >" in query or "outcomes.id >" in query]
    idle.keep()
    Router(ARMS, store=Store(database_url), name="idle").keep()
    assert len(idle.versions()) == versions  # it knows nothing new


def test_to_look_for_new_decisions_is_not_to_read_the_log(tmp_path: Path):
    store = Store(f"sqlite:///{tmp_path / 'router.db'}")
    router = Router(ARMS, store=store)
    router.decide("text")
    asked: list[tuple[str, Any]] = []
    engine = store._database.engine  # pyright: ignore[reportPrivateUsage]
    with store.write() as connection:
        event.listen(engine, "before_cursor_execute", lambda *call: asked.append(call[2:4]))
        router.sync()
        (found,) = [call for call in asked if call[0].startswith("SELECT decisions.")]
        plan = str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {found[0]}", found[1]).all())
    assert "SEARCH decisions USING INDEX ix_decisions_number (number>?)" in plan


def test_a_candidate_goes_on_with_all_that_it_was_not_taught(database_url: str):
    """It learns from what was made first, which is not what was stored first."""
    now = [1e9]
    stores = [Store(database_url) for _ in range(2)]
    router, other = (Router(ARMS, store=store, time_source=lambda: now[0]) for store in stores)
    for number in range(12):
        one = other if number % 3 == 1 else router  # the other stores its own at the end
        one.learn(one.decide(f"text {number}").id, Outcome(0.5, 1e-3))
        now[0] += 1000
    router.sync()
    stores[1].flush()
    for train in (0.0, 0.5, 0.9):
        candidate = router.replay("thompson", train=train)
        tie = router._link  # pyright: ignore[reportPrivateUsage]
        assert tie is not None
        tie.log.propose(candidate.state, candidate.policy, candidate.trained, now[0], {})
        router.sync()
        assert router.policy.name == "thompson"
        assert router._core.pacer.seen == 12  # pyright: ignore[reportPrivateUsage]
        assert sum(row["graded"] for row in router.show()) == 12


def test_a_version_of_an_older_package_goes_on_where_it_was(database_url: str):
    """Those say when they last looked, and what they had seen of the ten minutes before."""
    now = [1e9]
    stores = [Store(database_url) for _ in range(2)]
    router, other = (
        Router(ARMS, budget_per_request=1e-3, store=store, time_source=lambda: now[0]) for store in stores
    )
    router.decide("long ago", ["large"])
    late, now[0] = other.decide("stored late", ["large"]).id, now[0] + 1000
    newest = router.decide("newest", ["large"])
    router.sync()
    core, tie = router._core, router._link  # pyright: ignore[reportPrivateUsage]
    assert tie is not None
    place = {"cursor": tie.cursor, "synced": now[0], "floor": 0.0, "seen": {newest.id: now[0]}, "ask": {}}
    state = persistence.dump(core, place, flying_only=True)
    assert tie.log.publish(state, core, now[0], {}, tie.log.head()[0])
    with stores[0].write() as connection:
        connection.execute(update(tables.decisions).values(number=None))
    again = Router(ARMS, budget_per_request=1e-3, store=Store(database_url), time_source=lambda: now[0])
    assert debt_of(again) == debt_of(router)
    before, now[0] = debt_of(again), now[0] + 1000
    stores[1].flush()
    assert [again.sync(), again.sync()] == [1, 0]
    assert debt_of(again) > before
    again.learn(late, Outcome(0.5, 1e-3))


def judged(store: Store) -> Router:
    """A router whose log says that the large arm is better."""
    router = Router(ARMS, "random", store=store, seed=1)
    for number in range(400):
        decision = router.decide(f"text {number}")
        router.learn(decision.id, Outcome(0.9 if decision.arm == "large" else 0.2, 1e-4))
    store.flush()
    return router


@pytest.mark.parametrize("when", ["during the trial", "after the trial"])
def test_of_two_promotions_at_once_the_second_is_judged_anew(
    database_url: str, monkeypatch: pytest.MonkeyPatch, when: str
):
    """Its gain was measured against a version that is no longer live."""
    router = judged(Store(database_url))
    other = Router(ARMS, "random", store=Store(database_url))
    place, name = (trial, "run_trial") if when == "during the trial" else (router, "checkpoint")
    usual, found = getattr(place, name), list[Any]()

    def meanwhile(*arguments: Any) -> Any:
        monkeypatch.setattr(place, name, usual)
        done = usual(*arguments)
        assert other.promote("thompson").verdict.passed
        found.extend(other.versions())
        return done

    monkeypatch.setattr(place, name, meanwhile)
    with pytest.raises(StoreError, match="promoted meanwhile.*linucb was not made live"):
        router.promote("linucb")
    assert router.policy.name == "thompson"
    assert router.versions() == found
    assert [row["policy"] for row in found if row["live"]] == ["thompson"]
    assert router.rollback() < max(row["version"] for row in router.versions())
    assert router.policy.name == "random"


@pytest.mark.parametrize("way", ["rollback", "rollback_of"])
def test_going_back_does_not_undo_what_was_promoted_meanwhile(
    database_url: str, monkeypatch: pytest.MonkeyPatch, way: str
):
    router = judged(Store(database_url))
    assert router.promote("thompson").verdict.passed
    log = Log(Store(database_url), router.name)
    candidate, usual = router.replay("linucb"), kept.way_back

    def meanwhile(*arguments: Any) -> kept.Back:
        found = usual(*arguments)
        log.propose(candidate.state, "linucb", candidate.trained, 1e9, {})
        return found

    monkeypatch.setattr(kept, "way_back", meanwhile)
    with pytest.raises(StoreError, match="made live meanwhile.*nothing was changed"):
        router.rollback() if way == "rollback" else Router.rollback_of(database_url, router.name)
    assert [row["policy"] for row in router.versions() if row["live"]] == ["linucb"]


def test_a_version_that_is_gone_is_not_gone_back_to(database: Store):
    router = Router(ARMS, store=database)
    router.checkpoint()
    with pytest.raises(StoreError, match="version 9 is no longer kept"):
        Log(database, router.name).make_live(9, 2)
    assert [row["version"] for row in router.versions() if row["live"]] == [2]


@pytest.mark.parametrize("what", ["publish", "propose", "make_live"])
def test_what_another_process_is_just_making_live_is_not_written_over(database_url: str, what: str):
    stores = [Store(database_url) for _ in range(2)]
    router = Router(ARMS, store=stores[0])
    assert router.checkpoint() == 2
    log, core, done = Log(stores[0], router.name), router._core, list[Any]()  # pyright: ignore[reportPrivateUsage]
    ways: dict[str, Callable[[], Any]] = {
        "publish": lambda: log.publish(b"late", core, 1e9, {}, 2),
        "propose": lambda: log.propose(b"late", "linucb", 1, 1e9, {}, 0),
        "make_live": lambda: log.make_live(1, 2),
    }

    def write() -> None:
        try:
            done.append(ways[what]())
        except StoreError as error:
            done.append("nothing was changed" in str(error))

    later, table = threading.Thread(target=write), tables.router_versions
    row = {"router": router.name, "version": 3, "policy": "thompson", "state": b"first", "clock": 1}
    with stores[1].write() as connection:
        stores[1].versions_in_turn(connection)
        connection.execute(update(table).values(live=False))
        promoted = {**row, "id": "rv3", "metrics": {"promotion": 3}, "live": True, "created": 1e9}
        connection.execute(insert(table).values(promoted))
        later.start()
        until_it_waits(later, stores[0])
    later.join()
    assert done == [True if what == "make_live" else None]
    assert [row["version"] for row in router.versions() if row["live"]] == [3]
    assert len(router.versions()) == 3


def test_a_promotion_elsewhere_does_not_lose_what_was_decided_here(database_url: str):
    """The version that came in did not know it, and the log was not asked: it had been counted here once."""
    stores = [Store(database_url) for _ in range(2)]
    router, other = (Router(ARMS, budget_per_request=1e-3, store=store) for store in stores)
    for number in range(7):
        router.decide(f"text {number}", ["large"])
    known, tie = other._core, other._link  # pyright: ignore[reportPrivateUsage]
    assert tie is not None
    state = persistence.dump(known, {**tie.place(), "ask": {}})
    tie.log.propose(state, "linucb", known.clock, 1e9, {})
    before = debt_of(router)
    router.sync()
    assert router.clock == 7
    assert debt_of(router) == before
    other.sync()
    assert (other.clock, debt_of(other)) == (7, before)
