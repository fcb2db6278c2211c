"""Routers of several processes on one store, on both databases."""

import threading

import pytest

from pointwork.router import Arm, Outcome, Router, link, persistence
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


def test_an_outcome_that_another_process_is_still_storing_is_not_passed_over(database_url: str):
    stores = [Store(database_url) for _ in range(3)]
    router, other = (Router(ARMS, store=store) for store in stores[:2])
    ids = [router.decide(f"text {number}").id for number in range(2)]
    stores[0].flush()
    other.learn(ids[1], Outcome(1.0))
    later = threading.Thread(target=stores[1].flush)
    row = {"decision_id": ids[0], "created": 1e9, "quality": 1.0, "source": "judge"}
    with stores[2].write() as connection:
        stores[2].insert(connection, tables.outcomes, row)  # it has its number, but does not show yet
        later.start()
        later.join(0.5)
        router.sync()
    later.join()
    router.sync()
    assert sum(row["graded"] for row in router.show()) == 2


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
    router.decide("text", ["small"])
    router.sync()
    stores[1].flush()
    before = debt_of(router)
    router.learn(late.id, Outcome(0.5, 4e-3))
    assert debt_of(router) - before > 2.9  # of budgets: what it cost, less its own
    assert router.sync() == 0


def test_a_version_remembers_no_more_decisions_than_it_should(database_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(link, "MOST_KEPT", 5)
    store = Store(database_url)
    router = Router(ARMS, budget_per_request=1e-3, store=store)
    for number in range(20):
        router.decide(f"text {number}")
    router.checkpoint()
    again = Router(ARMS, budget_per_request=1e-3, store=Store(database_url))
    assert (again.clock, debt_of(again)) == (20, debt_of(router))
    assert again.sync() == 0


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
