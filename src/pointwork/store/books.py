"""The account tree in SQL: take from a whole chain of accounts, give back, expire; each in one transaction.

A chain (root first) is changed by one UPDATE whose condition is checked for each of its rows; fewer rows than the
chain is long, and everything is rolled back. Where several transactions run at once, the root is updated first, by
itself: whoever has its row has the tree, and two can not wait for each other in a circle.

What a reservation holds is given back once, by whoever sets its ``lease_until`` to NULL: the settlement, the
release, or, after the lease, anybody (``expire``). A settlement that comes after that adds what was spent, and no
more.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, and_, bindparam, exists, func, null, select, update

from pointwork.budgets import UNITS
from pointwork.errors import StoreError
from pointwork.store.store import Row, Store
from pointwork.store.tables import accounts, ledger

# No account holds more than this, whatever its limits: sums stay within 64 bits.
MOST = 2**62

Amounts = Mapping[str, int]


class Refused(Exception):
    """An account can not give what was asked; nothing was taken.

    Attributes:
        account: its row.
    """

    def __init__(self, account: Row) -> None:
        super().__init__(account["id"])
        self.account = account


def _in_chain(length: int) -> Any:
    return accounts.c.id.in_([bindparam(f"c{i}") for i in range(length)])


def _taking(length: int) -> Any:
    fits = [
        accounts.c[f"spent_{unit}"] + accounts.c[f"reserved_{unit}"] + bindparam(f"a_{unit}")
        <= func.coalesce(accounts.c[f"limit_{unit}"], MOST)
        for unit in UNITS
    ]
    taken = {f"reserved_{unit}": accounts.c[f"reserved_{unit}"] + bindparam(f"a_{unit}") for unit in UNITS}
    return update(accounts).where(_in_chain(length), *fits).values(taken).returning(accounts.c.id)


def _closing(length: int) -> Any:
    given = {f"reserved_{unit}": accounts.c[f"reserved_{unit}"] - bindparam(f"a_{unit}") for unit in UNITS}
    spent = {f"spent_{unit}": accounts.c[f"spent_{unit}"] + bindparam(f"s_{unit}") for unit in UNITS}
    return update(accounts).where(_in_chain(length)).values(given | spent)


_is_open = and_(
    ledger.c.reservation_id == bindparam("r"), ledger.c.kind == "reserve", ledger.c.lease_until.is_not(None)
)
_END_LEASE = update(ledger).where(_is_open).values(lease_until=null())
_EXPIRE = update(ledger).where(_is_open, ledger.c.lease_until < bindparam("now")).values(lease_until=null())
_RENEW = update(ledger).where(_is_open).values(lease_until=bindparam("until"))


def _parts(store: Store, chain: Sequence[str]) -> list[Sequence[str]]:
    return [chain] if store.one_writer or len(chain) == 1 else [chain[:1], chain[1:]]


def _named(part: Sequence[str]) -> dict[str, str]:
    return {f"c{i}": account for i, account in enumerate(part)}


def take(store: Store, chain: Sequence[str], amounts: Amounts, entry: Row) -> None:
    """Reserve in each account of a chain, and write the entry.

    Raises:
        Refused: one of them can not give it.
        StoreError: the database refused; nothing was taken.
    """
    given = {f"a_{unit}": amounts[unit] for unit in UNITS}
    # lost in a power cut, it has done no harm: so is the process that wanted it
    with store.write(flush=False, durable=False) as connection:
        for part in _parts(store, chain):
            statement = store.prepare((_taking, len(part)), partial(_taking, len(part)))
            changed = {row[0] for row in statement.run(connection, _named(part) | given)}
            if len(changed) < len(part):
                refused = next(account for account in part if account not in changed)
                raise _refusal(connection, refused)  # rolls the transaction back
        store.insert(connection, ledger, entry)


def _refusal(connection: Connection, account: str) -> Exception:
    row = connection.execute(select(accounts).where(accounts.c.id == account)).mappings().first()
    return StoreError(f"account {account!r} is gone from the store") if row is None else Refused(dict(row))


def _give_back(
    store: Store, connection: Connection, chain: Sequence[str], amounts: Amounts, spent: Amounts | None
) -> None:
    given = {f"a_{unit}": amounts.get(unit, 0) for unit in UNITS}
    given |= {f"s_{unit}": 0 if spent is None else spent[unit] for unit in UNITS}
    for part in _parts(store, chain):
        statement = store.prepare((_closing, len(part)), partial(_closing, len(part)))
        statement.run(connection, _named(part) | given)


def close(store: Store, chain: Sequence[str], amounts: Amounts, spent: Amounts, entry: Row) -> bool:
    """End a reservation: give back what it holds, add what was spent, write the entry.

    Returns:
        Whether it still held anything; False: its lease had run out, and only what was spent was booked.

    Raises:
        StoreError: it was settled or released before, or the database refused; nothing was changed.
    """
    # money must survive a power cut at once; what was free does with the next log that is stored
    with store.write(flush=False, durable=spent["usd_nano"] > 0) as connection:
        ended = store.prepare("end lease", lambda: _END_LEASE).run(connection, {"r": entry["reservation_id"]})
        held = ended.rowcount == 1
        if not held:
            _check_expired(connection, entry["reservation_id"])
        store.insert(connection, ledger, entry)
        _give_back(store, connection, chain, amounts if held else {}, spent)
    return held


def _check_expired(connection: Connection, reservation: str) -> None:
    of_it = ledger.c.reservation_id == reservation
    # whoever ends it late too waits here until this one is done
    connection.execute(select(ledger.c.id).where(of_it, ledger.c.kind == "reserve").with_for_update())
    kinds = set(connection.execute(select(ledger.c.kind).where(of_it)).scalars())
    if "expire" not in kinds or kinds & {"settle", "release"}:
        raise StoreError(f"reservation {reservation!r} was settled or released before; it ends once")


def renew(store: Store, reservation: str, until: float) -> bool:
    """Prolong a lease; False if the reservation has ended."""
    with store.write(flush=False, durable=False) as connection:
        statement = store.prepare("renew", lambda: _RENEW)
        return statement.run(connection, {"r": reservation, "until": until}).rowcount == 1


def expire(store: Store, run_id: str | None, now: float) -> int:
    """Give back what reservations of a run hold whose lease has run out; how many there were."""
    closing = ledger.alias()
    late = select(ledger).where(
        ledger.c.run_id == run_id,
        ledger.c.lease_until < now,
        # a package of revision 0001, still running, ends a reservation without ending its lease
        ~exists().where(closing.c.reservation_id == ledger.c.reservation_id, closing.c.kind != "reserve"),
    )
    return sum(_expire_one(store, row, now) for row in store.rows(late))


def _expire_one(store: Store, row: Row, now: float) -> bool:
    chain = chain_of(store, row["account_id"])
    entry = {name: row[name] for name in ("reservation_id", "account_id", "run_id", "by", "model")}
    entry |= {"kind": "expire", "created": now, **dict.fromkeys(UNITS, 0)}
    with store.write(flush=False) as connection:
        statement = store.prepare("expire", lambda: _EXPIRE)
        # asked again: it may have been renewed or ended meanwhile
        if statement.run(connection, {"r": row["reservation_id"], "now": now}).rowcount != 1:
            return False
        store.insert(connection, ledger, entry)
        _give_back(store, connection, chain, row, None)
    return True


def chain_of(store: Store, account: str) -> list[str]:
    """Ids from the root down to an account."""
    chain = [account]
    while True:
        row = store.row(select(accounts.c.parent_id).where(accounts.c.id == chain[0]))
        if row is None or row["parent_id"] is None:
            return chain
        chain.insert(0, row["parent_id"])
