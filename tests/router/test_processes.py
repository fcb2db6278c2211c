"""Routers of several processes on one store, on both databases."""

import threading

from pointwork.router import Arm, Router
from pointwork.store import Store

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
