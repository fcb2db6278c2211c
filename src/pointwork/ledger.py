"""The budget ledger: money, tokens, tool calls and turns, reserved before each call and settled after it.

Accounts form a tree (run → subtask → memory, judge, …). A reservation is taken from an account *and all its
ancestors* in one transaction of conditional updates, so concurrent subtasks, threads and processes can not
overdraw any of them. Amounts are integers (nano-USD, tokens, counts); seconds are a deadline that children inherit.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, and_, bindparam, insert, or_, select, update

from pointwork.budgets import Budget, to_nano, to_usd
from pointwork.errors import BudgetExceeded, UsageError
from pointwork.store import Store, new_id
from pointwork.store.tables import accounts, ledger

# How long a reservation stands before its holder is taken for dead.
LEASE_SECONDS = 900.0

_UNITS = ("usd_nano", "tokens", "tool_calls", "turns")


@dataclass(frozen=True)
class Amount:
    """What a call takes: nano-USD, tokens, tool calls, model turns."""

    usd_nano: int = 0
    tokens: int = 0
    tool_calls: int = 0
    turns: int = 0

    def __post_init__(self) -> None:
        for unit in _UNITS:
            if getattr(self, unit) < 0:
                raise UsageError(f"an amount can not be negative: {unit}={getattr(self, unit)}")


@dataclass(frozen=True)
class Remaining:
    """What an account can still give; None is no limit.

    Attributes:
        usd_nano, tokens, tool_calls, turns: the least over the account and its ancestors.
        seconds: until the deadline, never negative.
    """

    usd_nano: int | None
    tokens: int | None
    tool_calls: int | None
    turns: int | None
    seconds: float | None

    def describe(self) -> str:
        """For an agent's prompt: ``0.0431 USD, 1200 tokens, 3 tool calls, 12 s`` (limits only)."""
        parts: list[str] = []
        if self.usd_nano is not None:
            parts.append(f"{to_usd(self.usd_nano):.4g} USD")
        parts += [
            f"{value} {word}"
            for value, word in ((self.tokens, "tokens"), (self.tool_calls, "tool calls"), (self.turns, "turns"))
            if value is not None
        ]
        if self.seconds is not None:
            parts.append(f"{self.seconds:.0f} s")
        return ", ".join(parts) or "no limit"


@dataclass(frozen=True)
class Reservation:
    """Taken from an account, and waiting to be settled or released."""

    id: str
    account: "Account"
    amount: Amount
    by: str
    created: float


def _conditions() -> Any:
    return and_(
        *(
            or_(
                accounts.c[f"limit_{unit}"].is_(None),
                accounts.c[f"spent_{unit}"] + accounts.c[f"reserved_{unit}"] + bindparam(f"a_{unit}")
                <= accounts.c[f"limit_{unit}"],
            )
            for unit in _UNITS
        )
    )


_RESERVE = (
    update(accounts)
    .where(accounts.c.id == bindparam("account"), _conditions())
    .values({f"reserved_{unit}": accounts.c[f"reserved_{unit}"] + bindparam(f"a_{unit}") for unit in _UNITS})
)

_SETTLE = (
    update(accounts)
    .where(accounts.c.id == bindparam("account"))
    .values(
        {f"reserved_{unit}": accounts.c[f"reserved_{unit}"] - bindparam(f"a_{unit}") for unit in _UNITS}
        | {f"spent_{unit}": accounts.c[f"spent_{unit}"] + bindparam(f"s_{unit}") for unit in _UNITS}
    )
)


class Ledger:
    """Opens accounts in a store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def open(self, run_id: str, budget: Budget | None = None, *, name: str = "run") -> "Account":
        """The root account of a run; opened once, found again by a later process."""
        found = self.find(run_id, "run", name)
        return found or self._insert(run_id, "run", name, budget or Budget(), None)

    def find(self, run_id: str, kind: str, name: str) -> "Account | None":
        """An account opened before, by this or another process."""
        row = self.store.row(
            select(accounts)
            .where(accounts.c.run_id == run_id, accounts.c.kind == kind, accounts.c.name == name)
            .order_by(accounts.c.id)
        )
        return None if row is None else self.get(row["id"])

    def get(self, account_id: str) -> "Account":
        """An account by id, with its ancestors.

        Raises:
            UsageError: there is none.
        """
        row = self.store.row(select(accounts).where(accounts.c.id == account_id))
        if row is None:
            raise UsageError(f"no account {account_id!r} in {self.store!r}")
        parent = None if row["parent_id"] is None else self.get(row["parent_id"])
        return Account(self, row["id"], row["run_id"], row["kind"], row["name"], parent, row["deadline"])

    def _insert(
        self, run_id: str | None, kind: str, name: str, budget: Budget, parent: "Account | None"
    ) -> "Account":
        account_id = new_id("a")
        deadline = None if budget.seconds is None else time.time() + budget.seconds
        if parent is not None and parent.deadline is not None:
            deadline = parent.deadline if deadline is None else min(deadline, parent.deadline)
        row = {
            "id": account_id,
            "parent_id": None if parent is None else parent.id,
            "run_id": run_id,
            "kind": kind,
            "name": name,
            "deadline": deadline,
            "limit_usd_nano": None if budget.usd is None else to_nano(budget.usd),
            "limit_tokens": budget.tokens,
            "limit_tool_calls": budget.tool_calls,
            "limit_turns": budget.turns,
        }
        with self.store.write() as connection:
            connection.execute(insert(accounts), row)
        return Account(self, account_id, run_id, kind, name, parent, deadline)


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
        return self.ledger._insert(self.run_id, kind, name, budget or Budget(), self)  # pyright: ignore[reportPrivateUsage]

    def chain(self) -> "list[Account]":
        """Root first. All transactions update in this order, so two never wait for each other in a circle."""
        return ([] if self.parent is None else self.parent.chain()) + [self]

    def check_time(self) -> None:
        """Raise BudgetExceeded if the deadline has passed."""
        if self.deadline is not None and time.time() >= self.deadline:
            raise BudgetExceeded(f"{self.kind} {self.name!r}: out of time", limit="seconds", account=self.name)

    def reserve(self, amount: Amount, *, by: str, model: str | None = None) -> Reservation:
        """Take an upper bound of what a call will need, here and in every ancestor.

        Raises:
            BudgetExceeded: one of them can not give it, or its time is up; nothing was taken.
        """
        self.check_time()
        reservation = Reservation(new_id("r"), self, amount, by, time.time())
        parameters = {f"a_{unit}": getattr(amount, unit) for unit in _UNITS}
        store = self.ledger.store
        with store.write() as connection:
            for account in self.chain():
                done = connection.execute(_RESERVE, {"account": account.id, **parameters})
                if done.rowcount != 1:
                    raise _exceeded(connection, account, amount, by)  # rolls the transaction back
            connection.execute(insert(ledger), self._entry(reservation, "reserve", amount, model=model))
        return reservation

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

        Raises:
            StoreError: it was settled or released before.
        """
        self._close(reservation, "settle", spent, seconds=seconds, model=model, model_version=model_version)

    def release(self, reservation: Reservation) -> None:
        """Give a reservation back: the call never happened."""
        self._close(reservation, "release", Amount())

    def _close(self, reservation: Reservation, kind: str, spent: Amount, **details: Any) -> None:
        parameters = {f"a_{unit}": getattr(reservation.amount, unit) for unit in _UNITS}
        parameters |= {f"s_{unit}": getattr(spent, unit) for unit in _UNITS}
        with self.ledger.store.write() as connection:
            connection.execute(insert(ledger), self._entry(reservation, kind, spent, **details))
            for account in self.chain():
                connection.execute(_SETTLE, {"account": account.id, **parameters})

    def _entry(self, reservation: Reservation, kind: str, amount: Amount, **details: Any) -> dict[str, Any]:
        now = time.time()
        return {
            "reservation_id": reservation.id,
            "account_id": self.id,
            "run_id": self.run_id,
            "kind": kind,
            "by": reservation.by,
            "created": now,
            "lease_until": now + LEASE_SECONDS if kind == "reserve" else None,
            **{unit: getattr(amount, unit) for unit in _UNITS},
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
        ids = [account.id for account in self.chain()]
        return self.ledger.store.rows(select(accounts).where(accounts.c.id.in_(ids)))

    def remaining(self) -> Remaining:
        """What is left, over this account and its ancestors."""
        least: dict[str, int | None] = dict.fromkeys(_UNITS)
        for row in self._rows():
            for unit in _UNITS:
                if row[f"limit_{unit}"] is not None:
                    left = max(0, row[f"limit_{unit}"] - row[f"spent_{unit}"] - row[f"reserved_{unit}"])
                    known = least[unit]
                    least[unit] = left if known is None else min(known, left)
        seconds = None if self.deadline is None else max(0.0, self.deadline - time.time())
        return Remaining(**least, seconds=seconds)

    def share(self) -> float:
        """The least share of a limit that is left, over this account and its ancestors; 1 without limits."""
        shares = [
            (row[f"limit_{unit}"] - row[f"spent_{unit}"] - row[f"reserved_{unit}"]) / max(1, row[f"limit_{unit}"])
            for row in self._rows()
            for unit in _UNITS
            if row[f"limit_{unit}"] is not None
        ]
        return min(1.0, max(0.0, min(shares, default=1.0)))

    def spent(self) -> Amount:
        """What this account and its descendants have spent so far."""
        row = next(row for row in self._rows() if row["id"] == self.id)
        return Amount(**{unit: row[f"spent_{unit}"] for unit in _UNITS})


class Spending:
    """What a block of ``Account.spending`` reports."""

    def __init__(self) -> None:
        self.amount: Amount | None = None
        self.model: str | None = None
        self.model_version: str | None = None

    def add(self, amount: Amount, *, model: str | None = None, model_version: str | None = None) -> None:
        """Add to what was spent."""
        old = self.amount or Amount()
        self.amount = replace(old, **{unit: getattr(old, unit) + getattr(amount, unit) for unit in _UNITS})
        self.model = model or self.model
        self.model_version = model_version or self.model_version


def _exceeded(connection: Connection, account: Account, amount: Amount, by: str) -> BudgetExceeded:
    row = connection.execute(select(accounts).where(accounts.c.id == account.id)).mappings().one()
    for unit in _UNITS:
        limit, need = row[f"limit_{unit}"], getattr(amount, unit)
        left = None if limit is None else limit - row[f"spent_{unit}"] - row[f"reserved_{unit}"]
        if left is not None and need > left:
            name = "usd" if unit == "usd_nano" else unit
            shown = [f"{to_usd(x):.3g}" if unit == "usd_nano" else str(x) for x in (need, left)]
            return BudgetExceeded(
                f"{account.kind} {account.name!r}: {by} needs up to {shown[0]} {name}, only {shown[1]} left",
                limit=name,
                account=account.name,
            )
    raise UsageError(f"account {account.id!r} is gone from the store")
