"""The budget ledger: never overdrawn, never leaking."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pointwork.budgets import Budget, to_nano, to_usd
from pointwork.errors import BudgetExceeded, StoreError, UsageError
from pointwork.ledger import Account, Amount, Ledger, Reservation
from pointwork.store import Store
from pointwork.store.tables import ledger as ledger_table


@pytest.fixture
def book(store: Store) -> Ledger:
    return Ledger(store)


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


def test_a_reservation_ends_once(book: Ledger) -> None:
    run = book.open("r", Budget(tokens=100))
    taken = run.reserve(Amount(tokens=10), by="x")
    run.settle(taken, Amount(tokens=4))
    with pytest.raises(StoreError):
        run.settle(taken, Amount(tokens=4))
    assert run.spent().tokens == 4
    assert run.remaining().tokens == 96


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


def test_an_account_is_found_again(book: Ledger, store: Store) -> None:
    run = book.open("r", Budget(tokens=100))
    run.reserve(Amount(tokens=60), by="x")
    again = Ledger(store).open("r")
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
    account = Ledger(Store(store_url)).get(account_id)
    while True:
        try:
            taken = account.reserve(Amount(tokens=3), by="x")
        except BudgetExceeded:
            return
        account.settle(taken, Amount(tokens=3))
        given.append(3)


def test_threads_with_stores_of_their_own_do_not_overdraw(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    run = Ledger(Store(url)).open("r", Budget(tokens=200))
    children = [run.child("subtask", f"s{n}") for n in range(4)]
    given: list[int] = []
    threads = [threading.Thread(target=_draw, args=(url, child.id, given)) for child in children]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(given) == 198
    assert run.spent().tokens == 198
    assert run.remaining().tokens == 2


class Tree(RuleBasedStateMachine):
    """Random trees and interleavings against a plain-Python model of the same books."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store("sqlite://")
        self.book = Ledger(self.store)
        self.accounts: list[Account] = []
        self.limits: dict[str, int | None] = {}
        self.open: list[tuple[Account, Reservation, int]] = []
        self.used: dict[str, int] = {}
        self.held: dict[str, int] = {}

    def _add(self, account: Account, limit: int | None) -> None:
        self.accounts.append(account)
        self.limits[account.id], self.used[account.id], self.held[account.id] = limit, 0, 0

    @initialize(limit=st.integers(0, 200))
    def root(self, limit: int) -> None:
        self._add(self.book.open("r", Budget(tokens=limit)), limit)

    @rule(data=st.data(), limit=st.none() | st.integers(0, 100))
    def child(self, data: Any, limit: int | None) -> None:
        parent = data.draw(st.sampled_from(self.accounts))
        self._add(parent.child("subtask", f"s{len(self.accounts)}", Budget(tokens=limit)), limit)

    @rule(data=st.data(), tokens=st.integers(0, 60))
    def reserve(self, data: Any, tokens: int) -> None:
        account: Account = data.draw(st.sampled_from(self.accounts))
        fits = all(
            limit is None or self.used[a.id] + self.held[a.id] + tokens <= limit
            for a in account.chain()
            for limit in [self.limits[a.id]]
        )
        try:
            taken = account.reserve(Amount(tokens=tokens), by="x")
        except BudgetExceeded:
            assert not fits
            return
        assert fits
        self.open.append((account, taken, tokens))
        for a in account.chain():
            self.held[a.id] += tokens

    @rule(data=st.data(), share=st.floats(0, 1), release=st.booleans())
    def close(self, data: Any, share: float, release: bool) -> None:
        if not self.open:
            return
        account, taken, tokens = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        spent = 0 if release else int(tokens * share)
        if release:
            account.release(taken)
        else:
            account.settle(taken, Amount(tokens=spent))
        for a in account.chain():
            self.held[a.id] -= tokens
            self.used[a.id] += spent

    @invariant()
    def books_agree(self) -> None:
        for account in self.accounts:
            assert account.spent().tokens == self.used[account.id]
            limits = [(a.id, self.limits[a.id]) for a in account.chain()]
            left = [limit - self.used[i] - self.held[i] for i, limit in limits if limit is not None]
            assert min(left) >= 0
            assert account.remaining().tokens == min(left)

    def teardown(self) -> None:
        self.store.close()


TestTree = Tree.TestCase
TestTree.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


def test_every_movement_is_in_the_ledger(book: Ledger, store: Store) -> None:
    run = book.open("r", Budget(usd=1))
    taken = run.reserve(Amount(usd_nano=10, tokens=5), by="planner", model="m")
    run.settle(taken, Amount(usd_nano=7, tokens=4), seconds=0.5, model="m", model_version="v2")
    rows = store.rows(ledger_table.select().order_by(ledger_table.c.id))
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


@pytest.mark.parametrize(
    "wrong",
    [{"usd": -1}, {"seconds": float("nan")}, {"tokens": 1.5}, {"usd": "1"}, {"turns": True}, {"usd": 1e400}],
)
def test_limits_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Budget(**wrong)
