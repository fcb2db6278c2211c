"""Random trees and interleavings of the ledger against a plain-Python model of the same books."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import func, select

from pointwork.budgets import Budget, to_nano
from pointwork.errors import BudgetExceeded, StoreError
from pointwork.ledger import Account, Amount, Ledger, Reservation
from pointwork.store import Store
from pointwork.store.tables import accounts, ledger, metadata

UNITS = ("usd_nano", "tokens", "tool_calls", "turns")
LEASE = 60.0

AMOUNTS = st.builds(Amount, st.integers(0, 400), st.integers(0, 60), st.integers(0, 2), st.integers(0, 2))
BUDGETS = st.builds(
    Budget,
    usd=st.none() | st.integers(0, 2000).map(lambda nano: nano / 1e9),
    tokens=st.none() | st.integers(0, 200),
    tool_calls=st.none() | st.integers(0, 10),
    turns=st.none() | st.integers(0, 10),
    seconds=st.none() | st.integers(0, 500),
)


@dataclass
class Held:
    """A reservation in the model. ``until`` is None once its lease has run out and it was given back."""

    account: Account
    taken: Reservation
    until: float | None


class Books(RuleBasedStateMachine):
    """Two ledgers, as two processes would have them, over one store. ``store`` is set by the test."""

    store: Store

    def __init__(self) -> None:
        super().__init__()
        with self.store.write() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(table.delete())
        self.time = 1e9
        self.books = [Ledger(self.store, lease=LEASE, clock=lambda: self.time) for _ in range(2)]
        self.accounts: list[Account] = []
        self.limits: dict[str, dict[str, int | None]] = {}
        self.used: dict[str, dict[str, int]] = {}
        self.held: dict[str, dict[str, int]] = {}
        self.open: list[Held] = []
        self.ended: list[tuple[Account, Reservation]] = []
        self.late: set[str] = set()  # accounts that a late settlement may have overdrawn

    def _add(self, account: Account, budget: Budget) -> None:
        self.accounts.append(account)
        usd = None if budget.usd is None else to_nano(budget.usd)
        self.limits[account.id] = dict(
            zip(UNITS, (usd, budget.tokens, budget.tool_calls, budget.turns), strict=True)
        )
        self.used[account.id], self.held[account.id] = dict.fromkeys(UNITS, 0), dict.fromkeys(UNITS, 0)

    def _book(self, book: dict[str, dict[str, int]], account: Account, amount: Amount, sign: int = 1) -> None:
        for a in account.chain():
            for unit in UNITS:
                book[a.id][unit] += sign * getattr(amount, unit)

    def _fits(self, account: Account, amount: Amount) -> bool:
        return all(
            limit is None or self.used[a.id][unit] + self.held[a.id][unit] + getattr(amount, unit) <= limit
            for a in account.chain()
            for unit, limit in self.limits[a.id].items()
        )

    def _expire(self) -> int:
        """Give back, in the model, what has run out."""
        gone = [held for held in self.open if held.until is not None and held.until < self.time]
        for held in gone:
            held.until = None
            self._book(self.held, held.account, held.taken.amount, -1)
        return len(gone)

    @initialize(budget=BUDGETS)
    def root(self, budget: Budget) -> None:
        self._add(self.books[0].open("r", budget), budget)

    @precondition(lambda self: len(self.accounts) < 8)
    @rule(data=st.data(), budget=BUDGETS)
    def child(self, data: Any, budget: Budget) -> None:
        parent: Account = data.draw(st.sampled_from(self.accounts))
        child = parent.child("subtask", f"s{len(self.accounts)}", budget)
        own = None if budget.seconds is None else self.time + budget.seconds
        assert child.deadline == min((d for d in (own, parent.deadline) if d is not None), default=None)
        self._add(child, budget)

    @rule(data=st.data(), amount=AMOUNTS, which=st.integers(0, 1), lease=st.none() | st.integers(1, 200))
    def reserve(self, data: Any, amount: Amount, which: int, lease: int | None) -> None:
        account: Account = data.draw(st.sampled_from(self.accounts))
        account = self.books[which].get(account.id)
        in_time = account.deadline is None or self.time < account.deadline
        fits = in_time and (self._fits(account, amount) or (self._expire() > 0 and self._fits(account, amount)))
        if not fits:
            with pytest.raises(BudgetExceeded) as caught:
                account.reserve(amount, by="x", lease=lease)
            assert (caught.value.limit == "seconds") == (not in_time)
            return
        taken = account.reserve(amount, by="x", lease=lease)
        # a copy: nobody has the original any more, as in a process that was killed
        self.open.append(Held(account, copy.copy(taken), self.time + (LEASE if lease is None else lease)))
        self._book(self.held, account, amount)

    @precondition(lambda self: bool(self.open))
    @rule(data=st.data(), share=st.floats(0, 1.2), release=st.booleans())
    def close(self, data: Any, share: float, release: bool) -> None:
        held = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        amount = held.taken.amount
        spent = Amount(**{unit: 0 if release else int(getattr(amount, unit) * share) for unit in UNITS})
        if release:
            held.account.release(held.taken)
        else:
            held.account.settle(held.taken, spent)
        if held.until is not None:
            self._book(self.held, held.account, amount, -1)
        if held.until is None or share > 1:
            self.late.update(a.id for a in held.account.chain())
        self._book(self.used, held.account, spent)
        self.ended.append((held.account, held.taken))

    @precondition(lambda self: bool(self.ended))
    @rule(data=st.data(), release=st.booleans())
    def close_again(self, data: Any, release: bool) -> None:
        account, taken = data.draw(st.sampled_from(self.ended))
        with pytest.raises(StoreError):
            account.release(taken) if release else account.settle(taken, taken.amount)

    @precondition(lambda self: bool(self.open))
    @rule(data=st.data(), seconds=st.integers(1, 200))
    def renew(self, data: Any, seconds: int) -> None:
        held: Held = data.draw(st.sampled_from(self.open))
        assert held.account.renew(held.taken, seconds) == (held.until is not None)
        if held.until is not None:
            held.until = self.time + seconds

    @rule(seconds=st.integers(1, 100))
    def wait(self, seconds: int) -> None:
        self.time += seconds

    @rule(which=st.integers(0, 1))
    def open_again(self, which: int) -> None:
        self._expire()
        assert self.books[which].open("r").id == self.accounts[0].id

    @invariant()
    def the_books_agree(self) -> None:
        for row in self.store.rows(select(accounts)):
            for unit in UNITS:
                spent, held, limit = row[f"spent_{unit}"], row[f"reserved_{unit}"], row[f"limit_{unit}"]
                assert (spent, held) == (self.used[row["id"]][unit], self.held[row["id"]][unit])
                assert held >= 0
                assert limit == self.limits[row["id"]][unit]
                assert limit is None or row["id"] in self.late or spent + held <= limit

    def teardown(self) -> None:
        """When all is settled and every lease has run out, nothing is held."""
        self.time += 1000
        if self.accounts:
            self.books[0].open("r")
        held = [func.sum(accounts.c[f"reserved_{unit}"]) for unit in UNITS]
        row = self.store.row(select(*held)) or {}
        assert not any(row.values())
        leases = select(ledger).where(ledger.c.lease_until.is_not(None))
        assert self.store.rows(leases) == []


def run(store: Store, examples: int, steps: int) -> None:
    machine: Callable[[], Books] = type("Run", (Books,), {"store": store})
    limits = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(machine, settings=limits)


def test_random_books(database: Store) -> None:
    run(database, 25, 25)


@pytest.mark.slow
def test_random_books_for_a_hundred_thousand_steps(database: Store) -> None:
    run(database, 1000, 100)
