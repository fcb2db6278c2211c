"""Routers of several processes on one store, on both databases."""

import threading

from pointwork.router import Arm, Outcome, Router
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
