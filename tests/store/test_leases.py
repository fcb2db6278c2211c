"""Leases, clocks, and processes that are killed while they hold something."""

import gc
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import select

from pointwork.budgets import Budget
from pointwork.errors import BudgetExceeded
from pointwork.ledger import Account, Amount, Ledger, Reservation
from pointwork.store import Store, clock, new_id
from pointwork.store.clock import Clock
from pointwork.store.tables import accounts, ledger


class Time:
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.seconds = 1e9

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def at() -> Time:
    return Time()


@pytest.fixture
def book(database: Store, at: Time) -> Ledger:
    return Ledger(database, lease=60, clock=at)


def entries(store: Store) -> list[tuple[str, int, int | None]]:
    rows = store.rows(select(ledger).order_by(ledger.c.id))
    return [(row["kind"], row["tokens"], row["lease_until"]) for row in rows]


def forgotten(account: Account, tokens: int, **options: Any) -> str:
    """A reservation whose holder is gone; its id."""
    taken = account.reserve(Amount(tokens=tokens), by="x", **options)
    return taken.id


def test_what_a_dead_holder_had_comes_back_when_it_is_needed(book: Ledger, database: Store, at: Time) -> None:
    run = book.open("r", Budget(tokens=100))
    child = run.child("subtask", "s")
    forgotten(child, 80)
    gc.collect()
    with pytest.raises(BudgetExceeded, match="only 20 left"):
        run.reserve(Amount(tokens=21), by="x")
    at.seconds += 61
    run.reserve(Amount(tokens=20), by="x")  # fits without
    assert run.remaining().tokens == 0
    taken = child.reserve(Amount(tokens=80), by="x")
    assert (run.remaining().tokens, child.spent().tokens) == (0, 0)
    child.settle(taken, Amount(tokens=1))
    assert [kind for kind, _, _ in entries(database)] == ["reserve", "reserve", "expire", "reserve", "settle"]


def test_what_a_dead_holder_had_comes_back_when_the_run_is_opened_again(
    book: Ledger, database: Store, at: Time
) -> None:
    run = book.open("r", Budget(tokens=100))
    other = book.open("other", Budget(tokens=100))
    forgotten(run, 80)
    forgotten(other, 70)
    gc.collect()
    at.seconds += 61
    assert Ledger(database, clock=at).open("r").remaining().tokens == 100
    assert other.remaining().tokens == 30  # a run's own business


def test_a_living_holder_keeps_its_reservation(book: Ledger, at: Time) -> None:
    run = book.open("r", Budget(tokens=100))
    taken = run.reserve(Amount(tokens=80), by="x")
    for _ in range(10):  # a call that takes ten leases; the thread does this in between
        at.seconds += 59
        book.leases.renew()
    with pytest.raises(BudgetExceeded):
        run.reserve(Amount(tokens=21), by="x")
    run.settle(taken, Amount(tokens=5))
    assert run.remaining().tokens == 95


def test_a_process_that_slept_longer_than_its_lease_keeps_what_nobody_took(book: Ledger, at: Time) -> None:
    run = book.open("r", Budget(tokens=100))
    taken = run.reserve(Amount(tokens=80), by="x")
    at.seconds += 3600
    with pytest.raises(BudgetExceeded):
        run.reserve(Amount(tokens=21), by="x")
    run.release(taken)
    assert run.remaining().tokens == 100


def test_a_late_settlement_is_booked_once_and_truly(book: Ledger, database: Store, at: Time) -> None:
    run = book.open("r", Budget(tokens=100))
    late = run.reserve(Amount(tokens=80), by="x")
    other = Ledger(database, lease=60, clock=at).get(run.id)  # another process, which holds nothing
    at.seconds += 61
    taken = other.reserve(Amount(tokens=100), by="y")
    run.settle(late, Amount(tokens=70))
    assert (run.spent().tokens, run.remaining().tokens) == (70, 0)
    other.settle(taken, Amount(tokens=90))
    assert run.spent().tokens == 160
    row = database.row(select(accounts))
    assert row is not None
    assert row["reserved_tokens"] == 0
    assert [kind for kind, _, _ in entries(database)] == ["reserve", "expire", "reserve", "settle", "settle"]


def test_a_late_release_gives_nothing_back_twice(book: Ledger, database: Store, at: Time) -> None:
    run = book.open("r", Budget(tokens=100))
    late = run.reserve(Amount(tokens=80), by="x")
    at.seconds += 61
    Ledger(database, clock=at).open("r")
    run.release(late)
    assert run.remaining().tokens == 100
    assert not run.renew(late)


def test_a_lease_of_its_own(book: Ledger, database: Store, at: Time) -> None:
    run = book.open("r", Budget(tokens=100))
    forgotten(run, 80, lease=3600)
    gc.collect()
    at.seconds += 3599
    assert Ledger(database, clock=at).open("r").remaining().tokens == 20
    at.seconds += 2
    assert Ledger(database, clock=at).open("r").remaining().tokens == 100


def test_the_thread_renews(database: Store) -> None:
    book = Ledger(database, lease=2)
    run = book.open("r", Budget(tokens=100))
    taken = run.reserve(Amount(tokens=80), by="x")
    until = entries(database)[0][2]
    end = time.monotonic() + 10
    while entries(database)[0][2] == until and time.monotonic() < end:
        time.sleep(0.05)
    assert entries(database)[0][2] != until
    run.settle(taken, Amount())


_HOLD = """
import sys, time
from pointwork.ledger import Amount, Ledger
from pointwork.store import Store
account = Ledger(Store(sys.argv[1]), lease=float(sys.argv[3])).get(sys.argv[2])
held = [account.reserve(Amount(tokens=10), by="x") for _ in range(5)]
account.settle(held[0], Amount(tokens=4))
print("holding", flush=True)
time.sleep(60)
"""

_DRAW = """
import sys
from pointwork.errors import BudgetExceeded
from pointwork.ledger import Amount, Ledger
from pointwork.store import Store
account = Ledger(Store(sys.argv[1]), lease=0.5).get(sys.argv[2])
print("ready", flush=True)
while True:
    try:
        taken = account.reserve(Amount(tokens=3), by="x")
    except BudgetExceeded:
        break
    account.settle(taken, Amount(tokens=2))
    print("settled", flush=True)
"""


def started(code: str, *arguments: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() in ("holding\n", "ready\n")
    return process


def killed(process: "subprocess.Popen[str]") -> int:
    """Kill a process; how many lines it still had written."""
    process.send_signal(signal.SIGKILL)
    out, _ = process.communicate(timeout=30)
    return out.count("\n")


def test_what_a_killed_process_had_reserved_comes_back(database: Store, database_url: str) -> None:
    run = Ledger(database).open("r", Budget(tokens=100))
    child = run.child("subtask", "s")
    holder = started(_HOLD, database_url, child.id, "3")
    assert run.remaining().tokens == 56
    killed(holder)
    assert run.remaining().tokens == 56
    time.sleep(3.1)
    run.reserve(Amount(tokens=96), by="x")
    assert (run.spent().tokens, run.remaining().tokens) == (4, 0)


def test_processes_that_are_killed_at_any_moment_overdraw_and_leak_nothing(
    database: Store, database_url: str
) -> None:
    run = Ledger(database, lease=0.5).open("r", Budget(tokens=400))
    children = [run.child("subtask", f"s{n}") for n in range(2)]
    first, second = (started(_DRAW, database_url, child.id) for child in children)
    time.sleep(0.15)
    killed(first)
    second.communicate(timeout=60)
    time.sleep(0.6)
    left = run.reserve(Amount(tokens=2), by="x") if run.spent().tokens < 399 else None
    again = started(_DRAW, database_url, run.id)
    again.communicate(timeout=60)
    if left is not None:
        run.settle(left, Amount())
    row = database.row(select(accounts).where(accounts.c.id == run.id))
    assert row is not None
    settled = sum(tokens for kind, tokens, _ in entries(database) if kind == "settle")
    assert settled == row["spent_tokens"] <= 400
    time.sleep(0.6)
    assert Ledger(database).open("r").remaining().tokens == 400 - row["spent_tokens"]
    assert row["spent_tokens"] >= 394  # what did not fit any more: a reservation of 3, 2 of which were spent, and 2


def test_a_forked_process_renews_what_it_reserves_itself(database: Store) -> None:
    book = Ledger(database, lease=1.0)
    run = book.open("r", Budget(tokens=100))
    run.release(run.reserve(Amount(tokens=1), by="x"))
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            taken = run.reserve(Amount(tokens=10), by="child")
            time.sleep(1.6)
            run.settle(taken, Amount(tokens=10))
        os._exit(0)
    os.waitpid(child, 0)
    assert run.spent().tokens == 10
    assert "expire" not in [kind for kind, _, _ in entries(database)]


def test_the_clock_of_a_process_never_goes_back() -> None:
    wall, steady = [1000.0], [5.0]
    read = Clock(lambda: wall[0], lambda: steady[0])
    assert read() == 1000.0
    wall[0], steady[0] = 1001.0, 6.0
    assert read() == 1001.0
    wall[0], steady[0] = 400.0, 8.0  # set back by ten minutes: time goes on by the monotonic clock
    assert read() == 1003.0
    wall[0], steady[0] = 402.0, 10.0
    assert read() == 1005.0
    wall[0], steady[0] = 2000.0, 11.0  # set forward, or the machine slept
    assert read() == 2000.0


def test_a_clock_that_goes_back_prolongs_no_deadline_and_keeps_ids_in_order(
    database: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall, steady = [1000.0], [0.0]
    turned = Clock(lambda: wall[0], lambda: steady[0])
    monkeypatch.setattr(clock, "now", turned)
    monkeypatch.setattr(clock, "_newest", (0, 0))
    book = Ledger(database, lease=60, clock=turned)
    run = book.open("r", Budget(seconds=10, tokens=100))
    before = new_id()
    wall[0], steady[0] = 100.0, 9.0
    assert new_id() > before
    assert run.remaining().seconds == pytest.approx(1.0)
    holder: Reservation | None = run.reserve(Amount(tokens=100), by="x", lease=5)
    holder = None
    gc.collect()
    steady[0] = 9.9
    assert holder is None
    with pytest.raises(BudgetExceeded, match="only 0 left"):
        run.reserve(Amount(tokens=1), by="x")
    steady[0] = 10.0
    with pytest.raises(BudgetExceeded, match="out of time"):
        run.reserve(Amount(), by="x")
    # a younger process reads the clock that was set back: deadline and lease come later there, not earlier
    younger = Ledger(database, clock=lambda: 101.0).open("r")
    assert younger.remaining().seconds == pytest.approx(909.0)
    assert younger.remaining().tokens == 0
    assert Ledger(database, clock=lambda: 1015.0).open("r").remaining().tokens == 100


def test_ids_of_a_process_are_in_order_and_do_not_repeat() -> None:
    ids = [new_id("x") for _ in range(5000)]
    assert ids == sorted(set(ids))
    assert {len(i) for i in ids} == {29}
