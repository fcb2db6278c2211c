"""The budget ledger: never overdrawn, never leaking."""

import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.budgets import Budget, to_nano, to_usd
from pointwork.errors import BudgetExceeded, StoreError, UsageError
from pointwork.ledger import Account, Amount, Ledger, Reservation
from pointwork.store import Store
from pointwork.store.tables import accounts
from pointwork.store.tables import ledger as ledger_table


@pytest.fixture
def book(database: Store) -> Ledger:
    return Ledger(database)


def test_settling_frees_what_was_not_spent(book: Ledger) -> None:
    run = book.open("r", Budget(usd=1e-6, tokens=100))
    taken = run.reserve(Amount(usd_nano=900, tokens=80), by="x")
    assert run.remaining().tokens == 20
    run.settle(taken, Amount(usd_nano=100, tokens=30))
    assert (run.remaining().usd_nano, run.remaining().tokens) == (900, 70)
    assert run.spent() == Amount(usd_nano=100, tokens=30)


def test_a_child_draws_on_its_parents_remainder(book: Ledger) -> None:
    run = book.open("r", Budget(tokens=100))
    first, second = run.child("subtask", "s1"), run.child("subtask", "s2", Budget(tokens=90))
    first.reserve(Amount(tokens=60), by="x")
    with pytest.raises(BudgetExceeded, match="only 40 left") as caught:
        second.reserve(Amount(tokens=41), by="agent:y")
    assert caught.value.limit == "tokens"
    assert second.remaining().tokens == 40
    assert first.spent() == Amount()


def test_a_refused_reservation_takes_nothing_anywhere(book: Ledger) -> None:
    run = book.open("r", Budget(tokens=100))
    child = run.child("subtask", "s1", Budget(tokens=10))
    with pytest.raises(BudgetExceeded, match="'s1'"):
        child.reserve(Amount(tokens=11), by="x")
    assert run.remaining().tokens == 100


def test_time_is_a_deadline_that_children_inherit(book: Ledger) -> None:
    run = book.open("r", Budget(seconds=0.05))
    child = run.child("subtask", "s", Budget(seconds=99))
    assert child.deadline == run.deadline
    time.sleep(0.06)
    with pytest.raises(BudgetExceeded, match="out of time"):
        child.reserve(Amount(), by="x")
    assert child.remaining().seconds == 0


def test_a_zero_budget_gives_nothing_but_nothing(book: Ledger) -> None:
    run = book.open("r", Budget(usd=0, tokens=0, tool_calls=0))
    run.reserve(Amount(), by="x")
    for amount in (Amount(usd_nano=1), Amount(tokens=1), Amount(tool_calls=1)):
        with pytest.raises(BudgetExceeded):
            run.reserve(amount, by="x")


def test_an_account_is_found_again(book: Ledger, database: Store) -> None:
    run = book.open("r", Budget(tokens=100))
    run.reserve(Amount(tokens=60), by="x")
    again = Ledger(database).open("r")
    assert again.id == run.id
    assert again.remaining().tokens == 40


def test_spending_settles_what_was_reported_even_if_the_block_fails(book: Ledger) -> None:
    run = book.open("r", Budget(tokens=100))
    with pytest.raises(ValueError), run.spending(Amount(tokens=50), by="x") as spending:  # noqa: PT012
        spending.add(Amount(tokens=7))
        raise ValueError
    assert run.spent().tokens == 7
    with run.spending(Amount(tokens=50), by="x"):
        pass
    assert run.remaining().tokens == 93


def _draw(store_url: str, account_id: str, given: list[int]) -> None:
    store = Store(store_url)
    account = Ledger(store).get(account_id)
    while True:
        try:
            taken = account.reserve(Amount(tokens=3), by="x")
        except BudgetExceeded:
            break
        account.settle(taken, Amount(tokens=3))
        given.append(3)
    store.close()


@pytest.mark.parametrize("own", [True, False], ids=["a store each", "one store"])
def test_four_threads_do_not_overdraw(database: Store, database_url: str, own: bool) -> None:
    book = Ledger(database)
    run = book.open("r", Budget(tokens=150))
    middle = run.child("subtask", "s")
    # two draw on the same account, and all on two ancestors: where rows could be locked in a circle
    children = [middle.child("memory", "m"), middle.child("judge", "j"), middle, middle]
    given: list[int] = []

    def draw(account: Account) -> None:
        while True:
            try:
                taken = account.reserve(Amount(tokens=3), by="x")
            except BudgetExceeded:
                return
            account.settle(taken, Amount(tokens=3))
            given.append(3)

    threads = [
        threading.Thread(target=_draw, args=(database_url, child.id, given))
        if own
        else threading.Thread(target=draw, args=(child,))
        for child in children
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(given) == 150
    assert (run.spent().tokens, middle.spent().tokens, run.remaining().tokens) == (150, 150, 0)


@pytest.mark.parametrize("end", ["settle", "release"])
@pytest.mark.parametrize("then", ["settle", "release"])
def test_a_reservation_ends_once(book: Ledger, end: str, then: str) -> None:
    run = book.open("r", Budget(tokens=100))
    taken = run.reserve(Amount(tokens=10), by="x")

    def close(how: str) -> None:
        if how == "settle":
            run.settle(taken, Amount(tokens=4))
        else:
            run.release(taken)

    close(end)
    before = run.remaining()
    with pytest.raises(StoreError, match="before"):
        close(then)
    assert run.remaining() == before


def test_two_threads_end_the_same_reservation_once(book: Ledger) -> None:
    run = book.open("r", Budget(tokens=1000))
    for _ in range(10):
        taken = run.reserve(Amount(tokens=10), by="x")
        failed: list[StoreError] = []

        def close(how: str, taken: Reservation = taken, failed: list[StoreError] = failed) -> None:
            try:
                run.settle(taken, Amount(tokens=4)) if how == "settle" else run.release(taken)
            except StoreError as error:
                failed.append(error)

        threads = [threading.Thread(target=close, args=(how,)) for how in ("settle", "release", "settle")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(failed) == 2
    assert run.remaining().tokens == 1000 - run.spent().tokens


def test_two_that_open_a_run_at_once_open_the_same_account(database_url: str) -> None:
    stores = [Store(database_url) for _ in range(4)]
    start, opened = threading.Barrier(4), list[Account]()

    def open_(store: Store) -> None:
        book = Ledger(store)
        start.wait()
        opened.append(book.open("r", Budget(tokens=10)))

    threads = [threading.Thread(target=open_, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({account.id for account in opened}) == 1
    for store in stores:
        store.close()


def test_several_limits_each_refuse(book: Ledger) -> None:
    run = book.open("r", Budget(usd=1e-6, tokens=100, tool_calls=2, turns=3))
    for limit, amount in (
        ("usd", Amount(usd_nano=1001)),
        ("tokens", Amount(tokens=101)),
        ("tool_calls", Amount(tool_calls=3)),
        ("turns", Amount(turns=4)),
    ):
        with pytest.raises(BudgetExceeded) as caught:
            run.reserve(amount, by="x")
        assert (caught.value.limit, caught.value.account) == (limit, "run")
    run.reserve(Amount(1000, 100, 2, 3), by="x")


def test_amounts_stay_within_64_bits(book: Ledger) -> None:
    run = book.open("r", Budget(usd=1e300))
    for _ in range(4):
        run.reserve(Amount(usd_nano=2**60), by="x")
    with pytest.raises(BudgetExceeded):
        run.reserve(Amount(usd_nano=1), by="x")
    for wrong in (2**60 + 1, -1):
        with pytest.raises(UsageError):
            Amount(tokens=wrong)


def test_more_spent_than_reserved_is_booked_as_it_was(book: Ledger) -> None:
    run = book.open("r", Budget(tokens=100))
    run.settle(run.reserve(Amount(tokens=50), by="x"), Amount(tokens=120))
    assert (run.spent().tokens, run.remaining().tokens, run.share()) == (120, 0, 0.0)
    with pytest.raises(BudgetExceeded, match="only 0 left"):
        run.reserve(Amount(tokens=1), by="x")


def test_a_long_name_is_shortened_at_its_middle(book: Ledger, database: Store) -> None:
    run = book.open("r")
    run.release(run.reserve(Amount(), by="tool:" + "x" * 200 + ":end"))
    name = database.rows(ledger_table.select())[0]["by"]
    assert len(name) == 128
    assert name.startswith("tool:x")
    assert name.endswith("x:end")


def test_an_account_that_is_gone_is_named(book: Ledger, database: Store) -> None:
    run = book.open("r")
    with database.write() as connection:
        connection.execute(accounts.delete())
    with pytest.raises(StoreError, match="gone"):
        run.reserve(Amount(), by="x")
    with pytest.raises(UsageError, match="no account"):
        book.get(run.id)


def test_every_movement_is_in_the_ledger(book: Ledger, database: Store) -> None:
    run = book.open("r", Budget(usd=1))
    taken = run.reserve(Amount(usd_nano=10, tokens=5), by="planner", model="m")
    run.settle(taken, Amount(usd_nano=7, tokens=4), seconds=0.5, model="m", model_version="v2")
    rows = database.rows(ledger_table.select().order_by(ledger_table.c.id))
    assert [(row["kind"], row["by"], row["usd_nano"], row["model_version"]) for row in rows] == [
        ("reserve", "planner", 10, None),
        ("settle", "planner", 7, "v2"),
    ]
    assert [row["lease_until"] for row in rows] == [None, None]


@given(st.floats(0, 1e6))
def test_money_is_rounded_up_by_less_than_a_nano(usd: float) -> None:
    # a thousandth of a nano is taken for rounding noise of the float, not for money
    slack = 1e-3 + usd * 1e-6
    assert -slack <= to_nano(usd) - usd * 1e9 < 1 + slack
    assert to_usd(to_nano(usd)) == pytest.approx(usd, abs=1.1e-9)


@pytest.mark.parametrize("wrong", [-1, 1.5, "5", True, 2**61])
def test_amounts_are_whole_numbers(wrong: Any) -> None:
    with pytest.raises(UsageError, match="tokens"):
        Amount(tokens=wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"usd": -1}, {"seconds": float("nan")}, {"tokens": 1.5}, {"usd": "1"}, {"turns": True}, {"usd": 1e400}],
)
def test_limits_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Budget(**wrong)
