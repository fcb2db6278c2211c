"""The budget ledger: money, tokens, tool calls and turns, reserved before each call and settled after it.

Accounts form a tree (run → subtask → memory, judge, …). A reservation is taken from an account *and all its
ancestors* in one transaction of conditional updates, so concurrent subtasks, threads and processes can not
overdraw any of them. Amounts are integers (nano-USD, tokens, counts); seconds are a deadline that children inherit.

A reservation carries a lease. A process renews those that it holds; when it is killed they run out, and what they
held comes back with the next reservation that would otherwise fail, or when the run is opened again.
"""

import hashlib
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select

from pointwork.budgets import UNITS, Amount, Budget, Remaining, to_nano, to_usd
from pointwork.errors import BudgetExceeded, StoreError, UsageError
from pointwork.store import Store, books, new_id
from pointwork.store.clock import now
from pointwork.store.leases import Leases
from pointwork.store.tables import accounts

# How long a reservation stands that nobody renews, before its holder is taken for dead.
LEASE_SECONDS = 120.0

_MOST_BY = 128


@dataclass(frozen=True)
class Reservation:
    """Taken from an account, and waiting to be settled or released.

    As long as somebody holds this object and the process lives, its lease is renewed. What is dropped without an
    end comes back to the account when the lease has run out.
    """

    id: str
    account: "Account"
    amount: Amount
    by: str
    created: float
    lease: float


class Ledger:
    """Opens accounts in a store.

    Args:
        store: where the books are.
        lease: seconds that a reservation stands, not renewed, before its holder is taken for dead.
        clock: seconds since the epoch, never going back.
    """

    def __init__(self, store: Store, *, lease: float = LEASE_SECONDS, clock: Callable[[], float] = now) -> None:
        self.store = store
        self.lease = lease
        self.clock = clock
        self.leases = Leases(store, max(1.0, lease / 4), clock)

    def open(self, run_id: str, budget: Budget | None = None, *, name: str = "run", new: bool = False) -> "Account":
        """The root account of a run; opened once, found again by a later process.

        What killed processes had reserved for the run comes back, if its lease has run out.

        Args:
            run_id: of the run.
            budget: its limits, where it is opened here; None is no limit.
            name: of the account.
            new: nobody else can know this run yet: it is not looked for first.
        """
        found = None if new else self.find(run_id, "run", name)
        if found is not None:
            self.reclaim(run_id)
            return found
        # the same id for all who open it, so that of two at once only one can
        digest = hashlib.sha256(f"{run_id}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()
        try:
            return self._insert(f"a{digest[:40]}", run_id, "run", name, budget or Budget(), None)
        except StoreError:
            found = self.find(run_id, "run", name)
            if found is None:
                raise
            return found

    def find(self, run_id: str, kind: str, name: str) -> "Account | None":
        """An account opened before, by this or another process."""
        row = self.store.row(
            select(accounts)
            .where(accounts.c.run_id == run_id, accounts.c.kind == kind, accounts.c.name == name)
            .order_by(accounts.c.id)
        )
        return None if row is None else self._account(row)

    def get(self, account_id: str) -> "Account":
        """An account by id, with its ancestors.

        Raises:
            UsageError: there is none.
        """
        row = self.store.row(select(accounts).where(accounts.c.id == account_id))
        if row is None:
            raise UsageError(f"no account {account_id!r} in {self.store!r}")
        return self._account(row)

    def _account(self, row: Mapping[str, Any]) -> "Account":
        parent = None if row["parent_id"] is None else self.get(row["parent_id"])
        return Account(self, row["id"], row["run_id"], row["kind"], row["name"], parent, row["deadline"])

    def _insert(
        self,
        account_id: str,
        run_id: str | None,
        kind: str,
        name: str,
        budget: Budget,
        parent: "Account | None",
    ) -> "Account":
        deadline = None if budget.seconds is None else self.clock() + budget.seconds
        if parent is not None and parent.deadline is not None:
            deadline = parent.deadline if deadline is None else min(deadline, parent.deadline)
        limits = (
            None if budget.usd is None else to_nano(min(budget.usd, to_usd(books.MOST))),
            budget.tokens,
            budget.tool_calls,
            budget.turns,
        )
        row: dict[str, Any] = {
            "id": account_id,
            "parent_id": None if parent is None else parent.id,
            "run_id": run_id,
            "kind": kind,
            "name": name,
            "deadline": deadline,
            # beyond the most that an account can hold there is no limit
            **{
                f"limit_{unit}": None if limit is None else min(limit, books.MOST)
                for unit, limit in zip(UNITS, limits, strict=True)
            },
        }
        # a branch that nothing was spent on yet can be opened again
        with self.store.write(flush=False, durable=parent is None) as connection:
            self.store.insert(connection, accounts, row)
        return Account(self, account_id, run_id, kind, name, parent, deadline)

    def reclaim(self, run_id: str | None) -> int:
        """Give back what reservations of a run hold whose lease has run out; how many there were."""
        self.leases.renew()  # this process lives, even if it slept longer than the lease
        return books.expire(self.store, run_id, self.clock())


@dataclass(frozen=True)
class Account:
    """A node of the budget tree. Make one with ``Ledger.open`` or ``Account.child``."""

    ledger: Ledger
    id: str
    run_id: str | None
    kind: str
    name: str
    parent: "Account | None"
    deadline: float | None

    def child(self, kind: str, name: str, budget: Budget | None = None) -> "Account":
        """An account that draws on this one; ``budget`` narrows it further."""
        insert = self.ledger._insert  # pyright: ignore[reportPrivateUsage]
        return insert(new_id("a"), self.run_id, kind, name, budget or Budget(), self)

    def chain(self) -> "list[Account]":
        """Root first."""
        return ([] if self.parent is None else self.parent.chain()) + [self]

    def _ids(self) -> list[str]:
        return [account.id for account in self.chain()]

    def check_time(self) -> None:
        """Raise BudgetExceeded if the deadline has passed."""
        if self.deadline is not None and self.ledger.clock() >= self.deadline:
            raise BudgetExceeded(f"{self.kind} {self.name!r}: out of time", limit="seconds", account=self.name)

    def reserve(
        self, amount: Amount, *, by: str, model: str | None = None, lease: float | None = None
    ) -> Reservation:
        """Take an upper bound of what a call will need, here and in every ancestor.

        Args:
            amount: the bound.
            by: who wants it.
            model: which model is called.
            lease: seconds before the reservation is given back if nothing is heard of this process; None takes the
                ledger's.

        Raises:
            BudgetExceeded: one of them can not give it, or its time is up; nothing was taken.
        """
        self.check_time()
        store = self.ledger.store
        lease = self.ledger.lease if lease is None else lease
        reservation = Reservation(new_id("r"), self, amount, by, self.ledger.clock(), lease)
        entry = self._entry(reservation, "reserve", amount, reservation.created, model=model)
        entry["lease_until"] = reservation.created + lease
        while True:
            try:
                books.take(store, self._ids(), vars(amount), entry)
                break
            except books.Refused as refused:
                problem = _exceeded(refused.account, amount, by)
                # none: somebody gave something back in between
                if problem is not None and not self.ledger.reclaim(self.run_id):
                    raise problem from None
        self.ledger.leases.hold(reservation.id, reservation, reservation.created + lease, lease)
        return reservation

    def renew(self, reservation: Reservation, seconds: float | None = None) -> bool:
        """Prolong a reservation's lease from now; False if it has ended or its lease had run out."""
        seconds = reservation.lease if seconds is None else seconds
        return books.renew(self.ledger.store, reservation.id, self.ledger.clock() + seconds)

    def settle(
        self,
        reservation: Reservation,
        spent: Amount,
        *,
        seconds: float | None = None,
        model: str | None = None,
        model_version: str | None = None,
    ) -> None:
        """Replace a reservation by what was really spent.

        After its lease had run out, what was spent is booked all the same, once: it was spent. If others have
        taken what the reservation held, the account has then spent more than its limit.

        Raises:
            StoreError: it was settled or released before.
        """
        self._close(reservation, "settle", spent, seconds=seconds, model=model, model_version=model_version)

    def release(self, reservation: Reservation) -> None:
        """Give a reservation back: the call never happened.

        Raises:
            StoreError: it was settled or released before.
        """
        self._close(reservation, "release", Amount())

    def _close(self, reservation: Reservation, kind: str, spent: Amount, **details: Any) -> None:
        entry = self._entry(reservation, kind, spent, self.ledger.clock(), **details)
        books.close(self.ledger.store, self._ids(), vars(reservation.amount), vars(spent), entry)
        self.ledger.leases.drop(reservation.id)

    def _entry(
        self, reservation: Reservation, kind: str, amount: Amount, created: float, **details: Any
    ) -> dict[str, Any]:
        return {
            "reservation_id": reservation.id,
            "account_id": self.id,
            "run_id": self.run_id,
            "kind": kind,
            "by": _short(reservation.by),
            "created": created,
            **vars(amount),
            **details,
        }

    @contextmanager
    def spending(self, amount: Amount, *, by: str) -> Generator["Spending", None, None]:
        """Reserve, run the block, settle what it reports; an exception settles what was reported so far."""
        reservation = self.reserve(amount, by=by)
        spending = Spending()
        started = time.monotonic()
        try:
            yield spending
        finally:
            if spending.amount is None:
                self.release(reservation)
            else:
                self.settle(
                    reservation,
                    spending.amount,
                    seconds=time.monotonic() - started,
                    model=spending.model,
                    model_version=spending.model_version,
                )

    def _rows(self) -> list[dict[str, Any]]:
        return self.ledger.store.rows(select(accounts).where(accounts.c.id.in_(self._ids())))

    def held(self) -> bool:
        """Whether calls that are under way hold tokens or money here or in an ancestor."""
        return any(row["reserved_tokens"] or row["reserved_usd_nano"] for row in self._rows())

    def remaining(self) -> Remaining:
        """What is left, over this account and its ancestors."""
        least: dict[str, int | None] = dict.fromkeys(UNITS)
        for row in self._rows():
            for unit in UNITS:
                if row[f"limit_{unit}"] is not None:
                    left = max(0, row[f"limit_{unit}"] - row[f"spent_{unit}"] - row[f"reserved_{unit}"])
                    known = least[unit]
                    least[unit] = left if known is None else min(known, left)
        seconds = None if self.deadline is None else max(0.0, self.deadline - self.ledger.clock())
        return Remaining(**least, seconds=seconds)

    def share(self) -> float:
        """The least share of a limit that is left, over this account and its ancestors; 1 without limits."""
        shares = [
            (row[f"limit_{unit}"] - row[f"spent_{unit}"] - row[f"reserved_{unit}"]) / max(1, row[f"limit_{unit}"])
            for row in self._rows()
            for unit in UNITS
            if row[f"limit_{unit}"] is not None
        ]
        return min(1.0, max(0.0, min(shares, default=1.0)))

    def spent(self) -> Amount:
        """What this account and its descendants have spent so far."""
        row = next(row for row in self._rows() if row["id"] == self.id)
        return Amount(**{unit: row[f"spent_{unit}"] for unit in UNITS})


class Spending:
    """What a block of ``Account.spending`` reports."""

    def __init__(self) -> None:
        self.amount: Amount | None = None
        self.model: str | None = None
        self.model_version: str | None = None

    def add(self, amount: Amount, *, model: str | None = None, model_version: str | None = None) -> None:
        """Add to what was spent."""
        old = self.amount or Amount()
        self.amount = replace(old, **{unit: getattr(old, unit) + getattr(amount, unit) for unit in UNITS})
        self.model = model or self.model
        self.model_version = model_version or self.model_version


def _short(by: str) -> str:
    """A name that fits its column; of a longer one, both ends."""
    return by if len(by) <= _MOST_BY else f"{by[: _MOST_BY // 2]}…{by[-(_MOST_BY // 2 - 1) :]}"


def _exceeded(row: Mapping[str, Any], amount: Amount, by: str) -> BudgetExceeded | None:
    for unit in UNITS:
        limit = books.MOST if row[f"limit_{unit}"] is None else row[f"limit_{unit}"]
        need, left = getattr(amount, unit), limit - row[f"spent_{unit}"] - row[f"reserved_{unit}"]
        if need > left:
            name = "usd" if unit == "usd_nano" else unit
            shown = [f"{to_usd(x):.3g}" if unit == "usd_nano" else str(x) for x in (need, max(0, left))]
            return BudgetExceeded(
                f"{row['kind']} {row['name']!r}: {by} needs up to {shown[0]} {name}, only {shown[1]} left",
                limit=name,
                account=row["name"],
            )
    return None
